"""How long does an untuned fit with a delta take? Side by side with scikit-learn's LogisticRegression and a pure fit.

Whole fits: reading, measuring and clipping the rows, calibration, a certified solution or all noisy steps, noise.
Contenders take turns in one process, on as many threads as the library may use; medians of wall time and of processor
time are compared (the latter is what a busy machine leaves comparable). scikit-learn stops at its default tolerance, on
MNIST after 100 iterations and not before, and keeps its default ridge.

    python benchmarks/speed_delta.py            # everything; writes benchmarks/results/speed_delta.md
    python benchmarks/speed_delta.py --quick    # a tenth of the rows, nothing written
"""

import argparse
import os
import statistics
import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import datasets
import numpy as np
from sklearn.linear_model import LogisticRegression
from speed import NORM, problem

from tacit import PrivateLogisticRegression

RESULTS = Path(__file__).parent / "results" / "speed_delta.md"
BUDGET = (1.0, 1e-6)


@dataclass(frozen=True)
class Line:
    """What is compared, the seconds of both (wall, processor), and the ratio that was asked for."""

    what: str
    ours: tuple[float, float]
    theirs: tuple[float, float]
    demanded: float

    def __str__(self) -> str:
        ratios = [mine / other for mine, other in zip(self.ours, self.theirs, strict=True)]
        met = "yes" if max(ratios) <= self.demanded else "NO"
        cells = [f"{mine:.3g} / {other:.3g}" for mine, other in zip(self.ours, self.theirs, strict=True)]
        return (
            f"| {self.what} | {cells[0]} | {ratios[0]:.2f} | {cells[1]} | {ratios[1]:.2f} | {self.demanded:g} | {met} |"
        )


def compared(what: str, ours: Callable[[], object], theirs: Callable[[], object], demanded: float, turns: int) -> Line:
    """Let both take turns, and print the medians."""
    times: dict[int, list[tuple[float, float]]] = {0: [], 1: []}
    for _ in range(turns):
        for number, run in enumerate((ours, theirs)):
            wall, processor = time.perf_counter(), time.process_time()
            run()
            times[number].append((time.perf_counter() - wall, time.process_time() - processor))
    medians = [
        (statistics.median(t[0] for t in taken), statistics.median(t[1] for t in taken)) for taken in times.values()
    ]
    line = Line(what, medians[0], medians[1], demanded)
    print(line, flush=True)
    return line


def private(X: np.ndarray, y: np.ndarray, norm: float, delta: float = BUDGET[1]) -> Callable[[], object]:
    """Return an untuned fit."""
    return lambda: PrivateLogisticRegression(BUDGET[0], delta, data_norm=norm, classes=np.unique(y)).fit(X, y)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="a tenth of the rows, nothing written")
    quick = parser.parse_args().quick
    # 100 iterations are asked for, and fits under no ledger.
    warnings.simplefilter("ignore")
    share = 10 if quick else 1
    lines = []
    for name, smallest, demanded in (("well-conditioned", 1.0, 1.5), ("column scales 1 to 0.01", 0.01, 0.2)):
        data = problem(1_000_000 // share, 50, smallest)
        what = f"{len(data.y):,} x 50, {name}: delta / lbfgs"
        lines.append(compared(what, private(data.X, data.y, NORM), lambda d=data: d.sklearn("lbfgs"), demanded, 3))
    data = problem(200_000 // share, 188)
    what = f"{len(data.y):,} x 188: delta / pure"
    lines.append(compared(what, private(data.X, data.y, NORM), private(data.X, data.y, NORM, 0.0), 3.0, 3))
    digits = datasets.mnist()
    X, y = np.asarray(digits.rows)[::share], np.asarray(digits.labels)[::share]
    what = f"MNIST, {len(y):,} x 784, 10 classes: delta / 100 iterations of lbfgs"
    plain = LogisticRegression(max_iter=100, tol=1e-12, fit_intercept=False)
    lines.append(compared(what, private(X, y, 1.0), lambda: plain.fit(X, y), 0.7, 1))
    if quick:
        return
    load = ", ".join(f"{load:.1f}" for load in os.getloadavg())
    head = "| what | wall, s | ratio | processor, s | ratio | asked for, at most | met |\n" + "|---" * 7 + "|"
    text = ["# Fits with a delta", "", "`python benchmarks/speed_delta.py`", "", __doc__.split("\n\n")[1], ""]
    text += [f"epsilon {BUDGET[0]:g}, delta {BUDGET[1]:g}; load of the machine at the end: {load}.", "", head]
    RESULTS.write_text("\n".join([*text, *map(str, lines), ""]))


if __name__ == "__main__":
    main()
