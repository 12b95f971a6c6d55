"""Noisy counts, sums, means, histograms and quantiles of declared, clipped records.

Every function clips records to declared public bounds, adds up whole numbers (so that a sum's sensitivity
holds to the last bit), and answers through the one door with Laplace noise, or with Gaussian noise when
delta is positive. The number of records n is public.

Columns are read cell by cell, by rules that look at no other record and that no cell can make fail: a number is
clipped to its declared range; what is none (missing, NaN, something else in a list) is missing, and is left out, or
counts as the number that is declared for it, `missing=`; a flag that is not true counts as false; a value is counted at
the one level that it equals, or nowhere. Only the stored type, the shape and the length of a column can be refused:
columns that are stored as text, or as objects, hold no numbers and no flags, whatever stands in them.

With `groups`, the id of the person whose each row is, what is protected is a person with all their rows: a person's
answer is the mean over their rows, of those that are there if what is missing is left out, so that sums and counts are
of persons, n is how many of them there are, and every sensitivity stays what it is for one row each (docs/persons.md).
"""

import math
from collections.abc import Sequence, Set
from dataclasses import replace
from typing import Any, Literal

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
from tacit.mechanisms.gaussian import Gaussian, additive
from tacit.mechanisms.laplace import Laplace
from tacit.numerics.arrays import Floats, Truths
from tacit.numerics.bisection import bisect
from tacit.releases import Release, Terms

Missing = float | Literal["exclude"]
"""What becomes of cells that are missing: they are left out, or count as a number within the range."""

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
    missing: Missing = "exclude",
    ledger: Ledger | None = None,
    groups: Any = None,
    label: str = "sum",
    random_state: object = None,
) -> Release[float]:
    """Add up numbers clipped to [low, high].

    What is missing adds nothing; or, given a number between low and high as `missing`, it counts as that.

    Guarantee: (epsilon, delta)-private.
    Assumes: low, high and `missing` were chosen without looking at the records; replace-one neighbours; n is public.
    Reference: the introductory lecture's noisy sum; sensitivity high - low, of a range that holds 0 where what is
    missing adds nothing.
    """
    column, present, low, high = _clipped(values, low, high, missing)
    known = (f"low={low:g}", f"high={high:g}", _in_words(missing))
    if _placed(missing, low, high) is None:
        column, low, high = np.where(present, column, 0.0), min(low, 0.0), max(high, 0.0)
    column, present, persons = _of_present(column, present, _persons(groups, column.size))
    share, size = _sum_of_shares(column, low, high, persons), column.size if persons is None else persons.n
    mechanism = additive(Budget(epsilon, delta))
    noisy = Terms(ledger, label, random_state, known).release(mechanism, share, unit=_unit(persons))
    return noisy.map(lambda answer: low * size + (high - low) * float(answer)).within((high - low) * mechanism.error())


def mean(
    values: ArrayLike,
    *,
    low: float,
    high: float,
    epsilon: float,
    delta: float = 0.0,
    missing: Missing = "exclude",
    ledger: Ledger | None = None,
    groups: Any = None,
    label: str = "mean",
    random_state: object = None,
) -> Release[float]:
    """Average numbers clipped to [low, high]: those that are there, or, given a `missing` between low and high, all.

    What is missing is left out: a noisy sum is divided by a noisy count of the numbers that are there, both drawn at
    once for one charge. `noise_error` is then computed from the answers, and holds in 95 of 100 releases whatever is
    missing.

    Guarantee: (epsilon, delta)-private.
    Assumes: low, high and `missing` were chosen without looking at the records; replace-one neighbours; n is public.
    Reference: the introductory lecture's noisy average; sensitivity (high - low) / n. Where what is missing is left
    out, a record adds (x, w) to the sum of distances from the middle, in ranges, and to the count times w: x is in
    [-1/2, 1/2], or both are 0. No two points of this triangle are further apart than its corners: 1 in L1 norm
    for w <= 1/2, and in L2 norm for w <= sqrt(3)/2. So the sum has the noise that it has without the count.
    """
    column, present, low, high = _clipped(values, low, high, missing)
    if column.size == 0:
        raise InvalidParameter("a mean needs at least one record, got none.")
    column, present, persons = _of_present(column, present, _persons(groups, column.size))
    budget, known = Budget(epsilon, delta), (f"low={low:g}", f"high={high:g}", _in_words(missing))
    terms, unit = Terms(ledger, label, random_state, known), _unit(persons)
    if _placed(missing, low, high) is not None:
        size = column.size if persons is None else persons.n
        one = additive(budget)
        noisy = terms.release(one, _sum_of_shares(column, low, high, persons), unit=unit)
        return noisy.map(lambda answer: low + (high - low) * float(answer) / size).within(
            (high - low) * one.error() / size
        )
    both, weight = _sum_and_count(budget)
    total = _sum_of_shares(column, low, high, persons)  # what is missing is at `low` there, and adds nothing
    held = _sum_of_shares(present.astype(np.float64), 0.0, 1.0, persons)
    noisy_pair = terms.release(both, np.array([total - held / 2, weight * held]), unit=unit)
    total, weighted = np.asarray(noisy_pair.value, dtype=np.float64).tolist()
    ratio, error = _ratio(total, weighted, both, weight)
    return noisy_pair.map(lambda _: low + (high - low) * (0.5 + ratio)).within((high - low) * error)


def mean_error(
    count: int,
    *,
    low: float,
    high: float,
    epsilon: float,
    delta: float = 0.0,
    missing: Missing = "exclude",
    confidence: float = 0.95,
) -> float:
    """Return what the noise of `mean` over that many records stays below with this confidence; no record is needed.

    Where what is missing is left out, `count` is that of the numbers that are there; the mean may be anywhere in the
    range, and one in its middle has less noise.
    """
    low, high = _range(low, high)
    size, budget, level = whole_number("count", count), Budget(epsilon, delta), checked_confidence(confidence)
    if _placed(missing, low, high) is not None:
        return (high - low) * additive(budget).error(level) / size
    both, weight = _sum_and_count(budget)

    def stays(error: float) -> bool:
        # |e1 - r e2| <= error (size + e2) fails on one side where e1 - (r + error) e2 does, on the other likewise.
        return _error_of_both(both, (0.5 + error) / weight, level) <= error * size

    return (high - low) * (bisect(stays, 1.0, 0.0)[0] if stays(1.0) else 1.0)


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
    missing: Missing = "exclude",
    ledger: Ledger | None = None,
    groups: Any = None,
    label: str = "quantile",
    random_state: object = None,
) -> Release[float]:
    """Find a number below which about that fraction of the records lies, among evenly spaced candidates.

    It is the fraction of the numbers that are there, or, given a `missing` between low and high, of all records.

    Guarantee: epsilon-private.
    Assumes: low, high, `missing` and the number of candidates were chosen without looking at the records;
    replace-one neighbours; n is public.
    Reference: exponential mechanism (Smith 2011); a number at or below a candidate adds 1 - fraction to the distance of
    its rank from the wanted one, a larger one takes the fraction off, and what is missing does neither: a replacement
    moves it by at most 1.
    """
    share = checked_share("fraction", fraction)
    column, present, low, high = _clipped(values, low, high, missing)
    mechanism = Exponential.for_budget(Budget(epsilon), candidates=candidates)
    places = np.linspace(low, high, mechanism.candidates)
    column, present, persons = _of_present(column, present, _persons(groups, column.size))
    # Ranks in whole steps less a share of the count, the share in steps of its own: all of it is exact in doubles, and
    # no rounding adds to the sensitivity.
    room = 52 - (column.size if persons is None else persons.n).bit_length()
    coarse = 0 if persons is None else min(30, room // 2)
    fine = min(30, room - coarse)
    counted = present.astype(np.int64) * (1 if persons is None else persons.parts(2**coarse))
    order = np.argsort(column, kind="stable")
    below = np.concatenate([[0], np.cumsum(counted[order])])
    ranks = below[np.searchsorted(column[order], places, side="right")] / 2.0**coarse
    wanted = int(below[-1]) * round(share * 2**fine) / 2.0 ** (coarse + fine)
    scores = -np.abs(ranks - wanted)
    known = (f"low={low:g}", f"high={high:g}", _in_words(missing), f"{mechanism.candidates} candidates")
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
    missing: Missing = "exclude",
    ledger: Ledger | None = None,
    groups: Any = None,
    label: str = "bounds",
    random_state: object = None,
) -> tuple[Release[float], Release[float]]:
    """Find two numbers between which about that share of the records lies, to clip by afterwards.

    Guarantee: the two together are epsilon-private; each is charged half.
    Assumes: low, high, `missing` and the number of candidates were chosen without looking at the records;
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
            missing=missing,
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


def _clipped(values: ArrayLike, low: float, high: float, missing: Missing) -> tuple[Floats, Truths, float, float]:
    """Return numbers within the range, and which of them are there: all, where what is missing has a value."""
    low, high = _range(low, high)
    placed = _placed(missing, low, high)
    column = numbers_of(values)
    gone = np.isnan(column)
    filled = np.clip(np.where(gone, low if placed is None else placed, column), low, high)
    return filled, ~gone if placed is None else np.ones(column.size, dtype=np.bool_), low, high


def _placed(missing: Missing, low: float, high: float) -> float | None:
    """Return the value that stands for what is missing; None where that is left out."""
    if isinstance(missing, str) and missing == "exclude":
        return None
    if isinstance(missing, str) or not low <= finite_number("missing", missing) <= high:
        raise InvalidParameter(
            f"missing must be 'exclude', or a number between low and high that counts for what is missing, got "
            f"{missing!r}."
        )
    return finite_number("missing", missing)


def _in_words(missing: Missing) -> str:
    return "what is missing is left out" if isinstance(missing, str) else f"what is missing counts as {missing:g}"


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


def _of_present(column: Floats, present: Truths, persons: Persons | None) -> tuple[Floats, Truths, Persons | None]:
    """Leave out what is missing among a person's rows if others of that person's are there: means are over those."""
    if persons is None:
        return column, present, None
    has_some = np.bincount(persons.owners[present], minlength=persons.n) > 0
    kept = present | ~has_some[persons.owners]
    return column[kept], present[kept], replace(persons, owners=persons.owners[kept])


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


def _sum_and_count(budget: Budget) -> tuple[Laplace | Gaussian, float]:
    """Return the noise of a sum and of a count times a weight, the largest under which both are as sensitive as one.

    A count, of records or of persons, is a whole number: these parts of it are exact. The second is below sqrt(3)/2.
    """
    return additive(budget, shape=(2,)), 1 / 2 if budget.is_pure else 443 / 512


def _ratio(total: float, weighted: float, both: Laplace | Gaussian, weight: float) -> tuple[float, float]:
    """Return a noisy sum over a noisy count, within [-1/2, 1/2], and what its noise stays below in 95 of 100 releases.

    If e1 and e2 are the noise of the two, the ratio of the noisy ones is off by (e1 - r e2) / noisy count, where r is
    that of the exact ones: exactly, so that a quantile of |e1 - r e2| bounds it. That one grows with |r|, which is at
    most 1/2, and at most as far from the noisy ratio as its bound for 1/2 says.
    """
    held = weighted / weight
    if held <= 0:
        return 0.0, 0.5
    ratio = total / held
    farthest = min(0.5, abs(ratio) + _error_of_both(both, 0.5 / weight) / held)
    return min(max(ratio, -0.5), 0.5), min(1.0, _error_of_both(both, farthest / weight) / held)


def _error_of_both(both: Laplace | Gaussian, factor: float, confidence: float = 0.95) -> float:
    """Return what |e1 - factor e2| stays below with this confidence, e1 and e2 being the noise of two numbers."""
    if isinstance(both, Gaussian):
        return both.error(confidence) * math.hypot(1.0, factor)

    def stays(reach: float) -> bool:
        # The density of such a sum is one of the two laws less the other, by partial fractions of their transforms.
        if abs(factor - 1) < 1e-4:
            most = reach / max(1.0, factor)
            return (1 + most / 2) * math.exp(-most) <= 1 - confidence
        other = factor**2 * math.exp(-reach / factor) if factor > 0 else 0.0
        return (math.exp(-reach) - other) / (1 - factor**2) <= 1 - confidence

    return both.scale * bisect(stays, 1000.0 * (1.0 + factor), 0.0)[0]
