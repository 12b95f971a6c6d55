"""Tables as hostile as their stores allow, each with the same content as Python objects or Arrow columns in memory.

Every cell of `arrow_table` is drawn from the extremes of its type; `PAIRS` holds what PostgreSQL alone can store, each
cell as a literal of SQL and as the Python object that must read the same.
"""

import random
from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa

from tacit.data import Category, Column, Flag, Key, Moment, Number, Ordinal, Schema

FLOATS = [
    0.0, -0.0, 1.0, -1.0, 0.5, 1 / 3, 3.0, 1e-3, 1e15, -1e15, 2.0**53 + 2, np.nan, np.inf, -np.inf, 5e-324, -5e-324,
    2.2e-308, -2.2250738585072014e-308, 1e-300, 1e-160, -1e-155, 1e-101, -1e-100, 1.0000000000000002e-100, 1e-99, 1e-50,
    1e50, 1e99, 1e100, -1e100, 1.0000000000000002e100, 1e200, 1.7976931348623157e308, -1.7976931348623157e308,
]  # fmt: skip
SINGLES = [0.1, 1e-38, 3.4028235e38, np.nan, np.inf, -np.inf, 1e-45, -1e-45, -2.5, -0.0, 16777217.0]
WHOLES = [0, 1, -1, 2, 7, 2**63 - 1, -(2**63), -(2**63) + 1, 2**53 + 1, -(2**53) - 1, 10**15 + 1, 2**62]
NATURALS = [0, 1, 7, 2**64 - 1, 2**63, 2**53 + 1, 2**63 + 1025]
BLANKS = [" ", "\t", "\n", "\r\n", "\f\v", "\u00a0", "\u2003", "\u200b", "\ufeff"]
WORDS = [
    "", "a", " a", "a\t", "\n a\r\n", "A", "é", "e\u0301", "日本", "it's", '"', "%", "\\", "\\'", "\u2003a", "🙂",
    "👩‍👩‍👧",
    "a\0", "\0", "a\0b", "nan", "NULL", "1", "1.0", "1e5", "-0", "0x10", "true", "ß", "ss", "İ", "null", "?", "\ufffd",
    "a" * 500, *BLANKS,
]  # fmt: skip
LEVELS = ["a", "é", "e\u0301", "日本", "it's", '"', "%", "\\", "\\'", "🙂", "1", "1.0", "nan", "a\0b", "?", "ß"]
GRADES = ["low", "middle", "high", " low ", "LOW", "none", "", "high\t"]
ANSWERS = ["yes", "no", "YES", "1", "true", " no", "maybe", "", "ja\0"]
DAYS = [
    0,
    -1,
    1,
    -719162,
    2932896,
    -719163,
    2932897,
    11016,
    2**31 - 1,
    -(2**31) + 1,
    -(2**31),
    2**31 - 2,
    19782,
    -141428,
]
LAST = 2**63 - 1
TIMES = [
    0, -1, 1, 951825600_000000, -62135596800_000000, 253402300799_999999, 253402300800_000000, -62135596800_000001,
    1709276889_123456, -2208988800_000001, LAST, LAST - 1, -LAST, -LAST + 1, 9223371331200_000000,
    -9223371331200_000000,
]  # fmt: skip
COLUMNS: dict[str, Column] = {
    "f": Number(-1e100, 1e100, missing=0.25),
    "h": Number(0, 1),
    "r": Number(-1e-100, 3, missing=-1e-100),
    "s": Number(-1e38, 1e38),
    "i": Number(-1e19, 1e19),
    "u": Number(3, 2.0**64),
    "j": Number(-128, 127, missing=9),
    "b": Flag(missing=True),
    "d": Number(-1e6, 1e6, log=True),
    "e": Number(-1e30, 1e30, missing=0),
    "w": Category(LEVELS),
    "c": Category([2**63 - 1, -(2**63), 7, 0, "x"], other=7),
    "v": Category([2**64 - 1, 7, -1]),
    "o": Ordinal(["low", "middle", "high"]),
    "q": Flag(false=["no", "NO"], true=["yes", "1", "ja\0"]),
    "day": Moment("0001-01-01", "9999-12-31"),
    "date": Moment("1999-12-31", "2000-03-01T00:00:00.000001", missing="2000-02-29"),
    "at": Moment("1900-01-01T06:30:00", "2100-01-01"),
    "ns": Moment("1969-12-31", "1970-01-02", missing="1970-01-01T00:00:00.000001"),
    "ms": Moment("0001-01-01", "9999-12-31T23:59:59.999999"),
    "zone": Moment("1969-12-31T20:00:00", "2024-03-01"),
    "y": Category(["-1", "1"], other="-1"),
    "id": Key(),
    "name": Key(),
}
SCHEMA = Schema(COLUMNS, target="y")


def arrow_table(n: int, seed: int, *, nul: bool = True) -> pa.Table:
    """Return n records of extremes; PostgreSQL holds no NUL in its texts."""
    draw = random.Random(seed)
    words = [word for word in WORDS if nul or "\0" not in word]
    answers = [word for word in ANSWERS if nul or "\0" not in word]

    def some(values: list[Any], kind: pa.DataType) -> pa.Array:
        return pa.array([None if draw.random() < 0.1 else draw.choice(values) for _ in range(n)], kind)

    def number() -> float:
        return draw.choice([draw.random(), draw.gauss(0, 1), draw.choice(FLOATS)])

    moments = pa.int64()
    return pa.table(
        {
            "f": some(FLOATS, pa.float64()),
            "h": some([number() for _ in range(n)], pa.float64()),
            "r": some([number() * draw.choice([1, 1e-100, 1e-99]) for _ in range(n)], pa.float64()),
            "s": some(SINGLES, pa.float32()),
            "i": some(WHOLES, pa.int64()),
            "u": some(NATURALS, pa.uint64()),
            "j": some([0, 1, -1, 127, -128, 9], pa.int8()),
            "b": some([True, False], pa.bool_()),
            "d": some([Decimal(c) / 100 for c in (0, 1, -1, 150, 10**11, -(10**11))], pa.decimal128(14, 2)),
            "e": some([Decimal(f"{c}e-10") for c in _LONG], pa.decimal128(38, 10)),
            "w": some(words, pa.string()),
            "c": some(WHOLES, pa.int64()),
            "v": some(NATURALS, pa.uint64()),
            "o": some(GRADES, pa.string()),
            "q": some(answers, pa.string()),
            "day": some(DAYS, pa.int32()).cast(pa.date32()),
            "date": some(DAYS, pa.int32()).cast(pa.date32()),
            "at": some(TIMES, moments).cast(pa.timestamp("us")),
            "ns": some(TIMES, moments).cast(pa.timestamp("ns")),
            "ms": some([time // 1000 if time > 0 else -(-time // 1000) for time in TIMES], moments).cast(
                pa.timestamp("ms")
            ),
            "zone": some(TIMES, moments).cast(pa.timestamp("us", "America/New_York")),
            "y": pa.array([draw.choice([-1, 1]) for _ in range(n)], pa.int64()),
            "id": some([*WHOLES, *range(-50, 50)], pa.int64()),
            "name": some([*words, *(f"p{k}é" for k in range(50))], pa.string()),
        }
    )


_LONG = [
    0,
    1,
    -1,
    10**37,
    10**38 - 1,
    -(10**38) + 1,
    12345678901234567890123456789012345678,
    5 * 10**9,
    2**53 * 10**10 + 1,
]


# What each cell is in PostgreSQL, and the Python object that must be read the same. An infinite moment is later, or
# earlier, than all others.
_FAR, _LONG_AGO = np.datetime64(LAST, "us"), np.datetime64(-LAST, "us")
_MOMENTS: list[tuple[str, Any]] = [
    ("infinity", _FAR), ("-infinity", _LONG_AGO), ("1970-01-01", np.datetime64("1970-01-01", "us")),
    ("2000-02-29", np.datetime64("2000-02-29", "us")), ("4713-01-01 BC", np.datetime64("-4712-01-01", "us")),
    ("1969-12-31 23:59:59.999999", np.datetime64("1969-12-31T23:59:59.999999", "us")),
    ("9999-12-31 23:59:59.999999", np.datetime64("9999-12-31T23:59:59.999999", "us")),
    ("294276-12-31 23:59:59.999999", _FAR), ("4714-11-24 BC", np.datetime64("-4713-11-24", "us")),
    ("0001-12-31 BC", np.datetime64("0000-12-31", "us")),
]  # fmt: skip
_DATES: list[tuple[str, Any]] = [
    ("infinity", _FAR), ("-infinity", _LONG_AGO), ("5874897-12-31", _FAR), ("4714-11-24 BC", _LONG_AGO),
    ("1970-01-01", np.datetime64("1970-01-01", "us")), ("2000-02-29", np.datetime64("2000-02-29", "us")),
    ("9999-12-31", np.datetime64("9999-12-31", "us")), ("0001-01-01", np.datetime64("0001-01-01", "us")),
]  # fmt: skip
_NUMERICS: list[tuple[str, Any]] = [
    (text, Decimal(text))
    for text in (
        "0", "NaN", "Infinity", "-Infinity", "1e300", "-1e300", "1e-300", "-1e-300", "1e500", "1e-500", "0.1",
        "1e5000", "99999999999999999999999999999999999999.5", "9007199254740993", "1e100", "1e-100", "1e-101",
        "0.3000000000000000444089209850062616169452667236328125", "7.2057594037927933e16",
    )
]  # fmt: skip
_DOUBLES: list[tuple[str, Any]] = [(repr(each), each) for each in FLOATS]
_TEXTS: list[tuple[str, Any]] = [(word, word) for word in WORDS if "\0" not in word]
PAIRS: dict[str, tuple[str, Column, list[tuple[str, Any]]]] = {
    "f": ("float8", COLUMNS["f"], _DOUBLES),
    "h": ("float8", COLUMNS["h"], [*_DOUBLES, ("0.25", 0.25), ("0.75", 0.75)]),
    "r": ("float8", COLUMNS["r"], _DOUBLES),
    "s": ("float4", COLUMNS["s"], [(repr(each), np.float32(each)) for each in SINGLES]),
    "i": ("int8", COLUMNS["i"], [(str(each), each) for each in WHOLES]),
    "j": ("int2", COLUMNS["j"], [(str(each), each) for each in (0, 1, -1, 127, -128, 2**15 - 1, -(2**15))]),
    "e": ("numeric", Number(-1e100, 1e100), _NUMERICS),
    "d": ("numeric(38, 5)", Number(-1e6, 1e6), [(str(c), c) for c in map(Decimal, ("0", "1e32", "-1e32", "0.00001"))]),
    "b": ("boolean", COLUMNS["b"], [("true", True), ("false", False)]),
    "w": ("text COLLATE blind", COLUMNS["w"], _TEXTS),
    "o": ("char(9)", COLUMNS["o"], [(word, word) for word in GRADES]),
    "q": ("varchar(20) COLLATE blind", COLUMNS["q"], [(word, word) for word in ANSWERS if "\0" not in word]),
    "c": ("int8", COLUMNS["c"], [(str(each), each) for each in WHOLES]),
    "day": ("date", COLUMNS["day"], _DATES),
    "date": ("date", COLUMNS["date"], _DATES),
    "at": ("timestamp", COLUMNS["at"], _MOMENTS),
    "ms": ("timestamp", COLUMNS["ms"], _MOMENTS),
    "zone": (
        "timestamptz",
        COLUMNS["zone"],
        [(f"{word} UTC" if "infin" not in word else word, cell) for word, cell in _MOMENTS],
    ),
    "y": ("int4", COLUMNS["y"], [("-1", -1), ("1", 1)]),
    "id": ("int8", Key(), [(str(each), each) for each in WHOLES]),
    "name": ("text COLLATE blind", Key(), _TEXTS),
}


def write_pairs(address: str, n: int, seed: int) -> tuple[str, dict[str, list[Any]]]:
    """Fill a PostgreSQL table with pairs; return its name and the same records as Python objects."""
    import psycopg

    draw = random.Random(seed)
    rows = {name: [draw.choice([*cells, (None, None)]) for _ in range(n)] for name, (_, _, cells) in PAIRS.items()}
    with psycopg.connect(address) as connection, connection.cursor() as cursor:
        cursor.execute("SET TIME ZONE 'UTC'")
        # Blind to case and accents: equal is what this collation says, not what the bytes say.
        cursor.execute(
            "CREATE COLLATION IF NOT EXISTS blind (provider = icu, locale = 'und-u-ks-level1', deterministic = false)"
        )
        columns = ", ".join(f'"{name}" {kind}' for name, (kind, _, _) in PAIRS.items())
        cursor.execute(f"CREATE TABLE hostile ({columns})")
        with cursor.copy("COPY hostile FROM STDIN") as copy:
            for row in zip(*rows.values(), strict=True):
                copy.write_row([text for text, _ in row])
    return "hostile", {name: [cell for _, cell in cells] for name, cells in rows.items()}
