"""Private scores of a model on private rows that it was not trained on.

A score is a mean over records, so it is released like any other: bounded for each record, with noise, charged.
Each function answers with a `Score`: the value, how far the noise may have moved it, and how far the sample may lie
from the population.

The rows must be held out. If which rows are held out was fixed by index or by a key that a replacement cannot move
(`split_by_index`, `ledger.partition(..., fixed_by=...)`), training and evaluation compose in parallel: together they
cost the larger of the two. A split that is stratified, sorted, de-duplicated or grouped by value is not covered.

Labels and predictions are read cell by cell: a label of any kind, or none, changes no other record's share. What is
not in our hands is the model, which sees all rows at once: whether it answers must not depend on a record. tacit's
models behind a `PublicEncoder` answer for every row; one that raises on a missing value should be given rows without.
Its warnings are silenced and its errors withheld, because both may tell, or quote, a record.
"""

import math
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, final

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tacit import statistics
from tacit.accounting.ledger import Ledger
from tacit.checks import checked_confidence, finite_number, positive_number, whole_number
from tacit.data.labels import column, places
from tacit.data.labels import label as name
from tacit.errors import InvalidParameter
from tacit.estimators.encoded import held_out
from tacit.mechanisms.reading import numbers
from tacit.noise import permutation, source_for
from tacit.releases import Release

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
    count, share = whole_number("count", count), finite_number("test_fraction", test_fraction)
    tests = round(share * count) if 0 < share < 1 else 0
    if not 0 < tests < count:
        raise InvalidParameter(f"test_fraction must leave records on both sides, got {test_fraction!r} of {count}.")
    order = permutation(source_for(random_state), count)
    return np.sort(order[tests:]), np.sort(order[:tests])


def accuracy(
    model: Any,
    X: Any,
    y: ArrayLike | None = None,
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
    Assumes: replace-one neighbours; the number of evaluated rows is public; the model is already private or public,
    answers for every row (see above), and for each row by itself.
    Reference: a mean of numbers in {0, 1}.
    """
    X, y, ledger = held_out(X, y, ledger)
    truth = column(y)
    right = _equal(_predictions(model, X, len(truth)), truth)
    return _mean(right.astype(np.float64), 1.0, epsilon, delta, confidence, ledger, label, random_state)


def log_loss(
    model: Any,
    X: Any,
    y: ArrayLike | None = None,
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
    Assumes: as `accuracy`; a label that the model does not know, or a probability that is none, costs `largest`.
    Reference: a mean of numbers in [0, largest].
    """
    top = positive_number("largest", largest)
    X, y, ledger = held_out(X, y, ledger)
    found = places(y, model.classes_)
    answer = _asked(model.predict_proba, X)
    chances = numbers("the model's probabilities", answer, (len(found), len(model.classes_))).astype(np.float64)
    own = np.where(found >= 0, chances[np.arange(len(found)), found], 0.0)
    losses = _losses(own, top)
    return _mean(losses, top, epsilon, delta, confidence, ledger, label, random_state)


def confusion_matrix(
    model: Any,
    X: Any,
    y: ArrayLike | None = None,
    *,
    epsilon: float,
    delta: float = 0.0,
    ledger: Ledger | None = None,
    label: str = "confusion matrix",
    random_state: object = None,
) -> Release[NDArray[np.float64]]:
    """Return private counts of (true class, predicted class), in the order of `model.classes_`.

    Guarantee: (epsilon, delta)-private with respect to the evaluated rows.
    Assumes: as `accuracy`; a record whose label or prediction is not in `model.classes_` is counted nowhere.
    Reference: a histogram over pairs of classes.
    """
    X, y, ledger = held_out(X, y, ledger)
    size = len(model.classes_)
    row = places(y, model.classes_)
    guess = places(_predictions(model, X, len(row)), model.classes_)
    cells = np.where((row >= 0) & (guess >= 0), row * size + guess, -1)
    levels = range(size**2)
    counts = statistics.histogram(
        cells, levels=levels, epsilon=epsilon, delta=delta, ledger=ledger, label=label, random_state=random_state
    )
    return counts.map(lambda flat: flat.reshape(size, size))


def _asked(method: Callable[[Any], Any], X: Any) -> Any:
    """Return what a model says about all rows; what it warns of or fails with is not passed on."""
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        try:
            answer = method(X)
            return answer if isinstance(answer, np.ndarray | list | tuple) else np.asarray(answer)
        except KeyboardInterrupt:
            raise
        except BaseException:  # the panic of a compiled library is no Exception, and quotes values none the less
            pass
    raise InvalidParameter(
        "the model failed on these rows, and its error is withheld because it may quote a record. Nothing was charged. "
        "Try the model on public rows of the same form; encode rows by a PublicEncoder, which gives every cell a place."
    )


def _predictions(model: Any, X: Any, count: int) -> NDArray[Any]:
    """Return one prediction for each record."""
    found = column(_asked(model.predict, X))
    if len(found) != count:
        raise InvalidParameter(f"the model gave {len(found)} predictions for {count} labels. Give as many rows.")
    return found


def _equal(first: NDArray[Any], second: NDArray[Any]) -> NDArray[np.bool_]:
    """Say for each record whether two cells are the same text or number, exactly."""
    kinds = {first.dtype.kind, second.dtype.kind}
    if kinds <= set("biuf"):
        first, second = (numbers("a column", each, each.shape) for each in (first, second))
    if kinds <= set("biuf") or kinds == {"U"}:
        with np.errstate(all="ignore"):
            return np.asarray(first == second, dtype=np.bool_)
    pairs = ((name(one), name(other)) for one, other in zip(first.tolist(), second.tolist(), strict=True))
    return np.fromiter((one is not None and one == other for one, other in pairs), np.bool_, len(first))


def _losses(chances: NDArray[np.float64], top: float) -> NDArray[np.float64]:
    """Return -log(chance) between 0 and top for each; top for what is no chance, which NaN is not."""
    some = chances > 0
    inside = np.where(some, np.minimum(chances, 1.0), 1.0)
    # A vectorised logarithm may round by a value's position in the array; this one cannot.
    logs = np.fromiter(map(math.log, inside.tolist()), np.float64, len(inside))
    return np.where(some, np.minimum(-logs, top), top)


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
