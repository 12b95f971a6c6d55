"""The attack on everything that is not a size: types, shapes, texts, failures, and the exact bits of numbers.

No noise hides a type or a warning, and noise that is drawn as it should be gives no value twice as often for one data
set as for the other. So Bob counts, on plays that he learns from, how often every mark and every exact value came up
with either data set, and afterwards believes the most telling one that he sees.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, final

import numpy as np
from numpy.typing import NDArray

from tacit.audit.attacks import Attack, PlayScore
from tacit.audit.plays import Plays
from tacit.numerics.arrays import Floats, Truths

Bits = NDArray[np.uint64]


@final
@dataclass(frozen=True)
class Fingerprint(Attack):
    """Marks (types, shapes, masks, keys, texts, failures) and exact values that one data set gives more often.

    Of every number Bob compares all 64 bits, the sign with the exponent, the lowest bits, how many of the last bits are
    zero, and the coarsest grid of powers of two that it lies on.
    """

    learns = True
    sees_failures = True
    name = "fingerprint"

    def aim(self, plays: Plays) -> PlayScore:
        """Count marks and values on these plays."""
        return _Evidence.of(plays)


@final
@dataclass(frozen=True, eq=False)
class _Evidence:
    """How strongly each mark speaks for the first data set, by being there and by missing, and each value."""

    there: Floats
    missing: Floats
    values: tuple[tuple[int, int, Bits, Floats], ...]
    tells: str

    @classmethod
    def of(cls, plays: Plays) -> "_Evidence":
        marks, coins = plays.marks, plays.coins
        first, second = (np.asarray(marks.carried[chosen].sum(axis=0)).ravel() for chosen in (coins, ~coins))
        totals = int(coins.sum()), int((~coins).sum())
        there = _strength(first, second, *totals)
        missing = _strength(totals[0] - first, totals[1] - second, *totals)
        values = tuple(_telling_values(plays.numbers, coins))
        told = [(abs(strength), name) for name, strength in zip(marks.names, there, strict=True)]
        told += [(abs(strength), f"no {name}") for name, strength in zip(marks.names, missing, strict=True)]
        told += [(float(np.abs(each).max()), f"{_VIEWS[view]} of {_place(plays, at)}") for view, at, _, each in values]
        best, what = max(told, default=(0.0, ""), key=lambda item: (item[0], _DIGEST not in item[1]))
        return cls(there, missing, values, what if best > 0 else "")

    def __call__(self, plays: Plays) -> Floats:
        """Return the strongest evidence in each play."""
        best = np.zeros(len(plays))
        carried = plays.marks.carried.tocsc()
        for place in np.flatnonzero((self.there != 0) | (self.missing != 0)):
            evidence = np.full(len(plays), self.missing[place])
            evidence[carried.indices[carried.indptr[place] : carried.indptr[place + 1]]] = self.there[place]
            best = _stronger(best, evidence)
        views = list(_views(plays.numbers))
        for view, column, known, strengths in self.values:
            best = _stronger(best, _looked_up(views[view][:, column], known, strengths))
        return best


def _place(plays: Plays, column: int) -> str:
    return plays.places[column] if column < len(plays.places) else f"number {column}"


def _stronger(one: Floats, other: Floats) -> Floats:
    return np.where(np.abs(other) > np.abs(one), other, one)


def _looked_up(bits: Bits, known: Bits, strengths: Floats) -> Floats:
    place = np.minimum(np.searchsorted(known, bits), len(known) - 1)
    return np.where(known[place] == bits, strengths[place], 0.0)


def _strength(first: Any, second: Any, of_first: int, of_second: int) -> Floats:
    """Return the logarithm of the ratio of two chances, less one standard error of it: 0 if that is nothing."""
    one, other = np.asarray(first) + 0.5, np.asarray(second) + 0.5
    ratio = np.log(one / (of_first + 1)) - np.log(other / (of_second + 1))
    error = np.sqrt(1 / one + 1 / other)
    return np.asarray(np.sign(ratio) * np.maximum(0.0, np.abs(ratio) - error))


_DIGEST = "outcome "
"""Marks of an outcome as a whole, which tell Bob as much as others and people less."""

_VIEWS = ("value", "sign and exponent", "lowest bits", "number of zeros at the end", "grid")
_LOWEST, _ONE, _PLACES = np.uint64(7), np.uint64(1), np.uint64(52)


def _views(numbers: Floats) -> Iterator[Bits]:
    """Yield what Bob compares of every number."""
    bits = np.ascontiguousarray(numbers).view(np.uint64)
    yield bits
    yield bits >> _PLACES
    yield bits & _LOWEST
    zeros = _zeros(bits)
    yield zeros
    # The place of the lowest bit that is set: an odd whole number is told from an even one, and a coarse grid from a
    # fine one, however large the number.
    yield (bits >> _PLACES & np.uint64(0x7FF)) + zeros


def _zeros(bits: Bits) -> Bits:
    """Return how many of the last bits of the fraction are zero, 52 if all are."""
    fraction = bits & ((_ONE << _PLACES) - _ONE)
    # A number and its two's complement share the lowest bit that is set and those below it, and no others.
    lowest = fraction & (~fraction + _ONE)
    exponent = lowest.astype(np.float64).view(np.uint64) >> _PLACES
    return np.where(fraction == 0, _PLACES, exponent - np.uint64(1023))


def _telling_values(numbers: Floats, coins: Truths) -> Iterator[tuple[int, int, Bits, Floats]]:
    """Yield the view, the column, the values that tell something there, in order, and how strongly they do."""
    totals = int(coins.sum()), int((~coins).sum())
    if not all(totals):
        return
    for view, table in enumerate(_views(numbers)):
        for column in np.flatnonzero(np.any(table != table[:1], axis=0)).tolist():
            known, which, counts = np.unique(table[:, column], return_inverse=True, return_counts=True)
            if counts.max() < _FEWEST:
                continue
            first = np.bincount(which[coins], minlength=len(known))
            strengths = _strength(first, counts - first, *totals)
            if np.any(strengths):
                chosen = strengths != 0
                yield view, column, known[chosen], strengths[chosen]


_FEWEST = 3
"""Values that came up less often prove nothing."""
