"""Sources that must be refused, and what may not be said of their records."""

import traceback
from pathlib import Path
from typing import Any

import pytest

from support.opened import cells_of
from tacit.accounting import Ledger
from tacit.budget import Budget
from tacit.data import Category, Number, Records, Schema
from tacit.errors import InvalidParameter
from tacit.queries import StatisticalOracle

MARK = "Xq7-secret-patient"
SCHEMA = Schema({"age": Number(0, 120), "ward": Category(["a", "b"])})
LINES = "age,ward\n50,a\n60,b\n"


def said(error: BaseException | None) -> str:
    """Return all that an error says, in its text, its arguments, its trace and those that it comes from."""
    words = []
    while error is not None:
        words += [str(error), repr(error), repr(error.args), repr(vars(error))]
        words += traceback.format_exception_only(error)
        error = error.__cause__ or error.__context__
    return "\n".join(words)


def refused(source: Any, schema: Schema = SCHEMA, match: str | None = None) -> str:
    """Open records that must be refused, and return what was said."""
    with pytest.raises(InvalidParameter, match=match) as caught:
        Records(source, schema)
    words = said(caught.value)
    assert MARK not in words
    return words


def written(path: Path, content: str | bytes) -> Path:
    """Write a file."""
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return path


def ages(records: Records) -> list[float]:
    """Return the cleaned ages."""
    return list(map(float, cells_of(records, "age")["age"]))


def asked(records: Records, folder: Path) -> tuple[StatisticalOracle, Ledger]:
    """Return an oracle over records, and its ledger."""
    ledger = Ledger.create(f"sqlite:///{folder}/ledger.db", name="bad input", budget=Budget(1.0, 1e-6))
    return StatisticalOracle(records, ledger=ledger), ledger
