"""Single private scores: accuracy, log-loss, a confusion matrix, each a mean or a count of its own.

Where more than one number is wanted, `tacit.evaluation.report` answers all of them for one charge.
"""

import math
from dataclasses import dataclass
from typing import Any, final

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tacit.accounting.ledger import Ledger
from tacit.budget import Budget
from tacit.checks import checked_confidence, positive_number
from tacit.data.labels import label as name
from tacit.data.labels import places
from tacit.evaluation.matching import check_labels, listed_classes, refuse_predictor, refuse_regression, refuse_without
from tacit.evaluation.reading import HeldOut, chances_of, held_out, predictions
from tacit.mechanisms.gaussian import additive
from tacit.mechanisms.reading import numbers
from tacit.numerics.arrays import Floats, Truths
from tacit.releases import Release

_STEPS = 2.0**20


@final
@dataclass(frozen=True)
class Score:
    """A private mean with its error bars at a confidence level.

    `value` is brought between the least and the largest mean there can be, which moves it no further from the exact
    one; `release` holds it as it was released.
    """

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


@final
@dataclass(frozen=True, eq=False)
class ConfusionMatrix:
    """Private counts of (true class, predicted class) with what the noise in each stays below.

    None is below 0, so that sums of many small ones come out too large; `release` holds them as they were released.
    """

    value: Floats
    classes: NDArray[Any]
    noise_error: float
    confidence: float
    release: Release[Floats]

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Floats:
        return np.array(self.value, dtype=dtype)

    def __str__(self) -> str:
        rows = "\n".join("  ".join(f"{each:10.1f}" for each in row) for row in self.value)
        return (
            f"{rows}\nrows: true {self.classes.tolist()}; columns: predicted; each +- {self.noise_error:.1f} by noise "
            f"at {self.confidence:.0%} ({self.release.guarantee})"
        )


def accuracy(
    model: Any,
    X: Any,
    y: ArrayLike | None = None,
    *,
    epsilon: float,
    delta: float = 0.0,
    groups: object = None,
    confidence: float = 0.95,
    ledger: Ledger | None = None,
    label: str = "accuracy",
    random_state: object = None,
) -> Score:
    """Return the private share of rows that the model classifies right.

    Guarantee: (epsilon, delta)-private with respect to the evaluated rows, or, with `groups` or for `Records` with a
    unit, with respect to the persons whose rows they are: a person counts once, by the mean over their rows.
    Assumes: replace-one neighbours; the number of evaluated rows (or persons) is public; the model is already private
    or public, and answers for each row by itself.
    Reference: a mean of numbers in {0, 1}.
    """
    held = _held(model, X, y, groups, ledger, random_state)
    refuse_without(model, "predict")
    right = _equal(predictions(model, held), held.targets)
    return _mean(right.astype(np.float64), 1.0, Budget(epsilon, delta), confidence, held, label)


def log_loss(
    model: Any,
    X: Any,
    y: ArrayLike | None = None,
    *,
    epsilon: float,
    delta: float = 0.0,
    groups: object = None,
    largest: float = 5.0,
    confidence: float = 0.95,
    ledger: Ledger | None = None,
    label: str = "log-loss",
    random_state: object = None,
) -> Score:
    """Return the private mean of -log(probability of the true class), each record's share clipped to [0, largest].

    Guarantee: as `accuracy`.
    Assumes: as `accuracy`; a label that the model does not know, or a probability that is none, costs `largest`.
    Reference: a mean of numbers in [0, largest].
    """
    top = positive_number("largest", largest)
    held = _held(model, X, y, groups, ledger, random_state)
    classes = listed_classes(model)
    refuse_without(model, "predict_proba")
    found = places(held.targets, classes)
    chances = chances_of(model, held, len(classes))
    own = np.where(found >= 0, chances[np.arange(len(found)), found], 0.0)
    losses = _losses(own, top)
    return _mean(losses, top, Budget(epsilon, delta), confidence, held, label)


def confusion_matrix(
    model: Any,
    X: Any,
    y: ArrayLike | None = None,
    *,
    epsilon: float,
    delta: float = 0.0,
    groups: object = None,
    confidence: float = 0.95,
    ledger: Ledger | None = None,
    label: str = "confusion matrix",
    random_state: object = None,
) -> ConfusionMatrix:
    """Return private counts of (true class, predicted class), in the order of `model.classes_`, with error bars.

    Guarantee: as `accuracy`.
    Assumes: as `accuracy`; a record whose label or prediction is not in `model.classes_` is counted nowhere.
    Reference: a histogram over pairs of classes.
    """
    level = checked_confidence(confidence)
    held = _held(model, X, y, groups, ledger, random_state)
    classes = listed_classes(model)
    refuse_without(model, "predict")
    size = len(classes)
    row = places(held.targets, classes)
    guess = places(predictions(model, held), classes)
    known = (row >= 0) & (guess >= 0)
    cells = np.where(known, row * size + guess, 0)
    counts = np.bincount(cells, np.where(known, held.held_weights, 0.0), size**2)
    noise = additive(Budget(epsilon, delta), 2.0, math.sqrt(2.0), (size**2,))
    found = held.release(noise, counts, label, f"{size} classes")
    matrix = found.map(lambda flat: np.asarray(flat, dtype=np.float64).reshape(size, size))
    return ConfusionMatrix(np.maximum(matrix.value, 0.0), classes, noise.error(level), level, matrix)


def _held(model: Any, X: Any, y: Any, groups: object, ledger: Ledger | None, random_state: object) -> HeldOut:
    """Return the rows to judge on; refuse, in public, a model or labels that cannot match."""
    refuse_predictor(model)
    refuse_regression(model)
    check_labels(model, X, y)
    return held_out(X, y, groups, ledger, random_state, classes=True)


def _equal(first: NDArray[Any], second: NDArray[Any]) -> Truths:
    """Say for each record whether two cells are the same text or number, exactly."""
    kinds = {first.dtype.kind, second.dtype.kind}
    if kinds <= set("biuf"):
        first, second = (numbers("a column", each, each.shape) for each in (first, second))
    if kinds <= set("biuf") or kinds == {"U"}:
        with np.errstate(all="ignore"):
            return np.asarray(first == second, dtype=np.bool_)
    pairs = ((name(one), name(other)) for one, other in zip(first.tolist(), second.tolist(), strict=True))
    return np.fromiter((one is not None and one == other for one, other in pairs), np.bool_, len(first))


def _losses(chances: Floats, top: float) -> Floats:
    """Return -log(chance) between 0 and top for each; top for what is no chance, which NaN is not."""
    some = chances > 0
    inside = np.where(some, np.minimum(chances, 1.0), 1.0)
    # A vectorised logarithm may round by a value's position in the array; this one cannot.
    logs = np.fromiter(map(math.log, inside.tolist()), np.float64, len(inside))
    return np.where(some, np.minimum(-logs, top), top)


def _mean(values: Floats, high: float, budget: Budget, confidence: float, held: HeldOut, label: str) -> Score:
    """Release the mean of numbers in [0, high] over records, or over persons of the mean over their rows."""
    level = checked_confidence(confidence)
    total = np.sum(np.trunc(values / high * held.held_weights * _STEPS)) / _STEPS
    noise = additive(budget, 1.0, 1.0, ())
    scale = high / held.count
    found = held.release(noise, total, label, f"shares within [0, {high:g}]").map(lambda sum_: float(sum_) * scale)
    sampling = high * math.sqrt(math.log(2 / (1 - level)) / (2 * held.count))
    return Score(min(max(found.value, 0.0), high), noise.error(level) * scale, sampling, level, found)
