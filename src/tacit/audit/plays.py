"""What happened in a game: every outcome as numbers and marks, beside Alice's coin."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import final

import numpy as np
from scipy.sparse import csr_array

from tacit.audit.outcomes import Outcome
from tacit.errors import TacitError
from tacit.numerics.arrays import Floats, Truths

_MOST_NUMBERS, _FARTHEST = 10**8, 1e300


class Interrupted(TacitError):
    """The game could not be played to the end; the message says why."""


@final
@dataclass(frozen=True, eq=False)
class Marks:
    """Which marks each outcome carried: `carried` has a row for every play and a column for every name."""

    names: tuple[str, ...]
    carried: csr_array

    @classmethod
    def of(cls, sets: Sequence[frozenset[str]]) -> "Marks":
        """Build the table from the set of marks that each play carried."""
        places: dict[str, int] = {}
        columns = [places.setdefault(mark, len(places)) for marks in sets for mark in marks]
        ends = np.concatenate([[0], np.cumsum([len(marks) for marks in sets])]).astype(np.int64)
        filled = np.ones(len(columns), dtype=np.int64)
        table = csr_array((filled, np.array(columns, dtype=np.int64), ends), shape=(len(sets), max(1, len(places))))
        return cls(tuple(places) or ("",), table)


@final
@dataclass(frozen=True, eq=False)
class Plays:
    """One outcome a row, and Alice's coin (True: she used the first data set).

    `answers` are the numbers that were asked for, `numbers` all that were seen anywhere, with every bit, at `places`.
    `answered` is False where a play failed. `trouble` says why nothing can be said to hold, if so: what nobody could
    read, or that no play answered.
    """

    answers: Floats
    coins: Truths
    numbers: Floats
    places: tuple[str, ...]
    marks: Marks
    answered: Truths
    trouble: str | None = None

    @classmethod
    def plain(cls, answers: Floats, coins: Truths, numbers: Floats | None = None) -> "Plays":
        """Return plays that showed nothing but numbers, every one of them."""
        seen = answers if numbers is None else numbers
        nothing = Marks(("",), csr_array((len(coins), 1), dtype=np.int64))
        return cls(answers, coins, seen, (), nothing, np.ones(len(coins), dtype=bool))

    def __len__(self) -> int:
        return len(self.coins)

    def part(self, chosen: slice | Truths) -> "Plays":
        """Return some of the plays, in the order in which they were played."""
        chose = {name: getattr(self, name)[chosen] for name in ("answers", "coins", "numbers", "answered")}
        return replace(self, marks=Marks(self.marks.names, self.marks.carried[chosen]), **chose)

    @classmethod
    def of(cls, outcomes: Sequence[Outcome], coins: Truths) -> "Plays":
        """Build the tables from what was observed."""
        numbers, places = _aligned([outcome.numbers for outcome in outcomes])
        return cls(
            within_reach(_aligned([{"": outcome.answer} for outcome in outcomes])[0]),
            coins,
            numbers,
            places,
            Marks.of([outcome.marks for outcome in outcomes]),
            np.array([outcome.failure is None for outcome in outcomes], dtype=bool),
            _trouble(outcomes),
        )


def _trouble(outcomes: Sequence[Outcome]) -> str | None:
    unread = next((outcome.unread for outcome in outcomes if outcome.unread is not None), None)
    if unread is not None:
        return f"The answer holds what can not be attacked ({unread}). Return numbers, text, tables or plain objects."
    if outcomes and all(outcome.failure is not None for outcome in outcomes):
        return f"Every play failed; in the first, the mechanism {outcomes[0].failure}"
    return None


def within_reach(table: Floats) -> Floats:
    """Return the numbers with infinite ones replaced by finite ones that are as far as attacks compute with."""
    return np.asarray(np.clip(table, -_FARTHEST, _FARTHEST))


def _aligned(seen: Sequence[dict[str, Floats]]) -> tuple[Floats, tuple[str, ...]]:
    """Return all numbers with those of one place in the same columns, NaN where there are none, and the places."""
    widths: dict[str, int] = {}
    for numbers in seen:
        for place, values in numbers.items():
            widths[place] = max(widths.get(place, 0), values.size)
    starts = dict(zip(widths, np.cumsum([0, *widths.values()]).tolist(), strict=False))
    total = sum(widths.values())
    if total * len(seen) > _MOST_NUMBERS:
        raise Interrupted(f"{len(seen):,} answers of {total:,} numbers are too many. Return less of each.")
    table = np.full((len(seen), max(1, total)), np.nan)
    for row, numbers in zip(table, seen, strict=True):
        for place, values in numbers.items():
            row[starts[place] : starts[place] + values.size] = values
    places = tuple(f"{place}[{index}]" for place, width in widths.items() for index in range(width))
    return table, places or ("",)
