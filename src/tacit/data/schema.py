"""A schema: everything that may be known about a table without looking at its records."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Self, cast, final

import numpy as np

from tacit.checks import shown
from tacit.data import toml
from tacit.data.columns import Column, Number, Uncoded
from tacit.data.frames import read_columns
from tacit.data.levels import Levelled
from tacit.data.values import AnyArray
from tacit.errors import InvalidParameter
from tacit.notebook import card

if TYPE_CHECKING:
    from tacit.data.records import Records

_LONGEST_NAME = 10_000


@final
@dataclass(frozen=True, init=False)
class Schema:
    """The declared columns of a table, in order, and which of them is to be predicted.

    A schema comes from a codebook, a form or common sense, never from the records it will be used on: what is
    read off private records (a largest value, the levels that occur) is a release that nobody paid for. The
    names of the columns and all that is declared are public.

        schema = Schema(
            {"age": Number(0, 120), "smoker": Flag(), "ward": Category(["A", "B"]), "ill": Flag()},
            target="ill",
        )
    """

    declared: tuple[tuple[str, Column], ...]
    target: str | None
    _columns: dict[str, Column] = field(repr=False, compare=False)

    def __init__(self, columns: Mapping[str, Column], target: str | None = None) -> None:
        if not isinstance(columns, Mapping) or not columns:
            raise InvalidParameter("a Schema needs a mapping from the names of columns to their declarations.")
        for name, column in columns.items():
            if not _is_name(name):
                raise InvalidParameter(
                    f"the name of a column is a text of at most {_LONGEST_NAME:,} letters that UTF-8 can spell, got "
                    f"{shown(name)}."
                )
            if type(column) not in toml.KINDS.values():
                raise InvalidParameter(
                    "a Schema maps names to Number, Category, Ordinal, Flag, Moment, Key or Ignored, got "
                    f"{shown(name)}: {shown(column)}."
                )
        if target is not None and (target not in columns or isinstance(columns[target], Uncoded)):
            raise InvalidParameter(
                f"target must name a declared column that is not ignored, got {target!r}. "
                "Declare its classes as a Category or Flag, or its range as a Number."
            )
        object.__setattr__(self, "declared", tuple(columns.items()))
        object.__setattr__(self, "_columns", dict(columns))
        object.__setattr__(self, "target", target)

    @classmethod
    def load(cls, path: str | Path) -> Self:
        """Read a schema from a TOML file."""
        try:
            return cls.from_toml(Path(path).read_text("utf-8"))
        except (OSError, UnicodeDecodeError):
            raise InvalidParameter(
                f"there is no schema that can be read at {str(path)!r}. Schema.draft(source), or `tacit schema draft`, "
                "begins one."
            ) from None

    @classmethod
    def from_toml(cls, document: str) -> Self:
        """Read a schema from TOML."""
        columns, target = toml.parse(document)
        return cls(columns, target)

    @staticmethod
    def draft(source: object) -> str:
        """Begin a schema: TOML with the columns' names and stored types, for a person to complete from the codebook.

        What is looked at is the catalogue: names and types, never a value. Every bound and level is left open, as a
        comment that says what to fill in; until then `Schema.load` refuses the file and says which column is next.
        """
        from tacit.data.drafts import draft

        return draft(source)

    def twin(self, n: int, seed: int = 0, *, signal: float = 3.0, key: str | None = None) -> "Records":
        """Return n made-up records that follow the schema and nothing else, the same ones for the same seed.

        They are records like any others, marked as made up: whatever is released about them is a rehearsal, marked as
        not private and never charged, whoever's ledger is named. The target follows a made-up rule of the other
        columns; `signal` says how closely, 0 not at all.
        """
        from tacit.data.twins import made_up

        return made_up(self, n, seed, signal, key).marked_as_twin(int(seed))

    def _repr_html_(self) -> str:
        rows = [(name, *str(column).split("(", 1)) for name, column in self.declared]
        shown = [(name, kind, *(text.removesuffix(")") for text in rest)) for name, kind, *rest in rows]
        return card("Schema", {"target": self.target or "none"}, ("column", "kind", "declared"), shown)

    def to_toml(self) -> str:
        """Write the schema; `from_toml` reads it back exactly."""
        return toml.render(self.columns, self.target)

    @property
    def columns(self) -> Mapping[str, Column]:
        """The declarations by name, in order, the target's included."""
        return MappingProxyType(self._columns)

    @property
    def inputs(self) -> tuple[str, ...]:
        """All columns but the target: what the columns of an array without names stand for, in order."""
        return tuple(name for name, _ in self.declared if name != self.target)

    @property
    def features(self) -> tuple[str, ...]:
        """The inputs that are coded: neither ignored nor keys."""
        columns = self.columns
        return tuple(name for name in self.inputs if not isinstance(columns[name], Uncoded))

    @property
    def target_column(self) -> Column | None:
        """What is declared about the target."""
        return None if self.target is None else self._columns[self.target]

    @property
    def classes(self) -> tuple[str, ...]:
        """The declared classes of the target; none when it is a Number or not declared."""
        return self.target_column.classes if isinstance(self.target_column, Levelled) else ()

    @property
    def positive(self) -> str | None:
        """The declared positive class of the target, which scores are about: a Flag's `true`, or `positive`."""
        return None if not isinstance(self.target_column, Levelled) else cast("str | None", self.target_column.positive)

    @property
    def target_range(self) -> tuple[float, float] | None:
        """The declared bounds of the target; None when it is no Number."""
        column = self.target_column
        return (column.low, column.high) if isinstance(column, Number) else None

    def labels(self, table: object) -> AnyArray:
        """Return the target of every record: the name of its class, or a number clamped to its bounds.

        An unknown or missing label becomes the one declared for it (`other`, `missing`); without such a
        declaration the whole table is refused.
        """
        if self.target is None:
            raise InvalidParameter("this schema declares no target. Name it: Schema(columns, target=...).")
        (values,) = read_columns(table, wanted=[self.target], order=[])
        column = self.columns[self.target]
        cleaned, state = column.clean(values)
        if isinstance(column, Levelled):
            labels: AnyArray = np.array(column.classes)[cleaned]
            known = not (cleaned < 0).any()
        else:
            labels, known = cleaned, getattr(column, "missing", None) is not None or not (state == 1).any()
        if not known:
            raise InvalidParameter(
                f"the target {self.target!r} has missing or undeclared values. Declare what they count as "
                "(`missing` of a Number, Ordinal or Flag, `other` of a Category), or remove these records by a "
                "rule that is part of how the table is defined."
            )
        return labels


def _is_name(name: object) -> bool:
    """Whether this names a column in every file that schemas, releases and models are written to."""
    known = isinstance(name, str) and 0 < len(name) <= _LONGEST_NAME
    return known and not any("\ud800" <= letter <= "\udfff" for letter in str(name))
