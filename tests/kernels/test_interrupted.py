"""A fit that is interrupted, wherever that is, leaves the model and the release that were there, together."""

import contextlib
import sys
from pathlib import Path
from types import FrameType
from typing import Any

import numpy as np
import pytest

import tacit.kernels
from tacit import InteractiveKernelPredictor, PrivateKernelClassifier, PrivateKernelRegressor
from tacit.kernels import RBF
from tacit.kernels.released import model as released

HERE = Path(tacit.kernels.__file__).parent
NAMES = ("classification.py", "regression.py", "estimator.py", "released/model.py", "interactive/predictor.py")
FILES = {str(HERE / name) for name in NAMES}
X = np.linspace(-1, 1, 24).reshape(12, 2)
WIDER = np.linspace(-1, 1, 36).reshape(12, 3)
GIVEN: dict[str, Any] = {"epsilon": 1.0, "delta": 1e-6, "data_norm": 1.0, "landmarks": 3, "alpha": 0.5}
ESTIMATORS = {
    "classifier": PrivateKernelClassifier(RBF(1.0), classes=[0, 1], **GIVEN),
    "regressor": PrivateKernelRegressor(RBF(1.0), target_range=(0, 1), **GIVEN),
    "predictor": InteractiveKernelPredictor(RBF(1.0), classes=[0, 1], **GIVEN),
}


class _Interrupt:
    """Press Ctrl-C at the so-and-so-manieth line of the estimators."""

    def __init__(self, line: int) -> None:
        self.left = line

    def __call__(self, frame: FrameType, event: str, argument: object) -> Any:
        if frame.f_code.co_filename not in FILES:
            return None
        if event == "line":
            self.left -= 1
            if self.left < 0:
                raise KeyboardInterrupt
        return self


@pytest.mark.parametrize("name", ESTIMATORS)
def test_fitted_attributes_are_set_together(name: str) -> None:
    """At whatever line a second fit is interrupted all attributes are those before it, until they are all new."""
    model = ESTIMATORS[name].fit(X, np.arange(12) % 2)
    fitted = {each for each in vars(model) if each.startswith("_") or each.endswith("_")}
    assert {"release_", "alpha_", "n_features_in_"} < fitted
    usual, line, kept = sys.gettrace(), -1, dict(vars(model))
    while model.release_ is kept["release_"]:
        line += 1
        sys.settrace(_Interrupt(line))
        with contextlib.suppress(KeyboardInterrupt):
            model.fit(WIDER, np.arange(12) % 2)
        sys.settrace(usual)
        if model.release_ is kept["release_"]:
            assert [each for each in fitted if vars(model)[each] is not kept[each]] == []
    assert line > 20
    assert model.n_features_in_ == 3
    model.predict(WIDER)


@pytest.mark.parametrize("method", ["landmarks", "fourier", "tddl"])
def test_an_exact_model_never_stands_beside_a_private_release(method: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A fit with other parameters that fails after its release leaves the first model, scores and all."""
    model = PrivateKernelClassifier(RBF(1.0), method=method, classes=[0, 1], **GIVEN).fit(X, np.arange(12) % 2)
    scores, release = model.decision_function(X), model.release_

    def stop(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(released.Released, "__init__", stop)
    with pytest.raises(KeyboardInterrupt):
        model.set_params(epsilon=5.0).fit(WIDER, np.arange(12) % 2)
    assert model.release_ is release
    assert np.array_equal(model.decision_function(X), scores)
