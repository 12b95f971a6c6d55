"""What a learner sees of records, made of stored cells whenever it is read, or kept by the nodes of a cluster."""

from functools import partial
from typing import Any

import numpy as np

from tacit.accounting.unit import RECORD
from tacit.data.columns import Column
from tacit.data.encoder import PublicEncoder, RowCoder
from tacit.data.levels import Levelled
from tacit.data.persons import shares_of
from tacit.data.records import Records
from tacit.data.schema import Schema
from tacit.data.store.lazy_rows import LazyRows
from tacit.data.store.lots import ROWS_OF_OWNER
from tacit.data.store.store import Block
from tacit.data.values import AnyArray
from tacit.numerics.arrays import Floats
from tacit.numerics.products import square_lengths
from tacit.numerics.spread import SHARE, TARGET, WEIGHT, SpreadColumn
from tacit.secret import open_secret


def lazily_encoded(records: Records, encoder: PublicEncoder, column: Any, *, on_cluster: bool) -> tuple[Any, ...]:
    """Return rows, targets, shares of persons and weights; None for what there is not.

    Guarantee: nothing here, or later in reading them, fails because of how many rows there are or what is in them.
    Assumes: nothing.
    Reference: data/store/store.py.
    """
    view, schema = open_secret(records.secret), records.schema
    names = (*encoder.columns_of(records), *([] if column is None else [str(schema.target)]))
    coded = encoder.coder(), encoder.data_norm, schema, column
    beside = [*([] if records.whom == RECORD else [ROWS_OF_OWNER]), *([] if schema.weight is None else [schema.weight])]
    if on_cluster and view.store.cluster is not None:
        make = partial(_whole_rows, *coded)
        rows = view.store.cluster.encoded(view, tuple(dict.fromkeys((*names, *beside))), make, encoder.width)
        owned, heavy = ROWS_OF_OWNER in beside, schema.weight is not None
        columns = [(TARGET, True), (SHARE, owned), (WEIGHT, heavy)]
        return (rows, *(SpreadColumn(rows, place) if is_there else None for place, is_there in columns))
    lazy = partial(LazyRows, view, width=None, memory=records.memory)
    return (
        LazyRows(view, names, partial(_rows, *coded), encoder.width, records.memory),
        None if column is None else lazy(names[-1:], partial(_targets, schema, column)),
        None if records.whom == RECORD else lazy((ROWS_OF_OWNER,), _shares),
        None if schema.weight is None else lazy((schema.weight,), partial(_weights, schema)),
    )


def _whole_rows(coder: RowCoder, norm: float, schema: Schema, column: Column, cells: Block) -> Floats:
    """Encode rows, and put beside them their targets, their shares of persons, and their weights."""
    rows = _rows(coder, norm, schema, column, cells)
    shares = _shares(cells) if ROWS_OF_OWNER in cells else np.ones(len(rows))
    weights = np.ones(len(rows)) if schema.weight is None else _weights(schema, cells)
    return np.column_stack([rows, _targets(schema, column, cells), shares, weights])


def _rows(coder: RowCoder, norm: float, schema: Schema, column: Column | None, cells: Block) -> Floats:
    """Encode rows, and bring them into the norm; without a declared class a row becomes zeros."""
    rows = coder.rows(cells)
    if isinstance(column, Levelled):
        rows[cells[str(schema.target)] < 0] = 0.0
    # Nobody looks at these rows again, so that what the encoder promises is made true here, whatever it made.
    squares = square_lengths(rows)
    longer = squares > norm**2 * (1.0 - 2.0**-38)
    if longer.any():
        rows[longer] *= (norm / np.sqrt(squares[longer]) * (1.0 - 2.0**-37))[:, None]
    return rows


def _targets(schema: Schema, column: Column, cells: Block) -> AnyArray:
    """Return targets; a row without a declared class is at the first."""
    found = cells[str(schema.target)].astype(np.float64)
    return np.maximum(found, 0.0) if isinstance(column, Levelled) else found


def _weights(schema: Schema, cells: Block) -> Floats:
    """Return how much each row weighs, over the largest weight that was declared: at most 1."""
    return np.asarray(cells[str(schema.weight)] / schema.largest_weight)


def _shares(cells: Block) -> Floats:
    return shares_of(cells[ROWS_OF_OWNER])
