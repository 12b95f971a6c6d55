"""Whom a guarantee is for: one record, or one person, who may own several records."""

from typing import Literal

from tacit.errors import InvalidParameter

Unit = Literal["record", "person"]

NEIGHBOURS: dict[Unit, str] = {"record": "replace-one neighbours", "person": "replace-one person neighbours"}
"""How neighbours differ: in one record, or in all the records of one person, who keeps their id."""

PUBLIC: dict[Unit, str] = {"record": "n", "person": "who is in the table and how many persons that are"}
"""What is public about the size of a table: how many rows a person has is not."""


def checked_unit(unit: object) -> Unit:
    """Return the unit; refuse anything else."""
    if isinstance(unit, str):
        if unit == "record":
            return "record"
        if unit == "person":
            return "person"
    raise InvalidParameter(f'unit must be "record" or "person": whom the promise is for, got {unit!r}.')
