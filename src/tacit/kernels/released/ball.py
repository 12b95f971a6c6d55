"""TDIL for the linear kernel: the worst direction is drawn exactly from the whole ball, not from a net.

A point z of the unit ball with density proportional to exp(k |<z, v>|) depends on v through s = <z, v/|v|> alone. The
number t = 1 - |s| has density proportional to (t (2 - t))^((d-1)/2) exp(-k |v| t): it is drawn by rejection under
steps, the sign of s is fair, and what is orthogonal to v is uniform in a ball of radius sqrt(t (2 - t)).
"""

import math
from dataclasses import dataclass
from functools import cached_property
from typing import final

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import ndtri

from tacit import noise
from tacit.budget import Budget
from tacit.checks import finite_number, whole_number
from tacit.errors import InvalidParameter
from tacit.kernels.kernel.kernel import computed
from tacit.kernels.released.non_interactive import BudgetShares, Measurement
from tacit.kernels.released.posterior import posterior
from tacit.mechanisms.mechanism import Mechanism, checked_budget, checked_sensitivity
from tacit.noise import Source
from tacit.numerics.arrays import Floats
from tacit.numerics.bisection import bisect_all

_CELL = 2.0**-6
_LEVELS = 80
_TINY = 1e-200
_STEEPEST = 1e17


@final
@dataclass(frozen=True)
class Slices:
    """The law of t = 1 - |s| in [0, 1]: density proportional to (t (2 - t))^((d-1)/2) exp(-tilt t), log-concave.

    In terms of t nothing cancels: a large tilt puts s so close to 1 that 1 - s^2 would have lost its digits.
    """

    dimension: int
    tilt: float

    def log_density(self, t: Floats) -> Floats:
        """Return the logarithm of the density, up to a constant."""
        power = (self.dimension - 1) / 2
        with np.errstate(divide="ignore"):
            edge = power * (np.log(t) + np.log(2 - t)) if power else np.zeros_like(t)
        return np.asarray(edge - self.tilt * t)

    @property
    def mode(self) -> float:
        """Where the density is largest: 1 - 2 tilt/(P + h) with P = d - 1 and h = hypot(P, 2 tilt), uncancelled."""
        power = self.dimension - 1
        if power == 0:
            return 0.0
        root = math.hypot(power, 2 * self.tilt)
        return (power + power * power / (root + 2 * self.tilt)) / (power + root)

    @cached_property
    def top(self) -> float:
        """The largest log density."""
        return float(self.log_density(np.array(self.mode)))

    @cached_property
    def steps(self) -> tuple[Floats, Floats]:
        """The ends of the steps, where the log density has fallen by 1, 2, ..., 80, and how far it is below on each."""
        levels = self.top - np.arange(1.0, _LEVELS + 1)
        left = self._where(levels, 0.0, self.mode, rising=True)
        right = self._where(levels, self.mode, 1.0, rising=False)
        places = np.unique(np.concatenate([[0.0, self.mode, 1.0], left, right]))
        logs = self.log_density(places)
        return places, np.maximum(logs[:-1], logs[1:]) - self.top

    def _where(self, levels: Floats, low: float, high: float, rising: bool) -> Floats:
        """Return where the density reaches each level on its way up or down, or the end where it does not.

        Logarithms are bisected: a place may be many orders of magnitude below 1.
        """
        lows, highs = (np.full(len(levels), math.log(max(end, _TINY))) for end in (low, high))
        found = bisect_all(lambda logs: (self.log_density(np.exp(logs)) < levels) == rising, lows, highs, 60)
        return np.asarray(np.clip(np.exp(found), low, high))

    def draw(self, source: Source) -> float:
        """Draw t: choose a step by its area, a place on it, and keep it with the chance that is left."""
        places, logs = self.steps
        areas = np.cumsum(np.diff(places) * np.exp(logs))
        while True:
            pick, share, keep = noise.uniform(source, 3)
            step = min(int(np.searchsorted(areas, pick * areas[-1], side="right")), len(logs) - 1)
            t = float(places[step] + share * (places[step + 1] - places[step]))
            if keep < math.exp(float(self.log_density(np.array(t))) - self.top - logs[step]):
                return t


def draw_point(direction: Floats, tilt: float, source: Source) -> Floats:
    """Draw z from the unit ball with density proportional to exp(tilt |<z, direction>|), direction of norm 1."""
    dimension = len(direction)
    t = Slices(dimension, tilt).draw(source)
    sign = 1.0 if noise.uniform(source, 1)[0] < 0.5 else -1.0
    along = sign * (1 - t) * direction
    if dimension == 1:
        return np.asarray(along)
    length = 0.0
    # A direction does not depend on the length: leaving out short vectors changes no law, and bounds what they magnify.
    while length < math.sqrt(dimension) / 4:
        normal = _normals(dimension, source)
        across = normal - direction * math.fsum(direction * normal)
        length = _length(across)
    reach = math.sqrt(t * (2 - t)) * float(noise.uniform(source, 1)[0]) ** (1 / (dimension - 1))
    return np.asarray(along + reach * (across / length))


def _normals(size: int, source: Source) -> Floats:
    """Draw normal numbers, right in relative terms: a fair sign times the quantile of a chance of 106 random bits."""
    first, second, side = noise.uniform(source, 3 * size).reshape(3, size)
    # Both differences are above 0, and only the last is rounded: small chances keep all their digits.
    chance = (1 - first) - 2.0**-53 * second
    return np.asarray(np.where(side < 0.5, 1.0, -1.0) * ndtri(chance / 2))


def _length(vector: Floats) -> float:
    """Return the norm to the last digits, however many entries there are and however small they are."""
    return math.hypot(*vector.tolist())


@final
@dataclass(frozen=True)
class BallRelease(Mechanism[ArrayLike, tuple[Floats, Floats]]):
    """TDIL for a linear model: directions drawn from the ball of radius `norm`, on a shifted public grid.

    Guarantee: the chosen points and their measured values are (epsilon, delta)-private; delta > 0 also pays for the
    rounding of the sampler.
    Assumes: replacing one record moves the score and the computed value at every point of the ball by at most `moved`,
    rounding included; the coefficient's norm is at most `size`.
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
        object.__setattr__(self, "moved", checked_sensitivity(self.moved))
        for name in ("rounds", "dimension"):
            object.__setattr__(self, name, whole_number(name, getattr(self, name)))
        for name in ("norm", "size"):
            object.__setattr__(self, name, finite_number(name, getattr(self, name)))
        if self.budget.is_pure:
            raise InvalidParameter("the ball's sampler needs delta > 0, which pays for its rounding. Use a net.")
        _ = self.measurement.deviation
        if not (0 < self._steepest < _STEEPEST and self.rate < 1 / _TINY):
            raise InvalidParameter(
                f"the ball's sampler takes exponents between 0 and {_STEEPEST:g}, got up to {self._steepest:g}. "
                "Use a smaller epsilon, or give `moved` and `size` their true proportion."
            )

    @cached_property
    def measurement(self) -> Measurement:
        """The noise of one measurement, at the delta that the sampler's rounding leaves."""
        delta = self.budget.exact_delta
        lost = self.rounds * (1 + math.exp(min(self.budget.epsilon, 100.0))) * self.rounding
        if lost > delta / 10:
            most = math.log(max(float(delta) / (10 * self.rounds * self.rounding) - 1, 1.0))
            raise InvalidParameter(
                f"rounding of the ball's sampler costs more delta than {self.budget} has: it takes an epsilon of at "
                f"most {most:.2g} here. Use that, or a net: public points as landmarks."
            )
        return Measurement(BudgetShares(Budget(self.budget.exact_epsilon, delta * 9 / 10), self.rounds), self.moved)

    @property
    def rate(self) -> float:
        """What |<z, w_t - w*>| is multiplied by, for z of the unit ball."""
        return self.measurement.shares.choice / (2 * self.moved) * self.norm

    @property
    def _steepest(self) -> float:
        """A bound on the exponent, whatever the round: public models are kept within twice the size."""
        return self.rate * (3 * self.size)

    @property
    def rounding(self) -> float:
        """A bound on the total variation between a drawn cell and that of an exact sampler, for every exponent."""
        return 2.0**-43 * (self.dimension + 32) + 2.0**-39 * math.sqrt(self.dimension)

    @property
    def public(self) -> tuple[str, ...]:
        """What is assumed to be public."""
        return f"the sensitivity {self.moved:g}", f"a ball of radius {self.norm:g}", f"{self.rounds} rounds"

    def check(self, value: ArrayLike) -> Floats:
        """Return the exact coefficient."""
        return computed("the coefficient", value, (self.dimension,))

    def randomise(self, value: ArrayLike, source: Source) -> tuple[Floats, Floats]:
        """Return the chosen points and the measured values there."""
        exact = self.check(value)
        public = np.zeros(self.dimension)
        points = np.empty((0, self.dimension))
        measured = np.empty(0)
        for _ in range(self.rounds):
            points = np.vstack([points, self._chosen(public - exact, source)])
            measured = np.append(measured, self.measurement.draw(float(points[-1] @ exact), source))
            public = self._model(points, measured)
        return points, measured

    def _chosen(self, error: Floats, source: Source) -> Floats:
        """Draw a point and give its cell's centre on a grid whose place is random, brought into the ball."""
        length = _length(error)
        direction, tilt = np.eye(1, self.dimension)[0], 0.0
        # A smaller tilt makes no difference, and an error that short may be too short to have its norm in floats.
        if self.rate * length >= 2.0**-60:
            # No coefficient within `size` comes near the limit, without which an infinite one would never be done.
            direction, tilt = error / length, min(self.rate * length, _STEEPEST)
        shift = noise.uniform(source, self.dimension) * _CELL
        cell = np.floor((draw_point(direction, tilt, source) + shift) / _CELL)
        centre = (cell + 0.5) * _CELL - shift
        return np.asarray(self.norm * centre / max(1.0, _length(centre)))

    def _model(self, points: Floats, measured: Floats) -> Floats:
        weights = posterior(points @ points.T, measured, self.measurement.deviation, self.size)
        found = points.T @ weights
        return np.asarray(found * min(1.0, 2 * self.size / max(_length(found), 1e-300)))
