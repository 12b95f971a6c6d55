"""What lists of events cost: laws over every kind of event, the published tables, and independent oracles."""

from fractions import Fraction
from typing import Any

import pytest
from dp_accounting import NeighboringRelation, dp_event
from dp_accounting.pld import PLDAccountant
from dp_accounting.pld import privacy_loss_distribution as pld
from dp_accounting.rdp import RdpAccountant
from hypothesis import given, settings
from hypothesis import strategies as st

from support.event_strategies import KINDS, LOSS_KINDS, POINT_KINDS, RENYI_KINDS, SLOW, composed, point_priced
from tacit.accounting import EpsilonDeltaDpEvent, PoissonSampledGaussianDpEvent, cost, gaussian_delta, satisfies
from tacit.accounting.compose import _ORDERS, renyi_to_epsilon
from tacit.accounting.prices import point
from tacit.budget import Budget
from tacit.errors import InvalidParameter, UnsupportedEvent

DELTA = 1e-6
APPLIES = {"basic": POINT_KINDS, "advanced": POINT_KINDS, "renyi": RENYI_KINDS, "pld": LOSS_KINDS}
METHODS: list[Any] = list(APPLIES)
# How far two ways to compute one number may lie apart: sums are exact, the rest is rounding or a grid.
SLACK = {"basic": 0.0, "renyi": 1e-12, "advanced": 1e-9, "pld": 2e-3}

PAIRS = [(method, kind) for method, kinds in APPLIES.items() for kind in kinds]


@pytest.mark.parametrize(("method", "kind"), PAIRS)
@settings(SLOW, max_examples=3)
@given(st.data())
def test_n_copies_cost_what_repeating_n_times_costs(method: Any, kind: str, data: st.DataObject) -> None:
    """A list of n equal events costs what the event repeated n times costs, by every method."""
    event, count = data.draw(KINDS[kind]), data.draw(st.integers(1, 6))
    listed = cost([event] * count, delta=DELTA, method=method)
    repeated = cost(dp_event.SelfComposedDpEvent(event, count), delta=DELTA, method=method)
    assert listed.exact_delta == repeated.exact_delta
    assert listed.epsilon == pytest.approx(repeated.epsilon, rel=SLACK[method], abs=SLACK[method])


def test_repeated_randomized_response_is_counted() -> None:
    """Randomized response repeated a hundred times costs more than once, by every method."""
    once = dp_event.RandomizedResponseDpEvent(0.9, 2)
    for method in METHODS:
        single = cost(once, delta=DELTA, method=method).epsilon
        assert cost(dp_event.SelfComposedDpEvent(once, 100), delta=DELTA, method=method).epsilon > 3 * single
    assert cost(dp_event.SelfComposedDpEvent(once, 100)) == cost(once) * 100


@pytest.mark.parametrize("method", METHODS)
@settings(SLOW, max_examples=5)
@given(st.data())
def test_order_does_not_matter(method: Any, data: st.DataObject) -> None:
    """Any order of a list costs the same."""
    kinds = [KINDS[kind] for kind in APPLIES[method]]
    events = data.draw(st.lists(st.one_of(kinds), min_size=2, max_size=3))
    orders = (events, events[::-1], events[1:] + events[:1])
    prices = [cost(order, delta=DELTA, method=method).epsilon for order in orders]
    assert max(prices) == pytest.approx(min(prices), rel=SLACK[method], abs=SLACK[method])


@given(composed(point_priced), composed(point_priced))
def test_nesting_does_not_matter(first: Any, second: Any) -> None:
    """However compositions are nested, sums see the same parts."""
    flat = cost(first) + cost(second) + cost(second)
    nested = dp_event.ComposedDpEvent([dp_event.ComposedDpEvent([first]), dp_event.SelfComposedDpEvent(second, 2)])
    assert cost(nested) == cost([first, second, second]) == cost(event for event in (second, first, second)) == flat


@pytest.mark.parametrize("method", METHODS)
@SLOW
@given(st.data())
def test_more_events_never_cost_less(method: Any, data: st.DataObject) -> None:
    """Adding an event to a list never makes it cheaper."""
    kinds = [KINDS[kind] for kind in APPLIES[method]]
    events = data.draw(st.lists(st.one_of(kinds), min_size=1, max_size=3))
    fewer, more = (cost(listed, delta=DELTA, method=method).epsilon for listed in (events[:-1], events))
    assert more >= fewer - SLACK[method]


@SLOW
@given(st.lists(st.one_of([KINDS[kind] for kind in POINT_KINDS]), min_size=1, max_size=3), st.integers(1, 40))
def test_the_best_method_is_the_best(events: list[Any], count: int) -> None:
    """The default answers with the smallest epsilon of all methods, at a delta that was asked for."""
    repeated = dp_event.SelfComposedDpEvent(dp_event.ComposedDpEvent(events), count)
    answers = [cost(repeated, delta=DELTA, method=method) for method in ("basic", "advanced", "renyi")]
    best = cost(repeated, delta=DELTA)
    assert best.exact_epsilon <= min(answer.exact_epsilon for answer in answers)
    assert best.exact_delta <= Fraction("1e-6")


@pytest.mark.parametrize(
    ("epsilon", "answers", "advanced", "zcdp", "renyi", "losses"),
    [
        (0.1, 100, 527.5, 394.6, 388.6, 358.6),
        (0.1, 10_000, 5275.0, 3946.0, 3946.0, None),
        (1.0, 100, 54.4, 45.3, 44.3, 41.5),
        (1.0, 10_000, 544.0, 453.0, 453.0, 422.2),
    ],
)
def test_the_noise_of_many_laplace_answers_is_as_published(
    epsilon: float, answers: int, advanced: float, zcdp: float, renyi: float, losses: float | None
) -> None:
    """At the table's noise, many Laplace answers cost the table's epsilon, by each way of composing."""

    def answered(multiplier: float) -> Any:
        return dp_event.SelfComposedDpEvent(dp_event.LaplaceDpEvent(multiplier), answers)

    concentrated = dp_event.SelfComposedDpEvent(dp_event.ZCDpEvent(1 / (2 * zcdp**2)), answers)
    assert cost(answered(advanced), delta=DELTA, method="advanced").epsilon == pytest.approx(epsilon, rel=2e-3)
    assert cost(concentrated, delta=DELTA, method="renyi").epsilon == pytest.approx(epsilon, rel=1.5e-2)
    assert cost(answered(renyi), delta=DELTA, method="renyi").epsilon == pytest.approx(epsilon, rel=1.5e-2)
    if losses:
        assert cost(answered(losses), delta=DELTA, method="pld").epsilon == pytest.approx(epsilon, rel=2e-2)


@SLOW
@given(st.lists(st.one_of(KINDS["gaussian"], KINDS["laplace"], KINDS["zcdp"]), min_size=1, max_size=4))
def test_the_renyi_method_agrees_with_dp_accounting(events: list[Any]) -> None:
    """Over the same orders, epsilon equals dp_accounting's, except where it is more careful."""
    accountant = RdpAccountant(_ORDERS)
    for event in events:
        accountant.compose(event)
    theirs, ours = accountant.get_epsilon(DELTA), cost(events, delta=DELTA, method="renyi").epsilon
    assert ours >= theirs * (1 - 1e-9)
    if theirs > 0.05:
        assert ours == pytest.approx(theirs, rel=1e-5)


@SLOW
@given(st.lists(st.one_of(KINDS["gaussian"], KINDS["laplace"], KINDS["discrete laplace"]), min_size=1, max_size=3))
def test_the_loss_method_agrees_with_dp_accounting(events: list[Any]) -> None:
    """Composed loss distributions agree with dp_accounting's own accountant at unit sensitivity."""
    accountant = PLDAccountant(NeighboringRelation.REPLACE_SPECIAL)
    for event in events:
        accountant.compose(event)
    ours = cost(events, delta=DELTA, method="pld").epsilon
    assert ours == pytest.approx(accountant.get_epsilon(DELTA), rel=1e-4, abs=1e-5)


@given(st.floats(0.5, 100.0), st.integers(1, 1000))
def test_gaussians_add_up_in_squares(multiplier: float, count: int) -> None:
    """Repeated Gaussian noise is judged exactly as one release with less noise."""
    event = dp_event.SelfComposedDpEvent(dp_event.GaussianDpEvent(multiplier), count)
    shift = count**0.5 / multiplier
    for epsilon in (0.5 * shift, shift, 5 * shift):
        delta = gaussian_delta(epsilon, shift)
        assert delta > 0.98 or satisfies(event, Budget(epsilon, delta * 1.001 + 1e-15))
        assert delta < 1e-90 or not satisfies(event, Budget(epsilon, delta * 0.999))


def _kindest(event: Any) -> pld.PrivacyLossDistribution:
    """Return the event's loss distribution, rounded in its favour: the deltas that it certainly has."""
    if isinstance(event, dp_event.SelfComposedDpEvent):
        inner, count = event.event, event.count
    else:
        inner, count = event, 1
    kinder = {"pessimistic_estimate": False, "value_discretization_interval": 1e-4}
    if isinstance(inner, dp_event.LaplaceDpEvent):
        losses = pld.from_laplace_mechanism(inner.noise_multiplier, **kinder)
    elif isinstance(inner, dp_event.GaussianDpEvent):
        losses = pld.from_gaussian_mechanism(inner.noise_multiplier, **kinder)
    else:
        losses = pld.from_gaussian_mechanism(
            inner.noise_multiplier,
            sampling_prob=inner.sampling_probability,
            neighboring_relation=NeighboringRelation.REPLACE_ONE,
            **kinder,
        )
    return losses.self_compose(count)


@pytest.mark.parametrize(
    "event",
    [
        dp_event.LaplaceDpEvent(2.0),
        dp_event.SelfComposedDpEvent(dp_event.LaplaceDpEvent(20.0), 50),
        dp_event.GaussianDpEvent(3.0),
        dp_event.SelfComposedDpEvent(dp_event.GaussianDpEvent(30.0), 70),
        PoissonSampledGaussianDpEvent(0.05, 2.0),
        dp_event.SelfComposedDpEvent(PoissonSampledGaussianDpEvent(0.02, 1.6), 20),
    ],
    ids=str,
)
def test_a_claim_is_never_accepted_beyond_the_truth(event: Any) -> None:
    """A claim that fails even by loss distributions rounded the kind way is refused, one with room is accepted."""
    fair = cost(event, delta=DELTA).epsilon
    kindest = _kindest(event)
    for share in (0.5, 0.98):
        assert kindest.get_delta_for_epsilon(fair * share) > DELTA
        assert not satisfies(event, Budget(fair * share, DELTA))
    assert kindest.get_delta_for_epsilon(fair * 1.001) <= DELTA
    assert satisfies(event, Budget(fair * 1.001, DELTA))


def test_claims_at_shares_of_a_budget_are_judged_alike() -> None:
    """Whether a claim holds does not depend on how its delta is rounded to a float."""
    event = PoissonSampledGaussianDpEvent(0.01, 2.0)
    for parts in (1, 2, 3, 6, 7, 11, 19):
        assert satisfies(event, Budget(Fraction(3), Fraction(1, parts * 10**6)))


def test_plain_claims_are_judged_plainly() -> None:
    """Pure claims need pure events, small deltas need small deltas, and doing nothing keeps any budget."""
    assert satisfies(dp_event.LaplaceDpEvent(2.0), Budget(0.5))
    assert not satisfies(dp_event.LaplaceDpEvent(2.0), Budget(0.49))
    assert not satisfies(dp_event.GaussianDpEvent(100.0), Budget(100))
    assert not satisfies(EpsilonDeltaDpEvent(1.0, 1e-3), Budget(1.0, 1e-6))
    assert not satisfies(EpsilonDeltaDpEvent(1.0, 1e-3), Budget(1.0))
    assert satisfies(EpsilonDeltaDpEvent(1.0, 1e-3), Budget(1.0, 1e-3))
    assert satisfies(dp_event.NoOpDpEvent(), Budget(0))
    assert satisfies(dp_event.ComposedDpEvent([]), Budget(0))
    assert not satisfies(PoissonSampledGaussianDpEvent(0.01, 2.0), Budget(5.0))


def test_a_mixed_list_is_priced_by_the_methods_that_apply() -> None:
    """Events that only one method can price are priced by it; nothing in common is refused with reasons."""
    gaussian = dp_event.GaussianDpEvent(5.0)
    poisson = PoissonSampledGaussianDpEvent(0.01, 5.0)
    sampled = dp_event.SampledWithoutReplacementDpEvent(100, 1, gaussian)
    zcdp = dp_event.ZCDpEvent(0.01)
    assert cost([gaussian, zcdp, sampled], delta=DELTA) == cost([gaussian, zcdp, sampled], delta=DELTA, method="renyi")
    assert cost([gaussian, poisson], delta=DELTA).epsilon > 0
    assert cost([poisson, sampled], delta=DELTA) == cost([poisson, sampled], delta=DELTA, method="pld")
    unsaid = dp_event.PoissonSampledDpEvent(0.01, gaussian)
    with pytest.raises(UnsupportedEvent, match=r"no method can price these events at delta=1e-06"):
        cost([unsaid, zcdp], delta=DELTA)
    with pytest.raises(UnsupportedEvent):
        cost(gaussian)


def test_nothing_costs_nothing() -> None:
    """An empty list, events that never happened and free events cost nothing by any method."""
    free: list[Any] = [[], dp_event.NoOpDpEvent(), [dp_event.SelfComposedDpEvent(dp_event.LaplaceDpEvent(1.0), 0)]]
    for events in free:
        for method in ["best", *METHODS]:
            assert cost(events, delta=DELTA, method=method) == Budget(0)


def test_a_delta_that_is_used_up_is_refused() -> None:
    """Methods that need a delta say so when none is left, and no answer exceeds the delta asked for."""
    event = EpsilonDeltaDpEvent(1.0, 1e-6)
    for method in ("advanced", "renyi", "pld"):
        with pytest.raises(InvalidParameter):
            cost(dp_event.LaplaceDpEvent(1.0), method=method)
        with pytest.raises(InvalidParameter):
            cost(event, delta=1e-7, method=method)
    with pytest.raises(InvalidParameter, match="more than"):
        cost(event, delta=1e-7, method="basic")
    with pytest.raises((InvalidParameter, UnsupportedEvent)):
        cost(event, delta=1e-7)
    assert cost(event, delta=1e-6) == cost(event) == Budget(1.0, 1e-6)


@pytest.mark.parametrize(
    "wrong",
    [
        {"delta": -1e-6},
        {"delta": 1.0},
        {"delta": float("nan")},
        {"delta": "1e-6"},
        {"method": "moments"},
        {"method": None},
    ],
    ids=str,
)
def test_questions_that_make_no_sense_are_refused(wrong: dict[str, Any]) -> None:
    """A delta that is no probability and a method that does not exist are refused."""
    with pytest.raises(InvalidParameter):
        cost(dp_event.LaplaceDpEvent(1.0), **{"delta": 1e-6, **wrong})


@pytest.mark.parametrize("wrong", [None, 5, "events", [None], [5], dp_event.LaplaceDpEvent, Budget(1.0)], ids=str)
def test_only_events_have_a_price(wrong: Any) -> None:
    """What is neither an event nor a list of events is refused with an error of ours."""
    for function in (cost, lambda event: satisfies(event, Budget(1.0, 1e-6))):
        with pytest.raises((InvalidParameter, UnsupportedEvent)):
            function(wrong)


def test_costly_events_are_priced_without_overflow() -> None:
    """Epsilons beyond reason still get an answer, at most their sum, in reasonable memory."""
    for event in (dp_event.LaplaceDpEvent(0.001), EpsilonDeltaDpEvent(800.0), dp_event.LaplaceDpEvent(1e-5)):
        assert cost(event, delta=DELTA).exact_epsilon <= point(event).exact_epsilon
        assert not satisfies(event, Budget(1.0, 1e-6))
    many = dp_event.SelfComposedDpEvent(dp_event.GaussianDpEvent(10.0), 10**6)
    assert 5000 < cost(many, delta=DELTA).epsilon < 6000


@given(st.fractions(0, 10), st.floats(1.1, 1000.0), st.floats(1e-12, 0.5))
def test_the_conversion_from_renyi_adds_an_overhead(divergence: Fraction, order: float, delta: float) -> None:
    """Epsilon is never below the divergence, grows with it one to one, and shrinks with delta."""
    epsilon = renyi_to_epsilon(divergence, order, delta)
    assert epsilon >= divergence
    assert renyi_to_epsilon(divergence + 1, order, delta) == epsilon + 1
    assert renyi_to_epsilon(divergence, order, delta / 2) >= epsilon
