"""Private empirical risk minimisation for a convex loss of your own."""

from collections.abc import Mapping
from dataclasses import KW_ONLY, dataclass, replace
from typing import Any, ClassVar, final

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tacit.erm.fitting import ONE_SCORE, LinearEstimator, fit_linear, signs
from tacit.erm.losses.check import check_loss
from tacit.erm.losses.loss import PointwiseLoss
from tacit.erm.losses.standard import Hinge, HuberHinge, HuberRegression, Logistic
from tacit.erm.losses.tabulated import Tabulated
from tacit.erm.perturbations.defaults import Kind
from tacit.errors import InvalidParameter
from tacit.estimators.classes import known_classes
from tacit.estimators.encoded import Task
from tacit.estimators.saving.declared import LABELS
from tacit.estimators.saving.fields import Optional, Saved, choice
from tacit.estimators.weighing import Weighing, by_class, class_factors
from tacit.numerics.arrays import Floats

_LOSSES = {"logistic": Logistic, "huber-hinge": HuberHinge, "hinge": Hinge, "huber-regression": HuberRegression}


@final
@dataclass(eq=False, repr=False)
class PrivateERM(LinearEstimator):
    """A linear model under any convex loss that declares its constants (the 2008 paper's Theorem 3, corrected).

    Guarantee: the fitted coefficients are (epsilon, delta)-private for replace-one neighbours, pure when delta is 0,
    whatever the loss does: of one that is not the library's own, only its derivative at fixed points is used.
    Assumes: as `PrivateLogisticRegression`.
    Reference: tacit/erm/perturbations/perturbation.md, "Losses from outside".

    `loss` is a `tacit.erm.PointwiseLoss`: of kind "margin" for two classes, of kind "residual" for a number, which is
    clipped to the loss's `largest_target`. What is taken from a loss of your own, and how exactly, is in
    docs/decisions/0007-custom-losses.md. The other parameters are those of `PrivateLogisticRegression`.

    Attributes
    ----------
    coef_, intercept_ : a number for each feature, and one more.
    coef_noise_, intercept_noise_, curves_, classes_, alpha_, release_, encoder_ : as for `PrivateLogisticRegression`.
    """

    loss: PointwiseLoss | None = None
    epsilon: float | None = None
    delta: float = 0.0
    _: KW_ONLY
    perturbation: Kind = "auto"
    classes: ArrayLike | None = None
    class_weight: Mapping[Any, float] | None = None

    saved: ClassVar[Saved] = Saved(
        {**ONE_SCORE, "classes_": Optional(LABELS)},
        {"loss": choice("a loss of your own, which is code", _LOSSES)},
    )

    @property
    def _task(self) -> Task:  # type: ignore[override]
        return "classification" if getattr(self.loss, "kind", "margin") == "margin" else "regression"

    def _learn(self, X: Any, y: Any, weighing: Weighing) -> None:
        loss = _usable(self.loss)
        is_margin = loss.kind == "margin"
        budget, rows, targets = self._read(X, y, numeric=not is_margin)
        assumed, factors = "targets within the loss's bound", None
        if is_margin:
            classes, indices, assumed = known_classes(self.classes, targets, most=2)
            targets, factors = signs(indices), class_factors(self.class_weight, classes)
        elif self.class_weight is not None:
            raise InvalidParameter("class_weight is for losses of margins: a regression has no classes.")
        rows = rows.weighed(weighing.shares(rows.length, by_class(factors, indices) if is_margin else None))
        terms = self._terms(rows, assumed)
        fitted = fit_linear(rows, targets, loss, budget, self.perturbation, self.alpha, terms)
        if is_margin:
            self.classes_ = classes
        self._keep(fitted)

    def decision_function(self, X: Any) -> Floats:
        """Return the score of every row."""
        return self._scores(X)

    def predict(self, X: Any) -> NDArray[Any]:
        """Return the class of every row, or the number predicted for it."""
        scores = self.decision_function(X)
        if hasattr(self, "classes_"):
            return np.asarray(self.classes_[(scores > 0).astype(np.intp)])
        return scores


def _usable(loss: object) -> PointwiseLoss:
    """Return a loss of the library's own anew from its parameters; a table of any other that keeps its declarations."""
    check_loss(loss)  # type: ignore[arg-type]
    if type(loss) in _LOSSES.values():
        return replace(loss)  # type: ignore[type-var,return-value]
    return Tabulated.of(loss)  # type: ignore[arg-type]
