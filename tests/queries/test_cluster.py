"""A Spark cluster whose worker dies during a batch: the right answers, for one charge."""

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest

import support
from support.cluster_driver import EPSILON, batch
from support.clusters import Cluster, reachable, running_cluster
from support.nasty_tables import SCHEMA, as_records, nasty_table
from tacit.accounting import Ledger
from tacit.budget import Budget
from tacit.sums.record_evaluator import evaluator_for

DRIVER = Path(support.__file__).with_name("cluster_driver.py")
ROWS, FILES = 24_000, 60


@pytest.fixture
def cluster(tmp_path: Path) -> Iterator[Cluster]:
    """Start a standalone cluster on the loopback interface."""
    with running_cluster(tmp_path) as found:
        yield found


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
        env=os.environ | {"SPARK_LOCAL_IP": "127.0.0.1", "PYTHONPATH": reachable()},
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    told = json.loads(done.stdout.splitlines()[-1])
    assert told["done"] < told["total"] == FILES
    assert told["executors"] == 1
    numpy = evaluator_for(as_records(table, SCHEMA))
    exact = numpy.sums([numpy.prepare(query) for query in batch()])
    for query, sums, expected, value, tolerance in zip(
        batch(), told["sums"], exact, told["values"], told["tolerances"], strict=True
    ):
        assert sums == expected.tolist()
        np.testing.assert_allclose(value, query.answer(expected / ROWS), rtol=0, atol=tolerance)
    assert ledger.spent == Budget(EPSILON)
    assert len([entry for entry in ledger.entries() if entry.event is not None]) == 1
