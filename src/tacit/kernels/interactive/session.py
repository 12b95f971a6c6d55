"""One conversation with a predictor: the same point gets the same answer, in every copy and after every restart."""

from dataclasses import dataclass
from typing import Any, final

import numpy as np

from tacit.kernels.interactive.answerers import PinpTeller, ProcessTeller, Secret, Teller, decoded, encoded
from tacit.kernels.interactive.memory import Entry, Memory, ProcessMemory, Turn
from tacit.kernels.interactive.pinp import Pinp
from tacit.kernels.kernel.domain import Domain
from tacit.kernels.kernel.kernel import size_of
from tacit.mechanisms.process import GaussianProcess
from tacit.numerics.arrays import Floats


@final
@dataclass(frozen=True, eq=False)
class Answers:
    """Values with their error bars, one for each point asked about.

    `standard_deviation` is that of the noise (not a number for PINP, whose noise has no one law). `error` is what the
    answer's distance to the exact model stays below: for a Gaussian process in 95 of 100 cases each, for PINP for all
    answers together with the probability asked for. Where `guaranteed` is False no noise was left to draw: the value
    follows from earlier answers and `error` is what is known of it.
    """

    values: Floats
    standard_deviation: Floats
    error: Floats
    guaranteed: Floats

    def __len__(self) -> int:
        return len(self.values)


@final
class _Told:
    """What one copy has taken over from the memory, in order."""

    def __init__(self, teller: Teller) -> None:
        self.teller = teller
        self.count = 0
        self._known: dict[bytes, Floats] = {}

    def adopt(self, entry: Entry) -> None:
        """Take over one answer."""
        numbers = np.frombuffer(entry.numbers, dtype=np.float64)
        self.teller.adopt(decoded(entry.point), numbers)
        self._known[entry.point] = numbers
        self.count += 1

    def tell(self, asked: dict[bytes, Any]) -> list[Entry]:
        """Draw answers for points that have none, and adopt them; return what must be kept before they are given."""
        waiting = [key for key in asked if key not in self._known]
        drawn: list[Entry] = []
        while waiting and self.teller.room > 0:
            told = self.teller.tell(np.array([asked[key] for key in waiting]))
            entries = [Entry(key, numbers.tobytes()) for key, numbers in zip(waiting, told, strict=False)]
            for entry in entries:
                self.adopt(entry)
            drawn += entries
            waiting = waiting[len(entries) :]
        return drawn

    def answers(self, keys: list[bytes], points: Any) -> Answers:
        """Repeat what is known, and extrapolate to the rest."""
        values, deviation, error = (np.empty(size_of(points)) for _ in range(3))
        known = np.array([key in self._known for key in keys])
        values[known] = [self._known[key][0] for key in keys if key in self._known]
        for place, chosen in ((True, np.flatnonzero(known)), (False, np.flatnonzero(~known))):
            if not len(chosen):
                continue
            if place:
                deviation[chosen], error[chosen] = self.teller.bars(points[chosen])
            else:
                values[chosen], error[chosen] = self.teller.public(points[chosen])
                deviation[chosen] = np.nan
        return Answers(values, deviation, error, known)


@final
class Session:
    """Answers points through a memory that all copies share."""

    def __init__(
        self, domain: Domain, law: GaussianProcess | Pinp, secret: Secret, mark: str, size: float, memory: Memory
    ) -> None:
        self._parts = (domain, law, secret, mark, size, memory)
        self._memory = memory
        self._kind = ProcessTeller if isinstance(law, GaussianProcess) else PinpTeller
        self._told: _Told | None = None

    def __deepcopy__(self, _: dict[int, Any]) -> "Session":
        return self

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle without the secret, and without the noise that hides it, unless a file keeps copies together."""
        domain, law, secret, mark, size, memory = self._parts
        if isinstance(memory, ProcessMemory):
            secret, memory = None, memory.sealed(self._public)
        return Session, (domain, law, secret, mark, size, memory)

    def _public(self, entry: Entry) -> Entry:
        numbers = np.frombuffer(entry.numbers, dtype=np.float64)
        return Entry(entry.point, self._kind.public_part(numbers).tobytes())

    @property
    def law(self) -> GaussianProcess | Pinp:
        """How noise is drawn."""
        return self._parts[1]

    @property
    def draws(self) -> bool:
        """Whether this copy can draw new answers."""
        return self._parts[2] is not None and self._memory.writable

    @property
    def teller(self) -> Teller:
        """Who answers, after all answers that were given up to now."""
        with self._memory.turn() as turn:
            self._told = told = self._taken(turn)
        return told.teller

    def ask(self, points: Any) -> Answers:
        """Answer clipped points, one a row."""
        keys = [encoded(point) for point in points]
        points = np.array([decoded(key) for key in keys])
        with self._memory.turn() as turn:
            told = self._taken(turn)
            drawn = told.tell(dict(zip(keys, points, strict=True))) if self.draws else []
            answers = told.answers(keys, points)
            if drawn:
                turn.keep(drawn)
            self._told = told
        return answers

    def _taken(self, turn: Turn) -> _Told:
        """Take what was told out of the session, up to date.

        It is put back when all of it is kept for good. Whoever finds nothing, after an error or in a child forked
        meanwhile, starts again from the memory: what was drawn but not kept was never seen.
        """
        told, self._told = self._told, None
        if told is None:
            domain, law, secret, mark, size, _ = self._parts
            told = _Told(self._kind(domain, law, secret, mark, size))  # type: ignore[arg-type]
        for entry in turn.since(told.count):
            told.adopt(entry)
        return told
