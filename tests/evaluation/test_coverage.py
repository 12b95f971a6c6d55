"""Ranges of noise hold the exact figures as often as they say, on tables that are made to be hard for them."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from scipy.special import expit, softmax
from sklearn import metrics
from tests.support.statistical import at_least, at_most, sample_size

from tacit.evaluation import report

SIZE = 8000
Case = tuple[Any, Any]


class Said:
    """A model that answers rows by their numbers."""

    def __init__(self, answers: Any) -> None:
        self.predict = lambda rows: answers[rows]
        if answers.ndim == 2:
            self.classes_ = np.arange(answers.shape[1])
            self.predict_proba = lambda rows: answers[rows]
            self.predict = lambda rows: answers[rows].argmax(axis=1)


def _two(name: str) -> Case:
    coins = np.random.default_rng(5)
    size = 300 if name == "few rows" else SIZE
    odds = 1.5 * coins.normal(size=size) - (5.0 if name == "one in a hundred" else 1.0)
    said = {"no better than chance": coins.normal(size=size), "one score": np.full(size, -1.0)}.get(name, odds)
    truth = coins.random(size) < expit(odds)
    return np.column_stack([expit(-said), expit(said)]), truth.astype(int)


def _numbers(name: str) -> Case:
    coins = np.random.default_rng(6)
    if name == "mostly nothing":
        none = coins.random(SIZE) < 0.8
        errors = np.where(none, 0.0, 0.15 * coins.normal(size=SIZE))
        targets = np.where(none, -1.0, coins.uniform(-0.6, 0.6, SIZE))
    else:
        errors = coins.choice([-0.2, -0.1, 0.0, 0.0, 0.1, 0.3], SIZE)
        targets = coins.choice([-0.6, -0.2, 0.0, 0.3, 0.5], SIZE)
    return targets - errors, targets


def _several(rates: Any, apart: float) -> Case:
    coins = np.random.default_rng(7)
    rates = np.asarray(rates) / np.sum(rates)
    truth = coins.choice(len(rates), SIZE, p=rates)
    odds = np.log(rates) + coins.normal(size=(SIZE, len(rates))) + apart * np.eye(len(rates))[truth]
    return softmax(odds, axis=1), truth


def _held(case: Case, exact: dict[str, float], epsilon: float, releases: int) -> tuple[dict[str, int], dict[str, int]]:
    """Return how often ranges of noise hold the exact figures, and how often ranges half as wide do."""
    answers, truth = case
    named: dict[str, Any] = {"target_range": (-1.0, 1.0)} if answers.ndim == 1 else {}
    model, rows = Said(answers), np.arange(len(truth))
    whole, half = dict.fromkeys(exact, 0), dict.fromkeys(exact, 0)
    for seed in range(releases):
        found = report(model, rows, truth, epsilon=epsilon, random_state=seed, **named)
        for name, true in exact.items():
            low, high = getattr(found, name).noise
            whole[name] += low - 1e-12 <= true <= high + 1e-12
            half[name] += abs(true - (low + high) / 2) <= (high - low) / 4
    return whole, half


RELEASES = 500
CASES: list[tuple[Callable[[str], Case], str, float]] = [
    (_two, "plain", 0.1), (_two, "plain", 1.0), (_two, "one in a hundred", 0.5), (_two, "few rows", 1.0),
    (_two, "no better than chance", 0.5), (_two, "one score", 0.5),
    (_numbers, "mostly nothing", 0.5), (_numbers, "mostly nothing", 1.0), (_numbers, "few errors", 0.5),
]  # fmt: skip


@pytest.mark.parametrize(("make", "name", "epsilon"), CASES)
def test_ranges_cover_what_they_say_and_a_twin_half_as_wide_does_not(make: Any, name: str, epsilon: float) -> None:
    """Of 500 releases as many are held as a chance of 93 % at least allows (1e-9), of ranges half as wide too few."""
    answers, truth = case = make(name)
    if answers.ndim == 2:
        exact = {
            "auc": metrics.roc_auc_score(truth, answers[:, 1]),
            "brier_score": metrics.brier_score_loss(truth, answers[:, 1]),
        }
    else:
        off = truth - answers
        exact = {"mae": float(np.mean(np.abs(off))), "mean_error": float(np.mean(off))}
    releases = sample_size(RELEASES)
    whole, half = _held(case, exact, epsilon, releases)
    for figure, count in whole.items():
        assert at_least(count, releases, 0.93), (figure, count)
        assert at_most(count, releases, 0.99), (figure, count)
    assert not at_least(half["mean_error" if answers.ndim == 1 else "auc"], releases, 0.93), half


def test_errors_that_many_share_do_not_blur_the_others() -> None:
    """Where most errors are 0 the others' squares are told: steps around 0 alone left the RMSE off by a third."""
    answers, truth = _numbers("mostly nothing")
    exact = float(np.sqrt(np.mean((truth - answers) ** 2)))
    told = [
        report(Said(answers), np.arange(SIZE), truth, epsilon=1.0, target_range=(-1, 1), random_state=seed).rmse.value
        for seed in range(40)
    ]
    assert np.mean(np.abs(np.array(told) - exact)) < 0.02


@pytest.mark.parametrize("epsilon", [0.1, 0.5])
def test_the_mean_area_of_twenty_classes_is_held(epsilon: float) -> None:
    """Most of them are hidden by noise: their areas were drawn to one half, and ranges held the mean in 39 of 100."""
    answers, truth = case = _several(1 / np.arange(1, 21) ** 1.2, 2.0)
    exact = np.mean([metrics.roc_auc_score(truth == each, answers[:, each]) for each in range(20)])
    whole, _ = _held(case, {"auc": float(exact)}, epsilon, 100)
    assert at_least(whole["auc"], 100, 0.9), whole


def test_the_mean_precision_of_classes_told_well_apart_is_held() -> None:
    """That of rare classes is off as far as noise puts others above them: ranges held the mean in a third."""
    answers, truth = case = _several([0.49, 0.36, 0.06, 0.05, 0.02, 0.01, 0.01], 3.0)
    exact = np.mean([metrics.average_precision_score(truth == each, answers[:, each]) for each in range(7)])
    whole, _ = _held(case, {"average_precision": float(exact)}, 0.5, 60)
    assert at_least(whole["average_precision"], 60, 0.9), whole


@pytest.mark.parametrize(("size", "deviation"), [(3000, 0.0), (500, 0.0), (500, 0.02), (30_000, 0.2)])
def test_the_median_of_errors_is_held_where_all_are_alike_and_where_bins_are_wide(size: int, deviation: float) -> None:
    """That of exact predictions, or of 500 small errors, was held in no release; of 30,000 usual ones in a tenth."""
    generator = np.random.default_rng(3)
    truth = np.clip(generator.normal(size=size) / 3, -1.0, 1.0)
    answers = np.clip(truth + deviation * generator.normal(size=size), -1.0, 1.0)
    exact = float(np.median(np.abs(truth - answers)))
    whole, _ = _held((answers, truth), {"median_absolute_error": exact}, 1.0, 60)
    assert at_least(whole["median_absolute_error"], 60, 0.93), whole
