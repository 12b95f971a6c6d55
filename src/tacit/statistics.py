"""Noisy counts, sums, means, histograms and quantiles of declared, clipped records.

Every function clips records to declared public bounds, adds up whole numbers (so that a sum's sensitivity
holds to the last bit), and answers through the one door with Laplace noise, or with Gaussian noise when
delta is positive. The number of records n is public.

Columns are read cell by cell, by rules that look at no other record and that no cell can make fail: a number is
clipped to its declared range, and whatever is none (missing, NaN, a word) counts as the middle of it; a flag that is
not true counts as false; a value is counted at the one level that it equals, or nowhere. Only the stored
type, the shape and the length of a column can be refused.

With `groups`, the id of the person whose each row is, what is protected is a person with all their rows: a person's
answer is the mean over their rows, so that sums and counts are of persons, n is how many of them there are, and every
sensitivity stays what it is for one row each (docs/persons.md).
"""

import math
from collections.abc import Sequence, Set
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tacit.accounting.ledger import Ledger
from tacit.accounting.unit import RECORD, Unit
from tacit.budget import Budget
from tacit.checks import checked_confidence, checked_share, finite_number, whole_number
from tacit.data.cells import column_of, numbers_of, truths_of
from tacit.data.labels import checked_classes, places
from tacit.data.persons import Persons
from tacit.errors import InvalidParameter
from tacit.mechanisms import Exponential
from tacit.mechanisms.gaussian import additive
from tacit.numerics.arrays import Floats
from tacit.releases import Release, Terms

__all__ = ["bounds", "count", "histogram", "mean", "mean_error", "quantile", "sum"]


def count(
    flags: ArrayLike,
    *,
    epsilon: float,
    delta: float = 0.0,
    ledger: Ledger | None = None,
    groups: Any = None,
    whole: bool = False,
    label: str = "count",
    random_state: object = None,
) -> Release[float]:
    """Count the records for which a flag is true; with `whole`, as a whole number of at least 0.

    Guarantee: (epsilon, delta)-private.
    Assumes: flag i depends on record i alone; replace-one neighbours; n is public.
    Reference: the introductory lecture's noisy sum; sensitivity 1.
    """
    truths, known = truths_of(flags), ("the question",)
    persons = _persons(groups, len(truths))
    marked = int(truths.sum()) if persons is None else _sum_of_shares(truths.astype(np.float64), 0.0, 1.0, persons)
    mechanism = additive(Budget(epsilon, delta))
    noisy = Terms(ledger, label, random_state, known).release(mechanism, marked, unit=_unit(persons))
    return noisy.map(lambda answer: float(_tidied(np.asarray(answer), whole))).within(mechanism.error())


def sum(
    values: ArrayLike,
    *,
    low: float,
    high: float,
    epsilon: float,
    delta: float = 0.0,
    ledger: Ledger | None = None,
    groups: Any = None,
    label: str = "sum",
    random_state: object = None,
) -> Release[float]:
    """Add up numbers clipped to [low, high].

    Guarantee: (epsilon, delta)-private.
    Assumes: low and high were chosen without looking at the records; replace-one neighbours; n is public.
    Reference: the introductory lecture's noisy sum; sensitivity high - low.
    """
    column, low, high = _clipped(values, low, high)
    persons = _persons(groups, column.size)
    share, size = _sum_of_shares(column, low, high, persons), column.size if persons is None else persons.n
    mechanism = additive(Budget(epsilon, delta))
    known = (f"low={low:g}", f"high={high:g}")
    noisy = Terms(ledger, label, random_state, known).release(mechanism, share, unit=_unit(persons))
    return noisy.map(lambda answer: low * size + (high - low) * float(answer)).within((high - low) * mechanism.error())


def mean(
    values: ArrayLike,
    *,
    low: float,
    high: float,
    epsilon: float,
    delta: float = 0.0,
    ledger: Ledger | None = None,
    groups: Any = None,
    label: str = "mean",
    random_state: object = None,
) -> Release[float]:
    """Average numbers clipped to [low, high].

    Guarantee: (epsilon, delta)-private.
    Assumes: low and high were chosen without looking at the records; replace-one neighbours; n is public.
    Reference: the introductory lecture's noisy average; sensitivity (high - low) / n.
    """
    column = numbers_of(values)
    if column.size == 0:
        raise InvalidParameter("a mean needs at least one record, got none.")
    persons = _persons(groups, column.size)
    noisy = sum(
        column,
        low=low,
        high=high,
        epsilon=epsilon,
        delta=delta,
        ledger=ledger,
        groups=persons,
        label=label,
        random_state=random_state,
    )
    count = column.size if persons is None else persons.n
    return noisy.map(lambda total: total / count).within((noisy.noise_error or 0.0) / count)


def mean_error(
    count: int, *, low: float, high: float, epsilon: float, delta: float = 0.0, confidence: float = 0.95
) -> float:
    """Return what the noise of `mean` over that many records stays below with this confidence; no record is needed."""
    low, high = _range(low, high)
    return (high - low) * additive(Budget(epsilon, delta)).error(confidence) / whole_number("count", count)


def histogram(
    values: ArrayLike,
    *,
    levels: Sequence[Any],
    epsilon: float,
    delta: float = 0.0,
    ledger: Ledger | None = None,
    groups: Any = None,
    whole: bool = False,
    label: str = "histogram",
    random_state: object = None,
) -> Release[Floats]:
    """Count the records at each declared level; values that are no level are counted nowhere, others once.

    With `whole` counts are whole numbers of at least 0. `noise_error` is that of each count by itself. Levels are texts
    or numbers, compared exactly; two that are the same number as float64 are refused.

    Guarantee: (epsilon, delta)-private.
    Assumes: the levels were chosen without looking at the records; replace-one neighbours; n is public.
    Reference: one replacement moves two counts by one: L1 sensitivity 2, L2 sensitivity sqrt(2).
    """
    checked_classes(levels, least=1)
    if isinstance(levels, Set):
        raise InvalidParameter("levels must be a list: their order is that of the counts, and a set has none.")
    size = len(levels)
    found = places(column_of(values), levels)
    persons = _persons(groups, len(found))
    counts: NDArray[Any] = np.bincount(found[found >= 0], minlength=size)
    if persons is not None:
        steps = _steps(persons.n)
        parts = persons.parts(int(steps))[found >= 0].astype(np.float64)
        counts = np.bincount(found[found >= 0], weights=parts, minlength=size) / steps
    mechanism = additive(Budget(epsilon, delta), 2.0, math.sqrt(2.0), (size,))
    known = (f"the {size} levels",)
    noisy = Terms(ledger, label, random_state, known).release(mechanism, counts, unit=_unit(persons))
    return noisy.map(lambda answer: _tidied(np.asarray(answer, dtype=np.float64), whole)).within(mechanism.error())


def quantile(
    values: ArrayLike,
    fraction: float,
    *,
    low: float,
    high: float,
    epsilon: float,
    candidates: int = 1000,
    ledger: Ledger | None = None,
    groups: Any = None,
    label: str = "quantile",
    random_state: object = None,
) -> Release[float]:
    """Find a number below which about that fraction of the records lies, among evenly spaced candidates.

    Guarantee: epsilon-private.
    Assumes: low, high and the number of candidates were chosen without looking at the records;
    replace-one neighbours; n is public.
    Reference: exponential mechanism (Smith 2011); a replacement moves each rank by at most 1.
    """
    share = checked_share("fraction", fraction)
    column, low, high = _clipped(values, low, high)
    mechanism = Exponential.for_budget(Budget(epsilon), candidates=candidates)
    places = np.linspace(low, high, mechanism.candidates)
    persons = _persons(groups, column.size)
    size, ranks = column.size, np.searchsorted(np.sort(column), places, side="right").astype(np.float64)
    if persons is not None:
        size, steps, order = persons.n, _steps(persons.n), np.argsort(column, kind="stable")
        below = np.concatenate([[0], np.cumsum(persons.parts(int(steps))[order])])
        ranks = below[ranks.astype(np.intp)] / steps
    # A rank, whole steps of a power of two, less a multiple of 1/256 has no rounding that could add to the sensitivity.
    scores = -np.abs(ranks - round(share * size * 256) / 256)
    known = (f"low={low:g}", f"high={high:g}", f"{mechanism.candidates} candidates")
    chosen = Terms(ledger, label, random_state, known).release(mechanism, scores, unit=_unit(persons))
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
    groups: Any = None,
    label: str = "bounds",
    random_state: object = None,
) -> tuple[Release[float], Release[float]]:
    """Find two numbers between which about that share of the records lies, to clip by afterwards.

    Guarantee: the two together are epsilon-private; each is charged half.
    Assumes: low, high and the number of candidates were chosen without looking at the records;
    replace-one neighbours; n is public.
    Reference: two calls of `quantile`.
    """
    tail = (1 - checked_confidence(coverage, "coverage")) / 2
    column = numbers_of(values)
    half: Any = (Budget(epsilon) / 2).exact_epsilon
    first, second = (
        quantile(
            column,
            fraction,
            low=low,
            high=high,
            epsilon=half,
            candidates=candidates,
            ledger=ledger,
            groups=groups,
            label=f"{label}: {side}",
            random_state=random_state,
        )
        for fraction, side in ((tail, "lower"), (1 - tail, "upper"))
    )
    return first, second


def _tidied(counts: Floats, whole: bool) -> Floats:
    """Round noisy counts to whole ones of at least 0, if that is wanted.

    True counts of records are whole and not negative. It is done after the noise, and looks at no record.
    """
    return np.maximum(np.rint(counts), 0.0) if whole else counts


def _clipped(values: ArrayLike, low: float, high: float) -> tuple[Floats, float, float]:
    low, high = _range(low, high)
    column = numbers_of(values)
    return np.clip(np.where(np.isnan(column), low + (high - low) / 2, column), low, high), low, high


def _range(low: float, high: float) -> tuple[float, float]:
    low, high = finite_number("low", low), finite_number("high", high)
    if not low < high or not math.isfinite(high - low) or high - low < 1e-100:
        raise InvalidParameter(f"low must lie below high, got low={low!r}, high={high!r}.")
    return low, high


def _persons(groups: Any, rows: int) -> Persons | None:
    """Return whose the rows are; None where each is by itself."""
    persons = Persons.given(groups)
    if persons is not None and len(persons.owners) != rows:
        raise InvalidParameter("groups must have one id for each row.")
    return persons


def _unit(persons: Persons | None) -> Unit:
    return RECORD if persons is None else persons.whom


def _steps(units: int) -> float:
    """Return into how many steps a unit is cut: their sums are exact in doubles."""
    return 2.0 ** min(30, 52 - units.bit_length())


def _sum_of_shares(column: Floats, low: float, high: float, persons: Persons | None = None) -> float:
    """Add up where each value, or each person's mean, lies between low (0) and high (1), in whole steps.

    No bit is lost but that a person's mean is rounded down to a step: by that person's rows alone.
    """
    steps = _steps(column.size if persons is None else persons.n)
    with np.errstate(all="ignore"):
        shares = np.clip(np.rint((column - low) / (high - low) * steps), 0, steps)
    return float((shares if persons is None else persons.means(shares.astype(np.int64))).sum()) / steps
