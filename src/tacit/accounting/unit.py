"""Whom a guarantee is for: one record, or one person, who may own several records and whose id is in a column."""

from dataclasses import dataclass
from typing import Literal, final

from tacit.errors import InvalidParameter

Kind = Literal["record", "person"]

NEIGHBOURS: dict[Kind, str] = {"record": "replace-one neighbours", "person": "replace-one person neighbours"}
"""How neighbours differ: in one record, or in all the records of one person, who keeps their id."""

PUBLIC: dict[Kind, str] = {"record": "n", "person": "who is in the table and how many persons that are"}
"""What is public about the size of a table: how many rows a person has is not."""


@final
@dataclass(frozen=True)
class Unit:
    """One record, or, with the name of a column of ids, one person: all rows with one id in that column.

    The rows of one patient are not those of one visit: what is private for the one says nothing about the other. An
    account may name several columns, all of the same persons' ids, or none yet.
    """

    ids: tuple[str, ...] | None = None

    @classmethod
    def persons(cls, *ids: str) -> "Unit":
        """Return persons by the name of the column of their ids."""
        return cls(ids)

    @property
    def kind(self) -> Kind:
        """Whether this is a record or a person."""
        return "record" if self.ids is None else "person"

    @property
    def neighbours(self) -> str:
        """How neighbours differ, and which column says whose rows are whose."""
        return NEIGHBOURS[self.kind] + self._by

    def __str__(self) -> str:
        return self.kind + self._by

    @property
    def _by(self) -> str:
        return f" by {' or '.join(map(repr, self.ids))}" if self.ids else ""


RECORD = Unit()
GROUPS = Unit.persons("groups")
"""Persons whose ids stand beside an array, which names no columns; a Series brings its own name."""


def checked_unit(unit: object) -> Unit:
    """Return the unit; persons that are only called so are those of `groups`. Refuse anything else."""
    if isinstance(unit, Unit) and (unit.ids is None or len(unit.ids) == 1):
        return unit
    return GROUPS if checked_kind(unit) == "person" else RECORD


def checked_kind(unit: object) -> Kind:
    """Return what kind of unit this is; refuse what is none."""
    if isinstance(unit, str) and unit in NEIGHBOURS:
        return unit
    raise InvalidParameter(f'unit must be "record" or "person": whom the promise is for, got {unit!r}.')


def refuse_other_unit(account: str, own: Unit, whom: Unit) -> None:
    """Refuse records for persons, persons for records, and persons by another column of ids than the account's own."""
    if whom.kind != own.kind and own.kind == "person":
        advice = 'Give Records(..., unit="the column of ids"), fit(X, y, groups=ids), or commands --unit COLUMN.'
    elif whom.kind != own.kind:
        advice = 'Open a ledger for persons: Ledger.create(..., unit="person"), or ledger create --unit person.'
    elif whom.ids and own.ids and whom.ids[0] not in own.ids:
        advice = (
            "If these are the same persons, call the column of ids the same (a Series beside an array has a name, too),"
            " or name all such columns when an account is created: Ledger.create(..., ids=[...]), or ledger create "
            "--ids NAME --ids NAME."
        )
    else:
        return
    raise InvalidParameter(
        f"account {account!r} promises for each {own}, and what was asked is private for each {whom}. Nothing was "
        f"charged. {advice}"
    )
