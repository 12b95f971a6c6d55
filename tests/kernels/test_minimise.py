"""The certified minimiser of kernel models, against explicit features and exact minimisers."""

from dataclasses import dataclass

import numpy as np
import pytest

from tacit.erm import Hinge, HuberHinge, HuberRegression, Logistic, Objective, Rows, Squared, smallest_tolerance, solve
from tacit.errors import InvalidParameter
from tacit.kernels import RBF, FunctionKernel, Laplacian, Linear, Polynomial
from tacit.kernels.fit import minimise as module
from tacit.kernels.fit.minimise import _descended, _distance_by_gap, _factorised_solve, _gradient_norm, _swept, minimise
from tacit.kernels.fit.problem import LARGEST_COUNT, KernelProblem, smallest_alpha, tolerance_for
from tacit.kernels.fit.reading import certified_linear, certified_model, size_bound
from tacit.kernels.kernel.custom import is_proven
from tacit.kernels.kernel.domain import Domain

GENERATOR = np.random.default_rng(3)
COUNT, WIDTH = 120, 4
X = GENERATOR.normal(size=(COUNT, WIDTH))
X /= np.maximum(1, np.linalg.norm(X, axis=1, keepdims=True))
Y = np.where(X[:, 0] * X[:, 1] + 0.05 * GENERATOR.normal(size=COUNT) > 0, 1.0, -1.0)
LOSSES = {
    "logistic": Logistic(),
    "huber": HuberHinge(0.5),
    "hinge": Hinge(),
    "squared": Squared(1.0, 20.0),
    "absolute": HuberRegression(1.0, 1.0),
}
EVERY = pytest.mark.parametrize("name", LOSSES)


def _quadratic_features(rows):
    """The features of (x.z + 1)^2: all products of pairs of (1, x)."""
    longer = np.column_stack([np.ones(len(rows)), rows])
    return np.einsum("ij,ik->ijk", longer, longer).reshape(len(rows), -1)


@EVERY
@pytest.mark.parametrize("alpha", [1e-1, 1e-3])
def test_the_distance_to_the_linear_solver_is_within_both_certificates(name, alpha):
    """With a kernel whose features can be written down, the linear solver's exact minimiser is as near as certified."""
    domain, loss = Domain(Polynomial(2), 1.0, WIDTH), LOSSES[name]
    tolerance = tolerance_for(domain, COUNT, loss, alpha)
    weights = minimise(KernelProblem.of(domain, X, Y, loss, alpha), tolerance)
    features = _quadratic_features(X)
    objective = Objective(Rows.clipped(features, domain.radius), Y, loss, alpha)
    exact = solve(objective, 2 * smallest_tolerance(objective))
    distance = np.linalg.norm(features.T @ weights - exact.coefficient)
    assert distance <= tolerance / alpha + exact.distance
    assert np.abs(weights).sum() <= 1.001 * loss.lipschitz / alpha


@EVERY
def test_the_certificate_is_no_smaller_than_the_true_distance(name):
    """Weights moved away from the minimiser are certified no nearer than they are."""
    domain, loss, alpha = Domain(RBF(2.0), 1.0, WIDTH), LOSSES[name], 0.01
    problem = KernelProblem.of(domain, X, Y, loss, alpha)
    best = minimise(problem, tolerance_for(domain, COUNT, loss, alpha))
    for scale in (1e-4, 1e-2, 1.0):
        step = GENERATOR.normal(size=COUNT) * scale / (COUNT * alpha)
        moved = np.clip(Y * (best + step), 0.0, 1 / (COUNT * alpha)) * Y if name == "hinge" else best + step
        true = float(np.sqrt((moved - best) @ problem.gram @ (moved - best)))
        bound = _distance_by_gap(problem, moved) if name == "hinge" else _gradient_norm(problem, moved) / alpha
        assert bound >= true * (1 - 1e-3) - tolerance_for(domain, COUNT, loss, alpha) / alpha


def test_a_kernel_that_is_computed_badly_is_solved_less_well():
    """The tolerance includes the kernel's declared error, and grows with it."""
    good, bad = (FunctionKernel(lambda x, z: float(x @ z), 1.0, vectors=True, error=e) for e in (1e-15, 1e-10))
    tolerances = [tolerance_for(Domain(kernel, 1.0, WIDTH), 10_000, Logistic(), 1e-5) for kernel in (good, bad)]
    assert tolerances[1] > 10 * tolerances[0]


def test_the_tolerance_is_a_small_part_of_the_sensitivity():
    """At usual sizes the solver adds a thousandth to the sensitivity, a fortieth for the hinge."""
    domain = Domain(RBF(1.0), 1.0, 10)
    for name, part in (("logistic", 1e-3), ("hinge", 2.5e-2)):
        assert tolerance_for(domain, 10_000, LOSSES[name], 1e-2) <= part * domain.radius / 10_000 * 1.0001


def test_neighbours_differ_by_no_more_than_the_sensitivity():
    """Over replaced records the computed models move by less than stated, and by more than a quarter of it."""
    domain, alpha = Domain(RBF(4.0), 1.0, 1), 0.5
    base = np.linspace(-1, 1, 12)[:, None]
    worst = 0.0
    for label in (1.0, -1.0):
        first, second = base.copy(), base.copy()
        labels = np.ones(12)
        labels[0] = label
        second[0], other = -base[0], np.ones(12)
        other[0] = -label
        one = certified_model(domain, first, labels, Hinge(), alpha, None)
        two = certified_model(domain, second, other, Hinge(), alpha, None)
        both = np.vstack([one.model.records, two.model.records])
        step = np.concatenate([one.model.weights, -two.model.weights])
        worst = max(worst, float(np.sqrt(step @ domain.gram(both) @ step)))
        assert worst <= one.sensitivity
    assert worst >= one.sensitivity / 4


def test_the_linear_and_the_kernel_path_agree():
    """The linear kernel by its matrix and by its coefficient give the same values."""
    domain = Domain(Linear(), 1.0, WIDTH)
    one = certified_model(domain, X, Y, Logistic(), 0.01, None)
    two = certified_linear(domain, X, Y, Logistic(), 0.01)
    assert np.allclose(one.model.values(X), two.model.values(X), atol=1e-4)
    assert two.sensitivity == pytest.approx(2 / (COUNT * 0.01), rel=2e-3)
    assert np.linalg.norm(two.model.coefficient) <= size_bound(Logistic(), 1.0, 0.01)


def test_too_many_records_are_sent_to_landmarks():
    """Beyond the largest number the matrix is not even built."""
    with pytest.raises(InvalidParameter, match="landmarks"):
        KernelProblem.of(Domain(Linear(), 1.0, 1), np.zeros((LARGEST_COUNT + 1, 1)), [], Logistic(), 1.0)


def _indefinite(x: object, z: object) -> float:
    return 1.0 - float(np.sum(np.subtract(x, z) ** 2))


@dataclass(frozen=True)
class Wild(RBF):
    """Not a kernel."""

    def block(self, left, right):
        """Return what no features have for inner products."""
        return 1.0 - np.square(left[:, None] - right).sum(axis=2)


@pytest.mark.parametrize(
    "kernel",
    [FunctionKernel(_indefinite, 1.0, vectors=True), FunctionKernel(_indefinite, 1.0, vectors=True) + 0.01, Wild(1.0),
     Linear() + Wild(1.0), FunctionKernel(lambda x, z: float(np.dot(x, z)), 1.0, vectors=True)],
)  # fmt: skip
def test_kernels_that_are_only_declared_are_refused_without_a_look_at_records(kernel, monkeypatch):
    """A function or class of a user's own, and any sum with one, good or bad: the refusal looks at no record."""
    monkeypatch.setattr(Domain, "block", None)
    monkeypatch.setattr(Domain, "clipped", None)
    assert not is_proven(kernel)
    assert is_proven(RBF(1.0) * 2.0 + Linear())
    for refused in (
        lambda: KernelProblem.of(Domain(kernel, 1.0, WIDTH), X, Y, Logistic(), 0.1),
        lambda: certified_model(Domain(kernel, 1.0, WIDTH), X, Y, Logistic(), 0.1, None),
    ):
        with pytest.raises(InvalidParameter, match="known to be positive semi-definite"):
            refused()


def test_thousands_of_records_are_solved_by_conjugate_gradients():
    """Above the direct limit the same certificate is reached."""
    rows = GENERATOR.normal(size=(2_600, 3))
    rows /= np.maximum(1, np.linalg.norm(rows, axis=1, keepdims=True))
    labels = np.where(rows[:, 0] > 0, 1.0, -1.0)
    domain = Domain(RBF(1.0), 1.0, 3)
    problem = KernelProblem.of(domain, rows, labels, Logistic(), 0.02)
    tolerance = tolerance_for(domain, len(rows), Logistic(), 0.02)
    assert _gradient_norm(problem, minimise(problem, tolerance)) <= tolerance


@EVERY
@pytest.mark.parametrize("kernel", [RBF(1.0), Linear() + 1.0, Polynomial(6, 10.0), Laplacian(1.0)])
def test_no_labels_and_no_rows_keep_the_smallest_alpha_from_being_certified(name, kernel):
    """At the smallest ridge coinciding, nearly coinciding and spread rows are all fitted, whatever the labels."""
    domain, loss = Domain(kernel, 1.0, 2), LOSSES[name]
    alpha = smallest_alpha(domain, loss)
    spread = GENERATOR.normal(size=(20, 2))
    for rows in (np.zeros((20, 2)), 0.5 + 1e-9 * spread, spread):
        for flipped in (0, 1, 2, 9):
            labels = np.where(np.arange(20) < flipped, 1.0, -1.0)
            found = certified_model(domain, rows, labels, loss, alpha, None)
            assert np.abs(found.model.weights).sum() <= 1.005 * loss.lipschitz / alpha


@EVERY
def test_a_ridge_too_small_is_refused_without_a_look_at_records(name, monkeypatch):
    """The refusal depends on public quantities: the kernel is never evaluated."""
    monkeypatch.setattr(Domain, "block", None)
    with pytest.raises(InvalidParameter, match="alpha must be at least"):
        certified_model(Domain(RBF(1.0), 1.0, WIDTH), X, Y, LOSSES[name], 1e-8, None)


def test_the_smallest_alpha_scales_with_the_kernel_and_its_error():
    """It is a millionth of R^2 for accurate kernels, and more for inaccurate ones."""
    assert smallest_alpha(Domain(RBF(1.0), 1.0, 2), Logistic()) == pytest.approx(1e-6)
    assert smallest_alpha(Domain(RBF(1.0) * 100.0, 1.0, 2), Hinge()) == pytest.approx(1e-4)
    rough = FunctionKernel(lambda x, z: 1.0, 1.0, error=1e-9)
    assert smallest_alpha(Domain(rough, 1.0, 0), Logistic()) > 1e-4


@EVERY
def test_without_newtons_method_the_same_certificate_is_reached(name, monkeypatch):
    """With no patience at all for Newton's method, the slow methods take over and certify."""
    domain, loss, alpha = Domain(RBF(2.0), 1.0, WIDTH), LOSSES[name], 0.1
    problem = KernelProblem.of(domain, X[:30], Y[:30], loss, alpha)
    tolerance = tolerance_for(domain, 30, loss, alpha)
    quick = minimise(problem, tolerance)
    monkeypatch.setattr(module, "_PATIENCE", 0)
    slow = minimise(problem, tolerance)
    bound = _distance_by_gap(problem, slow) if name == "hinge" else _gradient_norm(problem, slow) / alpha
    assert bound <= tolerance / alpha
    assert np.abs(slow).sum() <= 1.005 * loss.lipschitz / alpha
    assert np.sqrt((slow - quick) @ problem.gram @ (slow - quick)) <= 2 * tolerance / alpha


def test_the_slow_methods_reach_the_finest_tolerance():
    """They end at what tolerance_for promises of doubles, also where no tolerance for the noise is in the way."""
    domain, alpha, many = Domain(RBF(1.0), 1.0, WIDTH), 0.01, 10**12
    for loss, slow, bound in (
        (Logistic(), _descended, lambda problem, weights: _gradient_norm(problem, weights)),
        (Hinge(), _swept, lambda problem, weights: _distance_by_gap(problem, weights) * alpha),
    ):
        problem = KernelProblem.of(domain, X[:12], Y[:12], loss, alpha)
        tolerance = tolerance_for(domain, many, loss, alpha)
        assert bound(problem, slow(problem, np.zeros(12), tolerance)) <= tolerance


def test_a_factorisation_that_fails_is_repeated_with_a_larger_ridge():
    """An indefinite matrix, which rounding might leave, raises nothing, nor does one that no ridge helps."""
    assert np.all(np.isfinite(_factorised_solve(np.diag([1.0, -1e-3]), 1e-6, np.ones(2))))
    assert np.array_equal(_factorised_solve(np.diag([-np.inf, 1.0]), 1e-6, np.ones(2)), [0.0, 0.0])


def test_hinges_are_solved_in_few_steps(monkeypatch: pytest.MonkeyPatch) -> None:
    """Narrowing the corner takes some dozens of steps, not hundreds, and no sweeps, at a small ridge too."""
    generator = np.random.default_rng(5)
    records = generator.normal(size=(600, 10)) / 4
    labels = np.where(records[:, 0] * records[:, 1] + 0.05 * generator.normal(size=600) > 0, 1.0, -1.0)
    domain = Domain(RBF(1.0), 1.0, 10)
    problem = KernelProblem.of(domain, domain.clipped(records), labels, Hinge(), 1e-3)
    steps = []
    monkeypatch.setattr(module, "_step", lambda *parts, old=module._step: steps.append(1) or old(*parts))
    tolerance = tolerance_for(domain, 600, Hinge(), 1e-3)
    found = module._narrowed(problem, tolerance)
    assert _distance_by_gap(problem, found) * 1e-3 <= tolerance
    assert len(steps) <= 80
