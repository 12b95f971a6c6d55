"""Pictures of reports. matplotlib is loaded when the first is drawn."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from tacit.evaluation.knots import PARTS

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from tacit.evaluation.regression import RegressionReport
    from tacit.evaluation.several import ClassesReport
    from tacit.evaluation.two import TwoClassReport

_MOST_CURVES = 10


def draw_two(report: "TwoClassReport", path: str | Path) -> None:
    """Draw ROC, precision-recall, calibration and the distribution of scores."""
    figure, axes = _panels(2, 2, report)
    _roc(axes[0, 0], report, f"AUC {_bars(report.auc)}")
    axes[0, 0].set_title("ROC")
    curve = report.precision_recall
    axes[0, 1].plot(curve.x, curve.y, label=f"average precision {_bars(report.average_precision)}")
    axes[0, 1].set(xlabel="recall", ylabel="precision", ylim=(0, 1.02), title="Precision and recall")
    axes[0, 1].legend(fontsize=8)
    if report.has_probabilities:
        _calibration(axes[1, 0], report)
    places = report.table.places
    for row, name in zip(report.table.masses[::-1], report.classes, strict=True):
        heights = row.reshape(-1, PARTS).sum(axis=1)
        middles = places.reshape(-1, PARTS).mean(axis=1)
        axes[1, 1].plot(middles, np.maximum(heights, 0.0), marker="o", markersize=3, label=str(name))
    axes[1, 1].set(xlabel="log-odds" if report.has_probabilities else "score", ylabel="records in the bin")
    axes[1, 1].set_title("Scores by class")
    axes[1, 1].legend(fontsize=8)
    figure.savefig(path, dpi=130)


def draw_several(report: "ClassesReport", path: str | Path) -> None:
    """Draw the ROC curves of the first classes, and the area under the curve of each."""
    figure, axes = _panels(1, 2, report)
    shown = report.classes[:_MOST_CURVES].tolist()
    for name in shown:
        _roc(axes[0, 0], report.of(name), str(name))
    axes[0, 0].set_title("ROC of each class against the rest")
    areas = [report.of(name).auc for name in shown]
    values = np.array([area.value for area in areas])
    bounds = np.array([area.interval for area in areas]).T
    axes[0, 1].errorbar(values, range(len(shown)), xerr=np.abs(bounds - values), fmt="o", capsize=3)
    axes[0, 1].set_yticks(range(len(shown)), [str(name) for name in shown])
    axes[0, 1].set(xlabel="AUC (bars: noise and sampling)")
    figure.savefig(path, dpi=130)


def draw_regression(report: "RegressionReport", path: str | Path) -> None:
    """Draw the distribution of errors and the calibration of intervals."""
    figure, axes = _panels(1, 2, report)
    low, high = report.target_range
    middles = report.errors.places.reshape(-1, PARTS).mean(axis=1) * (high - low) / 2
    widths = report.errors.knots.spans * (high - low) / 2
    heights = np.maximum(report.errors.masses[0].reshape(-1, PARTS).sum(axis=1), 0.0) / widths
    axes[0, 0].fill_between(middles, heights, alpha=0.4)
    axes[0, 0].set(xlabel="target minus prediction", ylabel="records per unit", title=f"R2 {_bars(report.r2)}")
    levels = np.linspace(0.1, 0.95, 12).tolist()
    found = report.interval_calibration(levels)
    values = np.array([each.value for each in found.values()])
    bounds = np.array([each.interval for each in found.values()]).T
    axes[0, 1].plot([0, 1], [0, 1], color="gray", linestyle=":")
    axes[0, 1].errorbar(levels, values, yerr=np.abs(bounds - values), marker="o", capsize=3)
    axes[0, 1].set(xlabel="level of the interval prediction +- z rmse", ylabel="share of records in it")
    figure.savefig(path, dpi=130)


def _panels(rows: int, columns: int, report: Any) -> tuple[Any, Any]:
    from matplotlib.figure import Figure

    figure = Figure(figsize=(5.2 * columns, 4.4 * rows), layout="constrained")
    figure.suptitle(report.release.guarantee, fontsize=8, wrap=True)
    return figure, figure.subplots(rows, columns, squeeze=False)


def _roc(axes: "Axes", report: "TwoClassReport", label: str) -> None:
    axes.plot(report.roc.x, report.roc.y, label=label)
    axes.plot([0, 1], [0, 1], color="gray", linestyle=":", linewidth=0.8)
    axes.set(xlabel="false positive rate", ylabel="true positive rate")
    axes.legend(fontsize=8, loc="lower right")


def _calibration(axes: "Axes", report: "TwoClassReport") -> None:
    found = report.calibration
    values = np.array([each.value for each in found.observed])
    bounds = np.array([each.interval for each in found.observed]).T
    axes.plot([0, 1], [0, 1], color="gray", linestyle=":")
    axes.errorbar(found.predicted, values, yerr=np.abs(bounds - values), marker="o", capsize=3)
    axes.set(xlabel="probability", ylabel=f"share of {report.classes[1]}", title="Calibration")


def _bars(figure: Any) -> str:
    return f"{figure.value:.3f} ({figure.interval[0]:.3f} to {figure.interval[1]:.3f})"
