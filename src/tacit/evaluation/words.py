"""Reports as text and as a table for notebooks."""

from collections.abc import Mapping
from html import escape
from typing import Any

from tacit.evaluation.figure import Figure
from tacit.releases import Release


def text_of(title: str, figures: Mapping[str, Figure], release: Release[Any]) -> str:
    """Return a report as lines: the figure, where noise leaves it, and where the population's is."""
    confidence = next(iter(figures.values())).confidence
    lines = [f"{title}  ({release.guarantee})", f"{'':22}{'':>10}{'noise':>22}{'noise and sampling':>24}"]
    for name, figure in figures.items():
        noise, both = (f"{low:.4f} to {high:.4f}" for low, high in (figure.noise, figure.interval))
        lines.append(f"{name:22}{figure.value:10.4f}{noise:>22}{both:>24}")
    lines.append(f"Ranges hold with {confidence:.0%} confidence each.")
    return "\n".join(lines)


def html_of(title: str, figures: Mapping[str, Figure], release: Release[Any]) -> str:
    """Return a report as an HTML table."""
    rows = "".join(
        f"<tr><td>{escape(name)}</td><td>{figure.value:.4f}</td><td>{figure.noise[0]:.4f} to {figure.noise[1]:.4f}</td>"
        f"<td>{figure.interval[0]:.4f} to {figure.interval[1]:.4f}</td></tr>"
        for name, figure in figures.items()
    )
    return (
        f"<table><caption>{escape(title)}<br><small>{escape(release.guarantee)}</small></caption>"
        f"<tr><th></th><th>value</th><th>noise</th><th>noise and sampling</th></tr>{rows}</table>"
    )
