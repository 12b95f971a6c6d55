"""An account for the tests of questions, and a look at what is summed."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tacit.accounting.ledger import Ledger
from tacit.budget import Budget
from tacit.sums.evaluator import Evaluator


@pytest.fixture
def ledger(tmp_path: Path) -> Ledger:
    """Give a durable account of epsilon 1 and delta 1e-6."""
    return Ledger.create(f"sqlite:///{tmp_path}/ledger.db", name="records", budget=Budget(1.0, 1e-6))


@pytest.fixture
def summed(monkeypatch: pytest.MonkeyPatch) -> list[tuple[np.ndarray, list[Any]]]:
    """Keep the sums of all that is asked from now on, batch by batch, and the queries they are of."""
    kept: list[tuple[np.ndarray, list[Any]]] = []
    honest = Evaluator.sums

    def watched(self: Evaluator, queries: Any, **how: Any) -> Any:
        sums = honest(self, queries, **how)
        kept.append((np.concatenate(sums), [prepared.query for prepared in queries]))
        return sums

    monkeypatch.setattr(Evaluator, "sums", watched)
    return kept
