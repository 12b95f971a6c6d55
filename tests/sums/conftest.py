"""An engine over every kind of column."""

from typing import Any

import pytest

from support.every_column import COLUMNS
from tacit.data import Ignored, Key, Records, Schema
from tacit.sums.engines.opening import engine_for


@pytest.fixture(scope="module")
def engine() -> Any:
    """Give an engine over two records with all the columns, a key and an ignored one."""
    columns = {**COLUMNS, "id": Key(), "note": Ignored()}
    return engine_for(Records({name: [None, None] for name in columns}, Schema(columns)))
