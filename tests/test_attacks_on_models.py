"""Attacks on models, scores and accounts: what one record, or one odd number, must not be able to do."""

import math
import subprocess
import sys
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from dp_accounting import dp_event

from tacit import (
    Budget,
    InteractiveKernelPredictor,
    Ledger,
    PrivateERM,
    PrivateKernelClassifier,
    PrivateLinearRegression,
    PrivateLinearSVC,
    PrivateLogisticRegression,
    Records,
    Schema,
)
from tacit.accounting.compose import cost, satisfies
from tacit.accounting.events import Event, check_event
from tacit.data.columns import Number
from tacit.data.levels import Category
from tacit.erm import Logistic
from tacit.errors import BudgetExceeded, InvalidParameter
from tacit.evaluation import accuracy, confusion_matrix, log_loss
from tacit.kernels import RBF, FunctionKernel, Kernel, Linear
from tacit.kernels.fit.reading import needed_kernel
from tacit.kernels.kernel.domain import Domain
from tacit.kernels.maps.landmarks import Landmarks


class _Nothing(int):
    """A number of times that makes nothing of whatever it is multiplied with."""

    def __mul__(self, other: object) -> int:
        return 0

    __rmul__ = __mul__


class _Once(list[Any]):
    """A list that shows its events to the first who looks, and to nobody after."""

    shown = False

    def __iter__(self) -> Any:
        first, self.shown = not self.shown, True
        return super().__iter__() if first else iter([])


def _many_times(event: Event, kind: Any) -> Event:
    return dp_event.SelfComposedDpEvent(dp_event.SelfComposedDpEvent(event, kind(2**32)), kind(2**32))


@pytest.mark.parametrize("accountant", ["basic", "renyi", "gaussian"])
@pytest.mark.parametrize("kind", [int, np.int64, np.uint64])
def test_counts_multiply_without_overflow(tmp_path: Path, accountant: Any, kind: Any) -> None:
    """2^32 times 2^32 releases are refused in every account; as numpy's integers they were none, and free."""
    ledger = Ledger.create(f"sqlite:///{tmp_path}/l.db", name="a", budget=Budget(1, 1e-6), accountant=accountant)
    one: Event = dp_event.LaplaceDpEvent(1.0) if accountant == "basic" else dp_event.GaussianDpEvent(1.0)
    with pytest.raises(BudgetExceeded):
        ledger.spend(_many_times(one, kind), label="all of it")
    assert not ledger.entries()


def test_a_multiplier_in_half_precision_is_that_number(tmp_path: Path) -> None:
    """The square of 300 is no half-precision number: such an event was free under Renyi, and kept any budget."""
    half, plain = dp_event.GaussianDpEvent(np.float16(300)), dp_event.GaussianDpEvent(300.0)
    assert not satisfies(half, Budget(1e-9, 1e-9))
    assert cost(half, delta=1e-6, method="renyi") == cost(plain, delta=1e-6, method="renyi")
    ledger = Ledger.create(f"sqlite:///{tmp_path}/l.db", name="a", budget=Budget(1, 1e-6), accountant="renyi")
    assert ledger.spend(half, label="half").amount == ledger.spend(plain, label="plain").amount


@pytest.mark.parametrize(
    "event",
    [
        dp_event.SelfComposedDpEvent(dp_event.LaplaceDpEvent(1.0), _Nothing(1000)),
        dp_event.ComposedDpEvent(_Once([dp_event.LaplaceDpEvent(0.001)])),
    ],
)
def test_numbers_and_lists_of_ones_own_are_priced_as_what_they_hold(event: Event) -> None:
    """An event is copied into plain numbers and lists once, and the copy is priced: overriding buys nothing."""
    assert cost(event, method="basic") == Budget(1000)


def test_a_checked_event_holds_plain_numbers() -> None:
    """Whole numbers come out as int and all others as float, of whatever kind they went in."""
    checked = check_event(dp_event.SelfComposedDpEvent(dp_event.GaussianDpEvent(np.longdouble(2)), np.int8(5)))
    assert type(checked.count) is int
    assert type(checked.event.noise_multiplier) is float


_SCHEMA = Schema({"a": Number(0, 1), "c": Category(["x", "y", "z"])}, target="c")


@pytest.mark.parametrize(
    "model",
    [
        PrivateLogisticRegression(1.0, classes=["x", "y"]),
        PrivateLinearSVC(1.0, classes=["x", "y"]),
        PrivateERM(Logistic(), 1.0, classes=["x", "y"]),
        PrivateKernelClassifier(RBF(1.0), 1.0, classes=["x", "y"], landmarks=4),
        InteractiveKernelPredictor(RBF(1.0), 1.0, 1e-6, classes=["x", "y"]),
        PrivateLogisticRegression(1.0, classes=[0, 1, 2]),
    ],
)
@pytest.mark.parametrize("last", ["x", "z"])
def test_classes_beside_records_must_hold_all_declared_levels(model: Any, last: str) -> None:
    """A class told to the model that leaves out a level was refused only if a record had that level, at no charge."""
    records = Records({"a": [0.1, 0.2, 0.3, 0.4], "c": ["x", "y", "x", last]}, _SCHEMA)
    with pytest.raises(InvalidParameter, match="must be the levels that the schema declares"):
        model.fit(records)


def test_more_classes_than_levels_are_refused_beside_records() -> None:
    """A class that no record can have is refused by the schema alone: the positive class is the last of its levels."""
    records = Records({"a": [0.1, 0.2, 0.3, 0.4], "c": ["x", "y", "z", "?"]}, _SCHEMA)
    with pytest.raises(InvalidParameter, match="must be the levels that the schema declares"):
        PrivateLogisticRegression(1.0, classes=["w", "x", "y", "z"], random_state=7).fit(records)


@pytest.mark.parametrize("target", [0.0, 1.0])
@pytest.mark.parametrize("delta", [0.0, 1e-6])
def test_a_range_without_a_half_is_refused_whatever_the_targets_are(target: float, delta: float) -> None:
    """Half of the smallest float is 0: 0/0 was refused as NaN, so one target at the middle showed itself for free."""
    model = PrivateLinearRegression(1.0, delta, target_range=(0.0, 5e-324), data_norm=1.0)
    with pytest.raises(InvalidParameter, match="target_range"):
        model.fit(np.eye(2), [target, 1.0])


@pytest.mark.parametrize("kernel", [RBF(1.0), RBF(1.0) + 1.0, 2.0 * RBF(1.0), Linear() * RBF(0.5)])
def test_a_bound_put_on_an_instance_of_a_proven_kernel_is_not_believed(kernel: Kernel) -> None:
    """K(x, x) is bounded by the formula: an instance that says a thousandth of it got a thousandth of the noise."""
    honest = needed_kernel(kernel).bound(1.0)
    for part in (kernel, getattr(kernel, "first", kernel)):
        vars(part)["bound"] = lambda norm: 1e-3
    assert needed_kernel(kernel).bound(1.0) == honest


class _InPlace(Kernel):
    """A kernel whose author subtracts in place, once it is given records."""

    def bound(self, norm: float) -> float:
        return 1.0

    def block(self, left: Any, right: Any) -> Any:
        right -= 0.1 * left[:1]
        return np.exp(-np.square(left[:, None] - right[None]).sum(axis=-1))

    def diagonal(self, records: Any) -> Any:
        return np.ones(len(records))

    def accuracy(self, norm: float, width: int) -> float:
        return 1e-12

    def public_block(self, left: Any, right: Any) -> Any:
        return np.exp(-np.square(left[:, None] - right[None]).sum(axis=-1))


def _in_place(first: Any, second: Any) -> float:
    if first is not second and first[0] > 0.5:
        second -= 0.1 * first
    return float(np.exp(-np.square(first - second).sum()))


@pytest.mark.parametrize("kernel", [_InPlace(), FunctionKernel(_in_place, 1.0, vectors=True)])
def test_a_function_that_writes_to_a_landmark_moves_no_other_record(kernel: Kernel) -> None:
    """Landmarks cannot be written to: subtracting in place let one record move the features of all after it."""
    rows = 0.1 * np.arange(15.0).reshape(5, 3)
    other = rows.copy()
    other[0] = [0.9, 0.1, 0.1]
    points = 0.3 * np.eye(3)
    found, moved = (Landmarks.at(Domain(kernel, 1.0, 3), points.copy()).features(each) for each in (rows, other))
    np.testing.assert_array_equal(found[1:], moved[1:])


def test_the_callers_decimal_precision_does_not_reach_the_noise() -> None:
    """Where decimals had three digits when tacit was imported, 1/e had three as well, and noise another law."""
    program = "import decimal; decimal.getcontext().prec = 3; import tacit.noise; print(int(tacit.noise._INVERSE_E))"
    found = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert abs(int(found.stdout) - round(Fraction(2**64) / _e())) <= 1


def _e() -> Fraction:
    return sum((Fraction(1, math.factorial(term)) for term in range(30)), Fraction(0))


class _Panic(BaseException):
    """What compiled libraries raise when they panic: no Exception."""


class _Panicking:
    classes_ = np.array([0, 1])

    def predict(self, X: Any) -> Any:
        raise _Panic(f"out of range: {X[0]}")

    predict_proba = predict


@pytest.mark.parametrize("score", [accuracy, log_loss, confusion_matrix])
def test_a_panic_of_a_model_is_withheld_like_any_error(score: Any) -> None:
    """Its text may quote a record, and it is no Exception."""
    with pytest.raises(InvalidParameter, match="on made-up rows") as refusal:
        score(_Panicking(), np.array([[1234.5]]), [0], epsilon=1.0)
    assert refusal.value.__context__ is None
