"""Losses: formulas, constants, rounding errors, and the check of a user's own."""

import math
from dataclasses import dataclass, fields
from typing import Any, ClassVar, Literal

import mpmath
import numpy as np
import pytest
from numpy.typing import NDArray

from support.exact_reference import exact_bend, exact_slope
from tacit.erm import (
    Hinge,
    HuberHinge,
    HuberRegression,
    Logistic,
    Objective,
    PointwiseLoss,
    Rows,
    Softmax,
    Squared,
    check_loss,
)
from tacit.erm.losses.tabulated import Tabulated
from tacit.errors import InvalidParameter

Array = NDArray[np.float64]

SMOOTH = [Logistic(), Logistic(3.0), HuberHinge(), HuberHinge(0.01), Squared(1.0, 3.0), HuberRegression(0.7, 2.0)]
ALL = [*SMOOTH, Hinge()]
GRID = np.concatenate([np.linspace(-3, 3, 61), [-800.0, -40.0, -1e-9, 0.0, 1e-9, 40.0, 800.0]])


@pytest.mark.parametrize("loss", SMOOTH, ids=str)
def test_derivatives_match_high_precision(loss: PointwiseLoss) -> None:
    """First derivatives are within the declared rounding error of the exact ones, second ones close."""
    with mpmath.workdps(50):
        points = [mpmath.mpf(float(t)) for t in GRID]
        slopes = [float(exact_slope(loss, t) - s) for t, s in zip(points, loss.derivative(GRID), strict=True)]
        bends = [float(exact_bend(loss, t) - s) for t, s in zip(points, loss.curvature(GRID), strict=True)]
    assert np.max(np.abs(slopes)) <= loss.rounding(float(np.max(np.abs(GRID))))
    assert np.max(np.abs(bends)) <= 1e-14 * loss.smoothness


@pytest.mark.parametrize("loss", ALL, ids=str)
def test_derivative_is_the_slope_of_the_value(loss: PointwiseLoss) -> None:
    """Central differences of the value give the derivative away from corners."""
    t = np.linspace(-3.03, 2.97, 41)
    differences = (loss.value(t + 1e-6) - loss.value(t - 1e-6)) / 2e-6
    np.testing.assert_allclose(differences, loss.derivative(t), atol=1e-6)


@pytest.mark.parametrize("loss", ALL, ids=str)
def test_constants_hold_on_a_grid(loss: PointwiseLoss) -> None:
    """Lipschitz constant, smoothness, sign and the bound on |t| l''(t) hold wherever they are looked at."""
    t = np.linspace(-20, 20, 4001)
    reach = 20.0 + loss.largest_target
    assert np.max(np.abs(loss.derivative(t))) <= loss.steepest(reach)
    assert np.max(loss.curvature(t)) <= loss.smoothness
    assert np.max(np.abs(t) * loss.curvature(t)) <= loss.relative_smoothness(reach)
    assert loss.one_sided == bool(np.all(loss.derivative(t) <= 0))


@pytest.mark.parametrize("loss", ALL, ids=str)
def test_extreme_arguments_give_no_warning(loss: PointwiseLoss) -> None:
    """Arguments up to 1e150 give finite derivatives and curvatures, silently."""
    t = np.array([-1e150, -1e5, -750.0, 750.0, 1e5, 1e150])
    assert np.all(np.isfinite(loss.derivative(t)))
    assert np.all(np.isfinite(loss.curvature(t)))


@pytest.mark.parametrize("loss", ALL, ids=str)
def test_derivative_may_overwrite_its_argument(loss: PointwiseLoss) -> None:
    """The result in the argument's own memory equals the result in fresh memory."""
    t = GRID.copy()
    expected = loss.derivative(GRID)
    result = loss.derivative(t, out=t)
    np.testing.assert_array_equal(result, expected)
    assert np.shares_memory(result, t)


@pytest.mark.parametrize("loss", ALL, ids=str)
def test_own_losses_pass_the_check(loss: PointwiseLoss) -> None:
    """No declaration of the library's own losses is contradicted, but that of the squared one, which has no slope."""
    if isinstance(loss, Squared):
        with pytest.raises(InvalidParameter, match="derivative must stay within"):
            check_loss(loss)
    else:
        check_loss(loss)


@dataclass(frozen=True)
class _Own(PointwiseLoss):
    """A user's loss, right as declared by default; each field can make one declaration false."""

    steep: float = 1.0
    bend: float = 1.0
    lifted: float = 0.0
    claimed_lipschitz: float = 1.0
    claimed_smoothness: float = 1.0
    claimed_one_sided: bool = False
    kind: ClassVar[Literal["residual"]] = "residual"

    @property
    def lipschitz(self) -> float:
        return self.claimed_lipschitz

    @property
    def smoothness(self) -> float:
        return self.claimed_smoothness

    @property
    def one_sided(self) -> bool:
        return self.claimed_one_sided

    def value(self, t: Array) -> Array:
        return np.sqrt(1.0 + t**2) - 1.0 + self.lifted

    def derivative(self, t: Array, out: Array | None = None) -> Array:
        return np.multiply(self.steep, t / np.sqrt(1.0 + t**2), out=out)

    def curvature(self, t: Array) -> Array:
        return self.bend * (1.0 + t**2) ** -1.5


def test_a_right_loss_of_ones_own_passes() -> None:
    """A smooth convex loss with true declarations is accepted."""
    check_loss(_Own())


@pytest.mark.parametrize(
    "lie",
    [
        {"steep": 0.9},
        {"steep": 1.1},
        {"bend": 0.5},
        {"bend": -1.0},
        {"lifted": -1.0},
        {"claimed_lipschitz": 0.9},
        {"claimed_lipschitz": math.nan},
        {"claimed_smoothness": 0.9},
        {"claimed_one_sided": True},
    ],
    ids=str,
)
def test_a_contradicted_declaration_is_refused(lie: dict[str, float]) -> None:
    """Each false declaration is refused by itself."""
    with pytest.raises(InvalidParameter, match="contradicts its declarations"):
        check_loss(_Own(**lie))  # type: ignore[arg-type]


def test_a_loss_that_is_not_convex_is_refused() -> None:
    """A bounded loss cannot be convex, and is caught."""

    @dataclass(frozen=True)
    class Saturating(PointwiseLoss):
        lipschitz: ClassVar[float] = 1.0
        smoothness: ClassVar[float] = 2.0
        one_sided: ClassVar[bool] = False

        def value(self, t: Array) -> Array:
            return t**2 / (1.0 + t**2)

        def derivative(self, t: Array, out: Array | None = None) -> Array:
            return np.divide(2.0 * t, (1.0 + t**2) ** 2, out=out)

        def curvature(self, t: Array) -> Array:
            return np.maximum(0.0, (2.0 - 6.0 * t**2) / (1.0 + t**2) ** 3)

    with pytest.raises(InvalidParameter, match="convex"):
        check_loss(Saturating())


def test_softmax_slopes_match_high_precision() -> None:
    """Softmax slopes p - e_y are within the declared rounding error, for small and for huge scores."""
    rng = np.random.default_rng(5)
    loss = Softmax(4)
    scores = rng.standard_normal((30, 4)) * np.geomspace(0.1, 1e3, 30)[:, None]
    targets = rng.integers(0, 4, size=30)
    slopes = loss.slopes(scores.copy(), targets)
    with mpmath.workdps(50):
        for row, target, slope in zip(scores, targets, slopes, strict=True):
            powers = [mpmath.exp(mpmath.mpf(float(z))) for z in row]
            exact = [p / mpmath.fsum(powers) - (c == target) for c, p in enumerate(powers)]
            error = mpmath.norm([e - float(s) for e, s in zip(exact, slope, strict=True)])
            assert error <= loss.rounding(1e3)


def test_softmax_constants_hold() -> None:
    """Slopes have norm at most sqrt 2, sum to zero, and change by at most half the change of the scores."""
    rng = np.random.default_rng(6)
    loss = Softmax(5)
    scores, moves = rng.standard_normal((2, 200, 5)) * 3
    targets = rng.integers(0, 5, size=200)
    first, second = loss.slopes(scores.copy(), targets), loss.slopes(scores + moves, targets)
    assert np.all(np.linalg.norm(first, axis=1) <= loss.lipschitz)
    assert np.all(np.linalg.norm(second - first, axis=1) <= loss.smoothness * np.linalg.norm(moves, axis=1))
    np.testing.assert_allclose(first.sum(axis=1), 0.0, atol=1e-15)


@pytest.mark.parametrize(
    ("loss", "targets"),
    [
        (Logistic(), [0.0, 1.0]),
        (Hinge(), [1.0, np.nan]),
        (Squared(1.0, 1.0), [np.inf, 0.0]),
        (Softmax(2), [0, 2]),
        (Softmax(2), [0.0, 1.0]),
        (Logistic(), [1.0]),
    ],
    ids=str,
)
def test_wrong_targets_are_refused(loss: PointwiseLoss, targets: list[float]) -> None:
    """Targets outside a loss's range, or of the wrong number, are refused without being quoted."""
    with pytest.raises(InvalidParameter) as refusal:
        Objective(Rows.clipped(np.eye(2), 2.0), np.array(targets), loss, alpha=1.0)
    assert "nan" not in str(refusal.value)


def test_residual_targets_are_clipped() -> None:
    """A target beyond its declared bound counts as the bound."""
    objective = Objective(Rows.clipped(np.eye(2), 2.0), np.array([5.0, -7.0]), Squared(2.0, 1.0), alpha=1.0)
    np.testing.assert_array_equal(objective.targets, [2.0, -2.0])


@pytest.mark.parametrize("anchor", [-1.0, 101.0, math.inf, math.nan, "3"])
def test_an_anchor_must_be_a_moderate_number(anchor: float) -> None:
    """Anchors below 0, for which the diameter of gradients is not proved, or without measure are refused."""
    with pytest.raises(InvalidParameter, match="anchor"):
        Logistic(anchor)


@pytest.mark.parametrize("make", [np.float16, np.float32, np.longdouble], ids=lambda make: make.__name__)
def test_constants_of_numpy_become_plain_floats(make: Any) -> None:
    """A constant in single precision would round every bound that it takes part in to single precision."""
    number = make(0.3)
    losses = [Logistic(number), HuberHinge(number), Squared(number, number), HuberRegression(number, number)]
    losses.append(Tabulated.of(_Own(claimed_lipschitz=make(1.0))))  # type: ignore[arg-type]
    for loss in losses:
        told = [
            getattr(loss, each.name) for each in fields(loss) if each.name not in ("slopes_there", "called", "kind")
        ]
        told += [loss.lipschitz, loss.smoothness, loss.anchor, loss.steepest(2.0), loss.rounding(2.0)]
        told += [loss.largest_target, loss.relative_smoothness(2.0)]
        assert {type(each) for each in told} == {float}
