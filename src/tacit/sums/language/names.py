"""What a query's function is called with: names that stand for the declared columns."""

from collections.abc import Mapping
from typing import final

from tacit.data.columns import SMALLEST, Column, Moment, Number, day_number
from tacit.data.levels import Flag, Levelled, Ordinal
from tacit.data.stored import nearest_name
from tacit.errors import InvalidParameter
from tacit.sums.language.expression import Expression


@final
class Names:
    """`t.age` or `t["age"]` stands for a declared column; there is nothing else."""

    def __init__(self, columns: Mapping[str, Column]) -> None:
        self._columns = dict(columns)
        self._known: dict[str, Expression] = {}

    def __getitem__(self, name: str) -> Expression:
        """Return what stands for a column: the same object each time."""
        # A text of somebody's own may print itself, or be equal, as it likes.
        plain = str.__str__(name) if issubclass(type(name), str) else None
        if plain is None or plain not in self._columns:
            near = None if plain is None else nearest_name(plain, self._columns)
            shown = ", ".join(list(self._columns)[:20]) + (", ..." if len(self._columns) > 20 else "")
            raise InvalidParameter(
                f"there is no declared column {name!r}"
                + (f"; did you mean {near!r}?" if near else "; the records have ")
                + ("" if near else f"{shown}.")
            )
        return self._known.setdefault(plain, stands_for(plain, self._columns[plain]))

    def __getattr__(self, name: str) -> Expression:
        """Return what stands for a column."""
        if name.startswith("__"):
            raise AttributeError(name)
        return self[name]

    @property
    def columns(self) -> tuple[str, ...]:
        """The names of the columns."""
        return tuple(self._columns)


def stands_for(name: str, column: Column) -> Expression:
    """Return the expression for a column, with the range that its declaration gives it."""
    if isinstance(column, Number):
        return Expression("column", (name,), "number", column.low, column.high, SMALLEST)
    if isinstance(column, Moment):
        low, high = day_number(column.low), day_number(column.high)
        return Expression("column", (name,), "number", low, high, SMALLEST, is_moment=True)
    assert isinstance(column, Levelled)
    return Expression(
        "column",
        (name,),
        "level",
        levels=column.spellings,
        is_ordered=isinstance(column, Ordinal),
        is_flag=isinstance(column, Flag),
    )
