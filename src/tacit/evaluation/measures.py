"""Scores of a binned model, as functions of how much of each class lies where: positives first, then negatives.

All work along the last axis, so that many tables are measured at once.
"""

import math
from collections.abc import Callable

import numpy as np
from scipy.special import expit, ndtr, ndtri

from tacit.numerics.arrays import Codes, Floats

Measure = Callable[[Floats], Floats]

_STEPS, _PERFECT = 200, 0.9995
"""In how many steps recall is gone through, and what area is as good as one."""


def average_precision(floor: float, ends: Codes) -> Measure:
    """Return the mean precision over recall; `ends` says down to which part scores are the same."""
    shared = ends != np.arange(len(ends))
    shared |= np.isin(np.arange(len(ends)), ends[shared])

    def measure(masses: Floats) -> Floats:
        positive, negative, ones, _ = _classes(masses)
        found, named = _from_above(positive), _from_above(positive + negative)
        halves = np.where(shared, 0.0, 0.5)
        found = found[..., ends] - halves * positive
        named = named[..., ends] - halves * (positive + negative)
        return np.asarray(
            np.sum(positive * np.clip(found / np.maximum(named, 1.0), 0.0, 1.0), axis=-1) / np.maximum(ones, floor)
        )

    return measure


def expected_precision(shares: Floats, areas: Floats) -> Floats:
    """Return the average precision of classes with these shares and areas, were scores of either class normal laws."""
    recall = (np.arange(_STEPS) + 0.5) / _STEPS
    apart = math.sqrt(2) * ndtri(np.clip(areas, 0.5, _PERFECT))[:, None]
    found = np.clip(shares, 0.0, 1.0)[:, None] * recall
    alarms = np.clip(1 - shares, 0.0, 1.0)[:, None] * ndtr(ndtri(recall) - apart)
    return np.asarray(np.mean(found / np.maximum(found + alarms, 1e-300), axis=1))


def log_losses(places: Floats) -> tuple[Floats, Floats]:
    """Return -log(probability) of either class at scores that are log-odds."""
    return np.logaddexp(0.0, -places), np.logaddexp(0.0, places)


def brier_losses(places: Floats) -> tuple[Floats, Floats]:
    """Return the squared error of the probability for either class at scores that are log-odds."""
    chance = expit(places)
    return (1 - chance) ** 2, chance**2


RATES = (
    "accuracy", "balanced_accuracy", "precision", "recall", "specificity", "false_positive_rate", "f1",
    "positive_share",
    "true_positives", "false_positives", "false_negatives", "true_negatives",
)  # fmt: skip


def rates(above: Floats, floors: Floats) -> Measure:
    """Return all `RATES` of calling positive what lies above a threshold."""
    least, fewest = floors.tolist()

    def measure(masses: Floats) -> Floats:
        positive, negative, ones, zeros = _classes(masses)
        hits, alarms = np.sum(positive * above, axis=-1), np.sum(negative * above, axis=-1)
        some, none = np.maximum(ones, least), np.maximum(zeros, fewest)
        total, named = np.maximum(ones + zeros, max(least, fewest)), np.maximum(hits + alarms, 1.0)
        misses, rejected = ones - hits, zeros - alarms
        recall, specificity = hits / some, rejected / none
        found = (
            (hits + rejected) / total, (recall + specificity) / 2, hits / named, recall, specificity, alarms / none,
            2 * hits / np.maximum(hits + ones + alarms, 1.0), (hits + alarms) / total, hits, alarms, misses, rejected,
        )  # fmt: skip
        return np.stack(found, axis=-1)

    return measure


def costs(false_positive: float, false_negative: float) -> Callable[[Floats], Floats]:
    """Return what a record costs on average, for a threshold below every place and one above all."""

    def measure(masses: Floats) -> Floats:
        positive, negative, ones, zeros = _classes(masses)
        missed = np.concatenate([np.zeros((*ones.shape, 1)), np.cumsum(positive, axis=-1)], axis=-1)
        alarms = zeros[..., None] - np.concatenate([np.zeros((*ones.shape, 1)), np.cumsum(negative, axis=-1)], axis=-1)
        return np.asarray(
            (false_negative * missed + false_positive * alarms) / np.maximum(ones + zeros, 1.0)[..., None]
        )

    return measure


def _classes(masses: Floats) -> tuple[Floats, Floats, Floats, Floats]:
    positive, negative = masses[..., 0, :], masses[..., 1, :]
    return positive, negative, np.sum(positive, axis=-1), np.sum(negative, axis=-1)


def _from_above(masses: Floats) -> Floats:
    return np.asarray(np.cumsum(masses[..., ::-1], axis=-1)[..., ::-1])
