"""Events: what may be recorded, how it is written down, and what other neighbours mean by it."""

import json
import math
from decimal import Decimal, localcontext
from typing import Any

import attr
import numpy as np
import pytest
from dp_accounting import NeighboringRelation, dp_event
from dp_accounting.pld import PLDAccountant
from hypothesis import given
from hypothesis import strategies as st

from support.event_strategies import KINDS, SLOW, composed, single
from tacit.accounting import (
    BoundedRangeDpEvent,
    EpsilonDeltaDpEvent,
    PoissonSampledGaussianDpEvent,
    cost,
    event_from_json,
    event_to_json,
    from_add_or_remove_one,
)
from tacit.accounting.events import check_event, flatten
from tacit.errors import InvalidParameter, TacitError, UnsupportedEvent

LAPLACE = dp_event.LaplaceDpEvent(2.0)
GAUSSIAN = dp_event.GaussianDpEvent(2.0)


@given(composed(single))
def test_an_event_is_read_as_it_was_written(event: Any) -> None:
    """JSON and back is the same event, and the same event is always written the same."""
    text = event_to_json(event)
    assert event_from_json(text) == event
    assert event_to_json(event_from_json(text)) == text
    assert json.loads(text)["type"] == type(event).__name__


@pytest.mark.parametrize("kind", KINDS)
@given(st.data())
def test_every_kind_of_event_is_accepted_and_written(kind: str, data: st.DataObject) -> None:
    """Each kind passes the check unchanged and survives JSON inside a composition."""
    event = data.draw(KINDS[kind])
    assert check_event(event) == event
    nested = dp_event.ComposedDpEvent([dp_event.SelfComposedDpEvent(event, 3), event])
    assert event_from_json(event_to_json(nested)) == nested


def test_numpy_numbers_are_written_as_plain_ones() -> None:
    """Parameters that came out of numpy are numbers like others."""
    event = dp_event.SelfComposedDpEvent(dp_event.LaplaceDpEvent(np.float64(2.0)), np.int64(3))
    assert event_to_json(event) == event_to_json(dp_event.SelfComposedDpEvent(LAPLACE, 3))
    assert event_to_json(dp_event.LaplaceDpEvent(2)) == event_to_json(dp_event.LaplaceDpEvent(np.float32(2)))


@pytest.mark.parametrize(
    "text",
    [
        "", "{", "null", "[]", "5", '"LaplaceDpEvent"', "{}", '{"type":"LaplaceDpEvent"}',
        '{"type":"NonPrivateDpEvent"}',
        '{"type":"os.system"}', '{"type":["LaplaceDpEvent"]}', '{"type":"LaplaceDpEvent","noise_multiplier":-1}',
        '{"type":"LaplaceDpEvent","noise_multiplier":NaN}', '{"type":"LaplaceDpEvent","noise_multiplier":Infinity}',
        '{"type":"LaplaceDpEvent","noise_multiplier":"2"}', '{"type":"LaplaceDpEvent","noise_multiplier":1,"extra":2}',
        '{"type":"ComposedDpEvent","events":5}', '{"type":"ComposedDpEvent","events":[5]}',
        '{"type":"ComposedDpEvent","events":null}', '{"type":"SelfComposedDpEvent","event":null,"count":2}',
        '{"type":"SelfComposedDpEvent","event":{"type":"NoOpDpEvent"},"count":2.5}', "[" * 100_000,
        '{"type":"SelfComposedDpEvent","count":1,"event":' * 50_000,
    ],
    ids=lambda text: text[:40],
)  # fmt: skip
def test_text_that_is_no_event_is_refused(text: str) -> None:
    """Anything that was not written by us is refused with an error of ours."""
    with pytest.raises(TacitError):
        event_from_json(text)


def test_an_event_nested_beyond_reason_is_refused() -> None:
    """An event nested a hundred thousand times is refused instead of exhausting the stack."""
    event: Any = LAPLACE
    for _ in range(100_000):
        event = dp_event.SelfComposedDpEvent(event, 1)
    with pytest.raises(TacitError):
        event_to_json(event)


@pytest.mark.parametrize(
    "value",
    [math.nan, math.inf, -math.inf, 0.0, -0.0, -1.0, "2", b"2", None, True, 2j, [2.0], {}, np.array(2.0)],
    ids=str,
)
def test_a_multiplier_is_a_positive_finite_number(value: Any) -> None:
    """Anything else as noise multiplier is refused, by name of the field."""
    for kind in (dp_event.LaplaceDpEvent, dp_event.GaussianDpEvent):
        with pytest.raises(InvalidParameter, match=rf"{kind.__name__}.noise_multiplier"):
            check_event(kind(value))


@pytest.mark.parametrize("value", [-1, 2.0, 2.5, True, "2", None, math.nan, 10**400, np.float64(2.0)], ids=str)
def test_a_count_is_a_whole_number(value: Any) -> None:
    """Floats, truth values, texts, negative and absurd numbers are no counts, however whole they look."""
    with pytest.raises(InvalidParameter, match="count"):
        check_event(dp_event.SelfComposedDpEvent(LAPLACE, value))


def test_a_class_of_the_same_name_is_not_the_event() -> None:
    """A lookalike or a subclass of a known event is refused: its price could be anything."""

    @attr.s(frozen=True, auto_attribs=True)
    class LaplaceDpEvent(dp_event.DpEvent):
        noise_multiplier: float

    class Heir(dp_event.GaussianDpEvent):
        pass

    for impostor in (LaplaceDpEvent(2.0), Heir(2.0)):
        for event in (impostor, dp_event.ComposedDpEvent([impostor]), dp_event.SelfComposedDpEvent(impostor, 2)):
            with pytest.raises(UnsupportedEvent, match="not an event that tacit can price"):
                check_event(event)
            with pytest.raises(UnsupportedEvent):
                cost(event, delta=1e-6)


@pytest.mark.parametrize(
    "event",
    [
        dp_event.NonPrivateDpEvent(),
        dp_event.UnsupportedDpEvent(),
        dp_event.SampledWithReplacementDpEvent(10, 5, LAPLACE),
        dp_event.SingleEpochTreeAggregationDpEvent(1.0, 10),
        dp_event.MixtureOfGaussiansDpEvent(1.0, [1.0], [1.0]),
    ],
    ids=lambda event: type(event).__name__,
)
def test_events_that_cannot_be_priced_are_refused(event: Any) -> None:
    """Events of dp_accounting without a sound replace-one price are refused, alone and inside others."""
    for wrapped in (event, dp_event.ComposedDpEvent([LAPLACE, event]), dp_event.SelfComposedDpEvent(event, 0)):
        with pytest.raises(UnsupportedEvent, match="EpsilonDeltaDpEvent"):
            check_event(wrapped)
        with pytest.raises(UnsupportedEvent):
            from_add_or_remove_one(wrapped)


def test_flattening_counts_every_repetition() -> None:
    """Nested repetitions multiply, lists add, and nothing is left of what never happened."""
    inner = dp_event.ComposedDpEvent([LAPLACE, dp_event.SelfComposedDpEvent(GAUSSIAN, 3), dp_event.NoOpDpEvent()])
    assert list(flatten(dp_event.SelfComposedDpEvent(inner, 5))) == [(LAPLACE, 5), (GAUSSIAN, 15)]
    assert list(flatten(dp_event.SelfComposedDpEvent(inner, 0))) == []
    assert list(flatten(dp_event.ComposedDpEvent([]))) == []


@pytest.mark.parametrize("epsilon", [0.0, 0.3, 1.0, 20.0, 600.0, 699.0])
@pytest.mark.parametrize("delta", [5e-324, 1e-310, 1e-300, 1e-30, 1e-12, 0.1])
def test_a_delta_for_two_records_is_never_understated(epsilon: float, delta: float) -> None:
    """Two records at (epsilon, delta) each have (1 + e^epsilon) delta, computed here with 60 digits."""
    with localcontext(prec=60):
        wanted = (1 + Decimal(epsilon).exp()) * Decimal(delta)
    if wanted >= Decimal("0.999999"):
        with pytest.raises(InvalidParameter, match="says nothing about two"):
            from_add_or_remove_one(EpsilonDeltaDpEvent(epsilon, delta))
        return
    found = from_add_or_remove_one(EpsilonDeltaDpEvent(epsilon, delta))
    assert found.epsilon == 2 * epsilon
    assert wanted <= Decimal(found.delta) <= wanted * (1 + Decimal("1e-11")) + Decimal("1e-323")


@pytest.mark.parametrize("epsilon", [700.0, 730.0, 1000.0, 1e5])
def test_a_delta_too_small_to_translate_is_refused(epsilon: float) -> None:
    """e^epsilon is beyond all floats there, and a delta capped before it would be too small; none stays none."""
    with pytest.raises(InvalidParameter, match="says nothing about two"):
        from_add_or_remove_one(EpsilonDeltaDpEvent(epsilon, 5e-324))
    assert from_add_or_remove_one(EpsilonDeltaDpEvent(epsilon)) == EpsilonDeltaDpEvent(2 * epsilon)


def test_a_replacement_moves_a_sum_twice_as_far() -> None:
    """Multipliers stated for add-or-remove-one neighbours halve, except in a sample, where they say what is needed."""
    for kind in (dp_event.GaussianDpEvent, dp_event.LaplaceDpEvent):
        assert from_add_or_remove_one(kind(3.0)) == kind(1.5)
    training = dp_event.ComposedDpEvent(
        [
            dp_event.NoOpDpEvent(),
            dp_event.SelfComposedDpEvent(dp_event.PoissonSampledDpEvent(0.01, dp_event.GaussianDpEvent(1.1)), 100),
        ]
    )
    assert from_add_or_remove_one(training) == dp_event.ComposedDpEvent(
        [
            dp_event.NoOpDpEvent(),
            dp_event.SelfComposedDpEvent(PoissonSampledGaussianDpEvent(0.01, 1.1), 100),
        ]
    )


@given(st.floats(0, 20), st.floats(0, 1e-9))
def test_a_point_costs_a_group_of_two(epsilon: float, delta: float) -> None:
    """An (epsilon, delta) promise becomes (2 epsilon, (1 + e^epsilon) delta), never less."""
    translated = from_add_or_remove_one(EpsilonDeltaDpEvent(epsilon, delta))
    assert translated.epsilon == 2 * epsilon
    assert translated.delta == pytest.approx((1 + math.exp(epsilon)) * delta, rel=1e-9)
    assert translated.delta >= (1 + math.exp(epsilon)) * delta


def test_a_promise_that_becomes_empty_is_refused() -> None:
    """A point whose delta would reach one for a replacement promises nothing and is refused."""
    for event in (EpsilonDeltaDpEvent(20.0, 1e-6), EpsilonDeltaDpEvent(800.0, 1e-9), EpsilonDeltaDpEvent(9e5)):
        with pytest.raises(InvalidParameter):
            from_add_or_remove_one(event)


@pytest.mark.parametrize(
    "event",
    [
        BoundedRangeDpEvent(1.0),
        dp_event.ZCDpEvent(1.0),
        dp_event.RandomizedResponseDpEvent(0.5, 2),
        dp_event.DiscreteLaplaceDpEvent(0.5, 1),
        dp_event.SampledWithoutReplacementDpEvent(10, 5, GAUSSIAN),
        dp_event.RepeatAndSelectDpEvent(LAPLACE, 10.0, 0.0),
        dp_event.PoissonSampledDpEvent(0.1, LAPLACE),
        PoissonSampledGaussianDpEvent(0.1, 1.0),
    ],
    ids=lambda event: type(event).__name__,
)
def test_events_without_a_rule_are_not_translated(event: Any) -> None:
    """What group privacy does not settle here is refused with advice."""
    with pytest.raises(UnsupportedEvent, match="no rule to translate"):
        from_add_or_remove_one(event)


@SLOW
@given(st.floats(0.005, 0.2), st.floats(1.0, 5.0), st.integers(1, 30))
def test_translated_training_costs_what_dp_accounting_says(probability: float, multiplier: float, steps: int) -> None:
    """Poisson-sampled Gaussian training, translated, agrees with dp_accounting's replace-one accountant."""
    step = dp_event.PoissonSampledDpEvent(probability, dp_event.GaussianDpEvent(multiplier))
    theirs = PLDAccountant(NeighboringRelation.REPLACE_ONE).compose(step, steps).get_epsilon(1e-6)
    ours = cost(from_add_or_remove_one(dp_event.SelfComposedDpEvent(step, steps)), delta=1e-6, method="pld")
    assert ours.epsilon == pytest.approx(theirs, rel=1e-3, abs=1e-9)
    assert ours.epsilon >= theirs * (1 - 1e-9)


@SLOW
@given(st.floats(2.0, 20.0), st.integers(1, 20))
def test_translated_gaussians_cost_what_dp_accounting_says(multiplier: float, count: int) -> None:
    """Plain Gaussian noise, translated, agrees with dp_accounting's replace-one accountant."""
    event = dp_event.SelfComposedDpEvent(dp_event.GaussianDpEvent(multiplier), count)
    theirs = PLDAccountant(NeighboringRelation.REPLACE_ONE).compose(event).get_epsilon(1e-6)
    ours = cost(from_add_or_remove_one(event), delta=1e-6, method="pld")
    assert ours.epsilon == pytest.approx(theirs, rel=1e-4, abs=1e-4)
