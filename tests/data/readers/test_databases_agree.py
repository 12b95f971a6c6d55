"""One odd table comes out of every database, and out of memory, as the same cleaned bits."""

import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import ibis
import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

from support.nasty_tables import SCHEMA, nasty_table, write_postgresql
from support.reading import cleaned_rows, cleaned_table
from tacit.data.readers.ibis_table import open_ibis
from tacit.data.readers.postgresql import open_postgresql
from tacit.data.readers.source import Source
from tacit.data.readers.sqlite import open_sqlite

TABLE = nasty_table(400)
COLUMNS = SCHEMA.columns


def in_postgresql(request: pytest.FixtureRequest, folder: Path) -> Source:
    """Put the table into PostgreSQL."""
    address = request.getfixturevalue("postgresql").address(request.getfixturevalue("database"))
    return open_postgresql(address, write_postgresql(TABLE, address))


def in_duckdb(request: pytest.FixtureRequest, folder: Path) -> Source:
    """Put the table into DuckDB."""
    return open_ibis(ibis.duckdb.connect().create_table("records", TABLE))


def in_sqlite(request: pytest.FixtureRequest, folder: Path) -> Source:
    """Put the table into SQLite: dates and decimals, which it does not have, as text and floats."""
    with closing(sqlite3.connect(folder / "records.db")) as connection:
        connection.execute(f"CREATE TABLE records ({', '.join(TABLE.column_names)})")
        cells = [TABLE[name].cast(_in_sqlite(TABLE[name].type)).to_pylist() for name in TABLE.column_names]
        marks = ", ".join("?" * len(cells))
        connection.executemany(f"INSERT INTO records VALUES ({marks})", list(zip(*cells, strict=True)))
        connection.commit()
    return open_sqlite(f"sqlite:///{folder}/records.db", "records")


def _in_sqlite(kind: Any) -> Any:
    if pa.types.is_temporal(kind):
        return pa.string()
    return pa.float64() if pa.types.is_decimal(kind) else kind


@pytest.mark.parametrize("put", [in_postgresql, in_duckdb, in_sqlite])
def test_a_database_holds_the_same_cells_as_a_frame(
    put: Callable[[pytest.FixtureRequest, Path], Source], request: pytest.FixtureRequest, tmp_path: Path
) -> None:
    """NaN, infinities, denormals, dates at both ends and nulls: cleaned values and states, to the last bit."""
    found = cleaned_rows(put(request, tmp_path), COLUMNS)
    assert found == cleaned_table(TABLE, COLUMNS)
    assert found == cleaned_table(TABLE.to_pandas(types_mapper=pd.ArrowDtype), COLUMNS)


def test_the_table_is_as_odd_as_it_is_said_to_be() -> None:
    """Each column has cells that are missing and cells that are there, and the numbers are as bad as they get."""
    numbers = np.array(TABLE["f"].to_pylist(), dtype=float)
    assert np.isinf(numbers).any()
    assert np.isnan(numbers).any()
    states = np.array([[state for _, state in row] for row in cleaned_table(TABLE, COLUMNS)])
    assert set(states.flatten().tolist()) == {0, 1, 2}
