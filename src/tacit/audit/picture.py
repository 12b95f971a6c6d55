"""Bob's trade-off curve beside the region that the claim allows."""

import math
import textwrap
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from tacit.audit.judge import Finding
from tacit.audit.report import AuditReport
from tacit.budget import Budget
from tacit.numerics.arrays import Floats

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


def least_misses(claim: Budget, false_positives: Floats) -> Floats:
    """Return how often Bob must at least take the first data set for the second, given the opposite mistake's rate.

    Guarantee: no test of an (epsilon, delta)-private answer lies below max(0, 1 - delta - e^epsilon x,
    e^-epsilon (1 - delta - x)).
    Assumes: replace-one neighbours.
    Reference: Wasserman and Zhou 2010; Kairouz, Oh and Viswanath 2015.
    """
    odds = math.exp(min(claim.epsilon, 700.0))
    left = 1 - claim.delta - odds * false_positives
    right = (1 - claim.delta - false_positives) / odds
    return np.maximum(0.0, np.maximum(left, right))


def picture(report: AuditReport, path: str | Path | None = None) -> "Figure":
    """Draw the trade-off of every attack; a point in the dark region contradicts the claim."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(7, 6.5), layout="constrained")
    axes = figure.subplots()
    rates = np.linspace(0, 1, 1001)
    allowed = least_misses(report.claim, rates)
    axes.fill_between(rates, 0, allowed, color="tab:red", alpha=0.25, label="forbidden by the claim")
    axes.fill_between(rates, allowed, 1 - rates, where=allowed <= 1 - rates, color="tab:green", alpha=0.15)
    axes.plot(rates, 1 - rates, color="gray", linewidth=1, linestyle=":", label="guessing without the answer")
    for finding in report.findings:
        axes.plot(finding.false_positives, finding.false_negatives, label=f"Bob: {finding.attack}")
        _mark(axes, finding)
    axes.set(
        xlim=(0, 1), ylim=(0, 1), xlabel="how often Bob says 'first' of the second data set",
        ylabel="how often Bob says 'second' of the first data set",
    )  # fmt: skip
    axes.set_title(textwrap.fill(report.conclusion, 90), fontsize=9)
    axes.legend(loc="upper right", fontsize=8)
    if path is not None:
        figure.savefig(path, dpi=150)
    return figure


def _mark(axes: "Axes", finding: Finding) -> None:
    """Draw the event that Bob was judged on, from its rates to the bounds on its chances."""
    counts = finding.counts
    if not counts.likely_plays or not counts.unlikely_plays:
        return
    low, high = counts.chances(finding.confidence)
    rate, chance = counts.unlikely / counts.unlikely_plays, counts.likely / counts.likely_plays
    mistake, miss = np.array([[0.0], [max(0.0, high - rate)]]), np.array([[0.0], [max(0.0, chance - low)]])
    x, y, right, up = (rate, 1 - chance, mistake, miss) if finding.says_first else (1 - chance, rate, miss, mistake)
    axes.errorbar([x], [y], xerr=right, yerr=up, marker="o", color="black", markersize=4, capsize=3)
