"""Pictures of answers and of a budget's course, as inline SVG that the page colours."""

from collections.abc import Sequence

from markupsafe import Markup

from tacit.reports.drawing import begun, done, dot, line, shown, ticks, write

_WIDE, _LEFT, _RIGHT = 360.0, 30.0, 330.0


def answer_picture(value: float, error: float, low: float, high: float) -> Markup:
    """Draw a value with its error on the range that it can have."""
    root = begun(f"{value:g}, give or take {error:g}", _WIDE, 56)
    low, high = min(low, value), max(high, value)

    def x(at: float) -> float:
        return _LEFT + (min(max(at, low), high) - low) / (high - low or 1.0) * (_RIGHT - _LEFT)

    line(root, [(_LEFT, 20), (_RIGHT, 20)], "zero")
    line(root, [(x(value - error), 20), (x(value + error), 20)], "whisker")
    for end in (value - error, value + error):
        line(root, [(x(end), 14), (x(end), 26)], "whisker")
    dot(root, x(value), 20, 5, "dot c0")
    for tick in ticks(low, high) if high > low else ():
        write(root, f"{tick:g}", x(tick), 46, "middle")
    return done(root)


def course_picture(spent: Sequence[float], budget: float) -> Markup:
    """Draw what was spent, charge by charge, beneath the budget."""
    tall, top, bottom = 120.0, 14.0, 96.0
    root = begun("what was spent, charge by charge", _WIDE, tall)
    last = max(1, len(spent))

    def y(amount: float) -> float:
        return bottom - min(1.0, amount / budget) * (bottom - top)

    steps = [(_LEFT, bottom)]
    for place, amount in enumerate(spent, 1):
        across = _LEFT + place / last * (_RIGHT - _LEFT)
        steps += [(across, steps[-1][1]), (across, y(amount))]
    line(root, [(_LEFT, y(budget)), (_RIGHT, y(budget))], "curve c1")
    line(root, steps, "curve c0")
    line(root, [(_LEFT, bottom), (_RIGHT, bottom)], "zero")
    write(root, shown(f"{budget:g}"), _LEFT - 6, y(budget) + 4, "end")
    write(root, "0", _LEFT - 6, bottom + 4, "end")
    write(root, f"{len(spent)} charge{'' if len(spent) == 1 else 's'}", _RIGHT, tall - 6, "end")
    return done(root)
