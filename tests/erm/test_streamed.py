"""Fits from a private file: the same model as in memory, from every source, for records, persons and weights."""

import os
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import ibis
import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

import tacit.estimators.elsewhere as encoding
from support.fits import MODELS, ROWS, check_same, people, schema_for, watch_certificates
from support.stored_people import in_postgresql
from tacit import Budget, Ledger
from tacit.data import Records
from tacit.data.streamed import StreamedRows
from tacit.erm.classification import PrivateLinearSVC, PrivateLogisticRegression
from tacit.errors import FileNotWritten, InvalidParameter


@pytest.fixture(scope="module")
def table() -> pd.DataFrame:
    """Return the table of all engines."""
    return people()


@pytest.fixture
def written(monkeypatch: pytest.MonkeyPatch) -> list[StreamedRows]:
    """Keep note of every table that is written to a file."""
    found: list[StreamedRows] = []

    def kept(rows: Any, *parts: Any) -> StreamedRows:
        found.append(StreamedRows(rows, *parts))
        return found[-1]

    monkeypatch.setattr(encoding, "StreamedRows", kept)
    return found


@pytest.mark.parametrize("number", range(len(MODELS)))
@pytest.mark.parametrize("unit", [None, "who"])
def test_streamed_fits_are_those_in_memory(
    table: pd.DataFrame, number: int, unit: str | None, written: list[StreamedRows], monkeypatch: pytest.MonkeyPatch
) -> None:
    """For one seed the released coefficients agree within the certified radius.

    A person's rows lie in different lots, and in different blocks of sums.
    """
    target, make = MODELS[number]
    certified = watch_certificates(monkeypatch)
    held = make().fit(Records(table, schema_for(target), unit=unit))
    assert not written
    monkeypatch.setattr("tacit.data.encoder._LOT", 1)
    monkeypatch.setattr("tacit.erm.rows.rows._CACHE_ENTRIES", 1)
    streamed = make().fit(Records(table, schema_for(target), unit=unit, memory=4000))
    assert len(written) == 1
    check_same(held, streamed, target, certified)
    one, two = held.predict(Records(table, schema_for(target))), streamed.predict(table)
    assert np.allclose(one, two, rtol=0, atol=1e-6) if target == "score" else np.array_equal(one, two)


@pytest.fixture(params=["csv", "parquet", "folder", "part"])
def stored(request: pytest.FixtureRequest, table: pd.DataFrame, tmp_path: Path) -> tuple[Any, bool]:
    """Return where the table is, and whether a part of it is wanted."""
    if request.param == "csv":
        table.to_csv(tmp_path / "t.csv", index=False)
        return tmp_path / "t.csv", False
    for place, some in enumerate((table[:1000], table[1000:])):
        some.to_parquet(tmp_path / f"{place}.parquet", index=False)
    return (tmp_path if request.param == "folder" else tmp_path / "0.parquet"), request.param == "part"


def test_every_source_can_be_streamed(stored: tuple[Any, bool], written: list[StreamedRows]) -> None:
    """Files, folders of them and parts of a split give the model that memory gives."""
    source, part = stored

    def fitted(memory: int) -> Any:
        records = Records(source, schema_for("answer"), memory=memory)
        chosen = records.split()[0] if part else records
        return PrivateLogisticRegression(1.0, random_state=3).fit(chosen).coef_

    assert np.allclose(fitted(2**29), fitted(4000), rtol=0, atol=1e-6)
    assert len(written) == 1


@pytest.fixture(params=["postgresql", "ibis"])
def opened(request: pytest.FixtureRequest, table: pd.DataFrame) -> Callable[..., Records]:
    """Return what opens the table of a database."""
    if request.param == "postgresql":
        server, database = request.getfixturevalue("postgresql"), request.getfixturevalue("database")
        source: Any = in_postgresql(server, database, table)
    else:
        source = ibis.duckdb.connect().create_table("people", pa.Table.from_pandas(table))
    return lambda target, **more: Records(source, schema_for(target), **more)


@pytest.mark.parametrize("unit", [None, "who"])
@pytest.mark.parametrize("number", [0, 5, 7])
def test_tables_of_databases_can_be_streamed(
    opened: Callable[..., Records], table: pd.DataFrame, number: int, unit: str | None, written: list[StreamedRows]
) -> None:
    """Rows in whatever order the database gives them make the model that memory makes of the table."""
    target, make = MODELS[number]
    held = make().fit(Records(table, schema_for(target), unit=unit))
    streamed = make().fit(opened(target, unit=unit, memory=4000))
    assert len(written) == 1
    assert np.allclose(held.coef_, streamed.coef_, rtol=0, atol=1e-6)
    assert held.release_.guarantee == streamed.release_.guarantee


def test_tables_of_one_connection_take_turns(table: pd.DataFrame) -> None:
    """A connection of DuckDB does one thing at a time: fits of two of its tables in two threads broke each other."""
    source = ibis.duckdb.connect().create_table(
        "people", pa.Table.from_pandas(pd.concat([table] * 30, ignore_index=True))
    )
    records = [Records(source, schema_for("answer"), memory=4000) for _ in range(2)]

    def fitted(some: Records) -> Any:
        return PrivateLogisticRegression(1.0, random_state=3).fit(some).coef_

    with ThreadPoolExecutor(2) as pool:
        one, other = pool.map(fitted, records, timeout=300)
    assert np.allclose(one, other, rtol=0, atol=1e-6)


def test_sample_weights_stand_beside_streamed_rows(table: pd.DataFrame) -> None:
    """Weights of rows that are on disk count as in memory."""
    weights = np.random.default_rng(1).uniform(0, 2, ROWS)
    models = [
        PrivateLogisticRegression(1.0, largest_weight=2.0, random_state=3).fit(
            Records(table, schema_for("answer"), memory=memory), sample_weight=weights
        )
        for memory in (2**29, 4000)
    ]
    assert np.allclose(models[0].coef_, models[1].coef_, rtol=0, atol=1e-6)


def test_records_are_scored_some_at_a_time(table: pd.DataFrame, monkeypatch: pytest.MonkeyPatch) -> None:
    """Scores of records are those of their rows, though no more than a lot of them is encoded at a time."""
    records = Records(table, schema_for("answer"))
    model = PrivateLogisticRegression(1.0, random_state=3).fit(records)
    expected = model.decision_function(model.encoder_.transform(records))
    monkeypatch.setattr("tacit.data.encoder._LOT", 1)
    monkeypatch.setattr(type(model.encoder_), "transform", None)
    found = model.decision_function(records)
    assert np.allclose(found, expected, rtol=1e-12, atol=1e-12)
    assert len(list(model.encoder_.stream(records))) == 3


def test_more_than_the_declared_disk_is_refused_before_any_charge(table: pd.DataFrame, tmp_path: Path) -> None:
    """What would not fit into the declared size is refused by public numbers alone, uncharged."""
    ledger = Ledger.create(f"sqlite:///{tmp_path / 'a.db'}", name="a", budget=Budget(1.0))
    records = Records(table, schema_for("answer"), memory=4000, disk=10_000)
    with pytest.raises(InvalidParameter, match=r"GiB on disk.*Not charged"):
        PrivateLogisticRegression(1.0, ledger=ledger).fit(records)
    with pytest.raises(InvalidParameter, match="whole number of bytes"):
        Records(table, schema_for("answer"), memory=0)
    assert Records(table, schema_for("answer"), memory=np.int64(2**20)).room.kept == 2**20
    assert not ledger.entries()


def test_a_full_disk_charges_nothing_and_leaves_the_model_as_it_was(
    table: pd.DataFrame, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The error comes before the charge, and the next fit with room succeeds."""
    ledger = Ledger.create(f"sqlite:///{tmp_path / 'a.db'}", name="a", budget=Budget(1.0))
    model, records = PrivateLogisticRegression(1.0, ledger=ledger), Records(table, schema_for("answer"), memory=4000)

    def full(*_: object) -> int:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(os, "write", full)
        with pytest.raises(FileNotWritten, match="no space left"):
            model.fit(records)
    assert not hasattr(model, "coef_")
    assert not ledger.entries()
    model.fit(records)
    assert len(ledger.entries()) == 1


def test_a_file_that_was_written_is_refused_though_its_time_was_put_back(table: pd.DataFrame, tmp_path: Path) -> None:
    """Its length and the time it was last written can be those of before; when the system saw a change cannot."""
    path = tmp_path / "t.csv"
    table.to_csv(path, index=False)
    records, before = Records(path, schema_for("answer"), memory=4000), path.stat()
    with path.open("r+") as file:
        text = file.read().replace(",yes,", ",noo,")
        file.seek(0)
        file.write(text)
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))
    assert path.stat().st_size == before.st_size
    with pytest.raises(InvalidParameter, match="not those that were opened"):
        PrivateLogisticRegression(1.0, random_state=3).fit(records)
    assert Records(path, schema_for("answer")).identity != records.identity


def test_the_plain_hinge_is_refused_uncharged(table: pd.DataFrame, tmp_path: Path) -> None:
    """It keeps numbers for every record; the refusal says what to do."""
    ledger = Ledger.create(f"sqlite:///{tmp_path / 'a.db'}", name="a", budget=Budget(1.0))
    model = PrivateLinearSVC(1.0, loss="hinge", perturbation="output", ledger=ledger)
    with pytest.raises(InvalidParameter, match=r"huber.*Nothing was charged"):
        model.fit(Records(table, schema_for("answer"), memory=4000))
    assert not ledger.entries()


def _disappears(path: Path) -> None:
    path.unlink()


def _grows(path: Path) -> None:
    with path.open("a") as file:
        file.write(path.read_text().splitlines()[-1] + "\n")


@pytest.mark.parametrize("change", [_disappears, _grows])
def test_files_that_change_after_opening_are_refused_uncharged(
    table: pd.DataFrame, tmp_path: Path, change: Callable[[Path], None]
) -> None:
    """A file that is gone or longer than when it was opened stops the fit before any charge."""
    table.to_csv(tmp_path / "t.csv", index=False)
    ledger = Ledger.create(f"sqlite:///{tmp_path / 'a.db'}", name="a", budget=Budget(1.0))
    records = Records(tmp_path / "t.csv", schema_for("answer"), memory=4000)
    change(tmp_path / "t.csv")
    with pytest.raises(InvalidParameter, match="not those that were opened"):
        PrivateLogisticRegression(1.0, ledger=ledger).fit(records)
    assert not ledger.entries()


@pytest.fixture(autouse=True)
def nothing_left(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Let private files be made in a folder of their own, which is empty after every test."""
    folder = tmp_path_factory.mktemp("private")
    monkeypatch.setattr("tempfile.tempdir", str(folder))
    yield
    assert list(folder.iterdir()) == []
