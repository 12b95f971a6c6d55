"""The pictures that commands save."""

import io
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from numpy.typing import NDArray

from tacit.errors import InvalidParameter
from tacit.evaluation import Score
from tacit.files import check_room, write_whole
from tacit.numerics.arrays import Floats
from tacit.releases import Release

_MOST_BARS = 24
FORMATS = ("png", "svg", "pdf", "jpg", "jpeg")


def check_picture(path: Path) -> str:
    """Return the format of a picture, that of its ending or png; refuse a place where none can be written."""
    check_room(path, 2**16)
    kind = path.suffix.lower().removeprefix(".") or "png"
    if kind not in FORMATS:
        raise InvalidParameter(f"a picture ends in {', '.join(FORMATS)}, or in nothing and is png; got {path.name!r}.")
    return kind


def write_picture(path: Path, figure: Figure) -> None:
    """Write a figure under exactly this name, as a whole."""
    kind, drawn = check_picture(path), io.BytesIO()
    figure.savefig(drawn, format=kind, dpi=150)
    write_whole(path, [drawn.getvalue()])


def _figure(height: float) -> tuple[Figure, Axes]:
    figure = Figure(figsize=(8, height), layout="constrained")
    return figure, figure.subplots()


def histogram(path: Path, levels: list[int], private: Release[Floats], truth: NDArray[np.int64]) -> None:
    """Draw private counts beside true ones."""
    figure, axes = _figure(4.5)
    axes.bar([level - 0.2 for level in levels], truth, width=0.4, label="true (public data)", color="lightgray")
    axes.bar([level + 0.2 for level in levels], private.value, width=0.4, label="private")
    axes.set(xlabel="education-num", ylabel="records", title=f"Schooling of {truth.sum():,} people")
    axes.legend(title=f"{private.budget}, replace-one neighbours")
    write_picture(path, figure)


def coefficients(path: Path, names: list[str], model: Any, spread: Floats) -> None:
    """Draw the largest coefficients of a private model, with the spread that its noise gives them."""
    values = model.coef_[0]
    largest = np.argsort(-np.abs(values))[:_MOST_BARS][::-1]
    figure, axes = _figure(7)
    axes.barh(range(len(largest)), values[largest], xerr=spread[largest], color="tab:blue", ecolor="black", capsize=2)
    axes.set_yticks(range(len(largest)), [names[index] for index in largest], fontsize=8)
    axes.axvline(0, color="black", linewidth=0.8)
    axes.set_title(f"The {len(largest)} largest of {len(values)} private coefficients: who earns over 50K?")
    caption = f"coefficient (bars: spread over rehearsals on public data)\n{model.release_.guarantee}"
    axes.set_xlabel(caption, fontsize=7)
    write_picture(path, figure)


def accuracy_curve(
    path: Path, curve: dict[float, list[float]], plain: float, majority: float, epsilon: float, score: Score
) -> None:
    """Draw accuracy against epsilon, with the private score of the released model."""
    figure, axes = _figure(4.5)
    epsilons = sorted(curve)
    means = [float(np.mean(curve[level])) for level in epsilons]
    errors = [float(np.std(curve[level])) for level in epsilons]
    axes.errorbar(
        epsilons, means, yerr=errors, marker="o", capsize=3, label="rehearsals (seeds, public data: not private)"
    )
    axes.axhline(plain, color="gray", linestyle="--", label="without privacy")
    axes.axhline(majority, color="gray", linestyle=":", label="always the majority")
    axes.errorbar(
        [epsilon], [score.value], yerr=score.noise_error, marker="s", color="tab:red", capsize=3,
        label="the released model, scored privately",
    )  # fmt: skip
    axes.set(xscale="log", xlabel="epsilon (replace-one neighbours, delta = 0)", ylabel="accuracy on held-out records")
    axes.set_title("Adult: what privacy costs")
    axes.legend()
    write_picture(path, figure)
