"""What a hostile reviewer found in forms, pages and requests: each test failed before it was mended."""

import json
import logging
import socket
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
from fastapi.testclient import TestClient

from support.jobs import made
from support.pages import ASK, GUARD, send, sign_in
from support.served import served as served_at
from support.service import Running, made_up_table, running
from tacit.data import Flag, Number, Schema
from tacit.data.levels import Category
from tacit.service.running import worker
from tacit.service.settings import Limits

SESSION = {
    "parameters": {"epsilon": 0.5, "delta": 1e-6, "kernel": {"kind": "rbf", "value": {"gamma": 1.0}}, "landmarks": 10}
}


def test_the_first_pages_of_a_service_may_be_asked_for_at_once(tmp_path: Path) -> None:
    """Threads that all come first agree on one secret for forms."""
    with running(tmp_path) as served:
        (tmp_path / "pages.secret").unlink(missing_ok=True)

        def first(_: int) -> int:
            served.client.app.state.__dict__["_state"].pop("signing", None)  # type: ignore[attr-defined]
            return int(served.client.get("/").status_code)

        with ThreadPoolExecutor(8) as threads:
            assert set(threads.map(first, range(64))) == {200}
        assert [each.name for each in tmp_path.glob("pages.secret*")] == ["pages.secret"]


@pytest.mark.parametrize("charset", ["undefined", "utf-7", "unicode_escape"])
@pytest.mark.parametrize("place", ["/sign-in", "/epsilon", "/custodian/uploads"])
def test_a_form_in_other_letters_is_refused(shared: Running, place: str, charset: str) -> None:
    """An encoding that the parser cannot read made it fail, for anybody."""
    if place == "/custodian/uploads":
        sign_in(shared, "carol")
    field = b'--B\r\nContent-Disposition: form-data; name="guard"\r\n\r\n+2AA-\\U0000d800\r\n--B--\r\n'
    sent = {"Content-Type": f"multipart/form-data; boundary=B; charset={charset}"}
    assert shared.client.post(place, content=field, headers=sent).status_code == 400
    shared.client.cookies.clear()


@pytest.mark.parametrize("encoding", ["utf-16", "utf-16-le", "utf-32-be"])
def test_bodies_in_other_encodings_are_refused(shared: Running, encoding: str) -> None:
    """The parser guesses them, and would read other brackets and texts than were checked."""
    body = '{"name": "eve", "scope": "analyst", "datasets": ["clinic"]}'
    headers = {**shared.headers("carol"), "Content-Type": "application/json"}
    assert shared.client.post("/v1/tokens", content=body.encode(encoding), headers=headers).status_code == 400


def test_a_name_that_is_no_text_is_not_kept(served: Running) -> None:
    """Half a pair of surrogates as raw bytes: once among the tokens, nobody could list them any more."""
    body = b'{"name": "eve", "scope": "analyst", "datasets": ["\xed\xa0\x80"]}'
    headers = {**served.headers("carol"), "Content-Type": "application/json"}
    assert served.client.post("/v1/tokens", content=body, headers=headers).status_code == 400
    assert served.get("/v1/tokens", "carol").status_code == 200


def test_nobody_is_signed_in_by_another_site(shared: Running) -> None:
    """All who are not signed in have the same word in forms: a site that read it could send it with its own token."""
    shared.client.cookies.clear()
    guard = GUARD.search(shared.client.get("/").text)[1]  # type: ignore[index]
    fields = {"guard": guard, "token": shared.tokens["alice"]}
    for site in ("cross-site", "same-site"):
        sent = shared.client.post("/sign-in", data=fields, headers={"Sec-Fetch-Site": site}, follow_redirects=False)
        assert (sent.status_code, "set-cookie" in sent.headers) == (403, False)
    sent = shared.client.post("/sign-in", data=fields, headers={"Sec-Fetch-Site": "same-origin"})
    assert "clinic" in sent.text
    shared.client.cookies.clear()


@pytest.mark.parametrize("source", ["", "{", "[]", "[" * 50_000])
def test_a_register_form_without_a_source_is_refused(shared: Running, source: str) -> None:
    """The last step, with what no first step left in it."""
    sign_in(shared, "carol")
    assert send(shared, "/register", step="3", agreed="yes", source=source, schema="").status_code == 400
    shared.client.cookies.clear()


@pytest.mark.parametrize("fields", [{"part": "none"}, {"estimator": "x" * 65}])
def test_a_train_form_that_makes_no_sense_is_refused(shared: Running, fields: dict[str, str]) -> None:
    """Pricing a part or an estimator that there is not failed without a word."""
    sign_in(shared, "alice")
    told = send(shared, "/datasets/clinic/train", action="price", epsilon="0.1", **fields)
    assert (told.status_code, 'class="notice refused"' in told.text) == (400, True)
    shared.client.cookies.clear()


def test_a_form_that_grows_beyond_the_limit_is_refused(tmp_path: Path) -> None:
    """Sent in pieces, without a length: it ends as one that broke off, and nothing is kept."""
    with running(tmp_path, limits=Limits(upload=2**16)) as served:
        sign_in(served, "carol")
        start = b'--B\r\nContent-Disposition: form-data; name="file"; filename="a.csv"\r\n\r\n'
        sent = {"Content-Type": "multipart/form-data; boundary=B"}
        pieces = iter([start, *[b"x" * 2**14] * 10])
        assert served.client.post("/custodian/uploads", content=pieces, headers=sent).status_code == 404
        assert not served.settings.uploads.exists()


@pytest.mark.parametrize("route", ["/v1/jobs/%00", "/v1/models/a%00b", "/v1/sessions/%00", "/v1/history?dataset=%00"])
def test_a_name_that_no_database_takes_is_not_found(postgres: Running, route: str) -> None:
    """A zero byte made PostgreSQL refuse the query, and the service say that it was out of order."""
    assert postgres.get(route).status_code == 404


def test_a_model_that_no_database_takes_is_refused(postgres: Running) -> None:
    """The same in a body."""
    body = {"model": "\0", "epsilon": 0.1}
    assert postgres.post("/v1/datasets/clinic/reports", body).status_code == 422


@pytest.fixture
def postgres(tmp_path: Path, postgresql: Any, database: str) -> Iterator[Running]:
    """A service whose state is in PostgreSQL."""
    with running(tmp_path / "s", state=postgresql.address(database)) as found:
        yield found


def test_answers_on_pages_leave_at_public_steps_too(tmp_path: Path) -> None:
    """A question and a point that were sent by a form were answered as soon as their sums were there."""
    with running(tmp_path) as opened:
        session = made(opened, "sessions", SESSION)["session"]
    with running(tmp_path, padding=0.4) as served:
        sign_in(served, "alice")
        for place, fields in ((f"/sessions/{session}", {"point-age": "40"}), ("/datasets/clinic", {**ASK, "key": "k"})):
            guard = GUARD.search(served.client.get(place).text)[1]  # type: ignore[index]
            start = time.monotonic()
            told = served.client.post(place, data={"guard": guard, "action": "ask", **fields})
            lasted = time.monotonic() - start
            assert 'class="answer"' in told.text
            assert lasted >= 0.4


def test_whoever_is_signed_in_looks_at_pages_no_faster_than_others(tmp_path: Path) -> None:
    """The list of data sets looks into every account: it counts as a request of the token."""
    with running(tmp_path, limits=Limits(requests_per_minute=3)) as served:
        sign_in(served, "alice")
        statuses = [served.client.get("/").status_code for _ in range(5)]
        assert (statuses[0], statuses[-1]) == (200, 429)


def test_what_was_sent_is_in_no_log(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """The parser of forms quotes letters of what it cannot read: a worker lets it say nothing."""
    monkeypatch.setenv("TACIT_SERVICE_SETTINGS", json.dumps({"folder": str(tmp_path)}))
    log = logging.getLogger("tacit.service")
    before = log.handlers, log.propagate, log.level
    try:
        with TestClient(worker()) as client:
            sent = {"Content-Type": "multipart/form-data; boundary=B"}
            assert client.post("/sign-in", content=b"--Zebra", headers=sent).status_code == 400
    finally:
        log.handlers, log.propagate = before[:2]
        log.setLevel(before[2])
        logging.getLogger("python_multipart").setLevel(logging.NOTSET)
    assert not [record for record in caplog.records if record.name.startswith("python_multipart")]


BODY = b'{"queries": [{"mean": "age > 60"}], "epsilon": 0.1}'
HIDDEN = (
    b"POST /v1/datasets/clinic/queries HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer %s\r\nIdempotency-Key: h\r\n"
    + (b"Content-Type: application/json\r\nContent-Length: %d\r\n\r\n%s")
)
TRICKS = {
    "two lengths": b"Content-Length: 51\r\nContent-Length: 5\r\n\r\n" + BODY,
    "a length and pieces": b"Content-Length: 51\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\nHIDDEN",
    "a request behind": b"Content-Length: 0\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\nHIDDEN",
    "other pieces": b"Transfer-Encoding: xchunked\r\n\r\nHIDDEN",
    "a blank before the colon": b"Content-Length : 51\r\n\r\n" + BODY,
    "two callers": b"Authorization: Bearer x\r\nContent-Length: 51\r\n\r\n" + BODY,
    "two keys": b"Idempotency-Key: other\r\nContent-Length: 51\r\n\r\n" + BODY,
    "a sign": b"Content-Length: +51\r\n\r\n" + BODY,
    "a zero byte": b"X: a\x00b\r\nContent-Length: 51\r\n\r\n" + BODY,
    "a long header": b"X: " + b"y" * 200_000 + b"\r\n\r\n",
    "a negative piece": b"Transfer-Encoding: chunked\r\n\r\n-1\r\n" + BODY,
}


@pytest.mark.parametrize("trick", TRICKS)
def test_requests_that_can_be_read_in_two_ways_are_read_in_none(addressed: tuple[Running, str], trick: str) -> None:
    """Over a socket: 4xx, the connection is closed, nothing that hides in a body is asked, and nothing is charged."""
    found, url = addressed
    token = found.tokens["alice"].encode()
    start = HIDDEN.partition(b"Content-Length")[0] % token
    hidden = HIDDEN % (token, len(BODY), BODY)
    with socket.create_connection((str(urlsplit(url).hostname), urlsplit(url).port or 0), timeout=20) as connection:
        connection.sendall(start + TRICKS[trick].replace(b"HIDDEN", hidden))
        told = _read_to_end(connection)
    assert [line[9:10] for line in told.split(b"\r\n") if line.startswith(b"HTTP/")] == [b"4"]
    assert not found.service.datasets.get("clinic").account.spent


def _read_to_end(connection: socket.socket) -> bytes:
    """Read until the other side closes: it may do so before it has read all."""
    told = b""
    try:
        while piece := connection.recv(2**16):
            told += piece
    except ConnectionResetError:
        pass
    return told


@pytest.fixture(scope="module")
def addressed(shared: Running) -> Iterator[tuple[Running, str]]:
    """The shared service at an address."""
    with served_at(shared.client.app) as url:
        yield shared, url


def test_markup_in_every_name_is_text_on_every_page(tmp_path: Path) -> None:
    """Columns, levels, what is public, who signs, questions and kernels' points: shown as text wherever they are."""
    mark = "<script>alert(1)</script>"
    schema = Schema(
        {f"age{mark}": Number(0, 100), f"w{mark}": Category(["A", f"B{mark}"]), "ill": Flag()}, target="ill"
    )
    plain = made_up_table()
    wards = [f"B{mark}" if ward == "B" else "A" for ward in plain["ward"]]
    table = {f"age{mark}": plain["age"], f"w{mark}": wards, "ill": plain["ill"]}
    declared: dict[str, Any] = {"schema": schema, "key": None, "public": (f"all{mark}",), "signed_by": f"C{mark}"}
    with running(tmp_path, table=table, **declared) as served:
        question = f"column('w{mark}') == 'B{mark}'"
        body = {"queries": [{"mean": question}], "epsilon": 0.1}
        assert served.post("/v1/datasets/clinic/queries", body, key=f"k{mark}").status_code == 200
        session = made(served, "sessions", SESSION)["session"]
        weights = {"epsilon": 0.1, "class_weight": {"false": 0.5, "true": 1}}
        model = made(served, "fits", {"estimator": "PrivateLogisticRegression", "parameters": weights})["model"]
        sign_in(served, "alice")
        places = ["/", *(f"/datasets/clinic{each}" for each in ("", "/train", "/sessions", "/history"))]
        told = [served.client.get(place) for place in (*places, f"/sessions/{session}", f"/jobs/{model}")]
        ask = {**ASK, "question": question, "key": f"p{mark}"}
        told += [send(served, "/datasets/clinic", action=action, **ask) for action in ("price", "ask")]
        told.append(send(served, f"/sessions/{session}", **{f"point-age{mark}": mark}))
        sign_in(served, "carol")
        told.append(served.client.get("/custody"))
        told.append(send(served, "/register", step="2", source=f'{{"file": "{mark}"}}', schema=f"x{mark}"))
        told.append(send(served, "/custody/tokens", form_on="/custody", name=mark, scope="analyst"))
    assert all(mark not in each.text for each in told)
    assert sum("&lt;script&gt;" in each.text for each in told) >= 6
    assert {each.status_code for each in told} <= {200, 400, 404}
