"""Hostile clients of jobs, models and sessions: clear refusals, nothing changed, nothing of others seen or rendered."""

import json
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from support.jobs import FIT, POINTS, SESSION, begun, ended, made
from support.service import Running, made_up_table, running
from tacit.data import Flag, Number, Schema
from tacit.data.levels import Category
from tacit.errors import TacitError
from tacit.models.file import parameter_fields
from tacit.models.kinds import NAMES, class_of
from tacit.service.jobs import fits

MARK = "quoted-by-nobody"
SCRIPT = "<script>alert(1)</script>"


@dataclass
class Clinic:
    """A service in which alice has a model and a session."""

    served: Running
    model: str
    session: str

    @property
    def entries(self) -> int:
        """How many entries the account has."""
        return len(self.served.service.datasets.get("clinic").account.entries())

    @property
    def left(self) -> int:
        """How many points the session still answers."""
        found: int = self.served.get(f"/v1/sessions/{self.session}").json()["points_left"]
        return found

    def sent(self, route: str, body: Any, key: str = "x") -> Any:
        """Send what Python calls JSON, which may be none: NaN and Infinity."""
        headers = {**self.served.headers("alice"), "Idempotency-Key": key}
        return self.served.client.post(route, content=json.dumps(body), headers=headers)


@pytest.fixture(scope="module")
def clinic(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Clinic]:
    """Serve a clinic in which alice has a model and a session."""
    with running(tmp_path_factory.mktemp("hostile")) as found:
        yield Clinic(found, made(found, "fits", FIT)["model"], made(found, "sessions", SESSION)["session"])


def _alices(clinic: Clinic) -> list[tuple[str, str, str]]:
    job, model, session = (f"/v1/{what}" for what in (f"jobs/{clinic.model}", f"models/{clinic.model}",
                                                      f"sessions/{clinic.session}"))  # fmt: skip
    return [
        *(("GET", route, "jobs") for route in (job, f"{job}/report")),
        ("DELETE", job, "jobs"),
        *(("GET", route, "models") for route in (model, f"{model}/card", f"{model}/report")),
        ("GET", session, "sessions"),
        ("POST", f"{session}/answers", "sessions"),
    ]


@pytest.mark.parametrize("who", ["bob", "carol", "dora"])
def test_what_is_alices_is_there_for_nobody_else(who: str, clinic: Clinic) -> None:
    """Others are told what they are told of things that are not there; the custodian may fetch models alone."""
    before, job = clinic.entries, clinic.served.get(f"/v1/jobs/{clinic.model}").json()
    for method, route, what in _alices(clinic):
        if who == "carol" and what == "models":
            continue
        body = {"points": POINTS} if method == "POST" else None
        theirs = clinic.served.client.request(method, route, json=body, headers=clinic.served.headers(who))
        nobodys = route.replace(clinic.model, "0" * 32).replace(clinic.session, "0" * 32)
        none = clinic.served.client.request(method, nobodys, json=body, headers=clinic.served.headers(who))
        assert (theirs.status_code, theirs.json()) == (404, none.json()), route
    assert clinic.served.get("/v1/jobs", who).json() == {"jobs": []}
    assert clinic.served.get("/v1/models", who).json() == {"models": []}
    assert clinic.served.get("/v1/sessions", who).json() == {"sessions": []}
    assert clinic.entries == before
    assert clinic.served.get(f"/v1/jobs/{clinic.model}").json() == job
    scores = clinic.served.post("/v1/datasets/clinic/reports", {"model": clinic.model, "epsilon": 0.1}, who)
    assert scores.status_code == (404 if who == "bob" else 403)


@pytest.mark.parametrize("kind", ["fits", "reports", "sessions"])
def test_who_may_not_ask_is_refused(kind: str, clinic: Clinic) -> None:
    """Without a token, with another scope, and about a data set that the token is not for."""
    body = {"fits": FIT, "sessions": SESSION, "reports": {"model": clinic.model, "epsilon": 0.1}}[kind]
    route = f"/v1/datasets/clinic/{kind}"
    assert clinic.served.client.post(route, json=body, headers={"Idempotency-Key": "x"}).status_code == 401
    for who in ("carol", "dora"):
        assert clinic.served.post(route, body, who).status_code == 403
    assert clinic.served.post(f"/v1/datasets/elsewhere/{kind}", body).status_code == 404
    _, token = clinic.served.service.tokens.make("erin", "analyst", datasets=["other"])
    clinic.served.tokens["erin"] = token
    assert clinic.served.post(route, body, "erin").status_code == 404


IDS = ["..", "../../state.db", "%2e%2e%2fstate.db", "%00", "a" * 5000, "' OR '1'='1", "0" * 32, "é", "<b>", "{id}", " "]


@pytest.mark.parametrize("name", IDS)
def test_names_that_nothing_has_find_nothing(name: str, clinic: Clinic) -> None:
    """Path tricks, SQL, markup and sizes in a name are a name that nothing has."""
    for route in ("jobs/{}", "jobs/{}/report", "models/{}", "models/{}/card", "sessions/{}"):
        found = clinic.served.get(f"/v1/{route.format(name)}")
        assert 400 <= found.status_code < 500 or found.json() in ({"jobs": []},) or name == "..", route
        assert SCRIPT not in found.text
    assert clinic.served.post(f"/v1/sessions/{name}/answers", {"points": POINTS}).status_code in (404, 405, 414)


BODIES: list[tuple[str, Any]] = [
    ("fits", {}),
    ("fits", []),
    ("fits", {"estimator": MARK, "parameters": {"epsilon": 1}}),
    ("fits", {**FIT, "part": MARK}),
    ("fits", {**FIT, "ledger": MARK}),
    ("fits", {**FIT, "parameters": MARK}),
    ("fits", {**FIT, "parameters": {"epsilon": 1e999}}),
    ("fits", {**FIT, "parameters": {"epsilon": float("nan")}}),
    ("fits", {**FIT, "parameters": {"epsilon": 1, "state": f"/tmp/{MARK}"}}),
    ("fits", {**FIT, "parameters": {"epsilon": 1, "interactions": [["age", "ward"]] * 21}}),
    ("fits", {"estimator": "PrivateKernelClassifier", "parameters": {"epsilon": 1, "landmarks": 10**12}}),
    ("fits", {"estimator": ["PrivateLogisticRegression"], "parameters": {"epsilon": 1}}),
    ("reports", {"model": "../..", "epsilon": 1}),
    ("reports", {"model": None, "epsilon": 1}),
    ("sessions", {"parameters": {"epsilon": 1, "delta": 1e-6, "kernel": {"kind": MARK, "value": {}}}}),
    ("sessions", {"parameters": {"epsilon": float("inf"), "delta": 1e-6}}),
    ("sessions", {"parameters": {"epsilon": 1, "delta": 1e-6, "kernel": None, "landmarks": {"points": [[1e308] * 7]}}}),
]


@pytest.mark.parametrize(("kind", "body"), BODIES)
def test_bodies_that_make_no_sense_are_refused(kind: str, body: Any, clinic: Clinic) -> None:
    """Whatever is sent is answered with a 4xx at once, or with a job that fails; nothing is charged or quoted."""
    before = clinic.entries

    found = clinic.sent(f"/v1/datasets/clinic/{kind}", body, f"{kind} {len(json.dumps(body))} {id(body)}")
    if found.status_code == 202:
        job = ended(clinic.served, found.json()["job"])
        assert (job["state"], job["charged"]) == ("failed", False)
        assert job["error"]["kind"] == "InvalidParameter"
    else:
        assert 400 <= found.status_code < 500, found.text
        assert set(found.json()) == {"error"}
        assert MARK not in found.text
    assert clinic.entries == before


@pytest.mark.parametrize("name", ["epsilon", "delta"])
@pytest.mark.parametrize("value", [-1, 0, 1e999, "1", None, True, [1], {"a": 1}, 10**400])
def test_scores_have_a_budget_that_is_one(name: str, value: Any, clinic: Clinic) -> None:
    """Scores are refused at once for a budget that is none."""
    if (name, value) == ("delta", 0):
        return
    body = {"model": clinic.model, "epsilon": 0.1, name: value}
    found = clinic.sent("/v1/datasets/clinic/reports", body, f"scores {name} {value}"[:99])
    assert found.status_code in (400, 422), found.text


POINTS_REFUSED: list[Any] = [
    [], [[]], [[1.0] * 10_000], [{f"c{n}": 1 for n in range(10_000)}], [{}] * 1001, [[1]], ["x"], [None], 1, {}, None,
    [[float("nan"), "A", True, None]], [[1e999, "A", True, None]], [[10**400, "A", True, None]], [{"age": [[1]]}],
    [{"id": 1, "ill": True}], [["x" * 2000, "A", True, None]],
]  # fmt: skip


@pytest.mark.parametrize("points", POINTS_REFUSED, ids=range(len(POINTS_REFUSED)))
def test_points_that_are_none_are_refused_and_leave_no_answer(points: Any, clinic: Clinic) -> None:
    """Points of 10,000 dimensions, NaN, infinity and other shapes are refused before anything is drawn."""

    left = clinic.left
    found = clinic.sent(f"/v1/sessions/{clinic.session}/answers", {"points": points})
    assert found.status_code in (400, 413, 422), found.text
    assert clinic.left == left


@pytest.mark.parametrize("content", [b"{" * 100_000, b"[" * 5000 + b"]" * 5000, b"\xff\xfe", b"", b"{}", b"null"])
def test_bodies_that_are_no_documents_are_refused(content: bytes, clinic: Clinic) -> None:
    """Deep nesting, other bytes and nothing at all are told to be malformed."""
    for route in ("/v1/datasets/clinic/fits", f"/v1/sessions/{clinic.session}/answers"):
        headers = {**clinic.served.headers("alice"), "Idempotency-Key": "x", "Content-Type": "application/json"}
        found = clinic.served.client.post(route, content=content, headers=headers)
        assert found.status_code in (400, 413, 422), found.text


def test_replayed_and_reordered_requests_change_nothing(clinic: Clinic) -> None:
    """Requests that come again in another order have the jobs they had, and points the answers they had."""
    points = [{"age": age} for age in range(20, 40)]
    route = f"/v1/sessions/{clinic.session}/answers"
    values = [clinic.served.post(route, {"points": [point]}).json()["values"][0] for point in points]
    jobs = {f"key {n}": begun(clinic.served, "fits", FIT, key=f"key {n}")["id"] for n in range(2)}
    for job in jobs.values():
        assert ended(clinic.served, {"id": job, "state": "waiting"})["state"] == "done"
    before = clinic.entries
    for key in sorted(jobs, reverse=True):
        assert begun(clinic.served, "fits", FIT, key=key)["id"] == jobs[key]
    assert clinic.served.post(route, {"points": points[::-1]}).json()["values"] == values[::-1]
    assert clinic.entries == before


def test_markup_in_every_name_is_text(tmp_path: Path) -> None:
    """Columns, classes and parameters that are markup are shown as text on the pages that jobs make."""
    name, level = f"age{SCRIPT}", f"yes{SCRIPT}"
    ill = Category(["no", level], positive=level)
    schema = Schema({name: Number(0, 100), "smoker": Flag(), "ill": ill}, target="ill")
    table = made_up_table()
    table = {name: table["age"], "smoker": table["smoker"], "ill": [level if ill else "no" for ill in table["ill"]]}
    with running(tmp_path, table=table, schema=schema, key=None) as served:
        weights = {"epsilon": 1, "class_weight": {"no": 0.5, level: 1}}
        model = made(
            served, "fits", {"estimator": "PrivateLogisticRegression", "parameters": weights, "part": "train"}
        )["model"]
        job = ended(served, begun(served, "reports", {"model": model, "epsilon": 0.5}))
        for page in (f"/v1/models/{model}/report", f"/v1/jobs/{job['id']}/report"):
            text = served.get(page).text
            assert "&lt;script&gt;" in text
            assert SCRIPT not in text
        session = made(served, "sessions", SESSION)["session"]
        found = served.post(f"/v1/sessions/{session}/answers", {"points": [{name: 3}]})
        assert found.headers["content-type"] == "application/json"


PLAIN = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.sampled_from(["age", "ward", "auto", "", "x"]),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(["tuple", "pairs", "float", "fraction", "kind", "value", "points", "width", "x"]),
            inner,
            max_size=3,
        )
    ),
    max_leaves=8,
)
NAMED = [
    (known, name)
    for known in (class_of(kind) for kind in NAMES)
    for name in sorted(parameter_fields(known, known.saved).keys() - {"random_state", "schema"})
]


@settings(max_examples=300, deadline=None, suppress_health_check=list(HealthCheck))
@given(st.sampled_from(NAMED), PLAIN)
def test_any_value_of_any_parameter_is_taken_or_refused(clinic: Clinic, named: tuple[Any, str], value: Any) -> None:
    """Whatever a parameter is, a fit can be prepared or is refused in tacit's own words."""
    known, name = named
    dataset = clinic.served.service.datasets.get("clinic")
    given_ = {"epsilon": 1.0, "kernel": {"kind": "linear", "value": {}}, name: value}
    own = parameter_fields(known, known.saved)
    body = {"estimator": known.__name__, "parameters": {key: each for key, each in given_.items() if key in own}}
    with suppress(TacitError):
        fits.prepared(dataset, body)
