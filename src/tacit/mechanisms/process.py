"""A Gaussian process over a secret function: one release that answers many points, sampled as they are asked."""

import math
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Protocol, final

import numpy as np

from tacit import noise
from tacit.accounting.events import Event, dp_event
from tacit.budget import Budget
from tacit.checks import finite_number, whole_number
from tacit.errors import InvalidParameter
from tacit.mechanisms.gaussian import Multipliers
from tacit.mechanisms.mechanism import Mechanism, checked_budget, checked_sensitivity
from tacit.mechanisms.triangle import Triangle, triangle_error
from tacit.noise import Source, add_on_grid, power_of_two_below
from tacit.numerics.arrays import Floats

_JITTER = 1e-6
_FINEST = 2.0**-27
_UP = 1 + 2.0**-45


class SecretFunction(Protocol):
    """z -> <w, phi(z)>, computed from records."""

    def values(self, points: Any) -> Floats:
        """Return the value at every point."""


Secret = tuple[SecretFunction, Source]
"""A function, and where the noise on its values comes from; None stands for it in a copy that may only repeat."""


def checked_function(value: SecretFunction) -> SecretFunction:
    """Return a function that can be asked for values; refuse anything else."""
    if not callable(getattr(value, "values", None)):
        raise InvalidParameter(f"wanted a function with values(points), got {type(value).__name__}.")
    return value


@final
@dataclass(frozen=True)
class GaussianProcess(Mechanism[SecretFunction, "SamplePath"]):
    """Adds one sample path of a Gaussian process with covariance sigma^2 K to a function in the feature space of K.

    Guarantee: all answers of the path together are (epsilon, delta)-private, up to `most` points, chosen adaptively.
    Assumes: replacing one record moves w by at most `sensitivity` in the feature space; K is positive semi-definite,
    K(z, z) <= `square`, and computed to within `kernel_error`; values are computed to within `value_error` and are at
    most `reach`.
    Reference: process.md (Hall, Rinaldo and Wasserman 2013; sequentially, on a grid).
    """

    budget: Budget
    sensitivity: float
    square: float
    kernel_error: float
    value_error: float
    reach: float
    most: int = 10_000

    def __post_init__(self) -> None:
        object.__setattr__(self, "budget", checked_budget(self.budget))
        object.__setattr__(self, "sensitivity", checked_sensitivity(self.sensitivity))
        object.__setattr__(self, "most", whole_number("most", self.most))
        for name in ("square", "kernel_error", "value_error", "reach"):
            object.__setattr__(self, name, finite_number(name, getattr(self, name)))
            if not 0 <= getattr(self, name) <= 1e150:
                raise InvalidParameter(f"{name} must be a number from 0 to 1e150, got {getattr(self, name)!r}.")
        if not self.square >= 1e-100:
            raise InvalidParameter(f"square must be at least 1e-100, got {self.square!r}.")
        if triangle_error(self.most, self._largest, self.kernel_error) > self.jitter / 2:
            raise InvalidParameter("the kernel is not computed accurately enough for so many points. Ask fewer.")
        _ = self.sigma

    @cached_property
    def multipliers(self) -> Multipliers:
        """Noise over sensitivity of all answers together: as promised, and as drawn."""
        return Multipliers.for_budget(self.budget, self.most)

    @cached_property
    def event(self) -> Event:
        """What is charged: one Gaussian release, however many answers are drawn."""
        return dp_event.GaussianDpEvent(self.multipliers.promised)

    @property
    def public(self) -> tuple[str, ...]:
        """What is assumed to be public."""
        return f"the sensitivity {self.sensitivity:g}", f"K(z, z) <= {self.square:g}", f"{self.most} points at most"

    @property
    def jitter(self) -> float:
        """What is added to the covariance, so that rounding cannot make it smaller than K."""
        return _JITTER * self.square

    @property
    def _largest(self) -> float:
        """A bound on the squared length of a row of the triangle."""
        return (1 + 2 * _JITTER) * self.square * _UP

    @cached_property
    def grid(self) -> float:
        """The power of two that every answer is a multiple of, far below the smallest noise of any answer."""
        return power_of_two_below(self.multipliers.drawn * self.sensitivity * math.sqrt(self.jitter) * _FINEST)

    @cached_property
    def sigma(self) -> float:
        """The standard deviation of the process is this times sqrt(K(z, z) + jitter).

        The shift of all answers together is at most (sensitivity + error)/sigma, where the errors of single answers
        (process.md) weigh at most 2 sqrt(2 most / jitter); a part of them is proportional to sigma itself.
        """
        weight = 2 * math.sqrt(2 * self.most / self.jitter) * _UP
        fixed = self.grid / 2 + self.value_error + 2.0**-51 * self.reach
        longest = math.sqrt(2 * self.most + 400) + 21
        relative = 8 * 2.0**-53 * math.sqrt(self._largest) * longest
        share = 1 - self.multipliers.drawn * weight * relative
        if not share >= 0.5:
            raise InvalidParameter(f"{self.budget} is too small to certify for {self.most} points. Ask fewer.")
        sigma = self.multipliers.drawn * (self.sensitivity + weight * fixed) / share * _UP
        if not sigma < math.inf:
            raise InvalidParameter("the values are not computed accurately enough to be released.")
        return sigma

    def deviation(self, squares: Floats) -> Floats:
        """Return the standard deviation of the noise at points with these K(z, z)."""
        return np.asarray(self.sigma * np.sqrt(squares + self.jitter))

    def units(self, pivot: float) -> float:
        """The standard deviation, in grid units, of what is new in an answer."""
        return self.sigma * pivot / self.grid * _UP

    def check(self, value: SecretFunction) -> SecretFunction:
        """Return the secret function, if it can be asked for values."""
        return checked_function(value)

    def randomise(self, value: SecretFunction, source: Source) -> "SamplePath":
        """Return a path that has not been asked anything yet."""
        return SamplePath(self, (value, source), noise.uniform(source, 4).tobytes().hex())


@final
@dataclass(frozen=True, eq=False)
class Drawn:
    """What one answer leaves behind: the row of the triangle, its normal number, and the answer."""

    row: Floats
    normal: float
    answer: float


@final
class SamplePath:
    """One sample path: what was answered, and what is needed to go on.

    There must be one path for one release: two copies that went on by themselves would answer alike points with
    different noise. `tacit.kernels.interactive.session` keeps copies together.
    """

    def __init__(self, law: GaussianProcess, secret: Secret | None, mark: str) -> None:
        self.law, self.secret, self.mark = law, secret, mark
        self.triangle = Triangle(law.jitter)
        self._normals: list[float] = []
        self._answers: list[float] = []

    def __len__(self) -> int:
        return len(self._answers)

    def adopt(self, drawn: Drawn) -> None:
        """Take over an answer that this path gave earlier, here or in another copy."""
        self.triangle.append(drawn.row)
        self._normals.append(drawn.normal)
        self._answers.append(drawn.answer)

    def draw(self, points: Any, cross: Floats, corner: Floats) -> list[Drawn]:
        """Answer new points, given K between them and all earlier points, and among themselves."""
        if self.secret is None:
            raise InvalidParameter("this copy of the path holds no function: it can repeat answers only.")
        if len(self) + len(corner) > self.law.most:
            raise InvalidParameter(f"the path answers {self.law.most} points at most.")
        rows = self.triangle.next_rows(cross, corner)
        function, source = self.secret
        values = np.nan_to_num(np.asarray(function.values(points), dtype=np.float64))
        with np.errstate(all="ignore"):
            return list(self._drawn(rows, np.clip(values, -self.law.reach, self.law.reach), source))

    def _drawn(self, rows: list[Floats], values: Floats, source: Source) -> Iterator[Drawn]:
        normals = np.array([*self._normals, *np.zeros(len(rows))])
        for row, value in zip(rows, values, strict=True):
            place = len(row) - 1
            centre = value + self.law.sigma * math.fsum(row[:-1] * normals[:place])
            units = self.law.units(float(row[-1]))
            integer = noise.gaussian(source, units, 1)
            normals[place] = float(integer[0]) * self.law.grid / (self.law.sigma * float(row[-1]))
            yield Drawn(row, float(normals[place]), float(add_on_grid(np.array([centre]), integer, self.law.grid)[0]))

    def extrapolated(self, cross: Floats, diagonal: Floats) -> tuple[Floats, Floats]:
        """Return what the answers so far say about other points, and what K(z, z) they leave unexplained.

        This is post-processing of answers: no record is touched.
        """
        if not len(self):
            return np.zeros(len(diagonal)), diagonal
        weights = self.triangle.solved(cross)
        whitened = self.triangle.solved(np.array([self._answers]))[0]
        left = diagonal - np.einsum("ij,ij->i", weights, weights)
        return weights @ whitened, np.maximum(left, 0.0)
