"""How much of the noise in its gradients is left in what accelerated descent returns."""

import numpy as np

from tacit.numerics.arrays import Floats

_CURVATURES = 65


def noise_left(steps: int, late: int, momentum: float, least: float) -> float:
    """Return the deviation of the mean of the last `late` of so many steps, whose noise has the deviation 1 each.

    It is that along the worst direction of a quadratic, curvature times step length being `least` to 1 (noise.md).
    """
    curvatures = np.geomspace(least, 1.0, _CURVATURES)
    sums = _responses(steps, momentum, curvatures)
    began = np.arange(1, steps + 1)
    # Noise of step t is in the iterates from t on: of the late ones, in those after the first steps - late.
    shares = (sums[steps + 1 - began] - sums[np.maximum(0, steps - late + 1 - began)]) / late
    return float(np.sqrt(np.square(shares).sum(axis=0).max()))


def _responses(steps: int, momentum: float, curvatures: Floats) -> Floats:
    """Return, for 0 to `steps` iterates, the sum of what a unit of noise is in the first so many after it."""
    sums = np.zeros((steps + 1, len(curvatures)))
    here, before = np.ones(len(curvatures)), np.zeros(len(curvatures))
    for number in range(1, steps + 1):
        sums[number] = sums[number - 1] + here
        here, before = (1 - curvatures) * (here + momentum * (here - before)), here
    return sums
