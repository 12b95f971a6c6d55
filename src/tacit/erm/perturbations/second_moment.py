"""A noisy mean of x x^T over clipped rows: which directions records speak in, for a share of a Gaussian budget."""

import math
from dataclasses import dataclass
from typing import final

import numpy as np

from tacit import noise
from tacit.erm.perturbations.setting import Setting
from tacit.erm.rows.rows import Rows
from tacit.mechanisms.gaussian import Multipliers
from tacit.noise import Source, add_on_grid
from tacit.numerics.arrays import UNIT_ROUNDOFF, Floats
from tacit.numerics.threads import Bounds, Threads

_ROWS_PER_BLOCK = 4096


@final
@dataclass(frozen=True)
class SecondMoment:
    """One Gaussian release of the mean of x x^T, as a part of releases that share a budget.

    Guarantee: its shift, sensitivity over noise, is that of the multipliers.
    Assumes: rows are clipped to the setting's norm; replace-one neighbours; n is public.
    Reference: perturbation.md, "Gradients": the mean moves by at most sqrt(2) R^2/n in Frobenius norm.
    """

    setting: Setting
    multipliers: Multipliers

    @property
    def size(self) -> int:
        """How many numbers are released."""
        return self.setting.dimension * (self.setting.dimension + 1) // 2

    @property
    def sensitivity(self) -> float:
        """Bound how far a replacement moves the computed mean, off-diagonal entries counted twice."""
        rounding = 1.01 * (_ROWS_PER_BLOCK + 32) * UNIT_ROUNDOFF
        return self.setting.norm**2 * (math.sqrt(2) / self.setting.count + 2 * rounding) * (1 + 2.0**-45)

    @property
    def law(self) -> tuple[float, float]:
        """The grid, and the standard deviation of the noise in grid units."""
        return self.multipliers.law(self.sensitivity, self.size)

    @property
    def error(self) -> float:
        """How far off the noisy mean typically is in operator norm (Wigner)."""
        grid, units = self.law
        return grid * units * math.sqrt(2 * self.setting.dimension)

    def randomise(self, rows: Rows, workers: Threads, source: Source) -> Floats:
        """Return the noisy mean, symmetric."""
        exact = rows.over(None, workers, _grams) / rows.count
        upper = np.triu_indices(self.setting.dimension)
        # Off-diagonal entries count twice in the norm of a symmetric matrix.
        weight = np.where(upper[0] == upper[1], 1.0, math.sqrt(2))
        grid, units = self.law
        noisy = np.zeros(exact.shape)
        noisy[upper] = add_on_grid(exact[upper] * weight, noise.gaussian(source, units, self.size), grid) / weight
        return noisy + np.triu(noisy, 1).T


def _grams(rows: Rows, _: object, workers: Threads) -> Floats:
    def work(bounds: Bounds) -> Floats:
        block = rows.block(bounds)
        return block.gram(np.ones(bounds[1] - bounds[0]))

    return workers.sum(work, rows.blocks(1, _ROWS_PER_BLOCK))
