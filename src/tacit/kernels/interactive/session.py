"""One conversation with a predictor: the same point gets the same answer, in every copy and after every restart.

The way of an answer: the predictor clips the points and asks its `AnswerSession`. In a turn of the memory that all
copies share, an `Answerer` takes over what was answered before and draws what is new from its path, which draws the
noise; the memory keeps it for good, and then it is returned.
"""

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass, field
from typing import Any, final

import numpy as np
from scipy.special import ndtri

from tacit.kernels.interactive.memory import KeptAnswer, ProcessMemory
from tacit.kernels.interactive.pinp import Pinp, PinpPath
from tacit.kernels.interactive.state_file import FileMemory, FileTurn
from tacit.kernels.kernel.domain import Domain
from tacit.mechanisms.process import Drawn, GaussianProcess, SamplePath, Secret
from tacit.numerics.arrays import Floats

USUAL = float(ndtri(0.975))


@final
@dataclass(frozen=True, eq=False)
class PointAnswers:
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


@dataclass(eq=False, repr=False)
class Answerer(ABC):
    """All answers that one copy knows, in order, and the path that new ones are drawn from."""

    domain: Domain
    path: Any
    size: float
    count: int = 0
    known: dict[bytes, Floats] = field(default_factory=dict)
    points: list[Floats] = field(default_factory=list)

    @property
    @abstractmethod
    def room(self) -> float:
        """How many more points can be answered with a guarantee."""

    @abstractmethod
    def drawn(self, points: Floats) -> list[Floats]:
        """Answer the first of these new points and as many more as is convenient; return what each leaves behind.

        The first number is the answer itself. Nothing is refused because of records or of noise.
        """

    @abstractmethod
    def take_over(self, point: Floats, left_behind: Floats) -> None:
        """Let the path go on from an answer."""

    def public_part(self, left_behind: Floats) -> Floats:
        """Return what an answer leaves behind without what is secret: all, unless noise is a part of it."""
        return left_behind

    @abstractmethod
    def bars(self, points: Floats) -> tuple[Floats, Floats]:
        """Return the standard deviation and the error bound of answers at points."""

    @abstractmethod
    def public(self, points: Floats) -> tuple[Floats, Floats]:
        """Return what past answers say about points, and the root mean square of the error to expect."""

    def adopt(self, answer: KeptAnswer) -> None:
        """Take over an answer that this copy, or another, has drawn."""
        numbers = np.frombuffer(answer.numbers)
        self.take_over(np.frombuffer(answer.point), numbers)
        self.known[answer.point] = numbers
        self.count += 1

    def draw(self, asked: dict[bytes, Floats]) -> list[KeptAnswer]:
        """Draw answers for points that have none, and adopt them; return what must be kept before they are given."""
        waiting = [key for key in asked if key not in self.known]
        new: list[KeptAnswer] = []
        while waiting and self.room > 0:
            left_behind = self.drawn(np.array([asked[key] for key in waiting]))
            some = [KeptAnswer(key, numbers.tobytes()) for key, numbers in zip(waiting, left_behind, strict=False)]
            for answer in some:
                self.adopt(answer)
            new += some
            waiting = waiting[len(some) :]
        return new

    def answers(self, keys: list[bytes], points: Floats) -> PointAnswers:
        """Repeat what is known, and extrapolate to the rest."""
        values, deviation, error = (np.full(len(points), np.nan) for _ in range(3))
        known = np.array([key in self.known for key in keys])
        if np.any(known):
            values[known] = [self.known[key][0] for key in keys if key in self.known]
            deviation[known], error[known] = self.bars(points[known])
        for place in np.flatnonzero(~known):
            # One by one, so that what is said of a point does not depend, in its last bits, on what else is asked.
            values[place : place + 1], error[place : place + 1] = self.public(points[place : place + 1])
        return PointAnswers(values, deviation, error, known)


@final
class ProcessAnswerer(Answerer):
    """A Gaussian process: every answer is fresh until there are too many points."""

    path: SamplePath

    @property
    def room(self) -> float:
        """What is left of the largest number of points."""
        return self.path.law.most - len(self.path)

    def drawn(self, points: Floats) -> list[Floats]:
        """Draw answers for up to 256 points at once."""
        part = points[: int(min(256, self.room))]
        kernel = self.domain.kernel
        cross = kernel.public_block(part, np.array(self.points)) if self.points else np.zeros((len(part), 0))
        drawn = self.path.draw(part, cross, kernel.public_block(part, part))
        return [np.concatenate([[each.answer, each.normal], each.row]) for each in drawn]

    def take_over(self, point: Floats, left_behind: Floats) -> None:
        """Take over the row and the normal number."""
        self.path.adopt(Drawn(left_behind[2:], float(left_behind[1]), float(left_behind[0])))
        self.points.append(point)

    def public_part(self, left_behind: Floats) -> Floats:
        """The normal number is the noise: with it anyone could take the noise off the answer."""
        public = left_behind.copy()
        public[1] = 0.0
        return public

    def bars(self, points: Floats) -> tuple[Floats, Floats]:
        """The deviation of the process; an answer is within 1.96 of it in 95 of 100 cases."""
        deviation = self.path.law.deviation(self.domain.kernel.public_diagonal(points))
        return deviation, USUAL * deviation

    def public(self, points: Floats) -> tuple[Floats, Floats]:
        """Extrapolate from answers: the error has the noise's part, and at most |w| times what is unexplained."""
        diagonal = self.domain.kernel.public_diagonal(points)
        if not self.points:
            return np.zeros(len(points)), self.size * np.sqrt(diagonal)
        cross = self.domain.kernel.public_block(points, np.array(self.points))
        values, rest = self.path.extrapolated(cross, diagonal)
        noise = self.path.law.sigma * np.sqrt(np.maximum(diagonal - rest, 0.0))
        return values, np.sqrt(noise**2 + self.size**2 * (rest + self.path.law.jitter))


@final
class PinpAnswerer(Answerer):
    """PINP: answers from a public model, corrected a limited number of times; `points` are the corrected ones."""

    path: PinpPath

    @property
    def room(self) -> float:
        """No limit while corrections are left, none at all afterwards."""
        return math.inf if self.path.left > 0 else 0

    def drawn(self, points: Floats) -> list[Floats]:
        """Answer the first of the points: a correction may change all after it."""
        return [np.array(self.path.draw(points[:1], self._cross(points[:1])))]

    def take_over(self, point: Floats, left_behind: Floats) -> None:
        """Take over a correction, if there was one."""
        if left_behind[1] != 0:
            self.path.weights.append(float(left_behind[1]))
            self.points.append(point)

    def bars(self, points: Floats) -> tuple[Floats, Floats]:
        """The bound that holds for all answers together."""
        return np.full(len(points), np.nan), np.full(len(points), self.path.law.error)

    def public(self, points: Floats) -> tuple[Floats, Floats]:
        """Answer from the public model, whose error nobody bounds but |w - w_t| R."""
        values = self.path.public_values(self._cross(points))
        return values, np.abs(values) + self.size * np.sqrt(self.domain.kernel.diagonal(points))

    def _cross(self, points: Floats) -> Floats:
        """Return K between points and corrected ones, which are an outcome of noise: no pair is refused."""
        return self.domain.block(points, np.array(self.points)) if self.points else np.zeros((len(points), 0))


@final
@dataclass(eq=False, repr=False)
class AnswerSession:
    """Answers points through a memory that all copies share.

    `secret` is the model and where its noise comes from, None in a copy that may only repeat; `size` bounds |w|.
    """

    domain: Domain
    law: GaussianProcess | Pinp
    secret: Secret | None
    mark: str
    size: float
    memory: ProcessMemory | FileMemory
    _answerer: ProcessAnswerer | PinpAnswerer | None = field(default=None, init=False)

    def __deepcopy__(self, _: dict[int, Any]) -> "AnswerSession":
        return self

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle without the secret, and without the noise that hides it, unless a file keeps copies together."""
        secret, memory = self.secret, self.memory
        if isinstance(memory, ProcessMemory):
            public_part = self._new_answerer().public_part
            secret, memory = None, memory.sealed(lambda numbers: public_part(np.frombuffer(numbers)).tobytes())
        return AnswerSession, (self.domain, self.law, secret, self.mark, self.size, memory)

    @property
    def answerer(self) -> ProcessAnswerer | PinpAnswerer:
        """Who answers, after all answers that were given up to now."""
        with self.memory.turn() as turn:
            self._answerer = answerer = self._taken(turn)
        return answerer

    def ask(self, points: Floats) -> PointAnswers:
        """Answer clipped points, one a row."""
        # Minus zero is zero: equal points have equal bytes.
        points = np.asarray(points, dtype=np.float64) + 0.0
        keys = [point.tobytes() for point in points]
        with self.memory.turn() as turn:
            answerer = self._taken(turn)
            may_draw = self.secret is not None and self.memory.writable
            new = answerer.draw(dict(zip(keys, points, strict=True))) if may_draw else []
            answers = answerer.answers(keys, points)
            if new:
                turn.keep(new)
            self._answerer = answerer
        return answers

    def _taken(self, turn: ProcessMemory | FileTurn) -> ProcessAnswerer | PinpAnswerer:
        """Take the answerer out of the session, up to date.

        It is put back when all of it is kept for good. Whoever finds nothing, after an error or in a child forked
        meanwhile, starts again from the memory: what was drawn but not kept was never seen.
        """
        found, self._answerer = self._answerer, None
        answerer = found or self._new_answerer()
        for answer in turn.since(answerer.count):
            answerer.adopt(answer)
        return answerer

    def _new_answerer(self) -> ProcessAnswerer | PinpAnswerer:
        if isinstance(self.law, Pinp):
            return PinpAnswerer(self.domain, PinpPath(self.law, self.secret, self.mark), self.size)
        return ProcessAnswerer(self.domain, SamplePath(self.law, self.secret, self.mark), self.size)
