"""Reading one link of an account's history: the text of an entry, and what of it the sums need.

A link is verified by the hash of its content, written in one canonical way, behind the hash before it. Nearly every
text is the one that a ledger writes itself: a fixed frame around nine JSON values. Such a text is taken apart by one
pattern, and if each value is spelled canonically, then so is the whole, and its hash is that of the same pieces in a
frame without blanks. Any other text is parsed and written again; both ways accept the same texts (ledger.md).
"""

import json
import re
from collections.abc import Mapping
from fractions import Fraction
from functools import lru_cache
from hashlib import sha256
from typing import Any, NamedTuple

from tacit.accounting.events import event_from_json
from tacit.errors import TacitError

PartPath = tuple[tuple[str, str], ...]
"""Where an entry belongs: ((partition, part), ...) from the outside in; () is the account itself."""


_NONSENSE = (ValueError, KeyError, TypeError, ZeroDivisionError, OverflowError, RecursionError, TacitError)


class Link(NamedTuple):
    """What a verified link says: where it belongs, its amount, and the parts that it declares, if any."""

    path: PartPath
    epsilon: tuple[int, int]
    delta: tuple[int, int]
    declares: tuple[str, tuple[str, ...], str] | None = None


def digest(previous: str, content: Mapping[str, Any]) -> str:
    """Return the hash of a link: of its content and the hash before it."""
    text = json.dumps([previous, content], sort_keys=True, separators=(",", ":"), ensure_ascii=True)
    return sha256(text.encode("ascii")).hexdigest()


def read_link(text: object, link: object, head: str, number: int) -> Link | None:
    """Return what a link says, or None if its hash or its number is wrong or it makes no sense."""
    for reading in (_framed, _parsed):
        try:
            found = reading(text, link, head, number)
        except _NONSENSE:
            continue
        if found is not None:
            return found
    return None


def _parsed(text: Any, link: object, head: str, number: int) -> Link | None:
    content = json.loads(text)
    if digest(head, content) != link or content["number"] != number:
        return None
    epsilon, delta = Fraction(content["epsilon"]), Fraction(content["delta"])
    if epsilon < 0 or delta < 0:
        return None
    if content["event"] is not None:
        event_from_json(content["event"])
    label, _ = content["label"], content["time"]
    declares = (label, tuple(content["parts"]), content["fixed_by"]) if content["parts"] else None
    hash(declares)
    return Link(_path(content["path"]), epsilon.as_integer_ratio(), delta.as_integer_ratio(), declares)


def _path(steps: Any) -> PartPath:
    path = tuple((name, part) for name, part in steps)
    hash(path)
    return path


# What JSON in ASCII leaves as it is within a string; whole numbers without leading zeros.
_PLAIN = r"[ !#-\[\]-~]*"
_STRING = rf'"{_PLAIN}(?:\\.{_PLAIN})*"'
_WHOLE = r"(?:0|[1-9][0-9]{0,99})"
_AMOUNT = rf"{_WHOLE}(?:/[1-9][0-9]{{0,99}})?"
_FRAME = re.compile(
    rf'\{{"delta": "({_AMOUNT})", "epsilon": "({_AMOUNT})", "event": (null|{_STRING}), "fixed_by": null, '
    rf'"label": ({_STRING}), "number": ({_WHOLE}), "parts": \[\], "path": (\[\]|\[\[.*\]\]), '
    rf'"time": ("{_PLAIN}")\}}'
)


def _framed(text: Any, link: object, head: str, number: int) -> Link | None:
    """Read a text that stands in the ledger's own frame with canonical values; of any other return None."""
    match = _FRAME.fullmatch(text) if type(text) is str else None
    if match is None:
        return None
    delta, epsilon, event, label, count, steps, time = match.groups()
    if count != str(number) or not _is_event(event) or ("\\" in label and not _is_canonical(label)):
        return None
    short, path = _place(steps)
    hashed = (
        f'["{head}",{{"delta":"{delta}","epsilon":"{epsilon}","event":{event},"fixed_by":null,'
        f'"label":{label},"number":{count},"parts":[],"path":{short},"time":{time}}}]'
    )
    if sha256(hashed.encode("ascii")).hexdigest() != link:
        return None
    return Link(path, _ratio(epsilon), _ratio(delta))


def _is_canonical(value: str) -> bool:
    return json.dumps(json.loads(value)) == value


@lru_cache(maxsize=4096)
def _is_event(value: str) -> bool:
    """Whether this is null or a canonical string that holds an event; a nonsensical event is an error."""
    if value == "null":
        return True
    inside = value[1:-1].replace('\\"', '"')
    # With no other escape than that of a quotation mark, the string is spelled canonically.
    if "\\" in inside and not _is_canonical(value):
        return False
    event_from_json(json.loads(value) if "\\" in inside else inside)
    return True


@lru_cache(maxsize=4096)
def _place(steps: str) -> tuple[str, PartPath]:
    """Return the canonical text of a path without blanks, and the path."""
    path = json.loads(steps)
    if json.dumps(path) != steps:
        raise ValueError
    return json.dumps(path, separators=(",", ":")), _path(path)


@lru_cache(maxsize=4096)
def _ratio(amount: str) -> tuple[int, int]:
    numerator, _, denominator = amount.partition("/")
    return int(numerator), int(denominator or 1)
