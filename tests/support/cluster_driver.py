"""Asks a batch of queries on a Spark cluster and kills one of its workers meanwhile; run as a script by the tests."""

import json
import os
import signal
import sys
import tempfile
import threading
import time
from typing import Any

from pyspark.sql import SparkSession

from support.nasty_tables import SCHEMA
from tacit.accounting import Ledger
from tacit.data import Records
from tacit.data.store import spark_store
from tacit.queries import Histogram, Query, StatisticalOracle, StatisticalQuery

EPSILON = 0.5
QUICK_START = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"


def batch() -> list[Query]:
    """Return conditions, clipped means and a histogram."""
    conditions = [StatisticalQuery(lambda t, k=k: (t.g > k / 6) & (t.y == 1)) for k in range(-6, 6)]
    means = [StatisticalQuery(lambda t: t.f, low=-1.0, high=1.0 + k) for k in range(6)]
    return [*conditions, *means, Histogram(lambda t: [t.k, t.y], [(k, y) for k in (0, 1, 2) for y in (-1, 1)])]


def connected(master: str) -> SparkSession:
    """Connect, and wait for both workers."""
    session = (
        SparkSession.builder.master(master)
        .config("spark.ui.enabled", "false")
        .config("spark.ui.showConsoleProgress", "false")
        # What is done is told at once, not every 100 ms: in between a busy machine may finish the whole stage.
        .config("spark.ui.liveUpdate.period", "0")
        .config("spark.driver.host", "127.0.0.1")
        .config("spark.driver.bindAddress", "127.0.0.1")
        .config("spark.driver.memory", "512m")
        .config("spark.executor.memory", "512m")
        .config("spark.executor.cores", "1")
        .config("spark.driver.extraJavaOptions", QUICK_START)
        .config("spark.executor.extraJavaOptions", QUICK_START)
        # All nodes are this machine.
        .config(spark_store.SETTING, tempfile.gettempdir())
        .config("spark.sql.files.maxPartitionBytes", "64k")
        .config("spark.sql.files.openCostInBytes", "64k")
        .getOrCreate()
    )
    session.sparkContext.setLogLevel("OFF")
    deadline = time.monotonic() + 120
    while session.sparkContext._jsc.sc().getExecutorMemoryStatus().size() < 3:
        assert time.monotonic() < deadline, "the workers did not come"
        time.sleep(0.05)
    return session


def kill_during(session: SparkSession, group: int, seen: dict[str, int]) -> None:
    """Kill a process group as soon as some tasks of a stage are done and others are not."""
    tracker = session.sparkContext.statusTracker()
    while "total" not in seen:
        for stage in tracker.getActiveStageIds():
            info = tracker.getStageInfo(stage)
            if info is not None and 2 <= info.numCompletedTasks < info.numTasks - 4:
                os.killpg(group, signal.SIGKILL)
                seen |= {"done": info.numCompletedTasks, "total": info.numTasks}
                break
        time.sleep(0.002)


def main(master: str, group: int, folder: str, address: str) -> dict[str, Any]:
    """Ask, with a worker dying meanwhile, and tell what came out."""
    session = connected(master)
    # So that there are tasks left when some are done.
    spark_store._TO_A_TASK = 1
    records = Records(session.read.parquet(folder), SCHEMA, name="records")
    oracle = StatisticalOracle(records, ledger=Ledger.open(address, name="cluster"))
    honest, sums, seen = oracle.evaluator.sums, [], {}

    def watched(*args: Any, **kwargs: Any) -> Any:
        killer = threading.Thread(target=kill_during, args=(session, group, seen), daemon=True)
        killer.start()
        found = honest(*args, **kwargs)
        sums.extend(each.tolist() for each in found)
        return found

    oracle.evaluator.sums = watched  # type: ignore[method-assign]
    answers = oracle.ask_all(batch(), epsilon=EPSILON, of="sample", confidence=1 - 1e-9)
    return {
        "sums": sums,
        "values": [answer.value if isinstance(answer.value, float) else answer.value.tolist() for answer in answers],
        "tolerances": [answer.tolerance for answer in answers],
        "executors": session.sparkContext._jsc.sc().getExecutorMemoryStatus().size() - 1,
        **seen,
    }


if __name__ == "__main__":
    told = main(sys.argv[1], int(sys.argv[2]), sys.argv[3], sys.argv[4])
    print("\n" + json.dumps(told), flush=True)
    os._exit(0)
