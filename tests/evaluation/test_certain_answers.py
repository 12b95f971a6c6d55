"""Models that are certain, or say few different things, as trees and nearest neighbours do; rates that are curves."""

from typing import Any

import numpy as np
import pytest
from sklearn import metrics
from tests.support.statistical import count_fits, sample_size

from tacit import evaluation

SIZE = 6000
GENERATOR = np.random.default_rng(11)
ODDS = 1.5 * GENERATOR.normal(size=SIZE) - 0.7
TRUTH = (GENERATOR.random(SIZE) < 1 / (1 + np.exp(-ODDS))).astype(int)


class Said:
    """A model's answers, given again."""

    classes_ = (0, 1)

    def __init__(self, chances: Any) -> None:
        self.predict_proba = lambda rows: np.column_stack([1 - chances, chances])[: len(rows)]
        self.predict = lambda rows: chances[: len(rows)]


def _answers(kind: str) -> Any:
    """Return the shares of noisy votes for each row."""
    votes = {"tree": 1, "neighbours": 5, "forest": 50}[kind]
    return GENERATOR.binomial(votes, 1 / (1 + np.exp(-2 * ODDS - GENERATOR.normal(size=SIZE)))) / votes


def _exact(chances: Any) -> dict[str, float]:
    return {
        "auc": metrics.roc_auc_score(TRUTH, chances),
        "average_precision": metrics.average_precision_score(TRUTH, chances),
        "log_loss": metrics.log_loss(TRUTH, chances),
        "brier_score": metrics.brier_score_loss(TRUTH, chances),
    }


def _report(chances: Any, epsilon: float, seed: int, truth: Any = TRUTH) -> Any:
    return evaluation.report(Said(chances), np.zeros((len(truth), 1)), truth, epsilon=epsilon, random_state=seed)


@pytest.mark.parametrize("epsilon", [0.1, 0.5, 2.0])
@pytest.mark.parametrize("kind", ["tree", "neighbours", "forest"])
def test_error_bars_cover_where_a_model_is_certain(kind: str, epsilon: float) -> None:
    """Probabilities of exactly 0 and 1, right or wrong, are counted as such: ranges of noise hold the exact figures."""
    chances = _answers(kind)
    exact, releases = _exact(chances), sample_size(30)
    inside = dict.fromkeys(exact, 0)
    for seed in range(releases):
        report = _report(chances, epsilon, seed)
        for name, value in exact.items():
            low, high = getattr(report, name).noise
            inside[name] += low <= value <= high
    for name, count in inside.items():
        assert count_fits(count, releases, 0.95, 1e-6), (name, count)


@pytest.mark.parametrize("certain", [0.0, 1.0])
def test_one_certain_answer_for_all_is_judged_as_such(certain: float) -> None:
    """A model that is certain of everything has the log-loss of that, as scikit-learn reads it, at any epsilon."""
    report = _report(np.full(SIZE, certain), 0.1, 3)
    exact = metrics.log_loss(TRUTH, np.full(SIZE, certain))
    assert report.log_loss.value == pytest.approx(exact, rel=0.05)
    assert report.log_loss.noise[0] <= exact <= report.log_loss.noise[1]


def test_a_model_that_is_never_certain_pays_nothing_for_it() -> None:
    """What certain and wrong answers would cost is no part of the noise in the log-loss of a smooth model."""
    chances = 1 / (1 + np.exp(-ODDS))
    exact = metrics.log_loss(TRUTH, chances)
    off = [abs(_report(chances, 1.0, seed).log_loss.value - exact) for seed in range(20)]
    assert np.mean(off) < 0.01


def test_where_most_may_be_certain_unseen_the_range_says_so() -> None:
    """Of so few records that certain answers cannot be told from noise, the range holds the loss of such answers."""
    truth, chances = TRUTH[:200], np.zeros(200)
    exact = metrics.log_loss(truth, chances, labels=[0, 1])
    ranges = [_report(chances, 0.05, seed, truth).log_loss.noise for seed in range(20)]
    assert sum(low <= exact <= high for low, high in ranges) >= 17


def test_what_is_said_of_many_lies_below_a_threshold_that_equals_it() -> None:
    """Scores that many share lie on one side of every threshold: that of nearest neighbours at 0.4, of trees at 0."""
    chances = _answers("neighbours")
    report = _report(chances, 1000.0, 0)
    for threshold in (0.0, 0.2, 0.4, 0.6, 0.8, 1.0):
        exact = np.mean(chances[TRUTH == 1] > threshold)
        assert report.at(threshold)["recall"].value == pytest.approx(exact, abs=0.005)


@pytest.mark.parametrize("epsilon", [0.01, 0.3, 10.0])
@pytest.mark.parametrize("size", [3, 40, 2000])
def test_rates_are_monotone_in_the_threshold(size: int, epsilon: float) -> None:
    """Of however few records, with however much noise, no rate or count of what is called positive rises with it."""
    for seed in range(6):
        chances = _answers("neighbours")[:size] if seed % 2 else GENERATOR.random(size)
        report = _report(chances, epsilon, seed, TRUTH[:size])
        found = [report.at(threshold) for threshold in np.linspace(0, 1, 21)]
        for name in ("recall", "false_positive_rate", "positive_share", "true_positives", "false_positives"):
            assert np.all(np.diff([each[name].value for each in found]) <= 1e-9), name
        for figure in (figure for each in found for figure in each.values()):
            assert figure.noise[0] <= figure.value <= figure.noise[1]
            assert figure.interval[0] <= figure.value <= figure.interval[1]


@pytest.mark.parametrize("epsilon", [0.01, 0.3, 10.0])
@pytest.mark.parametrize("size", [3, 40, 2000])
def test_coverage_grows_with_the_interval(size: int, epsilon: float) -> None:
    """Of however few records, with however much noise, a wider interval holds no smaller share of them."""
    for seed in range(6):
        said = GENERATOR.random(size)
        report = evaluation.report(
            _Number(said), np.zeros((size, 1)), said + 0.1 * GENERATOR.normal(size=size),
            epsilon=epsilon, target_range=(0.0, 1.0), random_state=seed,
        )  # fmt: skip
        shares = [report.coverage(-half, half).value for half in np.linspace(0.01, 2.5, 30)]
        assert np.all(np.diff(shares) >= -1e-9)
        levels = [each.value for each in report.interval_calibration((0.3, 0.5, 0.8, 0.9, 0.95, 0.99, 0.9999)).values()]
        assert np.all(np.diff(levels) >= -1e-9)


class _Number:
    """A regression's answers, given again."""

    def __init__(self, said: Any) -> None:
        self.predict = lambda rows: said[: len(rows)]
