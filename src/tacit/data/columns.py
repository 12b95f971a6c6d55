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
from dataclasses import dataclass
from typing import final

import numpy as np
import numpy.typing as npt

from tacit.checks import finite_number
from tacit.data.values import BLANKS, DAY, EPOCH, MISSING_MOMENT, AnyArray, keys, microseconds, moments, numbers
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

    def points(self, knots: int) -> AnyArray:
        """Return values of the column that show all of an effect with so many knots, in order."""
        return np.empty(0)

    @abstractmethod
    def clean(self, values: AnyArray) -> tuple[AnyArray, State]:
        """Return every cell as a bounded float or a whole number, and how it fared; each by its value alone."""

    @abstractmethod
    def code(self, cleaned: AnyArray) -> Floats:
        """Return a block with one row of norm at most `largest` per cleaned value."""

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

    def clean(self, values: AnyArray) -> tuple[Floats, State]:
        """Clamp to the bounds; a missing number becomes `fallback`."""
        read = numbers(values)
        cleaned, state = np.empty(len(read)), np.empty(len(read), dtype=np.int8)
        for start in range(0, len(read), _STRIP):
            strip = slice(start, start + _STRIP)
            self._clean(read[strip], cleaned[strip], state[strip])
        return cleaned, state

    def _clean(self, read: Floats, inside: Floats, state: State) -> None:
        """Clean some numbers that stay in a cache meanwhile."""
        with np.errstate(all="ignore"):
            gone = np.isnan(read)
            np.clip(read, self.low, self.high, out=inside)
            np.copyto(inside, self.fallback, where=gone)
            if self.low <= 0 <= self.high:
                # Bounds are 0 or far from it: elsewhere nothing is near 0. So -0.0 becomes 0.0, too.
                np.copyto(inside, 0.0, where=np.abs(inside) < SMALLEST)
            np.multiply((read < self.low) | (read > self.high), np.int8(2), out=state)
            state += gone

    def code(self, cleaned: AnyArray) -> Floats:
        """Map the bounds to -1 and 1; a missing number without a declared place to 0."""
        return _line(cleaned, self.low, self.high, self.fallback if self.missing is None else None, log=self.log)


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

    def clean(self, values: AnyArray) -> tuple[Floats, State]:
        """Return the day since 1970 began, with the time of the day as its fraction, between the ends."""
        read = moments(values)
        low, high = self.ends
        gone = read == MISSING_MOMENT
        beyond = (read < low) | (read > high)
        inside = np.clip(np.where(gone, self.fallback, read), low, high)
        return days(inside), np.where(gone, 1, np.where(beyond, 2, 0)).astype(np.int8)

    def code(self, cleaned: AnyArray) -> Floats:
        """Map the ends to -1 and 1; a missing moment without a declared place to 0."""
        low, high = (days(end) for end in np.array(self.ends, dtype=np.int64))
        middle = days(np.int64(self.fallback)) if self.missing is None else None
        return _line(cleaned, float(low), float(high), None if middle is None else float(middle))


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

    def clean(self, values: AnyArray) -> tuple[Integers, State]:
        """Return a public whole number for every id."""
        return keys(values), np.zeros(len(values), dtype=np.int8)


@final
@dataclass(frozen=True)
class Ignored(Uncoded):
    """A column that is known but not used."""

    def clean(self, values: AnyArray) -> tuple[AnyArray, State]:
        """Return nothing of the values."""
        return np.zeros(len(values)), np.zeros(len(values), dtype=np.int8)


def days(instants: "Integers | np.int64") -> Floats:
    """Return moments as days: the whole ones exactly, plus the rest of a day, rounded once each."""
    whole, rest = np.divmod(instants, DAY)
    return np.asarray(whole.astype(np.float64) + rest.astype(np.float64) / float(DAY))


def day_number(value: object) -> float:
    """Return a date, a time or an ISO text as days since 1970 began; refuse anything else."""
    return float(days(np.int64(_instant("a moment", value))))


def _line(cleaned: AnyArray, low: float, high: float, origin: float | None, *, log: bool = False) -> Floats:
    """Map [low, high] to [-1, 1], and what stands for a missing value exactly to 0."""
    with np.errstate(all="ignore"):
        shifted, width = cleaned - low, high - low
        if log:
            # A vectorised log1p may round by a value's position in the array; this one cannot.
            shifted = np.fromiter(map(math.log1p, shifted.tolist()), dtype=np.float64, count=len(shifted))
            width = math.log1p(width)
        line = np.clip(2.0 * (shifted / width) - 1.0, -1.0, 1.0)
    return (line if origin is None else np.where(cleaned == origin, 0.0, line))[:, None]


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
