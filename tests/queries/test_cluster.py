"""A Spark cluster whose worker dies during a batch: the right answers, for one charge."""

import contextlib
import json
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest

import support
from support.cluster_driver import EPSILON, QUICK_START, batch
from support.nasty_tables import SCHEMA, as_records, nasty_table, needs_java
from tacit.accounting import Ledger
from tacit.budget import Budget
from tacit.sums.engines.opening import engine_for

DRIVER = Path(support.__file__).with_name("cluster_driver.py")
ROWS, FILES = 24_000, 60


@dataclass(frozen=True)
class Cluster:
    """A master and two workers, each in a process group of its own with all that it starts."""

    address: str
    workers: tuple[int, ...]


def _started(folder: Path, *command: str) -> subprocess.Popen[bytes]:
    import pyspark

    home = Path(pyspark.__file__).parent
    settings = {"SPARK_LOCAL_IP": "127.0.0.1", "SPARK_HOME": str(home), "SPARK_DAEMON_MEMORY": "256m"}
    settings["SPARK_DAEMON_JAVA_OPTS"] = QUICK_START
    with (folder / f"{command[0].rsplit('.', 1)[-1]}-{time.monotonic_ns()}.log").open("wb") as log:
        return subprocess.Popen(
            [home / "bin" / "spark-class", *command],
            env=os.environ | settings, cwd=folder, stdin=subprocess.DEVNULL, stdout=log, stderr=log,
            start_new_session=True,
        )  # fmt: skip


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def _await(port: int) -> None:
    deadline = time.monotonic() + 120
    while time.monotonic() < deadline:
        with socket.socket() as probe:
            if probe.connect_ex(("127.0.0.1", port)) == 0:
                return
        time.sleep(0.1)
    pytest.fail("the master did not start")


@pytest.fixture
def cluster(tmp_path: Path) -> Iterator[Cluster]:
    """Start a standalone cluster on the loopback interface."""
    needs_java()
    port = _free_port()
    address = f"spark://127.0.0.1:{port}"
    local = ("--host", "127.0.0.1", "--webui-port", "0")
    running = [_started(tmp_path, "org.apache.spark.deploy.master.Master", "--port", str(port), *local)]
    try:
        _await(port)
        running += [
            _started(
                tmp_path, "org.apache.spark.deploy.worker.Worker", "--cores", "1", "--memory", "600m", "--work-dir",
                str(tmp_path / f"work{number}"), *local, address,
            )
            for number in range(2)
        ]  # fmt: skip
        yield Cluster(address, tuple(worker.pid for worker in running[1:]))
    finally:
        for process in running:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()


def test_a_worker_that_dies_during_a_batch_costs_nothing_and_changes_nothing(cluster: Cluster, tmp_path: Path) -> None:
    """The sums are exactly those of numpy, the answers are within their noise, and the ledger has one charge."""
    table = nasty_table(ROWS)
    folder = tmp_path / "records"
    folder.mkdir()
    for number in range(FILES):
        size = ROWS // FILES
        pq.write_table(table.slice(number * size, size), folder / f"{number}.parquet")
    address = f"sqlite:///{tmp_path}/ledger.db"
    ledger = Ledger.create(address, name="cluster", budget=Budget(1.0))
    done = subprocess.run(
        [sys.executable, DRIVER, cluster.address, str(cluster.workers[1]), folder, address],
        env=os.environ | {"SPARK_LOCAL_IP": "127.0.0.1", "PYTHONPATH": str(DRIVER.parent.parent)},
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    told = json.loads(done.stdout.splitlines()[-1])
    assert told["done"] < told["total"] == FILES
    assert told["executors"] == 1
    numpy = engine_for(as_records(table, SCHEMA))
    exact = numpy.sums([numpy.prepare(query) for query in batch()])
    for query, sums, expected, value, tolerance in zip(
        batch(), told["sums"], exact, told["values"], told["tolerances"], strict=True
    ):
        assert sums == expected.tolist()
        np.testing.assert_allclose(value, query.answer(expected / ROWS), rtol=0, atol=tolerance)
    assert ledger.spent == Budget(EPSILON)
    assert len([entry for entry in ledger.entries() if entry.event is not None]) == 1
