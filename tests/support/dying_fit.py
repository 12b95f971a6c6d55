"""Fits models on a Spark cluster while its nodes die; run as a script by the tests.

What is real about them is charged; only the coins are known, so that a fit in memory can be given the same.
"""

import json
import os
import signal
import sys
import threading
from typing import Any

import numpy as np

import tacit.erm.perturbations.perturbation as perturbation
from support.cluster_driver import connected
from support.fits import people, schema_for
from tacit import Ledger, PrivateLogisticRegression, Records
from tacit.data import SparkFolder
from tacit.data.store.spark_rows import SparkRows
from tacit.errors import QueryFailed
from tacit.noise import SystemEntropy
from tacit.numerics.arrays import Floats

EPSILON, AFTER = 0.4, 3
_SUM, _SOLVE = SparkRows.sum, perturbation.solve


def fit(records: Any, ledger: Ledger | None) -> tuple[Any, float]:
    """Return a model fitted with known coins, and how far from the exact minimiser its solution was at most."""
    coins, distances = np.random.default_rng(5), []

    def solved(*given: Any) -> Any:
        found = _SOLVE(*given)
        distances.append(found.distance)
        return found

    SystemEntropy.generator = lambda _: np.random.default_rng(coins.integers(2**62))  # type: ignore[method-assign]
    perturbation.solve = solved
    model = PrivateLogisticRegression(EPSILON, alpha=0.01, perturbation="objective", ledger=ledger)
    return model.fit(records), sum(distances)


def with_a_worker_dying(source: Any, group: int, ledger: Ledger) -> dict[str, Any]:
    """Fit in memory, and on the cluster while a worker dies with all that it keeps."""
    held, near = fit(Records(people(), schema_for("answer")), None)
    passes: list[int] = []

    def watched(lots: SparkRows, job: Any) -> Floats:
        passes.append(lots.level)
        if len(passes) == AFTER:
            threading.Timer(0.05, os.killpg, (group, signal.SIGKILL)).start()
        return _SUM(lots, job)

    SparkRows.sum = watched  # type: ignore[method-assign]
    there, nearer = fit(Records(source, schema_for("answer"), name="records"), ledger)
    difference = float(np.linalg.norm(np.append(held.coef_ - there.coef_, held.intercept_ - there.intercept_)))
    return {"after": AFTER, "passes": len(passes), "difference": difference, "certified": near + nearer}


def with_no_executor_left(source: Any, ledger: Ledger) -> dict[str, Any]:
    """Fit while every task kills the executor that it runs on."""
    SparkRows.sum = lambda lots, _: _SUM(lots, _ends_its_executor)  # type: ignore[method-assign]
    try:
        fit(Records(source, schema_for("answer"), name="records"), ledger)
    except QueryFailed as error:
        return {"error": str(error), "context": str(error.__context__), "notes": error.__notes__}
    return {}


def _ends_its_executor(_: Floats) -> Floats:
    """Kill the Java process above the daemon of Python's workers."""
    with open(f"/proc/{os.getppid()}/stat", encoding="utf-8") as file:
        executor = int(file.read().rsplit(")", 1)[1].split()[1])
    os.kill(executor, signal.SIGKILL)
    return np.zeros(1)


def main(master: str, group: str, folder: str, address: str) -> dict[str, Any]:
    """Do both, and tell what came out."""
    session = connected(master)
    source, ledger = SparkFolder(session, folder), Ledger.open(address, name="cluster")
    found = with_a_worker_dying(source, int(group), ledger)
    executors = session.sparkContext._jsc.sc().getExecutorMemoryStatus().size() - 1
    return found | {"executors": executors} | with_no_executor_left(source, ledger)


if __name__ == "__main__":
    told = main(*sys.argv[1:])
    print("\n" + json.dumps(told), flush=True)
    os._exit(0)
