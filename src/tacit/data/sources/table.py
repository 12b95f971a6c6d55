"""What every source of records is: stored types, a number of records, cleaned blocks, and a name for good."""

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping

from tacit.data.columns import Column
from tacit.data.parts import Slice
from tacit.data.stored import Stored
from tacit.data.values import AnyArray
from tacit.numerics.arrays import Floats

Block = Mapping[str, AnyArray]
"""Some records, cleaned: an array for each column, all of the same length."""

BLOCK = 65_536
"""How many records a block has at most."""


STEPS = 2**20
"""Into how many steps one person is cut: the steps of less than 2^33 persons are added up exactly."""


class Table(ABC):
    """Records somewhere, behind the cleaning step: nothing but declared columns can be named.

    Whatever can fail because of a value fails in the constructor, before any budget; afterwards only the machine can
    fail, or a table that is no longer what was opened.
    """

    n: int
    """The number of records: public."""
    stored: Mapping[str, Stored]
    """What the catalogue says of every column, declared or not: public."""
    columns: Mapping[str, Column]
    """The declared columns."""
    identity: str
    """A text that names these records, in this order, and no others."""
    tells_mismatches: bool = True
    """Whether it is known how cells fared when they were cleaned."""
    read_ahead: bool = False
    """Whether a thread of its own may read it, as nobody waits for another machine's answer when it is interrupted."""
    ordered: bool
    """Whether records have a place that no value decides, so that parts can be fixed by index."""

    @property
    def steady(self) -> bool:
        """Whether two readings find the records in the same order."""
        return self.ordered

    @abstractmethod
    def blocks(self, names: tuple[str, ...], part: Slice | None, key: str | None) -> Iterator[Block]:
        """Yield the cleaned cells of some columns, a block at a time, in an order that is always the same."""

    @abstractmethod
    def mismatches(self, part: Slice | None, key: str | None, unit: str | None = None) -> Floats:
        """Count, for each declared column, the cells that were missing and those beyond its declaration.

        With a `unit` persons are counted: each as the share of their rows, rounded down to a whole number of `STEPS`.
        """

    @abstractmethod
    def size(self, part: Slice | None, key: str | None) -> int:
        """Return how many records a part has."""

    def check(self) -> None:
        """Refuse a table that is no longer what was opened, as far as that can be told without reading it."""
        return
