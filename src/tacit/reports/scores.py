"""Private scores as the report shows them."""

import math
from typing import Any

from markupsafe import Markup

from tacit.evaluation import ClassesReport, Figure, RegressionReport, Report, TwoClassReport
from tacit.evaluation.figure import in_words, number
from tacit.reports.card import Card
from tacit.reports.drawing import shown, square_picture
from tacit.reports.page import Scored, model_page

_MOST_CLASSES = 6
_LONGEST_TITLE = 500
_THRESHOLDS = (0.01, 0.02, 0.05, 0.1, 0.2, 0.3, 0.5, 0.7, 0.9)
_RATES = ("recall", "precision", "false_positive_rate", "positive_share")


def scored(report: Report) -> list[Scored]:
    """Return what was judged, and every figure with where noise, and noise and sampling together, leave it."""
    found = [Scored("judged", "", shown(report.title, _LONGEST_TITLE))]
    for name, figure in report.figures().items():
        ranges = f"noise {in_words(figure.noise)}; with sampling {in_words(figure.interval)}"
        interval = f"{ranges} ({figure.confidence:.0%} each)"
        found.append(Scored(name.replace("_", " "), number(figure.value), interval))
    for rates in at_thresholds(report):
        words = ", ".join(f"{name.replace('_', ' ')} {rates[name]:.3f}" for name in _RATES)
        found.append(Scored(f"positive above {rates['threshold']:g}", "", words))
    return found


def scores_page(model: Any, card: Card, report: Report, again: str = "") -> str:
    """Return the page about a model, and a report on it."""
    return model_page(
        model, card, again=again, scores=scored(report), scores_guarantee=report.release.guarantee,
        pictures=pictures_of(report),
    )  # fmt: skip


def finite(number: float) -> float | None:
    """Return a number, None for what is none or has no bound."""
    return float(number) if math.isfinite(number) else None


def plain_figure(figure: Figure) -> dict[str, Any]:
    """Return a score and where it is: as far as noise goes, as far as the sample goes, and both."""
    ranges = {name: [finite(end) for end in getattr(figure, name)] for name in ("noise", "sampling", "interval")}
    return {"value": finite(figure.value), **ranges, "confidence": figure.confidence}


def at_thresholds(report: Report) -> list[dict[str, float]]:
    """Return what follows from calling positive above some probabilities, for models of two classes that have them.

    All of it is in the table that was released: it costs nothing more.
    """
    if not isinstance(report, TwoClassReport) or not report.has_probabilities:
        return []
    found = [(threshold, report.at(threshold)) for threshold in _THRESHOLDS]
    return [{"threshold": place, **{name: rates[name].value for name in _RATES}} for place, rates in found]


def pictures_of(report: Report) -> list[Markup]:
    """Return the ROC curve, precision against recall and the calibration of a classifier, one drawing each."""
    if isinstance(report, RegressionReport):
        return []
    if isinstance(report, ClassesReport):
        each = [(str(name), report.of(name)) for name in report.classes[:_MOST_CLASSES]]
        curves = [(two.roc.x, two.roc.y) for _, two in each]
        return [square_picture("ROC of each class", "false alarms", "hits", curves, diagonal=True)]
    assert isinstance(report, TwoClassReport)
    roc, precision = report.roc, report.precision_recall
    drawn = [
        square_picture("ROC", "false alarms", "hits", [(roc.x, roc.y)], diagonal=True),
        square_picture("Precision and recall", "recall", "precision", [(precision.x, precision.y)]),
    ]
    if report.has_probabilities:
        said = report.calibration
        points = [
            (float(place), figure.value, figure.noise)
            for place, figure in zip(said.predicted, said.observed, strict=True)
        ]
        drawn.append(square_picture("Calibration", "predicted", "observed", [], points=points, diagonal=True))
    return drawn
