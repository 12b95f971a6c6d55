"""Noisy gradient descent: every gradient is released with Gaussian noise, and the rest is post-processing."""

import math
from dataclasses import dataclass
from functools import cached_property
from typing import final

import numpy as np
from dp_accounting.dp_event import GaussianDpEvent

from tacit import noise
from tacit.accounting.events import Event
from tacit.erm.losses.loss import Loss
from tacit.erm.perturbations.perturbation import Perturbation
from tacit.erm.solver.objective import Objective
from tacit.errors import InvalidParameter
from tacit.mechanisms.gaussian import Multipliers
from tacit.noise import Source, add_on_grid
from tacit.numerics.arrays import UNIT_ROUNDOFF, Floats
from tacit.numerics.exact import Point

_ROWS_PER_BLOCK = 4096
_MOST_STEPS = 10**5


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
        self.setting.require_bounded()
        if math.isinf(self.setting.loss.smoothness):
            raise InvalidParameter(
                f"gradient perturbation needs a smooth loss, and {type(self.setting.loss).__name__} is not."
            )
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

    @property
    def steps(self) -> int:
        """How many gradients are asked for: what acceleration needs to reach the ridge's precision."""
        return math.ceil(2 / math.sqrt(self.alpha / self.steepness))

    @cached_property
    def multipliers(self) -> Multipliers:
        """Noise over sensitivity of all gradients together, and of each."""
        return Multipliers.for_budget(self.budget, math.prod(self.setting.shape), self.steps)

    @property
    def event(self) -> Event:
        """One Gaussian release for all steps."""
        return GaussianDpEvent(self.multipliers.promised)

    def randomise(self, value: Objective, source: Source) -> Floats:
        """Return the mean of the later half of the iterates."""
        asked = value.with_loss(self.loss)
        step, ratio = 1 / self.steepness, math.sqrt(self.alpha / self.steepness)
        momentum = (1 - ratio) / (1 + ratio)
        blocks = value.rows.blocks(value.loss.outputs, _ROWS_PER_BLOCK)
        here = before = total = np.zeros(self.setting.shape)
        late = self.steps - self.steps // 2
        with value.threads() as workers:
            for number in range(self.steps):
                ahead = here + momentum * (here - before)
                exact = asked.gradients(workers, Point(ahead), blocks)
                before, here = here, ahead - step * self._noisy(exact, ahead, source)
                total = total + here / late if number >= self.steps - late else total
        return total

    def coefficient_noise(self, value: Objective) -> float:
        """Not a number: no bound is proved for accelerated steps."""
        return math.nan

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
