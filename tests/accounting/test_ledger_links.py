"""Links are read fast if they stand in the ledger's own frame, and accepted exactly as if they were parsed."""

import hashlib
import json
import string
from typing import Any

import pytest
from dp_accounting import dp_event
from hypothesis import given
from hypothesis import strategies as st

from tacit.accounting import event_to_json
from tacit.accounting.links import _framed, _parsed, digest, read_link

HEAD = "0" * 64
EVENTS = [
    event_to_json(dp_event.LaplaceDpEvent(10.0)),
    event_to_json(dp_event.ComposedDpEvent([dp_event.GaussianDpEvent(3.5), dp_event.NoOpDpEvent()])),
]
CONTENT: dict[str, Any] = {
    "number": 7,
    "time": "2026-01-01T00:00:00.000000+00:00",
    "label": "a question",
    "path": [["halves", "left"]],
    "epsilon": "1/10",
    "delta": "0",
    "event": EVENTS[0],
    "parts": [],
    "fixed_by": None,
}


def _quick(text: Any, link: Any) -> Any:
    """Return what the fast way says; an error is a no."""
    try:
        return _framed(text, link, HEAD, 7)
    except Exception:
        return None


def _slow(text: Any, link: Any) -> Any:
    try:
        return _parsed(text, link, HEAD, 7)
    except Exception:
        return None


amounts = st.one_of(
    st.fractions(min_value=0, max_denominator=10**12).map(str),
    st.sampled_from(["0", "1", "2/10", "01", "1/0", "-1/5", "0/1", "1/01", "", "1.5", "1e3", " 1", "٣", "9" * 200]),
)
texts = st.one_of(
    st.text(string.printable, max_size=8), st.text(max_size=8), st.sampled_from(['a", "b', "\\", '"}', "x[/]", "é"])
)
contents = st.fixed_dictionaries(
    {
        "number": st.sampled_from([7, 7, 7, 8, 7.0, "7", True]),
        "time": texts,
        "label": texts,
        "path": st.one_of(st.just([]), st.lists(st.tuples(texts, texts).map(list), max_size=2), st.just([["a"]])),
        "epsilon": amounts,
        "delta": amounts,
        "event": st.sampled_from([*EVENTS, None, "", "{}", "null", '{"type":"LaplaceDpEvent"}']),
        "parts": st.sampled_from([[], [], ["a", "b"], [["a"]]]),
        "fixed_by": st.sampled_from([None, None, "key"]),
    }
)


@given(contents)
def test_both_ways_accept_the_same_contents(content: dict[str, Any]) -> None:
    """Whatever the fast way accepts, parsing accepts with the same sums; what it leaves is parsed."""
    text, link = json.dumps(content, sort_keys=True), digest(HEAD, content)
    slow, quick = _slow(text, link), _quick(text, link)
    assert read_link(text, link, HEAD, 7) == slow or quick is not None
    if quick is not None:
        assert slow is not None
        assert quick.path == slow.path
        assert quick.declares is slow.declares is None
        for one, other in ((quick.epsilon, slow.epsilon), (quick.delta, slow.delta)):
            assert one[0] * other[1] == other[0] * one[1]


@given(st.integers(0, len(json.dumps(CONTENT)) - 1), st.one_of(st.characters(), st.sampled_from('"\\ ,:{}[]0')))
def test_another_spelling_is_accepted_by_both_ways_or_neither(position: int, letter: str) -> None:
    """A letter changed, inserted or removed anywhere is accepted only if the parsed content has the hash."""
    text, link = json.dumps(CONTENT, sort_keys=True), digest(HEAD, CONTENT)
    for changed in (
        text[:position] + letter + text[position + 1 :],
        text[:position] + letter + text[position:],
        text[:position] + text[position + 1 :],
    ):
        for other in (link, hashlib.sha256(f'["{HEAD}",{changed}]'.encode("utf8", "replace")).hexdigest()):
            assert (_quick(changed, other) is None) or (_slow(changed, other) is not None)


def test_what_a_ledger_writes_is_read_fast() -> None:
    """The frame fits what is written: entries of all kinds of labels, paths and events."""
    for label in ("plain", "é 🏥", 'say "hi"', "a\\b", "x[/]", "a, b: {}"):
        for path in ([], [["halves", "left"]], [["é", 'a"b'], ["x", "y, z"]]):
            for event in [*EVENTS, None]:
                content = {**CONTENT, "label": label, "path": path, "event": event}
                assert _quick(json.dumps(content, sort_keys=True), digest(HEAD, content)) is not None


@pytest.mark.parametrize("text", [None, 5, b"{}", b"\xff", "", "null", "[" * 100_000])
def test_what_is_no_text_is_no_link(text: Any) -> None:
    """Anything that a database may hold in a text's place is refused without an error of Python's."""
    assert read_link(text, HEAD, HEAD, 7) is None
