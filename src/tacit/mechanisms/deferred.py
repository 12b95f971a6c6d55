"""Noise on sums that are computed only after they were paid for."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import final

import numpy as np

from tacit.accounting.events import Event
from tacit.budget import Budget
from tacit.mechanisms.gaussian import Gaussian
from tacit.mechanisms.laplace import Laplace
from tacit.mechanisms.mechanism import Mechanism
from tacit.noise import Source
from tacit.numerics.arrays import Floats


@final
@dataclass(frozen=True)
class Deferred(Mechanism[Callable[[], Floats], Floats]):
    """Laplace or Gaussian noise on what a function computes once the charge is made.

    Guarantee: that of the noise.
    Assumes: the function was fixed without a look at the records, and what it returns has the noise's sensitivity.
    Reference: laplace.md, gaussian.md.
    """

    noise: Laplace | Gaussian
    public: tuple[str, ...] = ("the queries", "the columns' names")

    @property
    def budget(self) -> Budget:  # type: ignore[override]
        """The budget of the noise: computing later costs nothing more."""
        return self.noise.budget

    @property
    def event(self) -> Event:
        """The event of the noise, which is charged before anything is computed."""
        return self.noise.event

    def check(self, value: Callable[[], Floats]) -> Callable[[], Floats]:
        """Return the function that will compute the sums; it was prepared without a look at the records."""
        return value

    def randomise(self, value: Callable[[], Floats], source: Source) -> Floats:
        """Compute the sums and add noise."""
        return np.asarray(self.noise.randomise(self.noise.check(value()), source), dtype=np.float64)
