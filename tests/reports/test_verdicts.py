"""The auditor's verdict in cards: about the right method, with the code it was found with, and no more than it says."""

import json
import math

import pytest

import tacit
from support.fitted_models import NAMES, fitted_model
from tacit.audit import NAMES as AUDITED
from tacit.audit import Question, case
from tacit.errors import InvalidParameter
from tacit.models.kinds import _HOMES
from tacit.reports import card_of_model, verdicts
from tacit.reports.verdicts import MethodVerdict, shipped, verdict_for
from tacit.version import code_hash

GOOD = {
    "name": "PrivateLogisticRegression",
    "verdict": "holds",
    "claim": {"epsilon": 0.5, "delta": 0.0},
    "plays": 2000,
    "confidence": 0.999,
    "conclusion": "it holds",
    "version": "0.1.0",
    "code": "ab",
    "date": "2026-01-02",
}


def test_every_method_of_a_model_file_has_a_verdict_that_comes_along():
    """Pure and with a delta; each is of something that can be audited, held, and says its command and false alarms."""
    for _, name in _HOMES.values():
        for pure in (True, False):
            found = verdict_for(name, pure=pure)
            assert found is not None, name
            assert found.name in AUDITED
            assert found.verdict == "holds"
            assert (found.delta == 0) == pure
            assert f"tacit audit {found.name} --epsilon 1" in found.words
            assert "at most 0.001" in found.words
    assert verdict_for("PrivateLogisticRegression", pure=True, persons=True).name == "PrivateLogisticRegression-persons"
    assert verdict_for("PrivateSomething", pure=True) is None
    assert len(shipped()) == 18


@pytest.mark.parametrize("name", NAMES)
def test_a_card_says_whether_the_code_is_the_one_that_was_attacked(name, monkeypatch):
    """With the same hash it is "this code"; with any other it "has changed since"."""
    model = fitted_model(name)[0]
    attacked = shipped()[0].code
    monkeypatch.setattr(verdicts, "code_hash", lambda: attacked)
    same = card_of_model(model).tacit["audit"]
    assert same["same_code"]
    assert "with this code" in same["words"]
    monkeypatch.setattr(verdicts, "code_hash", lambda: "another")
    changed = card_of_model(model).tacit["audit"]
    assert not changed["same_code"]
    assert "whose code has changed since" in changed["words"]


def test_the_hash_of_the_code_is_that_of_what_makes_promises(tmp_path, monkeypatch):
    """Another line in a mechanism changes it; another in a command does not."""
    from tacit import version

    for place in ("mechanisms", "cli"):
        (tmp_path / place).mkdir()
    file = tmp_path / "version.py"
    file.write_text("")
    monkeypatch.setattr(version, "__file__", str(file))
    found = []
    for place in (None, "cli", "mechanisms"):
        if place is not None:
            (tmp_path / place / "one.py").write_text("x = 1\n")
        found.append(code_hash.__wrapped__())
    assert found[0] == found[1] != found[2]


def test_what_the_auditor_prints_is_a_verdict():
    """`Report.plain()` of a short game goes through JSON into the card of a model of that method."""
    report = case("PrivateLogisticRegression", Question(1.0, None, None, None)).audit(plays=10)
    plain = json.loads(json.dumps(report.plain()))
    card = card_of_model(fitted_model("two classes")[0], audit=plain)
    told = card.tacit["audit"]
    assert told["verdict"] == str(report.verdict) == "cannot tell"
    assert told["code"] == code_hash()
    assert told["command"] == "tacit audit PrivateLogisticRegression --epsilon 1 --plays 10"
    assert tacit.reports.Card.of_plain(card.plain()) == card


def test_a_refutation_is_told_as_one():
    """A card hides nothing: a refuted method stands in it in so many words."""
    card = card_of_model(fitted_model("two classes")[0], audit=GOOD | {"verdict": "refuted"})
    assert card.tacit["audit"]["words"].startswith("refuted: `tacit audit PrivateLogisticRegression --epsilon 0.5")


WRONG = [
    None, [], "holds", {}, GOOD | {"verdict": "fine"}, GOOD | {"claim": None}, GOOD | {"name": "PrivateLinearSVC"},
    GOOD | {"plays": "many"}, GOOD | {"plays": True}, GOOD | {"confidence": math.inf}, GOOD | {"confidence": math.nan},
    GOOD | {"date": "yesterday"}, GOOD | {"conclusion": "x" * 10_000}, GOOD | {"name": "a b; rm"},
    GOOD | {"code": None},
    {name: value for name, value in GOOD.items() if name != "version"},
]  # fmt: skip


@pytest.mark.parametrize("plain", WRONG[1:], ids=range(len(WRONG) - 1))
def test_what_is_no_verdict_about_this_method_is_refused(plain):
    """Other objects, other methods, numbers that are none, texts without end."""
    with pytest.raises(InvalidParameter):
        card_of_model(fitted_model("two classes")[0], audit=plain)


def test_a_verdict_that_was_read_is_the_one_that_was_written():
    """Reading what a card keeps gives the same fields."""
    verdict = MethodVerdict.of_json(GOOD)
    again = {**verdict.plain(), "claim": {"epsilon": verdict.epsilon, "delta": verdict.delta}}
    assert MethodVerdict.of_json(again) == verdict
