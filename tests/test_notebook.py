"""What notebooks show: what, its guarantee, what is left; every text escaped."""

import numpy as np
import pytest

from tacit import Budget, Ledger, PrivateLogisticRegression, Records, statistics
from tacit.data import Category, Flag, Number, Schema

BAD = "<script>alert('x')</script>"
SCHEMA = Schema({BAD: Number(0, 1), "b": Category([BAD, "v"]), "ill": Flag()}, target="ill")


@pytest.fixture
def ledger(tmp_path):
    """An account whose name would be a script."""
    return Ledger.create(tmp_path / "ledger.db", name=BAD, budget=Budget(1, 1e-6))


def test_everything_shows_what_it_is_and_escapes_it(ledger):
    """Ledger, statement, release, budget, schema, records and models: as HTML without one tag of a user's text."""
    records = Records({BAD: np.linspace(0, 1, 50), "b": [BAD] * 50, "ill": [True, False] * 25}, SCHEMA)
    model = PrivateLogisticRegression(0.25, ledger=ledger)
    shown = [model._repr_html_()]
    model.fit(records)
    count = statistics.count([1, 0, 1], epsilon=0.25, label=BAD, ledger=ledger)
    things = [ledger, ledger.show(), count, Budget(1), SCHEMA, records, SCHEMA.twin(10), model]
    shown += [thing._repr_html_() for thing in things]
    assert all("<script" not in html and html.startswith("<div>") for html in shown)
    assert "not fitted" in shown[0]
    assert "epsilon=0.5, delta=1e-06" in shown[1]
    assert shown[1] == shown[2]
    assert "replace-one" in shown[3]
    assert "Number" in shown[5]
    assert "made up" in shown[7]
    assert "epsilon=0.25" in shown[8]
    assert "left of" in shown[8]
    assert model._repr_mimebundle_(include=None)["text/html"] == shown[8]


def test_a_statement_is_text_too(ledger):
    """In a terminal the same is printed, with the last entries."""
    for number in range(3):
        statistics.count([1, 0], epsilon=0.1, label=f"count {number}", ledger=ledger)
    text = repr(ledger.show(last=2))
    assert "count 2" in text
    assert "count 0" not in text
    assert "left" in text
    assert "count" not in repr(ledger.show(last=0)).replace("account", "")


def test_a_model_whose_ledger_has_gone_is_shown(ledger, tmp_path):
    """A repr never fails."""
    model = PrivateLogisticRegression(0.25, ledger=ledger)
    for file in tmp_path.iterdir():
        file.unlink()
    assert "cannot be read now" in model._repr_html_()
