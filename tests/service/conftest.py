"""A service of its own for each test that asks for one, in this process."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from support.service import Running, running


@pytest.fixture
def served(tmp_path: Path) -> Iterator[Running]:
    """Serve the made-up clinic."""
    with running(tmp_path) as found:
        yield found
