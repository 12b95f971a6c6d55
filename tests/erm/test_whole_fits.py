"""A fit is all or nothing, takes public numbers of any type as floats, and warns of nothing that a record did."""

import math
import sys
import warnings
from collections.abc import Callable
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from types import FrameType
from typing import Any

import numpy as np
import pytest
from scipy import sparse

import tacit.erm
from tacit import Budget, PrivateERM, PrivateLinearRegression, PrivateLinearSVC, PrivateLogisticRegression
from tacit.erm import Hinge, HuberHinge, HuberRegression, Logistic, Objective, Rows, Softmax, Squared
from tacit.erm.perturbations.gradient import GradientPerturbation
from tacit.erm.perturbations.least_squares import StatisticsPerturbation
from tacit.erm.perturbations.perturbation import ObjectivePerturbation, OutputPerturbation
from tacit.erm.perturbations.setting import Setting
from tacit.errors import InvalidParameter

RNG = np.random.default_rng(0)
X = RNG.normal(size=(40, 3)) / 3
SIDES = (X[:, 0] > 0).astype(int)
HERE = str(Path(tacit.erm.__file__).parent)
STOPPED = ("classification.py", "regression.py", "general.py", "fitting.py", "tables.py", "solve.py", "perturbation.py")

MODELS: dict[str, Callable[..., Any]] = {
    "logistic": lambda **more: PrivateLogisticRegression(epsilon=1.0, data_norm=1.0, **more),
    "huber": lambda **more: PrivateLinearSVC(epsilon=1.0, data_norm=1.0, **more),
    "hinge": lambda **more: PrivateLinearSVC(epsilon=1.0, data_norm=1.0, loss="hinge", **more),
    "regression": lambda **more: PrivateLinearRegression(epsilon=1.0, data_norm=1.0, target_range=(0, 1), **more),
    "statistics": lambda **more: PrivateLinearRegression(
        epsilon=1.0, delta=1e-6, data_norm=1.0, target_range=(0, 1), **more
    ),
    "margin": lambda **more: PrivateERM(HuberHinge(0.5), epsilon=1.0, data_norm=1.0, **more),
    "residual": lambda **more: PrivateERM(HuberRegression(1.0, 1.0), epsilon=1.0, data_norm=1.0, **more),
}


class _Interrupter:
    """Raises KeyboardInterrupt at the so-manieth line that a fit executes."""

    def __init__(self, at: int) -> None:
        self.left = at

    def __call__(self, frame: FrameType, event: str, argument: object) -> Any:
        path = Path(frame.f_code.co_filename)
        return self.line if str(path.parent) == HERE and path.name in STOPPED else None

    def line(self, frame: FrameType, event: str, argument: object) -> Any:
        """Count lines."""
        self.left -= event == "line"
        if self.left == 0:
            raise KeyboardInterrupt
        return self.line


def _interrupted(model: Any, rows: Any, targets: Any, at: int) -> bool:
    former = sys.gettrace()
    sys.settrace(_Interrupter(at))
    try:
        model.fit(rows, targets)
    except KeyboardInterrupt:
        return True
    finally:
        sys.settrace(former)
    return False


@pytest.mark.parametrize("name", MODELS)
def test_an_interrupted_refit_leaves_the_former_model_whole(name: str) -> None:
    """Wherever a refit on other rows is stopped, all fitted attributes are the former ones; after its end, the new."""
    model = MODELS[name](random_state=1).fit(X, SIDES)
    former = dict(vars(model))
    at = 1
    while _interrupted(model, X[:, :2], 1 - SIDES, at):
        assert vars(model).keys() == former.keys()
        kept = {key for key, value in former.items() if vars(model)[key] is value}
        assert kept == former.keys() or not kept & {"coef_", "release_", "n_features_in_"}
        at += 1 + at // 16
    assert at > 20
    assert model.n_features_in_ == 2
    assert vars(model)["release_"] is not former["release_"]


@pytest.mark.parametrize("name", MODELS)
def test_an_interrupted_first_fit_leaves_nothing(name: str) -> None:
    """A model that was never fitted has no attribute of a fit."""
    model = MODELS[name](random_state=1)
    former = dict(vars(model))
    for at in (5, 20, 40):
        assert _interrupted(model, X, SIDES, at)
        assert vars(model) == former


def test_a_refused_refit_leaves_the_former_model_whole() -> None:
    """A refusal is no reason either to keep half of a new model."""
    model = PrivateLogisticRegression(1.0, data_norm=1.0, random_state=0).fit(X, SIDES)
    former = dict(vars(model))
    with pytest.raises(InvalidParameter):
        model.fit(X[:, :2], np.zeros(40))
    assert all(vars(model)[key] is value for key, value in former.items())


def test_a_refit_under_another_loss_forgets_the_classes() -> None:
    """Fitted attributes are those of the last fit, not of all of them together."""
    model = PrivateERM(HuberHinge(), 1.0, data_norm=1.0, random_state=0).fit(X, SIDES)
    model.set_params(loss=HuberRegression(1.0, 1.0)).fit(X, X[:, 0])
    assert not hasattr(model, "classes_")
    assert model.predict(X).dtype == np.float64


@pytest.mark.parametrize("kind", [np.float32, np.float16, np.longdouble, Fraction, lambda x: Decimal(repr(x))])
@pytest.mark.parametrize("name", ["logistic", "huber", "regression", "statistics", "margin"])
def test_public_numbers_of_any_type_are_the_same_floats(name: str, kind: Callable[[float], Any]) -> None:
    """A number in single precision, a fraction or a decimal gives the bits that the equal float gives."""
    own = {"alpha": 0.25, "data_norm": 1.5, "epsilon": 0.75}
    if name == "huber":
        own["width"] = 0.375
    plain = MODELS[name](random_state=0).set_params(**own).fit(X, SIDES)
    typed = MODELS[name](random_state=0).set_params(**{key: kind(value) for key, value in own.items()}).fit(X, SIDES)
    assert np.array_equal(plain.coef_, typed.coef_)
    assert type(typed.alpha_) is float
    assert plain.alpha_ == typed.alpha_


def test_every_mechanism_keeps_floats() -> None:
    """Nothing is computed in single precision because a parameter came so. (Losses: test_losses.)"""
    single = np.float32(0.3)
    assert type(Softmax(np.int64(3)).classes) is int
    setting = Setting(np.int64(100), np.int64(3), single, Logistic())  # type: ignore[arg-type]
    mechanisms: list[Any] = [
        OutputPerturbation(Budget(1), setting, single),  # type: ignore[arg-type]
        ObjectivePerturbation(Budget(1), setting, single),  # type: ignore[arg-type]
        GradientPerturbation(Budget(1, 1e-6), setting, single),  # type: ignore[arg-type]
    ]
    assert all(type(mechanism.alpha) is float for mechanism in mechanisms)
    assert type(StatisticsPerturbation(Budget(1), 9, 2, single).norm) is float  # type: ignore[arg-type]
    rows = Rows.clipped(X, single, single)  # type: ignore[arg-type]
    assert type(rows.norm) is type(rows.constant) is type(Rows.clipped(X, single).norm) is float  # type: ignore[arg-type]
    assert type(Objective(rows, np.where(SIDES, 1.0, -1.0), Hinge(), single).alpha) is float  # type: ignore[arg-type]


@pytest.mark.parametrize("bad", [True, np.bool_(True), "1", None, [1], np.array([1.0]), math.nan, -1.0, 1j])
def test_what_is_no_number_is_refused_everywhere(bad: Any) -> None:
    """Truth values, texts, lists and the like are no parameters, of losses and of estimators."""
    makers: list[Callable[[], Any]] = [
        lambda: Logistic(bad),
        lambda: HuberHinge(bad),
        lambda: Squared(bad, 1.0),
        lambda: Squared(1.0, bad),
        lambda: HuberRegression(bad, 1.0),
        lambda: HuberRegression(1.0, bad),
        lambda: Softmax(bad),
        lambda: Rows.clipped(X, bad),
        lambda: Objective(Rows.clipped(X, 1.0), np.ones(40), Hinge(), bad),
        lambda: MODELS["logistic"](alpha=bad).fit(X, SIDES),
        lambda: MODELS["logistic"]().set_params(data_norm=bad).fit(X, SIDES),
        lambda: MODELS["logistic"]().set_params(epsilon=bad).fit(X, SIDES),
        lambda: MODELS["huber"](width=bad).fit(X, SIDES),
        lambda: MODELS["regression"]().set_params(target_range=(bad, 2.0 if bad != -1.0 else -2.0)).fit(X, SIDES),
    ]
    for make in makers:
        with pytest.raises(InvalidParameter):
            make()


def test_an_infinite_epsilon_of_any_type_is_no_privacy() -> None:
    """Infinity in single precision fits the ordinary model too."""
    for infinite in (math.inf, np.float32(math.inf), np.float64(math.inf)):
        model = PrivateLogisticRegression(infinite, data_norm=1.0).fit(X, SIDES)
        assert model.margin_ == 0.0
        assert not model.release_.private


HOSTILE = [5e-324, -5e-324, 1e-310, 1e-200, 1e160, -1e200, 1.7e308, -0.0, 2.0**53 + 1]


@pytest.mark.parametrize("make", [np.asarray, sparse.csr_array, list], ids=["dense", "sparse", "list"])
@pytest.mark.parametrize("name", MODELS)
def test_no_error_state_and_no_filter_makes_a_record_heard(name: str, make: Callable[..., Any]) -> None:
    """With numpy's errors raised and warnings turned into errors, tiny and huge records are fitted as any others."""
    for cell in HOSTILE:
        rows = X.copy()
        rows[0] = cell
        rows[1, 0] = cell
        targets: list[Any] = SIDES.tolist()
        if name in ("regression", "statistics", "residual"):
            targets[0] = cell
        with warnings.catch_warnings(), np.errstate(all="raise"):
            warnings.simplefilter("error")
            model = MODELS[name](random_state=0).fit(make(rows), targets)
            model.predict(make(rows))
        assert np.all(np.isfinite(model.coef_))
