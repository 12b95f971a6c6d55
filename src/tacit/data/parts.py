"""Parts of a table that are fixed before any record is looked at: by place, or by a key that belongs to the record.

A public permutation of the whole numbers below a prime scatters places and keys; a part is the records whose number
falls into one of some intervals. Which part a record is in depends on its place or its key and on nothing else of
it, so training on one part and judging on another composes in parallel.
"""

from dataclasses import dataclass
from typing import Literal, final

import numpy as np

from tacit.data.values import KEYS
from tacit.numerics.arrays import Integers, Truths

Fixed = Literal["index", "key"]
# The prime `KEYS` over the golden ratio: multiples of it are spread evenly, consecutive ones far apart, and the product
# of two numbers below the prime still fits into 64 bits.
_SPREAD = 1_327_217_885


@final
@dataclass(frozen=True)
class Slice:
    """The records whose scattered number lies in [low, high): their place, or what a column of keys has."""

    low: int
    high: int
    key: str | None = None

    @property
    def by(self) -> Fixed:
        """What fixes which records are in the part."""
        return "index" if self.key is None else "key"

    def chosen(self, numbers: Integers) -> Truths:
        """Return which of the records, given their places or keys, belong to the part."""
        found = scattered(numbers)
        return np.asarray((found >= self.low) & (found < self.high))


def scattered(numbers: Integers) -> Integers:
    """Return where the permutation takes places or keys."""
    return np.asarray((numbers % KEYS) * _SPREAD % KEYS)


def share_of_keys(keys: Integers, count: int) -> Integers:
    """Return which of `count` shares of about the same size each key is in."""
    return np.asarray(scattered(keys.astype(np.int64)) * count // KEYS)
