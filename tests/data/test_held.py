"""Records of a database that wait in a private file: their parts, their oracle, and why they stay in one process."""

import copy
import pickle
from pathlib import Path
from typing import Any

import ibis
import numpy as np
import pyarrow as pa
import pytest

from tacit.data import Category, Key, Number, Records, Schema
from tacit.data.sources.held import HeldTable
from tacit.data.sources.kept import keep
from tacit.errors import InvalidParameter
from tacit.queries import StatisticalOracle, StatisticalQuery

SCHEMA = Schema({"a": Number(0, 999), "id": Key(), "ill": Category(["no", "yes"])}, target="ill")


@pytest.fixture
def records() -> Records:
    """Open 1,000 records of a database with memory for none of them."""
    cells = {"a": np.arange(1000.0), "id": np.arange(1000), "ill": np.resize(["no", "yes"], 1000)}
    return Records(ibis.duckdb.connect().create_table("t", pa.table(cells)), SCHEMA, key="id", memory=1)


def _found(records: Records) -> list[Any]:
    return sorted(each for block in records.blocks(["a"]) for each in block["a"].tolist())


def test_parts_of_held_records_are_those_of_the_table(records: Records, monkeypatch: pytest.MonkeyPatch) -> None:
    """A part had all records: what two parts cost together would have been charged once."""
    monkeypatch.setattr("tacit.data.sources.held.BLOCK", 100)
    held = records.held()
    assert isinstance(held.table, HeldTable)
    parts = [part.split(0.5, 0.3, 0.2, by="key") for part in (held, records)]
    for here, there in zip(*parts, strict=True):
        assert here.n == there.n < 1000
        assert _found(here) == _found(there)


def test_what_is_kept_of_a_part_is_that_part(records: Records, tmp_path: Path) -> None:
    """All records of the table were kept, under the part's account."""
    part = records.split(0.5, 0.3, 0.2, by="key")[1]
    kept = Records(keep(part, tmp_path / "kept"), SCHEMA)
    assert kept.n == part.n < 1000
    assert _found(kept) == _found(part)


def test_an_oracle_about_held_records_answers_as_about_the_table(records: Records) -> None:
    """The same sums, with the same noise of a rehearsal."""
    question = StatisticalQuery("a > 500 and ill == 'yes'")
    one, other = (StatisticalOracle(each, random_state=3) for each in (records, records.held()))
    assert one.ask(question, epsilon=1.0).value == other.ask(question, epsilon=1.0).value


def test_a_private_file_stays_in_its_process(records: Records) -> None:
    """A copy elsewhere would read whatever file has that number there; a copy here shares the file."""
    held = records.held()
    with pytest.raises(InvalidParameter, match="belong to the process"):
        pickle.dumps(held)
    twice = copy.deepcopy(held)
    del held
    assert _found(twice) == list(range(1000))


def test_rows_of_persons_are_held_in_a_file_however_many_they_are(monkeypatch: pytest.MonkeyPatch) -> None:
    """Neither `memory` nor `disk` decides what happens: what they refuse would tell how many rows there are."""
    cells = {"a": np.arange(1000.0), "id": np.arange(1000) // 10, "ill": np.resize(["no", "yes"], 1000)}
    table = ibis.duckdb.connect().create_table("t", pa.table(cells))
    for memory, disk in ((2**30, 2**40), (1, 1)):
        held = Records(table, SCHEMA, unit="id", memory=memory, disk=disk).held()
        assert isinstance(held.table, HeldTable)
        assert (held.n, len(_found(held))) == (100, 1000)
    with pytest.raises(InvalidParameter, match="GiB on disk"):
        Records(table, SCHEMA, memory=1, disk=1).held()
    monkeypatch.setattr("tacit.data.records.can_keep_files", lambda: False)
    assert not isinstance(Records(table, SCHEMA, unit="id", memory=1).held().table, HeldTable)
