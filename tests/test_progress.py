"""Progress of long fits: what is told, to whom, and that it is public."""

import io
import os
import sys
from pathlib import Path

import numpy as np
import pytest

import tacit
from tacit import Budget, Ledger, PrivateLogisticRegression
from tacit.errors import InvalidParameter

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
