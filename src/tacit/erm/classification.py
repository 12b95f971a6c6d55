"""Linear classifiers with scikit-learn manners."""

from collections.abc import Mapping
from dataclasses import KW_ONLY, dataclass
from typing import Any, ClassVar, Literal, final

import numpy as np
from numpy.typing import ArrayLike

from tacit.checks import finite_number
from tacit.erm.fitting import LinearEstimator, LossFor, fit_linear, logistic_for, signs
from tacit.erm.losses.softmax import Softmax
from tacit.erm.losses.standard import Hinge, HuberHinge
from tacit.erm.perturbations.defaults import Kind
from tacit.errors import InvalidParameter
from tacit.estimators.classes import known_classes
from tacit.estimators.probabilities import ClassifierOfScores, probabilities
from tacit.estimators.saving.declared import FITTED, LABELS
from tacit.estimators.saving.fields import Numbers, Saved, Scalar
from tacit.estimators.weighing import Weighing, by_class, class_factors
from tacit.numerics.arrays import Floats


@dataclass(eq=False, repr=False)
class _LinearClassifier(ClassifierOfScores, LinearEstimator):
    """Scores, predictions and the common course of a fit."""

    epsilon: float | None = None
    delta: float = 0.0
    _: KW_ONLY
    perturbation: Kind = "auto"
    classes: ArrayLike | None = None
    class_weight: Mapping[Any, float] | None = None

    _task = "classification"
    saved: ClassVar[Saved] = Saved(
        {
            **FITTED,
            "classes_": LABELS,
            "coef_": Numbers("scores", "features"),
            "intercept_": Numbers("scores"),
            "coef_noise_": Numbers("scores", "features", unknown=True),
            "intercept_noise_": Numbers("scores", unknown=True),
        }
    )

    def _fit(self, X: Any, y: Any, weighing: Weighing, binary: LossFor, joint: type[Softmax] | None) -> float:
        """Set the fitted attributes; return the margin that was used."""
        budget, rows, labels = self._read(X, y, numeric=False)
        classes, indices, assumed = known_classes(self.classes, labels, np.inf if joint else 2)
        factors = class_factors(self.class_weight, classes)
        rows = rows.weighed(weighing.shares(rows.length, by_class(factors, indices)))
        several = len(classes) if len(classes) > 2 else 0
        loss = joint(several) if joint and several else binary(budget, rows)
        targets = indices if several else signs(indices)
        terms = self._terms(rows, assumed)
        fitted = fit_linear(rows, targets, loss, budget, self.perturbation, self.alpha, terms)
        self.classes_ = classes
        self.coef_ = fitted.weights
        self.intercept_ = fitted.intercepts
        self.coef_noise_ = fitted.weight_noise
        self.intercept_noise_ = fitted.intercept_noise
        self.alpha_ = fitted.alpha
        self.release_ = fitted.release
        return fitted.margin


@final
class PrivateLogisticRegression(_LinearClassifier):
    """Logistic regression: two classes, or several jointly (softmax).

    A private fit of two classes minimises log(1 + exp(a - m)), m the margin, under which a record counts in full until
    it is on the right side by some distance: the noise is made for records that count in full, whether they do or not.
    a follows from n, the number of columns, epsilon and delta: 3 where there is much noise, and nothing where there is
    little. Noisy gradients of several classes have such a margin too. `margin_` says how much was used, and
    `predict_proba` accounts for it (docs/decisions/0005-a-margin-in-the-loss.md, 0015-defaults-by-three-scores.md).
    `PrivateERM(Logistic(), ...)` fits the ordinary loss.

    Guarantee: the fitted coefficients are (epsilon, delta)-private for replace-one neighbours, pure when delta is 0;
    for `groups`, or records with a unit, neighbours differ in all the rows of one person.
    Assumes: public are n, or who the persons are, the number of features, `data_norm` (rows are clipped
    to it), and the classes; when `classes` is None the set of labels in y is taken to be public knowledge.
    Reference: tacit/erm/perturbations/perturbation.md.

    Parameters
    ----------
    epsilon, delta : the budget of one fit; an infinite epsilon gives the ordinary model, without privacy.
    perturbation : "objective", "output", "gradient" (needs delta > 0), or "auto": objective for two classes and when
        delta is 0, else gradient, whose passes over the rows grow with the root of their number beyond 2,000 columns.
    data_norm : the L2 norm that rows are clipped to; may be left out behind a `PublicEncoder`.
    alpha : the ridge in mean loss + alpha/2 |w|^2; "auto" uses n, the number of features, epsilon, delta and
        data_norm. It is raised where the guarantee needs it; `alpha_` says what was used.
    fit_intercept : whether rows end with a constant (regularised like the rest).
    classes : the labels that can occur; declare them.
    class_weight : public numbers by class, divided by the largest of them; classes that are left out weigh 1.
    largest_weight : the largest `sample_weight` that a row can have; needed with sample weights.
    ledger : the account to charge, before anything is released.
    random_state : a seed makes a rehearsal: repeatable, not private, never charged.
    curves : how far numbers of `Records` bend: a number of knots over their declared scale, False for straight lines,
        "auto" for what n, the number of columns, epsilon and delta allow. `curves_` shows each column's effect.
    interactions : pairs of columns of `Records` whose products count too, such as [("age", "hours")].

    Attributes
    ----------
    coef_, intercept_ : one row, and one number, for each score; two classes have one score, for the second.
    coef_noise_, intercept_noise_ : bounds on the standard deviation of the noise in each; estimates for gradients.
    curves_ : each column's effect in its own units, with its noise; of models of `Records`.
    classes_ : the classes, sorted, but for the positive one that the schema of `Records` declares, which is last.
    alpha_, margin_ : the ridge and the margin that were used.
    release_ : what was promised, charged and taken to be public.
    encoder_ : what codes the records; None for a model of arrays.
    n_features_in_, feature_names_in_ : as in scikit-learn; names where X had any.
    """

    saved = _LinearClassifier.saved.and_also(margin_=Scalar(0, 100))

    def _learn(self, X: Any, y: Any, weighing: Weighing) -> None:
        self.margin_ = self._fit(X, y, weighing, logistic_for, Softmax)

    def predict_proba(self, X: Any) -> Floats:
        """Return the probability of every class for every row."""
        return probabilities(self.decision_function(X), self.margin_)

    def predict_log_proba(self, X: Any) -> Floats:
        """Return the logarithm of the probability of every class for every row."""
        return np.log(np.maximum(self.predict_proba(X), np.finfo(np.float64).tiny))


@final
@dataclass(eq=False, repr=False, kw_only=True)
class PrivateLinearSVC(_LinearClassifier):
    """Linear support-vector classification of two classes.

    For several classes use `PrivateLogisticRegression` (docs/decisions/0024-support-vectors-of-several-classes.md).

    Guarantee: the fitted coefficients are (epsilon, delta)-private for replace-one neighbours, pure when delta is 0.
    Assumes: as `PrivateLogisticRegression`.
    Reference: tacit/erm/perturbations/perturbation.md.

    `loss` is "huber" (the hinge rounded within `width` of its corner; every perturbation) or "hinge" (only
    perturbation="output"). The other parameters are those of `PrivateLogisticRegression`.

    Attributes
    ----------
    coef_, intercept_, classes_, alpha_ : as for `PrivateLogisticRegression`, and so are all others.
    """

    loss: Literal["huber", "hinge"] = "huber"
    width: float = 0.5

    def _learn(self, X: Any, y: Any, weighing: Weighing) -> None:
        if self.loss not in ("huber", "hinge"):
            raise InvalidParameter(f"loss must be 'huber' or 'hinge', got {self.loss!r}.")
        width = finite_number("width", self.width)
        if not 1e-6 <= width <= 1e6:
            raise InvalidParameter(f"width must lie between 1e-6 and 1e6, got {self.width!r}.")
        self._fit(X, y, weighing, lambda budget, rows: HuberHinge(width) if self.loss == "huber" else Hinge(), None)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_class = False
        return tags
