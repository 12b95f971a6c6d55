"""How good a model is on held-out slots: a sum to which each slot adds a number from 0 to 1, released with noise."""

import math
import warnings
from contextlib import nullcontext
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone, is_classifier

from tacit.data.labels import places
from tacit.errors import InvalidParameter
from tacit.estimators.encoded import rows_alone
from tacit.estimators.exact_scores import public_data
from tacit.mechanisms.laplace import Laplace
from tacit.model_selection.data import Data
from tacit.noise import Source, within
from tacit.numerics.arrays import Floats

Scoring = Literal["auto", "accuracy", "log_loss", "error"]

_STEPS = 2**20
_WORST = 5.0
"""A record's log-loss counts no more than this."""


def checked_scoring(scoring: str, estimator: Any) -> str:
    """Return what to judge by: by default accuracy, or the absolute error of a regression."""
    fitting = ("accuracy", "log_loss") if is_classifier(estimator) else ("error",)
    chosen = fitting[0] if scoring == "auto" else scoring
    if chosen not in fitting:
        raise InvalidParameter(f"scoring must be 'auto' or one of {fitting}, got {scoring!r}.")
    if chosen == "log_loss" and not hasattr(estimator, "predict_proba"):
        raise InvalidParameter(f"scoring='log_loss' needs probabilities, which {type(estimator).__name__} has not.")
    return chosen


def goodness(model: Any, data: Data, scoring: str) -> float:
    """Add up how good the model is for each slot, from 0 to 1 each, in whole steps so that no bit is lost.

    A row's share follows from that row alone; rows of one person weigh 1 together. It is the share of right answers,
    1 less the log-loss over 5, or 1 less the absolute error over the range of targets.
    """
    alone = rows_alone() if data.unit.kind == "person" else nullcontext()
    with warnings.catch_warnings(), np.errstate(all="ignore"), public_data(), alone:
        warnings.simplefilter("ignore")
        shares = _MEASURES[scoring](model, data)
    steps = np.floor(np.clip(np.nan_to_num(shares), 0.0, 1.0) * data.weights() * _STEPS)
    return float(steps.astype(np.int64).sum()) / _STEPS


def judged(
    setting: Any, train: Data, test: Data, scoring: str, law: Laplace, source: Source
) -> tuple[float, Any] | None:
    """Return the noisy score of an estimator fitted to a part, and the model; None for whatever fails, and not why."""
    model = clone(setting).set_params(random_state=within(source))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            train.fit(model)
            good = goodness(model, test, scoring)
        except Exception:
            return None
    return noisy_mean(good, test.slots, law, source), model


def noisy_mean(good: float, slots: int, law: Laplace, source: Source) -> float:
    """Return a sum over slots with noise, as a mean."""
    return float(law.randomise(law.check(good), source)) / slots


def in_words(scoring: str, goodness: float, target_range: tuple[float, float] | None) -> float:
    """Return a mean goodness as the figure it stands for: an accuracy, a log-loss, an absolute error."""
    if scoring == "accuracy":
        return goodness
    width = _WORST if scoring == "log_loss" or target_range is None else target_range[1] - target_range[0]
    return (1 - goodness) * width


def _right(model: Any, data: Data) -> Floats:
    found, truth = places(model.predict(data.X), _classes(data)), places(data.targets(), _classes(data))
    return np.asarray((truth >= 0) & (found == truth), dtype=np.float64)


def _likely(model: Any, data: Data) -> Floats:
    chances, truth = np.asarray(model.predict_proba(data.X)), places(data.targets(), model.classes_)
    own = np.where(truth >= 0, chances[np.arange(len(truth)), truth], 0.0)
    # A vectorised logarithm may round by a value's position in the array; this one cannot.
    losses = np.fromiter((-math.log(each) if each > 0 else _WORST for each in own.tolist()), np.float64, len(own))
    return np.asarray(1 - np.minimum(losses, _WORST) / _WORST)


def _near(model: Any, data: Data) -> Floats:
    low, high = data.target_range or (0.0, 1.0)
    error = np.abs(np.asarray(model.predict(data.X)) - np.asarray(data.targets(), dtype=np.float64))
    return np.asarray(1 - np.minimum(error / (high - low), 1.0))


def _classes(data: Data) -> NDArray[Any]:
    assert data.classes is not None
    return data.classes


_MEASURES = {"accuracy": _right, "log_loss": _likely, "error": _near}
