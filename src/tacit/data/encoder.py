"""Records into the unit ball, by declared facts alone.

The defaults (numbers in [-1, 1], the constant inside the row, rows scaled to norm 1) were chosen among some thirty
ways to code records by their accuracy on Adult, Diabetes 130, CoverType and KDD99. So no figure measured on these
four sets is an unbiased estimate of what the defaults do elsewhere. What levels, flags and the constant weigh beside
numbers, 1/2, was chosen later on synthetic tables alone (docs/decisions/0005-a-margin-in-the-loss.md), and so were
the hats of curves (docs/decisions/0013-curves.md).
"""

import math
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import groupby
from typing import Any, Literal, Self, final

import numpy as np
from sklearn.base import BaseEstimator, TransformerMixin

from tacit.data.bounded import BoundedRows
from tacit.data.columns import Column, Lines
from tacit.data.curves import Curves, checked_pairs, curves_of, product, with_curve
from tacit.data.frames import clean_columns, read_table
from tacit.data.records import Records
from tacit.data.schema import Schema
from tacit.data.store.store import Block
from tacit.data.values import AnyArray
from tacit.errors import InvalidParameter
from tacit.numerics.arrays import Floats
from tacit.secret import open_secret

Code = Callable[[Block], Floats]
"""Makes some columns of encoded rows from cleaned cells, before rows are scaled."""

_CONSTANT = "(constant)"
CONSTANT = 0.5
"""What the constant of a row is before the row is divided."""
# Rounding moves a row's norm by a few units of 2^-53 per column; this keeps the true norm, and any
# computed one, at or below 1 for up to some hundred thousand columns.
_MARGIN = 1.0 - 2.0**-36
_SHORTEST = 1e-100
_SURFACE_KNOTS = 5
_STRIP = 2**19
"""How many numbers are coded at a time, so that they stay in a cache, unless that would be very few or many rows."""
# Not powers of two: columns that far apart fall on the same places of a cache.
_FEWEST, _MOST = 1000, 4000
_LOT = 2**20
"""How many numbers a lot of streamed rows has at most."""
_MOST_PRODUCTS = 10_000


@final
@dataclass(frozen=True)
class RowCoder:
    """Makes rows of so many numbers of cleaned cells, each row by itself.

    `codes` make the columns, side by side, each with how many of its numbers are not 0; `largest`, if given, is the
    squared length that all rows are divided by the root of.
    """

    width: int
    codes: Sequence[tuple[Code, int]]
    constant: bool
    largest: float | None

    def rows(self, cleaned: Block) -> Floats:
        """Return a row for each of some cleaned cells."""
        rows = np.empty((len(next(iter(cleaned.values()))), self.width))
        self.fill(rows, cleaned)
        return rows

    def fill(self, rows: Floats, cleaned: Block) -> None:
        """Fill rows, a strip of them at a time."""
        strip = min(_MOST, max(_FEWEST, _STRIP // self.width))
        for start in range(0, len(rows), strip):
            some = slice(start, start + strip)
            self._fill(rows[some], {name: cells[some] for name, cells in cleaned.items()})

    def _fill(self, rows: Floats, cleaned: Block) -> None:
        squares, end = np.zeros(len(rows)), 0
        with np.errstate(all="ignore"):
            for code, filled in self.codes:
                block = code(cleaned)
                start, end = end, end + block.shape[1]
                rows[:, start:end] = block
                if filled == 1:
                    squares += np.einsum("ij,ij->i", block, block)
                else:
                    # Column by column: a sum along rows may be taken in another order for another number of rows.
                    for square in np.square(block).T:
                        squares += square
            if self.constant:
                rows[:, end] = CONSTANT
                squares += CONSTANT**2
            if self.largest is not None:
                squares[:] = self.largest
            rows *= (_MARGIN / np.maximum(np.sqrt(squares), _SHORTEST))[:, None]


@final
class PublicEncoder(TransformerMixin, BaseEstimator):  # type: ignore[misc]
    """Map every record into the unit ball, by the schema alone; nothing is learned from data.

    Each column becomes a block of norm at most 1 (`tacit.data.columns`), a constant 1/2 is appended, and the
    row is brought to a norm of at most 1 by `norm`. With `curves`, a number of knots (or it and a share), numbers,
    moments and ordinals become piecewise-linear curves with that many knots over their declared scale
    (`tacit.data.curves`); `interactions`, pairs of columns such as [("age", "hours")], add the products of two codes:
    for two curves a surface over a grid of at most 5 by 5 knots. The norm:

    - `"scale"` (the default) divides each row by its own norm. Next to the constant this changes no linear
      classifier: w.x + b > 0 says the same before and after a division of (x, 1/2) by a positive number.
    - `"bound"` divides all rows by the largest norm that the schema allows, the same for every record: use
      it for regression, where the division of single rows would change the model.

    The constant takes the place of an intercept, at a far smaller price in noise than a 1 appended to rows
    of norm 1. `constant=False` leaves it out; rows of few numbers should then not be scaled one by one.

    Guarantee: every row has an L2 norm of at most `data_norm` = 1, whatever the record holds, and depends on
    that record and the schema only.
    Assumes: the schema was declared without a look at the records.
    Reference: the guarantee holds by construction; how the defaults were chosen is said at the head of this module.

    Rows come as `BoundedRows`, which tell an estimator behind the encoder that norm. Other containers
    (`set_output`) cannot: the estimator then needs `data_norm=encoder.data_norm`.

    Attributes
    ----------
    schema : what was declared.
    data_norm : the norm that no row exceeds.
    filled : the most numbers of a row that are not 0.
    pairs : the interactions.
    n_features_in_, feature_names_in_ : how many columns come in, and their names.
    """

    def __init__(
        self,
        schema: Schema,
        *,
        norm: Literal["scale", "bound"] = "scale",
        constant: bool = True,
        curves: bool | int | tuple[int, float] = False,
        interactions: Sequence[tuple[str, str]] | None = None,
    ) -> None:
        self.schema = schema
        self.norm = norm
        self.constant = constant
        self.curves = curves
        self.interactions = interactions

    @property
    def data_norm(self) -> float:
        """The L2 norm that no encoded row exceeds."""
        return 1.0

    def fit(self, X: object, y: object = None) -> Self:
        """Check the parameters and that the declared columns are there; nothing else is looked at."""
        self._check()
        if isinstance(X, Records):
            self.columns_of(X)
        else:
            read_table(X, self.schema.inputs, self.schema.features)
        self.n_features_in_ = len(self.schema.inputs)
        self.feature_names_in_ = np.array(self.schema.inputs, dtype=object)
        return self

    def transform(self, X: object) -> BoundedRows:
        """Encode `Records`, a table, or rows in the order of `schema.inputs`; works before `fit` too."""
        self._check()
        if isinstance(X, Records):
            view = open_secret(X.secret)
            coder, end = self.coder(), 0
            rows = np.empty((view.rows, coder.width))
            for block in view.blocks(self.columns_of(X)):
                start, end = end, end + len(block[self.schema.features[0]])
                coder.fill(rows[start:end], block)
        else:
            declared = {name: self.schema.columns[name] for name in self.schema.features}
            rows = self.coder().rows(clean_columns(X, declared, self.schema.inputs, self.schema.form))
        return BoundedRows(rows, data_norm=self.data_norm, has_constant=self.constant, filled=self.filled)

    @property
    def filled(self) -> int:
        """The most numbers of an encoded row that are not 0: one level of a category applies, few hats overlap."""
        columns = sum(self._filled(name) for name in self.schema.features)
        return columns + sum(map(self._filled_by, self.pairs)) + self.constant

    def _filled(self, name: str, most: int = 10**9) -> int:
        """The most numbers that are not 0 in the code of a column, with curves of at most so many knots."""
        curves = self._curves(name, most)
        return min(1, len(self.schema.columns[name].outputs(name))) + (curves.overlap if curves else 0)

    def _filled_by(self, pair: tuple[str, str]) -> int:
        """The most numbers that are not 0 among the products of two codes."""
        return math.prod(self._filled(name, _SURFACE_KNOTS) for name in pair)

    @property
    def width(self) -> int:
        """How many numbers an encoded row has."""
        return len(self._outputs())

    def coder(self) -> "RowCoder":
        """Return what makes rows of cleaned cells, with all that follows from the schema worked out."""
        largest = self._largest() if self.norm == "bound" else None
        return RowCoder(self.width, tuple(self._codes()), self.constant, largest)

    def stream(self, records: Records) -> Iterator[Floats]:
        """Yield the encoded rows of records, some at a time."""
        self._check()
        coder = self.coder()
        lot = max(_FEWEST, _LOT // coder.width)
        yield from map(coder.rows, open_secret(records.secret).blocks(self.columns_of(records), lot))

    def columns_of(self, records: Records) -> tuple[str, ...]:
        """Return the columns to encode, if these records declare them as the schema does."""
        declared = records.schema.columns
        for name in self.schema.features:
            if declared.get(name) != self.schema.columns[name]:
                raise InvalidParameter(f"the records declare the column {name!r} in another way than the encoder.")
        return self.schema.features

    def get_feature_names_out(self, input_features: object = None) -> AnyArray:
        """Name the encoded columns; the declared names are used whatever `input_features` says."""
        self._check()
        return np.array(self._outputs(), dtype=object)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.requires_fit = False
        tags.input_tags.allow_nan = True
        tags.input_tags.categorical = True
        tags.input_tags.string = True
        tags.input_tags.dict = True
        return tags

    def _check(self) -> None:
        """Refuse parameters that make no sense."""
        if not isinstance(self.schema, Schema) or not self.schema.features:
            raise InvalidParameter(
                f"schema must be a tacit.Schema with at least one column to encode, got {type(self.schema).__name__}."
            )
        if self.norm not in ("scale", "bound"):
            raise InvalidParameter(f'norm must be "scale" or "bound", got {self.norm!r}.')
        if not isinstance(self.constant, bool):
            raise InvalidParameter(f"constant must be True or False, got {self.constant!r}.")
        curves_of(self.curves)
        for first, second in self.pairs:
            products = math.prod(len(self.outputs_of(name, _SURFACE_KNOTS)) for name in (first, second))
            if products > _MOST_PRODUCTS:
                raise InvalidParameter(
                    f"the interaction of {first!r} and {second!r} would have {products} products, at most "
                    f"{_MOST_PRODUCTS} are taken. Declare fewer levels, or leave the pair out."
                )
        name, times = Counter(self._outputs()).most_common(1)[0]
        if times > 1:
            raise InvalidParameter(f"encoded columns must have different names, got {name!r} twice. Rename a column.")

    def outputs_of(self, name: str, most: int = 10**9) -> tuple[str, ...]:
        """Name the numbers that a column becomes, with curves of at most so many knots."""
        column, curves = self.schema.columns[name], self._curves(name, most)
        return (*column.outputs(name), *(curves.names(name) if curves else ()))

    def _outputs(self) -> list[str]:
        """Name the encoded columns, the constant last."""
        names = [output for name in self.schema.features for output in self.outputs_of(name)]
        for first, second in self.pairs:
            outputs = [self.outputs_of(name, _SURFACE_KNOTS) for name in (first, second)]
            names += [f"{one} * {other}" for one in outputs[0] for other in outputs[1]]
        return [*names, _CONSTANT] if self.constant else names

    def _curves(self, name: str, most: int = 10**9) -> Curves | None:
        """Return the curves of a column, with at most so many knots; None where its code is no line, or stays one."""
        asked, places = curves_of(self.curves), min(self.schema.columns[name].places, most)
        return asked.among(places) if asked is not None and places > 2 else None

    @property
    def pairs(self) -> tuple[tuple[str, str], ...]:
        """The pairs of columns that interact."""
        return checked_pairs(self.interactions, self.schema.features)

    def _codes(self) -> Iterator[tuple[Code, int]]:
        """How cells become blocks, those of straight lines side by side at once; each with how many are not 0."""
        for straight, group in groupby(self.schema.features, self._is_straight):
            names = tuple(group)
            if straight:
                lines = Lines([line for name in names if (line := self.schema.columns[name].line) is not None])
                yield partial(_side_by_side, lines, names), len(names)
            else:
                yield from (
                    (partial(_alone, self.schema.columns[name], self._curves(name), name), self._filled(name))
                    for name in names
                )
        yield from ((partial(self._surface_in, pair), self._filled_by(pair)) for pair in self.pairs)

    def _is_straight(self, name: str) -> bool:
        """Whether a column becomes its line and nothing else."""
        return self.schema.columns[name].line is not None and self._curves(name) is None

    def _surface_in(self, pair: tuple[str, str], cleaned: Block) -> Floats:
        return self.surface(pair, *(cleaned[name] for name in pair))

    def code(self, name: str, cleaned: AnyArray, most: int = 10**9) -> Floats:
        """Return the code of cleaned cells of a column before rows are scaled, with curves of at most so many knots."""
        return with_curve(self.schema.columns[name].code(cleaned), self._curves(name, most))

    def surface(self, pair: tuple[str, str], *cleaned: AnyArray) -> Floats:
        """Return the products of the codes of cleaned cells of two columns, before rows are scaled."""
        first, second = (self.code(name, cells, _SURFACE_KNOTS) for name, cells in zip(pair, cleaned, strict=True))
        return product(first, second, max(self.schema.columns[name].largest for name in pair))

    def knots_of(self, name: str) -> int:
        """How many knots the curve of a column has: 2 for a straight line."""
        curves = self._curves(name)
        return 2 if curves is None else curves.knots

    @property
    def longest(self) -> float:
        """The largest length of a row before it is divided: what all rows are divided by where the norm is "bound"."""
        return math.sqrt(self._largest())

    def _largest(self) -> float:
        """The largest squared norm of a row before it is divided."""
        blocks = [self.schema.columns[name].largest for name in self.schema.features]
        pairs = [min(self.schema.columns[name].largest for name in pair) for pair in self.pairs]
        return math.fsum(block**2 for block in [*blocks, *pairs, CONSTANT * self.constant])


def _side_by_side(lines: Lines, names: tuple[str, ...], cleaned: Block) -> Floats:
    """Return the lines of some columns, as columns."""
    return lines.code([cleaned[name] for name in names]).T


def _alone(column: Column, curves: Curves | None, name: str, cleaned: Block) -> Floats:
    """Return the code of one column."""
    return with_curve(column.code(cleaned[name]), curves)
