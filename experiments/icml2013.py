"""What the experiments of the 2013 kernel paper share: public scaling, the files written, and how they look.

Everything here is a rehearsal: seeds, and public data. Nothing is charged and nothing is private.
"""

import csv
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import matplotlib
import numpy as np
from numpy.typing import NDArray

matplotlib.use("svg")
from matplotlib import pyplot
from matplotlib.axes import Axes
from matplotlib.figure import Figure

# The data sets are read by the benchmarks' own module, which is a script's neighbour and no package.
sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "benchmarks"))
import datasets

__all__ = [
    "COLOURS",
    "LABEL",
    "RESULTS",
    "Floats",
    "datasets",
    "read_table",
    "save_picture",
    "scaled_by",
    "tidy",
    "write_table",
]

Floats = NDArray[np.float64]

RESULTS = Path(__file__).resolve().parent / "results"
LABEL = "rehearsal with seeds, public data"
COLOURS = {"private": "#20639b", "published": "#b5522b", "none": "#555555", "other": "#3caea3"}


def scaled_by(sample: Floats, numbers: int, rows: Floats) -> Floats:
    """Scale rows by a public sample alone: unit variance for the first columns, then unit mean square of a row's norm.

    Rows that are longer than 1 afterwards are clipped by whoever learns from them.
    """
    middle, spread = np.zeros(sample.shape[1]), np.ones(sample.shape[1])
    middle[:numbers], spread[:numbers] = sample[:, :numbers].mean(axis=0), sample[:, :numbers].std(axis=0)
    size = float(np.sqrt(np.mean(np.sum(((sample - middle) / spread) ** 2, axis=1))))
    return np.asarray((rows - middle) / (spread * size))


def write_table(path: Path, command: str, columns: Sequence[str], rows: Iterable[Sequence[Any]]) -> None:
    """Write a CSV file whose first line says what it is and how it was made."""
    with path.open("w", encoding="utf-8", newline="") as file:
        file.write(f"# {LABEL}; made by: python experiments/{command}\n")
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(columns)
        writer.writerows([f"{cell:.5g}" if isinstance(cell, float) else cell for cell in row] for row in rows)


def read_table(path: Path) -> list[dict[str, str]]:
    """Read such a file back."""
    with path.open(encoding="utf-8") as file:
        return list(csv.DictReader(line for line in file if not line.startswith("#")))


def save_picture(path: Path, figure: Figure, title: str) -> None:
    """Write an SVG file that is the same every time."""
    figure.suptitle(f"{title}\n{LABEL}", fontsize=11)
    with matplotlib.rc_context({"svg.hashsalt": path.stem, "svg.fonttype": "none"}):
        figure.savefig(path, metadata={"Date": None}, bbox_inches="tight")
    pyplot.close(figure)


def tidy(axes: Axes) -> None:
    """Give a panel the common look."""
    axes.grid(color="#dddddd", linewidth=0.6)
    axes.set_axisbelow(True)
    axes.spines[["top", "right"]].set_visible(False)
