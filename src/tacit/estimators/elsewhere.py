"""Records as rows that are not in memory: in a private file, or on the executors of the records' cluster."""

from collections.abc import Iterator
from functools import partial
from typing import Any

import numpy as np

from tacit.data.columns import Column
from tacit.data.encoder import PublicEncoder
from tacit.data.levels import Levelled
from tacit.data.persons import Persons, SpreadPersons, share_of
from tacit.data.records import Records
from tacit.data.sources.live import ROWS_OF_OWNER, SparkTable
from tacit.data.streamed import StreamedLabels, StreamedRows
from tacit.data.values import AnyArray
from tacit.errors import InvalidParameter
from tacit.numerics.arrays import Floats
from tacit.numerics.disk import DiskWriter, Elsewhere
from tacit.numerics.products import square_lengths
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
    if records.room.holds(records.rows, max(encoder.width, features)):
        return None
    if records.unit is None:
        records.room.check_disk(records.n, encoder.width + features)
    return _on_disk(records, encoder, column)


def _on_disk(records: Records, encoder: PublicEncoder, column: Column) -> tuple[StreamedRows, Target, Any]:
    """Encode records into a private file."""
    room, target = records.room, str(records.schema.target)
    whose = () if records.unit is None else (records.unit,)
    ids: list[AnyArray] = []
    with DiskWriter(encoder.width, room.kept) as rows, DiskWriter(None, room.kept) as targets:
        for lot, cells in encoder.stream(records, (target, *whose)):
            targets.append(_prepared(lot, cells[target], column, encoder.data_norm))
            rows.append(lot)
            ids += [cells[name] for name in whose]
    kept = StreamedRows(rows.done(), encoder.data_norm, encoder.constant, encoder.filled)
    return kept, _target(targets.done(), column), Persons.of(np.concatenate(ids), records.whom) if whose else None


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
        counts, places = np.unique(own.get(ROWS_OF_OWNER, np.ones(len(rows))), return_inverse=True)
        weights = np.array([share_of(int(count)) for count in counts])[places]
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
