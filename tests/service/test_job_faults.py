"""Workers that are killed at the worst moments: one charge a job, one answer a point, whatever happens."""

import random
import sqlite3
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import httpx
import pytest

import tacit
from support.jobs import FIT, POINTS, SESSION, made
from support.nursery import Nursery, Server, nursery
from support.service import running
from support.statistical import sample_size
from tacit import Ledger
from tacit.budget import Budget

PATIENCE = 60.0


@pytest.fixture(scope="module")
def born() -> Iterator[Nursery]:
    """Give a place where servers come from."""
    with nursery() as found:
        yield found


def _registered(folder: Path, *, session: bool = False) -> tuple[str, str]:
    """Register the clinic, perhaps with a session; return alice's token, and the session."""
    with running(folder, budget=Budget(100.0, 1e-3)) as served:
        return served.tokens["alice"], made(served, "sessions", SESSION)["session"] if session else ""


def _ended(server: Server, token: str, job: str) -> dict[str, Any]:
    until = time.monotonic() + PATIENCE
    while True:
        found: dict[str, Any] = server.ask("GET", f"/v1/jobs/{job}", token).json()["job"]
        if found["state"] not in ("waiting", "running"):
            return found
        assert time.monotonic() < until, found
        time.sleep(0.05)


def _spends(folder: Path) -> list[Any]:
    ledger = Ledger.open(folder / "ledgers" / "clinic.db", name="clinic")
    return [entry for entry in ledger.entries() if entry.event is not None]


WINDOWS = {
    "before the charge": "before tacit.accounting.ledger:Ledger._charged",
    "after the charge": "after tacit.accounting.ledger:Ledger._charged",
    "after the draw": "before tacit.service.jobs.fits:file_of",
    "before it is kept": "before tacit.service.jobs.table:Jobs.keep",
    "after it is kept": "after tacit.service.jobs.table:Jobs.keep",
    "before it is done": "before tacit.service.jobs.table:Jobs.finish",
}


@pytest.mark.parametrize("window", WINDOWS)
def test_a_killed_worker_s_job_is_done_once(window: str, born: Nursery, tmp_path: Path) -> None:
    """Wherever its worker is killed, a job is charged once, done by the next worker, and the same under a retry."""
    token, _ = _registered(tmp_path)
    first = born.server(tmp_path, die=[WINDOWS[window]])
    with suppress(httpx.TransportError):
        first.ask("POST", "/v1/datasets/clinic/fits", token, FIT, "key")
    first.gone()
    second = born.server(tmp_path)
    job = second.ask("POST", "/v1/datasets/clinic/fits", token, FIT, "key").json()["job"]
    ended = _ended(second, token, job["id"])
    assert (ended["state"], ended["charged"]) == ("done", True), ended
    (spend,) = _spends(tmp_path)
    assert spend.number == ended["entry"] == ended["result"]["entry"]
    path = tmp_path / "model.tacit"
    path.write_bytes(second.ask("GET", f"/v1/models/{job['id']}", token).content)
    assert tacit.load(path).release_.entry.number == spend.number
    again = second.ask("POST", "/v1/datasets/clinic/fits", token, FIT, "key").json()["job"]
    assert again["result"] == ended["result"]


def test_a_state_from_before_draws_nothing_again(born: Nursery, tmp_path: Path) -> None:
    """If the state is put back from before a job was done, its ticket is closed: it fails and gives nothing."""
    token, _ = _registered(tmp_path)
    first = born.server(tmp_path, die=["before tacit.service.jobs.table:Jobs.keep"])
    job = first.ask("POST", "/v1/datasets/clinic/fits", token, FIT, "key").json()["job"]
    first.gone()
    _copied(tmp_path / "state.db", tmp_path / "older.db")
    second = born.server(tmp_path)
    assert _ended(second, token, job["id"])["state"] == "done"
    second.kill()
    _copied(tmp_path / "older.db", tmp_path / "state.db")
    third = born.server(tmp_path)
    ended = _ended(third, token, job["id"])
    assert (ended["state"], ended["charged"], ended["result"]) == ("failed", True, None)
    assert len(_spends(tmp_path)) == 1


def _copied(source: Path, target: Path) -> None:
    """Copy a database as a backup does, and a backup back."""
    for name in (f"{target}-wal", f"{target}-shm", str(target)):
        Path(name).unlink(missing_ok=True)
    one, other = sqlite3.connect(source), sqlite3.connect(target)
    one.backup(other)
    one.close()
    other.close()


def _kept(folder: Path) -> list[bytes]:
    (path,) = (folder / "sessions").glob("*/answers.db")
    connection = sqlite3.connect(path)
    rows = connection.execute("SELECT numbers FROM answers ORDER BY place").fetchall()
    connection.close()
    return [numbers for (numbers,) in rows]


@pytest.mark.parametrize(
    ("place", "kept"),
    [
        ("before tacit.kernels.interactive.state_file:FileTurn.keep", 0),
        ("after tacit.kernels.interactive.state_file:FileTurn.keep", 3),
        ("before tacit.accounting.witness:FileWitness.append", 3),
        ("after tacit.accounting.witness:FileWitness.append", 3),
    ],
)
def test_a_worker_killed_while_it_answers_leaves_one_answer(
    place: str, kept: int, born: Nursery, tmp_path: Path
) -> None:
    """What was kept is what is answered later, and what was drawn and not kept nobody ever sees."""
    token, session = _registered(tmp_path, session=True)
    first, route = born.server(tmp_path, die=[place]), f"/v1/sessions/{session}/answers"
    with pytest.raises(httpx.TransportError):
        first.ask("POST", route, token, {"points": POINTS[:3]})
    first.gone()
    before = _kept(tmp_path)
    assert len(before) == kept
    second = born.server(tmp_path)
    found = second.ask("POST", route, token, {"points": POINTS[:3]}).json()
    assert _kept(tmp_path)[:kept] == before
    assert len(_kept(tmp_path)) == 3
    assert second.ask("POST", route, token, {"points": POINTS[:3]}).json()["values"] == found["values"]
    assert len(_spends(tmp_path)) == 1


def test_no_answer_changes_under_kills_at_random_moments(born: Nursery, tmp_path: Path) -> None:
    """Two workers answer and fit, one of them is killed again and again: answers agree, and charges are single."""
    token, session = _registered(tmp_path, session=True)
    route, kills = f"/v1/sessions/{session}/answers", sample_size(8)
    random.seed(kills)
    servers, seen = [born.server(tmp_path), born.server(tmp_path)], {}
    jobs: set[str] = set()
    for kill in range(kills):
        until = time.monotonic() + random.uniform(0.05, 0.3)
        while time.monotonic() < until:
            server, age = random.choice(servers), random.randrange(100)
            found = server.ask("POST", route, token, {"points": [{"age": age, "ward": "A"}]})
            (value,) = found.json()["values"]
            assert seen.setdefault(age, value) == value
            asked = server.ask("POST", "/v1/datasets/clinic/fits", token, FIT, f"fit {kill // 4}")
            if asked.status_code == 202:
                jobs.add(asked.json()["job"]["id"])
            assert asked.status_code in (202, 429)
        servers.pop(random.randrange(2)).kill()
        servers.append(born.server(tmp_path))
    assert len(seen) > 5
    for age, value in seen.items():
        again = servers[0].ask("POST", route, token, {"points": [{"age": age, "ward": "A"}]})
        assert again.json()["values"] == [value]
    ends = [_ended(servers[0], token, job) for job in jobs]
    assert {(job["state"], job["charged"]) for job in ends} == {("done", True)}
    # The session's own, and one for each job.
    assert len(_spends(tmp_path)) == 1 + len(jobs) > 1
