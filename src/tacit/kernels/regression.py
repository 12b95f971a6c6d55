"""Private kernel regression with scikit-learn manners, over public landmarks."""

from dataclasses import KW_ONLY, dataclass, replace
from typing import Any, Literal, final

import numpy as np

from tacit.erm.losses.standard import HuberRegression
from tacit.errors import InvalidParameter
from tacit.estimators.exact_scores import ExactR2
from tacit.estimators.parameters import needed_budget
from tacit.estimators.saving.fields import Scalar
from tacit.estimators.weighing import Weighing
from tacit.kernels.estimator import KernelEstimator
from tacit.kernels.fit.reading import needed_kernel, read_records, read_targets
from tacit.kernels.released.model import METHODS
from tacit.numerics.arrays import Floats


@final
@dataclass(eq=False, repr=False)
class PrivateKernelRegressor(ExactR2, KernelEstimator):
    """Regression with a kernel on clipped targets, released as a model over public points.

    Guarantee: the fitted model is (epsilon, delta)-private for replace-one neighbours, pure when delta is 0.
    Assumes: as `PrivateKernelClassifier`, with `target_range` (targets are clipped to it) in place of the classes.
    Reference: tacit/kernels/released/semi_interactive.md.

    `loss` is "absolute" (Huber's, every method) or "squared" (methods "tddl", "matched" and "tdil"). The other
    parameters are those of `PrivateKernelClassifier`.

    Attributes
    ----------
    middle_, scale_ : the middle and half the length of `target_range`, by which targets are brought to [-1, 1].
    model_, domain_, curves_, alpha_, release_, encoder_ : as for `PrivateKernelClassifier`.
    """

    _: KW_ONLY
    target_range: tuple[float, float] | None = None
    loss: Literal["absolute", "squared"] = "absolute"

    task = "regression"
    saved = replace(KernelEstimator.saved.and_also(middle_=Scalar(), scale_=Scalar()), sizes={"scores": 1})

    def _learn(self, X: Any, y: Any, weighing: Weighing) -> None:
        budget = needed_budget(self.epsilon, self.delta)
        if self.loss not in ("absolute", "squared") or (self.loss == "squared" and self.method in METHODS[:2]):
            raise InvalidParameter(
                "loss must be 'absolute', or 'squared' with method 'tddl', 'matched' or 'tdil', "
                f"got {self.loss!r} with method={self.method!r}."
            )
        domain, records, values = read_records(self, needed_kernel(self.kernel), self.data_norm, X, y, regression=True)
        targets = read_targets(values, None, self.target_range, regression=True)
        found = self._release(
            domain, X, records, targets.values, lambda *_: HuberRegression(1.0, 1.0), budget, targets.assumed, weighing
        )
        self.middle_, self.scale_ = targets.middle, targets.scale
        self.domain_, self.model_, self.alpha_, self.release_ = domain, found.model, found.alpha, found.release

    @np.errstate(all="ignore")
    def predict(self, X: Any) -> Floats:
        """Return the predicted target of every row."""
        return self._effect(X).ravel() + self.middle_

    def _effect(self, X: Any) -> Floats:
        """Return how far predictions lie from the middle of the targets' range, in the targets' own units."""
        return self._scores(X) * self.scale_
