"""Tickets: which charge belongs to which act, so that an act that is taken up again after a crash is charged once.

The k-th charge of an act is found again by the act's name and k. What runs under one ticket in one process counts its
charges together; a copy in another process would count them again, and two draws would share a charge: so there a
ticket has another name, and everything is charged anew.
"""

import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, final

from tacit.errors import BudgetExceeded
from tacit.noise import unique_name
from tacit.numerics.process import this_process

if TYPE_CHECKING:
    from tacit.accounting.history import Entry

Place = tuple[str, int]
"""A ticket's name, and which of its charges: the first is 1."""
END = 10**9
"""The place of an act's end: no act has so many charges."""


@final
class Ticket:
    """The name of an act and how many of its charges were made; threads and copies in this process share the count."""

    def __init__(self, name: str) -> None:
        self._name, self._process = name, this_process()
        self._turn = threading.Lock()
        self._taken = 0
        self.entries: tuple[Entry, ...] = ()

    @property
    def name(self) -> str:
        """The name: in another process than that which made the ticket, one that nobody else has."""
        if this_process() != self._process:
            self.__init__(f"{self._name}/{unique_name()}")
        return self._name

    @property
    def next(self) -> Place:
        """The place of the next charge."""
        return self.name, self._taken + 1

    @contextmanager
    def place(self) -> Iterator[Place]:
        """Give the place of the next charge; it is taken by a charge and by its refusal, and not by a failure."""
        # In another process the name is made anew, and the turn with it, which a thread may have held at the fork.
        name = self.name
        with self._turn:
            try:
                yield name, self._taken + 1
            except BudgetExceeded:
                self._taken += 1
                raise
            self._taken += 1

    def pass_over(self) -> None:
        """Take the place of a charge that an answer paid for before made needless: what follows keeps its own place."""
        with self.place():
            pass

    def done(self, entry: "Entry") -> None:
        """Note that a charge was made, or was found."""
        self.entries = (*self.entries, entry)

    def __copy__(self) -> "Ticket":
        return self

    def __deepcopy__(self, memo: Any) -> "Ticket":
        return self

    def __reduce__(self) -> Any:
        return _elsewhere, (self._name,)


def _elsewhere(name: str) -> Ticket:
    return Ticket(f"{name}/{unique_name()}")


@final
@dataclass(frozen=True)
class Places:
    """Which entry stands at which place: a mapping that grows, in lots that are merged when they are of like size.

    Adding to it leaves the shorter one as it was, and n additions copy each item at most log2(n) times.
    """

    lots: tuple[Mapping[Place, tuple[int, str]], ...] = ()

    def find(self, place: Place) -> tuple[int, str] | None:
        """Return the number and the hash of the entry at a place, if there is one."""
        return next((lot[place] for lot in reversed(self.lots) if place in lot), None)

    def with_more(self, more: Mapping[Place, tuple[int, str]]) -> "Places":
        """Return the mapping with more places."""
        if not more:
            return self
        lots = [*self.lots, more]
        while len(lots) > 1 and len(lots[-2]) <= 2 * len(lots[-1]):
            last = lots.pop()
            lots[-1] = {**lots[-1], **last}
        return Places(tuple(lots))
