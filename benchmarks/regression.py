"""Does a delta pay in regression? Untuned fits with and without one, and by what is perturbed.

R^2 on test records, against the declared target without clipping; the mean over tables, negative values counted as at
least -1. `conditional` played no part in the choice of any default (docs/decisions/0014-robust-regression.md), nor did
California housing (10 splits, 80 % for training), where it is at hand.

    python benchmarks/regression.py            # everything; writes benchmarks/results/regression.md
    python benchmarks/regression.py --quick    # four tables a family, nothing written
"""

import argparse
from collections.abc import Callable
from pathlib import Path

import numpy as np
import real_tables
import synthetic_targets as made_up
from synthetic_targets import Task

from tacit import PrivateLinearRegression
from tacit.data import PublicEncoder, Schema

RESULTS = Path(__file__).parent / "results" / "regression.md"
EPSILONS = (0.1, 0.316, 1.0, 3.16)
DELTA = 1e-6
CONTENDERS = {
    "default, delta": {"delta": DELTA},
    "default, pure": {},
    "statistics, delta": {"delta": DELTA, "perturbation": "statistics"},
    "gradient, delta": {"delta": DELTA, "perturbation": "gradient"},
}


def score(task: Task, epsilon: float, seed: int, options: dict[str, object]) -> float:
    """Fit a rehearsal and return R^2 on the test records."""
    model = PrivateLinearRegression(
        epsilon, data_norm=1.0, fit_intercept=False, target_range=task.target_range, random_state=seed, **options
    )
    missed = task.truths - model.fit(task.X, task.y).predict(task.tests)
    return max(-1.0, 1 - float(np.mean(np.square(missed)) / np.var(task.truths)))


def houses(norm: str, splits: int) -> list[Task]:
    """Split California housing, encoded by its codebook."""
    table = next(table for table in real_tables.TABLES if table.name == "prices")
    cells, schema = table.read(), table.schema
    target = str(schema.target)
    column = schema.columns[target]
    inputs = Schema({name: declared for name, declared in schema.columns.items() if name != target})
    rows = np.asarray(PublicEncoder(inputs, norm=norm).transform({name: cells[name] for name in inputs.columns}))
    truths = np.asarray(cells[target], dtype=float)
    tasks = []
    for split in range(splits):
        order = np.random.default_rng(split).permutation(len(truths))
        train, test = np.split(order, [int(0.8 * len(order))])
        tasks.append(Task(rows[train], truths[train], rows[test], truths[test], (column.low, column.high)))
    return tasks


def lines(name: str, tasks: list[Task]) -> list[str]:
    """Return a line for every contender, a column for every epsilon."""
    found = []
    for contender, options in CONTENDERS.items():
        means = [np.mean([score(t, e, seed, options) for seed, t in enumerate(tasks)]) for e in EPSILONS]
        found.append(f"| {name} | {contender} | " + " | ".join(f"{mean:.3f}" for mean in means) + " |")
        print(found[-1], flush=True)
    plain = np.mean([score(t, np.inf, seed, {}) for seed, t in enumerate(tasks)])
    found.append(f"| {name} | without privacy | " + " | ".join([f"{plain:.3f}"] * len(EPSILONS)) + " |")
    print(found[-1], flush=True)
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="four tables a family, nothing written")
    quick = parser.parse_args().quick
    families: dict[str, Callable[[int, int], Task]] = {"additive": made_up.additive, "conditional": made_up.conditional}
    body = []
    for family, draw in families.items():
        for count in (3_000, 12_000):
            body += lines(f"{family}, {count:,} records", [draw(seed, count) for seed in range(4 if quick else 12)])
    for norm in ("scale", "bound"):
        body += lines(f"California housing, rows by {norm}", houses(norm, 2 if quick else 10))
    if quick:
        return
    head = "| table | perturbation | " + " | ".join(f"epsilon {e:g}" for e in EPSILONS) + " |\n|" + "---|" * 6
    text = "\n".join(["# Regression, with a delta and without", "", *__doc__.split("\n\n")[:2], "", head, *body, ""])
    RESULTS.write_text(text)


if __name__ == "__main__":
    main()
