"""A service of its own for each test that asks for one, in this process."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from support.service import Running, running
from tacit.service.settings import Limits


@pytest.fixture
def served(tmp_path: Path) -> Iterator[Running]:
    """Serve the made-up clinic."""
    with running(tmp_path) as found:
        yield found


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    """Serve the made-up clinic to all tests of a module that change nothing."""
    with running(tmp_path_factory.mktemp("shared"), limits=Limits(requests_per_minute=100_000)) as found:
        yield found
