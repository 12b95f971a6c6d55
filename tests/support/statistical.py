"""Goodness-of-fit tests with exact critical values.

A test that calls `fits` or `cells_fit` on a sample from the law it names fails by bad luck with probability
at most `FALSE_ALARM`: the null distributions used here are exact at every sample size (Kolmogorov's statistic
for n observations, the binomial law of a count), never their limits. `TACIT_STATS_FACTOR` multiplies the
sample sizes.
"""

import math
import os
from collections.abc import Callable, Mapping

import numpy as np
from numpy.typing import NDArray
from scipy import stats

__all__ = [
    "FALSE_ALARM",
    "at_least",
    "at_most",
    "cells_fit",
    "chance_interval",
    "count_fits",
    "fits",
    "same_law",
    "sample_size",
]

FALSE_ALARM = 1e-9

Floats = NDArray[np.float64]


def sample_size(base: int) -> int:
    """Return the sample size to use: the base, times TACIT_STATS_FACTOR."""
    return base * int(os.environ.get("TACIT_STATS_FACTOR", "1"))


def fits(sample: Floats, cdf: Callable[[Floats], Floats], false_alarm: float = FALSE_ALARM) -> bool:
    """Whether Kolmogorov's distance to a continuous cdf is below its exact critical value."""
    ordered = np.sort(np.asarray(sample, dtype=np.float64))
    count = ordered.size
    below = cdf(ordered)
    rank = np.arange(count)
    distance = max(float(np.max((rank + 1) / count - below)), float(np.max(below - rank / count)))
    return distance <= float(stats.kstwo.isf(false_alarm, count))


def same_law(first: Floats, second: Floats, false_alarm: float = FALSE_ALARM) -> bool:
    """Whether two samples of equal size may come from one law, by the exact two-sample Kolmogorov test.

    Gnedenko and Korolyuk: the largest difference of two empirical cdfs of n observations is at least h/n with
    probability 2 sum_j (-1)^(j-1) C(2n, n - jh) / C(2n, n). Ties only make the test more careful.
    """
    count = len(first)
    if count != len(second):
        raise ValueError("the exact law of the two-sample statistic is used for equal sizes only")
    pooled = np.concatenate([first, second])
    ranks = (np.searchsorted(np.sort(sample), pooled, side="right") for sample in (first, second))
    steps = int(np.max(np.abs(np.subtract(*ranks))))
    if steps == 0:
        return True
    terms = (
        -((-1) ** j)
        * math.exp(2 * math.lgamma(count + 1) - math.lgamma(count - j * steps + 1) - math.lgamma(count + j * steps + 1))
        for j in range(1, count // steps + 1)
    )
    return 2 * math.fsum(terms) >= false_alarm


def at_most(successes: int, trials: int, chance: float, false_alarm: float = FALSE_ALARM) -> bool:
    """Whether a count is compatible with a chance of at most this (one-sided exact binomial test)."""
    return bool(stats.binom.sf(successes - 1, trials, chance) >= false_alarm)


def at_least(successes: int, trials: int, chance: float, false_alarm: float = FALSE_ALARM) -> bool:
    """Whether a count is compatible with a chance of at least this (one-sided exact binomial test)."""
    return bool(stats.binom.cdf(successes, trials, chance) >= false_alarm)


def count_fits(successes: int, trials: int, chance: float, false_alarm: float = FALSE_ALARM) -> bool:
    """Whether a count is compatible with exactly this chance (two-sided exact binomial test)."""
    half = false_alarm / 2
    return at_most(successes, trials, chance, half) and at_least(successes, trials, chance, half)


def cells_fit(
    counts: Mapping[object, int], chances: Mapping[object, float], trials: int, false_alarm: float = FALSE_ALARM
) -> bool:
    """Whether every cell's count is compatible with its chance; the cells share the false-alarm rate equally.

    What falls outside the listed cells is one more cell, so counts in impossible places are noticed.
    """
    rest = max(0.0, 1.0 - math.fsum(chances.values()))
    outside = trials - sum(counts.get(cell, 0) for cell in chances)
    each = false_alarm / (len(chances) + 1)
    return count_fits(outside, trials, rest, each) and all(
        count_fits(counts.get(cell, 0), trials, chance, each) for cell, chance in chances.items()
    )


def chance_interval(successes: int, trials: int, false_alarm: float = FALSE_ALARM) -> tuple[float, float]:
    """Return exact (Clopper and Pearson) bounds on a chance; each side fails with half the false-alarm rate."""
    half = false_alarm / 2
    low = float(stats.beta.ppf(half, successes, trials - successes + 1)) if successes else 0.0
    high = float(stats.beta.isf(half, successes + 1, trials - successes)) if successes < trials else 1.0
    return low, high
