"""Laws that every mechanism obeys: accounted within budget, frozen, copyable, monotone, known in advance."""

import copy
import dataclasses
import inspect
import math
import pickle
from collections.abc import Callable
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tacit import mechanisms
from tacit.accounting import event_from_json, event_to_json, satisfies
from tacit.budget import Budget
from tacit.mechanisms import Exponential, Gaussian, Laplace, Mechanism, Repetition, SparseVector, SphericalLaplace
from tacit.releases import release

Build = Callable[[Budget, float], Mechanism]

REGISTRY: dict[str, tuple[Build, object]] = {
    "laplace": (lambda b, s: Laplace.for_budget(b, s), 3.0),
    "laplace vector": (lambda b, s: Laplace.for_budget(b, s, (2, 3)), np.ones((2, 3))),
    "gaussian": (lambda b, s: Gaussian.for_budget(b, s), 3.0),
    "gaussian vector": (lambda b, s: Gaussian.for_budget(b, s, 7), np.ones(7)),
    "spherical": (lambda b, s: SphericalLaplace.for_budget(b, s), 3.0),
    "spherical vector": (lambda b, s: SphericalLaplace.for_budget(b, s, (4,)), np.ones(4)),
    "exponential": (lambda b, s: Exponential.for_budget(b, s, candidates=3), [0.0, 1.0, 2.0]),
    "exponential weighted": (
        lambda b, s: Exponential.for_budget(b, s, candidates=3, weights=[1, 2, 3]),
        [0.0, 1.0, 2.0],
    ),
    "sparse vector": (lambda b, s: SparseVector.for_budget(b, s, threshold=1.0), [0.0, 1.0]),
    "sparse vector of three": (lambda b, s: SparseVector.for_budget(b, s, threshold=1.0, hits=3), [0.0, 1.0]),
}

EVERY = pytest.mark.parametrize("name", REGISTRY)

EPSILONS = st.one_of(
    st.sampled_from([Fraction(1, 3), Fraction(5, 6), Fraction(7, 11), 0.1, 0.3, Decimal("0.7"), 1, 1e-3, 1e6, 999_999]),
    st.floats(1e-3, 1e3),
    st.fractions(min_value=Fraction(1, 1000), max_value=100),
)
DELTAS = st.one_of(
    st.sampled_from([1e-6, 1e-12, 1e-29, 0.5, Fraction(1, 3 * 10**7), Decimal("0.001")]), st.floats(1e-20, 0.4)
)
SENSITIVITIES = st.one_of(st.sampled_from([1e-100, 1.0, 0.1, 3, 1e100]), st.floats(1e-9, 1e9))


def _build(name: str, budget: Budget, sensitivity: float = 1.0) -> Mechanism:
    return REGISTRY[name][0](budget, sensitivity)


def _noise_scale(mechanism: Mechanism) -> tuple[float, ...]:
    """Return the numbers that grow with the noise."""
    if isinstance(mechanism, Exponential):
        return (1 / mechanism.rate,)
    if isinstance(mechanism, SparseVector):
        return tuple(units * mechanism.grid for units in mechanism.units)
    return (mechanism.standard_deviation,)


def test_the_registry_has_every_mechanism() -> None:
    """A mechanism that the package exports is held to these laws; for `Repetition`, see test_repetition.py."""
    exported = {getattr(mechanisms, name) for name in mechanisms.__all__}
    concrete = {kind for kind in exported if issubclass(kind, Mechanism) and not inspect.isabstract(kind)}
    assert concrete - {Repetition} == {type(_build(name, Budget(1, 1e-6))) for name in REGISTRY}


@EVERY
@given(EPSILONS, DELTAS, SENSITIVITIES)
def test_what_is_calibrated_never_exceeds_the_budget(
    name: str, epsilon: float, delta: float, sensitivity: float
) -> None:
    """The account of the event is within the mechanism's budget, and that within the one asked for, exactly."""
    budget = Budget(epsilon, delta)
    mechanism = _build(name, budget, sensitivity)
    assert satisfies(mechanism.event, mechanism.budget)
    assert mechanism.budget <= budget
    assert mechanism.budget.exact_epsilon == budget.exact_epsilon


@pytest.mark.parametrize("name", [name for name in REGISTRY if "gaussian" not in name])
@pytest.mark.parametrize("epsilon", [1e-9, 1e-7, Fraction(1, 3 * 10**8)])
def test_pure_mechanisms_keep_tiny_budgets(name: str, epsilon: float) -> None:
    """Down to a billionth of epsilon the account stays within it, and the noise within a factor of two of ideal."""
    mechanism = _build(name, Budget(epsilon))
    assert satisfies(mechanism.event, mechanism.budget)
    wider = _noise_scale(_build(name, Budget(1)))
    for tiny, plain in zip(_noise_scale(mechanism), wider, strict=True):
        assert 1 <= tiny * mechanism.budget.epsilon / plain <= 2


@EVERY
@given(EPSILONS, DELTAS)
def test_the_account_is_tight(name: str, epsilon: float, delta: float) -> None:
    """The event does not keep a budget with epsilon a thousandth smaller: nothing is given away by rounding."""
    mechanism = _build(name, Budget(epsilon, delta))
    if isinstance(mechanism, Gaussian) and mechanism.event.noise_multiplier < 0.051:
        return  # noise is never less than a twentieth of the sensitivity, however large epsilon is
    smaller = Budget.amount(mechanism.budget.exact_epsilon * Fraction(999, 1000), mechanism.budget.exact_delta)
    tighter = Budget.amount(smaller.exact_epsilon, smaller.exact_delta * Fraction(99, 100))
    assert not satisfies(mechanism.event, tighter)


@EVERY
def test_three_thirds_are_a_whole(name: str) -> None:
    """Three mechanisms at a third of a budget cost it exactly, for thirds, tenths and sevenths."""
    for parts in (3, 7, 10):
        whole = Budget(0.7, 1e-6)
        total = sum((_build(name, share).budget for share in whole.shares(*[1] * parts)), Budget(0))
        assert total <= whole
        assert total.exact_epsilon == whole.exact_epsilon


@EVERY
def test_mechanisms_cannot_be_changed(name: str) -> None:
    """Assigning to a field or a derived quantity is refused, so that what is charged is what is drawn."""
    mechanism = _build(name, Budget(1, 1e-6))
    fields = [field.name for field in dataclasses.fields(mechanism)]
    for attribute in [*fields, "event", "units", "anything"]:
        with pytest.raises((dataclasses.FrozenInstanceError, AttributeError)):
            setattr(mechanism, attribute, 1)
    assert mechanism == _build(name, Budget(1, 1e-6))


@EVERY
def test_copies_are_equal_and_draw_their_own_noise(name: str) -> None:
    """Pickled and copied mechanisms are equal, hash alike, keep their event, and rehearse alike with one seed."""
    build, value = REGISTRY[name]
    mechanism = build(Budget(1, 1e-6), 2.0)
    rehearsed = release(mechanism, value, label="x", random_state=5).value
    for twin in (pickle.loads(pickle.dumps(mechanism)), copy.copy(mechanism), copy.deepcopy(mechanism)):
        assert twin == mechanism
        assert hash(twin) == hash(mechanism)
        assert twin.event == mechanism.event
        assert np.array_equal(release(twin, value, label="x", random_state=5).value, rehearsed)
    assert mechanism != build(Budget(2, 1e-6), 2.0)
    assert mechanism != build(Budget(1, 1e-6), 3.0)


@pytest.mark.parametrize("name", [name for name in REGISTRY if "exponential" not in name and "sparse" not in name])
def test_pickled_mechanisms_share_no_private_noise(name: str) -> None:
    """A mechanism and its pickle release different private numbers, as two draws of the same mechanism do."""
    build, value = REGISTRY[name]
    mechanism = build(Budget(1e-3, 1e-6), 1.0)
    twin = pickle.loads(pickle.dumps(mechanism))
    answers = [np.asarray(release(each, value, label="x").value).tobytes() for each in (mechanism, twin, mechanism)]
    assert len(set(answers)) == 3


@EVERY
@given(st.floats(2e-4, 100), st.floats(1.01, 10))
def test_noise_grows_as_epsilon_shrinks_and_as_sensitivity_grows(name: str, epsilon: float, factor: float) -> None:
    """Less epsilon or more sensitivity never means less noise, and a factor of both scales means that factor."""
    plain = _noise_scale(_build(name, Budget(epsilon, 1e-6)))
    stricter = _noise_scale(_build(name, Budget(epsilon / factor, 1e-6)))
    wider = _noise_scale(_build(name, Budget(epsilon, 1e-6), factor))
    for before, less, more in zip(plain, stricter, wider, strict=True):
        assert less > before
        assert more == pytest.approx(factor * before, rel=1e-3)


@EVERY
def test_events_are_known_and_storable_before_any_data(name: str) -> None:
    """The event comes from the mechanism alone, reads back from JSON, and is the one that a release carries."""
    build, value = REGISTRY[name]
    mechanism = build(Budget(Fraction(1, 3), 1e-6), 1.0)
    event = mechanism.event
    assert event_from_json(event_to_json(event)) == event
    released = release(mechanism, value, label="x", random_state=1)
    assert released.event == event
    assert released.budget == mechanism.budget


@EVERY
def test_public_facts_are_named(name: str) -> None:
    """Every mechanism names the sensitivity and what else it assumes public."""
    public = _build(name, Budget(1, 1e-6), 2.5).public
    assert len(public) >= 2
    assert any("2.5" in fact for fact in public)
    assert all(isinstance(fact, str) and fact for fact in public)


@EVERY
def test_the_constructor_calibrates_like_for_budget(name: str) -> None:
    """Replacing the budget of a mechanism recalibrates it: there is no way round the checks."""
    mechanism = _build(name, Budget(1, 1e-6))
    halved = dataclasses.replace(mechanism, budget=Budget(0.5, 1e-6))
    assert halved == _build(name, Budget(0.5, 1e-6))
    assert _noise_scale(halved) == _noise_scale(_build(name, Budget(0.5, 1e-6)))
    assert all(math.isfinite(scale) for scale in _noise_scale(halved))
