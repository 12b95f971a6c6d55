"""Figure 2 of Chaudhuri and Monteleoni 2008: test error against the number of records and against epsilon.

    python experiments/nips2008_figure2.py             about three minutes
    python experiments/nips2008_figure2.py --draws 20  a quick look

A rehearsal: seeds, and public synthetic data.
"""

from collections.abc import Sequence
from pathlib import Path

from matplotlib import pyplot
from matplotlib.axes import Axes
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
from result_files import tidy
from rich.progress import Progress

EPSILON = 0.1
SIZES = tuple(range(1000, 14_001, 1000))
ROWS = 10_000
EPSILONS = (0.005, 0.01, 0.02, 0.03, 0.04, 0.06, 0.08, 0.1, 0.12, 0.14, 0.16, 0.18, 0.2)
COLUMNS = (
    "data", "curve", "method", "epsilon", "training_rows", "ridge", "error", "standard_error", "spread_over_runs",
)  # fmt: skip

Found = dict[tuple[str, str, str], dict[float, Measured]]


def measure(draws: int) -> Found:
    """Measure the four panels: two curves for each of two data sets."""
    found: Found = {}
    with Progress() as progress:
        task = progress.add_task("Figure 2", total=len(DATA) * len(METHODS) * (len(SIZES) + len(EPSILONS)))

        def curve(method: str, points: dict[float, tuple[list[Fold], float]]) -> dict[float, Measured]:
            measured = {}
            for at, (parts, epsilon) in points.items():
                measured[at] = private(method, parts, epsilon, draws)
                progress.advance(task)
            return measured

        for data, make in DATA.items():
            parts = list(folds(*make(POINTS)))
            shorter = {size: [fold.first(size) for fold in parts] for size in {*SIZES, ROWS}}
            found[data, "rows", "standard"] = {size: standard(shorter[size]) for size in SIZES}
            found[data, "epsilon", "standard"] = {epsilon: standard(shorter[ROWS]) for epsilon in EPSILONS}
            for method in METHODS:
                found[data, "rows", method] = curve(method, {size: (shorter[size], EPSILON) for size in SIZES})
                found[data, "epsilon", method] = curve(method, {each: (shorter[ROWS], each) for each in EPSILONS})
    return found


def rows_of(found: Found) -> list[list[object]]:
    """Return the table's rows."""
    rows: list[list[object]] = []
    for (data, curve, method), points in found.items():
        for at, measured in points.items():
            epsilon, count = (EPSILON, at) if curve == "rows" else (at, ROWS)
            kept = [measured.ridge, measured.mean, measured.standard_error, measured.spread]
            rows.append([data, curve, method, epsilon if method in METHODS else "", int(count), *kept])
    return rows


def draw_panel(axes: Axes, data: str, curve: str, found: Found) -> None:
    """Draw one panel; open circles stand where the guarantee needs more ridge than the paper's."""
    for method in (*METHODS, "standard"):
        points = found[data, curve, method]
        scale = 1000 if curve == "rows" else 1
        places = [at / scale for at in points]
        means = [each.mean for each in points.values()]
        colour = COLOURS[method]
        axes.plot(places, means, color=colour, label=NAMES[method], linewidth=1.4)
        if method in METHODS:
            low = [each.mean - 2 * each.standard_error for each in points.values()]
            high = [each.mean + 2 * each.standard_error for each in points.values()]
            axes.fill_between(places, low, high, color=colour, alpha=0.2, linewidth=0)
            for raised in (False, True):
                kept = [index for index, each in enumerate(points.values()) if (each.ridge > ALPHA) == raised]
                axes.plot(
                    [places[index] for index in kept], [means[index] for index in kept], "o", color=colour,
                    markerfacecolor="white" if raised else colour, markersize=4,
                )  # fmt: skip
    axes.set_ylim(0, 0.55)
    axes.set_xlim(left=0)
    axes.set_title(TITLES[data], fontsize=10)
    tidy(axes)


def draw(path: Path, found: Found) -> None:
    """Draw the four panels as the paper arranges them."""
    figure, panels = pyplot.subplots(2, 2, figsize=(10, 7), sharey=True, layout="constrained")
    for column, data in enumerate(DATA):
        for row, (curve, label) in enumerate(
            [
                ("rows", f"training records / 1000 (epsilon {EPSILON})"),
                ("epsilon", f"epsilon ({ROWS:,} training records)"),
            ]
        ):
            draw_panel(panels[row, column], data, curve, found)
            panels[row, column].set_xlabel(label)
            panels[row, 0].set_ylabel("test error")
    panels[0, 0].legend(frameon=False, fontsize=9)
    title = "NIPS 2008, Figure 2, at the epsilon and the numbers of records that the paper names"
    save_picture(path, figure, f"{title}\n(band: two standard errors; open circle: ridge raised for privacy)")


def main(given: Sequence[str] | None = None) -> None:
    """Measure, write the table and draw the picture."""
    asked = arguments(__doc__, 200, given)
    found = measure(asked.draws)
    write_table(
        asked.output / "nips2008_figure2.csv", f"nips2008_figure2.py --draws {asked.draws}", COLUMNS, rows_of(found)
    )
    draw(asked.output / "nips2008_figure2.svg", found)


if __name__ == "__main__":
    main()
