"""Progress of long fits: what is told, to whom, and that it is public."""

import io
import os
import re
import sys
import threading
import time
from contextlib import AbstractContextManager
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import tacit
from tacit import Budget, Ledger, PrivateLogisticRegression, Records, Schema
from tacit.data import Key, Number
from tacit.errors import InvalidParameter
from tacit.numerics import progress

X = np.random.default_rng(0).normal(size=(80, 3))
Y = np.arange(80) % 3


def _model() -> PrivateLogisticRegression:
    return PrivateLogisticRegression(1.0, 1e-5, data_norm=1.0, classes=[0, 1, 2], perturbation="gradient")


def test_every_step_is_told_within_the_block_and_nothing_after_it() -> None:
    """Steps count up to their number, which other records of the same size have too; outside nobody is told."""
    heard: list[tuple[int, int]] = []
    with tacit.progress(lambda done, total: heard.append((done, total))):
        _model().fit(X, Y)
    total = heard[-1][1]
    assert heard == [(step + 1, total) for step in range(total)]
    again = heard.copy()
    heard.clear()
    with tacit.progress(lambda done, total: heard.append((done, total))):
        _model().fit(np.zeros_like(X), np.zeros_like(Y))
    assert heard == again
    _model().fit(X, Y)
    assert heard == again


def test_a_bar_is_drawn_on_a_terminal_and_nothing_anywhere_else(monkeypatch: pytest.MonkeyPatch) -> None:
    """A stream that is no terminal stays empty; a terminal gets a bar that ends with all steps."""
    stream = io.StringIO()
    monkeypatch.setattr(sys, "stderr", stream)
    with tacit.progress():
        _model().fit(X, Y)
    assert stream.getvalue() == ""
    monkeypatch.setattr(stream, "isatty", lambda: True, raising=False)
    with tacit.progress():
        _model().fit(X, Y)
    assert stream.getvalue().endswith("steps\n")
    assert "[" + "#" * 40 + "]" in stream.getvalue()


def test_a_report_that_raises_leaves_the_model_as_it_was() -> None:
    """An exception of the caller's own reaches the caller, and nothing is fitted."""

    def refuse(done: int, total: int) -> None:
        raise KeyboardInterrupt

    model = _model()
    with pytest.raises(KeyboardInterrupt), tacit.progress(refuse):
        model.fit(X, Y)
    assert not hasattr(model, "coef_")
    with pytest.raises(InvalidParameter, match="function"), tacit.progress("loud"):  # type: ignore[arg-type]
        pass


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs forks")
def test_a_report_that_forks_gets_one_answer_for_one_charge(tmp_path: Path) -> None:
    """Each fork would draw the noise of all further steps anew: only the process that was charged has an answer."""
    ledger = Ledger.create(tmp_path / "l.db", name="l", budget=Budget(10, 1e-3))
    first, forked = os.getpid(), []

    def fork(done: int, total: int) -> None:
        if done == 1 and os.getpid() == first:
            forked.append(os.fork())

    answered = 0
    try:
        with tacit.progress(fork):
            model = _model()
            model.ledger = ledger
            model.fit(X, Y)
        answered = 1
    except InvalidParameter as refusal:
        answered = 2 if "one charge has one answer" in str(refusal) else 3
    finally:
        if os.getpid() != first:
            os._exit(answered)
    assert answered == 1
    assert os.waitstatus_to_exitcode(os.waitpid(forked[0], 0)[1]) == 2
    assert len(ledger.entries()) == 1


@pytest.fixture
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let a second of the clock be a hundredth."""
    monkeypatch.setattr(progress, "_EVERY", 0.01)


@pytest.mark.usefixtures("quick")
@pytest.mark.parametrize("classes", [2, 3])
def test_a_fit_without_public_steps_shows_that_it_runs(classes: int) -> None:
    """Objective perturbation tells no step, since their number is private; the clock ticks until the block ends."""
    rows, labels = np.tile(X, (2_000, 1)), np.tile(np.arange(80) % classes, 2_000)
    model = PrivateLogisticRegression(
        1.0, data_norm=1.0, classes=list(range(classes)), perturbation="objective", random_state=0
    )
    heard: list[float] = []
    steps: list[int] = []
    with tacit.progress(lambda done, total: steps.append(done), tick=heard.append):
        model.fit(rows, labels)
    assert steps == []
    assert heard
    assert heard == sorted(heard)
    told = heard.copy()
    time.sleep(0.05)
    assert heard == told
    assert all(thread.name != "progress" for thread in threading.enumerate())


@pytest.mark.usefixtures("quick")
def test_steps_are_the_sign_of_life_where_they_are_told() -> None:
    """While steps come quickly nobody is told the time as well; when they cease the clock goes on."""
    heard: list[float] = []
    with tacit.progress(lambda done, total: None, tick=heard.append):
        for step in range(2_000):
            progress.told(step + 1, 4_000)
            time.sleep(1e-5)
        quiet = len(heard)
        time.sleep(0.1)
    assert len(heard) > quiet + 2


def _fitted_within(block: AbstractContextManager[None], model: PrivateLogisticRegression) -> None:
    with block:
        time.sleep(0.1)
        model.fit(X, Y)


@pytest.mark.usefixtures("quick")
def test_what_a_tick_raises_is_raised_when_the_block_ends() -> None:
    """The fit is charged and whole by then: its model is kept."""

    def refuse(seconds: float) -> None:
        raise ValueError("enough")

    model = _model()
    with pytest.raises(ValueError, match="enough"):
        _fitted_within(tacit.progress(tick=refuse), model)
    assert hasattr(model, "coef_")
    with pytest.raises(InvalidParameter, match="tick must be a function"), tacit.progress(tick=3):  # type: ignore[arg-type]
        pass


@pytest.mark.usefixtures("quick")
def test_the_time_is_drawn_on_a_terminal_and_wiped_away(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever looks at a terminal sees that something happens; the line is empty afterwards."""
    stream = io.StringIO()
    monkeypatch.setattr(sys, "stderr", stream)
    monkeypatch.setattr(stream, "isatty", lambda: True, raising=False)
    with tacit.progress():
        time.sleep(0.1)
    assert "working for 0 s" in stream.getvalue()
    assert stream.getvalue().endswith("\r\x1b[K")


def _written(folder: Path, rows: int) -> Path:
    cells = {"x": np.linspace(-1, 1, rows), "who": np.arange(rows) // 2}
    pq.write_table(pa.table(cells), folder / "rows.parquet")
    return folder / "rows.parquet"


ROWS = Schema({"x": Number(-1, 1), "who": Key()})


def test_rows_are_told_while_they_are_read_and_never_those_of_persons(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The number of records is public, that of persons' rows is not."""
    monkeypatch.setattr("tacit.data.readers.parquet_file._ROWS", 1000)
    path = _written(tmp_path, 2500)
    heard: list[tuple[int, int]] = []
    with tacit.progress(rows=lambda done, total: heard.append((done, total))):
        Records(path, ROWS)
    assert heard == [(1000, 2500), (2000, 2500), (2500, 2500)]
    heard.clear()
    with tacit.progress(rows=lambda done, total: heard.append((done, total))):
        Records(path, ROWS, unit="who")
    assert heard == []
    with pytest.raises(InvalidParameter, match="rows must be a function"), tacit.progress(rows=3):  # type: ignore[arg-type]
        pass


def test_rows_a_second_are_drawn_on_a_terminal(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The bar ends with all rows, and says how many were read in a second."""
    stream = io.StringIO()
    monkeypatch.setattr(sys, "stderr", stream)
    monkeypatch.setattr(stream, "isatty", lambda: True, raising=False)
    path = _written(tmp_path, 2500)
    with tacit.progress():
        Records(path, ROWS)
    assert re.search(r"\] 2,500 of 2,500 rows, [0-9,]+ a second\n", stream.getvalue())
