"""Columns with finitely many declared levels.

A level is a text without blanks at its ends. It may be declared as a number too, and is then the text that this
number reads as (`tacit.data.values.text`), so that 2, 2.0, "2" and " 2 " in a table are one level.
"""

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import final

import numpy as np

from tacit.checks import shown
from tacit.data.columns import Column, State
from tacit.data.file_form import STANDARD, FileForm
from tacit.data.values import AnyArray, as_float, each, plain_cell, text
from tacit.errors import InvalidParameter
from tacit.numerics.arrays import Codes, Floats

Level = str | int | float
"""How a level may be typed; it is kept as a text."""


class Levelled(Column):
    """A column with finitely many declared levels."""

    levels: Sequence[Level]

    @property
    @abstractmethod
    def positive(self) -> Level | None:
        """The level that scores are about where the column is the target; None when none was declared."""

    @property
    def spellings(self) -> tuple[tuple[str, ...], ...]:
        """The texts that stand for each level, the first of which names it: by default, each level as itself."""
        return tuple((str(level),) for level in self.levels)

    @property
    @abstractmethod
    def unknown(self) -> int:
        """The index of the level that stands in for anything else; -1 when none was declared."""

    @abstractmethod
    def codes(self) -> Floats:
        """Return one row of norm at most 1 per level."""

    @property
    def classes(self) -> tuple[str, ...]:
        """The names of the levels, in their declared order."""
        return tuple(spelled[0] for spelled in self.spellings)

    @property
    def largest(self) -> float:
        """The norm of the longest code: a code has one number that is not zero."""
        return float(np.abs(self.codes()).max())

    def points(self, knots: int) -> AnyArray:
        """Return every level, at which effects are shown."""
        return np.array(self.classes, dtype=object)

    def clean(self, values: AnyArray, form: FileForm = STANDARD) -> tuple[Codes, State]:
        """Return the index of each value's level, -1 only when no level stands in for unknown values."""
        known = {name: index for index, spelled in enumerate(self.spellings) for name in spelled}

        def place(cell: object) -> int:
            """Return the index of a level; -1 for what is missing, -2 for anything else."""
            name = text(cell, form)
            return known.get(name, -2) if name else -1

        found = np.fromiter(each(values, place), np.intp, len(values))
        return np.where(found < 0, self.unknown, found), np.maximum(-found, 0).clip(0, 2).astype(np.int8)

    def code(self, cleaned: AnyArray) -> Floats:
        """Return the code of each level, the origin for an unknown one."""
        # Index -1, the unknown value, finds the last row.
        return self._rows.take(cleaned, axis=0)

    @cached_property
    def _rows(self) -> Floats:
        """The codes, and the origin after them."""
        codes = self.codes()
        return np.vstack([codes, np.zeros(codes.shape[1])])


@final
@dataclass(frozen=True)
class Category(Levelled):
    """One of several levels without an order: one output per level, 1/2 where it applies.

    A missing value or an undeclared level is all zeros. These are k + 1 states, so none of the k outputs is
    redundant next to a constant. Where `other` names a level, that level takes in everything undeclared; its
    code is then all zeros, and its output, now redundant, is dropped. `positive` is the level that recall,
    thresholds and curves are about where the column is the target.
    """

    levels: Sequence[Level]
    other: Level | None = None
    positive: Level | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "levels", _unlike(_distinct(self.levels, least=1 if self.other is None else 2)))
        object.__setattr__(self, "other", _member("other", self.other, self.classes))
        object.__setattr__(self, "positive", _member("positive", self.positive, self.classes))

    @property
    def unknown(self) -> int:
        """The index of `other`, or -1."""
        return _index(self.other, self.classes)

    def codes(self) -> Floats:
        """Return half the unit vectors, and zeros for `other`."""
        halves = 0.5 * np.eye(len(self.levels))
        return halves if self.other is None else np.delete(halves, self.unknown, axis=1)

    def outputs(self, name: str) -> tuple[str, ...]:
        """Name the outputs column=level."""
        return tuple(f"{name}={level}" for level in self.classes if level != self.other)


@final
@dataclass(frozen=True)
class Ordinal(Levelled):
    """One of several levels in a meaningful order, evenly spaced from -1 to 1.

    `missing` names the level that stands in for a missing or undeclared one; by default its code is 0. `positive` is
    as for a `Category`.
    """

    levels: Sequence[Level]
    missing: Level | None = None
    positive: Level | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "levels", _unlike(_distinct(self.levels, least=2)))
        object.__setattr__(self, "missing", _member("missing", self.missing, self.classes))
        object.__setattr__(self, "positive", _member("positive", self.positive, self.classes))

    @property
    def unknown(self) -> int:
        """The index of `missing`, or -1."""
        return _index(self.missing, self.classes)

    @property
    def places(self) -> int:
        """One for each level."""
        return len(self.levels)

    def codes(self) -> Floats:
        """Space the levels evenly."""
        return np.linspace(-1.0, 1.0, len(self.levels))[:, None]


@final
@dataclass(frozen=True)
class Flag(Levelled):
    """False or true, mapped to -1/2 and 1/2.

    `false` and `true` are the spellings of each, one or several; true is the positive class. `missing` says which of
    the two stands in for a missing or undeclared value; by default its code is 0.
    """

    false: Level | Sequence[Level] = ("false", "False", "0")
    true: Level | Sequence[Level] = ("true", "True", "1")
    missing: bool | None = None

    def __post_init__(self) -> None:
        false, true = _listed(self.false), _listed(self.true)
        object.__setattr__(self, "false", _distinct(false, least=1))
        object.__setattr__(self, "true", _distinct(true, least=1))
        _distinct([*false, *true], least=2)
        for level in self.spellings[0]:
            for other in self.spellings[1]:
                _unlike((level, other))
        if self.missing is not None and not isinstance(self.missing, bool):
            raise InvalidParameter(f"missing must be True, False or left out, got {self.missing!r}.")

    @property
    def spellings(self) -> tuple[tuple[str, ...], ...]:
        """The spellings of false, then of true."""
        return tuple(tuple(str(level) for level in _listed(spelled)) for spelled in (self.false, self.true))

    @property
    def positive(self) -> str:
        """The first spelling of true."""
        return self.classes[1]

    @property
    def unknown(self) -> int:
        """The index of `missing`, or -1."""
        return -1 if self.missing is None else int(self.missing)

    def codes(self) -> Floats:
        """Return -1/2 and 1/2."""
        return np.array([[-0.5], [0.5]])

    def outputs(self, name: str) -> tuple[str, ...]:
        """Name the one output column=true, with the first spelling of true."""
        return (f"{name}={self.classes[1]}",)


def needed_positive(column: Levelled, name: str | None) -> str:
    """Return the positive class of a target; refuse one that declares none."""
    if column.positive is None:
        raise InvalidParameter(
            f"which class of the target {name!r} is positive is not declared, and this depends on it. Declare "
            f'positive = "..." on the target in the schema, with one of its levels. Nothing was charged.'
        )
    return str(column.positive)


def _listed(levels: Level | Sequence[Level]) -> Sequence[Level]:
    """Take a single level for a list of one."""
    return [levels] if isinstance(levels, Level) else levels


def _distinct(levels: object, least: int) -> tuple[str, ...]:
    """Return declared levels as texts, all different."""
    if not isinstance(levels, Sequence | np.ndarray) or isinstance(levels, str | bytes):
        raise InvalidParameter(f"levels must be a list of texts or numbers, got {shown(levels)}.")
    read = [name for level in levels if (name := text(level)) is not None]
    # A text with half of a pair of surrogates is no text: it can be stored nowhere.
    writable = all(name == name.encode("utf-8", "replace").decode() for name in read)
    if not least <= len(read) == len(levels) == len(set(read)) or not writable or "" in read:
        raise InvalidParameter(
            f"wanted at least {least} levels, texts or numbers and all different, got {shown(list(levels))}. An empty "
            "text is a missing value, not a level."
        )
    _refuse_confused([plain_cell(level) for level in levels])
    return tuple(read)


def _refuse_confused(levels: Sequence[object]) -> None:
    """Refuse numbers that one missing value beside them, which makes floats of a whole column, would make the same."""
    found = [as_float(level) for level in levels if isinstance(level, int | float) and not isinstance(level, bool)]
    if len(set(found)) < len(found):
        raise InvalidParameter(
            "two of the levels are the same number in double precision, so that a table with floats could not tell "
            "them apart. Declare texts, or smaller numbers."
        )


def _unlike(levels: tuple[str, ...]) -> tuple[str, ...]:
    """Refuse levels that only differ in case: one of them is a slip, and would take no record."""
    seen: dict[str, str] = {}
    for level in levels:
        other = seen.setdefault(level.casefold(), level)
        if other != level:
            raise InvalidParameter(
                f"declared levels must differ in more than blanks or case, got {other!r} and {level!r}. Declare the "
                "one that the table uses."
            )
    return levels


def _member(name: str, level: Level | None, levels: tuple[str, ...]) -> str | None:
    """Return the text of a declared level, or None."""
    if level is None or text(level) in levels:
        return text(level)
    raise InvalidParameter(f"{name} must be one of the declared levels {list(levels)!r}, got {level!r}.")


def _index(level: Level | None, levels: tuple[str, ...]) -> int:
    """Return the place of a declared level, -1 for None."""
    return -1 if level is None else levels.index(str(level))
