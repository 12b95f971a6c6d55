"""What is publicly known about a column: how each of its cells is cleaned, and the code that follows from it.

    Column
    ├── Number       a measurement between two declared bounds        one output in [-1, 1]
    ├── Moment       a date or time between two declared ends         one output in [-1, 1]
    ├── Levelled     one of finitely many declared levels             (levels.py)
    │   ├── Category    without an order                              one output per level, 0 or 1/2
    │   ├── Ordinal     with an order                                 one output in [-1, 1]
    │   └── Flag        false or true                                 one output, -1/2 or 1/2
    └── Uncoded      seen by no model and no query                    no output
        ├── Key         an id, may name the part
        └── Ignored     known, but not used

Every value has a place. Numbers beyond their bounds are clamped; a value that is missing or makes no sense
goes to the place declared for it, and where none is declared to the origin of the code, which leans to no
side: the middle of a range, no level at all. `clean` is that total function of one cell; nothing else of a
record is ever seen by a model, a query or a score.
"""

import datetime
import math
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import final

import numpy as np
import numpy.typing as npt

from tacit.checks import finite_number
from tacit.data.file_form import BLANKS, STANDARD, FileForm
from tacit.data.values import DAY, EPOCH, MISSING_MOMENT, AnyArray, keys, microseconds, moments, numbers
from tacit.errors import InvalidParameter
from tacit.numerics.arrays import Floats, Integers

_FINE = 32
_STRIP = 16_384
EVERYWHERE = 2**53
"""How many places a line has, more or less."""

LARGEST, SMALLEST = 1e100, 1e-100
"""Numbers and bounds lie within LARGEST of 0; what is nearer to 0 than SMALLEST is 0."""

State = npt.NDArray[np.int8]
"""How each cell fared: 0 as declared, 1 missing or of no sense, 2 beyond the declared bounds or levels."""


@final
@dataclass(frozen=True)
class Line:
    """How cells between two bounds become numbers from -1 to 1; what equals `origin`, where there is one, becomes 0."""

    low: float
    high: float
    origin: float | None
    log: bool = False


class Column(ABC):
    """What is publicly known about one column."""

    def outputs(self, name: str) -> tuple[str, ...]:
        """Name the numbers that a column of this name becomes: by default one, named as the column."""
        return (name,)

    @property
    def largest(self) -> float:
        """The largest L2 norm of a row of the code: at most 1."""
        return 1.0

    @property
    def places(self) -> int:
        """How many places there are on the line from -1 to 1 that is the code; 0 if the code is no such line."""
        return 0

    @property
    def line(self) -> Line | None:
        """How cleaned cells become a number each; None if the code is not made by such a rule."""
        return None

    def points(self, knots: int) -> AnyArray:
        """Return values of the column that show all of an effect with so many knots, in order."""
        return np.empty(0)

    @abstractmethod
    def clean(self, values: AnyArray, form: FileForm = STANDARD) -> tuple[AnyArray, State]:
        """Return every cell as a bounded float or a whole number, and how it fared; each by its value alone.

        What a text means is said by `form`.
        """

    def code(self, cleaned: AnyArray) -> Floats:
        """Return a block with one row of norm at most `largest` per cleaned value: by default, of its line."""
        return self._lines.code([cleaned]).T

    @cached_property
    def _lines(self) -> "Lines":
        assert self.line is not None
        return Lines([self.line])

    def encode(self, values: AnyArray) -> Floats:
        """Return the code of every cell."""
        return self.code(self.clean(values)[0])


@final
@dataclass(frozen=True)
class Number(Column):
    """A number between two public bounds, mapped to [-1, 1].

    Bounds come from what the number means (an age, a percentage, a five-digit field), never from the records.
    With `log=True` the scale is that of log(1 + value - low), for amounts that span orders of magnitude.
    `missing` is the value that stands in for one that is missing; by default the one in the middle of the scale.
    """

    low: float
    high: float
    log: bool = False
    missing: float | None = None

    def __post_init__(self) -> None:
        low, high = finite_number("low", self.low), finite_number("high", self.high)
        object.__setattr__(self, "low", low)
        object.__setattr__(self, "high", high)
        if not (low < high and max(-low, high) <= LARGEST and high - low >= SMALLEST):
            raise InvalidParameter(
                f"a Number needs bounds low < high, within 1e100 of 0 and 1e-100 apart or more, got {low!r} and "
                f"{high!r}. Declare the range that the number can have by its meaning."
            )
        if any(0 < abs(bound) < SMALLEST for bound in (low, high)):
            raise InvalidParameter(f"a bound must be 0 or at least 1e-100 from it, got {low!r} and {high!r}.")
        if not isinstance(self.log, bool):
            raise InvalidParameter(f"log must be True or False, got {self.log!r}.")
        if self.missing is not None:
            missing = finite_number("missing", self.missing)
            object.__setattr__(self, "missing", 0.0 if abs(missing) < SMALLEST else missing)
            if not low <= missing <= high:
                raise InvalidParameter(f"missing must lie between low={low!r} and high={high!r}, got {missing!r}.")

    @property
    def places(self) -> int:
        """As many as a line has: every number has a place of its own."""
        return EVERYWHERE

    def points(self, knots: int) -> Floats:
        """Return the knots; on a logarithmic scale, where lines between knots bend, points between them too."""
        between = -(-_FINE // (knots - 1)) if self.log else 1
        shares = np.linspace(0.0, 1.0, (knots - 1) * between + 1)
        width = self.high - self.low
        inside = np.expm1(shares * math.log1p(width)) if self.log else shares * width
        return np.clip(self.low + inside, self.low, self.high)

    @property
    def fallback(self) -> float:
        """The value that stands in for one that is missing."""
        if self.missing is not None:
            return self.missing
        width = self.high - self.low
        middle = self.low + (math.expm1(math.log1p(width) / 2) if self.log else width / 2)
        return 0.0 if abs(middle) < SMALLEST else min(max(middle, self.low), self.high)

    def clean(self, values: AnyArray, form: FileForm = STANDARD) -> tuple[Floats, State]:
        """Clamp to the bounds; a missing number becomes `fallback`."""
        read = numbers(values, form)
        cleaned, state = np.empty(len(read)), np.zeros(len(read), dtype=np.int8)
        with np.errstate(all="ignore"):
            # Some at a time that stay in a cache meanwhile; nearly all are as declared.
            for start in range(0, len(read), _STRIP):
                part, inside, fared = (each[start : start + _STRIP] for each in (read, cleaned, state))
                np.clip(part, self.low, self.high, out=inside)
                # What is no number differs from itself.
                moved = inside != part
                if moved.any():
                    np.multiply(moved, np.int8(2), out=fared)
                    gone = np.isnan(part)
                    fared[gone] = 1
                    inside[gone] = self.fallback
                if self.low <= 0 <= self.high:
                    # Bounds are 0 or far from it: elsewhere nothing is near 0. So -0.0 becomes 0.0, too.
                    tiny = np.abs(inside) < SMALLEST
                    if tiny.any():
                        inside[tiny] = 0.0
        return cleaned, state

    @property
    def line(self) -> Line:
        """From the bounds to -1 and 1; a missing number without a declared place becomes 0."""
        return Line(self.low, self.high, self.fallback if self.missing is None else None, self.log)


@final
@dataclass(frozen=True)
class Moment(Column):
    """A date or a time between two declared ends, as a number of days; mapped to [-1, 1].

    Ends are ISO texts ("2015-01-01"), dates or times. Moments before or after them are clamped; `missing` stands in
    for one that is missing or no date at all, by default the middle. Times with a zone count in UTC.
    """

    low: str | datetime.date
    high: str | datetime.date
    missing: str | datetime.date | None = None

    def __post_init__(self) -> None:
        low, high = _instant("low", self.low), _instant("high", self.high)
        if not low < high:
            raise InvalidParameter(f"a Moment needs ends low before high, got {self.low!r} and {self.high!r}.")
        object.__setattr__(self, "low", _written(low))
        object.__setattr__(self, "high", _written(high))
        if self.missing is not None:
            missing = _instant("missing", self.missing)
            if not low <= missing <= high:
                raise InvalidParameter(f"missing must lie between {self.low} and {self.high}, got {self.missing!r}.")
            object.__setattr__(self, "missing", _written(missing))

    @property
    def places(self) -> int:
        """As many as a line has: every number has a place of its own."""
        return EVERYWHERE

    def points(self, knots: int) -> AnyArray:
        """Return the knots, as dates with times."""
        low, high = self.ends
        return np.array([low + (high - low) * place // (knots - 1) for place in range(knots)], dtype="datetime64[us]")

    @property
    def ends(self) -> tuple[int, int]:
        """The ends, in microseconds since 1970 began."""
        return _instant("low", self.low), _instant("high", self.high)

    @property
    def fallback(self) -> int:
        """What stands in for a missing moment, in microseconds."""
        low, high = self.ends
        return (low + high) // 2 if self.missing is None else _instant("missing", self.missing)

    def clean(self, values: AnyArray, form: FileForm = STANDARD) -> tuple[Floats, State]:
        """Return the day since 1970 began, with the time of the day as its fraction, between the ends."""
        read = moments(values, form)
        low, high = self.ends
        gone = read == MISSING_MOMENT
        beyond = (read < low) | (read > high)
        inside = np.clip(np.where(gone, self.fallback, read), low, high)
        return days(inside), np.where(gone, 1, np.where(beyond, 2, 0)).astype(np.int8)

    @property
    def line(self) -> Line:
        """From the ends to -1 and 1; a missing moment without a declared place becomes 0."""
        low, high, middle = (float(days(np.int64(instant))) for instant in (*self.ends, self.fallback))
        return Line(low, high, middle if self.missing is None else None)


class Uncoded(Column):
    """A column that no model and no query sees."""

    def outputs(self, name: str) -> tuple[str, ...]:
        """Return no name: no number is made of it."""
        return ()

    @property
    def largest(self) -> float:
        """A row without numbers has the norm 0."""
        return 0.0

    def code(self, cleaned: AnyArray) -> Floats:
        """Return a block without columns."""
        return np.empty((len(cleaned), 0))


@final
@dataclass(frozen=True)
class Key(Uncoded):
    """An id (whole numbers, text, UUIDs): never coded, never asked about; it may fix the part that a record is in."""

    def clean(self, values: AnyArray, form: FileForm = STANDARD) -> tuple[Integers, State]:
        """Return a public whole number for every id."""
        return keys(values, form), np.zeros(len(values), dtype=np.int8)


@final
@dataclass(frozen=True)
class Ignored(Uncoded):
    """A column that is known but not used."""

    def clean(self, values: AnyArray, form: FileForm = STANDARD) -> tuple[AnyArray, State]:
        """Return nothing of the values."""
        return np.zeros(len(values)), np.zeros(len(values), dtype=np.int8)


def days(instants: "Integers | np.int64") -> Floats:
    """Return moments as days: the whole ones exactly, plus the rest of a day, rounded once each."""
    whole, rest = np.divmod(instants, DAY)
    return np.asarray(whole.astype(np.float64) + rest.astype(np.float64) / float(DAY))


def day_number(value: object) -> float:
    """Return a date, a time or an ISO text as days since 1970 began; refuse anything else."""
    return float(days(np.int64(_instant("a moment", value))))


@final
class Lines:
    """The lines of some columns, side by side. Each operation rounds cell by cell, wherever the cell stands."""

    def __init__(self, lines: Sequence[Line]) -> None:
        self._logs = [place for place, line in enumerate(lines) if line.log]
        self._lows = np.array([[line.low] for line in lines])
        widths = (math.log1p(line.high - line.low) if line.log else line.high - line.low for line in lines)
        self._halves = np.array([[width / 2] for width in widths])
        self._origins = np.array([[math.nan if line.origin is None else line.origin] for line in lines])
        # Nearly always what stands in the middle becomes 0 by itself.
        self._moved = bool((self._mapped(self._origins.copy()) != 0.0)[~np.isnan(self._origins)].any())

    def code(self, cleaned: Sequence[AnyArray]) -> Floats:
        """Return a row for the cleaned cells of each column."""
        cells = np.empty((len(cleaned), len(cleaned[0])))
        np.concatenate(cleaned, out=cells.reshape(-1))
        zeros = cells == self._origins if self._moved else False
        mapped = self._mapped(cells)
        np.copyto(mapped, 0.0, where=zeros)
        return mapped

    def _mapped(self, cells: Floats) -> Floats:
        """Map [low, high] to [-1, 1], in place."""
        with np.errstate(all="ignore"):
            cells -= self._lows
            for place in self._logs:
                # A vectorised log1p may round by a value's position in the array; this one cannot.
                cells[place] = np.fromiter(map(math.log1p, cells[place].tolist()), np.float64, cells.shape[1])
            # Halves of widths are exact, so this rounds as twice the share of the width does.
            cells /= self._halves
            cells -= 1.0
            return np.clip(cells, -1.0, 1.0, out=cells)


def _instant(name: str, value: object) -> int:
    """Return a declared moment in microseconds since 1970 began."""
    try:
        if isinstance(value, str):
            value = datetime.datetime.fromisoformat(value.strip(BLANKS))
        if isinstance(value, datetime.date) and not isinstance(value, datetime.datetime):
            value = datetime.datetime(value.year, value.month, value.day)
        if isinstance(value, datetime.datetime):
            return microseconds(value)
    except (ValueError, OverflowError):
        pass
    raise InvalidParameter(f'{name} must be a date or time such as "2015-01-31", got {value!r}.')


def _written(instant: int) -> str:
    moment = EPOCH + datetime.timedelta(microseconds=instant)
    return moment.date().isoformat() if moment.time() == datetime.time() else moment.isoformat()
