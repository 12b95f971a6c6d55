"""Pictures as inline SVG: built as a tree, so that no name in one can be anything but text; coloured by the page."""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, final
from xml.etree.ElementTree import Element, SubElement, tostring

import numpy as np
from markupsafe import Markup

from tacit.accounting.meaning import best_guess
from tacit.budget import Budget
from tacit.estimators.effects import Effect, uneven
from tacit.numerics.arrays import Floats

_WIDE, _TALL = 300.0, 190.0
_LEFT, _RIGHT, _TOP, _BOTTOM = 46.0, 8.0, 16.0, 30.0
_MOST_LEVELS = 10
_MOST_LETTERS = 16
_MOST_SQUARES = 20
_LONGEST_CAPTION = 46
_LONGEST_UNIT = 16
COLOURS = 6
"""How many classes one picture tells apart."""
_TICKS = 4


@final
@dataclass(frozen=True)
class _Frame:
    """A drawing with two scales."""

    root: Element
    low: float
    high: float
    first: float
    last: float
    left: float = _LEFT

    @classmethod
    def of(cls, title: str, first: float, last: float, low: float, high: float, left: float = _LEFT) -> "_Frame":
        root = begun(shown(title), _WIDE, _TALL)
        return cls(root, low, high, first, last if last > first else first + 1, left)

    def x(self, value: float) -> float:
        return self.left + (value - self.first) / (self.last - self.first) * (_WIDE - self.left - _RIGHT)

    def y(self, value: float) -> float:
        return _TALL - _BOTTOM - (value - self.low) / (self.high - self.low) * (_TALL - _TOP - _BOTTOM)

    def line(self, points: Sequence[tuple[float, float]], kind: str) -> None:
        line(self.root, points, kind)

    def text(self, words: str, x: float, y: float, anchor: str = "middle") -> None:
        write(self.root, words, x, y, anchor)

    def caption(self, name: str, more: str = "") -> None:
        """Write a name below, as much of it as there is room for beside what is said of it."""
        self.text(shown(name, _LONGEST_CAPTION - len(more)) + more, _WIDE / 2, _TALL - 3)

    def unit(self, effect: Effect) -> None:
        """Write above what the heights are a change of."""
        self.text(f"change of {shown(effect.unit, _LONGEST_UNIT)}", self.left, _TOP - 2, "start")

    def dot(self, x: float, y: float, size: int, colour: int) -> None:
        dot(self.root, x, y, size, f"dot c{colour}")

    def axis(self) -> None:
        """Draw zero, and name some heights."""
        if self.low < 0 < self.high:
            self.line([(self.left, self.y(0)), (_WIDE - _RIGHT, self.y(0))], "zero")
        for tick in ticks(self.low, self.high):
            self.text(_amount(tick), self.left - 4, self.y(tick) + 3, "end")
            self.line([(self.left - 2, self.y(tick)), (self.left, self.y(tick))], "zero")

    def done(self) -> Markup:
        return done(self.root)


def effect_picture(effect: Effect, low: float, high: float) -> Markup:
    """Draw the effect of a column over its values with a band of two standard deviations of noise, all on one scale."""
    if isinstance(effect.values, tuple):
        return _surface(effect)
    rows = np.clip(np.atleast_2d(effect.effect), low, high)
    bands = np.zeros_like(rows) if effect.noise is None else np.nan_to_num(2 * np.atleast_2d(effect.noise))
    values = np.asarray(effect.values)
    return (_levels if values.dtype.kind in "OU" else _curve)(effect, values, rows, bands, low, high)


def _curve(effect: Effect, values: Any, rows: Floats, bands: Floats, low: float, high: float) -> Markup:
    moments = values.dtype.kind == "M"
    places = values.astype("M8[s]").astype(np.float64) if moments else values.astype(np.float64)
    logarithmic = not moments and uneven(places)
    # Knots of a logarithmic scale lie closer where it is finer; drawn along that scale they are evenly spaced.
    spots = np.log1p(places - places[0]) if logarithmic else places
    frame = _Frame.of(f"effect of {effect.column}", float(spots[0]), float(spots[-1]), low, high)
    frame.axis()
    frame.unit(effect)
    across = [frame.x(spot) for spot in spots]
    for number, (row, band) in enumerate(zip(rows, bands, strict=True)):
        above = [(x, frame.y(min(y, high))) for x, y in zip(across, row + band, strict=True)]
        below = [(x, frame.y(max(y, low))) for x, y in zip(across, row - band, strict=True)]
        band_class = f"band c{number % COLOURS}"
        SubElement(frame.root, "polygon", {"points": _points([*above, *reversed(below)]), "class": band_class})
    # After all bands: a band that is drawn over another class's line takes its colour away.
    for number, row in enumerate(rows):
        frame.line([(x, frame.y(y)) for x, y in zip(across, row, strict=True)], f"curve c{number % COLOURS}")
    for place, spot, anchor in ((places[0], spots[0], "start"), (places[-1], spots[-1], "end")):
        words = str(np.datetime64(int(place), "s"))[:10] if moments else _amount(float(place))
        frame.text(words, frame.x(spot), _TALL - 16, anchor)
    frame.caption(effect.column, " (logarithmic)" if logarithmic else "")
    return frame.done()


def _levels(effect: Effect, values: Any, rows: Floats, bands: Floats, low: float, high: float) -> Markup:
    """Draw levels from top to bottom, their names beside them; only the strongest where there are many."""
    strongest = np.argsort(-np.abs(rows).max(axis=0), kind="stable")[:_MOST_LEVELS]
    kept = np.sort(strongest)
    frame = _Frame.of(f"effect of {effect.column}", low, high, 0, 1, left=122.0)
    frame.unit(effect)
    step = (_TALL - _TOP - _BOTTOM) / len(kept)
    frame.line([(frame.x(0), _TOP), (frame.x(0), _TALL - _BOTTOM)], "zero")
    for place, level in enumerate(kept):
        y = _TOP + (place + 0.5) * step
        frame.text(shown(str(values[level]), _MOST_LETTERS), frame.left - 6, y + 3, "end")
        for number, (row, band) in enumerate(zip(rows, bands, strict=True)):
            at, wide = float(row[level]), float(band[level])
            height = y + (number - (len(rows) - 1) / 2) * min(4.0, step / (len(rows) + 1))
            ends = [(frame.x(max(at - wide, low)), height), (frame.x(min(at + wide, high)), height)]
            frame.line(ends, f"whisker c{number % COLOURS}")
            frame.dot(frame.x(at), height, 3, number % COLOURS)
    for tick in ticks(low, high):
        frame.text(_amount(tick), frame.x(tick), _TALL - 16)
    more = len(values) - len(kept)
    frame.caption(effect.column, f" (the strongest {len(kept)} of {len(values)} levels)" if more else "")
    return frame.done()


def _surface(effect: Effect) -> Markup:
    """Draw the effect of a pair as a table of squares for each score, side by side, with dots on what noise may be.

    Of a table with many lines or columns some are drawn, at equal distances.
    """
    scores, *sizes = effect.tables.shape
    some = (np.unique(np.linspace(0, size - 1, _MOST_SQUARES).astype(int)) for size in sizes)
    places = np.ix_(np.arange(scores), *some)
    tables, hidden = effect.tables[places], effect.unclear.reshape(effect.tables.shape)[places]
    count, across, up = tables.shape
    frame = _Frame.of(f"effect of {effect.column}", 0, count * (across + 1) - 1, 0, up, left=10.0)
    largest = float(np.abs(tables).max()) or 1.0
    for (number, one, other), value in np.ndenumerate(tables):
        place = number * (across + 1) + one
        left, top = frame.x(place), frame.y(other + 1)
        box = _box(frame.root, left, top, frame.x(place + 1) - left, frame.y(other) - top, _sign(float(value)))
        box.set("fill-opacity", f"{abs(value) / largest:.3f}")
        if hidden[number, one, other]:
            dot(frame.root, frame.x(place + 0.5), frame.y(other + 0.5), 1, "speck")
    frame.caption(effect.column, f": up to {largest:.2g}{', dots: noise' if hidden.any() else ''}")
    return frame.done()


def bars(names: Sequence[str], values: Floats, noises: Floats | None, most: int = 24) -> Markup:
    """Draw the largest coefficients with two standard deviations of noise to either side."""
    kept = np.argsort(-np.abs(values), kind="stable")[:most]
    noise = np.zeros_like(values) if noises is None else np.nan_to_num(2 * noises)
    reach = float(np.max(np.abs(values[kept]) + noise[kept])) or 1.0
    tall = 20.0 * len(kept) + 34
    root = begun("coefficients with their noise", 600, tall)

    def x(value: float) -> float:
        return 390 + 190 * value / reach

    for place, index in enumerate(kept):
        y = 20.0 * place + 14
        value, band = float(values[index]), float(noise[index])
        write(root, shown(str(names[index]), 30), 190, y + 4, "end")
        low, high = sorted((x(0), x(value)))
        _box(root, low, y - 5, high - low, 10, _sign(value))
        line(root, [(x(value - band), y), (x(value + band), y)], "whisker")
    line(root, [(x(0), 4), (x(0), tall - 24)], "zero")
    for tick in ticks(-reach, reach):
        write(root, _amount(tick), x(tick), tall - 8, "middle")
    return done(root)


def guess_picture(budget: Budget) -> Markup:
    """Draw the best guess of anybody against epsilon, this budget marked."""
    frame = _Frame.of("best guess against epsilon", 0, 6, 0.5, 1.0)
    frame.axis()
    epsilons = [0.1 * step for step in range(61)]
    frame.line([(frame.x(each), frame.y(best_guess(Budget(each)))) for each in epsilons], "curve c0")
    at = min(budget.epsilon, 6.0)
    frame.dot(frame.x(at), frame.y(min(best_guess(budget), 1.0)), 5, 1)
    for tick in (0, 2, 4, 6):
        frame.text(f"{tick}", frame.x(tick), _TALL - 16)
    frame.text("epsilon (dot: this release)", _WIDE / 2, _TALL - 3)
    return frame.done()


def square_picture(
    title: str,
    across: str,
    up: str,
    curves: Sequence[tuple[Floats, Floats]],
    *,
    points: Sequence[tuple[float, float, tuple[float, float]]] = (),
    diagonal: bool = False,
) -> Markup:
    """Draw curves between 0 and 1, and points with their ranges."""
    frame = _Frame.of(title, 0, 1, 0, 1)
    frame.axis()
    if diagonal:
        frame.line([(frame.x(0), frame.y(0)), (frame.x(1), frame.y(1))], "zero")
    for number, (places, heights) in enumerate(curves):
        spots = [(frame.x(float(x)), frame.y(float(y))) for x, y in zip(places, heights, strict=True)]
        frame.line(spots, f"curve c{number % COLOURS}")
    for place, value, (low, high) in points:
        frame.line([(frame.x(place), frame.y(max(low, 0))), (frame.x(place), frame.y(min(high, 1)))], "whisker c0")
        frame.dot(frame.x(place), frame.y(min(max(value, 0.0), 1.0)), 3, 0)
    frame.text("0", frame.x(0), _TALL - 16)
    frame.text("1", frame.x(1), _TALL - 16, "end")
    frame.text(f"{title}: {up} against {across}", _WIDE / 2, _TALL - 3)
    return frame.done()


def budget_picture(before: float, now: float, left: float) -> Markup:
    """Draw what was spent before, what this release cost and what is left, as parts of one bar."""
    whole = before + now + left or 1.0
    root = begun("the budget: spent before, this release, left", 600, 22)
    start = 0.0
    for amount, kind in ((before, "spent"), (now, "now"), (left, "left")):
        width = 600 * amount / whole
        _box(root, start, 2, width, 18, kind)
        start += width
    return done(root)


def _amount(value: float) -> str:
    """Write a number of an axis in few letters."""
    return f"{value / 1e6:g} M" if 1e6 <= abs(value) < 1e12 else f"{value:g}"


def ticks(low: float, high: float) -> Iterator[float]:
    """Yield some round numbers between two others."""
    rough = (high - low) / _TICKS
    unit = 10.0 ** math.floor(math.log10(rough))
    step = next(unit * factor for factor in (1, 2, 2.5, 5, 10) if unit * factor >= rough)
    place = math.ceil(low / step)
    while place * step <= high + 1e-12 * step:
        yield float(f"{place * step:.12g}") + 0.0
        place += 1


def shown(text: str, most: int = 60) -> str:
    """Return somebody's words as they can be shown: what cannot be printed is spelled out, what is long is cut."""
    words = "".join(
        letter if letter.isprintable() else letter.encode("unicode_escape").decode("ascii")
        for letter in text[: most + 1]
    )
    return words if len(words) <= most else f"{words[: most - 1]}…"


def begun(title: str, wide: float, tall: float) -> Element:
    """Begin a picture of some size."""
    root = Element("svg", viewBox=f"0 0 {wide:g} {tall:g}", role="img")
    SubElement(root, "title").text = title
    return root


def done(root: Element) -> Markup:
    """Return a picture as it stands in a page."""
    return Markup(tostring(root, encoding="unicode"))


def line(root: Element, points: Sequence[tuple[float, float]], kind: str) -> None:
    """Draw a line through some places."""
    SubElement(root, "polyline", {"points": _points(points), "class": kind})


def write(root: Element, words: str, x: float, y: float, anchor: str) -> None:
    """Write words at a place."""
    SubElement(root, "text", {"x": _number(x), "y": _number(y), "text-anchor": anchor}).text = words


def dot(root: Element, x: float, y: float, size: int, kind: str) -> None:
    """Draw a spot."""
    SubElement(root, "circle", {"cx": _number(x), "cy": _number(y), "r": str(size), "class": kind})


def _box(root: Element, x: float, y: float, width: float, height: float, kind: str) -> Element:
    sizes = {"x": x, "y": y, "width": width, "height": height}
    return SubElement(root, "rect", {**{name: _number(size) for name, size in sizes.items()}, "class": kind})


def _sign(value: float) -> str:
    return "up" if value > 0 else "down"


def _points(points: Sequence[tuple[float, float]]) -> str:
    return " ".join(f"{_number(x)},{_number(y)}" for x, y in points)


def _number(value: float) -> str:
    return f"{value:.2f}".rstrip("0").rstrip(".")
