"""How each interactive method answers new points, and what it leaves behind for copies to go on from."""

import math
from abc import ABC, abstractmethod
from typing import Any, final

import numpy as np
from scipy.special import ndtri

from tacit.kernels.interactive.pinp import Pinp, PinpPath
from tacit.kernels.kernel.domain import Domain
from tacit.kernels.kernel.kernel import size_of
from tacit.mechanisms.process import Drawn, GaussianProcess, Path, SecretFunction
from tacit.noise import Source
from tacit.numerics.arrays import Floats

Secret = tuple[SecretFunction, Source] | None
"""The function and where its noise comes from; None in a copy that may only repeat."""

_USUAL = float(ndtri(0.975))


class Teller(ABC):
    """Answers points one after another, each once."""

    deviates: bool
    """Whether answers have a standard deviation of their own; otherwise a bound for all of them."""

    @property
    @abstractmethod
    def room(self) -> float:
        """How many more points can be answered with a guarantee."""

    @abstractmethod
    def tell(self, points: Any) -> list[Floats]:
        """Answer the first of these new points and as many more as is convenient; return what each leaves behind.

        Only points that `adopt` is then told of count as answered. Nothing is refused because of records or of noise.
        """

    @abstractmethod
    def adopt(self, point: Any, left_behind: Floats) -> None:
        """Take over an answer; its first number is the answer itself."""

    @staticmethod
    @abstractmethod
    def public_part(left_behind: Floats) -> Floats:
        """Return what an answer leaves behind without anything that is secret."""

    @abstractmethod
    def bars(self, points: Any) -> tuple[Floats, Floats]:
        """Return the standard deviation and the error bound of answers at points."""

    @abstractmethod
    def public(self, points: Any) -> tuple[Floats, Floats]:
        """Return what past answers say about points, and the root mean square of the error to expect."""


@final
class ProcessTeller(Teller):
    """A Gaussian process: every answer is fresh until there are too many points."""

    deviates = True

    def __init__(self, domain: Domain, law: GaussianProcess, secret: Secret, mark: str, size: float) -> None:
        function, source = secret if secret else (None, None)
        self._domain, self._size = domain, size
        self._path = Path(law, function, source, mark)
        self._points = _Points(domain)

    @property
    def room(self) -> float:
        """What is left of the largest number of points."""
        return self._path.law.most - len(self._path)

    def tell(self, points: Any) -> list[Floats]:
        """Draw answers for up to 256 points at once."""
        part = points[: int(min(256, self.room))]
        kernel = self._domain.kernel
        cross = kernel.public_block(part, self._points.all) if len(self._points) else np.zeros((size_of(part), 0))
        drawn = self._path.draw(part, cross, kernel.public_block(part, part))
        return [np.concatenate([[each.answer, each.normal], each.row]) for each in drawn]

    def adopt(self, point: Any, left_behind: Floats) -> None:
        """Take over the row and the normal number."""
        self._path.adopt(Drawn(left_behind[2:], float(left_behind[1]), float(left_behind[0])))
        self._points.append(point)

    @staticmethod
    def public_part(left_behind: Floats) -> Floats:
        """The normal number is the noise: with it anyone could take the noise off the answer."""
        public = left_behind.copy()
        public[1] = 0.0
        return public

    def bars(self, points: Any) -> tuple[Floats, Floats]:
        """The deviation of the process; an answer is within 1.96 of it in 95 of 100 cases."""
        deviation = self._path.law.deviation(self._domain.kernel.public_diagonal(points))
        return deviation, _USUAL * deviation

    def public(self, points: Any) -> tuple[Floats, Floats]:
        """Extrapolate from answers: the error has the noise's part, and at most |w| times what is unexplained."""
        diagonal = self._domain.kernel.public_diagonal(points)
        if not len(self._points):
            return np.zeros(size_of(points)), self._size * np.sqrt(diagonal)
        cross = self._domain.kernel.public_block(points, self._points.all)
        values, rest = self._path.extrapolated(cross, diagonal)
        noise = self._path.law.sigma * np.sqrt(np.maximum(diagonal - rest, 0.0))
        return values, np.sqrt(noise**2 + self._size**2 * (rest + self._path.law.jitter))


@final
class PinpTeller(Teller):
    """PINP: answers from a public model, corrected a limited number of times."""

    deviates = False

    def __init__(self, domain: Domain, law: Pinp, secret: Secret, mark: str, size: float) -> None:
        function, source = secret if secret else (None, None)
        self._domain, self._size = domain, size
        self._path = PinpPath(law, function, source, mark)
        self._points = _Points(domain)

    @property
    def left(self) -> int:
        """How many corrections are left."""
        return self._path.left

    @property
    def room(self) -> float:
        """No limit while corrections are left, none at all afterwards."""
        return math.inf if self._path.left > 0 else 0

    def tell(self, points: Any) -> list[Floats]:
        """Answer one point."""
        point = points[:1]
        answer, weight = self._path.draw(point, self._cross(point))
        return [np.array([answer, weight])]

    def adopt(self, point: Any, left_behind: Floats) -> None:
        """Take over a correction, if there was one."""
        if left_behind[1] != 0:
            self._path.weights.append(float(left_behind[1]))
            self._points.append(point)

    @staticmethod
    def public_part(left_behind: Floats) -> Floats:
        """All of it: a correction follows from the answer."""
        return left_behind

    def bars(self, points: Any) -> tuple[Floats, Floats]:
        """The bound that holds for all answers together."""
        count = size_of(points)
        return np.full(count, np.nan), np.full(count, self._path.law.error)

    def public(self, points: Any) -> tuple[Floats, Floats]:
        """Answer from the public model, whose error nobody bounds but |w - w_t| R."""
        diagonal = self._domain.kernel.diagonal(points)
        values = self._path.public_values(self._cross(points))
        return values, np.abs(values) + self._size * np.sqrt(diagonal)

    def _cross(self, points: Any) -> Floats:
        """Return K between points and corrected ones, which are an outcome of noise: no pair is refused."""
        if not len(self._points):
            return np.zeros((size_of(points), 0))
        return self._domain.block(points, self._points.all)


@final
class _Points:
    """A growing table of points."""

    def __init__(self, domain: Domain) -> None:
        self._rows = np.empty((16, domain.width))
        self._count = 0

    def __len__(self) -> int:
        return self._count

    @property
    def all(self) -> Floats:
        """All points so far."""
        return self._rows[: self._count]

    def append(self, point: Any) -> None:
        """Add one point."""
        if self._count == len(self._rows):
            self._rows = np.concatenate([self._rows, np.empty_like(self._rows)])
        self._rows[self._count] = point
        self._count += 1


def encoded(point: Any) -> bytes:
    """Return a point as bytes, the same for equal points."""
    return (np.asarray(point, dtype=np.float64) + 0.0).tobytes()


def decoded(text: bytes) -> Floats:
    """Return the point that bytes stand for."""
    return np.frombuffer(text, dtype=np.float64)
