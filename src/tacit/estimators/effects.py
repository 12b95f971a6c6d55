"""What a fitted model says about each column: how its answer moves when that column alone changes.

The score of a linear model is a sum of terms, one for each column, each declared pair and the constant, over the length
of the record's code. Where all codes are divided by one length (regressions) that is exact. Where each is divided by
its own, a typical length stands for it: the root of the mean squared length over the values that are shown, each alike.
An effect is then the change of the answer that a column's term makes beside typical others, every one of which stands
at its mean over those values: between two values of one column, effects differ as the answers do. It is told in the
target's units, in log-odds where a model of two classes has probabilities, and else in units of `decision_function`.
"""

import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, final

import numpy as np
from scipy.special import expit

from tacit.data.bounded import BoundedRows
from tacit.data.encoder import CONSTANT, PublicEncoder
from tacit.data.twins import made_up_table
from tacit.errors import InvalidParameter
from tacit.numerics.arrays import Floats, Truths

_AVERAGED = 100
"""How many made-up records an average effect is taken over."""
_FEW = 12
"""How many levels have room for their names at the usual size."""
_UNEVEN = 3


@final
@dataclass(frozen=True)
class Effect:
    """The effect of one column, or of a pair, at its values; with several scores, one row for each.

    `noise` bounds the standard deviation of the noise in each effect, made for privacy; None where the model knows no
    bound. For a pair `values` are two arrays, and the effect is a table with the second's values along its rows.
    `unit` says what the effect is a change of.
    """

    column: str
    values: Any
    effect: Floats
    noise: Floats | None
    unit: str = "score"

    def plot(self, axes: Any = None) -> Any:
        """Draw the effect with a band of two standard deviations of noise to either side; return the axes.

        A pair is drawn as a table of colours for each score, side by side, with their scale; dots are on what lies
        within two standard deviations of noise.
        """
        axes = _axes(1)[0] if axes is None else axes
        axes.set_title(self.column)
        if isinstance(self.values, tuple):
            self._tables(axes)
            return axes
        rows = np.atleast_2d(self.effect)
        bands = np.zeros_like(rows) if self.noise is None else 2 * np.atleast_2d(self.noise)
        for row, band in zip(rows, bands, strict=True):
            if self.values.dtype.kind in "OU":
                axes.errorbar([str(value) for value in self.values], row, yerr=band, fmt="o")
                axes.tick_params(axis="x", rotation=90, labelsize=9 if len(self.values) <= _FEW else 5)
            else:
                axes.plot(self.values, row)
                axes.fill_between(self.values, row - band, row + band, alpha=0.2)
        if self.values.dtype.kind == "f":
            if uneven(self.values):
                axes.set_xscale("symlog", linthresh=1.0)
            else:
                axes.locator_params(axis="x", nbins=4)
        axes.axhline(0.0, color="grey", linewidth=0.5)
        axes.set_ylabel(f"change of {self.unit}", fontsize=8)
        return axes

    @property
    def tables(self) -> Floats:
        """The effect of a pair: a table for each score."""
        return self.effect.reshape(-1, *self.effect.shape[-2:])

    @property
    def unclear(self) -> Truths:
        """Where an effect lies within two standard deviations of its noise; nowhere if no bound on that is known."""
        if self.noise is None:
            return np.zeros(self.effect.shape, dtype=bool)
        return np.asarray(np.abs(self.effect) <= 2 * self.noise)

    def _tables(self, axes: Any) -> None:
        tables, (firsts, seconds) = self.tables, self.values
        wide = len(seconds) + 1
        gap = ((0, 0), (0, 0), (0, 1))
        together = np.hstack(list(np.pad(tables, gap, constant_values=np.nan)))[:, :-1]
        hidden = np.hstack(list(np.pad(self.unclear.reshape(tables.shape), gap)))[:, :-1]
        largest = float(np.abs(tables).max()) or 1.0
        image = axes.imshow(
            together, origin="lower", aspect="auto", cmap="RdBu", vmin=-largest, vmax=largest, interpolation="nearest"
        )
        axes.scatter(*np.nonzero(hidden)[::-1], s=4, color="black", linewidths=0)
        across = [number * wide + place for number in range(len(tables)) for place in (0, len(seconds) - 1)]
        axes.set_xticks(across, [_shown(seconds[place % wide]) for place in across], rotation=90)
        axes.set_yticks([0, len(firsts) - 1], [_shown(firsts[0]), _shown(firsts[-1])])
        axes.figure.colorbar(image, ax=axes, label=f"change of {self.unit}")


def uneven(values: Floats) -> bool:
    """Whether numbers lie as the knots of a logarithmic scale do: closer where it is finer."""
    gaps = np.diff(values)
    return len(gaps) > 1 and bool(gaps.max() > _UNEVEN * gaps.min())


def _shown(value: Any) -> str:
    return str(value)[:10] if isinstance(value, str | np.datetime64) else f"{float(value):g}"


@final
class Effects(Mapping[str, Effect]):
    """The effects of all columns, by name; pairs are named "first * second"."""

    def __init__(self, found: Mapping[str, Effect]) -> None:
        self._found = dict(found)

    def __getitem__(self, name: str) -> Effect:
        return self._found[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._found)

    def __len__(self) -> int:
        return len(self._found)

    def __repr__(self) -> str:
        return f"Effects({', '.join(self._found)})"

    def plot(self, *columns: str) -> Any:
        """Draw the effects of some columns, by default of all, side by side on one scale; return the figure."""
        for name in columns:
            if name not in self._found:
                raise InvalidParameter(f"there is no effect of {name!r}. Known are {', '.join(self._found)}.")
        wanted = columns or tuple(self._found)
        spots = _axes(len(wanted))
        for name, axes in zip(wanted, spots, strict=True):
            self._found[name].plot(axes)
        lines = [
            axes for name, axes in zip(wanted, spots, strict=True) if not isinstance(self._found[name].values, tuple)
        ]
        if lines:
            lows, highs = zip(*(axes.get_ylim() for axes in lines), strict=True)
            for axes in lines:
                axes.set_ylim(min(lows), max(highs))
        return spots[0].figure


@final
@dataclass(frozen=True)
class Link:
    """What a score is to the answer: itself, or where there is a margin what makes log-odds of it.

    Those are the log-odds of `tacit.estimators.probabilities.probabilities` for two classes.
    """

    unit: str
    margin: float = 0.0

    def answer(self, scores: Floats) -> Floats:
        """Return the answer at scores."""
        if not self.margin:
            return scores
        sides = (np.logaddexp(0.0, self.margin + sign * scores) for sign in (-1, 1))
        return np.asarray(2 * scores + next(sides) - next(sides))

    def slope(self, scores: Floats) -> Floats:
        """Return how fast the answer moves with the score."""
        if not self.margin:
            return np.ones_like(scores)
        return np.asarray(2.0 - expit(self.margin - scores) - expit(self.margin + scores))


def effects_of(
    encoder: PublicEncoder, weights: Floats, noises: Floats | None, intercept: Floats | float, link: Link
) -> Effects:
    """Take the weights of encoded columns, and bounds on the noise in them, apart into effects."""
    shown = _shown_codes(encoder)
    squares = sum(float(np.square(code).sum(axis=1).mean()) for _, code, _ in shown.values())
    length = encoder.longest if encoder.norm == "bound" else math.sqrt(squares + CONSTANT**2 * encoder.constant)
    terms, noise, end = {}, {}, 0
    for name, (_, code, _) in shown.items():
        start, end = end, end + code.shape[1]
        terms[name] = np.asarray(weights[..., start:end] @ code.T) / length
        if noises is not None:
            noise[name] = _spread(code, noises[..., start:end]) / length
    typical = np.asarray(intercept) + sum(each.mean(axis=-1) for each in terms.values())
    if encoder.constant:
        typical = typical + CONSTANT * weights[..., -1] / length
    base, found = np.asarray(typical)[..., None], {}
    for name, (values, _, sizes) in shown.items():
        shape, others = (*weights.shape[:-1], *sizes), base - terms[name].mean(axis=-1, keepdims=True)
        here = others + terms[name]
        effect = (link.answer(here) - link.answer(others)).reshape(shape)
        band = None if noises is None else (link.slope(here) * noise[name]).reshape(shape)
        found[name] = Effect(name, values, effect, band, link.unit)
    return Effects(found)


def _shown_codes(encoder: PublicEncoder) -> dict[str, tuple[Any, Floats, tuple[int, ...]]]:
    """Return the values at which each column and pair is shown, their codes, and how many there are."""
    columns = encoder.schema.columns
    found: dict[str, tuple[Any, Floats, tuple[int, ...]]] = {}
    points = {name: columns[name].points(encoder.knots_of(name)) for name in encoder.schema.features}
    cleaned = {name: columns[name].clean(values)[0] for name, values in points.items()}
    for name, values in points.items():
        found[name] = values, encoder.code(name, cleaned[name]), (len(values),)
    for first, second in encoder.pairs:
        sizes = len(points[first]), len(points[second])
        grid = np.repeat(cleaned[first], sizes[1]), np.tile(cleaned[second], sizes[0])
        both = points[first], points[second]
        found[f"{first} * {second}"] = both, encoder.surface((first, second), *grid), sizes
    return found


def average_effects(encoder: PublicEncoder, scores: Callable[[BoundedRows], Floats], unit: str = "score") -> Effects:
    """Return how a model's score moves with each column, on average over made-up records that differ in the others.

    Nothing is known of the noise in them. Computed of a released model and its schema, they cost nothing.
    """
    schema = encoder.schema
    cells = made_up_table(schema, _AVERAGED, 0, signal=0.0)
    cells = {name: cells[name] for name in schema.inputs}
    found = {}
    for name in schema.features:
        values = schema.columns[name].points(encoder.knots_of(name))
        asked = {other: np.tile(column, len(values)) for other, column in cells.items()}
        asked[name] = np.repeat(values, _AVERAGED)
        said = np.asarray(scores(encoder.transform(asked)))
        means = said.reshape(len(values), _AVERAGED, -1).mean(axis=1).T
        means -= means.mean(axis=1, keepdims=True)
        found[name] = Effect(name, values, means if len(means) > 1 else means[0], None, unit)
    return Effects(found)


def _spread(code: Floats, noises: Floats) -> Floats:
    """Bound the deviation of the noise in code . weights: deviations add up at worst, however they go together.

    Where all weights have one bound, it is that of noise in the objective or of spherical noise, which bounds the
    deviation along every direction of length 1 alike.
    """
    if noises.size and np.all(noises == noises.flat[0]):
        lengths = np.sqrt(np.square(code).sum(axis=1)) * noises.flat[0]
        return np.broadcast_to(lengths, (*noises.shape[:-1], len(code)))
    return np.asarray(noises @ np.abs(code).T)


def _axes(count: int) -> list[Any]:
    """Return so many axes on a new figure."""
    from matplotlib.figure import Figure

    wide = min(count, 4)
    tall = -(-count // wide)
    figure = Figure(figsize=(3.2 * wide, 2.6 * tall), layout="constrained")
    return [figure.add_subplot(tall, wide, place + 1) for place in range(count)]
