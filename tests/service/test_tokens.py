"""Who may ask: tokens, their scopes and their ends."""

import re

import pytest

from support.service import Running
from tacit.accounting.ledger import Ledger
from tacit.errors import InvalidParameter, LedgerBusy
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


def test_who_made_and_who_ended_a_token_is_in_the_chain_of_its_accounts(served: Running) -> None:
    """Id, owner, scope and by whom, never the secret; a token for other data sets leaves no line here."""
    account = served.service.datasets.get("clinic").account

    def lines() -> list[str]:
        return [entry.label for entry in account.entries() if entry.label.startswith("token")]

    before = len(lines())
    made = served.post("/v1/tokens", {"name": "erin", "scope": "auditor", "datasets": ["clinic"]}, "carol").json()
    elsewhere = served.post("/v1/tokens", {"name": "erin", "scope": "analyst", "datasets": ["other"]}, "carol").json()
    assert served.delete(f"/v1/tokens/{made['id']}", "carol").status_code == 200
    assert served.delete(f"/v1/tokens/{elsewhere['id']}", "carol").status_code == 200
    first, last = lines()[before:]
    assert first.startswith(f"token {made['id']} made by 'carol' for 'erin': auditor")
    assert last == f"token {made['id']} of 'erin' revoked by 'carol'"
    assert made["token"].split("_", 2)[2] not in "".join(lines())
    everywhere = served.post("/v1/tokens", {"name": "erin", "scope": "analyst"}, "carol").json()["id"]
    assert lines()[-1].startswith(f"token {everywhere} ")
    assert "all data sets" in lines()[-1]
    head = served.service.datasets.witness.last(account.name)
    assert head is not None
    assert head[1] == account.head


def test_a_token_that_cannot_be_noted_is_not_made(served: Running, monkeypatch: pytest.MonkeyPatch) -> None:
    """And one that is revoked is ended, noted or not; revoking it once more writes the note."""
    made = served.post("/v1/tokens", {"name": "erin", "scope": "analyst"}, "carol").json()
    count = len(served.service.tokens.all())

    def busy(*_: object) -> None:
        raise LedgerBusy("somebody else writes")

    usual = Ledger.note
    monkeypatch.setattr(Ledger, "note", busy)
    refused = served.post("/v1/tokens", {"name": "frank", "scope": "analyst"}, "carol")
    assert (refused.status_code, len(served.service.tokens.all())) == (503, count)
    assert served.delete(f"/v1/tokens/{made['id']}", "carol").status_code == 503
    served.tokens["erin"] = made["token"]
    assert served.get("/v1/me", "erin").status_code == 401
    ended = next(each["revoked"] for each in served.service.tokens.all() if each["id"] == made["id"])
    monkeypatch.setattr(Ledger, "note", usual)
    assert served.delete(f"/v1/tokens/{made['id']}", "carol").status_code == 200
    assert next(each["revoked"] for each in served.service.tokens.all() if each["id"] == made["id"]) == ended
    last = served.service.datasets.get("clinic").account.entries()[-1]
    assert last.label == f"token {made['id']} of 'erin' revoked by 'carol'"
    assert served.delete("/v1/tokens/00000000", "carol").status_code == 404
