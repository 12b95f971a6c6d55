"""Fits the peers of benchmarks/tables.py, in an environment of their own; knows nothing of tacit.

Reads one JSON document a line from standard input (a model, its budget, a folder of arrays), answers with one: the
seconds that the fit took. Scores of the rows to test go to scores.npy in the folder.
"""

import json
import sys
import time
import warnings
from pathlib import Path
from typing import Any

import numpy as np

warnings.simplefilter("ignore")


def model(task: dict[str, Any]) -> Any:
    """Return an unfitted model with its defaults and the public facts that it asks for."""
    seed, epsilon = task["seed"], task["epsilon"]
    if task["peer"] == "ebm":
        from interpret.privacy import DPExplainableBoostingClassifier, DPExplainableBoostingRegressor

        facts: dict[str, Any] = {
            "feature_types": task["types"],
            "privacy_bounds": {int(place): tuple(ends) for place, ends in task["bounds"].items()},
        }
        if not task["regression"]:
            return DPExplainableBoostingClassifier(
                epsilon=epsilon, delta=task["delta"], random_state=None, n_jobs=1, **facts
            )
        low, high = task["range"]
        facts |= {"privacy_target_min": low, "privacy_target_max": high}
        return DPExplainableBoostingRegressor(
            epsilon=epsilon, delta=task["delta"], random_state=None, n_jobs=1, **facts
        )
    from diffprivlib.models import LinearRegression, LogisticRegression

    if not task["regression"]:
        return LogisticRegression(epsilon=epsilon, data_norm=1.0, random_state=seed, max_iter=1000)
    width = task["columns"]
    bounds = (-np.ones(width), np.ones(width))
    return LinearRegression(epsilon=epsilon, bounds_X=bounds, bounds_y=tuple(task["range"]), random_state=seed)


def main() -> None:
    for line in sys.stdin:
        task = json.loads(line)
        folder = Path(task["folder"])
        X, y, held_out = (np.load(folder / f"{name}.npy") for name in ("X", "y", "held_out"))
        fresh = model(task | {"columns": X.shape[1]})
        start = time.perf_counter()
        fresh.fit(X, y)
        seconds = time.perf_counter() - start
        scores = fresh.predict(held_out) if task["regression"] else fresh.predict_proba(held_out)[:, 1]
        np.save(folder / "scores.npy", np.asarray(scores, dtype=float))
        print(json.dumps(seconds), flush=True)


# A process of its own runs this file, and nothing imports it.
main()
