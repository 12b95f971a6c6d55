"""Who may ask: tokens, their scopes and their ends."""

import re

import pytest

from support.service import Running
from tacit.errors import InvalidParameter
from tacit.service import tokens
from tacit.service.state import TOKEN


@pytest.mark.parametrize("route", ["/v1/me", "/v1/datasets", "/v1/datasets/clinic", "/v1/datasets/none"])
def test_without_a_token_nothing_is_told(shared: Running, route: str) -> None:
    """No token, a made-up one and one with a letter changed are refused alike, before it is looked what was asked."""
    good = shared.tokens["alice"]
    wrong = [good[:-1] + ("A" if good[-1] != "A" else "B"), "tacit_00000000_" + 43 * "A", "", "x" * 5000, "tacit_é"]
    answers = [shared.client.get(route)]
    answers += [shared.client.get(route, headers={"Authorization": f"Bearer {text}".encode()}) for text in wrong]
    assert {answer.status_code for answer in answers} == {401}
    assert len({answer.text for answer in answers}) == 1
    assert shared.get(route).status_code == (404 if route.endswith("none") else 200)


def test_a_token_is_kept_as_a_digest_and_told_once(served: Running) -> None:
    """Neither the state nor a list of tokens has a secret in it."""
    secrets = [text.split("_", 2)[2] for text in served.tokens.values()]
    with served.service.state.reading() as connection:
        kept = str(connection.execute(TOKEN.select()).all())
    assert re.search(r"[0-9a-f]{64}", kept)
    assert not any(secret in kept for secret in secrets)
    assert not any(secret in str(served.service.tokens.all()) for secret in secrets)


def test_a_token_that_ended_or_was_revoked_counts_for_nothing(served: Running, monkeypatch: pytest.MonkeyPatch) -> None:
    """From its last moment on, and from the moment of revoking on."""
    public, text = served.service.tokens.make("eve", "analyst", days=1)
    served.tokens["eve"] = text
    assert served.get("/v1/me", "eve").json()["name"] == "eve"
    served.service.tokens.revoke(public)
    assert served.get("/v1/me", "eve").status_code == 401
    assert served.get("/v1/me").status_code == 200
    monkeypatch.setattr(tokens, "now", lambda: "9999")
    assert served.get("/v1/me").status_code == 401


@pytest.mark.parametrize("name", ["", "<b>eve</b>", "e" * 65, "a\nb", "é", None, 3])
def test_an_owners_name_is_plain(shared: Running, name: object) -> None:
    """Names have no markup, no line ends and an end."""
    with pytest.raises(InvalidParameter, match="owner"):
        shared.service.tokens.make(name, "analyst")


@pytest.mark.parametrize(("scope", "days"), [("root", 1), ("analyst", 0), ("analyst", float("nan")), ("", 1)])
def test_scopes_and_days_are_checked(shared: Running, scope: str, days: float) -> None:
    """There are three scopes, and every token ends."""
    with pytest.raises(InvalidParameter):
        shared.service.tokens.make("eve", scope, days)


def test_a_token_for_some_data_sets_sees_no_other(served: Running) -> None:
    """What it is not for looks like what is not there."""
    served.tokens["eve"] = served.service.tokens.make("eve", "analyst", datasets=["other"])[1]
    assert served.get("/v1/datasets", "eve").json() == {"datasets": []}
    hidden, missing = (served.get(f"/v1/datasets/{name}", "eve") for name in ("clinic", "none"))
    assert hidden.status_code == missing.status_code == 404
    assert hidden.text == missing.text
