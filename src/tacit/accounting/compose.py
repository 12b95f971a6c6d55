"""From a list of events to one budget, before anything runs.

Guarantee: `cost` returns an (epsilon, delta) that all the events together satisfy, whatever one is told by
the others, provided the list was fixed in advance (for adaptively chosen events use a `Ledger`).
Assumes: replace-one neighbours; every event is true of its mechanism.
Reference: `basic` sums; `advanced` is Dwork, Rothblum and Vadhan 2010; `renyi` is Mironov 2017 with the
conversion of Canonne, Kamath and Steinke 2020; `pld` composes privacy-loss distributions numerically and pays
for the errors of doing so (prices.md).
"""

import math
from collections.abc import Callable, Iterable, Mapping
from fractions import Fraction
from typing import Literal

from tacit.accounting.analytic import gaussian_delta, rounded_down
from tacit.accounting.events import Event, check_event, dp_event, flatten
from tacit.accounting.prices import point, renyi, rounded_up
from tacit.budget import Budget
from tacit.errors import InvalidParameter, UnsupportedEvent

Method = Literal["best", "basic", "advanced", "renyi", "pld"]
Parts = list[tuple[Event, int]]

_ORDERS = tuple(1 + 0.1 * 1.05**step for step in range(236))


def cost(events: Event | Iterable[Event], *, delta: float = 0.0, method: Method = "best") -> Budget:
    """Return what a list of events fixed in advance costs, at the delta asked for or at the one it implies.

    With `delta=0` events add up as they are stated. A positive delta buys a smaller epsilon: the answer's
    delta never exceeds it. `method="best"` takes the smallest epsilon of all methods that apply.
    """
    return _cost(_parts(events), Budget(0, delta), method)


def _cost(parts: Parts, asked: Budget, method: Method = "best") -> Budget:
    if not parts:
        return Budget(0)
    if method != "best" and method not in _METHODS:
        raise InvalidParameter(f"method must be one of best, {', '.join(_METHODS)}, got {method!r}.")
    answers: list[Budget] = []
    reasons: list[str] = []
    for name, compose in _METHODS.items():
        try:
            answers += [compose(parts, asked)] if method in ("best", name) else []
        except (UnsupportedEvent, InvalidParameter) as error:
            if method == name:
                raise
            reasons.append(str(error))
    if not answers:
        raise UnsupportedEvent(f"no method can price these events at delta={asked.delta}: {' '.join(reasons)}")
    return min(answers, key=lambda answer: answer.exact_epsilon)


def parallel(budgets: Iterable[Budget]) -> Budget:
    """Return what releases over disjoint parts of the records cost together: the largest of them.

    Guarantee: (max epsilon, max delta) for replace-one neighbours.
    Assumes: the part that holds a record is fixed by its index or by a key that a replacement cannot move.
    Reference: McSherry 2009; the introductory lecture's Theorem 8.
    """
    return Budget.largest(list(budgets))


def satisfies(event: Event, budget: Budget) -> bool:
    """Whether the event provably keeps the budget."""
    parts = _parts(event)
    if all(isinstance(part, dp_event.GaussianDpEvent) for part, _ in parts):
        shift = math.sqrt(math.fsum(count / part.noise_multiplier**2 for part, count in parts))
        if shift == 0:
            return True
        # One part stands as calibrated; a sum is rounded up, since adding squares may round down.
        shift = shift if len(parts) == 1 and parts[0][1] == 1 else shift * (1 + 2.0**-40)
        return not budget.is_pure and gaussian_delta(rounded_down(budget.exact_epsilon), shift) <= budget.exact_delta
    try:
        return _cost(parts, Budget.amount(Fraction(0), budget.exact_delta)) <= budget
    except UnsupportedEvent:
        return False


def renyi_to_epsilon(divergence: Fraction, order: float, delta: float) -> Fraction:
    """Return an epsilon, rounded up, at which a Renyi divergence of this order is (epsilon, delta)-private."""
    overhead = math.log1p(-1 / order) - (math.log(delta) + math.log(order)) / (order - 1)
    return max(Fraction(0), divergence + rounded_up(overhead) if overhead > 0 else divergence)


def _parts(events: Event | Iterable[Event]) -> Parts:
    if not isinstance(events, dp_event.DpEvent | Iterable):
        raise InvalidParameter(f"wanted an event or a list of events, got {type(events).__name__}.")
    listed = [events] if isinstance(events, dp_event.DpEvent) else list(events)
    return [part for event in listed for part in flatten(check_event(event))]


def _basic(parts: Parts, asked: Budget) -> Budget:
    total = sum((point(event) * count for event, count in parts), Budget(0))
    if not asked.is_pure and total.exact_delta > asked.exact_delta:
        raise InvalidParameter(f"these events add up to delta={total.delta}, more than the {asked.delta} asked for.")
    return total


def _advanced(parts: Parts, asked: Budget) -> Budget:
    points = [(point(event), count) for event, count in parts]
    stated = sum((budget.exact_delta * count for budget, count in points), Fraction(0))
    spare = _spare(asked, stated)
    if max(budget.exact_epsilon for budget, _ in points) > 100:
        raise InvalidParameter("advanced composition is of no use for events with epsilon above 100.")
    squares = math.fsum(count * budget.epsilon**2 for budget, count in points)
    drift = math.fsum(count * budget.epsilon * math.expm1(budget.epsilon) for budget, count in points)
    epsilon = math.sqrt(2 * math.log(1 / spare) * squares) + drift
    return Budget.amount(rounded_up(epsilon), asked.exact_delta)


def _renyi(parts: Parts, asked: Budget) -> Budget:
    best: Fraction | None = None
    for order in _ORDERS:
        total = sum((renyi(event, order) * count for event, count in parts), Budget(0))
        epsilon = renyi_to_epsilon(total.exact_epsilon, order, _spare(asked, total.exact_delta))
        best = epsilon if best is None else min(best, epsilon)
    return Budget.amount(best or Fraction(0), asked.exact_delta)


def _pld(parts: Parts, asked: Budget) -> Budget:
    from tacit.accounting.losses import composed_losses

    _spare(asked, Fraction(0))
    losses, error = composed_losses(parts)
    spare = asked.exact_delta - Fraction(error)
    if 2 * spare < asked.exact_delta:
        raise InvalidParameter(
            f"the loss distribution of these events can be computed to within {error:.1g} only: too much for "
            f"delta={asked.delta}. Ask for a larger delta, or use method='renyi'."
        )
    epsilon = losses.get_epsilon_for_delta(rounded_down(spare))
    if not math.isfinite(epsilon):
        raise InvalidParameter(f"these events fail with a larger probability than delta={asked.delta}.")
    return Budget.amount(rounded_up(epsilon), asked.exact_delta)


def _spare(asked: Budget, stated: Fraction) -> float:
    """Return the part of the asked delta that the events have not used up themselves."""
    spare = asked.exact_delta - stated
    if spare <= 0:
        raise InvalidParameter(
            f"this way of composing needs a delta above {float(stated)}, got {asked.delta}. "
            "Ask for a larger delta, or use method='basic'."
        )
    return rounded_down(spare)


_METHODS: Mapping[str, Callable[[Parts, Budget], Budget]] = {
    "basic": _basic,
    "advanced": _advanced,
    "renyi": _renyi,
    "pld": _pld,
}
