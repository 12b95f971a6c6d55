"""Fits a model on a Spark cluster and kills one of its workers meanwhile; run as a script by the tests."""

import json
import os
import sys
import threading
from typing import Any

from support.cluster_driver import connected, kill_during
from support.fits import schema_for
from tacit.accounting import Ledger
from tacit.data import Records
from tacit.erm.classification import PrivateLogisticRegression

EPSILON = 1e5
ALPHA = 0.01


def model(ledger: Ledger | None) -> PrivateLogisticRegression:
    """Return a model with next to no noise, charged for what it is, so that fits can be compared."""
    return PrivateLogisticRegression(EPSILON, alpha=ALPHA, curves=False, ledger=ledger)


def main(master: str, group: int, folder: str, address: str) -> dict[str, Any]:
    """Fit, with a worker dying meanwhile, and tell what came out."""
    session = connected(master)
    records = Records(session.read.parquet(folder), schema_for("answer"), name="records")
    seen: dict[str, int] = {}
    killer = threading.Thread(target=kill_during, args=(session, group, seen), daemon=True)
    killer.start()
    fitted = model(Ledger.open(address, name="cluster")).fit(records)
    return {
        "coefficients": fitted.coef_.ravel().tolist(),
        "executors": session.sparkContext._jsc.sc().getExecutorMemoryStatus().size() - 1,
        **seen,
    }


if __name__ == "__main__":
    told = main(sys.argv[1], int(sys.argv[2]), sys.argv[3], sys.argv[4])
    print("\n" + json.dumps(told), flush=True)
    os._exit(0)
