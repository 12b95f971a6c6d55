"""Loss distributions composed by Fourier transforms, against exact compositions in many digits."""

import mpmath
import pytest
from dp_accounting import dp_event
from dp_accounting.pld import common
from dp_accounting.pld import privacy_loss_distribution as pld

from tacit.accounting import EpsilonDeltaDpEvent, PoissonSampledGaussianDpEvent, cost, losses
from tacit.accounting.losses import composed_losses
from tacit.errors import InvalidParameter


def _exact_delta(each: float, count: int, epsilon: float) -> mpmath.mpf:
    """Return delta of randomized response, repeated: the loss is a binomial number of steps."""
    with mpmath.workdps(60):
        likely = 1 / (1 + mpmath.exp(-mpmath.mpf(each)))
        total = mpmath.mpf(0)
        for kept in range(count, -1, -1):
            loss = (2 * kept - count) * mpmath.mpf(each)
            if loss <= epsilon:
                break
            chance = mpmath.binomial(count, kept) * likely**kept * (1 - likely) ** (count - kept)
            total += chance * (1 - mpmath.exp(epsilon - loss))
        return total


@pytest.mark.parametrize(("each", "count"), [(0.1, 50), (0.1, 1000), (0.5, 100), (0.01, 5000)])
def test_a_composition_is_never_told_too_small(each: float, count: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """At any delta the epsilon that is told keeps it, or none is told."""
    composed = composed_losses([(EpsilonDeltaDpEvent(each), count)])
    monkeypatch.setattr(losses, "composed_losses", lambda _: composed)  # once for all deltas
    event = dp_event.SelfComposedDpEvent(EpsilonDeltaDpEvent(each), count)
    told = 0
    for exponent in (4, 6, 7, 8, 9, 10, 12, 13, 14, 16, 20, 25):
        delta = 10.0**-exponent
        try:
            epsilon = cost(event, delta=delta, method="pld").epsilon
        except InvalidParameter:
            continue
        told += 1
        assert _exact_delta(each, count, epsilon) <= delta
    assert told >= 3


def test_without_the_bound_compositions_are_told_too_small() -> None:
    """The library's own answer at delta = 1e-20 has a delta a hundred thousand times as large."""
    once = pld.from_privacy_parameters(common.DifferentialPrivacyParameters(0.01 * (1 + 2**-40), 0))
    epsilon = pld.identity().compose(once.self_compose(5000)).get_epsilon_for_delta(1e-20)
    assert _exact_delta(0.01, 5000, epsilon) > 1e5 * 1e-20
    with pytest.raises(InvalidParameter, match="can be computed to within"):
        cost(dp_event.SelfComposedDpEvent(EpsilonDeltaDpEvent(0.01), 5000), delta=1e-20, method="pld")


def test_the_bound_covers_the_errors_of_the_transform() -> None:
    """Over the whole curve, the composed delta plus the bound is at least the exact delta."""
    for each, count in ((0.05, 400), (0.2, 30)):
        composed, error = composed_losses([(EpsilonDeltaDpEvent(each), count)])
        assert error < 1e-7
        for step in range(40):
            epsilon = each * count * step / 40
            assert _exact_delta(each, count, epsilon) <= composed.get_delta_for_epsilon(epsilon) + error


def test_the_bound_grows_with_what_is_composed() -> None:
    """Lists pay for each transform, single events for none, and nothing costs nothing."""
    laplace = dp_event.LaplaceDpEvent(20.0)
    one, few, many = (composed_losses([(laplace, count)])[1] for count in (1, 10, 1000))
    assert one < 1e-14 < few < many < 1e-8
    assert composed_losses([(laplace, 10), (laplace, 10)])[1] > 2 * few
    assert composed_losses([])[1] == 0


def test_training_is_priced_at_any_delta() -> None:
    """A thousand steps on samples are priced by their losses at delta = 1e-8 and by Renyi orders at 1e-13."""
    steps = dp_event.SelfComposedDpEvent(PoissonSampledGaussianDpEvent(0.01, 1.5), 1000)
    assert (
        0.5 < cost(steps, delta=1e-6).epsilon < cost(steps, delta=1e-8).epsilon < cost(steps, delta=1e-13).epsilon < 5
    )
    assert cost(steps, delta=1e-8).epsilon < 0.97 * cost(steps, delta=1e-8, method="renyi").epsilon
    with pytest.raises(InvalidParameter, match="can be computed to within"):
        cost(steps, delta=1e-13, method="pld")
