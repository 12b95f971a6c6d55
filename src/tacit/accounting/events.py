"""What happened, in accounting's terms: dp_accounting's events, three that it lacks, and JSON for them all.

A noise multiplier is always *noise scale / replace-one sensitivity*, because the ledger's neighbours are
replace-one. Libraries that train with add-or-remove-one neighbours (Opacus, JAX-Privacy and
TensorFlow-Privacy by default) state multipliers relative to a clipping norm that replacing a record can
exceed twofold: pass their events through `from_add_or_remove_one` first. What each kind of event states is
written down in docs/decisions/0002-events-and-neighbours.md.
"""

import json
import math
import os
import sys
from collections.abc import Callable, Iterator
from importlib.util import find_spec, module_from_spec, spec_from_file_location
from typing import TYPE_CHECKING, Any, TypeAlias

import attr
import numpy as np

from tacit.budget import LARGEST_EPSILON
from tacit.errors import InvalidParameter, UnsupportedEvent


def _loaded_alone(package: str, module: str) -> Any:
    """Load one module of a package without the package, under its own name: whoever loads both finds one of it.

    dp_accounting's events are plain records; the package around them loads half of SciPy, which takes half a second.
    """
    name = f"{package}.{module}"
    if name not in sys.modules:
        (folder,) = find_spec(package).submodule_search_locations  # type: ignore[union-attr, misc]
        spec: Any = spec_from_file_location(name, os.path.join(folder, f"{module}.py"))
        sys.modules[name] = module_from_spec(spec)
        spec.loader.exec_module(sys.modules[name])
    return sys.modules[name]


if TYPE_CHECKING:
    from dp_accounting import dp_event as dp_event
else:
    dp_event = _loaded_alone("dp_accounting", "dp_event")

Event: TypeAlias = dp_event.DpEvent


@attr.s(frozen=True, slots=True, auto_attribs=True)
class EpsilonDeltaDpEvent(dp_event.DpEvent):
    """A mechanism known only to be (epsilon, delta)-private."""

    epsilon: float
    delta: float = 0.0


@attr.s(frozen=True, slots=True, auto_attribs=True)
class BoundedRangeDpEvent(dp_event.DpEvent):
    """A mechanism whose log-likelihood ratios all lie in some interval of length epsilon.

    The exponential mechanism is one: epsilon-private, and epsilon^2/8-zCDP (Dong, Durfee and Rogers 2020).
    """

    epsilon: float


@attr.s(frozen=True, slots=True, auto_attribs=True)
class PoissonSampledGaussianDpEvent(dp_event.DpEvent):
    """Gaussian noise on what was computed from a sample that each record enters by its own coin.

    The multiplier is *noise scale / the most that one more record in the sample moves the value*, in L2 norm.
    The replace-one sensitivity does not say that: a sum of values from 5 to 6 moves by 1 when a record is
    replaced, and by 6 when it is left out of the sample.
    """

    sampling_probability: float
    noise_multiplier: float


# What a number in an event may be: the absurd is refused here and nowhere else.
_LIMITS: dict[str, tuple[float, float]] = {
    "noise_multiplier": (1e-6, 1e15),
    "noise_parameter": (1e-15, 1e6),
    "epsilon": (0, LARGEST_EPSILON),
    "delta": (0, 1 - 2.0**-53),
    "rho": (0, 1e6),
    "xi": (0, 1e6),
    "sampling_probability": (1e-15, 1),
    "mean": (1e-15, 1e15),
    "shape": (-1 + 2.0**-53, 1e6),
}
_WHOLE_LIMITS: dict[str, tuple[int, int]] = {
    "count": (0, 10**18),
    "num_buckets": (1, 10**9),
    "sensitivity": (1, 10**9),
    "source_dataset_size": (1, 10**18),
    "sample_size": (1, 10**18),
}

MORE_ASKED: dict[str, tuple[Callable[[dict[str, Any]], bool], str]] = {
    "RandomizedResponseDpEvent": (
        lambda fields: fields["noise_parameter"] <= 1,
        "noise_parameter is a probability, at most 1",
    ),
    "SampledWithoutReplacementDpEvent": (
        lambda fields: fields["sample_size"] <= fields["source_dataset_size"],
        "the sample must not be larger than the data set",
    ),
}
"""What some kinds of events ask of their numbers besides the limits of each."""

_DEEPEST = 50

_KNOWN: dict[str, type] = {
    known.__name__: known
    for known in (
        EpsilonDeltaDpEvent,
        BoundedRangeDpEvent,
        PoissonSampledGaussianDpEvent,
        dp_event.NoOpDpEvent,
        dp_event.GaussianDpEvent,
        dp_event.LaplaceDpEvent,
        dp_event.DiscreteLaplaceDpEvent,
        dp_event.RandomizedResponseDpEvent,
        dp_event.ZCDpEvent,
        dp_event.SelfComposedDpEvent,
        dp_event.ComposedDpEvent,
        dp_event.PoissonSampledDpEvent,
        dp_event.SampledWithoutReplacementDpEvent,
        dp_event.RepeatAndSelectDpEvent,
    )
}


_FIELDS = {kind: tuple(field.name for field in attr.fields(known)) for kind, known in _KNOWN.items()}


def check_event(event: Event, depth: int = 0) -> Event:
    """Return the event anew, with plain Python numbers, if it can be recorded and its numbers make sense.

    What is priced and recorded is this copy: a count of numpy's overflows where counts are multiplied, a multiplier in
    half precision where it is squared, and a class of one's own may do as it likes.
    """
    kind = type(event).__name__
    if _KNOWN.get(kind) is not type(event):
        raise UnsupportedEvent(
            f"{kind} is not an event that tacit can price; it knows {', '.join(_KNOWN)}. "
            "Charge a proven bound as EpsilonDeltaDpEvent(epsilon, delta) instead."
        )
    return _built(kind, {name: getattr(event, name) for name in _FIELDS[kind]}, check_event, depth)


def _built(kind: str, fields: dict[str, Any], read: Callable[[Any, int], Event], depth: int) -> Event:
    """Build an event from checked numbers, and from events within it as `read` returns them."""
    if depth > _DEEPEST:
        raise InvalidParameter(f"an event may hold events within events, but not more than {_DEEPEST} deep.")
    for name, value in fields.items():
        if name == "event":
            fields[name] = read(value, depth + 1)
        elif name != "events":
            fields[name] = _checked_number(kind, name, value)
        elif isinstance(value, list | tuple):
            fields[name] = [read(part, depth + 1) for part in value]
        else:  # a generator would be empty by the time it is priced
            raise InvalidParameter(f"{kind}.events must be a list, got {type(value).__name__}.")
    if kind in MORE_ASKED:
        holds, wanted = MORE_ASKED[kind]
        if not holds(fields):
            raise InvalidParameter(f"{kind}: {wanted}.")
    return _KNOWN[kind](**fields)


def number_limits(name: str) -> tuple[float, float, bool]:
    """Return what a number of that name may be in an event, and whether it must be whole."""
    whole = name in _WHOLE_LIMITS
    return *(_WHOLE_LIMITS[name] if whole else _LIMITS[name]), whole


def _checked_number(kind: str, name: str, value: object) -> int | float:
    low, high, whole = number_limits(name)
    if type(value) is float and not whole and low <= value <= high:
        return value  # as nearly every number of a history is
    number = np.generic.item(value) if isinstance(value, np.integer | np.floating) else value
    if isinstance(number, np.longdouble):
        number = float(number)
    if isinstance(number, int) and not isinstance(number, bool):
        number = int.__int__(number)
    elif isinstance(number, float) and not whole:
        number = float.__float__(number)
    else:
        number = math.nan
    if not low <= number <= high:
        wanted = "a whole number" if whole else "a number"
        raise InvalidParameter(f"{kind}.{name} must be {wanted} from {low:g} to {high:g}.")
    return number if whole else float(number)


def flatten(event: Event, count: int = 1) -> Iterator[tuple[Event, int]]:
    """Yield the parts that were composed, each with how often it happened.

    Repetition is unfolded here and nowhere else, so that n copies always cost n times one.
    """
    if isinstance(event, dp_event.ComposedDpEvent):
        for part in event.events:
            yield from flatten(part, count)
    elif isinstance(event, dp_event.SelfComposedDpEvent):
        yield from flatten(event.event, count * event.count)
    elif count and not isinstance(event, dp_event.NoOpDpEvent):
        yield event, count


def event_to_json(event: Event) -> str:
    """Write an event as JSON with sorted keys; the same event always gives the same text."""
    checked = check_event(event)
    return json.dumps(checked, default=_to_plain, sort_keys=True, separators=(",", ":"), allow_nan=False)


def _to_plain(event: Event) -> dict[str, Any]:
    kind = type(event).__name__
    return {"type": kind, **{name: getattr(event, name) for name in _FIELDS[kind]}}


def event_from_json(text: str) -> Event:
    """Read an event that `event_to_json` wrote; refuse any other text."""
    try:
        return _from_plain(json.loads(text), 0)
    except (KeyError, TypeError, AttributeError, json.JSONDecodeError, RecursionError) as error:
        raise InvalidParameter("this text is not an event written by tacit.") from error


def _from_plain(plain: dict[str, Any], depth: int) -> Event:
    fields = plain.copy()
    return _built(fields.pop("type"), fields, _from_plain, depth)


def from_add_or_remove_one(event: Event) -> Event:
    """Translate an event stated for add-or-remove-one neighbours into one for replace-one neighbours.

    Guarantee: if the event describes a mechanism for add-or-remove-one neighbours, the result describes
    it for replace-one neighbours.
    Assumes: additive noise is calibrated to the largest contribution of one record, so that a replacement
    moves the sum at most twice as far.
    Reference: replacing a record is removing one and adding one; group privacy for two; prices.md for samples.
    """
    event = check_event(event)
    if isinstance(event, dp_event.GaussianDpEvent | dp_event.LaplaceDpEvent):
        return type(event)(event.noise_multiplier / 2)
    if isinstance(event, dp_event.ComposedDpEvent):
        return dp_event.ComposedDpEvent([from_add_or_remove_one(part) for part in event.events])
    if isinstance(event, dp_event.SelfComposedDpEvent):
        return dp_event.SelfComposedDpEvent(from_add_or_remove_one(event.event), event.count)
    if isinstance(event, dp_event.PoissonSampledDpEvent) and isinstance(event.event, dp_event.GaussianDpEvent):
        # What one more record moves is what such a multiplier is relative to already.
        return PoissonSampledGaussianDpEvent(event.sampling_probability, event.event.noise_multiplier)
    if isinstance(event, EpsilonDeltaDpEvent):
        return EpsilonDeltaDpEvent(*_of_two(event.epsilon, event.delta))
    if isinstance(event, dp_event.NoOpDpEvent):
        return event
    raise UnsupportedEvent(
        f"there is no rule to translate {type(event).__name__} to replace-one neighbours. "
        "Charge a proven bound as EpsilonDeltaDpEvent(epsilon, delta) instead."
    )


def _of_two(epsilon: float, delta: float) -> tuple[float, float]:
    """Return what an (epsilon, delta) for one record is for two: 2 epsilon, and (1 + e^epsilon) delta, rounded up."""
    if not delta and 2 * epsilon <= LARGEST_EPSILON:
        return 2 * epsilon, 0.0
    factor = 1 + math.exp(epsilon) * (1 + 2**-40) if epsilon < 700 else math.inf
    doubled = math.nextafter(factor * delta, math.inf)
    if not (doubled < 1 and 2 * epsilon <= LARGEST_EPSILON):
        raise InvalidParameter(
            f"an event with epsilon={epsilon:g} and delta={delta:g} for one record says nothing about two. Add noise."
        )
    return 2 * epsilon, doubled
