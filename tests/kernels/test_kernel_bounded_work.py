"""How much work a kernel model takes is bounded by public quantities: counted in steps, on hostile records."""

from collections import Counter
from collections.abc import Iterator
from fractions import Fraction
from itertools import pairwise
from typing import Any

import numpy as np
import pytest

from tacit.erm import Hinge, HuberHinge, HuberRegression, Logistic, Squared
from tacit.erm.losses.loss import PointwiseLoss
from tacit.errors import InvalidParameter
from tacit.kernels import RBF, Linear, Polynomial
from tacit.kernels.fit import minimise as module
from tacit.kernels.fit.minimise import _descended, _distance_by_gap, _gradient_norm, _swept, minimise
from tacit.kernels.fit.problem import KernelProblem, smallest_alpha, tolerance_for
from tacit.kernels.fit.reading import certified_linear
from tacit.kernels.kernel.domain import Domain

COUNT = 60
GENERATOR = np.random.default_rng(11)
SPREAD = GENERATOR.normal(size=(COUNT, 2))
LINE = np.linspace(-1, 1, COUNT)[:, None] * np.array([[0.7, 0.7]])
KERNELS = (RBF(1.0), RBF(1e6), Linear() + 1.0, Polynomial(6, 10.0))
SMOOTH: tuple[PointwiseLoss, ...] = (Logistic(), HuberHinge(0.5), Squared(1.0, 20.0), HuberRegression(1.0, 1.0))


def _hostile(norm: float) -> Iterator[tuple[Any, Any]]:
    """Equal, nearly equal and spread rows, with none, one or half of them labelled otherwise, or at random."""
    for rows in (np.zeros((COUNT, 2)), 0.5 + 1e-9 * SPREAD, SPREAD, LINE):
        for flipped in (0, 1, COUNT // 2):
            yield rows * norm, np.where(np.arange(COUNT) < flipped, 1.0, -1.0)
        yield rows * norm, np.where(GENERATOR.random(COUNT) < 0.4, 1.0, -1.0)


@pytest.fixture
def counted(monkeypatch: pytest.MonkeyPatch) -> Counter[str]:
    """Count certificates, steps and moves of single variables."""
    counts: Counter[str] = Counter()

    def count(place: Any, name: str) -> None:
        usual = getattr(place, name)

        def counting(*given: Any) -> Any:
            counts[name] += 1
            return usual(*given)

        monkeypatch.setattr(place, name, counting)

    for name in ("_step", "_distance_by_gap", "_gradient_norm"):
        count(module, name)
    count(KernelProblem, "score")
    return counts


@pytest.mark.parametrize("kernel", KERNELS, ids=lambda each: type(each).__name__)
@pytest.mark.parametrize("norm", [1e-3, 1.0, 1e3])
def test_hinges_take_few_steps_at_hostile_records(kernel: Any, norm: float, counted: Counter[str]) -> None:
    """At the smallest ridge and above Newton's method ends by itself; before, tens of thousands of sweeps followed."""
    domain = Domain(kernel, norm, 2)
    for times in (1.0, 100.0, 1e4):
        alpha = times * smallest_alpha(domain, Hinge())
        for rows, labels in _hostile(norm):
            counted.clear()
            problem = KernelProblem.of(domain, domain.clipped(rows), labels, Hinge(), alpha)
            minimise(problem, tolerance_for(domain, COUNT, Hinge(), alpha))
            assert counted["_step"] <= 120
            assert counted["score"] == 0


@pytest.mark.parametrize("loss", SMOOTH, ids=lambda each: type(each).__name__)
def test_smooth_losses_take_few_steps_at_hostile_records(loss: PointwiseLoss, counted: Counter[str]) -> None:
    """Newton's method ends by itself, so that the gradient is not followed at all."""
    for kernel in KERNELS:
        domain = Domain(kernel, 1.0, 2)
        alpha = smallest_alpha(domain, loss)
        for rows, labels in _hostile(1.0):
            counted.clear()
            problem = KernelProblem.of(domain, domain.clipped(rows), labels, loss, alpha)
            minimise(problem, tolerance_for(domain, COUNT, loss, alpha))
            assert counted["_step"] <= 120
            assert counted["_gradient_norm"] <= 2 * counted["_step"] + 3


def _dual(gram: list[list[Fraction]], weights: Any, targets: Any, alpha: float) -> Fraction:
    """The hinge's dual, exactly: mean(a) - alpha/2 |w|^2 with a = n alpha y mu."""
    mu = [Fraction(float(each)) for each in weights]
    square = sum((a * b * gram[i][j] for i, a in enumerate(mu) for j, b in enumerate(mu)), Fraction(0))
    total = sum((each * int(label) for each, label in zip(mu, targets, strict=True)), Fraction(0))
    return Fraction(alpha) * (total - square / 2)


def test_every_move_raises_the_dual_by_what_public_quantities_say(monkeypatch: pytest.MonkeyPatch) -> None:
    """In exact arithmetic over the computed moves: so their number is bounded, whatever rounding does."""
    domain, count = Domain(RBF(1.0), 1.0, 2), 8
    alpha = 30 * smallest_alpha(domain, Hinge())
    rows = np.vstack([np.zeros((4, 2)), LINE[::15]])
    labels = np.array([1.0, -1.0, -1.0, -1.0, 1.0, 1.0, -1.0, 1.0])
    problem = KernelProblem.of(domain, rows, labels, Hinge(), alpha)
    exact = [[Fraction(float(each)) for each in row] for row in problem.gram]
    tolerance = tolerance_for(domain, count, Hinge(), alpha)
    small = (tolerance**2 / (2.01 * alpha) - 2 * problem.gap_error) / 2.02
    assert small >= 30 * problem.gap_error
    least = 0.46 * min(small / count, alpha * small**2 / (domain.square + 3 * problem.score_error(1.0)))
    seen: list[Any] = []
    usual = KernelProblem.score

    def score(self: KernelProblem, place: int, weights: Any) -> float:
        if not seen or not np.array_equal(seen[-1], weights):
            seen.append(weights.copy())
        return usual(self, place, weights)

    monkeypatch.setattr(KernelProblem, "score", score)
    found = _swept(problem, np.zeros(count), tolerance)
    duals = [_dual(exact, weights, labels, alpha) for weights in [*seen[:40], *seen[-40:], found]]
    rises = [two - one for one, two in pairwise(duals) if two != one]
    assert min(rises) >= least
    assert len(seen) <= (1.01 + domain.square / (2 * alpha)) / least
    assert _distance_by_gap(problem, found) * alpha <= tolerance


def test_starting_points_that_are_no_numbers_are_left() -> None:
    """Whatever Newton's method came to, the slow methods start from numbers and end."""
    domain, alpha = Domain(RBF(1.0), 1.0, 2), 0.1
    rows, labels = domain.clipped(SPREAD[:6]), np.array([1.0, -1.0] * 3)
    for start in (np.full(6, np.nan), np.full(6, np.inf), np.full(6, -1e308)):
        hinge = KernelProblem.of(domain, rows, labels, Hinge(), alpha)
        tolerance = tolerance_for(domain, 6, Hinge(), alpha)
        with np.errstate(all="ignore"):
            assert _distance_by_gap(hinge, _swept(hinge, start, tolerance)) * alpha <= tolerance
    smooth = KernelProblem.of(domain, rows, labels, Logistic(), alpha)
    tolerance = tolerance_for(domain, 6, Logistic(), alpha)
    assert _gradient_norm(smooth, _descended(smooth, np.full(6, np.nan), tolerance)) <= tolerance


@pytest.mark.parametrize(("count", "alpha"), [(100, 7e9), (1000, 1e8), (49, 1e12), (100, 1e100)])
def test_a_large_ridge_is_certified_though_duals_are_rounded(count: int, alpha: float, counted: Counter[str]) -> None:
    """Duals 1 - 2^-53 have a gap of 2^-53, more than was asked for at some sizes: the sweeps never ended there."""
    domain = Domain(RBF(1.0), 1.0, 1)
    problem = KernelProblem.of(domain, np.linspace(-1, 1, count)[:, None], [1.0, *[-1.0] * (count - 1)], Hinge(), alpha)
    tolerance = tolerance_for(domain, count, Hinge(), alpha)
    counted.clear()
    assert _distance_by_gap(problem, minimise(problem, tolerance)) * alpha <= tolerance
    assert counted["_step"] + counted["score"] <= 20


def test_a_ridge_too_small_for_landmarks_is_refused_whatever_the_records() -> None:
    """Where public quantities do not bound the linear solver's work nothing is solved."""
    domain = Domain(Linear(), 1.0, 2)
    for rows in (np.zeros((4, 2)), np.eye(2)[[0, 1, 0, 1]]):
        with pytest.raises(InvalidParameter, match="too small"):
            certified_linear(domain, rows, np.array([1.0, -1.0] * 2), Hinge(), 1e-10)
