"""The search confirms tacit's constants to within 2 %, and finds wrong ones."""

from dataclasses import replace
from functools import cache
from itertools import chain

import numpy as np
import pytest

from tacit.audit.catalogue.estimators import LinearProblem, logistic_search
from tacit.audit.exhibits.objective import nips2008_law, wrong_norm_law
from tacit.audit.laws import NoiseLaw, ObjectiveLaw, huber_hinge, huber_regression, logistic
from tacit.audit.search import held_pairs, search, tiny_pairs
from tacit.budget import Budget
from tacit.erm import HuberHinge, HuberRegression, Logistic
from tacit.erm.perturbations.defaults import MARGIN

SOLVER_SHARE = 0.99
"""What objective perturbation leaves of epsilon for the random term; the rest pays for the solver's error."""


@pytest.mark.parametrize("anchor", [0.0, MARGIN])
def test_pure_logistic_objective_perturbation_is_private_and_tight(anchor):
    """Over more than 500 neighbouring pairs the exact privacy loss stays below epsilon and comes within 5 % of it."""
    found = logistic_search(Budget(1), 1e-6, tiny_sets=90, anchor=anchor)
    assert found.pairs >= 500
    assert 0.95 <= found.loss <= SOLVER_SHARE


@pytest.mark.parametrize("anchor", [0.0, MARGIN])
@pytest.mark.parametrize("epsilon", [0.1, 4.0])
def test_it_is_tight_at_other_epsilons_too(epsilon, anchor):
    """The held pairs alone come within 5 % of epsilon, never above it."""
    found = logistic_search(Budget(epsilon), 1e-6, tiny_sets=1, anchor=anchor)
    assert 0.95 * epsilon <= found.loss <= SOLVER_SHARE * epsilon


@cache
def _logistic_with(anchor, noise_factor=1.0, ridge_factor=1.0):
    problem = LinearProblem(Logistic(anchor), logistic(anchor), "objective", Budget(1), 1e-6)

    def law(count):
        right = problem.law(count, 2)
        return replace(right, ridge=right.ridge * ridge_factor, noise=NoiseLaw(right.noise.unit * noise_factor))

    return search(law, held_pairs(1.0, law(1).ridge, anchor))


@pytest.mark.parametrize(
    "wrong",
    [{"noise_factor": 0.95}, {"noise_factor": 0.5}, {"ridge_factor": 0.7}, {"ridge_factor": 0.1}],
    ids=str,
)
@pytest.mark.parametrize("anchor", [0.0, MARGIN])
def test_a_wrong_constant_is_found(wrong, anchor):
    """Noise 5 % too small, or a ridge below the sharp threshold, is found as a loss above epsilon."""
    assert _logistic_with(anchor).loss <= 1
    assert _logistic_with(anchor, **wrong).loss > 1


@pytest.mark.parametrize(("norm", "loss"), [(10.0, 1.8), (100.0, 4.0)])
def test_a_norm_that_was_not_squared_is_found(norm, loss):
    """c R in place of c R^2: tiny data sets in one dimension already lose far more than epsilon = 1."""
    found = search(lambda count: wrong_norm_law(1.0, 1.0, norm), tiny_pairs(1, norm))
    assert found.loss > loss


@pytest.mark.parametrize(
    ("loss", "formula"),
    [(HuberHinge(0.5), huber_hinge(0.5)), (HuberRegression(1.0, 1.0), huber_regression(1.0))],
    ids=["huber-hinge", "huber-regression"],
)
def test_other_losses_are_private_and_tight(loss, formula):
    """Losses that pay for the Jacobian out of epsilon stay below it, and come within 5 % of it on tiny data sets."""
    problem = LinearProblem(loss, formula, "objective", Budget(1), 1e-6)
    pairs = chain(tiny_pairs(1, 1.0, sets=16), tiny_pairs(2, 1.0, sets=4))
    found = search(lambda count: problem.law(count), pairs)
    assert 0.95 <= found.loss <= SOLVER_SHARE * (1 + 1e-9)


def test_a_loss_that_does_not_pay_for_the_jacobian_is_found():
    """The twin: the same search on the rounded hinge with all of epsilon for the noise exceeds epsilon."""
    right = LinearProblem(HuberHinge(0.5), huber_hinge(0.5), "objective", Budget(1), 1e-6)
    found = search(lambda n: ObjectiveLaw(right.formula, right.law(n).ridge, NoiseLaw(2.0)), tiny_pairs(1, 1.0))
    assert found.loss > 1.2


def sharp_bound(epsilon, ridge, norm=1.0):
    """Return the exact supremum of the published algorithm's privacy loss over all data sets.

    Guarantee: max over p in [0, 1] of (epsilon/2)(1 + p) + log(1 + p (1 - p) R^2/(n lambda)); it is epsilon exactly
    from n lambda = 2R^2/epsilon on.
    Assumes: the logistic loss, replace-one neighbours, rows of norm R at most.
    Reference: tacit/erm/perturbations/perturbation.md.
    """
    shares = np.linspace(0, 1, 1_000_001)
    return float(np.max(epsilon / 2 * (1 + shares) + np.log1p(norm**2 / ridge * shares * (1 - shares))))


@pytest.mark.parametrize("ridge", [0.25, 1.0, 1.5])
def test_the_published_algorithm_reaches_its_sharp_bound(ridge):
    """Below n lambda = 2/epsilon a data set in the plane loses over 95 % of the supremum, and more than epsilon."""
    bound = sharp_bound(1.0, ridge)
    found = search(lambda count: nips2008_law(1.0, ridge), held_pairs(1.0, ridge))
    assert found.pair.first.rows.shape[1] == 2
    assert max(1.0, 0.95 * bound) < found.loss <= bound * (1 + 1e-9)


def test_from_the_threshold_on_the_sharp_bound_is_epsilon():
    """At n lambda = 2 R^2 / epsilon and above, the 2008 claim is true."""
    for epsilon in (0.1, 1.0, 5.0):
        assert sharp_bound(epsilon, 2 / epsilon) == pytest.approx(epsilon, rel=1e-12)
        assert sharp_bound(epsilon, 1.9 / epsilon) > epsilon
        assert sharp_bound(epsilon, 200 / epsilon, norm=10.0) == pytest.approx(epsilon, rel=1e-12)


def test_every_pair_of_the_search_is_a_pair_of_neighbours():
    """Only the first record differs, it counts once, and no row is longer than the norm."""
    for pair in chain(tiny_pairs(2, 3.0), held_pairs(3.0, 1.0)):
        assert np.array_equal(pair.first.rows[1:], pair.second.rows[1:])
        assert np.array_equal(pair.first.targets[1:], pair.second.targets[1:])
        assert np.array_equal(pair.first.times, pair.second.times)
        assert pair.first.times[0] == 1
        assert max(np.linalg.norm(records.rows, axis=1).max() for records in (pair.first, pair.second)) <= 3 + 1e-12
