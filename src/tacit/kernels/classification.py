"""Private kernel classification with scikit-learn manners, over public landmarks."""

from collections.abc import Mapping
from dataclasses import KW_ONLY, dataclass
from typing import Any, Literal, final

import numpy as np
from numpy.typing import ArrayLike

from tacit.budget import Budget
from tacit.erm.fitting import logistic_for, signs
from tacit.erm.losses.loss import Loss
from tacit.erm.losses.softmax import Softmax
from tacit.erm.rows.rows import Rows
from tacit.errors import InvalidParameter
from tacit.estimators.classes import known_classes
from tacit.estimators.parameters import needed_budget
from tacit.estimators.probabilities import ClassifierOfScores, probabilities
from tacit.estimators.saving.declared import LABELS
from tacit.estimators.saving.fields import Scalar
from tacit.estimators.weighing import Weighing, by_class, class_factors
from tacit.kernels.estimator import KernelEstimator
from tacit.kernels.fit.reading import CLASSIFICATION, needed_kernel, read_records
from tacit.kernels.released.model import METHODS
from tacit.numerics.arrays import Floats


@final
@dataclass(eq=False, repr=False)
class PrivateKernelClassifier(ClassifierOfScores, KernelEstimator):
    """Classification with a kernel, released as a model over public points that holds no training record.

    Guarantee: the fitted model is (epsilon, delta)-private for replace-one neighbours, pure when delta is 0.
    Assumes: public are n, the number of features, `data_norm` (rows are clipped to it), the kernel, the landmarks and
    the classes; landmarks are no training records. Landmarks that happen to equal training rows cannot be refused
    without telling so: take them from a public source.
    Reference: tacit/kernels/released/semi_interactive.md.

    Parameters
    ----------
    kernel : a kernel, e.g. RBF(1.0) or Polynomial(3, constant=1.0); add a number for an intercept. One of your own is
        for method "landmarks".
    epsilon, delta : the budget of one fit; an infinite epsilon gives the ordinary model, without privacy.
    landmarks : public points like the records, best an unlabelled public sample of them; or a number of points to
        spread over the ball of radius `data_norm` (for "fourier" the number of features, for "tdil" the net, or its
        size).
    method : "landmarks" (a linear model of coordinates with respect to the landmarks), "fourier" (of Fourier features),
        the exact kernel model's noisy answers at the landmarks, "matched" (noise shaped like the kernel) or "tddl"
        (independent Laplace noise, as published); or "tdil", which measures it at points of a net, or of the ball for
        the linear kernel, that show the largest errors. Where these answers would be noise by public facts alone, the
        fit is refused before its charge, or warned of if alpha was given.
    rounds : for "tdil", how many points are measured.
    perturbation : for "landmarks" and "fourier": "auto" is "objective", or "output" for the hinge.
    loss : "logistic" (two classes, with the margin of `PrivateLogisticRegression` for "landmarks" and "fourier", or
        several jointly), "huber" or "hinge" (two classes).
    data_norm, alpha, classes, class_weight, largest_weight, ledger, random_state : as for `PrivateLogisticRegression`.

    Attributes
    ----------
    model_ : what predicts: weights of public points or frequencies.
    domain_ : the kernel with its bound, the norm and the width of rows.
    curves_ : each column's effect, on average over made-up records that differ in the others; of models of `Records`.
    classes_, alpha_, margin_, release_, encoder_, n_features_in_, feature_names_in_ : as
        for `PrivateLogisticRegression`.
    """

    _: KW_ONLY
    loss: Literal["logistic", "huber", "hinge"] = "logistic"
    classes: ArrayLike | None = None
    class_weight: Mapping[Any, float] | None = None

    task = "classification"
    saved = KernelEstimator.saved.and_also(classes_=LABELS, margin_=Scalar(0, 100))

    def _learn(self, X: Any, y: Any, weighing: Weighing) -> None:
        budget = needed_budget(self.epsilon, self.delta)
        if self.loss not in CLASSIFICATION:
            raise InvalidParameter(f"loss must be one of {', '.join(CLASSIFICATION)}, got {self.loss!r}.")
        domain, records, labels = read_records(self, needed_kernel(self.kernel), self.data_norm, X, y)
        classes, indices, assumed = known_classes(self.classes, labels, np.inf if self._joint else 2)
        factors = class_factors(self.class_weight, classes)
        several = len(classes) > 2

        def loss_for(budget: Budget | None, rows: Rows) -> Loss:
            if several:
                return Softmax(len(classes))
            return logistic_for(budget, rows) if self._joint else CLASSIFICATION[self.loss]

        targets, counted = indices if several else signs(indices), by_class(factors, indices)
        found = self._release(domain, X, records, targets, loss_for, budget, assumed, weighing, counted)
        self.classes_ = classes
        self.margin_ = found.margin
        self.domain_, self.model_, self.alpha_, self.release_ = domain, found.model, found.alpha, found.release

    @property
    def _joint(self) -> bool:
        """Whether several classes are fitted jointly."""
        return self.loss == "logistic" and self.method in METHODS[:2]

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_class = self._joint
        return tags

    @np.errstate(all="ignore")
    def predict_proba(self, X: Any) -> Floats:
        """Return the probability of every class for every row, as the logistic loss with its margin reads scores."""
        return probabilities(self.decision_function(X), self.margin_)
