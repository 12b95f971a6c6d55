"""What a loss from outside can do: nothing but say its slope at fixed points, before any record is read."""

import math
import warnings
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np
import pytest

from tacit import Budget, Ledger, PrivateERM
from tacit.erm import (
    Hinge,
    HuberHinge,
    HuberRegression,
    Logistic,
    Objective,
    PointwiseLoss,
    Rows,
    Squared,
    solve,
)
from tacit.erm.losses.tabulated import Tabulated, table_points
from tacit.erm.perturbations.calibration import pure_noise
from tacit.erm.perturbations.gradient import GradientPerturbation
from tacit.erm.perturbations.perturbation import ObjectivePerturbation, OutputPerturbation
from tacit.erm.perturbations.setting import Setting
from tacit.errors import InvalidParameter

Array = Any
RNG = np.random.default_rng(0)
X = RNG.normal(size=(300, 3)) / 3
Y = np.where(X[:, 0] + 0.1 * RNG.normal(size=300) > 0, 1, 0)
KNOWN = frozenset(table_points().tolist())


@dataclass
class _Own(PointwiseLoss):
    """The logistic loss of a user who writes down what it was asked."""

    asked: list[float] = field(default_factory=list)
    lipschitz: ClassVar[float] = 1.0
    smoothness: ClassVar[float] = 0.25
    one_sided: ClassVar[bool] = True

    def value(self, t: Array) -> Array:
        self.asked.extend(np.ravel(t).tolist())
        return np.logaddexp(0.0, -t)

    def derivative(self, t: Array, out: Array | None = None) -> Array:
        self.asked.extend(np.ravel(t).tolist())
        return self._slope(t)

    def curvature(self, t: Array) -> Array:
        self.asked.extend(np.ravel(t).tolist())
        return np.exp(-np.abs(t)) / (1 + np.exp(-np.abs(t))) ** 2

    def _slope(self, t: Array) -> Array:
        return -np.exp(-np.logaddexp(0.0, t))


class _Sly(_Own):
    """Right at the points of the table, a thousand times too steep between them."""

    def derivative(self, t: Array, out: Array | None = None) -> Array:
        return np.where(np.isin(t, list(KNOWN)), self._slope(t), -1000.0)


class _Touchy(_Own):
    """Fails between the points of the table."""

    def derivative(self, t: Array, out: Array | None = None) -> Array:
        if not KNOWN.issuperset(np.ravel(t).tolist()):
            raise RuntimeError(f"asked about {t!r}")
        return self._slope(t)


class _Nagging(_Own):
    """Warns about some margins."""

    def derivative(self, t: Array, out: Array | None = None) -> Array:
        if not KNOWN.issuperset(np.ravel(t).tolist()):
            warnings.warn(f"asked about {t!r}", stacklevel=2)
        return self._slope(t)


class _Helped(_Own):
    """Overrides what the library builds from the formula."""

    def slopes(self, shifted: Array, targets: Array) -> Array:
        return 1000.0 * super().slopes(shifted, targets)

    def curvatures(self, shifted: Array, targets: Array) -> Array:
        return 1000.0 * super().curvatures(shifted, targets)

    def argument(self, shifted: Array, targets: Array) -> Array:
        return 1000.0 * shifted

    def prepare(self, targets: object) -> Array:
        return 1000.0 * np.asarray(targets)

    def steepest(self, reach: float) -> float:
        return math.inf

    def rounding(self, reach: float) -> float:
        return 0.0

    def bounded_at_minimum(self, norm: float, alpha: float) -> bool:
        return True


class _Single(_Own):
    """Answers in single precision."""

    def derivative(self, t: Array, out: Array | None = None) -> Array:
        return self._slope(t).astype(np.float32)


def _fitted(loss: PointwiseLoss, perturbation: str = "objective", rows: Array = X) -> PrivateERM:
    delta = 1e-6 if perturbation == "gradient" else 0.0
    model = PrivateERM(loss, 1.0, delta, perturbation=perturbation, data_norm=1.0, alpha=0.05, random_state=0)
    return model.fit(rows, Y)


@pytest.mark.parametrize("perturbation", ["objective", "output", "gradient"])
@pytest.mark.parametrize("kind", [_Sly, _Touchy, _Nagging, _Helped])
def test_whatever_a_loss_does_elsewhere_the_model_is_that_of_its_table(kind: type[_Own], perturbation: str) -> None:
    """Spikes, failures and warnings between the points, and overridden methods, change not a bit of the model."""
    assert np.array_equal(_fitted(kind(), perturbation).coef_, _fitted(_Own(), perturbation).coef_)


@pytest.mark.parametrize("perturbation", ["objective", "output", "gradient"])
def test_a_loss_never_learns_of_a_record(perturbation: str) -> None:
    """What a loss was asked is the same list for every data set."""
    first, second = _Own(), _Own()
    _fitted(first, perturbation)
    _fitted(second, perturbation, 7 * X[::-1])
    assert first.asked == second.asked
    assert KNOWN.issuperset(first.asked)


def test_a_table_is_as_good_as_the_formula() -> None:
    """The minimiser for the table lies within 1e-6 of the one for the formula."""
    for given, own in ((Logistic(1.5), Logistic(1.5)), (HuberHinge(0.5), HuberHinge(0.5)), (_Own(), Logistic())):
        rows, targets = Rows.clipped(X, 1.0, 0.25), np.where(Y, 1.0, -1.0)
        exact, table = (
            solve(Objective(rows, targets, loss, 0.01), 1e-9).coefficient for loss in (own, Tabulated.of(given))
        )
        assert np.linalg.norm(exact - table) <= 1e-6
    assert np.linalg.norm(_fitted(_Own()).coef_ - _fitted(_Single()).coef_) < 1e-4


@pytest.mark.parametrize("loss", [_Own(), HuberHinge(0.3), HuberRegression(2.0, 3.0), Hinge()], ids=lambda x: x.name)
def test_the_constants_of_a_table_hold_everywhere(loss: PointwiseLoss) -> None:
    """Slopes rise, within L and no faster than c, at points far from the table's own and beyond its ends."""
    table = Tabulated.of(loss)
    t = np.sort(np.concatenate([RNG.normal(size=4000) * 10.0**k for k in range(-4, 9)]))
    slopes, values = table.derivative(t), table.value(t)
    assert np.all(np.abs(slopes) <= table.lipschitz)
    assert table.lipschitz <= loss.lipschitz
    room = 2 * table.rounding(0.0)
    assert np.all(np.diff(slopes) >= -room)
    assert np.all(np.diff(slopes) <= table.smoothness * np.diff(t) + room)
    assert np.all(table.curvature(t) <= table.smoothness)
    assert np.all(table.curvature(t) * np.abs(t) <= table.relative_smoothness(0.0))
    apart = np.diff(t) > 1e-2
    chord = (np.diff(values) / np.diff(t))[apart]
    assert np.all((chord >= slopes[:-1][apart] - 1e-6) & (chord <= slopes[1:][apart] + 1e-6))
    assert np.array_equal(table.derivative(t.copy(), out=(again := t.copy())), again)


@pytest.mark.parametrize("perturbation", ["objective", "output", "gradient"])
def test_the_squared_loss_is_refused_where_its_slope_has_no_bound(perturbation: str, ledger: Ledger) -> None:
    """Squared(1, .1) once passed: exact delta .038 at a claimed pure 1, and a true epsilon above 5 from gradients."""
    delta = 1e-6 if perturbation == "gradient" else 0.0
    with pytest.raises(InvalidParameter, match="contradicts its declarations"):
        PrivateERM(Squared(1.0, 0.1), 1.0, delta, perturbation=perturbation, data_norm=1.0, ledger=ledger).fit(X, Y)
    assert ledger.entries() == []


def test_the_squared_loss_would_have_broken_its_claim() -> None:
    """The twin: noise calibrated to the declared slope leaves a delta of several hundredths at a claimed pure 1."""
    tilt = pure_noise(Budget(1.0), Setting(1, 1, 1.0, Squared(1.0, 0.1)), 0.1)
    w = np.linspace(-60.0, 60.0, 400_001)
    # One record (1, 1), or (0, 0): the density of the minimiser is that of b = -alpha w - slope, times alpha + bend.
    density = [
        np.exp(-np.abs(tilt.alpha * w + slope) / tilt.scale) / (2 * tilt.scale) * (tilt.alpha + bend)
        for slope, bend in ((w - 1.0, 1.0), (0.0, 0.0))
    ]
    step = w[1] - w[0]
    delta = max(float(np.maximum(one - math.e * two, 0.0).sum()) * step for one, two in (density, density[::-1]))
    assert delta > 0.02
    tilt = pure_noise(Budget(1.0), Setting(1, 1, 1.0, HuberRegression(1.1, 1.0)), 0.1)
    one = np.abs(tilt.alpha * w + np.clip(w - 1.0, -1.1, 1.1)) / -tilt.scale + np.log(
        tilt.alpha + (np.abs(w - 1) < 1.1)
    )
    two = np.abs(tilt.alpha * w) / -tilt.scale + math.log(tilt.alpha)
    assert np.all(np.abs(one - two) <= 1.0 + 1e-9)


def test_the_mechanisms_themselves_refuse_slopes_without_a_bound() -> None:
    """Only perturbing the output takes the squared loss, and only with a bound that predictions keep to."""
    for kind, delta in ((ObjectivePerturbation, 0.0), (GradientPerturbation, 1e-6)):
        with pytest.raises(InvalidParameter, match="no bound"):
            kind(Budget(1.0, delta), Setting(100, 3, 1.0, Squared(1.0, 1e6)), 0.1)
    needed = Squared(1.0, 1.0).minimiser_bound(1.0, 0.1)
    with pytest.raises(InvalidParameter, match="no bound"):
        OutputPerturbation(Budget(1.0), Setting(100, 3, 1.0, Squared(1.0, 0.99 * needed)), 0.1)
    assert OutputPerturbation(Budget(1.0), Setting(100, 3, 1.0, Squared(1.0, needed)), 0.1).alpha == 0.1


@pytest.mark.parametrize(
    "slopes",
    [
        -np.tanh(table_points()),
        np.where(table_points() == 0, -1.0, np.tanh(table_points())),
        np.where(table_points() == 0, np.nan, np.tanh(table_points())),
        np.where(table_points() > 5, np.inf, 0.0),
        np.where(table_points() < 5, -np.inf, 0.0),
        np.zeros_like(table_points()),
        np.linspace(-1, 1, 7),
    ],
    ids=["concave", "one falls", "nan", "inf", "minus inf", "zeros", "few"],
)
def test_a_table_that_is_that_of_no_convex_loss_is_refused(slopes: Array) -> None:
    """Its largest rise was taken for its curvature: 1e-300 for a concave table, which asks for hardly any ridge."""
    with pytest.raises(InvalidParameter):
        Tabulated(slopes, 1.0, "mine")


def test_a_table_is_a_copy_that_nobody_writes_to() -> None:
    """The constants were read off the array of whoever made it, who could change it afterwards."""
    mine = np.tanh(table_points())
    table = Tabulated(mine, 1.0, "mine", kind="residual")
    mine *= 100
    assert float(np.max(np.abs(table.derivative(table_points())))) <= table.lipschitz == 1.0
    assert not table.slopes_there.flags.writeable
    for changed in ({"target_bound": math.nan}, {"anchor": math.inf}, {"kind": "both"}):
        with pytest.raises(InvalidParameter):
            Tabulated(**{"slopes_there": np.tanh(mine), "target_bound": 1.0, "called": "mine", **changed})


def test_a_subclass_of_a_loss_is_not_that_loss(ledger: Ledger) -> None:
    """A steeper logistic loss is refused; a gentler one is tabulated, and gets no diameter or ridge of the other."""

    class Steep(Logistic):  # type: ignore[misc]
        def derivative(self, t: Array, out: Array | None = None) -> Array:
            return 3 * super().derivative(t)

    class Flat(Hinge):  # type: ignore[misc]
        def derivative(self, t: Array, out: Array | None = None) -> Array:
            return np.full_like(t, -5.0)

    class Mirrored(Logistic):  # type: ignore[misc]
        """Rises where the logistic loss falls: the diameter of its gradients is another function."""

        def value(self, t: Array) -> Array:
            return np.logaddexp(0.0, t)

        def derivative(self, t: Array, out: Array | None = None) -> Array:
            return np.exp(-np.logaddexp(0.0, -t))

    for refused in (Steep(), Flat()):
        with pytest.raises(InvalidParameter, match="contradicts"):
            PrivateERM(refused, 1.0, data_norm=1.0, ledger=ledger).fit(X, Y)
        with pytest.raises(InvalidParameter, match="not a loss of this library"):
            Setting(100, 3, 1.0, refused)
    assert ledger.entries() == []
    mechanism = GradientPerturbation(Budget(1.0, 1e-6), Setting(100, 3, 1.0, Tabulated.of(Mirrored())), 0.05)
    assert mechanism.sensitivity(0.0) >= 2 / 100
    assert "Mirrored (tabulated)" in " ".join(_fitted(Mirrored()).release_.public)


def test_what_is_hung_on_a_loss_of_the_librarys_own_has_no_effect() -> None:
    """A method set on the object is left behind: the loss is built anew from its parameters."""
    changed = Logistic(1.0)
    changed.__dict__["slopes"] = lambda shifted, targets: 1000.0 * shifted
    assert np.array_equal(_fitted(changed).coef_, _fitted(Logistic(1.0)).coef_)


@pytest.mark.parametrize(
    "answer",
    [1j, math.nan, "x", None, np.zeros(3), np.datetime64(1, "s"), 0.0],
    ids=lambda answer: type(answer).__name__,
)
def test_a_derivative_that_is_none_is_refused(answer: Any, ledger: Ledger) -> None:
    """Whatever comes back must be a finite number for each point."""

    class Wrong(_Own):
        def derivative(self, t: Array, out: Array | None = None) -> Array:
            return np.broadcast_to(answer, t.shape).copy() if np.ndim(answer) == 0 else answer

    with pytest.raises((InvalidParameter, TypeError)):
        PrivateERM(Wrong(), 1.0, data_norm=1.0, ledger=ledger).fit(X, Y)
    assert ledger.entries() == []
