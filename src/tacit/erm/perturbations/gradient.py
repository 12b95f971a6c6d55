"""Noisy gradient descent: every gradient is released with Gaussian noise, and the rest is post-processing.

Accelerated steps are as many as the condition of the problem calls for, which grows with the root of n. Where that is
many, a small part of the budget buys a noisy second moment of the rows first. Divided by it, gradients meet a condition
that depends on the width alone: the ridge and the noise in the second moment both fall like 1/n and with the budget
(docs/decisions/0023-steps-that-do-not-grow.md). Above 2,000 columns their square is too much to release and to take
apart: steps stay plain there, and grow.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from typing import final

import numpy as np
from dp_accounting.dp_event import GaussianDpEvent

from tacit import noise
from tacit.accounting.events import Event
from tacit.erm.losses.loss import Loss
from tacit.erm.perturbations.descent import noise_left
from tacit.erm.perturbations.perturbation import Perturbation
from tacit.erm.perturbations.second_moment import SecondMoment
from tacit.erm.rows.rows import Rows
from tacit.erm.solver.objective import Objective
from tacit.errors import InvalidParameter
from tacit.mechanisms.gaussian import Multipliers
from tacit.noise import Source, add_on_grid
from tacit.numerics.arrays import UNIT_ROUNDOFF, Floats
from tacit.numerics.exact import Point
from tacit.numerics.progress import told
from tacit.numerics.threads import Threads

_ROWS_PER_BLOCK = 4096
_MOST_STEPS = 10**5
_WIDEST = 2_000
# More than the least where noise of the least could not be certified.
_FOR_MOMENT = (Fraction(1, 256), Fraction(1, 64), Fraction(1, 16))
_WORTH = 2


def _steps(least: float, steepest: float) -> int:
    """How many accelerated steps bring an error down to what the ridge allows."""
    return math.ceil(2 / math.sqrt(least / steepest))


@final
@dataclass(frozen=True)
class GradientPerturbation(Perturbation):
    """Accelerated gradient descent on noisy full gradients; the answer is the mean of the later iterates.

    Guarantee: the coefficient is (epsilon, delta)-private with delta > 0.
    Assumes: a convex, smooth loss with its constants; replace-one neighbours.
    Reference: perturbation.md, "Gradients": all steps together lose what one Gaussian release loses.
    """

    def require_calibrated(self) -> None:
        """Refuse a pure budget, a loss that is not smooth and Lipschitz, and more steps than are reasonable."""
        if self.budget.is_pure:
            raise InvalidParameter("gradient perturbation needs delta > 0. Use perturbation='objective' for delta = 0.")
        self.setting.require_smooth("gradient")
        if self.steps > _MOST_STEPS:
            raise InvalidParameter(
                f"alpha={self.alpha:g} would take {self.steps} passes over the data. Use a larger alpha, or 'auto'."
            )
        _ = self.multipliers

    @cached_property
    def loss(self) -> Loss:
        """The loss whose gradients are asked for."""
        return self.setting.loss.for_gradients

    @property
    def steepness(self) -> float:
        """A bound on the second derivative of the objective."""
        return self.setting.loss.smoothness * self.setting.norm**2 + self.alpha

    @cached_property
    def _bending(self) -> tuple[Fraction, float] | None:
        """The part of the budget that buys a second moment, and the curvature that steps bent by it are made for.

        None where steps stay plain: bent ones are more than half as many (the second moment costs time, too), or cannot
        be certified.
        """
        setting = self.setting
        if setting.dimension > _WIDEST:
            return None
        for share in _FOR_MOMENT:
            try:
                # Before the number of steps is known, which changes the noise in the ninth digit.
                error = SecondMoment(setting, self._multipliers(1, share)).error
                left = setting.loss.smoothness * error + self.alpha
                steps = _steps(self.alpha, left)
                for part in (share, (1 - share) / steps):
                    self._multipliers(steps + 1, part)
            except InvalidParameter:
                continue
            return (share, left) if _WORTH * steps <= _steps(self.alpha, self.steepness) else None
        return None

    @property
    def steps(self) -> int:
        """How many gradients are asked for: what acceleration needs to reach the ridge's precision."""
        return _steps(self.alpha, self._steepest)

    @property
    def _steepest(self) -> float:
        """The curvature that steps are made for."""
        return self.steepness if self._bending is None else self._bending[1]

    @property
    def _momentum(self) -> float:
        """How much of a step is repeated in the next."""
        root = math.sqrt(self.alpha / self._steepest)
        return (1 - root) / (1 + root)

    @property
    def _late(self) -> int:
        """How many iterates are averaged."""
        return self.steps - self.steps // 2

    def _multipliers(self, releases: int, share: Fraction) -> Multipliers:
        """Noise over sensitivity of all releases, a second moment among them, and of one with this share of them."""
        size = max(math.prod(self.setting.shape), self.setting.dimension**2)
        return Multipliers.for_budget(self.budget, size, releases, share=share)

    @cached_property
    def moment(self) -> SecondMoment | None:
        """The noisy second moment of the rows by which steps are bent, if any."""
        if self._bending is None:
            return None
        return SecondMoment(self.setting, self._multipliers(self.steps + 1, self._bending[0]))

    @cached_property
    def multipliers(self) -> Multipliers:
        """Noise over sensitivity of all releases together, and of each gradient."""
        if self._bending is None:
            return Multipliers.for_budget(self.budget, math.prod(self.setting.shape), self.steps)
        return self._multipliers(self.steps + 1, (1 - self._bending[0]) / self.steps)

    @property
    def event(self) -> Event:
        """One Gaussian release for all steps."""
        return GaussianDpEvent(self.multipliers.promised)

    def randomise(self, value: Objective, source: Source) -> Floats:
        """Return the mean of the later half of the iterates."""
        asked = replace(value, loss=self.loss)
        here = before = total = np.zeros(self.setting.shape)
        with value.threads() as workers:
            metric = self._metric(value.rows, workers, source)
            for number in range(self.steps):
                ahead = here + self._momentum * (here - before)
                exact = asked.gradients(workers, Point(ahead), _ROWS_PER_BLOCK)
                before, here = here, ahead - metric(self._noisy(exact, ahead, source))
                total = total + here / self._late if number >= self.steps - self._late else total
                told(number + 1, self.steps)
        return total

    def _metric(self, rows: Rows, workers: Threads, source: Source) -> Callable[[Floats], Floats]:
        """Return what turns a gradient into a step: a division by a bound on the curvature, in each direction."""
        if self.moment is None:
            return lambda gradient: np.asarray(gradient / self.steepness)
        values, vectors = np.linalg.eigh(self.moment.randomise(rows, workers, source))
        bounds = self.setting.loss.smoothness * np.maximum(values, self.moment.error) + self.alpha
        inverse = (vectors / bounds) @ vectors.T
        return lambda gradient: np.asarray(gradient @ inverse)

    def coefficient_noise(self, value: Objective) -> float:
        """Estimate what is left of the noise of all steps: that along the worst direction of a quadratic (noise.md)."""
        drawn = self.multipliers.drawn * 2 * self.loss.lipschitz * self.setting.norm / self.setting.count
        return drawn / self._steepest * noise_left(self.steps, self._late, self._momentum, self.alpha / self.steepness)

    def _noisy(self, gradient: Floats, point: Floats, source: Source) -> Floats:
        grid, units = self.multipliers.law(self.sensitivity(float(np.linalg.norm(point)) * (1 + 1e-12)), gradient.size)
        drawn = noise.gaussian(source, units, gradient.size).reshape(gradient.shape)
        return add_on_grid(gradient, drawn, grid)

    def sensitivity(self, size: float) -> float:
        """Bound how far a replacement moves the computed mean gradient at a public point of this norm."""
        diameter = self.loss.gradient_diameter(size, self.setting.norm)
        return (diameter / self.setting.count + 2 * self._rounding(size)) * (1 + 2.0**-45)

    def _rounding(self, size: float) -> float:
        """Bound the rounding error of a computed mean gradient by public quantities (tacit.erm.solver.rounding)."""
        loss, norm, unit = self.loss, self.setting.norm, 1.01 * UNIT_ROUNDOFF
        reach, steepest = norm * size, norm * loss.steepest(norm * size)
        score = loss.smoothness * (self.setting.dimension + 4) * unit * (reach + loss.offset_bound)
        rest = (_ROWS_PER_BLOCK + 16) * unit * steepest + 8 * unit * self.alpha * size
        return 1.01 * (norm * (score + loss.rounding(reach)) + rest) + 1e-290
