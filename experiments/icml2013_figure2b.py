"""Figure 2 (b) of Jain and Thakurta 2013, on other data: a linear model in very many dimensions.

    python experiments/icml2013_figure2b.py            three runs, about five minutes of one core
    python experiments/icml2013_figure2b.py --runs 1   a quick look

The paper's set (KDD Cup 2010) is not available; this is news20, 62,061 words, the first ten newsgroups against the last
ten. Its claim: noise in the objective grows with the dimension, while answers at a public sample do not know it. A
rehearsal: seeds, and public data. The landmarks are unlabelled texts outside the training set, not tested on.
"""

import argparse
import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp
from icml2013 import COLOURS, RESULTS, Floats, datasets, save_picture, tidy, write_table
from matplotlib import pyplot
from matplotlib.axes import Axes
from rich.progress import Progress
from sklearn.datasets import load_svmlight_file

from tacit.erm import Logistic
from tacit.erm.classification import PrivateLogisticRegression
from tacit.erm.general import PrivateERM
from tacit.kernels import Linear, PrivateKernelClassifier

EPSILONS = (0.1, 0.3, 1.0, 3.0)
WIDTHS = (100, 1_000, 10_000)
DELTA, TRAINING, LANDMARKS = 1e-6, 5_000, 500
CLASSES = [-1.0, 1.0]
METHODS = {
    "objective, pure": ("#b5522b", "objective perturbation (2011), delta 0"),
    "objective, Gaussian": ("#e0a030", "objective perturbation, Gaussian (tacit's)"),
    "landmarks": ("#20639b", "landmarks (tacit's default)"),
    "matched": ("#3caea3", "TDDL, matched noise"),
    "tddl": ("#888888", "TDDL as published"),
}
COLUMNS = ("panel", "method", "columns", "epsilon", "run", "accuracy", "ridge")

Row = tuple[str, str, int, float, int, float, float]


def news() -> tuple[Any, Floats]:
    """Return texts as rows of norm 1, logarithms of word counts, and +1 for the first ten newsgroups."""
    counts, groups = load_svmlight_file(str(datasets._found("libsvm/news20.bz2")))
    rows = sp.csr_array(counts)
    rows.data = np.log1p(np.maximum(rows.data, 0))
    return unit(rows), np.where(groups <= 10, 1.0, -1.0)


def unit(rows: Any) -> Any:
    """Divide every row by its own norm."""
    lengths = np.sqrt(np.asarray(rows.multiply(rows).sum(axis=1))).ravel()
    return sp.csr_array(sp.diags_array(1 / np.maximum(lengths, 1e-9)) @ rows)


def hashed(rows: Any, width: int) -> Any:
    """Add up columns with random signs until so many are left: the same texts in fewer dimensions."""
    generator = np.random.default_rng(width)
    places, signs = generator.integers(0, width, rows.shape[1]), generator.choice([-1.0, 1.0], rows.shape[1])
    return unit(sp.csr_array(rows @ sp.csr_array((signs, (np.arange(len(places)), places)), (len(places), width))))


def fitted(method: str, epsilon: float, rows: Any, labels: Floats, public: Any, seed: int) -> Any:
    """Fit one model; with an infinite epsilon, without privacy."""
    common: dict[str, Any] = {"data_norm": 1.0, "classes": CLASSES, "random_state": seed}
    model: Any
    if method == "objective, pure":
        model = PrivateERM(Logistic(), epsilon, perturbation="objective", fit_intercept=False, **common)
    elif method == "objective, Gaussian":
        model = PrivateLogisticRegression(epsilon, DELTA, perturbation="objective", fit_intercept=False, **common)
    else:
        model = PrivateKernelClassifier(
            Linear(),
            epsilon,
            DELTA,
            landmarks=public,
            method=method,
            **common,  # type: ignore[arg-type]
        )
    return model.fit(rows, labels)


def measure(runs: int) -> list[Row]:
    """Measure accuracy against epsilon for all methods, and against the number of columns at epsilon 1 for three."""
    rows, labels = news()
    found: list[Row] = []
    tables = {rows.shape[1]: rows, **{width: hashed(rows, width) for width in WIDTHS}}
    plans = [("epsilon", method, rows.shape[1], epsilon) for method in METHODS for epsilon in EPSILONS]
    plans += [("epsilon", method, rows.shape[1], math.inf) for method in ("objective, pure", "landmarks")]
    plans += [("columns", method, width, 1.0) for method in tuple(METHODS)[:3] for width in (*WIDTHS, rows.shape[1])]
    with Progress() as progress:
        task = progress.add_task("Figure 2 (b)", total=runs * len(plans))
        for run in range(runs):
            order = np.random.default_rng([2013, run]).permutation(len(labels))
            train, public, test = np.split(order, [TRAINING, TRAINING + LANDMARKS])
            for panel, method, width, epsilon in plans:
                table = tables[width]
                model = fitted(method, epsilon, table[train], labels[train], table[public], run)
                accuracy = float(np.mean(model.predict(table[test]) == labels[test]))
                found.append((panel, method, width, epsilon, run, accuracy, float(model.alpha_)))
                progress.advance(task)
    return found


def draw_panel(axes: Axes, found: list[Row], panel: str, place: int) -> None:
    """Draw mean accuracy of every method with its range over runs."""
    for method, (colour, label) in METHODS.items():
        chosen = [row for row in found if row[0] == panel and row[1] == method and not math.isinf(row[3])]
        places = sorted({float(row[place]) for row in chosen})
        groups = [[row[5] for row in chosen if row[place] == at] for at in places]
        if places:
            low, high = [min(each) for each in groups], [max(each) for each in groups]
            axes.fill_between(places, low, high, color=colour, alpha=0.2, linewidth=0)
            axes.plot(places, [float(np.mean(each)) for each in groups], "o-", color=colour, label=label, markersize=4)
    axes.set_xscale("log")
    axes.set_ylim(0.45, 1.0)
    tidy(axes)


def draw(path: Path, found: list[Row]) -> None:
    """Draw both panels."""
    figure, panels = pyplot.subplots(1, 2, figsize=(11, 4.5), sharey=True, layout="constrained")
    draw_panel(panels[0], found, "epsilon", 3)
    plain = [row[5] for row in found if row[1] == "objective, pure" and math.isinf(row[3])]
    panels[0].axhline(float(np.mean(plain)), color=COLOURS["none"], linestyle=":", label="no privacy")
    panels[0].set_xlabel("epsilon (62,061 columns)")
    panels[0].set_ylabel("test accuracy")
    panels[0].legend(frameon=False, fontsize=8)
    draw_panel(panels[1], found, "columns", 2)
    panels[1].set_xlabel("columns (epsilon 1)")
    save_picture(path, figure, "ICML 2013, Figure 2 (b), on news20: 5,000 training rows, 500 public ones")


def main(given: Sequence[str] | None = None) -> None:
    """Measure, write the table and draw the picture."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--output", type=Path, default=RESULTS, help="the folder to write to")
    asked = parser.parse_args(given)
    found = measure(asked.runs)
    asked.output.mkdir(parents=True, exist_ok=True)
    write_table(
        asked.output / "icml2013_figure2b.csv", f"icml2013_figure2b.py --runs {asked.runs}", COLUMNS, found
    )  # fmt: skip
    draw(asked.output / "icml2013_figure2b.svg", found)


if __name__ == "__main__":
    main()
