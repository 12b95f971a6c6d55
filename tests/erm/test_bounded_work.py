"""How long a solution takes is bounded by public quantities: the method changes, and what is hopeless is refused."""

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from tacit import Budget, Ledger, PrivateLinearSVC
from tacit.erm import (
    Hinge,
    HuberHinge,
    Logistic,
    Objective,
    PointwiseLoss,
    Rows,
    smallest_tolerance,
    solve,
)
from tacit.erm.solver import hinge as hinge_module
from tacit.erm.solver import interior, newton
from tacit.erm.solver.duality import duality_gap
from tacit.erm.solver.interior import most_short_steps, short_steps
from tacit.erm.solver.newton import Smooth, glide, most_gliding_steps
from tacit.errors import InvalidParameter
from tacit.numerics.exact import Point

Table = tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]]


def _plain(rng: np.random.Generator, n: int, d: int) -> Table:
    rows = rng.normal(size=(n, d))
    return rows / np.linalg.norm(rows, axis=1, keepdims=True), rng.choice([-1.0, 1.0], n)


def _separable(rng: np.random.Generator, n: int, d: int) -> Table:
    rows, _ = _plain(rng, n, d)
    return rows, np.where(rows[:, 0] > 0, 1.0, -1.0)


def _scaled(rng: np.random.Generator, n: int, d: int) -> Table:
    rows, targets = _plain(rng, n, d)
    return rows * 10.0 ** rng.uniform(-8, 0, size=(n, 1)), targets


def _copies(rng: np.random.Generator, n: int, d: int) -> Table:
    rows, _ = _plain(rng, n, d)
    return np.tile(rows[:3], (n // 3 + 1, 1))[:n], np.where(np.arange(n) % 2, 1.0, -1.0)


def _single(rng: np.random.Generator, n: int, d: int) -> Table:
    rows, targets = _plain(rng, n, d)
    rows[1:] = 0.0
    return rows, targets


HOSTILE = [_plain, _separable, _scaled, _copies, _single]
SMOOTH = [Logistic(3.0), HuberHinge(0.5), HuberHinge(1e-3), HuberHinge(1e-6)]


def _objective(make: Callable[..., Table], loss: PointwiseLoss, alpha: float, n: int = 120, d: int = 4) -> Objective:
    rng = np.random.default_rng(5)
    rows, targets = make(rng, n, d)
    return Objective(Rows.clipped(rows, 1.0, 0.25), targets, loss, alpha, 5 * rng.normal(size=d + 1))


def _tolerance(objective: Objective, factor: float = 1e-5) -> float:
    usual = factor * objective.rows.norm / objective.rows.count
    return max(usual, 2 * smallest_tolerance(objective))


@pytest.fixture
def passes(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Count the gradients that are computed."""
    counted = [0]
    for landscape in (newton.Smooth, hinge_module._Smoothed):
        plain = landscape.evaluate

        def counting(self: Any, point: Point, wanted: float, plain: Any = plain) -> Any:
            counted[0] += 1
            return plain(self, point, wanted)

        monkeypatch.setattr(landscape, "evaluate", counting)
    return counted


@pytest.mark.parametrize("make", HOSTILE, ids=lambda make: make.__name__)
@pytest.mark.parametrize("loss", SMOOTH, ids=str)
def test_newtons_steps_are_few_at_the_smallest_ridge_that_private_fits_take(
    make: Callable[..., Table], loss: PointwiseLoss, passes: list[int]
) -> None:
    """At a condition of 1e8 hostile records take at most a few thousand passes, with a certificate."""
    objective = _objective(make, loss, loss.smoothness / 1e8)
    tolerance = _tolerance(objective)
    assert solve(objective, tolerance).tau <= tolerance
    assert passes[0] <= 5_000


@pytest.mark.parametrize("make", HOSTILE, ids=lambda make: make.__name__)
@pytest.mark.parametrize("loss", SMOOTH, ids=str)
def test_gliding_alone_arrives_within_its_bound(
    make: Callable[..., Table], loss: PointwiseLoss, passes: list[int]
) -> None:
    """Accelerated gradients are certified after at most as many passes as public quantities allow."""
    objective = _objective(make, loss, loss.smoothness / 1e3)
    tolerance = _tolerance(objective)
    with objective.threads() as workers:
        landscape, start = Smooth(objective, workers), Point(np.zeros(objective.shape))
        steepest = float(objective.rows.norm + np.linalg.norm(objective.linear) / objective.rows.count)  # type: ignore[arg-type]
        found = glide(landscape, start, tolerance)
    assert found.tau <= tolerance
    assert passes[0] <= most_gliding_steps(landscape.curvatures, 2.1 * steepest / tolerance)


@pytest.mark.parametrize("loss", [*SMOOTH, Hinge()], ids=str)
@pytest.mark.parametrize("make", HOSTILE, ids=lambda make: make.__name__)
def test_the_method_changes_when_the_first_gets_nowhere(
    make: Callable[..., Table], loss: PointwiseLoss, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With Newton's method, long interior steps and narrowing all cut off, the solution is certified none the less."""
    monkeypatch.setattr(newton, "_MOST_STEPS", 1)
    monkeypatch.setattr(interior, "_MOST_STEPS", 1)
    monkeypatch.setattr(hinge_module, "_MOST_WIDTHS", 1)
    is_hinge = isinstance(loss, Hinge)
    objective = _objective(make, loss, 1e-3 if is_hinge else loss.smoothness / 1e3)
    tolerance = _tolerance(objective, 1e-3 if is_hinge else 1e-5)
    assert solve(objective, tolerance).distance <= tolerance / objective.alpha


@pytest.mark.parametrize("alpha", [1e-8, 1e-4, 1.0])
@pytest.mark.parametrize("make", HOSTILE, ids=lambda make: make.__name__)
def test_short_steps_close_the_gap_within_their_bound(
    make: Callable[..., Table], alpha: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The hinge is solved after at most as many short steps as n, the norm, the ridge and the tolerance allow."""
    objective = _objective(make, Hinge(), alpha, n=60)
    counted = [0]
    plain = interior._Program.curvature

    def counting(self: Any, state: Any) -> Any:
        counted[0] += 1
        return plain(self, state)

    monkeypatch.setattr(interior._Program, "curvature", counting)
    tolerance = _tolerance(objective, 1e-3)
    enough = tolerance**2 / (2 * alpha)
    with objective.threads() as workers:
        point, duals = short_steps(objective, workers, enough / 2)
        assert duality_gap(objective, workers, point, duals, tolerance / 8) <= enough
    norm, count = objective.rows.norm, objective.rows.count
    size = (norm / 2 + float(np.linalg.norm(objective.linear)) / count) / alpha  # type: ignore[arg-type]
    largest_mu = math.sqrt(2 * count) * (norm * size + 1) / 0.8
    assert counted[0] <= most_short_steps(count, 2 * largest_mu / (enough / 2))


@pytest.mark.parametrize(
    "options",
    [
        {"width": 1e-6, "alpha": 1e-4, "perturbation": "output"},
        {"width": 1e-6, "perturbation": "output", "data_norm": 1e6, "alpha": 1.0},
        {"loss": "hinge", "data_norm": 1e90, "alpha": 1e-4},
        {"loss": "hinge", "data_norm": 1e90, "alpha": 1.0},
        {"data_norm": 1e50, "alpha": 1.0, "perturbation": "output"},
    ],
    ids=str,
)
def test_ridges_that_no_solver_is_quick_with_are_refused_before_the_charge(
    options: dict[str, Any], tmp_path: Any
) -> None:
    """Narrow corners and long rows with a tiny ridge ran for seconds to minutes on some records: refused publicly."""
    ledger = Ledger.create(f"sqlite:///{tmp_path}/ledger.db", name="x", budget=Budget(5))
    rows, targets = _separable(np.random.default_rng(0), 50, 3)
    for scale in (1.0, 0.0):
        with pytest.raises(InvalidParameter, match="busy for long"):
            PrivateLinearSVC(1.0, **{"data_norm": 1.0, **options}, ledger=ledger).fit(scale * rows, targets)
    assert ledger.entries() == []


@pytest.mark.parametrize("norm", [1e-99, 1e-70, 1.0, 1e30, 1e99])
@pytest.mark.parametrize(
    "options", [{"loss": "hinge"}, {"width": 1e-3}, {"width": 0.5, "perturbation": "output"}, {"alpha": 1e100}], ids=str
)
def test_records_of_any_size_are_solved_in_as_few_passes_or_refused_alike(
    norm: float, options: dict[str, Any], passes: list[int]
) -> None:
    """Rows of 1e300 clipped to a norm of 1e-99 once left the solver without a Hessian, and it did not return."""
    rng = np.random.default_rng(0)
    rows, sides = _separable(rng, 60, 3)
    sizes = 10.0 ** rng.uniform(-300, 300, size=(60, 1))
    outcomes = set()
    for table in (rows, 0 * rows, 1e-300 * rows, 1e300 * rows, sizes * rows, np.tile(rows[0], (60, 1))):
        passes[0] = 0
        try:
            model = PrivateLinearSVC(1.0, data_norm=norm, classes=[-1, 1], random_state=0, **options).fit(table, sides)
            outcomes.add(bool(np.all(np.isfinite(model.coef_))))
        except InvalidParameter as refusal:
            outcomes.add(str(refusal))  # type: ignore[arg-type]
        assert passes[0] <= 2_000
    assert len(outcomes) == 1
    assert False not in outcomes
