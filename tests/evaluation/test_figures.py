"""Figures of reports: plain numbers, and means over classes of which noise hides some."""

from typing import Any

import numpy as np
from sklearn import metrics

from tacit import evaluation

CHANCES = np.column_stack([np.linspace(0.1, 0.9, 400), np.linspace(0.9, 0.1, 400)])


class Told:
    """A model that answers rows by their numbers."""

    def __init__(self, chances: Any) -> None:
        self.chances, self.classes_ = chances, np.arange(chances.shape[1])

    def predict_proba(self, rows: Any) -> Any:
        """Return the chances of these rows."""
        return self.chances[rows]

    def predict(self, rows: Any) -> Any:
        """Return the likeliest classes of these rows."""
        return self.chances[rows].argmax(axis=1)


def test_a_class_that_noise_hides_counts_as_the_others_do() -> None:
    """The mean area of seven classes, one of them with 20 rows, is near the exact one where noise hides that class."""
    coins = np.random.default_rng(5)
    truth = np.concatenate([np.full(20, 6), coins.integers(6, size=5980)])
    odds = 1.5 * coins.normal(size=(6000, 7)) + 3 * (truth[:, None] == np.arange(7))
    chances = np.exp(odds) / np.exp(odds).sum(axis=1, keepdims=True)

    exact = np.mean([metrics.roc_auc_score(truth == each, chances[:, each]) for each in range(7)])
    found = [
        evaluation.report(Told(chances), np.arange(6000), truth, epsilon=0.5, random_state=seed).auc
        for seed in range(12)
    ]
    assert np.mean([abs(each.value - exact) for each in found]) < 0.04
    assert sum(each.noise[0] <= exact <= each.noise[1] for each in found) >= 10
    assert all(each.noise[1] - each.noise[0] < 0.3 for each in found)


def test_figures_are_plain_numbers() -> None:
    """Every figure is a float of Python's, so that it prints, compares and is written to files as one."""
    report = evaluation.report(Told(CHANCES), np.arange(400), np.arange(400) % 2, epsilon=1.0, random_state=0)
    for figure in (*report.figures().values(), *report.at(0.4).values()):
        assert type(figure.value) is float
        assert all(type(each) is float for part in (figure.noise, figure.sampling, figure.interval) for each in part)
