"""Interactive sessions over HTTP: one charge, one answer to a point for ever, whoever of the workers answers."""

import shutil
import stat
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from support.jobs import PATIENCE, POINTS, SESSION, begun, ended, made
from support.service import SCHEMA, Running, running, truth
from tacit import InteractiveKernelPredictor
from tacit.budget import Budget
from tacit.errors import InvalidParameter
from tacit.kernels import RBF
from tacit.kernels.interactive.memory import FILE_LOCKS
from tacit.service.jobs.doing import acting_for
from tacit.service.sessions import opening
from tacit.service.sessions.points import table_of


def _asked(served: Running, session: str, points: Any, who: str = "alice") -> Any:
    found = served.post(f"/v1/sessions/{session}/answers", {"points": points}, who)
    assert found.status_code == 200, found.text
    return found.json()


@pytest.mark.parametrize("changes", [{}, {"method": "pinp", "alpha": 0.1}, {"landmarks": 15}])
def test_a_session_answers_points_for_one_charge(changes: dict[str, Any], served: Running) -> None:
    """Values come with error bars and classes; a point that is asked again, alone or among others, keeps its answer."""
    session = made(served, "sessions", {"parameters": {**SESSION["parameters"], **changes}})["session"]
    first = _asked(served, session, POINTS)
    assert all(first["guaranteed"])
    assert set(first["classes"]) <= {"true", "false"}
    assert min(first["error"]) > 0
    assert _asked(served, session, POINTS[::-1])["values"] == first["values"][::-1]
    assert [_asked(served, session, [point])["values"][0] for point in POINTS] == first["values"]
    lists = [[point["age"], point["ward"], point["smoker"], None] for point in POINTS]
    assert _asked(served, session, lists)["values"] == first["values"]
    whole = [[7, *cells] for cells in lists]
    assert _asked(served, session, whole)["values"] == first["values"]
    told = served.get(f"/v1/sessions/{session}").json()
    assert told["points_left"] == first["points_left"]
    assert told["classes"] == ["false", "true"]
    (listed,) = served.get("/v1/sessions").json()["sessions"]
    assert listed["id"] == session
    assert len([entry for entry in served.service.datasets.get("clinic").account.entries() if entry.event]) == 1


def test_answers_are_those_of_the_library(served: Running) -> None:
    """A session's noise has the deviation that the predictor has in Python, by public facts alone."""
    session = made(served, "sessions", SESSION)["session"]
    local = InteractiveKernelPredictor(RBF(1.0), 1.0, 1e-6, random_state=0).fit(truth(served))
    found = local.answer(table_of(POINTS, SCHEMA))
    assert np.allclose(_asked(served, session, POINTS)["standard_deviation"], found.standard_deviation)


def test_answers_outlast_a_restart_and_are_shared_by_workers(tmp_path: Path) -> None:
    """Two workers at once, and one that comes later, give every point one answer."""
    with running(tmp_path) as first, running(tmp_path) as second:
        session = made(first, "sessions", SESSION)["session"]
        asked: list[list[Any]] = [[], []]

        def ask(served: Running, found: list[Any], order: int) -> None:
            found.extend(_asked(served, session, [point])["values"][0] for point in POINTS[::order])

        workers = [threading.Thread(target=ask, args=each) for each in ((first, asked[0], 1), (second, asked[1], -1))]
        for worker in workers:
            worker.start()
        for worker in workers:
            worker.join()
        assert asked[0] == asked[1][::-1]
        assert len(asked[0]) == len(POINTS)
        left = second.get(f"/v1/sessions/{session}").json()["points_left"]
    with running(tmp_path) as served:
        again = _asked(served, session, POINTS)
        assert again["values"] == asked[0]
        assert again["points_left"] == left


def test_an_older_state_file_is_refused(tmp_path: Path) -> None:
    """A session whose answers were put back from before is closed until the newest are there."""
    with running(tmp_path) as served:
        session = made(served, "sessions", SESSION)["session"]
        values = _asked(served, session, POINTS[:3])["values"]
    (folder,) = (tmp_path / "sessions").iterdir()
    older = tmp_path / "older"
    shutil.copytree(folder, older)
    with running(tmp_path) as served:
        _asked(served, session, POINTS)
    newest = tmp_path / "newest"
    shutil.copytree(folder, newest)
    shutil.copy(older / "answers.db", folder / "answers.db")
    # What this process saw is forgotten, as after a restart: the witness alone knows.
    FILE_LOCKS.clear()
    with running(tmp_path) as served:
        for refused in (
            served.post(f"/v1/sessions/{session}/answers", {"points": POINTS[:1]}),
            served.get(f"/v1/sessions/{session}"),
        ):
            assert refused.status_code == 503
            assert refused.json()["error"]["kind"] == "SessionUnavailable"
            assert str(tmp_path) not in refused.text
        shutil.copy(newest / "answers.db", folder / "answers.db")
        assert _asked(served, session, POINTS[:3])["values"] == values


def test_a_state_file_that_is_put_back_under_workers_is_refused(tmp_path: Path) -> None:
    """The witness knows of answers that neither the file nor this worker has: nothing is drawn beside them."""
    points = [{**POINTS[0], "age": age} for age in range(20, 80, 5)]
    with running(tmp_path) as one, running(tmp_path) as other:
        session = made(one, "sessions", SESSION)["session"]
        values = _asked(other, session, points[:1])["values"]
        (folder,) = (tmp_path / "sessions").iterdir()
        shutil.copy(folder / "answers.db", tmp_path / "older")
        # As another process, which knows nothing of what the first has seen.
        locks = dict(FILE_LOCKS)
        FILE_LOCKS.clear()
        values = _asked(one, session, points[:4])["values"]
        shutil.copy(folder / "answers.db", tmp_path / "newest")
        shutil.copy(tmp_path / "older", folder / "answers.db")
        FILE_LOCKS.update(locks)
        for asked in (points[2:3], points):
            refused = other.post(f"/v1/sessions/{session}/answers", {"points": asked})
            assert refused.status_code == 503
            assert refused.json()["error"]["kind"] == "SessionUnavailable"
        shutil.copy(tmp_path / "newest", folder / "answers.db")
        assert _asked(other, session, points)["values"][:4] == values


def test_files_of_sessions_are_the_services_alone(served: Running) -> None:
    """Folders are 0700 and files 0600: both are as secret as the records."""
    made(served, "sessions", SESSION)
    sessions = served.settings.sessions
    (folder,) = sessions.iterdir()
    assert [stat.S_IMODE(each.stat().st_mode) for each in (sessions, folder)] == [0o700, 0o700]
    for name in ("answers.db", "predictor"):
        assert stat.S_IMODE((folder / name).stat().st_mode) == 0o600


def test_points_run_out_and_say_so(served: Running) -> None:
    """When no noise is left, answers follow from earlier ones, are marked, and do not change either."""
    parameters = {**SESSION["parameters"], "kernel": {"kind": "polynomial", "value": {"degree": 1, "constant": 1.0}}}
    session = made(served, "sessions", {"parameters": parameters})["session"]
    found = served.service.session_table.of(acting_for("alice"), session)
    predictor = served.service.sessions._predictor(found)
    # As many as a thousand requests would have asked for.
    object.__setattr__(predictor._session.law, "most", 5)
    answers = _asked(served, session, POINTS)
    assert answers["guaranteed"] == [True] * 5 + [False] * 3
    assert answers["points_left"] == 0
    assert _asked(served, session, POINTS[5:])["values"] == answers["values"][5:]
    assert _asked(served, session, POINTS[7:])["values"] == answers["values"][7:]


def test_a_session_that_cannot_be_paid_is_not_opened(tmp_path: Path) -> None:
    """Its job fails in words, nothing is charged, and there is no session."""
    with running(tmp_path, budget=Budget(0.5, 1e-5)) as served:
        job = ended(served, begun(served, "sessions", SESSION))
        assert (job["state"], job["error"]["kind"], job["charged"]) == ("failed", "BudgetExceeded", False)
        assert served.get(f"/v1/sessions/{job['id']}").status_code == 404
        assert served.get("/v1/sessions").json() == {"sessions": []}


def test_every_cell_of_a_point_is_read_by_itself() -> None:
    """A text among numbers, a number beyond floats and a missing cell change nothing of other points."""
    odd = [{"age": "61"}, {"age": 10**18, "ward": None}, {"smoker": "?"}, {"age": None}, {"age": -0.0}]
    alone = [table_of([point], SCHEMA) for point in odd]
    together = table_of(odd, SCHEMA)
    for name, cells in together.items():
        assert list(cells) == [each[name][0] for each in alone]


@pytest.mark.parametrize(
    "points",
    [[], [[]], [[1] * 10_000], [{}] * 1001, [1], ["x"], [None], [{"age": [1]}], [{"age": {"a": 1}}], [{"height": 3}],
     [{"ill": True}], [[float("nan"), "A", True, None]], [[float("inf"), "A", True, None]],
     [[10**400, "A", True, None]], [["x" * 1001, "A", True, None]], {"age": 1}, "age", None],
)  # fmt: skip
def test_what_is_no_point_is_refused(points: Any) -> None:
    """Other shapes and columns, the target, numbers that are none, and sizes without bounds are refused in words."""
    with pytest.raises(InvalidParameter, match=r"point|points"):
        table_of(points, SCHEMA)


def test_a_session_that_was_ended_leaves_no_secret_behind(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Cancelled while its files are written, or after they were and before it was done; and what a dead worker left."""
    really, at, go = opening.keep, threading.Event(), threading.Event()

    def slowly(*given: Any) -> None:
        at.set()
        assert go.wait(30)
        really(*given)

    monkeypatch.setattr(opening, "keep", slowly)
    sessions = tmp_path / "sessions"
    with running(tmp_path) as served:
        job = begun(served, "sessions", SESSION)
        assert at.wait(30)
        served.delete(f"/v1/jobs/{job['id']}")
        (folder,) = sessions.iterdir()
        go.set()
        _until(lambda: not folder.exists())
        kept = made(served, "sessions", SESSION)["session"]
        monkeypatch.setattr(served.service.jobs, "finish", lambda job: not served.service.jobs.end(job))
        later = begun(served, "sessions", SESSION)
        assert ended(served, later)["state"] == "cancelled"
        _until(lambda: [each.name.partition("-")[0] for each in sessions.iterdir()] == [kept])
    (left, stranger) = (sessions / f"{name}-{'0' * 32}" for name in (job["id"], "1" * 32))
    for each in (left, stranger):
        each.mkdir()
    with running(tmp_path) as served:
        assert not left.exists()
        # The twin: what this state knows nothing of may be another state's, and what is open stays.
        assert stranger.exists()
        assert served.service.session_table.listed(acting_for("alice"))[0].id == kept


def _until(holds: Callable[[], bool]) -> None:
    until = time.monotonic() + PATIENCE
    while not holds():
        assert time.monotonic() < until
        time.sleep(0.02)
