"""The generic entry: any callable, a clear answer to bad input, never a false verdict."""

import json
import math
import re
import shlex
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression
from typer.testing import CliRunner

from tacit.audit import Batch, Canary, Verdict, audit, picture
from tacit.audit.picture import least_misses
from tacit.budget import Budget
from tacit.cli.app import app
from tacit.errors import InvalidParameter
from tacit.queries import SQPerceptron
from tacit.statistics import count

D, D2 = [1.0, 0.0, 0.0], [0.0, 0.0, 0.0]


def _seeded_perceptron(data):
    learner = SQPerceptron(data_norm=1.0, epsilon=100.0, random_state=7, classes=[0, 1])
    return learner.fit(np.array(data * 20)[:, None], np.tile([1, 0, 0], 20))


def _noisy_count(data):
    return count(np.array(data) > 0, epsilon=1.0)


@pytest.mark.stats
def test_a_private_callable_holds():
    """A private count holds at its epsilon (false alarm 1e-9), and is refuted at a quarter of it."""
    assert audit(_noisy_count, D, D2, epsilon=1.0, plays=1_000, confidence=1 - 1e-9).verdict is Verdict.HOLDS
    refuted = audit(lambda data: _noisy_count(data).value, D, D2, epsilon=0.25, plays=5_000, attacks=[Canary((1.0,))])
    assert refuted.verdict is Verdict.REFUTED
    assert "is refuted" in refuted.conclusion


def test_an_estimator_of_another_library_is_refuted():
    """scikit-learn's logistic regression, claimed as private, gives its record away."""
    rows = np.array([[1.0], [-1.0], [0.5], [0.2]])
    labels, others = np.array([1, 0, 1, 0]), np.array([1, 0, 0, 0])
    fit, attack = (lambda data: LogisticRegression().fit(*data)), Canary((1.0, 0.0))
    report = audit(fit, (rows, labels), (rows, others), epsilon=1, plays=200, attacks=[attack])
    assert report.verdict is Verdict.REFUTED
    assert report.name == "<lambda>"


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"second": D}, "exactly one record"),
        ({"second": [2.0, 2.0, 0.0]}, "exactly one record"),
        ({"second": [0.0, 0.0]}, "as many records"),
        ({"first": 3.0}, "must be a list"),
        ({"mechanism": 3.0}, "function of a data set"),
        ({"plays": 0}, "plays must be"),
        ({"plays": 10.5}, "plays must be"),
        ({"plays": True}, "plays must be"),
        ({"confidence": 1.0}, "confidence"),
        ({"confidence": 0.2}, "confidence"),
        ({"confidence": math.nan}, "confidence"),
        ({"epsilon": -1.0}, "epsilon"),
        ({"epsilon": math.nan}, "epsilon"),
        ({"delta": 2.0}, "delta"),
    ],
    ids=str,
)
def test_bad_arguments_are_refused_before_anything_is_played(changes, message):
    """What makes no sense is refused with its reason, and the mechanism is not called."""

    def never(data):
        raise AssertionError("played")

    given = {"mechanism": never, "first": D, "second": D2, "epsilon": 1.0} | changes
    with pytest.raises(InvalidParameter, match=message):
        audit(**given)


@pytest.mark.parametrize(
    ("mechanism", "message"),
    [
        (lambda data: 1 / 0, "ZeroDivisionError"),
        (lambda data: (number for number in [1.0]), "generator can not be looked into"),
        (lambda data: "a" * 5000, "more than 4,096 bytes"),
        (lambda data: count(np.array(data) > 0, epsilon=1.0, random_state=7), "NOT private"),
        (lambda data: SimpleNamespace(release_=count(np.array(data) > 0, epsilon=1.0, random_state=7)), "NOT private"),
        (lambda data: _seeded_perceptron(data), "NOT private"),
    ],
    ids=["always raises", "cannot be read", "long text", "rehearsal", "rehearsed model", "rehearsed learner"],
)
def test_a_mechanism_that_cannot_be_judged_gives_no_verdict(mechanism, message):
    """The answer is 'cannot tell', with the reason, and exit code 4."""
    report = audit(mechanism, D, D2, epsilon=1.0, plays=200)
    assert report.verdict is Verdict.CANNOT_TELL
    assert report.exit_code == 4
    assert message in report.conclusion


def test_an_attack_that_does_not_fit_gives_no_verdict():
    """A direction of the wrong length is said, not raised, and nothing holds because of it."""
    report = audit(lambda data: 1.0, D, D2, epsilon=1.0, plays=200, attacks=[Canary((1.0, 2.0))])
    assert report.verdict is Verdict.CANNOT_TELL
    assert "'canary' does not fit the answers" in report.conclusion


@pytest.mark.parametrize(
    "mechanism",
    [
        lambda data: math.inf * (data[0] - 0.5),
        lambda data: (1e308, math.nan, data[0]),
        lambda data: "yes" if data[0] else "no",
        lambda data: [data[0]] * (1 + int(data[0])),
    ],
    ids=["infinite", "huge and missing", "text", "of varying length"],
)
def test_strange_answers_are_attacked_like_others(mechanism):
    """Infinite, missing, textual and ragged answers that give the record away are refuted by the learned attack."""
    assert audit(mechanism, D, D2, epsilon=1.0, plays=400).verdict is Verdict.REFUTED


@pytest.mark.parametrize("plays", [2, 7, 20])
def test_too_few_plays_give_no_verdict(plays):
    """Even a mechanism that answers with its data gets no verdict; the answer says how many times to play."""
    report = audit(lambda data: data[0], D, D2, epsilon=1.0, plays=plays, attacks=[Canary((1.0,))])
    assert report.verdict is Verdict.CANNOT_TELL
    assert "play about" in report.conclusion


def test_as_many_plays_as_it_asks_for_suffice():
    """The number named by 'cannot tell' is enough to refute a mechanism that answers with its data."""
    report = audit(lambda data: data[0], D, D2, epsilon=3.0, plays=20, attacks=[Canary((1.0,))])
    wanted = int(report.conclusion.split("play about ")[1].split(" times")[0].replace(",", ""))
    again = audit(lambda data: data[0], D, D2, epsilon=3.0, plays=wanted, attacks=[Canary((1.0,))])
    assert again.verdict is Verdict.REFUTED


@pytest.mark.stats
def test_the_example_in_the_documentation_is_refuted(tmp_path, monkeypatch):
    """The page's Python runs as written and finds the noise too small (power above 1 - 1e-6: bound 0.8 +- 0.03)."""
    monkeypatch.chdir(tmp_path)
    page = (Path(__file__).resolve().parents[2] / "docs" / "audit.md").read_text(encoding="utf-8")
    names: dict[str, object] = {}
    exec(re.findall(r"```python\n(.*?)```", page, re.DOTALL)[0], names)
    assert names["report"].verdict is Verdict.REFUTED
    assert (tmp_path / "count.png").exists()


@pytest.mark.stats
def test_the_commands_of_the_page_end_as_it_says(tmp_path, monkeypatch):
    """docs/audit.md, verbatim: holds, is refuted, and a verdict as JSON (each wrong with a chance below 1e-3)."""
    monkeypatch.chdir(tmp_path)
    page = (Path(__file__).resolve().parents[2] / "docs" / "audit.md").read_text(encoding="utf-8")
    commands = re.findall(r"^tacit (audit .*)$", page, re.MULTILINE)
    ended = [CliRunner().invoke(app, shlex.split(command.partition(" > ")[0])) for command in commands]
    assert [each.exit_code for each in ended] == [0, 1, 0]
    assert float(ended[1].output.split("epsilon is above ")[-1].split(" at 99.9 %")[0]) > 2.7
    assert json.loads(ended[2].stdout)["verdict"] == "holds"
    assert {path.name for path in tmp_path.iterdir()} == {
        "audit-PrivateLogisticRegression.png", "audit-exhibit-nips2008.png",
    }  # fmt: skip


@pytest.mark.stats
def test_a_delta_is_granted():
    """A mechanism that gives the record away once in ten is refuted as pure, not with a delta of 0.15 (alarm 1e-9)."""

    class Leaky(Batch):
        def many(self, data, count):
            return np.where(np.random.default_rng().random(count) < 0.1, data[0], -1.0)[:, None]

    attacks = [Canary((1.0,))]
    strict = audit(Leaky(), D, D2, epsilon=1.0, plays=20_000, attacks=attacks)
    lenient = audit(Leaky(), D, D2, epsilon=1.0, delta=0.15, plays=20_000, confidence=1 - 1e-9, attacks=attacks)
    assert strict.verdict is Verdict.REFUTED
    assert lenient.verdict is Verdict.HOLDS


def test_several_attacks_share_the_risk():
    """With two attacks and the fingerprints each is judged at a third of the risk."""
    report = audit(lambda data: data[0], D, D2, epsilon=1.0, plays=100, attacks=[Canary((1.0,)), Canary((-1.0,))])
    assert [finding.confidence for finding in report.findings] == [pytest.approx(1 - 0.001 / 3)] * 3


def test_the_forbidden_region_is_that_of_the_definition():
    """At (epsilon, delta) = (0, 0) only guessing is allowed; randomized response touches the corner of its region."""
    rates = np.linspace(0, 1, 11)
    assert np.allclose(least_misses(Budget(0), rates), 1 - rates)
    lie = 1 / (1 + math.e)
    assert least_misses(Budget(1), np.array([lie]))[0] == pytest.approx(lie)
    assert least_misses(Budget(1, 0.1), np.array([0.0]))[0] == pytest.approx(0.9)


def test_a_picture_is_drawn_for_every_verdict(tmp_path):
    """Refuted, held and impossible audits all leave a picture."""
    for name, mechanism in {"refuted": lambda data: data[0], "impossible": lambda data: 1 / 0}.items():
        path = tmp_path / f"{name}.png"
        picture(audit(mechanism, D, D2, epsilon=1.0, plays=200, attacks=[Canary((1.0,))]), path)
        assert path.stat().st_size > 10_000
