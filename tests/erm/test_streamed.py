"""Fits of more encoded rows than memory may hold: the model of memory, made of stored cells, whatever goes wrong."""

import gc
import os
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone

import tacit.estimators.encoded as encoding
from support.fits import MODELS, check_same, people, schema_for, watch_certificates
from support.opened import view_of
from tacit import Budget, Ledger
from tacit.data import Number, Records, Schema
from tacit.data.store.lazy_rows import StreamedRows
from tacit.data.store.private_file import PrivateFile
from tacit.erm.classification import PrivateLinearSVC, PrivateLogisticRegression
from tacit.errors import InvalidParameter, QueryFailed

SMALL = 4000
"""Bytes that hold neither the cells of the table nor its encoded rows."""


@pytest.fixture(scope="module")
def table() -> pd.DataFrame:
    """Return the table of all fits."""
    return people()


@pytest.fixture
def ledger(tmp_path: Path) -> Ledger:
    """Open an account."""
    return Ledger.create(f"sqlite:///{tmp_path / 'a.db'}", name="a", budget=Budget(1.0))


@pytest.fixture
def made(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Keep note of how many numbers those rows have that are made of stored cells, fit by fit."""
    widths: list[int] = []

    def kept(rows: Any, *parts: Any) -> StreamedRows:
        widths.append(rows.shape[1])
        return StreamedRows(rows, *parts)

    monkeypatch.setattr(encoding, "StreamedRows", kept)
    return widths


@pytest.fixture(autouse=True)
def private(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Let private files be made in a folder of their own: none has a name there, nor is one open after a test."""
    folder = tmp_path_factory.mktemp("private")
    monkeypatch.setattr("tempfile.tempdir", str(folder))
    yield
    gc.collect()
    assert list(folder.iterdir()) == []
    links = [Path("/proc/self/fd", each) for each in os.listdir("/proc/self/fd")]
    assert not [link for link in links if link.is_symlink() and str(folder) in str(link.readlink())]


@pytest.mark.parametrize("number", range(len(MODELS)))
@pytest.mark.parametrize("unit", [None, "who"])
def test_streamed_fits_are_those_in_memory(
    table: pd.DataFrame, number: int, unit: str | None, made: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    """For one seed the released coefficients agree within the certified radius.

    A person's rows lie in different lots of the file, and in different blocks of sums.
    """
    target, make = MODELS[number]
    certified = watch_certificates(monkeypatch)
    held = make().fit(Records(table, schema_for(target), unit=unit))
    assert not made
    monkeypatch.setattr("tacit.data.store.reading.LOT", 700)
    monkeypatch.setattr("tacit.erm.rows.rows._CACHE_ENTRIES", 1)
    streamed = make().fit(Records(table, schema_for(target), unit=unit, memory=SMALL))
    assert len(made) == 1
    check_same(held, streamed, target, certified)
    one, two = held.predict(Records(table, schema_for(target))), streamed.predict(table)
    assert np.allclose(one, two, rtol=0, atol=1e-6) if target == "score" else np.array_equal(one, two)


@pytest.mark.parametrize("by", ["index", "key"])
def test_parts_of_packed_records_are_streamed_like_those_in_memory(
    table: pd.DataFrame, by: Any, tmp_path: Path, made: list[int]
) -> None:
    """Of a part its own rows are read, from a packed file too, with persons and without."""
    unit = "who" if by == "key" else None
    held = Records(table, schema_for("answer"), unit=unit)
    held.pack(tmp_path / "t.tacit-records")
    packed = Records(tmp_path / "t.tacit-records", memory=SMALL)
    fits = [PrivateLogisticRegression(1.0, random_state=3).fit(each.split(by=by)[0]) for each in (held, packed)]
    assert len(made) == 1
    assert np.allclose(fits[0].coef_, fits[1].coef_, rtol=0, atol=1e-6)
    assert fits[0].release_.guarantee == fits[1].release_.guarantee


@pytest.mark.parametrize("unit", [None, "who", "beside"])
def test_weights_of_streamed_rows_are_those_in_memory(
    table: pd.DataFrame, unit: str | None, made: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Weights, of a declared column or beside the rows, count for their rows, in samples of these rows, too."""
    monkeypatch.setattr("tacit.erm.solver.warm_start._FEWEST_ROWS", 64)
    weights = np.random.default_rng(1).uniform(0, 2, len(table))
    certified = watch_certificates(monkeypatch)
    model = PrivateLogisticRegression(1.0, curves=False, class_weight={"no": 0.3}, random_state=3)
    if unit == "beside":
        opened = [Records(table, schema_for("answer"), memory=memory) for memory in (2**29, SMALL)]
        model.set_params(largest_weight=2.0)
        fits = [clone(model).fit(records, sample_weight=weights) for records in opened]
    else:
        schema = Schema({**schema_for("answer").columns, "w": Number(0, 2, missing=0)}, target="answer", weight="w")
        heavy = table.assign(w=weights)
        fits = [clone(model).fit(Records(heavy, schema, unit=unit, memory=memory)) for memory in (2**29, SMALL)]
    assert len(made) == 1
    check_same(*fits, "answer", certified)


def test_fits_in_threads_read_one_private_file(table: pd.DataFrame) -> None:
    """Two fits at once of the same records do not move each other's place in the file."""
    records = Records(table, schema_for("answer"), memory=SMALL)

    def fitted(_: int) -> Any:
        return PrivateLogisticRegression(1.0, random_state=3).fit(records).coef_

    with ThreadPoolExecutor(2) as pool:
        one, other = pool.map(fitted, range(2), timeout=300)
    assert np.array_equal(one, other)


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


def test_the_plain_hinge_is_refused_uncharged(table: pd.DataFrame, ledger: Ledger) -> None:
    """It keeps numbers for every record; the refusal says what to do."""
    model = PrivateLinearSVC(1.0, loss="hinge", perturbation="output", ledger=ledger)
    with pytest.raises(InvalidParameter, match=r"huber.*Nothing was charged"):
        model.fit(Records(table, schema_for("answer"), memory=SMALL))
    assert not ledger.entries()


@pytest.mark.parametrize("rows", [1, 200])
def test_a_fit_writes_nothing_however_many_rows_a_person_has(
    table: pd.DataFrame, rows: int, tmp_path: Path, made: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    """That a file was needed told how many rows a person has: a disk that is full or gone changes nothing of a fit."""
    ledger = Ledger.create(f"sqlite:///{tmp_path / 'p.db'}", name="p", budget=Budget(1.0), unit="person")
    base = table[:100].assign(who=range(100))
    more = pd.concat([base, *[base[:1]] * (rows - 1)], ignore_index=True)
    records = Records(more, schema_for("answer"), unit="who", memory=8 * 8 * 120)

    def full(*_: object) -> int:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("tempfile.tempdir", "/nowhere")
    monkeypatch.setattr(os, "write", full)
    model = PrivateLogisticRegression(1.0, curves=False, ledger=ledger).fit(records)
    assert model.release_.unit == "person"
    assert len(made) == (rows > 1)
    assert len(ledger.entries()) == 1


def _fails(model: Any, records: Records, kind: type[BaseException]) -> str:
    """Fit, and return what the exception says, notes included; the model stays unfitted."""
    with pytest.raises(kind) as caught:
        model.fit(records)
    assert not hasattr(model, "coef_")
    return " ".join([str(caught.value), *getattr(caught.value, "__notes__", [])])


@pytest.mark.parametrize(("number", "unit"), [(0, "record"), (4, "person"), (len(MODELS) - 1, "record")])
def test_a_disk_that_cannot_be_read_back_says_what_was_charged(
    table: pd.DataFrame, unit: Any, number: int, tmp_path: Path
) -> None:
    """Rows are read after the charge alone: no failure to read one is an answer that nobody paid for."""
    account = Ledger.create(f"sqlite:///{tmp_path / 'u.db'}", name="u", budget=Budget(1.0, 1e-6), unit=unit)
    target, make = MODELS[number]
    records = Records(table, schema_for(target), unit="who" if unit == "person" else None, memory=SMALL)
    lots: Any = view_of(records).store.lots
    os.ftruncate(lots.file._handle, 0)
    told = _fails(make().set_params(ledger=account, random_state=None), records, QueryFailed)
    assert "file of the records cannot be read" in told
    assert "charged for it: epsilon=1" in told
    assert len(account.entries()) == 1


MOMENTS: list[tuple[Any, str, bool]] = [(encoding, "lazily_encoded", False), (PrivateFile, "read", True)]


@pytest.mark.parametrize(("where", "name", "charged"), MOMENTS, ids=[name for _, name, _ in MOMENTS])
def test_an_interrupt_at_any_moment_leaves_ledger_and_model_consistent(
    table: pd.DataFrame, ledger: Ledger, monkeypatch: pytest.MonkeyPatch, where: Any, name: str, charged: bool
) -> None:
    """Before the charge the note says that nothing was charged, after it what; the next fit works."""

    def interrupted(*_: Any, **__: Any) -> Any:
        raise KeyboardInterrupt

    records = Records(table, schema_for("answer"), memory=SMALL)
    model = PrivateLogisticRegression(0.25, ledger=ledger)
    with monkeypatch.context() as patch:
        patch.setattr(where, name, interrupted)
        told = _fails(model, records, KeyboardInterrupt)
    assert ("charged for it: epsilon=0.25" in told) == charged
    assert ("nothing was charged" in told) != charged
    assert len(ledger.entries()) == charged
    model.fit(records)
    assert len(ledger.entries()) == charged + 1


_ENDLESS = """
import os, signal, sys, threading
from support.fits import people, schema_for
from tacit import Budget, Ledger, PrivateLogisticRegression, Records
ledger = Ledger.create(sys.argv[1], name="a", budget=Budget(1.0))
records = Records(people(), schema_for("answer"), memory=4000)
threading.Timer(float(sys.argv[2]), lambda: os.kill(os.getpid(), signal.SIGINT)).start()
try:
    while True:
        PrivateLogisticRegression(2**-20, ledger=ledger).fit(records)
except KeyboardInterrupt:
    print(len(ledger.entries()), flush=True)
os._exit(0)
"""


@pytest.mark.parametrize("after", [0.3, 0.45])
def test_a_real_ctrl_c_leaves_a_ledger_that_opens(tmp_path: Path, after: float) -> None:
    """Whenever the signal comes, the account is whole and can be charged again."""
    address = f"sqlite:///{tmp_path / 'c.db'}"
    done = subprocess.run(
        [sys.executable, "-c", _ENDLESS, address, str(after)],
        env=os.environ | {"PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
        capture_output=True, text=True, check=False, timeout=120,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr[-2000:]
    entries = int(done.stdout.split()[0])
    ledger = Ledger.open(address, name="a")
    assert len(ledger.entries()) == entries
    PrivateLogisticRegression(0.5, ledger=ledger).fit(Records(people(), schema_for("answer")))
    assert len(ledger.entries()) == entries + 1
