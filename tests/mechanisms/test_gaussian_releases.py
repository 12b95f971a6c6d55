"""Several Gaussian releases out of one budget: what their errors cost together."""

from fractions import Fraction

import mpmath
import pytest

from tacit.budget import Budget
from tacit.errors import InvalidParameter
from tacit.mechanisms.gaussian import Multipliers
from tacit.noise import NEGLECTED, gaussian_error


def _exact_delta(epsilon: mpmath.mpf, shift: mpmath.mpf) -> mpmath.mpf:
    near, far = epsilon / shift - shift / 2, epsilon / shift + shift / 2
    return mpmath.ncdf(-near) - mpmath.exp(epsilon) * mpmath.ncdf(-far)


@pytest.mark.parametrize("delta", [2e-30, 1e-20, 1e-6])
@pytest.mark.parametrize("releases", [1, 100, 1298, 10**5])
def test_releases_keep_delta_with_all_that_they_leave_out(releases: int, delta: float) -> None:
    """2 T NEGLECTED + e^(T z) delta(epsilon - 2 T z) is at most delta for whatever is accepted."""
    budget = Budget(1.0, delta)
    try:
        drawn = Multipliers.for_budget(budget, 1, releases).drawn
    except InvalidParameter:
        assert delta == 2e-30
        assert releases > 1298
        return
    with mpmath.workdps(80):
        error = releases * mpmath.mpf(gaussian_error(1))
        shift = mpmath.sqrt(releases) / mpmath.mpf(drawn)
        ideal = mpmath.exp(error) * _exact_delta(1 - 2 * error, shift)
        total = 2 * releases * mpmath.mpf(NEGLECTED) + ideal
        assert total <= mpmath.mpf(budget.exact_delta.numerator) / budget.exact_delta.denominator


def test_more_releases_than_delta_can_pay_for_are_refused() -> None:
    """At delta = 2e-30 the events left out by 1299 releases would exceed what is kept for them: before, that passed."""
    tiny = Budget(1.0, 2e-30)
    assert 2 * 1298 * Fraction(NEGLECTED) <= tiny.exact_delta / 2**30 < 2 * 1299 * Fraction(NEGLECTED)
    Multipliers.for_budget(tiny, 1, 1298)
    with pytest.raises(InvalidParameter, match="Release fewer"):
        Multipliers.for_budget(tiny, 1, 1299)
    Multipliers.for_budget(Budget(1.0, 1e-12), 1, 10**6)
