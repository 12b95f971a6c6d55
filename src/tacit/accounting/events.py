"""What happened, in accounting's terms: dp_accounting's events, three that it lacks, and JSON for them all.

A noise multiplier is always *noise scale / replace-one sensitivity*, because the ledger's neighbours are
replace-one. Libraries that train with add-or-remove-one neighbours (Opacus, JAX-Privacy and
TensorFlow-Privacy by default) state multipliers relative to a clipping norm that replacing a record can
exceed twofold: pass their events through `from_add_or_remove_one` first. What each kind of event states is
written down in docs/decisions/0002-events-and-neighbours.md.
"""

import json
import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, TypeAlias

import attr
import numpy as np
from dp_accounting import dp_event

from tacit.budget import LARGEST_EPSILON
from tacit.errors import InvalidParameter, UnsupportedEvent

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


@dataclass(frozen=True)
class _Limits:
    """What a number in an event may be: the usual and the absurd are both refused here and nowhere else."""

    low: float
    high: float
    whole: bool = False


_LIMITS = {
    "noise_multiplier": _Limits(1e-6, 1e15),
    "noise_parameter": _Limits(1e-15, 1e6),
    "epsilon": _Limits(0, LARGEST_EPSILON),
    "delta": _Limits(0, 1 - 2.0**-53),
    "rho": _Limits(0, 1e6),
    "xi": _Limits(0, 1e6),
    "sampling_probability": _Limits(1e-15, 1),
    "mean": _Limits(1e-15, 1e15),
    "shape": _Limits(-1 + 2.0**-53, 1e6),
    "count": _Limits(0, 10**18, whole=True),
    "num_buckets": _Limits(1, 10**9, whole=True),
    "sensitivity": _Limits(1, 10**9, whole=True),
    "source_dataset_size": _Limits(1, 10**18, whole=True),
    "sample_size": _Limits(1, 10**18, whole=True),
}

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


def check_event(event: Event, depth: int = 0) -> Event:
    """Return the event anew, with plain Python numbers, if it can be recorded and its numbers make sense.

    What is priced and recorded is this copy: a count of numpy's overflows where counts are multiplied, a multiplier in
    half precision where it is squared, and a class of one's own may do as it likes.
    """
    kind = type(event).__name__
    if depth > _DEEPEST:
        raise InvalidParameter(f"an event may hold events within events, but not more than {_DEEPEST} deep.")
    if _KNOWN.get(kind) is not type(event):
        raise UnsupportedEvent(
            f"{kind} is not an event that tacit can price; it knows {', '.join(_KNOWN)}. "
            "Charge a proven bound as EpsilonDeltaDpEvent(epsilon, delta) instead."
        )
    fields = {name: _checked(kind, name, value, depth) for name, value in _fields(event).items()}
    if kind == "RandomizedResponseDpEvent" and fields["noise_parameter"] > 1:
        raise InvalidParameter(f"{kind}.noise_parameter is a probability, got {fields['noise_parameter']!r}.")
    if kind == "SampledWithoutReplacementDpEvent" and fields["sample_size"] > fields["source_dataset_size"]:
        raise InvalidParameter(f"{kind}: the sample is larger than the data set.")
    return type(event)(**fields)


def _checked(kind: str, name: str, value: Any, depth: int) -> Any:
    if name == "event":
        return check_event(value, depth + 1)
    if name != "events":
        return _checked_number(f"{kind}.{name}", _LIMITS[name], value)
    # A generator would be empty by the time it is priced.
    if not isinstance(value, list | tuple):
        raise InvalidParameter(f"{kind}.events must be a list, got {type(value).__name__}.")
    return [check_event(part, depth + 1) for part in value]


def _checked_number(where: str, limits: _Limits, value: object) -> int | float:
    number = np.generic.item(value) if isinstance(value, np.integer | np.floating) else value
    if isinstance(number, np.longdouble):
        number = float(number)
    if isinstance(number, int) and not isinstance(number, bool):
        number = int.__int__(number)
    elif isinstance(number, float) and not limits.whole:
        number = float.__float__(number)
    else:
        number = math.nan
    if not limits.low <= number <= limits.high:
        wanted = "a whole number" if limits.whole else "a number"
        raise InvalidParameter(f"{where} must be {wanted} from {limits.low:g} to {limits.high:g}.")
    return number if limits.whole else float(number)


def _fields(event: Event) -> dict[str, Any]:
    return {field.name: getattr(event, field.name) for field in attr.fields(type(event))}


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
    return json.dumps(_to_plain(check_event(event)), sort_keys=True, separators=(",", ":"), allow_nan=False)


def _to_plain(event: Event) -> dict[str, Any]:
    plain: dict[str, Any] = {"type": type(event).__name__}
    for name, value in _fields(event).items():
        if name == "event":
            plain[name] = _to_plain(value)
        elif name == "events":
            plain[name] = [_to_plain(part) for part in value]
        else:
            plain[name] = value
    return plain


def event_from_json(text: str) -> Event:
    """Read an event that `event_to_json` wrote; refuse any other text."""
    try:
        return check_event(_from_plain(json.loads(text)))
    except (KeyError, TypeError, AttributeError, json.JSONDecodeError, RecursionError) as error:
        raise InvalidParameter("this text is not an event written by tacit.") from error


def _from_plain(plain: dict[str, Any]) -> Event:
    fields = {
        name: _from_plain(value)
        if name == "event"
        else [_from_plain(part) for part in value]
        if name == "events"
        else value
        for name, value in plain.items()
        if name != "type"
    }
    return _KNOWN[plain["type"]](**fields)


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
        delta = (1 + math.exp(min(event.epsilon, 700))) * event.delta * (1 + 2**-40)
        return check_event(EpsilonDeltaDpEvent(2 * event.epsilon, delta))
    if isinstance(event, dp_event.NoOpDpEvent):
        return event
    raise UnsupportedEvent(
        f"there is no rule to translate {type(event).__name__} to replace-one neighbours. "
        "Charge a proven bound as EpsilonDeltaDpEvent(epsilon, delta) instead."
    )
