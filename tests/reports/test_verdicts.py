"""The auditor's verdict in cards: about the right method, with the code it was found with, and no more than it says."""

import importlib.util
import json
import math
from pathlib import Path

import numpy as np
import pytest

import tacit
from support.fitted_models import NAMES, fitted_model
from tacit import PrivateKernelClassifier, PrivateLinearSVC, PrivateLogisticRegression
from tacit.audit import NAMES as AUDITED
from tacit.audit import Question, case
from tacit.errors import InvalidParameter
from tacit.kernels import RBF
from tacit.model_selection import PrivateSearch
from tacit.reports import card_of_model, verdicts
from tacit.reports.verdicts import MethodVerdict, shipped, variant_of, verdict_for
from tacit.version import code_hash

GOOD = {
    "name": "PrivateLogisticRegression",
    "variant": {"unit": "record", "perturbation": "objective", "classes": "two"},
    "options": "",
    "verdict": "holds",
    "claim": {"epsilon": 0.5, "delta": 0.0},
    "plays": 2000,
    "confidence": 0.999,
    "conclusion": "it holds",
    "version": "0.1.0",
    "code": "ab",
    "date": "2026-01-02",
}


PERSONS = {"unit": "person", "perturbation": "objective", "classes": "two"}


def test_every_verdict_that_comes_along_is_of_something_that_can_be_audited():
    """It held, says its command and its false alarms, and is found by its variant alone."""
    for found in shipped():
        assert found.name in AUDITED
        assert found.verdict == "holds"
        assert f"tacit audit {found.name} --epsilon 1" in found.words
        assert "at most 0.001" in found.words
        kind = found.options.removeprefix(" --perturbation ") or None
        asked = case(found.name, Question(1.0, found.delta or None, perturbation=kind))
        assert (asked.variant, asked.options) == (found.variant, found.options)
        assert verdict_for(found.name.partition("-")[0], found.variant, pure=not found.delta) is found
    assert verdict_for("PrivateLogisticRegression", PERSONS, pure=True).name == "PrivateLogisticRegression-persons"
    assert verdict_for("PrivateLogisticRegression", PERSONS | {"classes": "several"}, pure=True) is None
    assert verdict_for("PrivateSomething", {}, pure=True) is None


@pytest.mark.parametrize("name", NAMES)
def test_a_card_says_whether_the_code_is_the_one_that_was_attacked(name, monkeypatch):
    """With the same hash it is "this code"; with any other it "has changed since"."""
    model = fitted_model(name)[0]
    attacked = shipped()[0].code
    monkeypatch.setattr(verdicts, "code_hash", lambda: attacked)
    same = card_of_model(model).tacit["audit"]
    if same["verdict"] == "none":
        assert same["words"].startswith("none")
        return
    assert same["same_code"]
    assert "with this code" in same["words"]
    monkeypatch.setattr(verdicts, "code_hash", lambda: "another")
    changed = card_of_model(model).tacit["audit"]
    assert not changed["same_code"]
    assert "whose code has changed since" in changed["words"]


X, Y = np.linspace(-1, 1, 40)[:, None], np.arange(40) % 2
LR, SVC, KC = PrivateLogisticRegression, PrivateLinearSVC, PrivateKernelClassifier
RECORD, TWO, POINTS = {"unit": "record"}, {"classes": "two"}, np.array([[0.5]])
VARIANTS = {
    "default": (LR(1.0, data_norm=1.0), {"perturbation": "objective", **TWO}),
    "default with a delta": (LR(1.0, 1e-6, data_norm=1.0), {"perturbation": "objective", **TWO}),
    "output": (LR(1.0, data_norm=1.0, perturbation="output"), {"perturbation": "output", **TWO}),
    "gradient": (LR(1.0, 1e-6, data_norm=1.0, perturbation="gradient"), {"perturbation": "gradient", **TWO}),
    "softmax": (LR(1.0, data_norm=1.0, classes=[0, 1, 2]), {"perturbation": "objective", "classes": "several"}),
    "noisy softmax": (
        LR(1.0, 1e-6, data_norm=1.0, classes=[0, 1, 2]), {"perturbation": "gradient", "classes": "several"},
    ),
    "machine": (SVC(1.0, data_norm=1.0), {"perturbation": "objective", "loss": "huber", **TWO}),
    "hinge": (SVC(1.0, data_norm=1.0, loss="hinge"), {"perturbation": "output", "loss": "hinge", **TWO}),
    "landmarks": (
        KC(RBF(1.0), 1.0, landmarks=POINTS, data_norm=1.0),
        {"perturbation": "objective", "method": "landmarks", "loss": "logistic", **TWO},
    ),
    "fourier": (
        KC(RBF(1.0), 1.0, landmarks=2, method="fourier", data_norm=1.0),
        {"perturbation": "objective", "method": "fourier", "loss": "logistic", **TWO},
    ),
    "tdil": (
        KC(RBF(1.0), 5.0, landmarks=POINTS, method="tdil", loss="hinge", alpha=1.0, data_norm=1.0),
        {"method": "tdil", "loss": "hinge", **TWO},
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", VARIANTS)
def test_a_verdict_is_about_the_very_variant(name):
    """A card has the verdict of its own perturbation, method, loss, unit and number of classes, or none at all."""
    asked, variant = VARIANTS[name]
    model = asked.fit(X, Y)
    told = card_of_model(model).tacit["audit"]
    assert told["variant"] == RECORD | variant
    pure = model.release_.budget.is_pure
    known = [each for each in shipped() if each.variant == RECORD | variant and (not each.delta) == pure]
    assert (told["verdict"] == "none") == (type(model).__name__ not in {each.name.partition("-")[0] for each in known})


@pytest.mark.parametrize("name", ["default", "default with a delta", "output", "gradient", "machine"])
def test_a_model_of_persons_has_no_verdict_about_records(name):
    """The same model fitted to persons with two rows each has the game of persons, or none."""
    asked, variant = VARIANTS[name]
    told = card_of_model(asked.fit(X, Y, groups=np.arange(40) // 2)).tacit["audit"]
    assert told["variant"] == {"unit": "person", **variant}
    assert told["verdict"] == "none" or told["name"] == "PrivateLogisticRegression-persons"


@pytest.mark.parametrize("perturbation", ["objective", "output", "gradient"])
def test_what_the_catalogue_says_it_attacks_is_what_it_fits(perturbation):
    """The variant of an audit is that of a model with the same parameters."""
    for name, estimator in (("PrivateLogisticRegression", LR), ("PrivateLinearSVC", SVC)):
        asked = case(name, Question(1.0, 1e-6, None, perturbation))
        model = estimator(1.0, 1e-6, data_norm=1.0, perturbation=perturbation)
        assert variant_of(model, "record", pure=False, classes=2) == asked.variant
        assert asked.options == f" --perturbation {perturbation}"


def test_a_tuned_model_has_no_verdict_of_the_method_that_was_searched():
    """A private search is another mechanism: its winner's card does not borrow the verdict of one fit."""
    search = PrivateSearch(LR(data_norm=1.0), {"alpha": [0.1, 1.0]}, epsilon=3.0, runs=2, random_state=1).fit(X, Y)
    told = card_of_model(search.best_estimator_).tacit["audit"]
    assert (told["verdict"], told["variant"]["tuned"]) == ("none", "yes")
    with pytest.raises(InvalidParameter, match="is about"):
        card_of_model(search.best_estimator_, audit=GOOD)


def test_what_is_attacked_for_a_release_covers_what_is_fitted_by_default():
    """`make verdicts` plays every default variant of a linear model, and every method of kernel models."""
    listed = [
        (name.partition("-")[0], dict(case(name, Question(1.0, delta or None, None, perturbation)).variant), not delta)
        for name, perturbation, deltas in _tool().METHODS
        for delta in deltas
    ]
    for name, (model, variant) in VARIANTS.items():
        # The hinge without a round corner is attacked nowhere; its cards say so.
        if name != "hinge":
            assert (type(model).__name__, RECORD | variant, not model.delta) in listed, name


def _tool():
    place = Path(__file__).resolve().parents[2] / "tools" / "verdicts.py"
    spec = importlib.util.spec_from_file_location("verdicts_tool", place)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


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
    GOOD | {"code": None}, GOOD | {"variant": {}}, GOOD | {"variant": GOOD["variant"] | {"unit": "person"}},
    GOOD | {"variant": "objective"}, GOOD | {"options": " --perturbation output; rm"}, GOOD | {"options": None},
    GOOD | {"variant": GOOD["variant"] | {"perturbation": "output"}},
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
