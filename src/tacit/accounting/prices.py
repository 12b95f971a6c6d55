"""What one event costs: as a point (epsilon, delta), at a Renyi order, or as a privacy-loss distribution.

Each kind of event has one row in the table at the end; a column it cannot answer soundly for replace-one
neighbours is left out, never approximated from below. All numbers are rounded outward.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import Any

from dp_accounting import NeighboringRelation, dp_event
from dp_accounting.pld import common
from dp_accounting.pld import privacy_loss_distribution as pld
from dp_accounting.rdp import RdpAccountant

from tacit.accounting.events import BoundedRangeDpEvent, EpsilonDeltaDpEvent, Event, flatten
from tacit.budget import Budget, exact_number
from tacit.errors import InvalidParameter, UnsupportedEvent

__all__ = ["loss_distribution", "point", "renyi", "rounded_up"]

_GRID = 10**18
_OUTWARD = 1 + 2.0**-40
_LARGEST_LOSS = 50
_LARGEST_SUM = 1000
_MOST_COPIES = 10**6


def rounded_up(value: float) -> Fraction:
    """Return a fraction that is at least the number that the float stands for, on a grid of 1e-18."""
    return Fraction(math.ceil(Fraction(value * _OUTWARD) * _GRID), _GRID)


@dataclass(frozen=True)
class _Prices:
    """How to price one kind of event; None where there is no sound answer."""

    point: Callable[[Any], Budget] | None = None
    renyi: Callable[[Any, float], float] | None = None
    loss: Callable[[Any], pld.PrivacyLossDistribution] | None = None


def point(event: Event) -> Budget:
    """Return an (epsilon, delta) at which the event holds, or refuse if it has a whole curve of them."""
    prices = _TABLE.get(type(event), _Prices())
    if prices.point is None:
        raise UnsupportedEvent(
            f"{type(event).__name__} is private along a curve, not at one (epsilon, delta). "
            "Say at which point to charge it (at=Budget(...)), or use an account of kind 'renyi'."
        )
    return prices.point(event)


def renyi(event: Event, order: float) -> Budget:
    """Return the Renyi divergence bound at the order (as epsilon) and the chance it fails (as delta)."""
    prices = _TABLE.get(type(event), _Prices())
    if prices.renyi is not None:
        return Budget._amount(rounded_up(prices.renyi(event, order)), Fraction(0))
    if prices.point is None:
        raise UnsupportedEvent(
            f"there is no Renyi bound for {type(event).__name__} and replace-one neighbours. "
            "Say at which (epsilon, delta) to charge it (at=Budget(...))."
        )
    return renyi_of_point(prices.point(event), order)


def renyi_of_point(budget: Budget, order: float) -> Budget:
    """Return the Renyi price of an (epsilon, delta) guarantee: that of epsilon, failing with chance delta."""
    pure = rounded_up(_renyi_of_pure(budget.epsilon, order)) if budget.exact_epsilon else Fraction(0)
    return Budget._amount(pure, budget.exact_delta)


def loss_distribution(event: Event, count: int) -> pld.PrivacyLossDistribution:
    """Return a privacy-loss distribution that dominates that of `count` such events, or refuse."""
    if isinstance(event, dp_event.GaussianDpEvent):
        # Gaussian releases are together one with less noise: no need to convolve.
        event, count = dp_event.GaussianDpEvent(event.noise_multiplier / math.sqrt(count) / _OUTWARD), 1
    prices = _TABLE.get(type(event), _Prices())
    largest, usual = _losses_of_one(event, prices)
    if largest > _LARGEST_LOSS or usual * count > _LARGEST_SUM or count > _MOST_COPIES:
        raise InvalidParameter("the privacy-loss distribution of so many or so costly events is too large to compute.")
    losses = prices.loss(event) if prices.loss is not None else _loss_of_point(point(event))
    return losses if count == 1 else losses.self_compose(count)


def _losses_of_one(event: Any, prices: _Prices) -> tuple[float, float]:
    """Estimate the largest loss of one event, and what one adds to the sum of many."""
    if isinstance(event, dp_event.GaussianDpEvent):
        return 1 / event.noise_multiplier, 1 / event.noise_multiplier
    if isinstance(event, dp_event.PoissonSampledDpEvent):
        shift = 1 / getattr(event.event, "noise_multiplier", 1.0)
        return shift, (event.sampling_probability * shift) ** 2
    epsilon = prices.point(event).epsilon if prices.point is not None else 0.0
    return epsilon, epsilon


def _loss_of_point(budget: Budget) -> pld.PrivacyLossDistribution:
    epsilon = budget.epsilon * _OUTWARD
    return pld.from_privacy_parameters(common.DifferentialPrivacyParameters(epsilon, budget.delta))


def _renyi_of_pure(epsilon: float, order: float) -> float:
    """Randomized response has the largest divergence of all epsilon-private mechanisms at every order."""
    larger = -math.log1p(math.exp(-epsilon))
    smaller = larger - epsilon
    return _divergence(epsilon, order, order * larger + (1 - order) * smaller, order * smaller + (1 - order) * larger)


def _renyi_of_laplace(event: Any, order: float) -> float:
    epsilon = 1 / event.noise_multiplier
    near = math.log(order / (2 * order - 1)) + (order - 1) * epsilon
    far = math.log((order - 1) / (2 * order - 1)) - order * epsilon
    return _divergence(epsilon, order, near, far)


def _divergence(epsilon: float, order: float, first: float, second: float) -> float:
    """Return log(e^first + e^second)/(order - 1), rounded up, or a simpler bound where that is smaller.

    Every epsilon-private mechanism has a divergence of at most order epsilon^2/2 (Bun and Steinke 2016), which
    is close for small epsilon, where the logarithm loses all its digits.
    """
    high, low = max(first, second), min(first, second)
    logarithm = high + math.log1p(math.exp(low - high))
    rounding = (1 + abs(first) + abs(second) + order) * 2.0**-48
    return min(order * epsilon * epsilon / 2, (max(0.0, logarithm) + rounding) / (order - 1), epsilon)


def _renyi_of_bounded_range(event: Any, order: float) -> float:
    epsilon = float(event.epsilon)
    return min(order * epsilon * epsilon / 8, _renyi_of_pure(epsilon, order) if epsilon else 0.0)


def _renyi_by_library(event: Any, order: float) -> float:
    try:
        hash(event)
    except TypeError:  # a composition inside, which holds a list
        return _computed_by_library(event, order)
    return _remembered_by_library(event, order)


def _computed_by_library(event: Any, order: float) -> float:
    accountant = RdpAccountant([order], NeighboringRelation.REPLACE_ONE)
    if not accountant.supports(event):
        raise UnsupportedEvent(
            f"{type(event).__name__} is priced for Gaussian noise inside only. "
            "Charge a proven bound as EpsilonDeltaDpEvent(epsilon, delta) instead."
        )
    return float(accountant.compose(event)._rdp[0])  # the only way to read one order's divergence


_remembered_by_library = lru_cache(maxsize=4096)(_computed_by_library)


def _point_of_randomized_response(event: Any) -> Budget:
    # The true bucket is kept with chance 1 - p + p/k, each other one is given with chance p/k.
    ratio = event.num_buckets * (1 - event.noise_parameter) / event.noise_parameter
    return Budget._amount(rounded_up(math.log1p(ratio)), Fraction(0))


def _point_of_repetition(event: Any) -> Budget:
    # The best of K runs, K truncated negative binomial with this shape, costs (2 + shape) times one run
    # when one run is pure (Papernot and Steinke 2022).
    inner = sum((point(part) * count for part, count in flatten(event.event)), Budget(0))
    if not inner.is_pure:
        raise UnsupportedEvent("repeat-and-select is priced for pure runs only (delta = 0).")
    return inner * (2 + exact_number("shape", event.shape))


def _loss_of_poisson_sampled(event: Any) -> pld.PrivacyLossDistribution:
    if not isinstance(event.event, dp_event.GaussianDpEvent):
        raise UnsupportedEvent("Poisson sampling is priced for Gaussian noise inside only.")
    # This library's multiplier is relative to one record's norm, of which a replacement moves two.
    return pld.from_gaussian_mechanism(
        2 * event.event.noise_multiplier,
        sampling_prob=event.sampling_probability,
        neighboring_relation=NeighboringRelation.REPLACE_ONE,
    )


_TABLE: dict[type, _Prices] = {
    EpsilonDeltaDpEvent: _Prices(
        point=lambda e: Budget._amount(exact_number("", e.epsilon), exact_number("", e.delta))
    ),
    BoundedRangeDpEvent: _Prices(
        point=lambda e: Budget._amount(exact_number("", e.epsilon), Fraction(0)),
        renyi=_renyi_of_bounded_range,
    ),
    dp_event.LaplaceDpEvent: _Prices(
        point=lambda e: Budget._amount(1 / exact_number("", e.noise_multiplier), Fraction(0)),
        renyi=_renyi_of_laplace,
        loss=lambda e: pld.from_laplace_mechanism(e.noise_multiplier),
    ),
    dp_event.DiscreteLaplaceDpEvent: _Prices(
        point=lambda e: Budget._amount(exact_number("", e.noise_parameter) * e.sensitivity, Fraction(0)),
        loss=lambda e: pld.from_discrete_laplace_mechanism(e.noise_parameter, e.sensitivity),
    ),
    dp_event.RandomizedResponseDpEvent: _Prices(point=_point_of_randomized_response),
    dp_event.RepeatAndSelectDpEvent: _Prices(point=_point_of_repetition),
    dp_event.GaussianDpEvent: _Prices(
        renyi=lambda e, order: order / (2 * e.noise_multiplier**2),
        loss=lambda e: pld.from_gaussian_mechanism(e.noise_multiplier),
    ),
    dp_event.ZCDpEvent: _Prices(renyi=lambda e, order: e.xi + e.rho * order),
    dp_event.SampledWithoutReplacementDpEvent: _Prices(renyi=_renyi_by_library),
    dp_event.PoissonSampledDpEvent: _Prices(loss=_loss_of_poisson_sampled),
}
