"""An evaluator over every kind of column."""

from typing import Any

import pytest

from support.every_column import COLUMNS
from tacit.data import Ignored, Key, Records, Schema
from tacit.sums.record_evaluator import evaluator_for


@pytest.fixture(scope="module")
def evaluator() -> Any:
    """Give an evaluator over two records with all the columns, a key and an ignored one."""
    columns = {**COLUMNS, "id": Key(), "note": Ignored()}
    return evaluator_for(Records({name: [None, None] for name in columns}, Schema(columns)))
