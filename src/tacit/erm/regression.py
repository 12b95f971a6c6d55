"""Linear regression with scikit-learn manners."""

import math
from dataclasses import KW_ONLY, dataclass
from typing import Any, ClassVar, Literal, final

import numpy as np

from tacit.budget import Budget
from tacit.erm.fitting import ONE_SCORE, Fitted, LinearEstimator, fit_linear, split
from tacit.erm.losses.standard import HuberRegression, Squared
from tacit.erm.perturbations.defaults import checked_alpha, is_auto, least_alpha, noise_over_signal, unit_noise
from tacit.erm.perturbations.least_squares import StatisticsPerturbation
from tacit.erm.rows.rows import Rows
from tacit.estimators.exact_scores import ExactR2
from tacit.estimators.parameters import known_range
from tacit.estimators.saving.fields import Saved
from tacit.estimators.weighing import Weighing
from tacit.mechanisms.mechanism import pure_part
from tacit.numerics.arrays import Floats
from tacit.numerics.by_part import by_part

Way = Literal["auto", "statistics", "output", "objective", "gradient"]


@final
@dataclass(eq=False, repr=False)
class PrivateLinearRegression(ExactR2, LinearEstimator):
    """Linear regression on clipped rows and clipped targets.

    Guarantee: the fitted coefficients are (epsilon, delta)-private for replace-one neighbours, pure when delta is 0;
    for `groups`, or records with a unit, neighbours differ in all the rows of one person.
    Assumes: public are n, or who the persons are, the number of features, `data_norm` (rows are clipped to it) and
    `target_range` (targets are clipped to it).
    Reference: tacit/erm/perturbations/least_squares.md, tacit/erm/perturbations/perturbation.md.

    Parameters
    ----------
    epsilon, delta : the budget of one fit; an infinite epsilon gives the ordinary ridge regression, without privacy.
    target_range : (low, high), what targets can be.
    perturbation : "objective" (which "auto" takes) or "gradient" (which needs delta > 0), with Huber's loss, whose
        slope is bounded: residuals count up to a tenth of half the range of targets, and further the less noise there
        is, so that a few extreme targets do little (with few features pure noise is the smaller one: a delta is then
        left unused and not charged); "statistics" (one noisy release of X'X and X'y); or "output".
    data_norm, alpha, fit_intercept, largest_weight, ledger, random_state, curves, interactions : as
        for `PrivateLogisticRegression`.

    Attributes
    ----------
    coef_, intercept_ : a number for each feature, and one more.
    coef_noise_, intercept_noise_, curves_, alpha_, release_, encoder_, n_features_in_, feature_names_in_ : as
        for `PrivateLogisticRegression`.
    """

    epsilon: float | None = None
    delta: float = 0.0
    _: KW_ONLY
    target_range: tuple[float, float] | None = None
    perturbation: Way = "auto"
    _wide: ClassVar[tuple[str, ...]] = ("auto", "objective", "statistics", "output")
    _task = "regression"
    saved: ClassVar[Saved] = Saved(ONE_SCORE)

    def _learn(self, X: Any, y: Any, weighing: Weighing) -> None:
        low, high = known_range(self.target_range)
        budget, rows, values = self._read(X, y, numeric=True)
        rows = rows.weighed(weighing.shares(rows.length))
        middle, reach = low + (high - low) / 2, (high - low) / 2
        targets = by_part(lambda part: np.clip((part - middle) / reach, -1.0, 1.0), values)
        self._keep(self._fitted(rows, targets, budget), reach, middle)

    def _fitted(self, rows: Rows, targets: Any, budget: Budget | None) -> Fitted:
        way = "objective" if self.perturbation == "auto" else self.perturbation
        assumed = f"targets within {self.target_range}"
        if way == "statistics" and budget is not None:
            return self._by_statistics(rows, targets, budget, assumed)
        if way in ("objective", "gradient") and budget is not None:
            budget = _quieter(budget, rows) if way == "objective" else budget
            noise = noise_over_signal(budget, rows.dimension, rows.count, rows.filled)
            loss: Squared | HuberRegression = HuberRegression(_width(noise), 1.0)
            alpha = _robust_ridge(noise, loss.lipschitz, rows) if is_auto(self.alpha) else self.alpha
        else:
            alpha = _ridge(self.alpha, rows, budget)
            loss = Squared(1.0, rows.norm * Squared(1.0, 1.0).minimiser_bound(rows.norm, alpha))
        way = "output" if way == "statistics" else way
        return fit_linear(rows, targets, loss, budget, way, alpha, self._terms(rows, assumed))

    def _by_statistics(self, rows: Rows, targets: Any, budget: Budget, assumed: str) -> Fitted:
        # That without noise: statistics are noisy whatever it is, and it is raised where their noise would decide.
        alpha = _ridge(self.alpha, rows, None)
        mechanism = StatisticsPerturbation(budget, rows.count, rows.dimension, rows.norm)
        terms = self._terms(rows, assumed).and_also(*mechanism.public)
        found = terms.release(mechanism, (rows, targets), unit=rows.whom)
        coefficient, noise = found.value.solve(alpha * rows.count / rows.norm**2)
        return split(rows, found.map(lambda _: coefficient / rows.norm), noise / rows.norm, alpha)

    def predict(self, X: Any) -> Floats:
        """Return the predicted target of every row."""
        return self._scores(X)


def _quieter(budget: Budget, rows: Rows) -> Budget:
    """Return the budget without its delta where that gives less noise: few features.

    Half of delta is what Gaussian noise has under a loss with slopes of both signs (perturbation.md).
    """
    if budget.is_pure:
        return budget
    halved = Budget.amount(budget.exact_epsilon, budget.exact_delta / 2)
    pure = pure_part(budget)
    noise = unit_noise(pure, rows.dimension, rows.filled)
    return pure if noise <= unit_noise(halved, rows.dimension) else budget


def _width(noise: float) -> float:
    """Where residuals stop to count more: noise is made for that much (docs/decisions/0014-robust-regression.md)."""
    return min(1.0, 0.1 * max(1.0, math.sqrt(0.004 / noise)))


def _robust_ridge(noise: float, width: float, rows: Rows) -> float:
    """The ridge at which noise of this relative size costs least (docs/decisions/0014-robust-regression.md)."""
    least = least_alpha(1.0, rows.norm, rows.count)
    return max(least, min(1.0, 4 * math.sqrt(noise)) * noise * width * rows.norm**2)


def _ridge(alpha: float | Literal["auto"], rows: Rows, budget: Budget | None) -> float:
    """Return the ridge for perturbing the solution: the noise in a prediction is then a twentieth of the range."""
    if not is_auto(alpha):
        return checked_alpha(alpha)
    least = least_alpha(1.0, rows.norm, rows.count)
    if budget is None:
        return least
    # The slope grows like 1/sqrt(alpha), so the noise in a prediction is about this over n alpha^1.5.
    noise = 10 * rows.norm**3 * unit_noise(budget, rows.dimension)
    return max(least, math.cbrt(noise / rows.count) ** 2)
