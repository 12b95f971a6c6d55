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
from tacit.data.file_form import STANDARD, FileForm
from tacit.data.frames import check_lengths, read_table
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
    """The declared columns of a table, in order, which of them is to be predicted, and how its texts are written.

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
    weight: str | None
    form: FileForm
    _columns: dict[str, Column] = field(repr=False, compare=False)
    _features: tuple[str, ...] = field(repr=False, compare=False)

    def __init__(
        self,
        columns: Mapping[str, Column],
        target: str | None = None,
        *,
        weight: str | None = None,
        form: FileForm = STANDARD,
    ) -> None:
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
        heavy = None if weight is None else columns.get(weight)
        is_weight = isinstance(heavy, Number) and heavy.low >= 0 and not heavy.log and heavy.missing is not None
        if weight is not None and (not is_weight or weight == target):
            raise InvalidParameter(
                f"weight must name a column declared as Number(0, the largest weight, missing=0), got {shown(weight)}. "
                "A record counts as its weight over the largest one, and one without a weight as what `missing` says."
            )
        if not isinstance(form, FileForm):
            raise InvalidParameter(f"form must be a FileForm, got {shown(form)}.")
        for name, column in columns.items():
            spelled = [word for words in column.spellings for word in words] if isinstance(column, Levelled) else []
            if confused := [word for word in spelled if word in form.missing]:
                raise InvalidParameter(
                    f"column {name!r} declares the level {confused[0]!r}, which the form of the file declares to mean "
                    "a missing cell. Leave it out of one of the two."
                )
        object.__setattr__(self, "declared", tuple(columns.items()))
        object.__setattr__(self, "_columns", dict(columns))
        object.__setattr__(self, "target", target)
        object.__setattr__(self, "weight", weight)
        object.__setattr__(self, "form", form)
        # Here, as a schema is a parameter of estimators, which no fit may change.
        coded = (name for name in self.inputs if not isinstance(columns[name], Uncoded) and name != weight)
        object.__setattr__(self, "_features", tuple(coded))

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
        columns, target, weight, form = toml.parse(document)
        return cls(columns, target, weight=weight, form=form)

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
        return toml.render(self.columns, self.target, self.weight, self.form)

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
        """The inputs that are coded: neither ignored nor keys, nor the weight."""
        return self._features

    @property
    def largest_weight(self) -> float | None:
        """The largest weight of a record that was declared; None where all weigh alike."""
        return None if self.weight is None else cast("Number", self._columns[self.weight]).high

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
        column = self.columns[self.target]
        cleaned, state = read_table(table, [], [self.target])[self.target].cleaned(column, self.form)
        check_lengths([cleaned])
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
