"""The public model that noisy answers at public points speak for: post-processing of what was released."""

import numpy as np
from scipy.linalg import eigh

from tacit.numerics.arrays import Floats

_CUTOFF, _FAR = 1e-10, 1e100
_LENGTHS = 2.0 ** -np.arange(0.0, 6.5, 0.5)


def posterior(gram: Floats, answers: Floats, deviation: float, size: float, jitter: float | None = None) -> Floats:
    """Return weights over the points: the mean model, given answers with noise of this standard deviation.

    Noise is independent from point to point, or with `jitter` has the covariance deviation^2 (K + jitter I). `size` is
    a bound on |w|; how much shorter w is, is not public. So w is normal in every direction of its feature space, with
    one deviation out of thirteen from size to size/64, each weighed by how likely it makes the answers: with the bound
    itself noise would be taken for signal.
    """
    values, vectors = eigh(gram)
    kept = values > _CUTOFF * values[-1]
    unit, longest = values[-1], size * np.sqrt(values[-1])
    # In these units answers within the bound are about 1, and what is far beyond it is cut before it is squared.
    shares, seen = values[kept] / unit, vectors[:, kept].T @ np.clip(answers / longest, -_FAR, _FAR)
    noise = (deviation / size) ** 2 * (np.full_like(shares, 1 / unit) if jitter is None else shares + jitter / unit)
    spread = _LENGTHS[:, None] ** 2 * shares + noise
    logs = -0.5 * np.sum(seen**2 / spread + np.log(spread), axis=1)
    chances = np.exp(logs - np.max(logs))
    mean = np.sum((chances / np.sum(chances))[:, None] * _LENGTHS[:, None] ** 2 / spread, axis=0)
    return np.asarray(vectors[:, kept] @ (mean * seen) * (longest / unit))
