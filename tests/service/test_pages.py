"""Pages: signed in by a cookie, guarded forms, text that stays text, and nothing from anywhere else."""

import re

import pytest

from support.service import Running, running

GUARD = re.compile(r'name="guard" value="([0-9a-f]+)"')


@pytest.fixture
def clinic(tmp_path):
    """A service over a made-up table."""
    with running(tmp_path) as found:
        yield found


def sign_in(clinic: Running, who: str) -> None:
    """Sign in as a person would: by the form on the first page."""
    guard = GUARD.search(clinic.client.get("/").text)[1]
    answered = clinic.client.post(
        "/sign-in", data={"guard": guard, "token": clinic.tokens[who]}, follow_redirects=False
    )
    assert answered.status_code == 303


def send(clinic: Running, place: str, form_on: str | None = None, **fields: str):
    """Send a form with the guard of the page that it is on."""
    guard = GUARD.search(clinic.client.get(form_on or place).text)[1]
    return clinic.client.post(place, data={"guard": guard, **fields})


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
