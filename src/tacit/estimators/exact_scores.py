"""Exact scores say that they are exact: what scikit-learn computes from private rows is neither private nor charged.

`score` of every estimator warns, once a call; so does a prediction that scikit-learn makes something exact of: for a
scorer in `cross_val_score(..., scoring=...)`, a display made `from_estimator`, the `score` of an ensemble, a
calibration. Whether there is a warning depends on the fitted model and on who asks, never on a row.
"""

import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

from sklearn.base import ClassifierMixin, RegressorMixin
from sklearn.metrics import accuracy_score, r2_score

from tacit.errors import InvalidParameter, PrivacyWarning
from tacit.estimators.callers import callers

_PUBLIC: ContextVar[bool] = ContextVar("rows are public", default=False)


@contextmanager
def public_data() -> Iterator[None]:
    """Say that the rows scored inside are public, so that exact scores of them need no warning.

        with tacit.public_data():
            print(model.score(X_public, y_public))

    It holds in this thread; worker processes and threads of others warn for themselves. Nothing becomes private by it.
    """
    before = _PUBLIC.set(True)
    try:
        yield
    finally:
        _PUBLIC.reset(before)


def said_public() -> bool:
    """Whether rows were said to be public, here and now."""
    return _PUBLIC.get()


def warn_of_exactness(estimator: object, what: str, stacklevel: int = 3) -> None:
    """Warn that a score is exact, unless rows were said to be public or the model itself is no private one."""
    release = getattr(estimator, "release_", None)
    if release is None or not release.private or _PUBLIC.get():
        return
    warnings.warn(
        f"{what} is exact: not private, not charged, and it tells about the rows it is computed from. For a private "
        "score use tacit.evaluation.report(model, X, y, epsilon=..., ledger=...); if these rows are public, say so: "
        "with tacit.public_data(): ...",
        PrivacyWarning,
        stacklevel=stacklevel,
    )


def warn_if_judged(estimator: object) -> None:
    """Warn if a prediction was asked for by a part of scikit-learn's that makes an exact score of it."""
    for steps, frame in enumerate(callers()):
        module, function = str(frame.f_globals.get("__name__", "")), frame.f_code.co_name
        if _scores(module, function):
            # Of `sklearn.metrics._plot.roc_curve`, `sklearn.metrics` is what people know.
            what = ".".join(module.split(".")[:2])
            warn_of_exactness(estimator, f"what {what} computes from these predictions", steps + 3)
            return


def _scores(module: str, function: str) -> bool:
    """Whether a function makes something exact of predictions and targets: a metric, a score, a display, a calibration.

    A calibrated classifier that predicts asks for predictions, too, and only hands them on.
    """
    if module == "sklearn.calibration":
        return not function.startswith("predict")
    return module.startswith("sklearn.metrics.") or (
        module.startswith("sklearn.") and function in ("score", "from_estimator")
    )


def exact_score(estimator: Any, measure: Callable[..., Any], X: Any, y: Any, sample_weight: Any) -> float:
    """Warn once, then return the exact score of the predictions."""
    if y is None:
        raise InvalidParameter(
            "score compares predictions with targets y, and none were given. It is exact, not private: of Records use "
            "tacit.evaluation.report(model, records, epsilon=..., ledger=...)."
        )
    warn_of_exactness(estimator, f"{type(estimator).__name__}.score", stacklevel=4)
    with public_data():
        predicted = estimator.predict(X)
    return float(measure(y, predicted, sample_weight=sample_weight))


class ExactAccuracy(ClassifierMixin):  # type: ignore[misc]
    """scikit-learn's `score` of a classifier, which says that it is exact."""

    def score(self, X: Any, y: Any = None, sample_weight: Any = None) -> float:
        """Return the exact accuracy: NOT private, not charged. Use `tacit.evaluation.report` for one that is."""
        return exact_score(self, accuracy_score, X, y, sample_weight)


class ExactR2(RegressorMixin):  # type: ignore[misc]
    """scikit-learn's `score` of a regression, which says that it is exact."""

    def score(self, X: Any, y: Any = None, sample_weight: Any = None) -> float:
        """Return the exact R^2: NOT private, not charged. Use `tacit.evaluation.report` for one that is."""
        return exact_score(self, r2_score, X, y, sample_weight)
