"""Noisy counts, sums, means, histograms and quantiles of declared, clipped records.

Every function clips records to declared public bounds, adds up whole numbers (so that a sum's sensitivity
holds to the last bit), and answers through the one door with Laplace noise, or with Gaussian noise when
delta is positive. The number of records n is public. A missing number (NaN) counts as the middle of its
declared range: a rule that looks at no other record.
"""

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tacit.accounting.ledger import Ledger
from tacit.budget import Budget, exact_number, finite_number
from tacit.errors import InvalidParameter
from tacit.mechanisms import Exponential, Gaussian, Laplace
from tacit.mechanisms.mechanism import checked_whole
from tacit.release import Release, release

__all__ = ["bounds", "count", "histogram", "mean", "mean_error", "quantile", "sum"]


def count(
    flags: ArrayLike,
    *,
    epsilon: float,
    delta: float = 0.0,
    ledger: Ledger | None = None,
    label: str = "count",
    random_state: object = None,
) -> Release[float]:
    """Count the records for which a flag is true.

    Guarantee: (epsilon, delta)-private.
    Assumes: flag i depends on record i alone; replace-one neighbours; n is public.
    Reference: the introductory lecture's noisy sum; sensitivity 1.
    """
    marked = np.asarray(flags)
    if marked.ndim != 1 or marked.dtype != np.bool_:
        raise InvalidParameter(f"flags must be a column of booleans such as age > 60, got {_kind(marked)}.")
    mechanism = _additive(Budget(epsilon, delta), 1.0, 1.0, ())
    return _scalar(
        release(
            mechanism,
            int(marked.sum()),
            ledger=ledger,
            label=label,
            random_state=random_state,
            public=("the question",),
        )
    )


def sum(
    values: ArrayLike,
    *,
    low: float,
    high: float,
    epsilon: float,
    delta: float = 0.0,
    ledger: Ledger | None = None,
    label: str = "sum",
    random_state: object = None,
) -> Release[float]:
    """Add up numbers clipped to [low, high].

    Guarantee: (epsilon, delta)-private.
    Assumes: low and high were chosen without looking at the records; replace-one neighbours; n is public.
    Reference: the introductory lecture's noisy sum; sensitivity high - low.
    """
    column, low, high = _clipped(values, low, high)
    share = _sum_of_shares(column, low, high)
    mechanism = _additive(Budget(epsilon, delta), 1.0, 1.0, ())
    known = (f"low={low:g}", f"high={high:g}")
    noisy = _scalar(release(mechanism, share, ledger=ledger, label=label, random_state=random_state, public=known))
    return noisy.map(lambda answer: low * column.size + (high - low) * answer)


def mean(
    values: ArrayLike,
    *,
    low: float,
    high: float,
    epsilon: float,
    delta: float = 0.0,
    ledger: Ledger | None = None,
    label: str = "mean",
    random_state: object = None,
) -> Release[float]:
    """Average numbers clipped to [low, high].

    Guarantee: (epsilon, delta)-private.
    Assumes: low and high were chosen without looking at the records; replace-one neighbours; n is public.
    Reference: the introductory lecture's noisy average; sensitivity (high - low) / n.
    """
    size = np.asarray(values).size
    if size == 0:
        raise InvalidParameter("a mean needs at least one record, got none.")
    noisy = sum(
        values,
        low=low,
        high=high,
        epsilon=epsilon,
        delta=delta,
        ledger=ledger,
        label=label,
        random_state=random_state,
    )
    return noisy.map(lambda total: total / size)


def mean_error(
    count: int, *, low: float, high: float, epsilon: float, delta: float = 0.0, confidence: float = 0.95
) -> float:
    """Return what the noise of `mean` over that many records stays below with this confidence; no record is needed."""
    low, high = _range(low, high)
    return (
        (high - low) * _additive(Budget(epsilon, delta), 1.0, 1.0, ()).error(confidence) / checked_whole("count", count)
    )


def histogram(
    values: ArrayLike,
    *,
    levels: Sequence[Any],
    epsilon: float,
    delta: float = 0.0,
    ledger: Ledger | None = None,
    label: str = "histogram",
    random_state: object = None,
) -> Release[NDArray[np.float64]]:
    """Count the records at each declared level; values that are no level are counted nowhere.

    Guarantee: (epsilon, delta)-private.
    Assumes: the levels were chosen without looking at the records; replace-one neighbours; n is public.
    Reference: one replacement moves two counts by one: L1 sensitivity 2, L2 sensitivity sqrt(2).
    """
    column = np.asarray(values)
    public = np.asarray(levels)
    if column.ndim != 1 or public.ndim != 1 or not public.size or len(set(public.tolist())) != public.size:
        raise InvalidParameter("a histogram needs one column and a list of different levels.")
    counts = np.array([np.count_nonzero(column == level) for level in public], dtype=np.float64)
    mechanism = _additive(Budget(epsilon, delta), 2.0, math.sqrt(2.0), counts.shape)
    known = (f"the {public.size} levels",)
    noisy = release(mechanism, counts, ledger=ledger, label=label, random_state=random_state, public=known)
    return noisy.map(lambda answer: np.asarray(answer, dtype=np.float64))


def quantile(
    values: ArrayLike,
    fraction: float,
    *,
    low: float,
    high: float,
    epsilon: float,
    candidates: int = 1000,
    ledger: Ledger | None = None,
    label: str = "quantile",
    random_state: object = None,
) -> Release[float]:
    """Find a number below which about that fraction of the records lies, among evenly spaced candidates.

    Guarantee: epsilon-private.
    Assumes: low, high and the number of candidates were chosen without looking at the records;
    replace-one neighbours; n is public.
    Reference: exponential mechanism (Smith 2011); a replacement moves each rank by at most 1.
    """
    if not 0 <= exact_number("fraction", fraction) <= 1:
        raise InvalidParameter(f"fraction must lie between 0 and 1, got {fraction!r}.")
    column, low, high = _clipped(values, low, high)
    mechanism = Exponential.for_budget(Budget(epsilon), candidates=candidates)
    places = np.linspace(low, high, mechanism.candidates)
    ranks = np.searchsorted(np.sort(column), places, side="right")
    scores = -np.abs(ranks - fraction * column.size)
    known = (f"low={low:g}", f"high={high:g}", f"{mechanism.candidates} candidates")
    chosen = release(mechanism, scores, ledger=ledger, label=label, random_state=random_state, public=known)
    return chosen.map(lambda index: float(places[index]))


def bounds(
    values: ArrayLike,
    *,
    low: float,
    high: float,
    epsilon: float,
    coverage: float = 0.99,
    candidates: int = 1000,
    ledger: Ledger | None = None,
    label: str = "bounds",
    random_state: object = None,
) -> tuple[Release[float], Release[float]]:
    """Find two numbers between which about that share of the records lies, to clip by afterwards.

    Guarantee: the two together are epsilon-private; each is charged half.
    Assumes: low, high and the number of candidates were chosen without looking at the records;
    replace-one neighbours; n is public.
    Reference: two calls of `quantile`.
    """
    if not 0 < exact_number("coverage", coverage) < 1:
        raise InvalidParameter(f"coverage must lie strictly between 0 and 1, got {coverage!r}.")
    half = Budget(epsilon) / 2
    tail = (1 - coverage) / 2
    first, second = (
        quantile(
            values,
            fraction,
            low=low,
            high=high,
            epsilon=half.exact_epsilon,  # type: ignore[arg-type]
            candidates=candidates,
            ledger=ledger,
            label=f"{label}: {side}",
            random_state=random_state,
        )
        for fraction, side in ((tail, "lower"), (1 - tail, "upper"))
    )
    return first, second


def _additive(budget: Budget, l1: float, l2: float, shape: tuple[int, ...]) -> Laplace | Gaussian:
    """Laplace noise for a pure budget, Gaussian noise for one with a delta."""
    if budget.is_pure:
        return Laplace.for_budget(budget, l1, shape)
    return Gaussian.for_budget(budget, l2, shape)


def _scalar(noisy: Release[Any]) -> Release[float]:
    return noisy.map(float)


def _clipped(values: ArrayLike, low: float, high: float) -> tuple[NDArray[np.float64], float, float]:
    low, high = _range(low, high)
    try:
        column = np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError):
        raise InvalidParameter("the values are not numeric.") from None
    if column.ndim != 1:
        raise InvalidParameter(f"the values must be one column, got an array of shape {column.shape}.")
    return np.clip(np.where(np.isnan(column), low + (high - low) / 2, column), low, high), low, high


def _range(low: float, high: float) -> tuple[float, float]:
    low, high = finite_number("low", low), finite_number("high", high)
    if not low < high or not math.isfinite(high - low) or high - low < 1e-100:
        raise InvalidParameter(f"low must lie below high, got low={low!r}, high={high!r}.")
    return low, high


def _sum_of_shares(column: NDArray[np.float64], low: float, high: float) -> float:
    """Add up where each value lies between low (0) and high (1), in whole steps so that no bit is lost."""
    steps = 2.0 ** min(30, 52 - column.size.bit_length())
    shares = np.clip(np.rint((column - low) / (high - low) * steps), 0, steps)
    return float(shares.sum()) / steps


def _kind(array: NDArray[Any]) -> str:
    return f"an array of shape {array.shape} and type {array.dtype}"
