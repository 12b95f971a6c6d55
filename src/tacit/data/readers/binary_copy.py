"""What PostgreSQL copies out in binary, read column by column: one field of many rows at once.

A row is the number of its fields, and each field its length and its bytes; all numbers are big-endian, and the length
of a null is -1. Before the first row stands a header, after the last one a row of -1 fields. In binary no session
rounds what it prints, and every value of a type has bytes: infinite dates and moments lie beyond all others.

Reference: the manual of PostgreSQL, COPY, "Binary Format"; of the types, the `*send` functions of its source.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, final

import numpy as np

from tacit.data.stored import Stored
from tacit.data.values import MISSING_MOMENT, AnyArray, objects
from tacit.numerics.arrays import Floats, Integers, Truths

_HEADER, _END = 19, b"\xff\xff"
_ROWS, _BYTES = 2**16, 2**24
_PADDING = bytes(32)
"""Behind the last row, for what is read where a null has no bytes."""
_DAYS_TO_2000, _MICROSECONDS_TO_2000 = 10_957, 946_684_800_000_000
_GROUPS = 4
"""How many groups of four digits a decimal may have to be read without a look at its bytes one by one."""
_POWERS = np.array([float(10**power) for power in range(23)])
"""The powers of ten that are floats."""
_NAN, _INFINITY, _MINUS_INFINITY, _MINUS = 0xC000, 0xD000, 0xF000, 0x4000


@final
@dataclass(frozen=True)
class Fields:
    """One field of many rows: how many bytes each has, -1 where it is null, and where they begin in the content."""

    content: bytes
    starts: Integers
    sizes: Integers

    @property
    def null(self) -> Truths:
        """Which fields are null."""
        return self.sizes < 0

    def numbers(self, kind: str, shift: int = 0) -> AnyArray:
        """Return the number that stands so many bytes behind each start; anything at all where there is none."""
        return _numbers_at(self.content, kind, self.starts + shift)

    def cells(self) -> list[bytes | None]:
        """Return the bytes of each field, None where it is null."""
        extents = zip(self.starts.tolist(), self.sizes.tolist(), strict=True)
        return [None if size < 0 else self.content[start : start + size] for start, size in extents]


Decoder = Callable[[Fields], AnyArray]


def read_columns(messages: Iterable[Any], decoders: Sequence[Decoder]) -> Iterator[list[AnyArray]]:
    """Yield the columns of some rows at a time; each message is a row, and the header stands before the first one."""
    for rows in _some_rows(messages):
        content = b"".join([*rows, _PADDING])
        sizes = np.fromiter(map(len, rows), np.int64, len(rows))
        starts, columns = np.cumsum(sizes) - sizes + 2, []
        for decode in decoders:
            fields = Fields(content, starts + 4, _numbers_at(content, ">i4", starts).astype(np.int64))
            columns.append(decode(fields))
            starts = fields.starts + np.maximum(fields.sizes, 0)
        yield columns


def _some_rows(messages: Iterable[Any]) -> Iterator[list[Any]]:
    """Cut the rows into lots of so many rows or bytes."""
    rows: list[Any] = []
    to_skip, size = _HEADER, 0
    for message in messages:
        row = message[to_skip:]
        to_skip = 0
        if len(row) > 0 and row != _END:
            rows.append(row)
            size += len(row)
        if len(rows) >= _ROWS or size >= _BYTES:
            yield rows
            rows, size = [], 0
    if rows:
        yield rows


def _numbers_at(content: bytes, kind: str, starts: Integers) -> AnyArray:
    """Return the numbers that begin at some bytes, of which none need be aligned."""
    width = np.dtype(kind).itemsize
    overlapping: AnyArray = np.ndarray((len(content) - width + 1,), kind, content, strides=(1,))
    return overlapping[starts].astype(np.dtype(kind).newbyteorder("="))


def _read_truths(fields: Fields) -> AnyArray:
    return _nullable(fields.numbers("u1") != 0, fields.null)


def _reader_of_wholes(kind: str) -> Decoder:
    return lambda fields: _nullable(fields.numbers(kind), fields.null)


def _nullable(values: AnyArray, null: Truths) -> AnyArray:
    """Return values that have no place for a missing one: as objects if one of them is."""
    if not null.any():
        return values
    cells = values.astype(object)
    cells[null] = None
    return cells


def _reader_of_reals(kind: str) -> Decoder:
    def read(fields: Fields) -> Floats:
        values = fields.numbers(kind)
        values[fields.null] = np.nan
        return values

    return read


def _read_decimals(fields: Fields) -> Floats:
    """Return the float that is nearest to each decimal: infinite beyond all of them, NaN where there is none.

    A decimal is a sign, a weight and groups of four digits. Where digits and power of ten are floats themselves, one
    division or product rounds once (Clinger, "How to read floating point numbers accurately", 1990); others are few.
    """
    groups, sign = fields.numbers(">i2").astype(np.int64), fields.numbers(">u2", 4).astype(np.int64)
    power = 4 * (fields.numbers(">i2", 2).astype(np.int64) - groups + 1)
    digits = np.zeros(len(groups), dtype=np.int64)
    for group in range(_GROUPS):
        digits = np.where(group < groups, digits * 10_000 + fields.numbers(">i2", 8 + 2 * group), digits)
    exact = (groups <= _GROUPS) & (digits <= 2**53) & (np.abs(power) < len(_POWERS)) & ((sign & ~_MINUS) == 0)
    scale = _POWERS[np.where(exact, np.abs(power), 0)]
    values: Floats = np.where(power < 0, digits / scale, digits * scale)
    values[sign == _MINUS] *= -1.0
    for row in np.flatnonzero(~exact & ~fields.null).tolist():
        start, size = int(fields.starts[row]), int(fields.sizes[row])
        values[row] = _read_decimal(fields.content[start : start + size])
    values[fields.null] = np.nan
    return values


def _read_decimal(field: bytes) -> float:
    groups, weight, sign = np.frombuffer(field, ">i2", 2).tolist() + np.frombuffer(field, ">u2", 1, 4).tolist()
    if sign in (_NAN, _INFINITY, _MINUS_INFINITY):
        return {_NAN: np.nan, _INFINITY: np.inf, _MINUS_INFINITY: -np.inf}[sign]
    digits = "".join(f"{group:04}" for group in np.frombuffer(field, ">i2", groups, 8).tolist())
    return float(f"{'-' if sign == _MINUS else ''}{digits}e{4 * (weight - groups + 1)}")


def _read_days(fields: Fields) -> AnyArray:
    return _moments(fields.numbers(">i4").astype(np.int64) + _DAYS_TO_2000, fields.null, "D")


def _read_moments(fields: Fields) -> AnyArray:
    # The last ones would wrap around, to the beginning of time.
    latest = np.iinfo(np.int64).max - _MICROSECONDS_TO_2000
    return _moments(np.minimum(fields.numbers(">i8"), latest) + _MICROSECONDS_TO_2000, fields.null, "us")


def _moments(counts: Integers, null: Truths, unit: str) -> AnyArray:
    return np.where(null, MISSING_MOMENT, counts).view(f"M8[{unit}]")


def _read_texts(fields: Fields) -> AnyArray:
    cells = fields.cells()
    texts = {cell: None if cell is None else cell.decode() for cell in set(cells)}
    return objects([texts[cell] for cell in cells])


def _read_uuids(fields: Fields) -> AnyArray:
    texts = [None if cell is None else cell.hex() for cell in fields.cells()]
    return objects([t and f"{t[:8]}-{t[8:12]}-{t[12:16]}-{t[16:20]}-{t[20:]}" for t in texts])


@final
@dataclass(frozen=True)
class CopiedType:
    """A type: what it is stored as, and how its fields are read."""

    stored: Stored
    decode: Decoder


OTHER = CopiedType(Stored("other"), lambda fields: objects([None] * len(fields.sizes)))
"""Any type that is not read."""

TYPES: Mapping[int, CopiedType] = {
    16: CopiedType(Stored("truth", "boolean"), _read_truths),
    20: CopiedType(Stored("whole", "bigint"), _reader_of_wholes(">i8")),
    21: CopiedType(Stored("whole", "smallint"), _reader_of_wholes(">i2")),
    23: CopiedType(Stored("whole", "integer"), _reader_of_wholes(">i4")),
    25: CopiedType(Stored("text", "text"), _read_texts),
    700: CopiedType(Stored("real", "real"), _reader_of_reals(">f4")),
    701: CopiedType(Stored("real", "double precision"), _reader_of_reals(">f8")),
    1042: CopiedType(Stored("text", "character"), _read_texts),
    1043: CopiedType(Stored("text", "character varying"), _read_texts),
    1082: CopiedType(Stored("day", "date"), _read_days),
    1114: CopiedType(Stored("moment", "timestamp"), _read_moments),
    1184: CopiedType(Stored("moment", "timestamp with time zone"), _read_moments),
    1700: CopiedType(Stored("decimal", "numeric"), _read_decimals),
    2950: CopiedType(Stored("uuid", "uuid"), _read_uuids),
}
"""The types that are read, by the number that each has in every database."""
