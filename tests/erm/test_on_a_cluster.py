"""Fits on a Spark cluster whose nodes die: the model of memory for one charge, or one clear error."""

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import support
from support.clusters import Cluster, reachable, running_cluster
from support.dying_fit import EPSILON
from support.fits import people
from tacit import Budget, Ledger

DRIVER = Path(support.__file__).with_name("dying_fit.py")
FILES = 12


@pytest.fixture
def cluster(tmp_path: Path) -> Iterator[Cluster]:
    """Start a standalone cluster on the loopback interface."""
    with running_cluster(tmp_path) as found:
        yield found


def test_a_fit_survives_a_worker_and_says_what_the_loss_of_all_executors_cost(cluster: Cluster, tmp_path: Path) -> None:
    """A worker killed in the middle changes nothing beyond what is certified; a cluster that gives up is one error."""
    folder, table = tmp_path / "records", people()
    folder.mkdir()
    size = len(table) // FILES
    for number in range(FILES):
        table[number * size : (number + 1) * size].to_parquet(folder / f"{number}.parquet", index=False)
    address = f"sqlite:///{tmp_path}/ledger.db"
    ledger = Ledger.create(address, name="cluster", budget=Budget(1.0))
    done = subprocess.run(
        [sys.executable, DRIVER, cluster.address, str(cluster.workers[1]), folder, address],
        env=os.environ | {"SPARK_LOCAL_IP": "127.0.0.1", "PYTHONPATH": reachable()},
        capture_output=True,
        text=True,
        check=False,
        timeout=600,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    told = json.loads(done.stdout.splitlines()[-1])
    assert told["executors"] == 1
    assert told["passes"] > 3
    assert told["difference"] <= 1.01 * told["certified"] + 1e-12
    assert "the cluster failed" in told["error"]
    assert f"charged for it: epsilon={EPSILON:g}" in " ".join(told["notes"])
    assert told["context"] == "None"
    # One charge for each fit, whatever was done twice.
    assert ledger.spent == Budget(2 * EPSILON)
    assert len([entry for entry in ledger.entries() if entry.event is not None]) == 2
