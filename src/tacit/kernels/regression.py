"""Private kernel regression with scikit-learn manners, over public landmarks."""

from typing import Any, Literal, Self, cast, final

import numpy as np
from sklearn.base import RegressorMixin

from tacit.accounting.ledger import Ledger
from tacit.erm.losses.standard import HuberRegression
from tacit.erm.perturbations.defaults import Kind
from tacit.errors import InvalidParameter
from tacit.estimators.encoded import learn
from tacit.estimators.parameters import needed_budget
from tacit.kernels.estimator import KernelEstimator
from tacit.kernels.fit.reading import Alpha, needed_kernel, read_records, read_targets
from tacit.kernels.kernel.kernel import Kernel
from tacit.kernels.released.model import METHODS, Method
from tacit.numerics.arrays import Floats


@final
class PrivateKernelRegressor(RegressorMixin, KernelEstimator):  # type: ignore[misc]
    """Regression with a kernel on clipped targets, released as a model over public points.

    Guarantee: the fitted model is (epsilon, delta)-private for replace-one neighbours, pure when delta is 0.
    Assumes: as `PrivateKernelClassifier`, with `target_range` (targets are clipped to it) in place of the classes.
    Reference: tacit/kernels/released/semi_interactive.md.

    `loss` is "absolute" (Huber's, every method) or "squared" (methods "tddl", "matched" and "tdil"). The other
    parameters are those of `PrivateKernelClassifier`.
    """

    def __init__(
        self,
        kernel: Kernel | None = None,
        epsilon: float | None = None,
        delta: float = 0.0,
        *,
        target_range: tuple[float, float] | None = None,
        landmarks: Any = 100,
        method: Method = "landmarks",
        perturbation: Kind = "auto",
        rounds: int = 20,
        loss: Literal["absolute", "squared"] = "absolute",
        data_norm: float | None = None,
        alpha: Alpha = "auto",
        ledger: Ledger | None = None,
        random_state: object = None,
    ) -> None:
        self.kernel = kernel
        self.epsilon = epsilon
        self.delta = delta
        self.target_range = target_range
        self.landmarks = landmarks
        self.method = method
        self.perturbation = perturbation
        self.rounds = rounds
        self.loss = loss
        self.data_norm = data_norm
        self.alpha = alpha
        self.ledger = ledger
        self.random_state = random_state

    @np.errstate(all="ignore")
    def fit(self, X: Any, y: Any = None) -> Self:
        """Fit the model, charging the ledger once."""
        return cast("Self", learn(self, X, y, "regression"))

    def _learn(self, X: Any, y: Any) -> None:
        budget = needed_budget(self.epsilon, self.delta)
        if self.loss not in ("absolute", "squared") or (self.loss == "squared" and self.method in METHODS[:2]):
            raise InvalidParameter(
                "loss must be 'absolute', or 'squared' with method 'tddl', 'matched' or 'tdil', "
                f"got {self.loss!r} with method={self.method!r}."
            )
        domain, records, values = read_records(self, needed_kernel(self.kernel), self.data_norm, X, y, regression=True)
        targets = read_targets(values, None, self.target_range, regression=True)
        loss = HuberRegression(1.0, 1.0)
        found = self._release(domain, X, records, targets.values, loss, budget, targets.assumed)
        self._range = targets.middle, targets.scale
        self._keep(domain, found)

    @np.errstate(all="ignore")
    def predict(self, X: Any) -> Floats:
        """Return the predicted target of every row."""
        scores = self._scores(X).ravel()
        middle, scale = self._range
        return scores * scale + middle
