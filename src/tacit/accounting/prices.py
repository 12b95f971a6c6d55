"""What one event costs: as a point (epsilon, delta), at a Renyi order, or as a privacy-loss distribution.

Each kind of event has one row in the table at the end; a column it cannot answer soundly for replace-one
neighbours is left out, never approximated from below. All numbers are rounded outward. The arguments are in
prices.md and, for Laplace noise, in mechanisms/laplace.md.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from tacit.accounting.events import (
    BoundedRangeDpEvent,
    EpsilonDeltaDpEvent,
    Event,
    PoissonSampledGaussianDpEvent,
    dp_event,
    flatten,
)
from tacit.accounting.sampled import sampled_divergence
from tacit.budget import Budget
from tacit.checks import exact_number
from tacit.errors import InvalidParameter, UnsupportedEvent

_GRID = 10**18
_OUTWARD = 1 + 2.0**-40
_LARGEST_LOSS = 50
_LARGEST_SUM = 1000
_MOST_COPIES = 10**6
_FARTHEST = 1e3
_COARSEST = 2.0**-20
"""The grid of Laplace noise, over the sensitivity, is at most this."""


def rounded_up(value: float) -> Fraction:
    """Return a fraction that is at least the number that the float stands for, on a grid of 1e-18."""
    return Fraction(math.ceil(Fraction(value * _OUTWARD) * _GRID), _GRID)


@dataclass(frozen=True)
class _Prices:
    """How to price one kind of event; None where there is no sound answer."""

    point: Callable[[Any], Budget] | None = None
    renyi: Callable[[Any, float], float] | None = None
    loss: Callable[[Any], Any] | None = None


def _pld() -> Any:
    """Load dp_accounting's privacy-loss distributions, when they are first asked for: they take half a second."""
    from dp_accounting.pld import privacy_loss_distribution

    return privacy_loss_distribution


def _prices(event: Event) -> _Prices:
    if isinstance(event, dp_event.PoissonSampledDpEvent):
        raise UnsupportedEvent(
            "PoissonSampledDpEvent does not say how far one more record in the sample moves the value. If its "
            "multiplier is relative to that (libraries for add-or-remove-one neighbours), pass it through "
            "from_add_or_remove_one; or state PoissonSampledGaussianDpEvent(sampling_probability, noise_multiplier)."
        )
    return _TABLE.get(type(event), _Prices())


def point(event: Event) -> Budget:
    """Return an (epsilon, delta) at which the event holds, or refuse if it has a whole curve of them."""
    prices = _prices(event)
    if prices.point is None:
        raise UnsupportedEvent(
            f"{type(event).__name__} is private along a curve, not at one (epsilon, delta). "
            "Say at which point to charge it (at=Budget(...)), or use an account of kind 'renyi'."
        )
    return prices.point(event)


def renyi(event: Event, order: float) -> Budget:
    """Return the Renyi divergence bound at the order (as epsilon) and the chance it fails (as delta)."""
    prices = _prices(event)
    if prices.renyi is not None:
        return Budget.amount(rounded_up(prices.renyi(event, order)))
    if prices.point is None:
        raise UnsupportedEvent(
            f"there is no Renyi bound for {type(event).__name__} and replace-one neighbours. "
            "Charge a proven bound as EpsilonDeltaDpEvent(epsilon, delta) instead."
        )
    budget = prices.point(event)
    pure = rounded_up(_renyi_of_pure(budget.epsilon, order)) if budget.exact_epsilon else Fraction(0)
    return Budget.amount(pure, budget.exact_delta)


def loss_distribution(event: Event, count: int) -> Any:
    """Return a privacy-loss distribution that dominates that of `count` such events, or refuse."""
    if isinstance(event, dp_event.GaussianDpEvent):
        # Gaussian releases are together one with less noise: no need to convolve.
        event, count = dp_event.GaussianDpEvent(event.noise_multiplier / math.sqrt(count) / _OUTWARD), 1
    prices = _prices(event)
    largest, usual = _losses_of_one(event, prices)
    if largest > _LARGEST_LOSS or usual * count > _LARGEST_SUM or count > _MOST_COPIES:
        raise InvalidParameter("the privacy-loss distribution of so many or so costly events is too large to compute.")
    losses = prices.loss(event) if prices.loss is not None else _loss_of_point(point(event))
    return losses if count == 1 else losses.self_compose(count)


def _losses_of_one(event: Any, prices: _Prices) -> tuple[float, float]:
    """Estimate the largest loss of one event, and what one adds to the sum of many."""
    if isinstance(event, dp_event.GaussianDpEvent):
        return 1 / event.noise_multiplier, 1 / event.noise_multiplier
    if isinstance(event, PoissonSampledGaussianDpEvent | dp_event.SampledWithoutReplacementDpEvent):
        probability, shift = _sample(event)
        return 2 * shift, (2 * probability * shift) ** 2
    epsilon = prices.point(event).epsilon if prices.point is not None else 0.0
    return epsilon, epsilon


def _loss_of_point(budget: Budget) -> Any:
    parameters = _pld().common.DifferentialPrivacyParameters(budget.epsilon * _OUTWARD, budget.delta)
    return _pld().from_privacy_parameters(parameters)


def _renyi_of_pure(epsilon: float, order: float) -> float:
    """Randomized response has the largest divergence of all epsilon-private mechanisms at every order."""
    larger = -math.log1p(math.exp(-epsilon))
    smaller = larger - epsilon
    return _divergence(epsilon, order, order * larger + (1 - order) * smaller, order * smaller + (1 - order) * larger)


def _renyi_of_laplace(event: Any, order: float) -> float:
    """Noise on a grid of 2^-20 of the sensitivity has a divergence larger by a factor of less than 1 + epsilon/2^20."""
    epsilon = 1 / event.noise_multiplier
    near = math.log(order / (2 * order - 1)) + (order - 1) * epsilon
    far = math.log((order - 1) / (2 * order - 1)) - order * epsilon
    return _divergence(epsilon, order, near, far, 1 + epsilon * _COARSEST)


def _divergence(epsilon: float, order: float, first: float, second: float, factor: float = 1.0) -> float:
    """Return factor log(e^first + e^second)/(order - 1), rounded up, or a simpler bound where that is smaller.

    Every epsilon-private mechanism has a divergence of at most order epsilon^2/2 (Bun and Steinke 2016), which
    is close for small epsilon, where the logarithm loses all its digits.
    """
    high, low = max(first, second), min(first, second)
    logarithm = high + math.log1p(math.exp(low - high))
    rounding = (1 + abs(first) + abs(second) + order) * 2.0**-48
    return min(order * epsilon * epsilon / 2, factor * (max(0.0, logarithm) + rounding) / (order - 1), epsilon)


def _renyi_of_bounded_range(event: Any, order: float) -> float:
    epsilon = float(event.epsilon)
    return min(order * epsilon * epsilon / 8, _renyi_of_pure(epsilon, order) if epsilon else 0.0)


def _sample(event: Any) -> tuple[float, float]:
    """Return the chance that a record is in the sample, and what it then moves, over the noise."""
    if isinstance(event, PoissonSampledGaussianDpEvent):
        return float(event.sampling_probability), 1 / event.noise_multiplier
    parts = list(flatten(event.event))
    if not all(isinstance(part, dp_event.GaussianDpEvent) for part, _ in parts):
        raise UnsupportedEvent(
            f"{type(event).__name__} is priced for Gaussian noise inside only. "
            "Charge a proven bound as EpsilonDeltaDpEvent(epsilon, delta) instead."
        )
    shift = math.sqrt(math.fsum(count / part.noise_multiplier**2 for part, count in parts))
    return event.sample_size / event.source_dataset_size, shift


def _renyi_of_sample(event: Any, order: float) -> float:
    probability, shift = _sample(event)
    # Two records are as far apart as the sensitivity, or twice as far as one is from none.
    apart = shift if isinstance(event, dp_event.SampledWithoutReplacementDpEvent) else 2 * shift
    whole = order * apart * apart / 2
    if probability == 1 or not shift or order * shift > _FARTHEST:
        return whole
    return min(whole, sampled_divergence(probability, shift, order))


def _point_of_randomized_response(event: Any) -> Budget:
    # The true bucket is kept with chance 1 - p + p/k, each other one is given with chance p/k.
    ratio = event.num_buckets * (1 - event.noise_parameter) / event.noise_parameter
    return Budget.amount(rounded_up(math.log1p(ratio)))


def _point_of_repetition(event: Any) -> Budget:
    # The best of K runs, K truncated negative binomial with this shape, costs (2 + shape) times one run
    # when one run is pure (Papernot and Steinke 2022).
    inner = sum((point(part) * count for part, count in flatten(event.event)), Budget(0))
    if not inner.is_pure:
        raise UnsupportedEvent("repeat-and-select is priced for pure runs only (delta = 0).")
    return inner * (2 + exact_number("shape", event.shape))


def _loss_of_sample(event: Any) -> Any:
    """Return the losses of (1-q) N(0, 1) + q N(s, 1) against (1-q) N(0, 1) + q N(-s, 1), the worst pair (prices.md)."""
    probability, shift = _sample(event)
    if not shift:
        return _pld().identity()
    multiplier = 1 / shift / _OUTWARD
    if probability >= 0.5 and isinstance(event, dp_event.SampledWithoutReplacementDpEvent):
        return _pld().from_gaussian_mechanism(multiplier)
    replace_one = _pld().privacy_accountant.NeighboringRelation.REPLACE_ONE
    return _pld().from_gaussian_mechanism(multiplier, sampling_prob=probability, neighboring_relation=replace_one)


_TABLE: dict[type, _Prices] = {
    EpsilonDeltaDpEvent: _Prices(point=lambda e: Budget.amount(exact_number("", e.epsilon), exact_number("", e.delta))),
    BoundedRangeDpEvent: _Prices(
        point=lambda e: Budget.amount(exact_number("", e.epsilon)),
        renyi=_renyi_of_bounded_range,
    ),
    dp_event.LaplaceDpEvent: _Prices(
        point=lambda e: Budget.amount(1 / exact_number("", e.noise_multiplier)),
        renyi=_renyi_of_laplace,
        loss=lambda e: _pld().from_laplace_mechanism(
            e.noise_multiplier / (1 + _COARSEST / e.noise_multiplier) / _OUTWARD
        ),
    ),
    dp_event.DiscreteLaplaceDpEvent: _Prices(
        point=lambda e: Budget.amount(exact_number("", e.noise_parameter) * e.sensitivity),
        loss=lambda e: _pld().from_discrete_laplace_mechanism(e.noise_parameter, e.sensitivity),
    ),
    dp_event.RandomizedResponseDpEvent: _Prices(point=_point_of_randomized_response),
    dp_event.RepeatAndSelectDpEvent: _Prices(point=_point_of_repetition),
    dp_event.GaussianDpEvent: _Prices(
        renyi=lambda e, order: order / (2 * e.noise_multiplier**2),
        loss=lambda e: _pld().from_gaussian_mechanism(e.noise_multiplier),
    ),
    dp_event.ZCDpEvent: _Prices(renyi=lambda e, order: e.xi + e.rho * order),
    dp_event.SampledWithoutReplacementDpEvent: _Prices(renyi=_renyi_of_sample, loss=_loss_of_sample),
    PoissonSampledGaussianDpEvent: _Prices(renyi=_renyi_of_sample, loss=_loss_of_sample),
}
