"""Certified solutions: the certificate is true, and reached, on easy and on nasty problems."""

import itertools
import math
from fractions import Fraction

import mpmath
import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st

from support.exact_reference import DIGITS, exact_gradient, exact_minimiser, exact_point
from tacit.erm import (
    Hinge,
    HuberHinge,
    HuberRegression,
    Logistic,
    Loss,
    Objective,
    Rows,
    Softmax,
    Squared,
    smallest_tolerance,
    solve,
)
from tacit.erm.solver.rounding import Rounding
from tacit.errors import InvalidParameter
from tacit.numerics.exact import Point
from tacit.numerics.threads import Threads

LOSSES: list[Loss] = [
    Logistic(),
    Logistic(3.0),
    HuberHinge(),
    HuberHinge(0.01),
    Squared(1.0, 10.0),
    HuberRegression(0.3, 1.0),
    Softmax(3),
]


def targets_for(loss: Loss, rng: np.random.Generator, count: int) -> np.ndarray:
    """Draw targets that suit a loss."""
    if isinstance(loss, Softmax):
        return rng.integers(0, loss.classes, size=count)
    if isinstance(loss, Squared | HuberRegression):
        return rng.uniform(-1, 1, size=count)
    return np.where(rng.random(count) < 0.5, -1.0, 1.0)


def usual_tolerance(objective: Objective) -> float:
    """Return 1e-5 L R / n, or what can be reached."""
    usual = 1e-5 * objective.loss.lipschitz * objective.rows.norm / objective.rows.count
    return max(usual, smallest_tolerance(objective))


def measured(data: np.ndarray, constant: float | None = None) -> Rows:
    """Return rows as they are, the norm being that of the longest."""
    return Rows.clipped(data, 1.000001 * float(np.linalg.norm(data, axis=1).max()), constant)


def nasty_problem(loss: Loss, kind: str) -> Objective:
    """Return a small problem with one difficulty."""
    rng = np.random.default_rng(sum(map(ord, kind)))
    count, dimension = (1, 3) if kind == "one row" else (25, 1) if kind == "one feature" else (25, 3)
    data = rng.standard_normal((count, dimension))
    targets = targets_for(loss, rng, count)
    alpha, constant, tilt = 1e-2, None, 0.0
    if kind == "scales":
        data *= [1e-6, 1.0, 1e3]
    elif kind == "huge rows":
        data *= 1e6
    elif kind == "tiny rows":
        data *= 1e-6
    elif kind == "constant column":
        data[:, 1] = 1.0
        constant = 1.0
    elif kind == "zero rows":
        data[::2] = 0.0
    elif kind == "tiny ridge":
        alpha = 1e-9
    elif kind == "separable":
        alpha = 1e-6
        if loss.outputs == 1:
            targets = np.where(data[:, 0] > 0, 1.0, -1.0)
    elif kind == "large noise":
        tilt = 1e3
    elif kind == "duplicates":
        data[5:] = data[:5].repeat(4, axis=0)
    objective = Objective(measured(data, constant=constant), targets, loss, alpha)
    return objective.with_linear(tilt * rng.standard_normal(objective.shape))


KINDS = [
    "plain", "one row", "one feature", "scales", "huge rows", "tiny rows", "constant column", "zero rows",
    "tiny ridge", "separable", "large noise", "duplicates",
]  # fmt: skip


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("loss", LOSSES, ids=str)
def test_the_certificate_is_true_and_reached(loss: Loss, kind: str) -> None:
    """The exact gradient has at most the norm tau, and tau and the distance are within the tolerance."""
    objective = nasty_problem(loss, kind)
    tolerance = usual_tolerance(objective)
    solution = solve(objective, tolerance)
    with mpmath.workdps(DIGITS):
        point = exact_point(solution.coefficient, solution.remainder)
        norm = float(mpmath.norm(exact_gradient(objective, point)))
    assert norm <= solution.tau <= tolerance
    assert solution.distance <= tolerance / objective.alpha * (1 + 1e-12)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("loss", [Logistic(), Logistic(3.0), HuberHinge(), HuberRegression(0.3, 1.0)], ids=str)
def test_the_minimiser_is_within_the_distance(loss: Loss, kind: str) -> None:
    """The minimiser, found in sixty digits, lies within the certified distance."""
    objective = nasty_problem(loss, kind)
    solution = solve(objective, usual_tolerance(objective))
    with mpmath.workdps(DIGITS):
        start = exact_point(solution.coefficient, solution.remainder)
        exact = exact_minimiser(objective, start)
        moved = [w - mpmath.mpf(float(c)) for w, c in zip(exact, solution.coefficient, strict=True)]
        assert float(mpmath.norm(moved)) <= solution.distance


@pytest.mark.parametrize("accurate", [False, True])
@pytest.mark.parametrize("size", [0.1, 30.0, 1e5])
@pytest.mark.parametrize("loss", LOSSES, ids=str)
def test_the_error_bound_of_a_gradient_is_true(loss: Loss, size: float, accurate: bool) -> None:
    """At arbitrary points the computed gradient is within its bound of the exact one, in both precisions."""
    rng = np.random.default_rng(8)
    data = sp.random(40, 6, density=0.7, format="csr", rng=rng) if accurate else rng.standard_normal((40, 6))
    rows = Rows.clipped(data, 1.5, constant=1.0)
    objective = Objective(rows, targets_for(loss, rng, 40), loss, 1e-3)
    objective = objective.with_linear(rng.standard_normal(objective.shape))
    for _ in range(3):
        high = rng.standard_normal(objective.shape) * size
        point = Point(high, high * 1e-17 * rng.random(objective.shape)) if accurate else Point(high)
        for per_block in (4, 40):
            bound = Rounding(objective).error(point.size, per_block, accurate)
            gradient = objective.gradients(Threads(None), point, per_block, accurate)
            with mpmath.workdps(DIGITS):
                exact = exact_gradient(objective, exact_point(point.high, point.low))
                error = [e - mpmath.mpf(float(g)) for e, g in zip(exact, gradient.ravel(), strict=True)]
                assert float(mpmath.norm(error)) <= bound


def test_a_sloppy_certificate_would_be_false() -> None:
    """The norm of the computed gradient alone, without its rounding error, is not a bound."""
    false_claims = 0
    for kind in KINDS:
        objective = nasty_problem(Logistic(), kind)
        solution = solve(objective, smallest_tolerance(objective))
        with mpmath.workdps(DIGITS):
            exact = mpmath.norm(exact_gradient(objective, exact_point(solution.coefficient)))
        false_claims += float(exact) > float(np.linalg.norm(objective.gradient(solution.coefficient)))
    assert false_claims > 0


def test_twice_the_digits_are_used_where_doubles_are_too_coarse() -> None:
    """With a large coefficient and a small tolerance a remainder is kept, and the certificate is true."""
    rng = np.random.default_rng(1)
    data = rng.standard_normal((40, 4))
    objective = Objective(measured(data), np.where(data[:, 0] > 0, 1.0, -1.0), Logistic(), 1e-12)
    tolerance = smallest_tolerance(objective)
    solution = solve(objective, tolerance)
    assert solution.remainder is not None
    with mpmath.workdps(DIGITS):
        point = exact_point(solution.coefficient, solution.remainder)
        assert float(mpmath.norm(exact_gradient(objective, point))) <= solution.tau <= tolerance


@pytest.mark.parametrize("loss", LOSSES, ids=str)
def test_a_known_minimiser_is_found(loss: Loss) -> None:
    """With the linear term chosen to put the minimum at a given point, that point comes out."""
    rng = np.random.default_rng(9)
    rows = Rows.clipped(rng.standard_normal((500, 5)), 2.0, constant=1.0)
    objective = Objective(rows, targets_for(loss, rng, 500), loss, 1e-2)
    known = rng.standard_normal(objective.shape)
    known -= known.mean(axis=0) if loss.outputs > 1 else 0.0
    objective = objective.with_linear(-500 * objective.gradient(known))
    solution = solve(objective, usual_tolerance(objective))
    slack = 1e-14 / objective.alpha
    assert np.linalg.norm(solution.coefficient - known) <= solution.distance + slack


@given(st.integers(0, 10_000), st.sampled_from(LOSSES), st.floats(-5, 1), st.floats(-2, 2))
@settings(max_examples=40)
def test_random_problems_are_certified(seed: int, loss: Loss, ridge: float, noise: float) -> None:
    """Random shapes, ridges and noise: the certificate is true and within the tolerance."""
    rng = np.random.default_rng(seed)
    count, dimension = int(rng.integers(1, 30)), int(rng.integers(1, 5))
    rows = Rows.clipped(rng.standard_normal((count, dimension)), 1.0, constant=1.0)
    objective = Objective(rows, targets_for(loss, rng, count), loss, 10.0**ridge)
    objective = objective.with_linear(rng.standard_normal(objective.shape) * 10.0**noise)
    tolerance = usual_tolerance(objective)
    solution = solve(objective, tolerance)
    with mpmath.workdps(DIGITS):
        point = exact_point(solution.coefficient, solution.remainder)
        assert float(mpmath.norm(exact_gradient(objective, point))) <= solution.tau <= tolerance


@pytest.mark.parametrize("loss", [*LOSSES, Hinge()], ids=str)
def test_dense_and_sparse_rows_agree(loss: Loss) -> None:
    """The same rows, dense and sparse, have minimisers within the two distances."""
    rng = np.random.default_rng(10)
    data = rng.standard_normal((400, 8)) * (rng.random((400, 8)) < 0.3)
    targets = targets_for(loss, rng, 400)
    dense = Objective(Rows.clipped(data, 2.0, constant=1.0), targets, loss, 1e-3)
    sparse = Objective(Rows.clipped(sp.csr_array(data), 2.0, constant=1.0), targets, loss, 1e-3)
    first, second = (solve(one, usual_tolerance(one)) for one in (dense, sparse))
    assert np.linalg.norm(first.coefficient - second.coefficient) <= first.distance + second.distance


@pytest.mark.parametrize("order", ["as drawn", "sorted by target"])
def test_samples_of_the_rows_only_help_to_start(order: str) -> None:
    """With enough rows for samples the solution over all rows is still the certified one, in any order."""
    rng = np.random.default_rng(12)
    data = rng.standard_normal((70_000, 4))
    targets = np.where(data @ [1.0, -2.0, 0.5, 0.0] + rng.logistic(size=70_000) > 0, 1.0, -1.0)
    if order == "sorted by target":
        chosen = np.argsort(targets, kind="stable")
        data, targets = data[chosen], targets[chosen]
    objective = Objective(Rows.clipped(data, 3.0), targets, Logistic(), 1e-4)
    solution = solve(objective, usual_tolerance(objective))
    assert np.linalg.norm(objective.gradient(solution.coefficient)) <= solution.tau
    np.testing.assert_allclose(solution.coefficient, [1.0, -2.0, 0.5, 0.0], atol=0.1)


def test_softmax_columns_sum_to_zero() -> None:
    """The classes' coefficients of each feature sum to zero, as the symmetry of the objective demands."""
    rng = np.random.default_rng(13)
    rows = Rows.clipped(rng.standard_normal((900, 6)), 2.0, constant=1.0)
    objective = Objective(rows, rng.integers(0, 4, size=900), Softmax(4), 1e-2)
    noise = rng.standard_normal((4, 7))
    solution = solve(objective.with_linear(noise - noise.mean(axis=0)), usual_tolerance(objective))
    np.testing.assert_allclose(solution.coefficient.sum(axis=0), 0.0, atol=1e-12)


@pytest.mark.parametrize(
    ("loss", "rows", "features"),
    [(Softmax(4), 300, 400), (Logistic(), 40, 2_000), (Hinge(), 40, 2_000), (Logistic(), 1_700, 1_800)],
    ids=["by class", "through records", "through records, hinge", "diagonal"],
)
def test_wide_problems_are_certified(loss: Loss, rows: int, features: int) -> None:
    """Where a whole Hessian would not fit, parts of it lead to a certified solution too."""
    rng = np.random.default_rng(14)
    data = sp.random(rows, features, density=0.02, format="csr", rng=rng)
    objective = Objective(Rows.clipped(data, 1.0, constant=1.0), targets_for(loss, rng, rows), loss, 1e-3)
    tolerance = usual_tolerance(objective)
    solution = solve(objective, tolerance)
    assert solution.distance <= tolerance / objective.alpha
    if not isinstance(loss, Hinge):
        assert np.linalg.norm(objective.gradient(solution.coefficient)) <= solution.tau


def _hinge_minimiser(points: np.ndarray, alpha: float, linear: float) -> Fraction:
    """Return the minimiser of a one-dimensional hinge objective, exactly, by trying every piece."""
    count, ridge = len(points), Fraction(alpha)
    slopes = [Fraction(float(u)) for u in points]
    corners = sorted(1 / u for u in slopes if u)
    candidates = list(corners)
    edges = [corners[0] - 1, *corners, corners[-1] + 1] if corners else [Fraction(0)]
    for left, right in itertools.pairwise(edges):
        middle = (left + right) / 2
        active = sum(u for u in slopes if u * middle < 1)
        candidates.append((active - Fraction(float(linear))) / count / ridge)

    def value(w: Fraction) -> Fraction:
        hinges = sum(max(Fraction(0), 1 - u * w) for u in slopes)
        return (hinges + Fraction(float(linear)) * w) / count + ridge * w * w / 2

    return min(candidates, key=value)


@pytest.mark.parametrize("seed", range(12))
def test_the_hinge_minimiser_is_within_the_distance(seed: int) -> None:
    """In one dimension, where the minimiser is known exactly, it lies within the certified distance."""
    rng = np.random.default_rng(seed)
    count = int(rng.integers(1, 20))
    data = rng.standard_normal((count, 1)) if seed % 3 else np.ones((count, 1))
    targets = targets_for(Hinge(), rng, count)
    linear, alpha = rng.standard_normal(1), 10.0 ** -float(rng.integers(0, 4))
    objective = Objective(measured(data), targets, Hinge(), alpha, linear)
    exact = _hinge_minimiser(data[:, 0] * targets, alpha, float(linear[0]))
    for wanted in (1e-3 / count, 1e-5 / count, 0.0):
        tolerance = max(wanted, smallest_tolerance(objective))
        solution = solve(objective, tolerance)
        assert abs(exact - Fraction(float(solution.coefficient[0]))) <= Fraction(solution.distance)
        assert solution.distance <= tolerance / alpha


def test_smoothing_finishes_a_hinge_by_itself(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without the interior-point method, smoothing the corner reaches the same certified solution."""
    rng = np.random.default_rng(15)
    data = np.repeat(rng.standard_normal((7, 5)), 60, axis=0)
    objective = Objective(measured(data), targets_for(Hinge(), rng, 420), Hinge(), 1e-3)
    tolerance = usual_tolerance(objective)
    usual = solve(objective, tolerance)

    def nothing(objective: Objective, workers: Threads, start: np.ndarray, gap: float) -> tuple[Point, np.ndarray]:
        return Point(start), np.full(objective.rows.count, 0.5)

    monkeypatch.setattr("tacit.erm.solver.hinge.interior_point", nothing)
    smoothed = solve(objective, tolerance)
    assert smoothed.distance <= tolerance / objective.alpha
    assert np.linalg.norm(usual.coefficient - smoothed.coefficient) <= usual.distance + smoothed.distance


@pytest.mark.parametrize("loss", [*LOSSES, Hinge()], ids=str)
def test_an_unreachable_tolerance_is_refused_by_public_quantities_alone(loss: Loss) -> None:
    """Tolerances out of reach are refused, for any records of the same norm and number alike."""
    rng = np.random.default_rng(17)
    floors = set()
    for data in (rng.standard_normal((50, 3)), np.zeros((50, 3)), np.ones((50, 3))):
        objective = Objective(Rows.clipped(data, 1.0), targets_for(loss, rng, 50), loss, 1e-3)
        floors.add(smallest_tolerance(objective))
        for tolerance in (0.0, -1.0, math.nan, math.inf, smallest_tolerance(objective) * 0.99):
            with pytest.raises(InvalidParameter, match="tolerance"):
                solve(objective, tolerance)
    assert len(floors) == 1


def test_the_smallest_tolerance_is_reached() -> None:
    """What is declared to be reachable is reached."""
    for loss in [*LOSSES, Hinge()]:
        objective = nasty_problem(loss, "plain")
        tolerance = smallest_tolerance(objective)
        assert solve(objective, tolerance).distance <= tolerance / objective.alpha * (1 + 1e-12)


def test_solving_twice_gives_the_same_bits() -> None:
    """There is no chance in a solution: the same objective gives the same coefficient."""
    objective = nasty_problem(Logistic(), "scales")
    first, second = (solve(objective, 1e-6) for _ in range(2))
    np.testing.assert_array_equal(first.coefficient, second.coefficient)


def test_solving_ends_when_newton_steps_are_astronomical() -> None:
    """A ridge far below the curvature makes the first step 1e17 times too long; the solver still ends, certified."""
    rows = Rows.clipped(np.array([[0.3]]), 168096.0, 42024.0)
    objective = Objective(rows, np.array([1.0]), HuberHinge(0.0725), 2.28e-12)
    assert solve(objective, 1.7327).tau <= 1.7327
