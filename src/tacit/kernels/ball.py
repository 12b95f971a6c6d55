"""TDIL for the linear kernel: the worst direction is drawn exactly from the whole ball, not from a net.

A point z of the unit ball with density proportional to exp(k |<z, v>|) depends on v through s = <z, v/|v|> alone, and s
has density proportional to (1 - s^2)^((d-1)/2) exp(k |v| |s|): |s| is drawn by rejection under steps, the sign is fair,
and what is orthogonal to v is uniform in a ball of radius sqrt(1 - s^2).
"""

import math
from dataclasses import dataclass
from functools import cached_property
from typing import final

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import ndtri

from tacit import noise
from tacit.accounting.events import EpsilonDeltaDpEvent, Event
from tacit.budget import Budget
from tacit.errors import InvalidParameter
from tacit.kernels.kernel import Array
from tacit.kernels.non_interactive import Measurement, Rounds, posterior
from tacit.mechanisms.mechanism import (
    Mechanism,
    checked_budget,
    checked_sensitivity,
    checked_whole,
    numeric,
    typed_below,
)
from tacit.noise import Source

__all__ = ["BallRelease", "Slices", "draw_point"]

_CELL = 2.0**-6
_STEP = 0.5
_STEPS = 80


@final
@dataclass(frozen=True)
class Slices:
    """The law of |s| in [0, 1]: density proportional to (1 - s^2)^((d-1)/2) exp(tilt s), which is log-concave."""

    dimension: int
    tilt: float

    def log_density(self, s: Array) -> Array:
        """Return the logarithm of the density, up to a constant."""
        power = (self.dimension - 1) / 2
        with np.errstate(divide="ignore", invalid="ignore"):
            edge = power * np.log1p(-np.square(s)) if power else np.zeros_like(s)
        return np.asarray(edge + self.tilt * s)

    @property
    def mode(self) -> float:
        """Where the density is largest."""
        if self.dimension == 1 or self.tilt == 0:
            return 1.0 if self.tilt else 0.0
        power = self.dimension - 1
        # The root (-power + sqrt(power^2 + 4 tilt^2))/(2 tilt) without its cancellation.
        return 2 * self.tilt / (power + math.hypot(power, 2 * self.tilt))

    @cached_property
    def steps(self) -> tuple[Array, Array]:
        """The ends of the steps, and the largest log density on each: steps end where it has fallen by a half."""
        top = float(self.log_density(np.array(self.mode)))
        levels = top - _STEP * np.arange(1.0, _STEPS + 1)
        left = self._where(levels, 0.0, self.mode, rising=True)
        right = self._where(levels, self.mode, 1.0, rising=False)
        places = np.unique(np.concatenate([[0.0, self.mode, 1.0], left, right]))
        logs = self.log_density(places)
        return places, np.maximum(logs[:-1], logs[1:]) - top

    def _where(self, levels: Array, low: float, high: float, rising: bool) -> Array:
        """Return where the density reaches each level on its way up or down, or the end where it does not."""
        lows, highs = np.full(len(levels), low), np.full(len(levels), high)
        for _ in range(60):
            middle = (lows + highs) / 2
            left = (self.log_density(middle) >= levels) == rising
            lows, highs = np.where(left, lows, middle), np.where(left, middle, highs)
        return lows

    def draw(self, source: Source) -> float:
        """Draw |s|: choose a step by its area, a place on it, and keep it with the chance that is left."""
        places, logs = self.steps
        areas = np.cumsum(np.diff(places) * np.exp(logs))
        top = float(self.log_density(np.array(self.mode)))
        while True:
            pick, share, keep = noise.uniform(source, 3)
            step = min(int(np.searchsorted(areas, pick * areas[-1], side="right")), len(logs) - 1)
            s = float(places[step] + share * (places[step + 1] - places[step]))
            if keep < math.exp(float(self.log_density(np.array(s))) - top - logs[step]):
                return s


def draw_point(direction: Array, tilt: float, source: Source) -> Array:
    """Draw z from the unit ball with density proportional to exp(tilt |<z, direction>|), direction of norm 1."""
    dimension = len(direction)
    s = Slices(dimension, tilt).draw(source)
    sign = 1.0 if noise.uniform(source, 1)[0] < 0.5 else -1.0
    if dimension == 1:
        return sign * s * direction
    # The middle of the last of the 2^53 cells rounds to 1, whose quantile is infinite.
    normal = ndtri(np.minimum(noise.uniform(source, dimension) + 2.0**-54, 1 - 2.0**-53))
    across = normal - direction * (direction @ normal)
    across /= max(float(np.linalg.norm(across)), 1e-300)
    reach = math.sqrt(max(0.0, 1 - s * s)) * float(noise.uniform(source, 1)[0]) ** (1 / (dimension - 1))
    return np.asarray(sign * s * direction + reach * across)


@final
@dataclass(frozen=True)
class BallRelease(Mechanism[ArrayLike, tuple[Array, Array]]):
    """TDIL for a linear model: directions drawn from the ball of radius `norm`, on a shifted public grid.

    Guarantee: the chosen points and their measured values are (epsilon, delta)-private; delta > 0 also pays for the
    rounding of the sampler.
    Assumes: replacing one record moves the coefficient by at most `sensitivity` and a computed value at a point of the
    ball by at most `moved`; the coefficient's norm is at most `size`.
    Reference: non_interactive.md, "The ball".
    """

    budget: Budget
    dimension: int
    norm: float
    moved: float
    size: float
    rounds: int

    def __post_init__(self) -> None:
        checked_budget(self.budget)
        checked_sensitivity(self.moved)
        checked_whole("rounds", self.rounds)
        checked_whole("dimension", self.dimension)
        if self.budget.is_pure:
            raise InvalidParameter("the ball's sampler needs delta > 0, which pays for its rounding. Use a net.")
        _ = self.measurement.deviation

    @cached_property
    def measurement(self) -> Measurement:
        """The noise of one measurement, at the delta that the sampler's rounding leaves."""
        delta = self.budget.exact_delta
        lost = self.rounds * (1 + math.exp(min(self.budget.epsilon, 100.0))) * self.rounding
        if lost > delta / 10:
            raise InvalidParameter(f"the delta of {self.budget} is too small for the ball's sampler. Use a net.")
        return Measurement(Rounds(Budget(self.budget.exact_epsilon, delta * 9 / 10), self.rounds), self.moved)

    @property
    def rate(self) -> float:
        """What |<z, w_t - w*>| is multiplied by, for z of the unit ball."""
        return self.measurement.shares.choice / (2 * self.moved) * self.norm

    @property
    def _steepest(self) -> float:
        """A bound on the exponent, whatever the round: public models are kept within twice the size."""
        return self.budget.epsilon / (2 * self.moved) * self.norm * 3 * self.size

    @property
    def rounding(self) -> float:
        """A bound on the total variation between a drawn cell and that of an exact sampler."""
        return 2.0**-46 * (self._steepest + self.dimension + 64) + self.dimension * 2.0**-42

    @cached_property
    def event(self) -> Event:
        """An (epsilon, delta)-private release."""
        return EpsilonDeltaDpEvent(typed_below(self.budget.exact_epsilon), typed_below(self.budget.exact_delta))

    @property
    def public(self) -> tuple[str, ...]:
        """What is assumed to be public."""
        return f"the sensitivity {self.moved:g}", f"a ball of radius {self.norm:g}", f"{self.rounds} rounds"

    def check(self, value: ArrayLike) -> Array:
        """Return the exact coefficient."""
        array = numeric("the coefficient", value)
        if array.shape != (self.dimension,):
            raise InvalidParameter(f"wanted {self.dimension} coefficients, got an array of shape {array.shape}.")
        return array

    def randomise(self, value: ArrayLike, source: Source) -> tuple[Array, Array]:
        """Return the chosen points and the measured values there."""
        exact = np.asarray(value, dtype=np.float64)
        public = np.zeros(self.dimension)
        points = np.empty((0, self.dimension))
        measured = np.empty(0)
        for _ in range(self.rounds):
            points = np.vstack([points, self._chosen(public - exact, source)])
            measured = np.append(measured, self.measurement.draw(float(points[-1] @ exact), source))
            public = self._model(points, measured)
        return points, measured

    def _chosen(self, error: Array, source: Source) -> Array:
        """Draw a point and give its cell's centre on a grid whose place is random, brought into the ball."""
        length = float(np.linalg.norm(error))
        direction = error / length if length > 0 else np.eye(self.dimension)[0]
        shift = noise.uniform(source, self.dimension) * _CELL
        cell = np.floor((draw_point(direction, self.rate * length, source) + shift) / _CELL)
        centre = (cell + 0.5) * _CELL - shift
        return np.asarray(self.norm * centre / max(1.0, float(np.linalg.norm(centre))))

    def _model(self, points: Array, measured: Array) -> Array:
        weights = posterior(points @ points.T, measured, self.measurement.deviation, self.size)
        found = points.T @ weights
        return np.asarray(found * min(1.0, 2 * self.size / max(float(np.linalg.norm(found)), 1e-300)))
