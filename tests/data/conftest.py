"""What tests of bad input run under."""

from collections.abc import Iterator

import pytest

from support.sources import MARK


@pytest.fixture
def quiet(capfd: pytest.CaptureFixture[str]) -> Iterator[None]:
    """Nothing of a record is printed either."""
    yield
    out, err = capfd.readouterr()
    assert MARK not in out + err
