"""Records of persons: who owns which row, what a row counts, and that rows never pass for persons."""

import pickle
import uuid
import warnings
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from support.opened import cells_of, view_of
from tacit import statistics
from tacit.accounting.unit import RECORD, Unit
from tacit.data import Flag, Key, Number, Records, Schema
from tacit.data.persons import Persons, share_of
from tacit.data.store.lots import ROWS_OF_OWNER
from tacit.data.values import MISSING_KEY, keys
from tacit.errors import InvalidParameter, OddTerms

SCHEMA = Schema({"patient": Key(), "age": Number(0, 120), "ill": Flag()}, target="ill")


def _table(ids: list[Any]) -> dict[str, list[Any]]:
    return {"patient": ids, "age": [50] * len(ids), "ill": [True] * len(ids)}


def test_weights_of_a_person_never_add_up_to_more_than_one() -> None:
    """For every number of rows up to 3,000 the weights sum to at most 1 exactly, and to no more than a step less."""
    for rows in range(1, 3000):
        total = Fraction(share_of(rows)) * rows
        assert 1 - Fraction(rows, 2**50) < total <= 1


def test_nearest_doubles_would_add_up_to_more_than_one() -> None:
    """The rule is needed: 1/k as the nearest double exceeds its share for hundreds of k below 2,000."""
    assert sum(Fraction(1.0 / rows) * rows > 1 for rows in range(1, 2000)) > 800


def test_records_of_persons_count_persons() -> None:
    """n is the number of ids, and rows share their person's weight."""
    records = Records(_table(["a", "b", "a", "a"]), SCHEMA, unit="patient")
    assert (records.n, len(records), records.unit, records.whom) == (2, 2, "patient", Unit.persons("patient"))
    weights = view_of(records).weights()
    assert weights is not None
    assert weights.tolist() == [share_of(3), 1.0, share_of(3), share_of(3)]


def test_records_without_a_unit_are_as_before() -> None:
    """Each row is by itself, and nothing is weighed."""
    records = Records(_table(["a", "a"]), SCHEMA)
    assert (records.n, records.unit, records.whom) == (2, None, RECORD)
    assert view_of(records).weights() is None


def test_a_missing_id_is_a_person_of_its_own() -> None:
    """However an id is missing; an id that is 0 is one person with all its rows."""
    missing = [None, float("nan"), "", "  ", pd.NA, pd.NaT, Decimal("nan"), np.float64("nan")]
    records = Records(_table([*missing, 0, 0, 0]), SCHEMA, unit="patient")
    assert records.n == len(missing) + 1
    weights = view_of(records).weights()
    assert weights is not None
    assert weights.tolist() == [1.0] * len(missing) + [share_of(3)] * 3


class _Strange:
    """An object that is no id."""


def _undecodable(*ids: bytes) -> Any:
    return pa.array(ids).view(pa.string())


ONE_PERSON: list[Any] = [
    [_Strange(), _Strange(), ("x", 1), ("a",), [1]], pl.Series([date(1950, 1, 1)] * 3),
    pl.Series([datetime(1950, 1, 1)] * 3), pl.Series([timedelta(1)] * 3), pl.Series([[1], [1], [1]]),
    pl.Series([{"name": "ann"}] * 3), pd.Series([date(1950, 1, 1)] * 3), np.array(["1950-01-01"] * 3, dtype="M8[D]"),
    pa.array([2**40] * 3).cast(pa.timestamp("s")), _undecodable(b"\xff", b"\xff", b"\xff"),
    [2, 2.0, np.int8(2), np.float32(2), Decimal(2), Fraction(2)], ["a", " a", "a\t"],
]  # fmt: skip


@pytest.mark.parametrize("ids", ONE_PERSON, ids=lambda ids: str(getattr(ids, "dtype", None) or type(ids).__name__))
def test_ids_that_are_one_or_cannot_be_read_are_one_person(ids: Any) -> None:
    """They are there: taken for missing, each row would be a person of its own, and her other rows unprotected."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", OddTerms)
        persons = Persons.given(ids)
    assert persons is not None
    assert persons.n == 1


FIRST = uuid.UUID(int=1)
IDS: list[tuple[Any, ...]] = [
    (FIRST, str(FIRST), f" {FIRST}", str(FIRST).encode()),
    (b"ann", np.bytes_(b"ann "), "ann"),
    (date(2020, 1, 31), datetime(2020, 1, 31), np.datetime64("2020-01-31"), pd.Timestamp("2020-01-31")),
    (datetime(2020, 1, 31, 12, tzinfo=UTC), np.datetime64("2020-01-31T12", "ns")),
]


def test_an_id_of_any_kind_that_tables_hold_is_one_person_in_all_its_forms() -> None:
    """UUIDs, bytes, dates and times are ids: each is somebody else, whatever type it comes in."""
    cells = [form for forms in IDS for form in forms]
    owners = [place for place, forms in enumerate(IDS) for _ in forms]
    persons = Persons.given(cells)
    assert persons is not None
    records = Records(_table(cells), SCHEMA, unit="patient")
    assert persons.n == records.n == len(IDS)
    for owned in (persons.owners, cells_of(records, "patient")["patient"]):
        assert len(set(zip(owners, owned.tolist(), strict=True))) == len(IDS)


FIFTY: list[Any] = [
    [uuid.uuid4() for _ in range(50)], [b"%d" % place for place in range(50)], np.arange(50).astype("M8[D]"),
    np.array([b"%d" % place for place in range(50)]), pd.Series(pd.date_range("2020", periods=50, tz="Asia/Kolkata")),
    pl.Series([date(2020, 1, 1) + timedelta(days=place) for place in range(50)]),
    pl.Series([datetime(2020, 1, 1, tzinfo=UTC) + timedelta(days=place) for place in range(50)]),
]  # fmt: skip


@pytest.mark.parametrize("place", range(len(FIFTY)))
def test_fifty_ids_are_fifty_persons(place: int) -> None:
    """A count of persons finds them all: they were one person, without a word."""
    found = statistics.count(np.ones(50, dtype=bool), epsilon=1e6, groups=FIFTY[place], random_state=1)
    assert found.value == pytest.approx(50.0, abs=0.1)


@pytest.mark.parametrize(
    "ids",
    [[("ann", 1), ("bob", 2)], [1j, 2j], np.array([1, 2], "m8[s]"), np.array([1, 2], "M8[7s]"), [np.void(b"x"), 1]],
)
def test_ids_that_cannot_be_told_apart_are_warned_of(ids: Any) -> None:
    """All of them are one person: safe, but nothing would be learned, and nobody would know why."""
    with pytest.warns(OddTerms, match="cannot be told apart"):
        Persons.given(ids)


@pytest.mark.parametrize("ids", [[7, 3, "7"], [("a",), ("b",)], [FIRST, "x", 2]])
def test_only_ids_of_persons_are_warned_of(ids: list[Any]) -> None:
    """A Key that is no unit is a cell like any other, which one record decides: nothing is said of it."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert Records(_table(ids), SCHEMA).n == len(ids)
        assert Records(_table(ids), SCHEMA, key="patient").n == len(ids)


def test_one_id_that_cannot_be_read_takes_no_other_with_it() -> None:
    """Ids beside it stay who they are, in arrays and in tables; what is missing beside it is a person of its own."""
    ids = _undecodable(b"ann", b"\xff", b"ann", b"\xfe", None)
    table = pa.table({"patient": ids, "age": [50] * 5, "ill": [True] * 5})
    with pytest.warns(OddTerms, match="cannot be told apart"):
        persons, records = Persons.given(ids), Records(table, SCHEMA, unit="patient")
    assert persons is not None
    assert persons.n == records.n == 3
    for owners in (persons.owners, cells_of(records, "patient")["patient"]):
        assert owners[0] == owners[2] != owners[1] == owners[3]


MIXED = [
    [1, "1", 1], ["7", 7.0], ["-3 ", Decimal(-3), None], [7, "007"], [7, "7.0"], [0.0, "-0"], ["7", "007", "x"],
    ["1" * 5000, "0" + "1" * 5000],
]  # fmt: skip
UNMIXED = [
    [1, 2.0, "a"], ["1", "2", None], [0.5, "0.5"], [1, None, np.nan, "x"], [3, "30"], ["nan", np.nan], ["1e1", 10],
]  # fmt: skip


@pytest.mark.parametrize("ids", MIXED)
def test_a_number_that_is_an_id_in_two_spellings_is_warned_of(ids: list[Any]) -> None:
    """pandas makes texts of a part of a column: a person with id 1 there would be two, with half the protection."""
    with pytest.warns(OddTerms, match="in two spellings"):
        assert Persons.given(ids) is not None
    with pytest.warns(OddTerms, match="in two spellings"):
        Records(_table(ids), SCHEMA, unit="patient")
    with pytest.warns(OddTerms, match="in two spellings") as heard:
        Records(pd.DataFrame(_table(ids)).astype({"patient": object}), SCHEMA, unit="patient")
    assert not any(repr(each) in str(heard[0].message) for each in ids)


@pytest.mark.parametrize("ids", UNMIXED)
def test_ids_of_which_each_has_one_type_are_not_warned_of(ids: list[Any]) -> None:
    """Numbers beside texts that spell others are different persons, or one that reads the same in both."""
    with warnings.catch_warnings():
        warnings.simplefilter("error", OddTerms)
        assert Persons.given(ids) is not None
        assert Records(_table(ids), SCHEMA, unit="patient").n > 0


def test_numbers_as_ids_read_alike_in_arrays_and_one_by_one() -> None:
    """A column of floats, as a missing id makes of whole numbers in pandas, has the keys of whole numbers."""
    ids = [3.0, 1.0, np.nan, 1.5, 1.5, np.inf, -np.inf, 1e300, -7.0]
    found = keys(np.array(ids))
    assert found.tolist() == keys(np.array(ids, dtype=object)).tolist()
    assert found[:2].tolist() == keys(np.array([3, 1])).tolist()
    assert found[2] == MISSING_KEY
    assert found[3] == found[4]
    assert len(set(found.tolist())) == len(ids) - 1


def test_no_id_that_is_there_reads_as_missing() -> None:
    """Not even a multiple of the prime that keys are counted by."""
    ids = np.array([0, 2**31 - 1, 2 * (2**31 - 1), -1, 2**63 - 1])
    assert MISSING_KEY not in keys(ids)
    assert MISSING_KEY not in keys(ids.astype(object))


def test_owners_follow_ids_and_not_the_order_of_rows() -> None:
    """The same person has the same number wherever their rows stand."""
    ids = np.array([5, 9, 5, 7, MISSING_KEY, 9])
    order = np.random.default_rng(0).permutation(len(ids))
    assert (Persons.of(ids[order]).owners == Persons.of(ids).owners[order]).all()


def test_an_index_split_of_persons_is_refused_and_one_by_key_keeps_them_whole() -> None:
    """A person is in one part with all their rows."""
    ids = np.repeat(np.arange(300), 3).tolist()
    records = Records(_table(ids), SCHEMA, unit="patient")
    with pytest.raises(InvalidParameter, match="cut persons in two"):
        records.split()
    train, test = records.split(0.5, 0.5, by="key")
    assert train.n + test.n == 300
    assert 0 < train.n < 300
    assert [view_of(part).rows for part in (train, test)] == [3 * train.n, 3 * test.n]


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"unit": "age"}, "unit must name"),
        ({"unit": "nobody"}, "unit must name"),
        ({"unit": 3}, "unit must name"),
        ({"unit": "patient", "key": "other"}, "another key would cut"),
    ],
)
def test_public_nonsense_is_refused(options: dict[str, Any], words: str) -> None:
    """A unit is a declared Key, and the only key."""
    schema = Schema({**dict(SCHEMA.columns), "other": Key()})
    with pytest.raises(InvalidParameter, match=words):
        Records({**_table(["a"]), "other": [1]}, schema, **options)


def test_a_unit_is_part_of_what_names_records() -> None:
    """An answer about rows is never taken for one about persons."""
    table = _table(["a", "a"])
    one = Records(table, SCHEMA, name="visits")
    assert one.identity != Records(table, SCHEMA, name="visits", unit="patient").identity


def test_records_of_persons_survive_copies(tmp_path: Path) -> None:
    """A pickle of packed records has the same unit and the same persons."""
    records = Records(_table(["a", "b", "a"]), SCHEMA, unit="patient").pack(tmp_path / "a.tacit-records")
    again = pickle.loads(pickle.dumps(records))
    assert (again.unit, again.n) == ("patient", 2)
    assert again.identity == records.identity
    assert view_of(again).column(ROWS_OF_OWNER).tolist() == [2, 1, 2]
