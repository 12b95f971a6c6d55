"""The sparse vector technique: the exact chance of every transcript, for every pair of neighbours."""

import itertools
import math
from collections import Counter
from collections.abc import Iterator

import numpy as np
import pytest

from support.coarse import coarse
from support.statistical import cells_fit, sample_size
from tacit.budget import Budget
from tacit.errors import InvalidParameter
from tacit.mechanisms import SparseVector
from tacit.noise import SystemEntropy
from tacit.releases import release

GRID = 0.25
"""Coarse enough that all values of the threshold's noise can be summed over."""

Transcript = tuple[bool, ...]


def _upper(start: np.ndarray, units: float) -> np.ndarray:
    """Return the chance that integer Laplace noise is at least `start`."""
    ratio = math.exp(-1 / units)
    return np.where(
        start >= 1, ratio ** np.maximum(start, 1) / (1 + ratio), 1 - ratio ** np.maximum(1 - start, 1) / (1 + ratio)
    )


def _transcripts(length: int, hits: int) -> Iterator[Transcript]:
    """Yield every transcript that ends at the last hit or with the queries."""
    for answers in itertools.product((False, True), repeat=length):
        last = [i for i, hit in enumerate(answers) if hit][hits - 1 : hits]
        end = last[0] + 1 if last else length
        if not any(answers[end:]):
            yield answers[:end]


def _chances(
    queries: tuple[int, ...], units: tuple[float, float], hits: int, *, noisy_bar: bool = True
) -> dict[Transcript, float]:
    """Return each transcript's exact chance; queries count in grid units above the threshold."""
    of_bar, of_query = units
    bars = np.arange(-60 * math.ceil(of_bar), 60 * math.ceil(of_bar) + 1) if noisy_bar else np.zeros(1)
    weights = np.exp(-np.abs(bars) / of_bar)
    weights /= weights.sum()
    above = [_upper(bars - query, of_query) for query in queries]
    return {
        answers: float(
            np.sum(weights * np.prod([a if hit else 1 - a for a, hit in zip(above, answers, strict=False)], axis=0))
        )
        for answers in set(_transcripts(len(queries), hits))
    }


def _worst_ratio(mechanism: SparseVector, queries: tuple[int, ...], *, noisy_bar: bool = True) -> float:
    """Return the largest log ratio of a transcript over all ways that the queries can move."""
    step = int(mechanism.sensitivity / mechanism.grid) + 1
    before = _chances(queries, mechanism.units, mechanism.hits, noisy_bar=noisy_bar)
    worst = 0.0
    for moves in itertools.product((-step, step), repeat=len(queries)):
        moved = tuple(query + move for query, move in zip(queries, moves, strict=True))
        after = _chances(moved, mechanism.units, mechanism.hits, noisy_bar=noisy_bar)
        worst = max(worst, *(abs(math.log(before[answers] / after[answers])) for answers in before))
    return worst


STREAMS = [
    (0,),
    (-40, 40),
    (0, 0, 0, 0),
    (-30, -30, -30, 30),
    (-10, 5, -10, 20),
    (20, 20, -60, 0),
    (-200, -200, -200, 200),
]


@pytest.mark.parametrize("hits", [1, 2])
@pytest.mark.parametrize("epsilon", [0.5, 1.0, 3.0])
@pytest.mark.parametrize("queries", STREAMS)
def test_every_transcript_keeps_epsilon(queries: tuple[int, ...], epsilon: float, hits: int) -> None:
    """Whatever stream is asked and however it moves, no transcript's log ratio exceeds epsilon."""
    mechanism = coarse(SparseVector.for_budget(Budget(epsilon), threshold=0.0, hits=hits), GRID)
    assert sum(_chances(queries, mechanism.units, hits).values()) == pytest.approx(1, abs=1e-12)
    assert _worst_ratio(mechanism, queries) <= epsilon + 1e-9


def test_the_bound_is_nearly_reached() -> None:
    """Queries far above and one far below the threshold tell more than 0.97 epsilon: little noise is wasted."""
    mechanism = coarse(SparseVector.for_budget(Budget(1), threshold=0.0), GRID)
    assert 0.97 <= _worst_ratio(mechanism, (150, 150, 150, -150)) <= 1


def test_without_noise_on_the_threshold_the_promise_breaks() -> None:
    """The same queries with a bare threshold tell more than epsilon, and more with every query below it."""
    mechanism = coarse(SparseVector.for_budget(Budget(1), threshold=0.0), GRID)
    few, more = (_worst_ratio(mechanism, (60,) * length, noisy_bar=False) for length in (4, 6))
    assert more > few > 1
    assert _worst_ratio(mechanism, (60,) * 6) <= 1


def test_noise_that_ignores_the_number_of_hits_breaks_the_promise() -> None:
    """With two hits, query noise calibrated to one exceeds epsilon."""
    mechanism = coarse(SparseVector.for_budget(Budget(1), threshold=0.0, hits=2), GRID)
    of_bar, of_query = mechanism.units
    mechanism.__dict__["units"] = (of_bar, of_query // 2)
    assert _worst_ratio(mechanism, (-150, -150, -150, -150)) > 1


@pytest.mark.stats
@pytest.mark.parametrize("hits", [1, 2])
def test_transcripts_come_with_their_exact_chances(hits: int) -> None:
    """Transcripts drawn fit the computed chances, and not those of half the noise."""
    mechanism = coarse(SparseVector.for_budget(Budget(2), threshold=1.0, hits=hits), GRID)
    size = sample_size(3_000)
    source = SystemEntropy()
    counts = Counter(mechanism.randomise([0.0, 3.0, -1.0, 2.0], source) for _ in range(size))
    queries = (-4, 8, -8, 4)
    assert cells_fit(counts, _chances(queries, mechanism.units, hits), size)
    smaller = tuple(0.5 * units for units in mechanism.units)
    assert not cells_fit(counts, _chances(queries, smaller, hits), size)


def test_answers_stop_at_the_last_hit_and_queries_are_not_asked_beyond_it() -> None:
    """A generator is read up to the last hit only, and a stream without hits to its end."""
    mechanism = SparseVector.for_budget(Budget(1), threshold=0.0, hits=2)
    asked = []

    def stream() -> Iterator[float]:
        for query in (-1e6, 1e6, -1e6, 1e6, 1e6):
            asked.append(query)
            yield query

    assert release(mechanism, stream(), label="x").value == (False, True, False, True)
    assert len(asked) == 4
    assert release(mechanism, [-1e6] * 3, label="x").value == (False,) * 3
    assert release(mechanism, (), label="x").value == ()


def test_huge_numbers_are_compared_exactly() -> None:
    """Values and thresholds far beyond the grid's range are neither overflowed nor rounded together."""
    mechanism = SparseVector.for_budget(Budget(1), threshold=1e308, hits=2)
    above = math.nextafter(1e308, math.inf)
    assert release(mechanism, np.array([-1e308, above, math.nextafter(1e308, 0)]), label="x").value == (
        False,
        True,
        False,
    )


def test_the_share_of_the_threshold_makes_the_difference_least_noisy() -> None:
    """Moving epsilon between the two noises would only increase the variance of their difference."""
    for hits in (1, 3, 20):
        mechanism = SparseVector.for_budget(Budget(1), threshold=0.0, hits=hits)
        of_bar, of_query = (units * mechanism.grid for units in mechanism.units)
        share = 1 / of_bar
        best = of_bar**2 + of_query**2
        for other in (0.9 * share, 1.1 * share):
            assert other**-2 + (2 * hits / (1 - other)) ** 2 > best * (1 - 1e-5)


@pytest.mark.parametrize(("epsilon", "hits"), [(1e-100, 1), (1e-14, 1), (1e-6, 10**8), (1.0, 2**32 + 1)])
def test_what_cannot_be_certified_is_refused_at_calibration(epsilon: float, hits: int) -> None:
    """Too little epsilon for one hit, or for that many, is refused before any release."""
    with pytest.raises(InvalidParameter):
        SparseVector.for_budget(Budget(epsilon), threshold=0.0, hits=hits)
