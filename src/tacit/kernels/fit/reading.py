"""What kernel learners share: reading records, losses by name, and a certified model with its sensitivity."""

import math
from dataclasses import dataclass
from typing import Any, Literal, final

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import issparse
from sklearn.base import BaseEstimator

from tacit.data.labels import column
from tacit.data.store.lazy_rows import StreamedRows
from tacit.erm.losses.loss import PointwiseLoss
from tacit.erm.losses.standard import Hinge, HuberHinge, Logistic
from tacit.erm.perturbations.setting import Setting
from tacit.erm.rows.rows import Rows
from tacit.erm.solver.objective import Objective
from tacit.erm.solver.solve import smallest_tolerance, solve
from tacit.errors import InvalidParameter
from tacit.estimators.classes import Declared, known_classes
from tacit.estimators.encoded import rows_of, stand_alone
from tacit.estimators.parameters import known_norm, known_range
from tacit.estimators.tables import numeric_targets, validated
from tacit.kernels.fit.minimise import minimise
from tacit.kernels.fit.problem import (
    KernelModel,
    KernelProblem,
    LinearModel,
    check_alpha,
    tolerance_for,
)
from tacit.kernels.kernel.custom import FunctionKernel, anew, check_proven, is_proven
from tacit.kernels.kernel.domain import Domain
from tacit.kernels.kernel.kernel import Constant, Kernel, Product, Sum, size_of
from tacit.kernels.maps.landmarks import Landmarks, listed
from tacit.numerics.arrays import Floats
from tacit.numerics.by_part import Elsewhere, by_part

CLASSIFICATION = {"logistic": Logistic(), "huber": HuberHinge(0.5), "hinge": Hinge()}
LOSSES = (*CLASSIFICATION, "squared", "absolute")
Alpha = float | Literal["auto"]


@final
@dataclass(frozen=True, eq=False)
class Certified:
    """A secret model whose w is within a public distance of the exact minimiser, with public bounds on it."""

    domain: Domain
    model: KernelModel | LinearModel
    sensitivity: float
    value_error: float
    size: float

    @property
    def reach(self) -> float:
        """A bound on the size of a value."""
        return self.size * self.domain.radius * (1 + 2.0**-40)


@final
@dataclass(frozen=True, eq=False)
class Targets:
    """Targets as the loss takes them, and how scores become answers again."""

    values: Floats
    classes: NDArray[Any] | None
    middle: float
    scale: float
    assumed: str


def needed_kernel(kernel: object) -> Kernel:
    """Return the kernel, tacit's own ones built anew; there is none by default."""
    if not isinstance(kernel, Kernel):
        raise InvalidParameter(
            f"kernel must be a kernel such as RBF(1.0) or Polynomial(3, constant=1.0), got {type(kernel).__name__}."
        )
    return anew(kernel)


def read_records(
    estimator: BaseEstimator, kernel: Kernel, data_norm: object, X: Any, y: Any, regression: bool = False
) -> tuple[Domain, Any, Any]:
    """Return the domain, validated records and raw targets."""
    if not kernel.vectors:
        records, labels = listed(X), column(y)
        if len(labels) != len(records) or not records:
            raise InvalidParameter("there must be one target for each record, and at least one record.")
        return Domain(kernel, 1.0, 0), records, labels
    norm = known_norm(data_norm, X)
    if isinstance(X, StreamedRows):
        estimator.n_features_in_ = X.rows.shape[1]
        return Domain(kernel, norm, X.rows.shape[1]), X, y
    data, labels = validated(estimator, X, y=y, order="C", y_numeric=regression)
    return Domain(kernel, norm, data.shape[1]), data, labels


def read_points(estimator: BaseEstimator, domain: Domain, Z: Any) -> Any:
    """Return points to ask about, clipped like records."""
    rows = rows_of(estimator, Z)
    if not domain.vectors:
        return domain.clipped(listed(rows))
    data = validated(estimator, rows, reset=False, order="C")
    return domain.clipped(data.toarray() if issparse(data) else data)


def read_targets(labels: NDArray[Any], classes: Declared | None, target_range: object, regression: bool) -> Targets:
    """Return targets for a loss of margins, or clipped to [-1, 1] for a loss of residuals."""
    if not regression:
        known, indices, assumed = known_classes(classes, labels, 2)
        return Targets(np.where(indices == 1, 1.0, -1.0), known, 0.0, 1.0, assumed)
    low, high = known_range(target_range)
    middle, scale = low + (high - low) / 2, (high - low) / 2
    read = labels if isinstance(labels, Elsewhere) else numeric_targets(labels)
    values = by_part(lambda part: np.clip((np.clip(part, low, high) - middle) / scale, -1.0, 1.0), read)
    return Targets(values, None, middle, scale, f"targets within ({low:g}, {high:g})")


def certified_model(
    domain: Domain, records: Any, targets: Floats, loss: PointwiseLoss, alpha: float, landmarks: Landmarks | None
) -> Certified:
    """Fit the exact kernel model, or with landmarks the model restricted to their span.

    Guarantee: replacing one record moves the computed w by at most `sensitivity` in the feature space.
    Assumes: the loss has its declared constants. Nothing of the kernel: without landmarks it must be one whose formula
    is known, with landmarks it is any function of two records.
    Reference: predictor.md, "Sensitivity".
    """
    count = size_of(records)
    if landmarks is None:
        check_proven(domain.kernel)
        check_alpha(domain, loss, alpha)
        # The model keeps records: as they are now, whatever a caller does with theirs later.
        clipped = domain.clipped(records).copy()
        tolerance = tolerance_for(domain, count, loss, alpha)
        weights = minimise(KernelProblem.of(domain, clipped, targets, loss, alpha), tolerance)
        return _certified(KernelModel(domain, clipped, weights), count, loss, alpha, tolerance)
    features = landmarks.features(records, count if stand_alone() else None)
    return certified_linear(landmarks.inner_domain, features, targets, loss, alpha)


def foreseen(domain: Domain, count: int, loss: PointwiseLoss, alpha: float) -> Certified:
    """Return the public bounds that `certified_model` will come with, about a model of nothing: no record is solved."""
    check_proven(domain.kernel)
    check_alpha(domain, loss, alpha)
    empty = KernelModel(domain, np.zeros((0, domain.width)), np.zeros(0))
    return _certified(empty, count, loss, alpha, tolerance_for(domain, count, loss, alpha))


def certified_linear(
    domain: Domain, features: NDArray[Any], targets: Floats, loss: PointwiseLoss, alpha: float
) -> Certified:
    """Fit a linear model of features, clipped to the domain's norm, to any number of records.

    Guarantee: as `certified_model`.
    Assumes: as `certified_model`.
    Reference: predictor.md, "Sensitivity".
    """
    rows = Rows.clipped(features, domain.norm)
    Setting.of(rows, loss).require_solvable(alpha)
    objective = Objective(rows, targets, loss, alpha)
    tolerance = max(1e-3 * loss.lipschitz * rows.norm / rows.count, 2 * smallest_tolerance(objective))
    linear = LinearModel(domain, solve(objective, tolerance).coefficient)
    return _certified(linear, rows.count, loss, alpha, tolerance)


def size_bound(loss: PointwiseLoss, radius: float, alpha: float) -> float:
    """Bound the norm of every minimiser by public quantities: C = min(L R/alpha, sqrt(2 loss(0)/alpha))."""
    return 1.001 * min(loss.lipschitz * radius / alpha, math.sqrt(2 * loss.at_zero / alpha))


def _certified(
    model: KernelModel | LinearModel, count: int, loss: PointwiseLoss, alpha: float, tolerance: float
) -> Certified:
    radius = model.domain.radius
    moved = 2 * (loss.lipschitz * radius / count + tolerance) / alpha * (1 + 2.0**-40)
    size = size_bound(loss, radius, alpha) + tolerance / alpha
    error = model.accuracy(1.01 * loss.lipschitz / alpha if isinstance(model, KernelModel) else size)
    return Certified(model.domain, model, moved, error, size)


def public_facts(domain: Domain, loss: str, targets: str) -> tuple[str, ...]:
    """Return what every kernel model assumes: its kernel and bound, the records' form, the loss and the targets."""
    rows = (f"{domain.width} columns", f"rows clipped to norm {domain.norm:g}") if domain.vectors else ()
    return f"kernel {_described(domain.kernel)}", f"K(x, x) <= {domain.square:g}", *rows, f"{loss} loss", targets


def _described(kernel: Kernel) -> str:
    if type(kernel) is Sum:
        return f"{_described(kernel.first)} + {_described(kernel.second)}"
    if type(kernel) is Product:
        return f"({_described(kernel.first)}) * ({_described(kernel.second)})"
    if type(kernel) is Constant:
        return f"{kernel.value:g}"
    if type(kernel) is FunctionKernel:
        return "of a user's function of two records alone"
    return repr(kernel) if is_proven(kernel) else f"{type(kernel).__name__}, a user's function of two records alone"
