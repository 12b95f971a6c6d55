"""What stands in a card's own section, beside the registry's record: checked, since anybody can write a file."""

import json
import re
from collections.abc import Callable, Mapping
from typing import Any

from tacit.accounting.events import event_from_json
from tacit.errors import InvalidParameter
from tacit.estimators.learned_from import LearnedFrom
from tacit.estimators.saving.fields import TEXT, TRUTH

_is_text, _is_truth = TEXT.holds, TRUTH.holds
_FRACTION = re.compile(r"[0-9]{1,400}(/[1-9][0-9]{0,400})?", re.ASCII)


def check_own(own: object) -> None:
    """Refuse a section with other parts than tacit writes, or parts of other types."""
    if not isinstance(own, Mapping) or not all(name in _PARTS and _PARTS[name](part) for name, part in own.items()):
        raise InvalidParameter(
            f"a card's own section must be an object of {', '.join(_PARTS)}, each as tacit writes it."
        )


def _are_texts(value: object) -> bool:
    return isinstance(value, list | tuple) and all(map(_is_text, value))


def _has(value: object, parts: Mapping[str, Callable[[Any], bool]]) -> bool:
    return (
        isinstance(value, Mapping)
        and value.keys() == parts.keys()
        and all(holds(value[name]) for name, holds in parts.items())
    )


def _is_exact(value: object) -> bool:
    return isinstance(value, str) and _FRACTION.fullmatch(value) is not None


def _is_amount(value: object) -> bool:
    return _has(value, {"words": _is_text, "epsilon": _is_exact, "delta": _is_exact})


def _is_whole(value: object) -> bool:
    return type(value) is int


def _is_entry(value: object) -> bool:
    return _has(value, {"number": _is_whole, "time": _is_text, "part": _are_texts, "hash": _is_text})


def _is_account(value: object) -> bool:
    amounts = dict.fromkeys(("budget", "spent", "left"), _is_amount)
    return _has(value, {"name": _is_text, "accountant": _is_text, **amounts, "head": _is_text})


def _is_verdict(value: object) -> bool:
    """Whether these are words and facts; what they say of the auditor was checked when the card was made."""
    if not isinstance(value, Mapping) or not _is_text(value.get("words")):
        return False
    plain = (each for name, each in value.items() if name != "variant")
    variant = value.get("variant", {})
    return (
        all(map(_is_text, value))
        and all(_is_text(each) or isinstance(each, int | float) for each in plain)
        and isinstance(variant, Mapping)
        and all(map(_is_text, (*variant, *variant.values())))
    )


def _is_event(value: object) -> bool:
    try:
        event_from_json(json.dumps(value))
    except (InvalidParameter, ValueError, KeyError, TypeError, RecursionError):
        return False
    return True


def _is_origin(value: object) -> bool:
    try:
        origin = LearnedFrom.of_plain(value)
    except InvalidParameter:
        return False
    return all(map(_is_text, (origin.table, origin.part, origin.key, origin.unit)))


_PARTS: Mapping[str, Callable[[Any], bool]] = {
    "version": _is_text,
    "private": _is_truth,
    "unit": _is_text,
    "ids": _are_texts,
    "guarantee": _is_text,
    "public": _are_texts,
    "charged": _is_amount,
    "event": _is_event,
    "entry": _is_entry,
    "ledger": _is_account,
    "audit": _is_verdict,
    "model": _is_text,
    "scores of": _is_text,
    "learned from": _is_origin,
}
