"""Links are read fast if they stand in the ledger's own frame, and accepted exactly as if they were parsed."""

import hashlib
import json
import string
from fractions import Fraction
from typing import Any

import pytest
from dp_accounting import dp_event
from hypothesis import example, given
from hypothesis import strategies as st

from tacit.accounting import event_from_json, event_to_json
from tacit.accounting.links import _framed, _is_event, _parsed, digest, read_link

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
names = st.one_of(st.none(), texts, st.sampled_from(["alice", "", 3]))
standings = st.fixed_dictionaries(
    {
        "payer": names,
        "place": st.sampled_from([None, None, 1, 2, 0, -1, True, "1", 10**30]),
        "share": st.one_of(st.none(), amounts),
        "ticket": names,
    },
    optional={"more": st.just(1)},
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
    },
    optional={
        "standing": st.one_of(standings, st.none(), st.just({})),
        "ids": st.sampled_from(["patient", "", None, 3, ["patient"]]),
    },
)


@given(contents)
def test_both_ways_accept_the_same_contents(content: dict[str, Any]) -> None:
    """Whatever the fast way accepts, parsing accepts with the same sums; what it leaves is parsed."""
    text, link = json.dumps(content, sort_keys=True), digest(HEAD, content)
    slow, quick = _slow(text, link), _quick(text, link)
    assert read_link(text, link, HEAD, 7) == slow or quick is not None
    if quick is not None:
        assert slow is not None
        assert quick[0] == slow[0]
        assert quick[3] is slow[3] is None
        assert quick[4:] == slow[4:]
        assert [Fraction(amount) for amount in quick[1:3]] == [Fraction(amount) for amount in slow[1:3]]


NUMBERS = st.one_of(
    st.floats(0, 2).map(repr),
    st.integers(0, 10**19).map(str),
    st.sampled_from(
        ["01", "1.", ".5", "1e", "1_0", "-1", "-0.0", "1e400", "9" * 5000, "NaN", "Infinity", '"1"', "1E+2"]
    ),
    st.sampled_from(
        ["0.5 ", " 0.5", "0.5,0.5", "null", "true", "[1]", "1}", '1,"x":2', '1,"noise_multiplier":2', "1:2"]
    ),
)
FORMS = [
    '{{"noise_multiplier":{},"type":"LaplaceDpEvent"}}',
    '{{"delta":{},"epsilon":{},"type":"EpsilonDeltaDpEvent"}}',
    '{{"noise_parameter":{},"num_buckets":{},"type":"RandomizedResponseDpEvent"}}',
    '{{"noise_parameter":{},"sensitivity":{},"type":"DiscreteLaplaceDpEvent"}}',
    '{{"event":{{"noise_multiplier":{},"type":"GaussianDpEvent"}},"sample_size":{},"source_dataset_size":{},'
    '"type":"SampledWithoutReplacementDpEvent"}}',
    '{{"count":{},"event":{{"rho":{},"type":"ZCDpEvent","xi":{}}},"type":"SelfComposedDpEvent"}}',
    '{{"epsilon":{},"type":"a:{},"}}',
    '{{"sigma":{},"type":"LaplaceDpEvent"}}',
]


@given(st.sampled_from(FORMS), st.lists(NUMBERS, min_size=3, max_size=3), st.booleans())
@example(FORMS[2], ["1.0", "2", ""], False)
@example(FORMS[2], ["2.0", "2", ""], False)
@example(FORMS[4], ["1.0", "10", "5"], False)
@example(FORMS[4], ["1.0", "5", "10"], False)
@example(FORMS[3], ["0.5", "1.0", ""], False)
@example(FORMS[3], ["0.5", "1", ""], False)
@example(FORMS[1], ["1", "5", ""], False)
def test_numbers_of_events_are_read_as_in_the_whole_event(form: str, numbers: list[str], odd: bool) -> None:
    """What stands between numbers is read once; an event is accepted exactly if reading the whole accepts it."""
    text = form.format(*numbers)
    value = json.dumps(text)
    value = value.replace("a", "\\u0061", 1) if odd else value
    try:
        event_from_json(text)
        sense = not odd or "a" not in text
    except Exception:
        sense = False
    try:
        found = _is_event(value)
    except Exception:
        found = False
    assert found == sense


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


STANDING = {"payer": "alice", "place": 2, "share": "1/2", "ticket": "t"}


@pytest.mark.parametrize(
    ("changes", "means"),
    [
        ({}, ("alice", ("t", 2))),
        ({"share": None}, ("alice", ("t", 2))),
        ({"payer": None}, (None, ("t", 2))),
        ({"payer": 'a"\\é\u2028'}, ('a"\\é\u2028', ("t", 2))),
        ({"place": None, "ticket": None}, ("alice", None)),
        ({"place": None}, None),
        ({"ticket": None}, None),
        ({"place": 0}, None),
        ({"place": True}, None),
        ({"share": "0"}, None),
        ({"share": "-1"}, None),
        ({"payer": ""}, None),
        ({"payer": ["alice"]}, None),
        ({"more": 1}, None),
    ],
)
def test_who_stands_for_a_charge_is_read_in_both_ways(changes: dict[str, Any], means: Any) -> None:
    """Payer and place of a ticket, spelled in any letters; what makes no sense is damage, whatever its hash."""
    content = {**CONTENT, "standing": {**STANDING, **changes}}
    text, link = json.dumps(content, sort_keys=True), digest(HEAD, content)
    found = read_link(text, link, HEAD, 7)
    assert (None if found is None else found[4:6]) == means
    assert found == _slow(text, link)
    if means is not None:
        assert _quick(text, link) == found
    assert read_link(text.replace("alice", "malice"), link, HEAD, 7) is None or "alice" not in text


@pytest.mark.parametrize(("ids", "means"), [("patient", "patient"), ("", None), (None, None), (3, None), (["a"], None)])
def test_the_column_of_ids_that_an_entry_fixes_is_read(ids: Any, means: Any) -> None:
    """It is a text; what is none is damage, whatever its hash, and the entry is never taken for one that fixes none."""
    content = {**CONTENT, "ids": ids}
    text, link = json.dumps(content, sort_keys=True), digest(HEAD, content)
    found = read_link(text, link, HEAD, 7)
    assert (None if found is None else found[6]) == means
    assert _quick(text, link) is None
