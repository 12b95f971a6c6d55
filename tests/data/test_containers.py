"""Containers of cells: what has no fixed order is no column, and no cell of any fails or prints.

Neighbours are two tables of which one record differs. A set of cells gives them in an order that follows from all of
them, so that one record would move the cells of all others.
"""

import array
import datetime
import warnings
from collections import Counter, OrderedDict, deque
from collections.abc import Callable
from typing import Any, Literal

import narwhals as nw
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import tacit
from support.opened import cells_of
from tacit import Budget, Ledger, evaluation, statistics
from tacit.data import Category, Flag, Key, Moment, Number, PublicEncoder, Records, Schema
from tacit.errors import InvalidParameter
from tacit.kernels import Polynomial
from tacit.queries import SQPerceptron, StatisticalOracle

NUMBERS = Schema({"a": Number(0, 10), "y": Flag("0", "1")}, target="y")
WORDS = Schema({"c": Category(["a", "bb"]), "y": Flag("0", "1")}, target="y")
ROWS = np.array([[0.5], [0.25]])


class _Model:
    """A model whose answers are told to it."""

    def __init__(self, answer: object) -> None:
        self.answer, self.classes_ = answer, np.array([0, 1])

    def predict(self, X: object) -> object:
        known = len(X) == len(ROWS) or not hasattr(self.answer, "dtype")  # type: ignore[arg-type]
        return self.answer if known else [0] * len(X)  # type: ignore[arg-type]


def _fitted(ledger: Ledger) -> Any:
    return tacit.PrivateLogisticRegression(0.1, data_norm=1.0, classes=[0, 1], largest_weight=1.0, ledger=ledger)


_judged = _Model(np.array([0, 1]))
ENTRIES: dict[str, Callable[[Any, Ledger], object]] = {
    "a column of records": lambda cells, ledger: Records({"a": cells, "y": [0, 1]}, NUMBERS),
    "a target of records": lambda cells, ledger: Records((ROWS, cells), NUMBERS),
    "a column to encode": lambda cells, ledger: PublicEncoder(NUMBERS).transform({"a": cells}),
    "a column to draft": lambda cells, ledger: Schema.draft({"a": cells}),
    "targets of a schema": lambda cells, ledger: NUMBERS.labels({"y": cells}),
    "an oracle's labels": lambda cells, ledger: StatisticalOracle((ROWS, cells), bounds=(0, 1), ledger=ledger),
    "labels of a fit": lambda cells, ledger: _fitted(ledger).fit(ROWS, cells),
    "groups of a fit": lambda cells, ledger: _fitted(ledger).fit(ROWS, [0, 1], groups=cells),
    "weights of a fit": lambda cells, ledger: _fitted(ledger).fit(ROWS, [0, 1], sample_weight=cells),
    "a sum": lambda cells, ledger: statistics.sum(cells, low=0, high=1, epsilon=0.1, ledger=ledger),
    "a count": lambda cells, ledger: statistics.count(cells, epsilon=0.1, ledger=ledger),
    "a histogram": lambda cells, ledger: statistics.histogram(cells, levels=[0, 1], epsilon=0.1, ledger=ledger),
    "groups of a sum": lambda cells, ledger: statistics.sum(
        [0, 1], low=0, high=1, epsilon=0.1, groups=cells, ledger=ledger
    ),
    "labels of a kernel": lambda cells, ledger: tacit.PrivateKernelClassifier(
        kernel=Polynomial(3), landmarks=ROWS / 2, epsilon=0.1, data_norm=1.0, classes=[0, 1], ledger=ledger
    ).fit(ROWS, cells),
    "labels of a predictor": lambda cells, ledger: tacit.InteractiveKernelPredictor(
        kernel=Polynomial(3), epsilon=0.1, delta=1e-6, data_norm=1.0, ledger=ledger
    ).fit(ROWS, cells),
    "labels of a learner": lambda cells, ledger: SQPerceptron(
        epsilon=0.1, delta=1e-6, data_norm=1.0, ledger=ledger
    ).fit(ROWS, cells),
    "labels of a conjunction": lambda cells, ledger: tacit.ConjunctionClassifier(
        epsilon=0.1, error=0.4, confidence=0.6, ledger=ledger
    ).fit(ROWS > 0.3, cells),
    "labels of a score": lambda cells, ledger: evaluation.accuracy(_judged, ROWS, cells, epsilon=0.1, ledger=ledger),
    "groups of a score": lambda cells, ledger: evaluation.accuracy(
        _judged, ROWS, [0, 1], groups=cells, epsilon=0.1, ledger=ledger
    ),
    "what a model predicts": lambda cells, ledger: evaluation.accuracy(
        _Model(cells), ROWS, [0, 1], epsilon=0.1, ledger=ledger
    ),
}
LABELS = [f"labels of a {what}" for what in ("fit", "kernel", "predictor", "learner", "conjunction")]
WITHOUT_ORDER: dict[str, Callable[[], Any]] = {
    "set": lambda: {0, 1},
    "frozenset": lambda: frozenset([0, 1]),
    "dict": lambda: {0: 0, 1: 1},
    "OrderedDict": lambda: OrderedDict({0: 0, 1: 1}),
    "Counter": lambda: Counter([0, 1]),
    "keys": lambda: {0: 0, 1: 1}.keys(),
    "values": lambda: {0: 0, 1: 1}.values(),
    "generator": lambda: (cell for cell in (0, 1)),
    "iterator": lambda: iter([0, 1]),
    "map": lambda: map(int, (0, 1)),
    "text": lambda: "01",
    "bytes": lambda: b"01",
    "bytearray": lambda: bytearray(b"\0\1"),
}


@pytest.fixture
def ledger(tmp_path: Any, entry: str) -> Ledger:
    """Return a fresh account, for whom the entry is about."""
    unit: Literal["record", "person"] = "person" if "groups" in entry else "record"
    return Ledger.create(f"sqlite:///{tmp_path}/l.db", name="x", budget=Budget(9.0, 1e-4), unit=unit)


@pytest.mark.parametrize("entry", ENTRIES)
@pytest.mark.parametrize("kind", WITHOUT_ORDER)
def test_what_has_no_fixed_order_and_length_is_no_column(entry: str, kind: str, ledger: Ledger) -> None:
    """Refused by its type, which is public, before anything is charged, wherever a column can be given."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with pytest.raises(InvalidParameter):
            ENTRIES[entry](WITHOUT_ORDER[kind](), ledger)
    assert not ledger.spent


ORDERED: dict[str, Callable[[], Any]] = {
    "list": lambda: [3, 7],
    "tuple": lambda: (3, 7),
    "range": lambda: range(3, 8, 4),
    "deque": lambda: deque([3, 7]),
    "array": lambda: array.array("i", [3, 7]),
    "numpy": lambda: np.array([3, 7]),
    "masked": lambda: np.ma.array([3, 7]),
    "pandas": lambda: pd.Series([3, 7], index=[7, 3]),
    "index": lambda: pd.Index([3, 7]),
    "categories": lambda: pd.Categorical([3, 7], categories=[7, 3]),
    "extension": lambda: pd.array([3, 7], dtype="Int64"),
    "polars": lambda: pl.Series([3, 7]),
    "arrow": lambda: pa.array([3, 7]),
    "chunks": lambda: pa.chunked_array([[3], [7]]),
    "narwhals": lambda: nw.from_native(pl.Series([3, 7]), series_only=True),
}


@pytest.mark.parametrize("kind", ORDERED)
def test_every_sequence_of_cells_reads_the_same(kind: str) -> None:
    """In a column of records, and in a column of statistics, cells are read in the order in which they stand."""
    block = cells_of(Records({"a": ORDERED[kind](), "y": [0, 1]}, NUMBERS))
    assert block["a"].tolist() == [3.0, 7.0]
    found = statistics.histogram(ORDERED[kind](), levels=[7, 3, 9], epsilon=1e6, random_state=1)
    assert found.value.round().tolist() == [1, 1, 0]


def test_columns_of_pandas_as_a_mapping_are_refused_with_what_to_do() -> None:
    """`df.to_dict()` has a mapping for each column, whose keys are the index: it was read as the column."""
    frame = pd.DataFrame({"a": [5.0, 6.0], "y": [0, 1]})
    with pytest.raises(InvalidParameter, match=r'to_dict\("list"\)'):
        Records(frame.to_dict(), NUMBERS)
    block = cells_of(Records(frame.to_dict("list"), NUMBERS))
    assert block["a"].tolist() == [5.0, 6.0]


def _texts(second: bytes) -> Any:
    return pa.array([b"a", second]).view(pa.string())


POLARS: dict[str, Callable[[bytes], Any]] = {
    "String": lambda cell: pl.from_arrow(_texts(cell)),
    "Categorical": lambda cell: pl.from_arrow(_texts(cell)).cast(pl.Categorical),
    "dictionary": lambda cell: pl.from_arrow(pa.DictionaryArray.from_arrays(pa.array([0, 1]), _texts(cell))),
    "narwhals": lambda cell: nw.from_native(pl.from_arrow(_texts(cell)), series_only=True),
}


def _told(entry: Callable[[Any, Ledger], Any], cells: Any, ledger: Ledger) -> str:
    try:
        entry(cells, ledger)
    except InvalidParameter as error:
        return str(error)
    return "answered"


TEXT_ENTRIES = ENTRIES | {
    "a column of words": lambda cells, ledger: Records({"c": cells, "y": [0, 1]}, WORDS),
    "words to encode": lambda cells, ledger: PublicEncoder(WORDS).transform({"c": cells}),
    "a frame of words": lambda cells, ledger: Records(cells.to_frame(), Schema({cells.name: Category(["a", "bb"])})),
    "a frame to fit": lambda cells, ledger: _fitted(ledger).fit(cells.to_frame(), [0, 1]),
    "a series to fit": lambda cells, ledger: _fitted(ledger).fit(cells, [0, 1]),
    "a frame of ids": lambda cells, ledger: Records(
        {"id": cells, "a": [0, 1]}, Schema({"id": Key(), "a": Number(0, 1)}), unit="id"
    ),
}


@pytest.mark.parametrize("entry", TEXT_ENTRIES)
@pytest.mark.parametrize("kind", POLARS)
def test_a_text_of_polars_that_is_not_utf_8_is_met_like_any_other(
    entry: str, kind: str, ledger: Ledger, capfd: pytest.CaptureFixture[str]
) -> None:
    """polars panics, which is no Exception, and prints the byte: the same is said and charged, and nothing printed."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        usual = _told(TEXT_ENTRIES[entry], POLARS[kind](b"bb"), ledger)
        paid = ledger.spent
        odd = _told(TEXT_ENTRIES[entry], POLARS[kind](b"\xff\xfe"), ledger)
    assert not any(capfd.readouterr())
    if entry in LABELS:  # arrays without a schema: undeclared labels are refused
        return
    assert odd == usual
    assert ledger.spent.epsilon == 2 * paid.epsilon


def test_texts_of_polars_read_like_those_of_a_list() -> None:
    """One that cannot be read is of no level, a null is missing, and the others are what they are."""
    cells = pl.Series([b"a", b"\xff", None, b" bb "])
    texts = pl.from_arrow(pa.array(cells.to_list()).view(pa.string()))
    assert isinstance(texts, pl.Series)
    for made in (texts, texts.cast(pl.Categorical)):
        block = cells_of(Records({"c": made, "y": [0, 1, 0, 1]}, WORDS))
        assert block["c"].tolist() == [0, -1, -1, 1]


class _Zone(datetime.tzinfo):
    """A zone that asks to leave."""

    def utcoffset(self, when: object) -> Any:
        raise SystemExit


class _Bare:
    """An object that fails in whatever it is asked."""

    def __getattribute__(self, name: str) -> Any:
        raise RuntimeError


class _Row(dict[str, Any]):
    """A record that asks to leave."""

    def get(self, *_: object) -> Any:
        raise SystemExit


@pytest.mark.parametrize("make", [lambda: datetime.datetime(2000, 1, 1, tzinfo=_Zone()), _Bare], ids=["zone", "object"])
def test_a_cell_of_a_class_of_ones_own_leaves_the_others_as_they_are(make: Callable[[], object]) -> None:
    """Whatever it raises when it is asked, in every container that holds Python objects."""
    cell = make()
    schema = Schema({"m": Moment("2000-01-01", "2001-01-01"), "x": Number(0, 1)})
    cells = np.fromiter([cell, "2000-07-01"], dtype=object, count=2)
    for table in (
        {"m": list(cells), "x": [0, 0]},
        {"m": cells, "x": [0, 0]},
        {"m": pd.Series(cells, dtype=object), "x": [0, 0]},
        pd.DataFrame({"m": pd.Series(cells, dtype=object), "x": [0, 0]}),
        [{"m": each, "x": 0} for each in cells],
        [_Row(), {"m": "2000-07-01", "x": 0}],
    ):
        block = cells_of(Records(table, schema))
        assert block["m"][1] == 11139.0
