"""Public parameters are plain numbers from where they enter, and no value of a record is judged against them."""

import math
from dataclasses import fields
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from tacit import PrivateKernelClassifier
from tacit.budget import Budget
from tacit.erm import Logistic
from tacit.errors import InvalidParameter
from tacit.kernels import RBF, Constant, FunctionKernel, InteractiveKernelPredictor, Laplacian, Linear, Polynomial
from tacit.kernels.fit.problem import KernelProblem
from tacit.kernels.interactive.pinp import Pinp
from tacit.kernels.kernel.domain import Domain
from tacit.kernels.released.ball import BallRelease
from tacit.kernels.released.non_interactive import NetRelease
from tacit.kernels.released.semi_interactive import LaplaceAnswers

SINGLE = np.float32(3.02401)
BUDGET = Budget(1.0, 1e-6)


class _Odd(float):
    """A float that says something else when it is added."""

    def __add__(self, other: float) -> float:
        return 0.0

    __radd__ = __mul__ = __rmul__ = __add__


BUILDERS = pytest.mark.parametrize(
    "build",
    [lambda x: Polynomial(2, x), RBF, Laplacian, Constant, lambda x: Linear() + x, lambda x: FunctionKernel(max, x)],
)
NUMBERS = [np.float32(0.3), np.float16(0.3), np.longdouble(0.3), np.float64(0.3), Fraction(1, 3), Decimal("0.3"),
           _Odd(0.3), 3, np.int8(3)]  # fmt: skip


@BUILDERS
@pytest.mark.parametrize("number", NUMBERS, ids=lambda each: type(each).__name__)
def test_parameters_are_plain_floats(build: Any, number: Any) -> None:
    """Whatever number a kernel is given, all that it computes with is Python's float of it."""
    kernel = build(number)
    plain = build(float(number))
    assert kernel == plain
    assert {type(getattr(kernel, each.name)) for each in fields(kernel)} <= {
        float, int, bool, Linear, Constant, type(max), type(None)
    }  # fmt: skip
    for found, wanted in ((kernel.bound(1.0), plain.bound(1.0)), (kernel.accuracy(1.0, 3), plain.accuracy(1.0, 3))):
        assert type(found) is float
        assert found == wanted


@BUILDERS
@pytest.mark.parametrize(
    "number", [True, np.True_, np.array(0.3), np.array([0.3]), 10**400, -0.5, math.nan, math.inf, "1", None, 1j, 1e-101]
)
def test_what_is_no_positive_number_is_refused(build: Any, number: Any) -> None:
    """Truth values, arrays, huge whole numbers, text and nothing at all, in one kind of error."""
    with pytest.raises(InvalidParameter):
        build(number)


def test_a_constant_of_minus_zero_is_zero() -> None:
    """Of any type."""
    for zero in (-0.0, 0, np.float32(-0.0), Fraction(0), Decimal("-0")):
        constant = Polynomial(2, zero).constant  # type: ignore[arg-type]
        assert type(constant) is float
        assert math.copysign(1.0, constant) == 1.0


@pytest.mark.parametrize("method", ["landmarks", "tddl", "matched", "tdil", "interactive"])
@pytest.mark.parametrize("last", [(1.0, 0.0), (0.0, 0.0)])
def test_no_record_exceeds_a_bound_in_single_precision(method: str, last: tuple[float, float]) -> None:
    """Before, "exceed its own bound" told for free whether a record of full length was there, and only some methods."""
    kernel = Polynomial(5, constant=SINGLE)  # type: ignore[arg-type]
    records = np.vstack([np.zeros((19, 2)), [last]])
    given: dict[str, Any] = {"epsilon": 1.0, "delta": 1e-6, "data_norm": 1.0, "alpha": 100.0}
    if method == "interactive":
        InteractiveKernelPredictor(kernel, **given).fit(records, np.arange(20) % 2).answer(np.eye(2))
    else:
        PrivateKernelClassifier(kernel, method=method, landmarks=4, rounds=2, **given).fit(records, np.arange(20) % 2)


@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf, 1e300, -7.0, 1 + 1e-6])
def test_no_value_of_a_record_is_refused(value: float, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever came out for a pair, asymmetric or beyond the bound, the matrix is there, bounded and symmetric."""
    usual = RBF.block

    def block(kernel: RBF, left: Any, right: Any) -> Any:
        found = usual(kernel, left, right)
        found[np.ix_(left[:, 0] == 0.5, right[:, 0] == 0.25)] = value
        return found

    monkeypatch.setattr(RBF, "block", block)
    domain = Domain(RBF(1.0), 1.0, 1)
    problem = KernelProblem.of(domain, np.array([[0.5], [0.25], [0.5]]), [1.0, -1.0, 1.0], Logistic(), 0.1)
    assert np.all(np.abs(problem.gram) <= domain.square)
    assert np.array_equal(problem.gram, problem.gram.T)


@pytest.mark.parametrize("norm", [1e-99, 1e-30, 1.0, 1e30, 1e99])
@pytest.mark.parametrize("kernel", [Linear(), Polynomial(2, 0.0), RBF(1e100), Laplacian(1e100), RBF(1e-100)])
def test_values_stay_within_the_bound_at_every_norm(kernel: Any, norm: float) -> None:
    """At the ends of what may be declared every record has its values, or the numbers are refused without records."""
    try:
        domain = Domain(kernel, norm, 2)
    except InvalidParameter:
        return
    with np.errstate(all="raise", under="ignore", over="ignore", invalid="ignore"):
        gram = domain.gram(domain.clipped(np.array([[1e300, 1e300], [5e-324, 0.0], [norm, -norm], [0.0, 0.0]])))
    assert np.all(np.abs(gram) <= domain.square)


def test_mechanisms_of_kernels_have_plain_numbers() -> None:
    """A sensitivity in single precision would make a grid and a scale in single precision."""
    one, few = np.float32(0.3), np.int16(5)
    net = NetRelease(BUDGET, Domain(Linear(), 1.0, 1), np.ones((2, 1)), one, one, few)  # type: ignore[arg-type]
    found = (
        LaplaceAnswers(BUDGET, one, few),  # type: ignore[arg-type]
        Pinp(BUDGET, one, one, one, one, np.int64(10), np.float32(0.5)),  # type: ignore[arg-type]
        BallRelease(BUDGET, few, one, one, one, few),  # type: ignore[arg-type]
    )
    numbers = [getattr(law, each.name) for law in found for each in fields(law)] + [net.moved, net.size, net.rounds]
    assert {type(number) for number in numbers} == {Budget, float, int, bool}


@pytest.mark.parametrize("value", [math.nan, math.inf, -1e308])
def test_mechanisms_of_kernels_refuse_no_value(value: float) -> None:
    """What a model computed is released whatever it is; only the shape, which is public, is checked."""
    law = LaplaceAnswers(BUDGET, 0.5, 2)
    assert np.all(np.isfinite(law.check([value, 1.0])))
    with pytest.raises(InvalidParameter, match="shape"):
        law.check([1.0])
