"""Private scores of a model on private rows that it was not trained on.

A score is a mean over records, so it is released like any other: bounded for each record, with noise, charged.
Each function answers with a `Score`: the value, how far the noise may have moved it, and how far the sample may lie
from the population.

The rows must be held out. If which rows are held out was fixed by index or by a key that a replacement cannot move
(`split_by_index`, `ledger.partition(..., fixed_by=...)`), training and evaluation compose in parallel: together they
cost the larger of the two. A split that is stratified, sorted, de-duplicated or grouped by value is not covered.
"""

import math
from dataclasses import dataclass
from typing import Any, final

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tacit import statistics
from tacit.accounting.ledger import Ledger
from tacit.budget import finite_number
from tacit.errors import InvalidParameter
from tacit.mechanisms.mechanism import checked_confidence
from tacit.noise import permutation, source_for
from tacit.release import Release

__all__ = ["Score", "accuracy", "confusion_matrix", "log_loss", "split_by_index"]


@final
@dataclass(frozen=True)
class Score:
    """A private mean with its error bars at a confidence level."""

    value: float
    noise_error: float
    sampling_error: float
    confidence: float
    release: Release[float]

    def __str__(self) -> str:
        return (
            f"{self.value:.4f} (noise within {self.noise_error:.4f}, sample within {self.sampling_error:.4f}, at "
            f"{self.confidence:.0%}; {self.release.guarantee})"
        )


def split_by_index(count: int, test_fraction: float = 0.2, *, random_state: object = None) -> tuple[Any, Any]:
    """Return the indices of two disjoint parts of `count` records, chosen by coins that look at no record.

    Guarantee: with the parts as a partition fixed by index, training on one and evaluating on the other costs the
    larger of both.
    Assumes: the records are in an order that does not depend on their values.
    Reference: parallel composition, tacit/accounting/ledger.md.
    """
    share = finite_number("test_fraction", test_fraction)
    tests = round(share * count) if 0 < share < 1 else 0
    if not 0 < tests < count:
        raise InvalidParameter(f"test_fraction must leave records on both sides, got {test_fraction!r} of {count}.")
    order = permutation(source_for(random_state), count)
    return np.sort(order[tests:]), np.sort(order[:tests])


def accuracy(
    model: Any,
    X: Any,
    y: ArrayLike,
    *,
    epsilon: float,
    delta: float = 0.0,
    confidence: float = 0.95,
    ledger: Ledger | None = None,
    label: str = "accuracy",
    random_state: object = None,
) -> Score:
    """Return the private share of rows that the model classifies right.

    Guarantee: (epsilon, delta)-private with respect to the evaluated rows.
    Assumes: replace-one neighbours; the number of evaluated rows is public; the model is already private or public.
    Reference: a mean of numbers in {0, 1}.
    """
    right = (np.asarray(model.predict(X)) == np.asarray(y)).astype(np.float64)
    return _mean(right, 1.0, epsilon, delta, confidence, ledger, label, random_state)


def log_loss(
    model: Any,
    X: Any,
    y: ArrayLike,
    *,
    epsilon: float,
    delta: float = 0.0,
    largest: float = 5.0,
    confidence: float = 0.95,
    ledger: Ledger | None = None,
    label: str = "log-loss",
    random_state: object = None,
) -> Score:
    """Return the private mean of -log(probability of the true class), each record's share clipped to [0, largest].

    Guarantee: (epsilon, delta)-private with respect to the evaluated rows.
    Assumes: as `accuracy`; a label that the model does not know costs `largest`.
    Reference: a mean of numbers in [0, largest].
    """
    top = finite_number("largest", largest)
    if not 0 < top < math.inf:
        raise InvalidParameter(f"largest must be positive, got {largest!r}.")
    chances = np.asarray(model.predict_proba(X), dtype=np.float64)
    own = (np.asarray(y)[:, None] == np.asarray(model.classes_)[None, :]) * chances
    losses = -np.log(np.maximum(own.sum(axis=1), math.exp(-top)))
    return _mean(losses, top, epsilon, delta, confidence, ledger, label, random_state)


def confusion_matrix(
    model: Any,
    X: Any,
    y: ArrayLike,
    *,
    epsilon: float,
    delta: float = 0.0,
    ledger: Ledger | None = None,
    label: str = "confusion matrix",
    random_state: object = None,
) -> Release[NDArray[np.float64]]:
    """Return private counts of (true class, predicted class), in the order of `model.classes_`.

    Guarantee: (epsilon, delta)-private with respect to the evaluated rows.
    Assumes: as `accuracy`; a label that the model does not know is counted nowhere.
    Reference: a histogram over pairs of classes.
    """
    classes = np.asarray(model.classes_)
    truth = np.asarray(y)
    row, column = np.searchsorted(classes, truth), np.searchsorted(classes, np.asarray(model.predict(X)))
    known = classes[np.minimum(row, len(classes) - 1)] == truth
    cells = np.where(known, row * len(classes) + column, -1)
    counts = statistics.histogram(
        cells,
        levels=range(len(classes) ** 2),
        epsilon=epsilon,
        delta=delta,
        ledger=ledger,
        label=label,
        random_state=random_state,
    )
    return counts.map(lambda flat: flat.reshape(len(classes), len(classes)))


def _mean(
    values: NDArray[np.float64],
    high: float,
    epsilon: float,
    delta: float,
    confidence: float,
    ledger: Ledger | None,
    label: str,
    random_state: object,
) -> Score:
    level = checked_confidence(confidence)
    found = statistics.mean(
        values, low=0.0, high=high, epsilon=epsilon, delta=delta, ledger=ledger, label=label, random_state=random_state
    )
    noise = statistics.mean_error(values.size, low=0.0, high=high, epsilon=epsilon, delta=delta, confidence=level)
    sampling = high * math.sqrt(math.log(2 / (1 - level)) / (2 * values.size))
    return Score(found.value, noise, sampling, level, found)
