"""What all linear estimators do: declare what is public, clip, calibrate, release."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Literal, Self, cast, final

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import issparse
from scipy.special import ndtri
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from tacit.budget import Budget
from tacit.checks import checked_confidence
from tacit.data.bounded import BoundedRows, stated_filled
from tacit.data.encoder import PublicEncoder
from tacit.data.records import Records
from tacit.data.store.lazy_rows import StreamedRows
from tacit.erm.losses.loss import Loss
from tacit.erm.losses.standard import Logistic
from tacit.erm.perturbations.coding import default_curves
from tacit.erm.perturbations.defaults import checked_alpha, default_margin, is_auto, least_alpha, perturbation_for
from tacit.erm.perturbations.setting import Setting
from tacit.erm.rows.rows import Rows
from tacit.erm.solver.objective import Objective
from tacit.erm.solver.solve import smallest_tolerance, solve
from tacit.erm.summary import summary_of
from tacit.errors import InvalidParameter
from tacit.estimators.classes import check_told
from tacit.estimators.effects import Effects, Link, effects_of
from tacit.estimators.encoded import Task, in_lots, learn, scored, stand_alone
from tacit.estimators.odd_terms import warn_of_noise
from tacit.estimators.parameters import INTERCEPT, known_norm, needed_budget, refuse_ledger
from tacit.estimators.price import Priced
from tacit.estimators.saving.declared import FITTED
from tacit.estimators.saving.fields import Field, Numbers, Scalar
from tacit.estimators.tables import validated
from tacit.numerics.arrays import Floats
from tacit.numerics.by_part import by_part
from tacit.releases import Release, Terms

LossFor = Callable[[Budget | None, Rows], Loss]
"""The loss that fits a budget and rows: some fade with the noise."""

_LARGEST_ENTRY = 1e40


def logistic_for(budget: Budget | None, rows: Rows) -> Logistic:
    """Return the logistic loss of two classes, with the margin that fits the noise."""
    return Logistic(default_margin(budget, rows.dimension, rows.count, rows.filled))


@final
@dataclass(frozen=True)
class Fitted:
    """A coefficient and the noise in it, split into weights and intercepts, and how it came about."""

    weights: Floats
    intercepts: Floats
    weight_noise: Floats
    intercept_noise: Floats
    alpha: float
    margin: float
    release: Release[Floats]


ONE_SCORE: dict[str, Field] = {
    **FITTED,
    "coef_": Numbers("features"),
    "intercept_": Scalar(),
    "coef_noise_": Numbers("features", unknown=True),
    "intercept_noise_": Scalar(0.0, unknown=True),
}
"""What a linear model of one score keeps in a file."""


@dataclass(eq=False, repr=False, kw_only=True)
class LinearEstimator(Priced, BaseEstimator):  # type: ignore[misc]
    """What linear estimators share: most parameters, records read as clipped rows, the release, scores, effects."""

    data_norm: float | None = None
    alpha: float | Literal["auto"] = "auto"
    fit_intercept: bool = True
    largest_weight: float | None = None
    curves: bool | int | Literal["auto"] = "auto"
    interactions: Sequence[tuple[str, str]] | None = None

    _task: ClassVar[Task]
    _wide: ClassVar[tuple[str, ...]] = ("output",)
    _streams: ClassVar[int] = 0

    @np.errstate(all="ignore")
    def fit(self, X: Any, y: Any = None, sample_weight: Any = None, groups: Any = None) -> Self:
        """Fit the model to `Records`, or to rows X and their labels or targets y, charging the ledger once.

        `sample_weight` has a weight for each row, divided by `largest_weight` and clipped to [0, 1]; `groups` has the
        id of the person whose each row is: what is protected is then a person with all their rows.
        """
        check_told(getattr(self, "classes", None), X)
        return cast("Self", learn(self, X, y, self._task, sample_weight, groups))

    def _coding(self, records: Records) -> tuple[bool | int | tuple[int, float], Sequence[tuple[str, str]] | None]:
        """Return the curves that numbers of these records become, and the pairs of columns that interact."""
        if isinstance(self.curves, str) and self.curves == "auto":
            budget, scores = needed_budget(self.epsilon, self.delta), max(1, len(records.schema.classes) - 1)
            wide = getattr(self, "perturbation", "auto") in self._wide
            curves = default_curves(budget, records.schema, records.n, scores, wide)
            return False if curves is None else curves.plain, self.interactions
        if isinstance(self.curves, str):
            raise InvalidParameter(f"curves must be 'auto', False or a number of knots, got {self.curves!r}.")
        return self.curves, self.interactions

    @property
    def curves_(self) -> Effects:
        """The effect of every column over its values, with the noise in it; of models that learned from `Records`."""
        encoder = getattr(self, "encoder_", None)
        if encoder is None:
            raise AttributeError("curves_ is there after a fit to Records, whose schema says what columns mean.")
        return effects_of(encoder, self.coef_, getattr(self, "coef_noise_", None), self.intercept_, self._link(encoder))

    def _link(self, encoder: PublicEncoder) -> Link:
        """Return what effects are told in: the target's units, log-odds of two classes, else scores."""
        classes, margin = getattr(self, "classes_", None), getattr(self, "margin_", None)
        if classes is None:
            return Link(str(encoder.schema.target))
        return Link("score") if margin is None or len(classes) > 2 else Link("log-odds", margin)

    def _read(self, X: Any, y: Any, numeric: bool) -> tuple[Budget | None, Rows, Any]:
        """Return the budget, the rows, clipped, and the target of each."""
        budget = needed_budget(self.epsilon, self.delta)
        norm = known_norm(self.data_norm, X)
        if isinstance(X, StreamedRows):
            self.n_features_in_ = X.rows.shape[1]
            # Rows in a file are clipped, and end with a constant, as those in memory do.
            constant = INTERCEPT * norm if self.fit_intercept and not X.has_constant else None
            return budget, Rows.stored(X.rows, X.data_norm, norm, constant, X.filled), y
        data, targets = validated(self, X, y=y, order="C", y_numeric=numeric)
        return budget, private_rows(data, norm, self.fit_intercept, X), targets

    def _keep(self, fitted: Fitted, unit: float = 1.0, middle: float = 0.0) -> None:
        """Set the attributes of a model of one score, in which targets were counted from a middle in some unit."""
        self.coef_ = fitted.weights[0] * unit
        self.intercept_: Any = float(fitted.intercepts[0] * unit + middle)
        self.coef_noise_ = fitted.weight_noise[0] * unit
        self.intercept_noise_: Any = float(fitted.intercept_noise[0] * unit)
        self.alpha_, self.release_ = fitted.alpha, fitted.release

    def _terms(self, rows: Rows, assumed: str) -> Terms:
        """Return what a fit is charged to, what is assumed of targets, and which public numbers weighed rows."""
        terms, by_class, largest = Terms.of(self, assumed), getattr(self, "class_weight", None), self.largest_weight
        if by_class is not None:
            terms = terms.and_also(f"class weights {dict(by_class)}")
        return terms if rows.shares is None or largest is None else terms.and_also(f"largest weight {largest:g}")

    @np.errstate(all="ignore")
    def _scores(self, X: Any) -> Floats:
        """Return the score of every row, for every row of coefficients if there are several."""
        check_is_fitted(self)
        alone = stand_alone(X)

        def score(rows: Any) -> Floats:
            return np.asarray(scored(validated(self, rows, reset=False), self.coef_, alone) + self.intercept_)

        return in_lots(self, X, score)

    def intervals(self, confidence: float = 0.95) -> tuple[Floats, Floats]:
        """Return ends between which `coef_` would lie without noise, each coefficient for itself, at this confidence.

        Like `coef_noise_` they are about the noise alone: not about how far these records stand for others. They cost
        nothing, and are wide where the ridge is small (perturbations/noise.md, "Intervals").
        """
        confidence = checked_confidence(confidence)
        check_is_fitted(self)
        width = float(ndtri((1 + confidence) / 2))
        budget = self.release_.budget
        if budget is not None and budget.is_pure:
            # A coordinate of spherical Laplace noise has lighter tails than Laplace noise of the same deviation.
            width = max(math.log(1 / (1 - confidence)) / math.sqrt(2), width)
        return self.coef_ - width * self.coef_noise_, self.coef_ + width * self.coef_noise_

    def summary(self, most: int = 40) -> str:
        """Return a table of the coefficients beside the noise in them, the clearest first, and the guarantee."""
        return summary_of(self, most)


def private_rows(X: Any, norm: float, fit_intercept: bool, original: object) -> Rows:
    """Clip rows to the norm and end them with a constant, unless they have one already."""
    has_constant = isinstance(original, BoundedRows) and original.has_constant
    constant = INTERCEPT * norm if fit_intercept and not has_constant else None
    return Rows.clipped(_tamed(X, _LARGEST_ENTRY * norm), norm, constant, stated_filled(original))


def signs(indices: Any) -> Any:
    """Return +1 for the second of two classes, -1 for the first."""
    return by_part(lambda part: np.where(part == 1, 1.0, -1.0), indices)


def _tamed(X: Any, largest: float) -> Any:
    """Clamp entries that dwarf the norm: like clipping, a change of each record by itself.

    Their squares could overflow, and the squares of the factors that clip them vanish.
    """
    entries = X.data if issparse(X) else X
    if entries.size == 0 or max(-entries.min(), entries.max()) < largest:
        return X
    if not issparse(X):
        return np.clip(X, -largest, largest)
    clamped = X.copy()
    clamped.data = np.clip(entries, -largest, largest)
    return clamped


def fit_linear(
    rows: Rows,
    targets: NDArray[Any],
    loss: Loss,
    budget: Budget | None,
    perturbation: str,
    alpha: float | Literal["auto"],
    terms: Terms,
) -> Fitted:
    """Fit a linear model privately; without a budget, fit the same model without privacy."""
    if budget is None:
        refuse_ledger(terms.ledger)
        plain, used = _plain(rows, targets, loss, alpha)
        return split(rows, plain, 0.0, used, loss.margin)
    setting = Setting.of(rows, loss)
    mechanism = perturbation_for(perturbation, budget, setting, alpha)
    objective = Objective(rows, targets, loss, mechanism.alpha)
    ridge = f"alpha={mechanism.alpha:.6g}"
    if not is_auto(alpha) and mechanism.alpha > checked_alpha(alpha):
        ridge += f" (raised from {checked_alpha(alpha):g}, which the guarantee needs)"
    if terms.random_state is None:
        signal = setting.slope * setting.norm / mechanism.alpha
        noise = mechanism.coefficient_noise(objective) * setting.norm
        warn_of_noise(noise, signal, budget, setting.count, setting.dimension)
    public = (*setting.public, ridge, *terms.assumed)
    found = replace(terms, assumed=public).release(mechanism, objective, unit=rows.whom)
    return split(rows, found, mechanism.coefficient_noise(objective), mechanism.alpha, mechanism.loss.margin)


def _plain(
    rows: Rows, targets: NDArray[Any], loss: Loss, alpha: float | Literal["auto"]
) -> tuple[Release[Floats], float]:
    """Minimise without noise: the ordinary model, never called private."""
    slope = loss.for_gradients.lipschitz
    ridge = least_alpha(slope, rows.norm, rows.count) if is_auto(alpha) else checked_alpha(alpha)
    objective = Objective(rows, targets, loss, ridge)
    tolerance = max(1e-10 * loss.lipschitz * rows.norm, 2 * smallest_tolerance(objective))
    return Release(solve(objective, tolerance).coefficient, None, None, (), private=False, entry=None), ridge


def split(rows: Rows, found: Release[Floats], noise: Floats | float, alpha: float, margin: float = 0.0) -> Fitted:
    """Take a coefficient, and the noise in it, apart into weights and intercepts."""
    stacked = np.atleast_2d(found.value)
    noises = np.broadcast_to(np.atleast_2d(noise), stacked.shape).copy()
    if rows.constant is None:
        return Fitted(stacked, np.zeros(len(stacked)), noises, np.zeros(len(stacked)), alpha, margin, found)
    intercepts, intercept_noise = stacked[:, -1] * rows.constant, noises[:, -1] * rows.constant
    return Fitted(stacked[:, :-1].copy(), intercepts, noises[:, :-1].copy(), intercept_noise, alpha, margin, found)
