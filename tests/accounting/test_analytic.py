"""The exact privacy of Gaussian noise, against arbitrary precision and against another library."""

import math
from fractions import Fraction

import mpmath
import pytest
from dp_accounting.pld import privacy_loss_distribution as pld
from hypothesis import assume, given
from hypothesis import strategies as st

from tacit.accounting import gaussian_delta, gaussian_shift
from tacit.accounting.analytic import rounded_down
from tacit.budget import Budget
from tacit.errors import InvalidParameter


def _exact_delta(epsilon: float, shift: float) -> mpmath.mpf:
    with mpmath.workdps(60):
        eps, s = mpmath.mpf(epsilon), mpmath.mpf(shift)
        return mpmath.ncdf(s / 2 - eps / s) - mpmath.exp(eps) * mpmath.ncdf(-s / 2 - eps / s)


@given(st.floats(-6.0, 3.5), st.floats(-10.0, 37.0))
def test_delta_is_never_understated(logarithm: float, near: float) -> None:
    """The computed delta is at least the exact one and within a relative 1e-9, or 1e-13 in all, of it."""
    shift = 10.0**logarithm
    epsilon = shift * (near + shift / 2)
    assume(0 <= epsilon <= 1e6)
    exact, computed = _exact_delta(epsilon, shift), gaussian_delta(epsilon, shift)
    assert computed >= exact
    assert float(computed - exact) <= 1e-9 * float(exact) + 1e-13


def test_delta_is_an_upper_bound_even_where_it_vanishes() -> None:
    """Far out in the tail a cruder bound takes over, which is still a bound."""
    for epsilon, shift in ((50.0, 1.0), (45.0, 1.0), (1.0, 0.02), (1e6, 10.0)):
        assert _exact_delta(epsilon, shift) <= gaussian_delta(epsilon, shift) < 1e-300


def test_delta_never_exceeds_one() -> None:
    """Noise that hides nothing has delta one."""
    assert gaussian_delta(0.0, 1e6) == 1.0


@pytest.mark.parametrize(
    ("budget", "ratio"), [(Budget(0.1, 1e-6), 36.30), (Budget(1.0, 1e-6), 4.2247), (Budget(8.0, 1e-6), 0.6528)]
)
def test_the_shift_matches_the_published_noise(budget: Budget, ratio: float) -> None:
    """The smallest noise for usual budgets is the one in the tables."""
    assert 1 / gaussian_shift(budget) == pytest.approx(ratio, rel=2e-3)


@given(st.floats(-3.0, 2.0), st.floats(-29.0, -0.5))
def test_the_shift_keeps_the_budget_and_no_larger_one_does(log_epsilon: float, log_delta: float) -> None:
    """Calibrated noise evaluates back to at most delta, exactly, and a millionth less noise does not."""
    budget = Budget(10.0**log_epsilon, 10.0**log_delta)
    shift = gaussian_shift(budget)
    assert _exact_delta(budget.epsilon, shift) <= budget.delta
    assert gaussian_delta(rounded_down(budget.exact_epsilon), shift) <= budget.delta
    assert _exact_delta(budget.epsilon, shift * (1 + 1e-6)) > budget.delta * (1 - 1e-12)


@pytest.mark.parametrize("shift", [0.05, 0.5, 2.0])
def test_delta_agrees_with_loss_distributions(shift: float) -> None:
    """Another library's numerical delta agrees to its own accuracy."""
    losses = pld.from_gaussian_mechanism(1 / shift)
    for epsilon in (0.1 * shift, shift, 3 * shift):
        theirs = losses.get_delta_for_epsilon(epsilon)
        assert gaussian_delta(epsilon, shift) == pytest.approx(theirs, rel=1e-3, abs=1e-9)


@pytest.mark.parametrize("budget", [Budget(1.0), Budget(1.0, 1e-31), Budget(1.0, 0.6), Budget(0, 1e-20)], ids=str)
def test_budgets_without_gaussian_noise_are_refused(budget: Budget) -> None:
    """A pure budget, a delta out of range and a budget below rounding have no certified noise."""
    with pytest.raises(InvalidParameter, match=r"delta|too small"):
        gaussian_shift(budget)


def test_a_large_budget_still_has_a_shift() -> None:
    """Absurdly large epsilons give little noise, not an endless search."""
    assert gaussian_shift(Budget(10**6, 0.4)) > 1000


@given(st.fractions())
def test_rounding_down_never_rounds_up(exact: Fraction) -> None:
    """The float is the largest that does not exceed the number."""
    rounded = rounded_down(exact)
    assert Fraction(rounded) <= exact < Fraction(math.nextafter(rounded, math.inf))
