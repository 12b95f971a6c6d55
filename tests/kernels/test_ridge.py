"""The ridge that follows the noise in answers, and fits whose every answer would be noise or 0."""

import re
import warnings
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tacit.accounting import Ledger
from tacit.accounting.analytic import gaussian_shift
from tacit.budget import Budget
from tacit.errors import InvalidParameter, OddTerms
from tacit.kernels import RBF, InteractiveKernelPredictor, Linear, Polynomial, PrivateKernelClassifier, estimator
from tacit.kernels.fit import ridge
from tacit.kernels.fit.ridge import foresee_noise
from tacit.kernels.interactive import predictor
from tacit.kernels.kernel.domain import Domain
from tacit.kernels.released.model import answer_noise

BUDGET = Budget(1.0, 1e-6)
RESULTS = Path(__file__).resolve().parents[2] / "benchmarks" / "results" / "kernel_ridge.md"


def _plane(count: int, features: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Return unit rows and the side of a plane that each is on."""
    generator = np.random.default_rng(seed)
    rows = generator.normal(size=(count, features))
    return rows / np.linalg.norm(rows, axis=1, keepdims=True), rows @ generator.normal(size=features) > 0


def _released(**changes: Any) -> PrivateKernelClassifier:
    given = {"kernel": Linear(), "epsilon": 1.0, "delta": 1e-6, "data_norm": 1.0, "classes": [False, True], **changes}
    return PrivateKernelClassifier(**given)


def _pinp(**changes: Any) -> InteractiveKernelPredictor:
    given = {"kernel": Linear(), "epsilon": 1.0, "delta": 1e-6, "data_norm": 1.0, "classes": [False, True], **changes}
    return InteractiveKernelPredictor(method="pinp", landmarks=10, **given)


@pytest.mark.parametrize("method", ["tddl", "matched", "tdil"])
@pytest.mark.parametrize("kernel", [Linear(), RBF(2.0), Polynomial(3, constant=1.0)])
@pytest.mark.parametrize("loss", ["logistic", "hinge", "absolute"])
def test_the_noise_in_an_answer_does_not_depend_on_how_many_there_are(method: Any, kernel: Any, loss: str) -> None:
    """The ridge falls as 1/n and rises with the noise, so that the noise stays at its share of a unit of the score."""
    domain = Domain(kernel, 1.0, 4)
    share = 1 / 10 if loss == "absolute" else 1 / 4
    for count, answers in ((10**4, 30), (10**5, 300), (10**6, 30)):
        multiple = answer_noise(method, BUDGET, answers)
        noise = foresee_noise(loss, "auto", domain, count, multiple)
        assert noise.error == pytest.approx(share, rel=1e-3)


def test_the_ridge_of_squares_follows_the_noise_too() -> None:
    """Its slope grows as the ridge falls: the noise stays within its share, and comes near it."""
    for count in (10**4, 10**5, 10**6):
        noise = foresee_noise("squared", "auto", Domain(RBF(1.0), 1.0, 4), count, 40.0)
        assert 0.08 < noise.error < 0.1001


def test_the_ridge_of_a_gaussian_process_has_the_noise_that_it_had() -> None:
    """One answer on demand has a deviation of a quarter: n alpha = 34 at epsilon 1 and delta 1e-6."""
    noise = foresee_noise("logistic", "auto", Domain(RBF(1.0), 1.0, 3), 1000, 1 / gaussian_shift(BUDGET))
    assert noise.alpha * 1000 == pytest.approx(33.8, abs=0.1)
    assert noise.error == pytest.approx(0.25)


@pytest.mark.parametrize(("epsilon", "count", "queries"), [(1.0, 10**5, 500), (1.0, 10**6, 10_000), (5.0, 10**5, 10)])
def test_pinps_threshold_is_what_its_ridge_was_chosen_for(epsilon: float, count: int, queries: int) -> None:
    """The updates that the ridge foresees are those that PINP provides for; its bound is 1.25 times its threshold."""
    model = _pinp(epsilon=epsilon, queries=queries)
    domain, budget = Domain(Linear(), 1.0, 3), Budget(epsilon, 1e-6)
    noise = model._foresee(domain, count, budget, queries)
    assert noise.error == pytest.approx(1.25 / (4 * predictor._WEIGHT), rel=1e-3)


def test_the_committed_sweep_chose_the_constants() -> None:
    """The file that the source names says the same shares of a unit as the source."""
    text = RESULTS.read_text(encoding="utf-8")
    chosen = {what: float(share) for what, share in re.findall(r"Chosen for (.+): ([\d.]+) of a unit", text)}
    noise = ridge._CLASSES_NOISE
    assert chosen == {"released answers": noise, "PINP's threshold": noise / predictor._WEIGHT}
    assert pytest.approx(0.4 * noise) == ridge._NUMBERS_NOISE


@pytest.mark.parametrize("method", ["tddl", "tdil"])
def test_released_answers_are_right_by_default_and_were_not(method: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Six fits in ten dimensions are right more often than with a constant n alpha, and often enough."""

    def accuracy() -> float:
        found = []
        for seed in range(6):
            rows, labels = _plane(5_000, 10, seed)
            model = _released(method=method, random_state=seed, landmarks=100).fit(rows[:4_000], labels[:4_000])
            found.append(np.mean(model.predict(rows[4_000:]) == labels[4_000:]))
        return float(np.mean(found))

    right = accuracy()
    constant = partial(foresee_noise, multiple=1 / gaussian_shift(BUDGET))
    monkeypatch.setattr(estimator, "foresee_noise", lambda *given: constant(*given[:4]))
    assert right > 0.85
    assert accuracy() < right - 0.05


def test_pinp_answers_by_default() -> None:
    """A hundred thousand records correct the public model; with a constant n alpha every answer was 0."""
    rows, labels = _plane(100_500, 4, 1)
    model = _pinp(random_state=2, queries=500).fit(rows[:100_000], labels[:100_000])
    answers = model.answer(rows[100_000:])
    assert np.mean((answers.values > 0) == labels[100_000:]) > 0.75
    assert np.all(answers.error < 2.5)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        before = _pinp(random_state=2, queries=500, alpha=34e-5).fit(rows[:100_000], labels[:100_000])
    assert np.all(before.answer(rows[100_000:]).values == 0)


HOPELESS = [
    (_pinp, {}),
    (_pinp, {"constants": "published"}),
    (_released, {"method": "tddl", "landmarks": 30, "epsilon": 0.3}),
    (_released, {"method": "matched", "landmarks": 30, "epsilon": 0.05}),
    (_released, {"method": "tdil", "rounds": 20, "epsilon": 0.3}),
]


@pytest.mark.parametrize(("build", "changes"), HOPELESS)
def test_a_fit_whose_answers_would_be_noise_is_refused_before_the_charge(
    build: Any, changes: dict[str, Any], tmp_path: Path
) -> None:
    """By public facts alone, whatever the labels are, and also when the price is asked for."""
    ledger = Ledger.create(f"sqlite:///{tmp_path}/l.db", name="l", budget=Budget(2.0, 1e-5))
    rows, labels = _plane(100, 3, 3)
    refusals = set()
    for told in (labels, ~labels, np.zeros(100, dtype=bool)):
        with pytest.raises(InvalidParameter, match="every answer would be noise or 0") as refusal:
            build(ledger=ledger, **changes).fit(rows, told)
        refusals.add(str(refusal.value))
    assert len(refusals) == 1
    with pytest.raises(InvalidParameter, match="noise or 0"):
        build(**changes).price(rows)
    assert ledger.entries() == []


@pytest.mark.parametrize(("build", "changes"), [case for case in HOPELESS if "constants" not in case[1]])
def test_what_would_be_enough_is_enough(build: Any, changes: dict[str, Any]) -> None:
    """As many records as the refusal names, or its epsilon, are not refused: the price is told."""
    rows, labels = _plane(100, 3, 3)
    with pytest.raises(InvalidParameter) as refusal:
        build(**changes).fit(rows, labels)
    enough = re.search(r"Enough would be .*?([\d,]+) records(?: or epsilon=([\d.]+))?", str(refusal.value))
    assert enough is not None
    count = int(enough[1].replace(",", ""))
    assert count > 100
    assert build(**changes).price(np.zeros((count, 3))).budget is not None
    if enough[2] is not None:
        assert build(**{**changes, "epsilon": float(enough[2].rstrip("."))}).price(rows).budget is not None


def test_a_ridge_of_ones_own_is_warned_of() -> None:
    """Who chose alpha gets the fit, and hears what it will be like; a rehearsal is silent."""
    rows, labels = _plane(100, 3, 3)
    with pytest.warns(OddTerms, match="every answer would be noise or 0"):
        model = _pinp(alpha=0.1).fit(rows, labels)
    assert np.all(model.answer(rows[:20]).values == 0)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        _pinp(alpha=0.1, random_state=1).fit(rows, labels)


@pytest.mark.parametrize("epsilon", [8.0, 15.0])
def test_beyond_the_balls_sampler_tdil_takes_the_net_that_it_asks_for(epsilon: float) -> None:
    """The refusal names an epsilon and a net, and both work."""
    rows, labels = _plane(2_000, 12, 4)
    with pytest.raises(InvalidParameter, match="public points as landmarks") as refusal:
        _released(method="tdil", epsilon=epsilon).fit(rows, labels)
    most = re.search(r"an epsilon of at most ([\d.]+) here", str(refusal.value))
    assert most is not None
    for changes in ({"epsilon": float(most[1]) - 0.1}, {"epsilon": epsilon, "landmarks": _plane(300, 12, 5)[0]}):
        assert _released(method="tdil", random_state=1, **changes).fit(rows, labels).score(rows, labels) > 0.8
