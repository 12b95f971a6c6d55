"""An account for the tests of fits."""

from pathlib import Path

import pytest

from tacit.accounting.ledger import Ledger
from tacit.budget import Budget


@pytest.fixture
def ledger(tmp_path: Path) -> Ledger:
    """Give a durable account of epsilon 10 and delta 1e-3."""
    return Ledger.create(f"sqlite:///{tmp_path}/ledger.db", name="records", budget=Budget(10, 1e-3))
