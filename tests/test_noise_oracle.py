"""OpenDP as an independent witness: its privacy maps and its samples agree with ours."""

import numpy as np
import opendp.prelude as dp
import pytest
from dp_accounting.pld import privacy_loss_distribution as pld

from support.statistical import same_law, sample_size
from tacit import noise
from tacit.accounting import gaussian_delta
from tacit.budget import Budget
from tacit.mechanisms import Gaussian, Laplace
from tacit.noise import SystemEntropy

PRIVATE = SystemEntropy()
BUDGETS = [0.01, 0.1, 1 / 3, 1.0, 2.5, 8.0]
SENSITIVITIES = [0.25, 1.0, 3.0]


@pytest.fixture(autouse=True, scope="module")
def _contributed() -> None:
    dp.enable_features("contrib")


def _scalar() -> tuple[dp.Domain, dp.Metric]:
    return dp.atom_domain(T=float, nan=False), dp.absolute_distance(T=float)


@pytest.mark.parametrize("epsilon", BUDGETS)
@pytest.mark.parametrize("sensitivity", SENSITIVITIES)
def test_opendp_agrees_that_our_laplace_scale_keeps_epsilon(epsilon: float, sensitivity: float) -> None:
    """OpenDP's map at our scale gives at most epsilon, and more than that at a scale one percent smaller."""
    scale = Laplace.for_budget(Budget(epsilon), sensitivity).scale
    assert 0.999 * epsilon <= dp.m.make_laplace(*_scalar(), scale=scale).map(sensitivity) <= epsilon
    assert dp.m.make_laplace(*_scalar(), scale=0.99 * scale).map(sensitivity) > epsilon


@pytest.mark.parametrize("epsilon", BUDGETS)
@pytest.mark.parametrize("delta", [1e-9, 1e-5])
def test_opendp_gives_our_gaussian_noise_its_own_zcdp_cost(epsilon: float, delta: float) -> None:
    """OpenDP's concentrated cost at our scale is what our multiplier says, never more."""
    mechanism = Gaussian.for_budget(Budget(epsilon, delta), 2.0)
    cost = dp.m.make_gaussian(*_scalar(), scale=mechanism.standard_deviation).map(2.0)
    assert 0.999 <= cost * 2 * mechanism.event.noise_multiplier**2 <= 1


@pytest.mark.parametrize("epsilon", BUDGETS)
@pytest.mark.parametrize("delta", [1e-9, 1e-5])
def test_opendp_s_looser_conversion_is_above_ours_but_not_by_much(epsilon: float, delta: float) -> None:
    """Converting through concentrated privacy loses some epsilon, so OpenDP's curve lies above, within a quarter."""
    mechanism = Gaussian.for_budget(Budget(epsilon, delta))
    measurement = dp.m.make_gaussian(*_scalar(), scale=mechanism.standard_deviation)
    curve = dp.c.make_zCDP_to_approxDP(measurement).map(1.0)
    assert epsilon <= curve.epsilon(delta) <= 1.25 * epsilon


@pytest.mark.parametrize("epsilon", BUDGETS)
@pytest.mark.parametrize("delta", [1e-9, 1e-5])
def test_privacy_loss_distributions_agree_on_delta(epsilon: float, delta: float) -> None:
    """A numerical loss distribution of our Gaussian event gives the budget's delta back, rounded up within 1 %."""
    multiplier = Gaussian.for_budget(Budget(epsilon, delta)).event.noise_multiplier
    pessimistic = pld.from_gaussian_mechanism(multiplier, value_discretization_interval=1e-5 * max(1, 4 * epsilon))
    assert pessimistic.get_delta_for_epsilon(epsilon) == pytest.approx(delta, rel=0.01)
    assert gaussian_delta(epsilon, 1 / multiplier) <= delta
    assert pld.from_gaussian_mechanism(0.97 * multiplier).get_delta_for_epsilon(epsilon) > 1.01 * delta


def _by_opendp(make: object, metric: dp.Metric, scale: float, size: int) -> np.ndarray:
    space = dp.vector_domain(dp.atom_domain(T=float, nan=False)), metric
    return np.array(make(*space, scale=scale)([0.0] * size))


@pytest.mark.stats
@pytest.mark.parametrize("law", ["laplace", "gaussian"])
def test_opendp_s_samples_and_ours_have_one_law(law: str) -> None:
    """Two samples are told apart when one is stretched or squeezed 2.2-fold, and not as they are."""
    size = sample_size(5_000)
    scale = 2**30
    if law == "laplace":
        theirs = _by_opendp(dp.m.make_laplace, dp.l1_distance(T=float), 1.0, size)
        ours = noise.laplace(PRIVATE, scale, size) / scale
    else:
        theirs = _by_opendp(dp.m.make_gaussian, dp.l2_distance(T=float), 1.0, size)
        ours = noise.gaussian(PRIVATE, float(scale), size) / scale
    assert same_law(theirs, ours)
    assert not same_law(theirs, 2.2 * ours)
    assert not same_law(theirs, ours / 2.2)
