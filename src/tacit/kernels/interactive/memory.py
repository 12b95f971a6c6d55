"""What was asked and answered, kept so that no copy of a predictor can answer the same question with other noise.

A predictor that answers on demand draws noise after it was charged. Two copies that went on by themselves, after a
pickle, a fork or a restart, would each draw, and a reader of both would learn twice as much. So all copies share one
memory: a file, or the memory of one process, and whoever has lost it can repeat and extrapolate but not draw.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, final

from tacit.errors import InvalidParameter, LedgerCorrupt
from tacit.kernels.interactive.door import Door


@final
@dataclass(frozen=True)
class Entry:
    """One point, and the numbers that its answer left behind, both as bytes."""

    point: bytes
    numbers: bytes


class Turn(ABC):
    """The right to answer, held by one copy at a time."""

    @abstractmethod
    def since(self, place: int) -> list[Entry]:
        """Return what was answered from this place on."""

    @abstractmethod
    def keep(self, entries: list[Entry]) -> None:
        """Keep new answers for good, all or none; this is the last act of a turn."""


class Memory(ABC):
    """All answers so far, in order."""

    @property
    @abstractmethod
    def writable(self) -> bool:
        """Whether new answers may be drawn here."""

    @abstractmethod
    def turn(self) -> Any:
        """Take a turn (a context manager); a turn within a turn is refused."""


@final
class _ListTurn(Turn):
    def __init__(self, memory: Memory, entries: list[Entry]) -> None:
        self._memory, self._entries = memory, entries

    def since(self, place: int) -> list[Entry]:
        """Return the rest of the list."""
        if place > len(self._entries):
            raise LedgerCorrupt("the memory holds fewer answers than were given from it. Fit again.")
        return self._entries[place:]

    def keep(self, entries: list[Entry]) -> None:
        """Add to the list; refused in a child that was forked in the middle of the turn."""
        if not self._memory.writable:
            raise InvalidParameter("new answers are not drawn in a copy, or a fork, of the process that fitted.")
        self._entries += entries


@final
class ProcessMemory(Memory):
    """Memory of this process: threads and copies share it, a fork may only read it."""

    def __init__(self) -> None:
        self._entries: list[Entry] = []
        self._door = Door()

    @property
    def writable(self) -> bool:
        """In the process where it was made."""
        return self._door.ours

    @contextmanager
    def turn(self) -> Iterator[Turn]:
        """Take a turn among threads; a fork, where nothing is added any more, needs none."""
        if not self.writable:
            yield _ListTurn(self, self._entries)
            return
        with self._door.passed():
            yield _ListTurn(self, self._entries)

    def __deepcopy__(self, _: dict[int, Any]) -> "ProcessMemory":
        return self

    def __reduce__(self) -> tuple[Any, ...]:
        raise InvalidParameter("what was answered is pickled with its predictor, not by itself.")

    def sealed(self, public: Callable[[Entry], Entry]) -> "SealedMemory":
        """Return a copy that cannot draw, each entry reduced to what is public of it."""
        return SealedMemory(tuple(public(entry) for entry in self._entries.copy()))


@final
@dataclass(frozen=True)
class SealedMemory(Memory):
    """What was answered up to a pickle; nothing new can be drawn from it."""

    entries: tuple[Entry, ...]

    @property
    def writable(self) -> bool:
        """Never."""
        return False

    @contextmanager
    def turn(self) -> Iterator[Turn]:
        """Read."""
        yield _ListTurn(self, list(self.entries))
