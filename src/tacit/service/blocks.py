"""Blocks of growing data: records whose moment lies in a declared range, each block with an account of its own.

Blocks of one series do not overlap, so that a record is in one of them at most: what is spent on them composes in
parallel. That holds if a record's moment belongs to it for good, as when it was written down: the custodian signs for
it, as for a key.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Self, final

import numpy as np

from tacit.data.columns import Moment, day_number
from tacit.data.records import Records
from tacit.data.schema import Schema
from tacit.errors import InvalidParameter
from tacit.secret import open_secret


@final
@dataclass(frozen=True)
class TimeBlock:
    """The records of a series whose moment lies from `low` on and before `high`."""

    series: str
    column: str
    low: str
    high: str

    @classmethod
    def declared(cls, plain: Mapping[str, Any], schema: Schema) -> Self:
        """Read what was declared; the column must be a Moment with just the block's ends."""
        column = plain["column"]
        if not isinstance(schema.columns.get(column), Moment):
            raise InvalidParameter(f"a block is cut by a column that the schema declares as a Moment, got {column!r}.")
        # As a Moment the ends are checked, and written in one way.
        ends = Moment(plain["low"], plain["high"])
        return cls(plain["series"], column, str(ends.low), str(ends.high))

    def check_apart(self, others: Mapping[str, Mapping[str, Any]], sees: Callable[[str], bool]) -> None:
        """Refuse a range that another block of the series has a moment of; say which only of data sets that one sees.

        `others` are the blocks of other data sets, by their names.
        """
        low, high = Moment(self.low, self.high).ends
        for name, other in others.items():
            start, end = Moment(other["low"], other["high"]).ends
            if other["series"] == self.series and (other["column"] != self.column or (low < end and start < high)):
                which = f"a block from {other['low']} to {other['high']} by {other['column']!r}"
                raise InvalidParameter(
                    f"the series {self.series!r} has {which if sees(name) else 'such a block of somebody else'}: "
                    "blocks are of one column, and must not overlap."
                )

    def check_records(self, records: Records) -> None:
        """Refuse a table with a record that is not in the block; which, and how many, is not told.

        Compared are cleaned cells, as all blocks have them: one is in a single block, even where days round. A moment
        that is missing, or beyond the bounds of its column, may lie anywhere.
        """
        view, (low, high) = open_secret(records.secret), (day_number(end) for end in (self.low, self.high))
        days = view.column(self.column)
        if np.any(view.mismatches((self.column,))) or np.any((days < low) | (days >= high)):
            raise InvalidParameter(
                f"some records have no {self.column!r} from {self.low} on and before {self.high}, or one that the "
                "schema does not expect. Register just the records of the block."
            )
