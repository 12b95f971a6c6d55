"""Figure 2 (a) of Jain and Thakurta 2013: CoverType, class 2 against the rest, cubic kernel, accuracy against epsilon.

    python experiments/icml2013_figure2a.py            five runs, under ten minutes on two cores
    python experiments/icml2013_figure2a.py --runs 1   a quick look

A rehearsal: seeds, and public data. The landmarks are unlabelled rows outside the training set, as in the paper's
semi-interactive setting; they are not tested on. Columns are scaled by the landmarks alone.
"""

import argparse
import math
import resource
import time
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from icml2013 import COLOURS, LABEL, RESULTS, Floats, datasets, save_picture, scaled_by, tidy, write_table
from matplotlib import pyplot
from rich.progress import Progress

from tacit.budget import Budget
from tacit.data import Number
from tacit.erm.fitting import logistic_for
from tacit.kernels import Landmarks, Polynomial
from tacit.kernels.kernel.domain import Domain
from tacit.kernels.released.model import release_linear
from tacit.releases import Terms

EPSILONS = (0.01, 0.03, 0.1, 0.2, 0.5, 1.0, 2.0)
DELTA, TRAINING, LANDMARKS, NUMBERS = 1e-6, 500_000, 600, 10
PUBLISHED = 0.723
PROTOTYPE = {0.1: 0.771, 0.5: 0.788, 1.0: 0.790}
COLUMNS = ("run", "epsilon", "accuracy", "majority", "ridge", "seconds")


def covtype() -> tuple[Floats, Floats]:
    """Return the 54 columns, numbers over their codebook's range, and +1 for class 2."""
    table, labels = datasets._covtype_table()
    blocks = []
    for name, column in datasets.COVTYPE_SCHEMA.columns.items():
        if isinstance(column, Number):
            blocks.append(((column.clean(table[name])[0] - column.low) / (column.high - column.low))[:, None])
        else:
            blocks.append((table[name][:, None] == np.arange(len(column.classes))).astype(np.float64))
    return np.hstack(blocks), np.where(labels == 2, 1.0, -1.0)


def measure(
    run: int, rows: Floats, labels: Floats, epsilons: Sequence[float], landmarks: int, progress: Progress
) -> list[tuple[int, float, float, float, float, float]]:
    """Draw a split, map all rows, and fit once for each epsilon (infinite: without privacy)."""
    task = progress.add_task(f"run {run}", total=len(epsilons) + 1)
    order = np.random.default_rng([2013, run]).permutation(len(labels))
    train, public, test = np.split(order, [TRAINING, TRAINING + landmarks])
    scaled = scaled_by(rows[public], NUMBERS, rows)
    mapped = Landmarks.at(Domain(Polynomial(3, constant=1.0), 1.0, rows.shape[1]), scaled[public])
    started = time.perf_counter()
    features, targets = mapped.features(scaled[train]), labels[train]
    spent = time.perf_counter() - started
    progress.advance(task)
    majority = float(max(np.mean(labels[test] == 1), np.mean(labels[test] == -1)))
    found = []
    for epsilon in epsilons:
        started = time.perf_counter()
        budget = None if math.isinf(epsilon) else Budget(epsilon, DELTA)
        terms = Terms(None, LABEL, run, ("both classes",))
        released = release_linear(mapped, features, targets, logistic_for, budget, "auto", "auto", terms)
        seconds = spent + time.perf_counter() - started
        accuracy = float(np.mean(np.sign(released.model.scores(scaled[test])[:, 0]) == labels[test]))
        found.append((run, epsilon, accuracy, majority, released.alpha, seconds))
        progress.advance(task)
    return found


def draw(path: Path, found: list[tuple[int, float, float, float, float, float]]) -> None:
    """Draw mean accuracy with its range over runs, beside the paper's baseline."""
    figure, axes = pyplot.subplots(figsize=(7, 4.5), layout="constrained")
    epsilons = sorted({row[1] for row in found if not math.isinf(row[1])})
    by_epsilon = [[row[2] for row in found if row[1] == epsilon] for epsilon in epsilons]
    axes.fill_between(
        epsilons, [min(each) for each in by_epsilon], [max(each) for each in by_epsilon], color=COLOURS["private"],
        alpha=0.2, linewidth=0,
    )  # fmt: skip
    axes.plot(epsilons, [np.mean(each) for each in by_epsilon], "o-", color=COLOURS["private"], label="tacit")
    axes.axhline(PUBLISHED, color=COLOURS["published"], label="2013 paper, without privacy")
    axes.axhline(np.mean([row[2] for row in found if math.isinf(row[1])]), color=COLOURS["none"], label="no privacy")
    axes.axhline(np.mean([row[3] for row in found]), color=COLOURS["none"], linestyle=":", label="majority class")
    axes.set_xscale("log")
    axes.set_xlabel("epsilon (delta 1e-6)")
    axes.set_ylabel("test accuracy")
    axes.legend(frameon=False, fontsize=9)
    tidy(axes)
    save_picture(path, figure, "ICML 2013, Figure 2 (a): CoverType, cubic kernel, 500,000 training rows")


def main(given: Sequence[str] | None = None) -> None:
    """Measure, write the table and draw the picture."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--landmarks", type=int, default=LANDMARKS)
    parser.add_argument("--output", type=Path, default=RESULTS, help="the folder to write to")
    asked = parser.parse_args(given)
    rows, labels = covtype()
    found = []
    started = time.perf_counter()
    with Progress() as progress:
        for run in range(asked.runs):
            found += measure(run, rows, labels, (*EPSILONS, math.inf), asked.landmarks, progress)
    asked.output.mkdir(parents=True, exist_ok=True)
    command = f"icml2013_figure2a.py --runs {asked.runs} --landmarks {asked.landmarks}"
    write_table(asked.output / "icml2013_figure2a.csv", command, COLUMNS, found)
    draw(asked.output / "icml2013_figure2a.svg", found)
    for epsilon in (*EPSILONS, math.inf):
        each = [row[2] for row in found if row[1] == epsilon]
        print(f"epsilon {epsilon:5g}: {np.mean(each):.4f} (from {min(each):.4f} to {max(each):.4f})")
    used = resource.getrusage(resource.RUSAGE_SELF)
    print(
        f"{time.perf_counter() - started:.0f} s in all, {used.ru_utime + used.ru_stime:.0f} s of one core, "
        f"{used.ru_maxrss / 2**20:.1f} GiB at most"
    )


if __name__ == "__main__":
    main()
