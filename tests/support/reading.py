"""What a reader's rows come to: every cell cleaned, and how it fared."""

from collections.abc import Mapping
from typing import Any

import pytest

from support.sources import MARK, said
from tacit.data import Column
from tacit.data.frames import read_table
from tacit.data.readers.source import Source
from tacit.errors import InvalidParameter


def cleaned_rows(source: Source, columns: Mapping[str, Column]) -> list[Any]:
    """Return the rows of a source with every cell cleaned, beside its state, in an order of their own."""
    return sorted(row for batch in source.read(tuple(columns)) for row in cleaned_batch(batch, columns))


def cleaned_table(table: Any, columns: Mapping[str, Column]) -> list[Any]:
    """Return the same of a table in memory."""
    return sorted(cleaned_batch(table, columns))


def cleaned_batch(batch: Any, columns: Mapping[str, Column]) -> list[Any]:
    """Return the rows of one batch, in its order."""
    cells = read_table(batch, (), tuple(columns))
    cleaned = [cells[name].cleaned(column) for name, column in columns.items()]
    pairs = [zip(map(repr, values.tolist()), states.tolist(), strict=True) for values, states in cleaned]
    return list(zip(*pairs, strict=True))


def raw_cells(source: Source, name: str) -> list[Any]:
    """Return the cells of one column as the reader gives them."""
    return [cell for batch in source.read([name]) for cell in read_table(batch, (), [name])[name].cells()]


def refused_reading(source: Source, *names: str, match: str = "cannot be read") -> str:
    """Read columns of which a row cannot be read, and return what is said of it."""
    with pytest.raises(InvalidParameter, match=match) as caught:
        for _ in source.read(names):
            pass
    words = said(caught.value)
    assert MARK not in words
    return words
