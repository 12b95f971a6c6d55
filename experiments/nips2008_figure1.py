"""Figure 1 of Chaudhuri and Monteleoni 2008, a table of test errors: as described, and as it may have been made.

    python experiments/nips2008_figure1.py             about four minutes
    python experiments/nips2008_figure1.py --draws 20  a quick look

A rehearsal: seeds, and public synthetic data.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from matplotlib import pyplot
from nips2008 import (
    ALPHA,
    COLOURS,
    DATA,
    METHODS,
    NAMES,
    POINTS,
    TITLES,
    Fold,
    Measured,
    arguments,
    folds,
    private,
    save_picture,
    standard,
    write_table,
)
from result_files import read_table, tidy
from rich.progress import Progress

PUBLISHED = {
    ("separable", "sensitivity"): (0.2962, 0.0617),
    ("separable", "new"): (0.1426, 0.1284),
    ("separable", "standard"): (0.0, 0.0016),
    ("noisy", "sensitivity"): (0.3257, 0.0536),
    ("noisy", "new"): (0.1903, 0.1105),
    ("noisy", "standard"): (0.0530, 0.1105),
}
"""Means and standard deviations as printed; the last one repeats the line above it."""

SWEEP = (0.016, 0.018, 0.02, 0.0225)
DATA_SETS = 20
COLUMNS = (
    "data", "scenario", "method", "epsilon", "training_rows", "ridge", "error", "standard_error",
    "spread_over_runs", "spread_over_folds", "published_error", "published_spread",
)  # fmt: skip


@dataclass(frozen=True)
class Scenario:
    """One reading of what the table shows."""

    name: str
    epsilon: float
    take: Callable[[Fold], Fold]
    alpha: float = ALPHA


def whole(fold: Fold) -> Fold:
    """Train on all 14,000 records of a fold."""
    return fold


def a_fifth(fold: Fold) -> Fold:
    """Train on a fifth of them."""
    return fold.first(len(fold.y) // 5)


SCENARIOS = (
    Scenario("as described", 0.1, whole),
    *(Scenario(f"epsilon {epsilon:g}", epsilon, whole) for epsilon in SWEEP),
    Scenario("a fifth of the rows", 0.1, a_fifth),
    Scenario("trained on the test fold", 0.1, Fold.swapped),
    Scenario("a fifth of the ridge", 0.1, whole, ALPHA / 5),
)
SHOWN = ("as described", "epsilon 0.02", "a fifth of the rows", "trained on the test fold", "a fifth of the ridge")

Found = dict[tuple[str, str, str], tuple[Scenario, int, Measured]]


def measure(draws: int) -> Found:
    """Measure every method in every scenario on both data sets."""
    found: Found = {}
    with Progress() as progress:
        task = progress.add_task("Figure 1", total=len(DATA) * len(SCENARIOS) * len(METHODS))
        for data, make in DATA.items():
            parts = list(folds(*make(POINTS)))
            for scenario in SCENARIOS:
                taken = [scenario.take(fold) for fold in parts]
                rows = len(taken[0].y)
                found[data, scenario.name, "standard"] = scenario, rows, standard(taken, scenario.alpha)
                for method in METHODS:
                    measured = private(method, taken, scenario.epsilon, draws, alpha=scenario.alpha)
                    found[data, scenario.name, method] = scenario, rows, measured
                    progress.advance(task)
    return found


def implied_epsilon(found: Found, data: str, method: str) -> float:
    """Return the epsilon at which the measured error is the published one, between the points of the sweep."""
    errors = [found[data, f"epsilon {epsilon:g}", method][2].mean for epsilon in SWEEP]
    return float(np.interp(-PUBLISHED[data, method][0], -np.array(errors), SWEEP))


def standard_errors_over_data_sets(data: str, take: Callable[[Fold], Fold]) -> np.ndarray:
    """Return the ordinary model's error on data sets drawn afresh, as large as the paper's."""
    return np.array(
        [standard([take(fold) for fold in folds(*DATA[data](POINTS, 1 + seed))]).mean for seed in range(DATA_SETS)]
    )


def rows_of(found: Found) -> list[list[object]]:
    """Return the table's rows: the scenarios, the implied epsilons, and the ordinary model over data sets."""
    rows: list[list[object]] = []
    for (data, name, method), (scenario, count, measured) in found.items():
        epsilon: object = scenario.epsilon if method in METHODS else ""
        kept = [measured.ridge, measured.mean, measured.standard_error, measured.spread, measured.fold_spread]
        rows.append([data, name, method, epsilon, count, *kept, *PUBLISHED[data, method]])
    for data, method in PUBLISHED:
        if method in METHODS:
            implied, count = implied_epsilon(found, data, method), found[data, "as described", method][1]
            blank = ["", "", "", ""]
            rows.append([data, "published (implied)", method, implied, count, ALPHA, *blank, *PUBLISHED[data, method]])
    for name, take in (("as described", whole), ("a fifth of the rows", a_fifth)):
        errors, count = standard_errors_over_data_sets("noisy", take), found["noisy", name, "standard"][1]
        spread = float(errors.std(ddof=1))
        kept = [float(errors.mean()), spread / DATA_SETS**0.5, spread, ""]
        fresh = f"{name}, {DATA_SETS} data sets"
        rows.append(["noisy", fresh, "standard", "", count, ALPHA, *kept, *PUBLISHED["noisy", "standard"]])
    return rows


def draw(path: Path, table: list[dict[str, str]]) -> None:
    """Draw measured errors as points with their spread, and the published ones as lines."""
    found = {(row["data"], row["scenario"], row["method"]): row for row in table}
    figure, panels = pyplot.subplots(1, 2, figsize=(10, 4), sharey=True, layout="constrained")
    for axes, data in zip(panels, DATA, strict=True):
        for method in (*METHODS, "standard"):
            axes.axvline(PUBLISHED[data, method][0], color=COLOURS[method], linestyle="--", linewidth=1)
            rows = [found[data, name, method] for name in SHOWN]
            axes.errorbar(
                [float(row["error"]) for row in rows],
                range(len(SHOWN)),
                xerr=[float(row["spread_over_runs"]) for row in rows],
                fmt="o",
                color=COLOURS[method],
                label=NAMES[method],
                capsize=2,
                linewidth=0.8,
                markersize=5,
            )
        axes.set_yticks(range(len(SHOWN)), SHOWN)
        axes.set_xlim(left=-0.01)
        axes.set_xlabel("test error")
        axes.set_title(TITLES[data], fontsize=10)
        tidy(axes)
    panels[0].invert_yaxis()
    handles, labels = panels[0].get_legend_handles_labels()
    figure.legend(handles, labels, frameon=False, fontsize=9, ncols=3, loc="outside lower center")
    title = "NIPS 2008, Figure 1: the published errors (dashed) and five readings of the experiment"
    save_picture(path, figure, f"{title}\n(bar: one standard deviation over runs)")


def main(given: Sequence[str] | None = None) -> None:
    """Measure, write the table and draw the picture."""
    asked = arguments(__doc__, 1000, given)
    path = asked.output / "nips2008_figure1.csv"
    write_table(path, f"{path.stem}.py --draws {asked.draws}", COLUMNS, rows_of(measure(asked.draws)))
    draw(path.with_suffix(".svg"), read_table(path))


if __name__ == "__main__":
    main()
