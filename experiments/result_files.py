"""Tables and pictures of experiments: what each file says about itself, and how pictures look."""

import csv
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import matplotlib

matplotlib.use("svg")
from matplotlib import pyplot
from matplotlib.axes import Axes
from matplotlib.figure import Figure

__all__ = ["RESULTS", "read_table", "save_picture", "tidy", "write_table"]

RESULTS = Path(__file__).resolve().parent / "results"


def write_table(label: str, path: Path, command: str, columns: Sequence[str], rows: Iterable[Sequence[Any]]) -> None:
    """Write a CSV file whose first line says what it is and how it was made."""
    with path.open("w", encoding="utf-8", newline="") as file:
        file.write(f"# {label}; made by: python experiments/{command}\n")
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(columns)
        writer.writerows([f"{cell:.5g}" if isinstance(cell, float) else cell for cell in row] for row in rows)


def read_table(path: Path) -> list[dict[str, str]]:
    """Read such a file back."""
    with path.open(encoding="utf-8") as file:
        return list(csv.DictReader(line for line in file if not line.startswith("#")))


def save_picture(label: str, path: Path, figure: Figure, title: str) -> None:
    """Write an SVG file that is the same every time."""
    figure.suptitle(f"{title}\n{label}", fontsize=11)
    with matplotlib.rc_context({"svg.hashsalt": path.stem, "svg.fonttype": "none"}):
        figure.savefig(path, metadata={"Date": None}, bbox_inches="tight")
    pyplot.close(figure)


def tidy(axes: Axes) -> None:
    """Give a panel the common look."""
    axes.grid(color="#dddddd", linewidth=0.6)
    axes.set_axisbelow(True)
    axes.spines[["top", "right"]].set_visible(False)
