"""Records as rows that are not in memory: in a private file, or on the executors of the records' cluster."""

from collections.abc import Iterator
from functools import partial
from typing import Any

import numpy as np

from tacit.data.columns import Column
from tacit.data.counted import CountedPersons
from tacit.data.encoder import PublicEncoder
from tacit.data.levels import Levelled
from tacit.data.persons import SpreadPersons, shares_of
from tacit.data.records import Records
from tacit.data.sources.live import ROWS_OF_OWNER, SparkTable
from tacit.data.streamed import StreamedLabels, StreamedRows
from tacit.data.values import AnyArray
from tacit.errors import InvalidParameter
from tacit.numerics.arrays import Floats
from tacit.numerics.disk import Allowance, DiskWriter, Elsewhere, can_keep_files, refuse_unwritable
from tacit.numerics.products import square_lengths
from tacit.numerics.progress import told_rows
from tacit.numerics.spread import SpreadColumn

Target = StreamedLabels | Elsewhere


def elsewhere(
    records: Records, encoder: PublicEncoder, column: Column, features: int
) -> tuple[StreamedRows, Target, Any] | None:
    """Return rows, targets and persons, encoded in one reading; None where memory holds them.

    So many features are made of each row, which take their place.
    """
    if isinstance(records.table, SparkTable):
        return _on_cluster(records, records.table, encoder, column)
    if records.unit is None:
        if records.room.holds(records.n, max(encoder.width, features)):
            return None
        records.room.check_disk(records.n, encoder.width + features)
        return _on_disk(records, encoder, column)
    if not can_keep_files():
        return None
    # How many rows persons have is private: a folder that takes no file is refused whether one is needed or not, and
    # from here on nothing fails before the charge.
    refuse_unwritable()
    if records.room.holds(records.rows, max(encoder.width, features)):
        return None
    return _on_disk(records, encoder, column)


def _on_disk(records: Records, encoder: PublicEncoder, column: Column) -> tuple[StreamedRows, Target, Any]:
    """Encode records into a private file."""
    kept, target, unit = records.room.kept, str(records.schema.target), records.unit
    whose = () if unit is None else (unit,)
    counted, done = CountedPersons(), 0
    allowance = Allowance(records.room.disk, late=unit is not None)
    with (
        DiskWriter(encoder.width, kept, allowance=allowance) as rows,
        DiskWriter(None, kept, allowance=allowance) as targets,
        DiskWriter(None, kept, samples=False, allowance=allowance) as ids,
    ):
        for lot, cells in encoder.stream(records, (target, *whose)):
            targets.append(_prepared(lot, cells[target], column, encoder.data_norm))
            rows.append(lot)
            if unit is None:
                done += len(lot)
                told_rows(done, records.n)
            else:
                counted.add(cells[unit])
                ids.append(cells[unit].astype(np.float64))
    found = StreamedRows(rows.done(), encoder.data_norm, encoder.constant, encoder.filled)
    if unit is None:
        return found, _target(targets.done(), column), None
    if counted.n != records.n:
        raise InvalidParameter("the table no longer has as many persons as when it was opened.")
    weights = ids.done().mapped(lambda part: counted.weights(part.astype(np.int64)), None)
    return found, _target(targets.done(), column), SpreadPersons(weights, records.n, records.whom)


def _on_cluster(
    records: Records, table: SparkTable, encoder: PublicEncoder, column: Column
) -> tuple[StreamedRows, Target, Any]:
    """Encode records on the executors that read them."""
    target = str(records.schema.target)
    names = tuple(dict.fromkeys((*encoder.schema.features, target)))
    encode = partial(_lots, encoder, target, column)
    lots = table.encoded_there(names, records.part, records.key, records.unit, encode, encoder.width)
    # Of a part of persons nobody has counted the rows.
    rows = table.n if records.part is None else None if records.unit is not None else records.n
    if rows is not None and len(lots) != rows:
        raise InvalidParameter("the table no longer has as many records as when it was opened.")
    kept = StreamedRows(lots, encoder.data_norm, encoder.constant, encoder.filled)
    persons = None if records.unit is None else SpreadPersons(SpreadColumn(lots, -1), records.n, records.whom)
    return kept, _target(SpreadColumn(lots, -2), column), persons


def _lots(encoder: PublicEncoder, target: str, column: Column, cells: dict[str, AnyArray]) -> Iterator[Floats]:
    """Encode cleaned cells: features, the target, and how much a row counts of its person."""
    cells = {name: np.asarray(found) for name, found in cells.items()}
    for rows, own in encoder.lots(cells):
        targets = _prepared(rows, own[target], column, encoder.data_norm)
        weights = shares_of(own.get(ROWS_OF_OWNER, np.ones(len(rows), dtype=np.int64)))
        yield np.column_stack([rows, targets, weights])


def _prepared(rows: Floats, cells: AnyArray, column: Column, norm: float) -> Floats:
    """Return targets, and bring rows into the norm; without a declared class a row becomes zeros at the first class."""
    found = np.asarray(cells, dtype=np.float64)
    if isinstance(column, Levelled):
        rows[found < 0] = 0.0
        found = np.maximum(found, 0.0)
    # Nobody looks at these rows again, so that what the encoder promises is made true here, whatever it made.
    squares = square_lengths(rows)
    longer = squares > norm**2 * (1.0 - 2.0**-38)
    if longer.any():
        rows[longer] *= (norm / np.sqrt(squares[longer]) * (1.0 - 2.0**-37))[:, None]
    return found


def _target(found: Elsewhere, column: Column) -> Target:
    return StreamedLabels(found, column.classes) if isinstance(column, Levelled) else found
