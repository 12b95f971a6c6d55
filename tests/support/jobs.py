"""Jobs of a service, waited for."""

import time
from typing import Any

from support.service import Running

FIT = {"estimator": "PrivateLogisticRegression", "parameters": {"epsilon": 0.5, "delta": 1e-6}, "part": "train"}
TREE = {"estimator": "SQDecisionTree", "parameters": {"epsilon": 0.5}, "part": "train"}
SESSION = {"parameters": {"epsilon": 1.0, "delta": 1e-6, "kernel": {"kind": "rbf", "value": {"gamma": 1.0}}}}
POINTS = [{"age": 10 * each, "ward": "B", "smoker": each % 2 == 0} for each in range(8)]
PATIENCE = 60.0


def begun(served: Running, kind: str, body: Any, who: str = "alice", key: str | None = None) -> dict[str, Any]:
    """Ask for a job."""
    found = served.post(f"/v1/datasets/clinic/{kind}", body, who, key)
    assert found.status_code == 202, found.text
    job: dict[str, Any] = found.json()["job"]
    return job


def ended(served: Running, job: dict[str, Any], who: str = "alice") -> dict[str, Any]:
    """Wait for the end of a job."""
    until = time.monotonic() + PATIENCE
    while job["state"] in ("waiting", "running"):
        assert time.monotonic() < until, job
        time.sleep(0.02)
        job = served.get(f"/v1/jobs/{job['id']}", who).json()["job"]
    return job


def made(served: Running, kind: str, body: Any, who: str = "alice", key: str | None = None) -> dict[str, Any]:
    """Have a job done, and return its result."""
    job = ended(served, begun(served, kind, body, who, key), who)
    assert job["state"] == "done", job
    result: dict[str, Any] = job["result"]
    return result
