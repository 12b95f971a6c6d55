"""A standalone Spark cluster of two workers on this machine, whose workers can be killed."""

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
from typing import Any

import pytest

from support.cluster_driver import QUICK_START
from support.fits import people
from support.nasty_tables import needs_java
from tacit import Budget, Ledger

_FILES = 12


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


@contextlib.contextmanager
def running_cluster(tmp_path: Path) -> Iterator[Cluster]:
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


def fits_while_nodes_die(folder: Path) -> dict[str, Any]:
    """Run `support.dying_fit` on a cluster of its own, and return what it tells and what its ledger holds."""
    records, table = folder / "records", people()
    records.mkdir()
    size = len(table) // _FILES
    for number in range(_FILES):
        table[number * size : (number + 1) * size].to_parquet(records / f"{number}.parquet", index=False)
    address = f"sqlite:///{folder}/ledger.db"
    ledger = Ledger.create(address, name="cluster", budget=Budget(1.0))
    driver = Path(__file__).with_name("dying_fit.py")
    with running_cluster(folder) as cluster:
        done = subprocess.run(
            [sys.executable, driver, cluster.address, str(cluster.workers[1]), records, address],
            env=os.environ
            | {"SPARK_LOCAL_IP": "127.0.0.1", "PYTHONPATH": reachable(), "PYSPARK_PYTHON": sys.executable},
            capture_output=True,
            text=True,
            check=False,
            timeout=900,
        )
    assert done.returncode == 0, done.stderr[-3000:]
    told: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    charges = len([entry for entry in ledger.entries() if entry.event is not None])
    return told | {"charges": charges, "spent": ledger.spent.epsilon}


def reachable() -> str:
    """Return where nodes find the tests' helpers, and tacit if it is not installed."""
    return os.pathsep.join(filter(None, [str(Path(__file__).parent.parent), os.environ.get("PYTHONPATH")]))
