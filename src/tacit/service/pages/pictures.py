"""Pictures of answers and of a budget's course, as inline SVG that the page colours."""

from collections.abc import Sequence
from xml.etree.ElementTree import Element, SubElement, tostring

from markupsafe import Markup

from tacit.reports.drawing import shown, ticks, write

_WIDE, _LEFT, _RIGHT = 360.0, 30.0, 330.0


def answer_picture(value: float, error: float, low: float, high: float) -> Markup:
    """Draw a value with its error on the range that it can have."""
    root = _drawn(f"{value:g}, give or take {error:g}", 56)
    low, high = min(low, value), max(high, value)

    def x(at: float) -> float:
        return _LEFT + (min(max(at, low), high) - low) / (high - low or 1.0) * (_RIGHT - _LEFT)

    _line(root, [(_LEFT, 20), (_RIGHT, 20)], "zero")
    _line(root, [(x(value - error), 20), (x(value + error), 20)], "whisker")
    for end in (value - error, value + error):
        _line(root, [(x(end), 14), (x(end), 26)], "whisker")
    SubElement(root, "circle", {"cx": f"{x(value):g}", "cy": "20", "r": "5", "class": "dot c0"})
    for tick in ticks(low, high) if high > low else ():
        write(root, f"{tick:g}", x(tick), 46, "middle")
    return Markup(tostring(root, encoding="unicode"))


def course_picture(spent: Sequence[float], budget: float) -> Markup:
    """Draw what was spent, charge by charge, beneath the budget."""
    tall, top, bottom = 120.0, 14.0, 96.0
    root = _drawn("what was spent, charge by charge", tall)
    last = max(1, len(spent))

    def y(amount: float) -> float:
        return bottom - min(1.0, amount / budget) * (bottom - top)

    steps = [(_LEFT, bottom)]
    for place, amount in enumerate(spent, 1):
        across = _LEFT + place / last * (_RIGHT - _LEFT)
        steps += [(across, steps[-1][1]), (across, y(amount))]
    _line(root, [(_LEFT, y(budget)), (_RIGHT, y(budget))], "curve c1")
    _line(root, steps, "curve c0")
    _line(root, [(_LEFT, bottom), (_RIGHT, bottom)], "zero")
    write(root, shown(f"{budget:g}"), _LEFT - 6, y(budget) + 4, "end")
    write(root, "0", _LEFT - 6, bottom + 4, "end")
    write(root, f"{len(spent)} charge{'' if len(spent) == 1 else 's'}", _RIGHT, tall - 6, "end")
    return Markup(tostring(root, encoding="unicode"))


def _drawn(title: str, tall: float) -> Element:
    root = Element("svg", viewBox=f"0 0 {_WIDE:g} {tall:g}", role="img")
    SubElement(root, "title").text = title
    return root


def _line(root: Element, points: Sequence[tuple[float, float]], kind: str) -> None:
    SubElement(root, "polyline", {"points": " ".join(f"{x:.1f},{y:.1f}" for x, y in points), "class": kind})
