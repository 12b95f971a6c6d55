"""What gradients teach about curvature after a Hessian was computed.

A `CurvatureModel` corrects a preconditioner by the limited-memory BFGS formula from the steps taken since,
so that a pass for a new Hessian is seldom needed. Directions are computed for a stack of gradients of shape
(models, size) at a time.
"""

from dataclasses import dataclass
from typing import Self, final

import numpy as np

from tacit.erm.solver.preconditioner import Preconditioner
from tacit.numerics.arrays import Floats

_STEPS_BESIDE_WHOLE = 8
_STEPS_BESIDE_PART = 24


@final
@dataclass(frozen=True, eq=False)
class CurvatureModel:
    """A preconditioner with the latest pairs of steps and gradient changes."""

    preconditioner: Preconditioner
    pairs: tuple[tuple[Floats, Floats], ...] = ()
    scale: Floats | None = None

    def learned(self, step: Floats, change: Floats) -> Self:
        """Return the model that also knows how gradients changed along a stack of steps."""
        curvature = _dot(step, change)
        if not np.all(curvature > 0.0):
            # Strong convexity makes it positive but for rounding, from which nothing is to be learned.
            return self
        whole = self.preconditioner.whole
        memory = _STEPS_BESIDE_WHOLE if whole else _STEPS_BESIDE_PART
        pairs = (*self.pairs, (step, change))[-memory:]
        if whole:
            return type(self)(self.preconditioner, pairs)
        # A whole Hessian has the right scale already; a part of one learns it from the latest step.
        scale = curvature / _dot(change, self.preconditioner.solve(change))
        return type(self)(self.preconditioner, pairs, scale)

    def direction(self, stack: Floats) -> Floats:
        """Return minus the inverse curvature times each gradient of the stack."""
        left = stack
        weights = []
        for step, change in reversed(self.pairs):
            weight = _dot(step, left) / _dot(step, change)
            left = left - weight * change
            weights.append(weight)
        right = self.preconditioner.solve(left)
        if self.scale is not None:
            right = right * self.scale
        for (step, change), weight in zip(self.pairs, reversed(weights), strict=True):
            right = right + step * (weight - _dot(change, right) / _dot(step, change))
        return np.asarray(-right)


def _dot(a: Floats, b: Floats) -> Floats:
    """Return the inner products of the rows of two stacks, as a column."""
    return np.asarray(np.einsum("ij,ij->i", a, b))[:, None]
