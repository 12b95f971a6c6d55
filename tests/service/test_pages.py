"""Pages: signed in by a cookie, guarded forms, text that stays text, and nothing from anywhere else."""

import ast
import html
import re
import time

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from support.pages import ASK, GUARD, field, send, sign_in
from support.service import Running, running
from tacit import Schema, load
from tacit.accounting.ledger import Ledger
from tacit.data import Category, Flag
from tacit.errors import LedgerMissing
from tacit.sums.language.text import function_of, written


@pytest.fixture
def clinic(tmp_path):
    """A service over a made-up table."""
    with running(tmp_path) as found:
        yield found


def test_signing_in_keeps_the_token_from_scripts_and_other_sites(clinic):
    """The cookie is HttpOnly and SameSite=Strict, and Secure behind TLS; a token of nobody gets none."""
    guard = GUARD.search(clinic.client.get("/").text)[1]
    fields = {"guard": guard, "token": clinic.tokens["alice"]}
    for headers, secure in (({}, False), ({"X-Forwarded-Proto": "https"}, True)):
        answered = clinic.client.post("/sign-in", data=fields, headers=headers, follow_redirects=False)
        cookie = answered.headers["set-cookie"].lower()
        assert "httponly" in cookie
        assert "samesite=strict" in cookie
        assert ("secure" in cookie) == secure
        clinic.client.cookies.clear()
    wrong = clinic.client.post("/sign-in", data={"guard": guard, "token": "tacit_00000000_" + "a" * 43})
    assert (wrong.status_code, "set-cookie" in wrong.headers) == (401, False)


def test_whoever_is_signed_in_sees_their_data_sets(clinic):
    """The first page asks for a token, and then lists what the token is for; signing out forgets it."""
    assert "clinic" not in clinic.client.get("/").text
    sign_in(clinic, "alice")
    assert "clinic" in clinic.client.get("/").text
    send(clinic, "/sign-out", "/")
    assert "clinic" not in clinic.client.get("/").text


def test_whoever_has_a_share_sees_it_on_every_page(clinic):
    """Bob, who may spend half, sees his half and what he spent of it, wherever the budget is drawn."""
    sign_in(clinic, "bob")
    for place in ("/", "/datasets/clinic", "/datasets/clinic/train", "/datasets/clinic/sessions"):
        answered = clinic.client.get(place)
        assert answered.status_code == 200, place
        assert "Yours is 1/2 of the budget, of which epsilon=0, delta=0 is spent." in answered.text, place


def test_the_mean_of_a_column_lies_between_its_declared_bounds_unless_others_are_given(clinic):
    """A person who asks for `age` and leaves the range empty pays for the mean age, not for that of ages cut at 1."""
    sign_in(clinic, "alice")
    blank = {**ASK, "question": "age", "epsilon": "1", "low": "", "high": ""}
    told = send(clinic, "/datasets/clinic", action="ask", key="mean", **blank).text
    assert 40 < float(re.search(r'class="answer">([\d.]+)', told)[1]) < 60
    cut = send(clinic, "/datasets/clinic", action="ask", key="cut", **{**blank, "high": "10"}).text
    assert float(re.search(r'class="answer">([\d.]+)', cut)[1]) < 11


def test_a_page_that_looks_again_is_reached_without_a_place_on_it(clinic):
    """A browser keeps a form's #place through a redirect, and then never loads the page anew: training has none."""
    sign_in(clinic, "alice")
    for place in ("/datasets/clinic/train", "/datasets/clinic/sessions"):
        assert not re.search(r'action="[^"]*#', clinic.client.get(place).text)


def test_what_cannot_be_asked_about_is_not_listed(clinic):
    """An id is a declared column that no question may name; numbers that are none are told by their field."""
    sign_in(clinic, "alice")
    assert "<code>id</code>" not in clinic.client.get("/datasets/clinic").text
    refused = send(clinic, "/datasets/clinic", action="price", **{**ASK, "epsilon": "inf"})
    assert (refused.status_code, "epsilon must be a number" in refused.text) == (400, True)


def test_a_form_from_elsewhere_does_nothing(clinic):
    """Without the guard, with another's, or with that of somebody else: refused, and nobody is signed in."""
    for guard in (None, "", "0" * 64):
        fields = {"token": clinic.tokens["alice"]} | ({} if guard is None else {"guard": guard})
        assert clinic.client.post("/sign-in", data=fields).status_code == 403
    theirs = GUARD.search(clinic.client.get("/").text)[1]
    sign_in(clinic, "alice")
    assert clinic.client.post("/sign-out", data={"guard": theirs}).status_code == 403
    assert "clinic" in clinic.client.get("/").text


@pytest.mark.parametrize("place", ["/", "/epsilon"])
def test_a_page_can_load_and_run_nothing(clinic, place):
    """The policy names this site's style alone; there is no script, no style in the page and no address elsewhere."""
    answered = clinic.client.get(place)
    assert answered.headers["content-security-policy"].startswith("default-src 'none'; style-src 'self';")
    assert answered.headers["cache-control"] == "no-store"
    assert not re.search(r"<script|\son[a-z]+=|\sstyle=|<style|https?://", answered.text)


def test_bobs_game_is_played_fair(clinic):
    """A mark counts for its own round: one that is changed, or for another epsilon, begins a new game."""
    text = clinic.client.get("/epsilon?epsilon=8").text
    ticket = re.search(r'name="game" value="([^"]+)"', text)[1]
    played = send(clinic, "/epsilon", epsilon="8", game=ticket, guess="yes").text
    assert "Round 2" in played
    assert re.search("Right|Wrong", played)
    number, _, name, mark = ticket.split(".")
    for forged in (f"{number}.1.{name}.{mark}", f"9.8.{name}.{mark}", "1.0.x.y", "", "a.b.c.d", "1.0"):
        assert "Round 1" in send(clinic, "/epsilon", epsilon="8", game=forged, guess="yes").text
    assert "Round 1" in send(clinic, "/epsilon", epsilon="4", game=ticket, guess="yes").text


@pytest.mark.parametrize("epsilon", ["0", "-1", "nan", "inf", "1e9", "x", "<b>"])
def test_an_epsilon_that_makes_no_sense_is_refused_on_a_page(clinic, epsilon):
    """A page with status 400 that says what is wanted, and shows nothing of what was sent as anything but text."""
    answered = clinic.client.get("/epsilon", params={"epsilon": epsilon})
    assert (answered.status_code, "<b>" in answered.text) == (400, False)
    assert answered.headers["content-type"].startswith("text/html")


def test_a_question_is_priced_and_then_answered_once(clinic):
    """The price charges nothing; the answer is charged; the same form sent again gets the same answer for nothing."""
    sign_in(clinic, "alice")
    key = field(clinic.client.get("/datasets/clinic").text, "key")
    spent = clinic.service.datasets.get("clinic").account
    priced = send(clinic, "/datasets/clinic", action="price", key=key, **ASK).text
    assert "epsilon=0.2" in priced
    assert not spent.spent
    answers = [send(clinic, "/datasets/clinic", action="ask", key=key, **ASK).text for _ in range(2)]
    found = [re.search(r'class="answer">([-\d.e]+)', text)[1] for text in answers]
    assert found[0] == found[1]
    assert spent.spent.epsilon == 0.2


def test_a_charge_that_nobody_could_confirm_is_told_as_not_known(clinic, monkeypatch):
    """The account went away while it charged: neither charged nor uncharged is told, and the same again is answered."""
    really, entry_of, opened, away = Ledger._charged, Ledger.entry_of, Ledger.open, []

    def charged(*what):
        entry = really(*what)
        if not away:
            away.append(True)
            raise LedgerMissing("the server closed the connection")
        return entry

    def unless_away(call):
        def asked(*what, **how):
            if away == [True]:
                raise LedgerMissing("no server")
            return call(*what, **how)

        return asked

    monkeypatch.setattr(Ledger, "_charged", charged)
    monkeypatch.setattr(Ledger, "entry_of", unless_away(entry_of))
    sign_in(clinic, "alice")
    key = field(clinic.client.get("/datasets/clinic").text, "key")
    told = send(clinic, "/datasets/clinic", action="ask", key=key, **ASK)
    assert told.status_code == 503
    assert "not known whether it was charged" in told.text
    assert "Nothing was charged" not in told.text
    (line,) = clinic.get("/v1/history").json()["requests"]
    assert (line["state"], line["charged"]) == ("begun", None)
    body = {"queries": [{"mean": "age > 61"}], "epsilon": 0.1}
    away.clear()
    first = clinic.post("/v1/datasets/clinic/queries", body, key="one")
    monkeypatch.setattr(Ledger, "open", unless_away(opened))
    clinic.service.datasets._open.clear()
    again, new = (clinic.post("/v1/datasets/clinic/queries", body, key=each) for each in ("one", "two"))
    assert [each.json()["error"]["charged"] for each in (first, again, new)] == [None] * 3
    # A form that comes again while its page cannot be made tells nothing that it cannot know.
    told = send(clinic, "/datasets/clinic", action="ask", key=key, **ASK)
    assert (told.status_code, "Nothing was charged" in told.text) == (503, False)
    away.append(False)
    assert 'class="answer"' in send(clinic, "/datasets/clinic", action="ask", key=key, **ASK).text
    assert clinic.service.datasets.get("clinic").account.spent.epsilon == pytest.approx(0.3)


def test_a_question_that_is_none_is_refused_on_its_own_page(clinic):
    """What was written is still in the form, as text; nothing is charged."""
    sign_in(clinic, "alice")
    for key, question in enumerate(("age >", "nobody > 3", "<script>alert(1)</script>", "__import__('os')", "'\"><b>")):
        told = send(clinic, "/datasets/clinic", action="ask", key=f"k{key}", **{**ASK, "question": question})
        assert told.status_code == 400, question
        assert "Nothing was charged" in told.text
        assert "<script" not in told.text
        assert "<b>" not in told.text
    assert not clinic.service.datasets.get("clinic").account.spent


NAMES = [
    "class",
    "from",
    "in",
    "is",
    "not",
    "True",
    "None",
    "lambda",
    "a b",
    "it's",
    'a"b',
    "ª",
    "ﬁ",
    "x\\y",
    "column",
    "[]",
]


def test_columns_of_any_name_are_in_examples_scripts_and_histograms(tmp_path):
    """What a page offers is a question and a script that can be read, whatever letters columns and levels have."""
    draw = np.random.default_rng(0)
    for place, names in enumerate((NAMES, NAMES[::-1])):
        levels = ["it's", 'so "b"']
        columns = {name: Category(levels) for name in names}
        table = {name: draw.choice(levels, 100) for name in names} | {"y": draw.random(100) < 0.5}
        schema = Schema({**columns, "y": Flag()}, target="y")
        with running(tmp_path / str(place), table=table, schema=schema, key=None, shares={}) as found:
            sign_in(found, "alice")
            shown = html.unescape(found.client.get("/datasets/clinic").text)
            script = ast.parse(re.search(r"(from tacit import Client.*?)</pre>", shown, re.DOTALL)[1])
            calls = [each for each in ast.walk(script) if isinstance(each, ast.Call)]
            (example,) = (each.args[0].value for each in calls if ast.unparse(each.func) == "StatisticalQuery")
            ask = {**ASK, "action": "price"}
            assert send(found, "/datasets/clinic", **{**ask, "question": example}).status_code == 200, example
            for name in names if not place else ():
                told = send(found, "/datasets/clinic", **{**ask, "kind": "histogram", "question": name})
                assert told.status_code == 200, name


@given(st.text(min_size=1))
def test_a_name_is_written_so_that_it_is_read(name):
    """Keywords, constants, names that Python spells otherwise, quotes: what is read is this name, and nothing else."""
    read = []

    class Table:
        def __getitem__(self, name):
            read.append(name)

    function_of(written(name))(Table())
    assert read == [name]


def test_a_budget_that_is_spent_says_so(clinic):
    """402, in words, and nothing more is charged."""
    sign_in(clinic, "alice")
    assert send(clinic, "/datasets/clinic", action="ask", key="1", **{**ASK, "epsilon": "4"}).status_code == 200
    told = send(clinic, "/datasets/clinic", action="ask", key="2", **ASK)
    assert told.status_code == 402
    assert "does not fit" in told.text


def test_custodians_look_and_do_not_ask(clinic):
    """A page may be read; asking is for analysts."""
    sign_in(clinic, "carol")
    assert clinic.client.get("/datasets/clinic").status_code == 200
    assert send(clinic, "/datasets/clinic", action="ask", key="k", **ASK).status_code == 403


def wait_for(clinic: Running, place: str):
    """Look at a job's page until it is over, as a browser does that is told to look again."""
    for _ in range(400):
        text = clinic.client.get(place).text
        if "http-equiv" not in text:
            return text
        time.sleep(0.05)
    raise AssertionError(text)


def test_a_model_is_trained_fetched_read_and_scored(clinic, tmp_path):
    """Everything by forms: the file loads as an estimator, its page and card are there, its scores have ranges."""
    sign_in(clinic, "alice")
    fit = {"estimator": "PrivateLogisticRegression", "epsilon": "1", "delta": "0", "part": "train"}
    made = send(clinic, "/datasets/clinic/train", action="train", key="fit", **fit)
    page = wait_for(clinic, made.url.path)
    model = re.search(r"/models/([0-9a-f]+)/file", page)[1]
    path = tmp_path / "m.tacit"
    path.write_bytes(clinic.client.get(f"/models/{model}/file").content)
    assert load(path).release_.private
    assert "What was learned" in clinic.client.get(f"/models/{model}/report").text
    assert clinic.client.get(f"/models/{model}/card").json()
    scored = send(clinic, f"/models/{model}/score", made.url.path, key="score", epsilon="1", part="test")
    # So few patients have any area, none and all included.
    assert re.search(r"auc</th>\s*<td class=\"number\">[01](\.\d+)?<", wait_for(clinic, scored.url.path))
    clinic.client.cookies.clear()
    sign_in(clinic, "bob")
    for place in (f"/models/{model}/file", f"/models/{model}/card", f"/models/{model}/report", made.url.path):
        assert clinic.client.get(place).status_code == 404


def test_a_model_that_stays_answers_points_on_a_page(clinic):
    """The same point gets the same answer, and other people's sessions are not there."""
    sign_in(clinic, "alice")
    opened = {"epsilon": "1", "delta": "1e-6", "kernel": "rbf", "part": "all"}
    made = send(clinic, "/datasets/clinic/sessions", key="open", **opened)
    session = re.search(r"/sessions/([0-9a-f]+)", wait_for(clinic, made.url.path))[1]
    point = {"point-age": "61", "point-ward": "B", "point-smoker": "yes", "point-admitted": "2020-03-01"}
    answers = [send(clinic, f"/sessions/{session}", **point).text for _ in range(2)]
    found = [re.search(r'class="answer">([-\d.e]+)', text)[1] for text in answers]
    assert found[0] == found[1]
    assert send(clinic, f"/sessions/{session}", **{**point, "point-age": "old"}).status_code == 400
    clinic.client.cookies.clear()
    sign_in(clinic, "bob")
    assert clinic.client.get(f"/sessions/{session}").status_code == 404
