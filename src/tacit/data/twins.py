"""Twins: made-up records that follow a schema and nothing else, to write and try an analysis on before it costs."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from tacit.checks import finite_number, is_whole, whole_number
from tacit.data.columns import Column, Key, Moment, Number
from tacit.data.encoder import PublicEncoder
from tacit.data.levels import Levelled
from tacit.data.records import Records
from tacit.data.schema import Schema
from tacit.data.values import AnyArray
from tacit.errors import InvalidParameter
from tacit.noise import public_stream
from tacit.numerics.arrays import Floats

_NOISE_OF_NUMBERS = 0.5
"""How far made-up numbers to predict lie from their rule, as a part of the rule's own spread, at a signal of 1."""


def made_up(
    schema: Schema, n: int, seed: int, signal: float = 3.0, key: str | None = None, unit: str | None = None
) -> Records:
    """Return n made-up records under a schema, the same ones for the same seed.

    Levels are equally likely, numbers and moments even between their bounds, keys count from 0. The target follows a
    made-up rule of the other columns, so that there is something to learn: `signal` says how closely, 0 not at all.
    They are not marked as made up: `Schema.twin` does that.
    """
    return Records(made_up_table(schema, n, seed, signal), schema, key=key, unit=unit)


def made_up_table(schema: Schema, n: int, seed: int, signal: float = 3.0) -> dict[str, AnyArray]:
    """Return the cells of such records by column, as a file of them would hold them."""
    count = whole_number("n", n)
    if not is_whole(seed) or not 0 <= seed < 2**31:
        raise InvalidParameter(f"seed must be a whole number from 0 to 2^31 - 1, got {seed!r}.")
    strength = finite_number("signal", signal)
    if not 0 <= strength <= 1000:
        raise InvalidParameter(f"signal must lie between 0 and 1000, got {signal!r}.")
    columns = schema.columns
    shares = public_stream(seed, count * (len(columns) + 1)).reshape(len(columns) + 1, count)
    cells = {name: _cells(column, share) for (name, column), share in zip(columns.items(), shares, strict=False)}
    if schema.target is not None and schema.features and strength:
        cells[schema.target] = _answer(schema, cells, shares[-1], int(seed), strength)
    return cells


def _cells(column: Column, share: Floats) -> AnyArray:
    """Return the cell that lies at each share of a column's range."""
    if isinstance(column, Number):
        width = column.high - column.low
        within: Floats = np.expm1(share * np.log1p(width)) if column.log else share * width
        return np.asarray(column.low + within)
    if isinstance(column, Moment):
        low, high = column.ends
        return np.asarray(low + (share * (high - low)).astype(np.int64)).astype("datetime64[us]")
    if isinstance(column, Levelled):
        levels = np.array(column.classes, dtype=object)
        return levels[(share * len(levels)).astype(np.intp)]
    return np.arange(len(share)) if isinstance(column, Key) else np.zeros(len(share))


def _answer(schema: Schema, cells: Mapping[str, Any], share: Floats, seed: int, signal: float) -> AnyArray:
    """Return the target of every record: by a made-up linear rule of its code, more or less closely."""
    rows = np.asarray(PublicEncoder(schema).transform({name: cells[name] for name in schema.inputs}))
    column = schema.columns[str(schema.target)]
    classes = len(column.classes) if isinstance(column, Levelled) else 1
    rule = 2 * public_stream(seed + 1, rows.shape[1] * classes).reshape(-1, classes) - 1
    scores = rows @ rule
    scores -= scores.mean(axis=0)
    scores *= signal / np.maximum(scores.std(axis=0), 1e-9)
    if not isinstance(column, Levelled):
        spread = 2 * signal / _NOISE_OF_NUMBERS
        drawn = scores[:, 0] / spread + (2 * share - 1) * _NOISE_OF_NUMBERS / signal + 0.5
        return _cells(column, np.clip(drawn, 0.0, 1.0))
    # The class with the largest of score + Gumbel noise is drawn by the softmax of the scores.
    chances = np.exp(scores - scores.max(axis=1, keepdims=True))
    chances = np.cumsum(chances / chances.sum(axis=1, keepdims=True), axis=1)
    return np.asarray(np.array(column.classes, dtype=object)[(share[:, None] > chances[:, :-1]).sum(axis=1)])
