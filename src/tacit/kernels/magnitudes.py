"""How much noise each way to answer with a kernel model costs, from public quantities alone.

For logistic regression with L = R = 1: the largest error over all answers that is exceeded in 5 of 100 cases, which
answering 0 everywhere also has (`trivial`). No record is read.
"""

import math
from dataclasses import dataclass
from typing import final

from scipy.special import ndtri

from tacit.accounting.analytic import gaussian_shift
from tacit.budget import Budget
from tacit.kernels.interactive.pinp import query_epsilon
from tacit.kernels.released.semi_interactive import answer_epsilon
from tacit.numerics.bisection import fewest

FAILURE = 0.05
CELLS = (
    (0.1, 10**4, 1e-2, 100),
    (0.1, 10**5, 1e-2, 100),
    (0.1, 10**6, 1e-2, 100),
    (0.1, 10**6, 1e-3, 10**4),
    (1.0, 10**4, 1e-2, 10**4),
    (1.0, 10**5, 1e-2, 100),
    (1.0, 10**5, 1e-2, 10**4),
    (1.0, 10**6, 1e-2, 100),
    (1.0, 10**6, 1e-2, 10**4),
)
"""Epsilon, records, ridge and number of answers."""


@final
@dataclass(frozen=True)
class Magnitudes:
    """Errors of answers at one epsilon, number of records, ridge and number of answers; L = R = 1."""

    budget: Budget
    count: int
    ridge: float
    answers: int

    @property
    def moved(self) -> float:
        """How far one record moves a prediction."""
        return 2 / (self.count * self.ridge)

    @property
    def trivial(self) -> float:
        """The largest error of answering 0: a bound on |w*|."""
        return min(1 / self.ridge, math.sqrt(2 * math.log(2) / self.ridge))

    @property
    def _log(self) -> float:
        return math.log(2 * self.answers / FAILURE)

    @property
    def pinp_published(self) -> float:
        """PINP with the paper's constants (its number of updates not rounded)."""
        wide = math.log(4 / self.budget.delta)
        updates = self.budget.epsilon * self.trivial**2 / (100 * self.moved * math.sqrt(2 * self._log) * wide)
        each = self.budget.epsilon / (100 * math.sqrt(updates) * wide)
        return 5 * self.moved / each * self._log

    def pinp(self, progress: float = 16 / 9) -> tuple[float, int]:
        """PINP recalibrated, and its updates: `progress` is 16/9 for tacit's step, 16/5 for the paper's."""
        updates = fewest(lambda updates: updates >= progress * self.trivial**2 / self._threshold(updates) ** 2)
        return 1.25 * self._threshold(updates), updates

    def _threshold(self, updates: int) -> float:
        return 4 * self.moved / query_epsilon(self.budget, updates) * self._log

    @property
    def tddl(self) -> float:
        """TDDL: independent Laplace answers."""
        return self.moved / answer_epsilon(self.budget, self.answers) * math.log(self.answers / FAILURE)

    @property
    def independent(self) -> float:
        """Independent Gaussian answers."""
        deviation = math.sqrt(self.answers) * self.moved / gaussian_shift(self.budget)
        return deviation * float(ndtri(1 - FAILURE / (2 * self.answers)))

    @property
    def deviation(self) -> float:
        """The standard deviation of one answer of a Gaussian process, and of TDDL with matched noise."""
        return self.moved / gaussian_shift(self.budget)

    @property
    def process(self) -> float:
        """A Gaussian process, or TDDL with matched noise."""
        return self.deviation * float(ndtri(1 - FAILURE / (2 * self.answers)))
