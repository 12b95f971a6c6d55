"""Reading one link of an account's history: the text of an entry, and what of it the sums need.

A link is verified by the hash of its content, written in one canonical way, behind the hash before it. Nearly every
text is the one that a ledger writes itself: a fixed frame around nine JSON values, and four more if it says who stands
for the charge. Such a text is taken apart by one pattern, and if each value is spelled canonically, then so is the
whole, and its hash is that of the same pieces in a frame without blanks. Any other text is parsed and written again;
both ways accept the same texts (ledger.md).
"""

import json
import re
from collections.abc import Callable, Mapping
from fractions import Fraction
from functools import lru_cache
from hashlib import sha256
from typing import Any

from tacit.accounting.events import MORE_ASKED, event_from_json, number_limits
from tacit.accounting.tickets import Place
from tacit.errors import TacitError

PartPath = tuple[tuple[str, str], ...]
"""Where an entry belongs: ((partition, part), ...) from the outside in; () is the account itself."""


_NONSENSE = (ValueError, KeyError, TypeError, ZeroDivisionError, OverflowError, RecursionError, TacitError)


Declared = tuple[str, tuple[str, ...], str]
"""A partition: its name, its parts, and what fixes them."""
Link = tuple[PartPath, str, str, Declared | None, str | None, Place | None, str | None]
"""What a verified link says: where it belongs, its epsilon and delta as fractions, what it declares if anything, who
paid, and the place of its ticket, where somebody or something did, and the column of ids that it fixes for good."""


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
    payer, place = _standing(content["standing"]) if "standing" in content else (None, None)
    ids = content.get("ids")
    if "ids" in content and not (type(ids) is str and ids):
        return None
    return _path(content["path"]), str(epsilon), str(delta), declares, payer, place, ids


def _standing(said: Any) -> tuple[str | None, Place | None]:
    """Return the payer and the place of a ticket; texts, a share above 0 and a number from 1 on, or nothing."""
    payer, number, share, ticket = (said[name] for name in _STANDING)
    if len(said) != len(_STANDING) or (ticket is None) != (number is None):
        raise ValueError
    if any(type(text) not in (str, type(None)) for text in (payer, share, ticket)) or "" in (payer, ticket):
        raise ValueError
    if share is not None and not Fraction(share) > 0:
        raise ValueError
    if number is not None and not (type(number) is int and number > 0):
        raise ValueError
    return payer, None if ticket is None or number is None else (ticket, number)


_STANDING = ("payer", "place", "share", "ticket")


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
    rf'(?:"standing": \{{"payer": (null|{_STRING}), "place": (null|[1-9][0-9]{{0,99}}), '
    rf'"share": (null|"[1-9][0-9]{{0,99}}(?:/[1-9][0-9]{{0,99}})?"), "ticket": (null|{_STRING})\}}, )?'
    rf'"time": ("{_PLAIN}")\}}'
)


def _framed(text: Any, link: object, head: str, number: int) -> Link | None:
    """Read a text that stands in the ledger's own frame with canonical values; of any other return None."""
    match = _FRAME.fullmatch(text) if type(text) is str else None
    if match is None:
        return None
    delta, epsilon, event, label, count, steps, payer, place, share, ticket, time = match.groups()
    if count != str(number) or not _is_event(event) or ("\\" in label and not _is_canonical(label)):
        return None
    short, path = _place(steps)
    said = None if payer is None else _said(payer, place, ticket)
    standing = (
        "" if said is None else f'"standing":{{"payer":{payer},"place":{place},"share":{share},"ticket":{ticket}}},'
    )
    hashed = (
        f'["{head}",{{"delta":"{delta}","epsilon":"{epsilon}","event":{event},"fixed_by":null,'
        f'"label":{label},"number":{count},"parts":[],"path":{short},{standing}"time":{time}}}]'
    )
    if sha256(hashed.encode("ascii")).hexdigest() != link:
        return None
    return path, epsilon, delta, None, *(said or (None, None)), None


def _said(payer: str, place: str, ticket: str) -> tuple[str | None, Place | None]:
    """Return the payer and the place that canonical texts say; texts that are not are an error, and parsed."""
    if any("\\" in text and not _is_canonical(text) for text in (payer, ticket)):
        raise ValueError
    return _standing(dict(zip(_STANDING, (*map(json.loads, (payer, place)), None, json.loads(ticket)), strict=True)))


def _is_canonical(value: str) -> bool:
    return json.dumps(json.loads(value)) == value


@lru_cache(maxsize=4096)
def _is_event(value: str) -> bool:
    """Whether this is null or a canonical string that holds an event; a nonsensical event is an error."""
    if value == "null":
        return True
    pieces = _NUMBERS.split(value)
    limits = _limits(tuple(pieces[::2]))
    # Events differ in their numbers, if at all: what stands between them is read once.
    for number, (low, high, read) in zip(pieces[1::2], limits or (), strict=False):
        if not low <= read(number) <= high:
            break
    else:
        if limits is not None:
            return True
    if not _is_canonical(value):
        return False
    event_from_json(json.loads(value))
    return True


_NUMBERS = re.compile(r'\\":((?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][-+]?[0-9]+)?)(?=[,}])')


@lru_cache(maxsize=4096)
def _limits(pieces: tuple[str, ...]) -> tuple[tuple[float, float, Callable[[str], float]], ...] | None:
    """Return the limits that numbers must keep for a canonical string with these pieces to hold an event.

    None if no numbers do, or if more is asked of them: then the whole is read.
    """
    try:
        found = [number_limits(piece.rpartition('"')[2]) for piece in pieces[:-1]]
        limits = tuple((low, high, int if whole else float) for low, high, whole in found)
        ends = [f'\\":{read(high)!r}' for _, high, read in limits]
        sample = "".join(piece + end for piece, end in zip(pieces, [*ends, ""], strict=True))
        event_from_json(json.loads(sample))
    except _NONSENSE:
        return None
    return limits if _is_canonical(sample) and not any(kind in sample for kind in MORE_ASKED) else None


@lru_cache(maxsize=4096)
def _place(steps: str) -> tuple[str, PartPath]:
    """Return the canonical text of a path without blanks, and the path."""
    path = json.loads(steps)
    if json.dumps(path) != steps:
        raise ValueError
    return json.dumps(path, separators=(",", ":")), _path(path)
