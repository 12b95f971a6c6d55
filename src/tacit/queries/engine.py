"""What an engine is: the only part that reads records, and all it gives away are sums over all of them."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Literal, final

import numpy as np
from numpy.typing import NDArray

from tacit.errors import InvalidParameter
from tacit.queries.query import Query

__all__ = ["Engine", "Part", "Prepared", "columns_of", "steps_for", "text_of"]


@final
@dataclass(frozen=True)
class Part:
    """One of `count` disjoint parts of the records, fixed by index or by key."""

    number: int
    count: int


@final
@dataclass(frozen=True)
class Prepared:
    """A query whose function was called, and found to be total, before any record was touched.

    `columns` is what an engine made of the function and `levels` what it made of the query's levels; `text` says the
    question in words that are the same whenever the question is the same, or is None if that cannot be told.
    """

    query: Query
    columns: tuple[Any, ...]
    text: str | None
    levels: tuple[tuple[Any, ...], ...] = ()


class Engine(ABC):
    """Records somewhere, and a way to add up what they contribute.

    Every contribution is a whole number of steps, so sums are exact and the same in every engine and order.
    """

    n: int
    """The number of records: public."""
    names: tuple[str, ...]
    """The names of the columns: public."""
    label: str | None
    """The column that random classification noise is about."""
    labels: tuple[Any, Any]
    """The two labels that this noise exchanges."""
    identity: str | None
    """A text that names these records and no others, or None."""
    fixed_by: Literal["index", "key"] | None
    """What fixes the part that a record belongs to, or None if the records cannot be split."""

    @property
    def split_name(self) -> str:
        """A text that is the same only if every record is in the same part as before."""
        return f"{self.identity} by index"

    @abstractmethod
    def prepare(self, query: Query) -> Prepared:
        """Call the query's function and refuse what is not total, or not about one record; touch no record."""

    @abstractmethod
    def sums(
        self, queries: Sequence[Prepared], *, flipped: bool = False, part: Part | None = None
    ) -> list[NDArray[np.float64]]:
        """Return each query's sums over the records (of one part), in shares; `flipped` exchanges the labels."""

    @abstractmethod
    def part_size(self, part: Part) -> int:
        """Return how many records a part has: public, as the parts are fixed by index or by a public key."""


def steps_for(n: int) -> float:
    """Return how many steps a share has: a power of two that leaves room for an exact sum of n shares in a float."""
    return 2.0 ** max(8, min(40, 52 - n.bit_length()))


def columns_of(query: Query, call: Callable[[Any], Any]) -> tuple[Any, ...]:
    """Return what the query's function gives, as many columns as the query needs; `call` calls it."""
    function = getattr(query, "function", None)
    if function is None:
        return ()
    levels = getattr(query, "levels", None)
    wanted = len(levels[0]) if levels else 1
    try:
        given = call(function)
    except InvalidParameter:
        raise
    except Exception as error:
        raise InvalidParameter(
            f"the query's function failed ({type(error).__name__}: {error}). It is called once, with names that stand "
            "for columns, and no record was touched: it must say what to compute from one record by comparisons, &, "
            "|, ~, arithmetic and the methods of columns."
        ) from error
    columns = tuple(given) if isinstance(given, list | tuple) else (given,)
    if len(columns) != wanted:
        raise InvalidParameter(f"the query's function must give {wanted} column(s), got {len(columns)}.")
    return columns


def text_of(query: Query, columns: Sequence[str | None]) -> str | None:
    """Say the whole question, or None if one of the columns cannot be put into words."""
    if any(column is None for column in columns):
        return None
    facts = [f"{field}={getattr(query, field)!r}" for field in vars(query) if field != "function"]
    return repr([type(query).__name__, [str(column) for column in columns], facts])
