"""Cleaning said in SQL: what `Column.clean` does to a cell, for engines that hold the cells.

A dialect prints literals, and for every kind of column and stored type the expression that reads one cell. Nothing
that it prints can fail because of a cell: comparisons, CASE, and conversions that are total for the stored type. The
values it gives are those of `tacit.data.values`, to the last bit.
"""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import final

from tacit.data.columns import SMALLEST, Column, Key, Moment, Number
from tacit.data.levels import Levelled
from tacit.data.stored import Stored
from tacit.data.values import BLANKS, DAY, KEYS, MISSING_KEY, MOMENT_PATTERN, NUMBER_PATTERN


class Dialect(ABC):
    """How one engine is spoken to."""

    name: str
    double: str = "DOUBLE"
    """The type of a 64-bit float."""
    fence: str = ""
    """What keeps an engine from computing a subquery's columns anew for each use."""
    deepest: int = 40
    """How deep operations are nested in one column, before the inner ones become columns of a subquery."""
    most_layers: int = 200
    """How many such subqueries may lie within each other: engines fail over too many, whatever the records hold."""
    highest: int = 8_000
    """How many operations may lie on top of each other in all: an engine may make one expression of them again."""

    @abstractmethod
    def number(self, value: float) -> str:
        """Print a 64-bit float."""

    @abstractmethod
    def literal(self, value: str) -> str:
        """Print a text as a constant."""

    def quoted(self, name: str) -> str:
        """Print the name of a column: in double quotes, as standard SQL has it."""
        return '"' + name.replace('"', '""') + '"'

    @abstractmethod
    def stripped(self, cell: str) -> str:
        """Print a text without blanks at its ends, to be compared byte by byte."""

    @abstractmethod
    def float_of(self, cell: str, stored: Stored) -> str:
        """Print a cell as a float, NULL or NaN where it is none."""

    def is_nan(self, value: str) -> str:
        """Print whether a float is NaN."""
        return f"isnan({value})"

    @abstractmethod
    def microseconds(self, cell: str, stored: Stored, low: int, high: int) -> str:
        """Print a moment in whole microseconds, NULL where it is none; what lies beyond the ends stays beyond them."""

    def key_of(self, cell: str, stored: Stored) -> str:
        """Print the whole number that a key stands for: a whole number modulo a prime, or the digits of a digest."""
        if stored.kind == "whole":
            return f"coalesce((CAST({cell} % {KEYS} AS BIGINT) + {KEYS}) % {KEYS}, {MISSING_KEY})"
        return f"coalesce({self.digest_of(cell)} % {KEYS}, {MISSING_KEY})"

    @abstractmethod
    def digest_of(self, cell: str) -> str:
        """Print the first eight digits of a text's MD5 as a whole number, NULL where the text is empty."""

    def count(self, condition: str) -> str:
        """Print the number of records for which a condition is true, without making numbers of conditions."""
        return f"count_if({condition})"

    def of_all(self, columns: Sequence[str]) -> str:
        """Print values that cannot be told without a look at every cell of some columns."""
        return ", ".join(f"max({column})" for column in columns)

    def same_text(self, cell: str, level: str) -> str:
        """Print whether a stripped text is a level."""
        return f"{cell} = {self.literal(level)}"

    def whole_division(self, dividend: str, divisor: int) -> tuple[str, str]:
        """Print quotient and rest of a whole number that is not negative."""
        return f"({dividend} // {divisor})", f"({dividend} % {divisor})"

    def read(self, cell: str, column: Column, stored: Stored) -> str:
        """Print what is computed from a cell first, once: a float, a number of microseconds, a bare text, a key."""
        if isinstance(column, Number):
            return self.float_of(cell, stored)
        if isinstance(column, Moment):
            return self.microseconds(cell, stored, *column.ends)
        if isinstance(column, Key):
            return self.key_of(cell, stored)
        return self.stripped(cell) if stored.kind in ("text", "lines") else cell

    def clean(self, value: str, column: Column, stored: Stored) -> str:
        """Print a column's cleaned value, from what was read."""
        if isinstance(column, Number):
            low, high, fallback = map(self.number, (column.low, column.high, column.fallback))
            # NaN is asked for first: engines disagree about how it compares.
            return (
                f"(CASE WHEN {self._no_number(value)} THEN {fallback} WHEN {value} < {low} THEN {low} "
                f"WHEN {value} > {high} THEN {high}{self._snapped(value, column)} ELSE {value} END)"
            )
        if isinstance(column, Moment):
            return self._days(value, column)
        if isinstance(column, Key):
            return value
        assert isinstance(column, Levelled)
        return self._place(value, column, stored, column.unknown)

    def state(self, value: str, column: Column, stored: Stored) -> str:
        """Print how a cell fared: 0 as declared, 1 missing or of no sense, 2 beyond the bounds or levels."""
        if isinstance(column, Number):
            low, high = self.number(column.low), self.number(column.high)
            beyond = f"{value} < {low} OR {value} > {high}"
            return f"(CASE WHEN {self._no_number(value)} THEN 1 WHEN {beyond} THEN 2 ELSE 0 END)"
        if isinstance(column, Moment):
            low, high = map(str, column.ends)
            return f"(CASE WHEN {value} IS NULL THEN 1 WHEN {value} < {low} OR {value} > {high} THEN 2 ELSE 0 END)"
        if isinstance(column, Levelled):
            blank = f" OR {self.same_text(value, '')}" if stored.kind in ("text", "lines") else ""
            known = f"{self._place(value, column, stored, -1)} >= 0"
            return f"(CASE WHEN {known} THEN 0 WHEN {value} IS NULL{blank} THEN 1 ELSE 2 END)"
        return "0"

    def _clamped_days(self, days: str, low: int, high: int) -> str:
        """Print a number of days, in microseconds: types reach farther than 64 bits of microseconds do."""
        first, last = low // DAY - 1, high // DAY + 1
        inside = f"(CASE WHEN {days} < {first} THEN {first} WHEN {days} > {last} THEN {last} ELSE {days} END)"
        return f"(CAST({inside} AS BIGINT) * {DAY})"

    def _no_number(self, value: str) -> str:
        return f"{value} IS NULL OR {self.is_nan(value)}"

    def _snapped(self, value: str, column: Number) -> str:
        if not column.low <= 0 <= column.high:
            return ""
        tiny = self.number(SMALLEST)
        return f" WHEN {value} < {tiny} AND {value} > {self.number(-SMALLEST)} THEN {self.number(0.0)}"

    def _days(self, read: str, column: Moment) -> str:
        """Print the day, with the time of the day as its fraction: the same two roundings as `columns.days`."""
        low, high = column.ends
        first = low // DAY
        inside = (
            f"(CASE WHEN {read} IS NULL THEN {column.fallback - first * DAY} WHEN {read} < {low} THEN "
            f"{low - first * DAY} WHEN {read} > {high} THEN {high - first * DAY} ELSE {read} - ({first * DAY}) END)"
        )
        whole, rest = self.whole_division(inside, DAY)
        day = f"CAST({whole} + ({first}) AS {self.double})"
        return f"({day} + CAST({rest} AS {self.double}) / {self.number(float(DAY))})"

    def _place(self, cell: str, column: Levelled, stored: Stored, unknown: int) -> str:
        branches = []
        for place, spellings in enumerate(column.spellings):
            same = [found for spelling in spellings if (found := self._is(cell, spelling, stored)) is not None]
            if same:
                branches.append(f"WHEN {' OR '.join(same)} THEN {place}")
        return f"(CASE {' '.join(branches)} ELSE {unknown} END)" if branches else f"({unknown})"

    def _is(self, cell: str, spelling: str, stored: Stored) -> str | None:
        """Print whether a cell reads as a level, or None if no cell of this type can."""
        if stored.kind in ("text", "lines"):
            return self.same_text(cell, spelling)
        if stored.kind == "truth":
            return {"true": cell, "false": f"NOT {cell}"}.get(spelling)
        digits = spelling.removeprefix("-")
        if not (digits.isascii() and digits.isdigit() and str(int(spelling)) == spelling):
            return None
        # The widest stored whole numbers are those of unsigned 64 bits, which only DuckDB has.
        return f"{cell} = {spelling}" if -(2**63) <= int(spelling) < 2**64 else None


@final
class DuckDB(Dialect):
    """DuckDB, which reads the files."""

    name = "duckdb"

    def of_all(self, columns: Sequence[str]) -> str:
        """Digests of all cells together: the largest of a column may be known to DuckDB without a look at any cell."""
        return ", ".join(f"bit_xor(hash({column}))" for column in columns)

    def number(self, value: float) -> str:
        """A literal with an exponent is a float."""
        written = repr(float(value))
        return f"({written})" if "e" in written else f"({written}e0)"

    def literal(self, value: str) -> str:
        """Standard SQL, without escapes; a NUL cannot be written in one."""
        return "'" + value.replace("'", "''").replace("\0", "' || chr(0) || '") + "'"

    def stripped(self, cell: str) -> str:
        """Compare by bytes whatever collation the connection prefers."""
        return f'(trim({cell}, {_BLANKS}) COLLATE "binary")'

    def float_of(self, cell: str, stored: Stored) -> str:
        """Read text by one pattern; decimals of more than 15 digits by way of their text, which rounds once."""
        if stored.kind == "lines":
            bare = f"trim({cell}, {_BLANKS})"
            return f"(CASE WHEN regexp_full_match({bare}, '{NUMBER_PATTERN}') THEN TRY_CAST({bare} AS DOUBLE) END)"
        if stored.kind == "decimal" and stored.digits > 15:
            return f"CAST(CAST({cell} AS VARCHAR) AS DOUBLE)"
        if stored.kind == "real":
            # DuckDB believes the bounds that a Parquet file states for a column, though these leave NaN out, and takes
            # isnan(x) for false without looking. Behind a nullif it knows of no bounds, and NaN equals itself.
            return f"nullif(CAST({cell} AS DOUBLE), 'nan'::DOUBLE)"
        return f"CAST({cell} AS DOUBLE)"

    def microseconds(self, cell: str, stored: Stored, low: int, high: int) -> str:
        """Dates and times as whole numbers; infinite ones lie beyond all others."""
        if stored.kind == "lines":
            bare = f"trim({cell}, {_BLANKS})"
            read = f"TRY_CAST({bare} AS TIMESTAMP)"
            return (
                f"(CASE WHEN regexp_full_match({bare}, '{MOMENT_PATTERN}') AND substr({bare}, 1, 4) <> '0000' "
                f"THEN epoch_us({read}) END)"
            )
        found = f"epoch_us({cell})"
        if stored.kind == "day":
            found = self._clamped_days(f"({cell} - DATE '1970-01-01')", low, high)
        if stored.name.endswith("_ns"):
            fine = f"epoch_ns({cell})"
            found = f"(CASE WHEN {fine} < 0 THEN ({fine} + 1) // 1000 - 1 ELSE {fine} // 1000 END)"
        return _or_infinite(cell, found, low, high)

    def digest_of(self, cell: str) -> str:
        """Digits are written after 0x."""
        digest = f"md5(nullif(trim(CAST({cell} AS VARCHAR), {_BLANKS}), ''))"
        return f"CAST('0x' || substr({digest}, 1, 8) AS BIGINT)"


@final
class PostgreSQL(Dialect):
    """PostgreSQL, which fails where a float overflows or underflows, and compares text by collations."""

    name = "postgresql"
    double = "double precision"
    # Unless something stands in between, columns are computed anew for every sum.
    fence = " OFFSET 0"

    def number(self, value: float) -> str:
        """A plain number would be a decimal, and computed with as such."""
        return f"'{float(value)!r}'::float8"

    def literal(self, value: str) -> str:
        """With escapes said to be escapes, whatever the server thinks of backslashes."""
        escaped = value.replace("\\", "\\\\").replace("'", "''")
        return f"E'{escaped}'"

    def stripped(self, cell: str) -> str:
        """Compare by bytes: other collations may fail, or take different texts for the same."""
        return f"""btrim({cell}::text COLLATE "C", {_POSTGRESQL_BLANKS})"""

    def same_text(self, cell: str, level: str) -> str:
        """No text holds a NUL here."""
        return "false" if "\0" in level else super().same_text(cell, level)

    def float_of(self, cell: str, stored: Stored) -> str:
        """A decimal may be of any size, infinite or NaN, and its conversion fail: bring it into range first."""
        if stored.kind != "decimal":
            return f"{cell}::float8"
        return (
            f"(CASE WHEN {cell}::text = 'NaN' THEN 'NaN'::float8 WHEN {cell} > 1e200 THEN 1e200::float8 "
            f"WHEN {cell} < -1e200 THEN (-1e200)::float8 WHEN {cell} < 1e-200 AND {cell} > -1e-200 THEN 0::float8 "
            f"ELSE {cell}::float8 END)"
        )

    def is_nan(self, value: str) -> str:
        """NaN equals itself here."""
        return f"{value} = 'NaN'::float8"

    def microseconds(self, cell: str, stored: Stored, low: int, high: int) -> str:
        """Days and the time of the day, each a whole number; infinite moments lie beyond all others."""
        local = f"({cell} AT TIME ZONE 'UTC')" if "time zone" in stored.name else cell
        found = self._clamped_days(f"({local}::date - DATE '1970-01-01')", low, high)
        if stored.kind == "moment":
            found += (
                f" + extract(hour from {local})::bigint * 3600000000 + extract(minute from {local})::bigint * 60000000"
                f" + extract(microseconds from {local})::bigint"
            )
        return _or_infinite(cell, found, low, high)

    def whole_division(self, dividend: str, divisor: int) -> tuple[str, str]:
        """Division of whole numbers is whole here."""
        return f"({dividend} / {divisor})", f"({dividend} % {divisor})"

    def digest_of(self, cell: str) -> str:
        """Digits become a number by way of bits."""
        digest = f"md5(convert_to(nullif({self.stripped(cell)}, ''), 'UTF8'))"
        return f"('x' || substr({digest}, 1, 8))::bit(32)::bigint"

    def count(self, condition: str) -> str:
        """Count by a filter, so that no number is made."""
        return f"count(*) FILTER (WHERE {condition})"


@final
class Spark(Dialect):
    """Spark, in its strict mode or not."""

    name = "pyspark"
    # The time that its parser takes grows out of bounds with the depth of parentheses.
    deepest = 3
    most_layers = 40
    # Its optimizer makes one expression of all layers again, and its stack overflows over one of more than about 500.
    highest = 400

    def of_all(self, columns: Sequence[str]) -> str:
        """One number for each record, the largest of them all: one for each column takes longer, and so do hashes."""
        return f"max(greatest(0D, 0D, {', '.join(f'CAST({each} AS DOUBLE)' for each in columns)}))"

    def number(self, value: float) -> str:
        """A literal that ends in D is a float."""
        return f"({float(value)!r}D)"

    def literal(self, value: str) -> str:
        """Bytes in hexadecimal: how backslashes and letters outside ASCII are read depends on settings."""
        return f"X'{value.encode('utf-8', 'replace').hex()}'"

    def quoted(self, name: str) -> str:
        """Print the name of a column between backticks."""
        return "`" + name.replace("`", "``") + "`"

    def stripped(self, cell: str) -> str:
        """Compare by bytes, whatever collation a column has."""
        return f"CAST(trim(BOTH decode({_SPARK_BLANKS}, 'UTF-8') FROM {cell}) AS BINARY)"

    def float_of(self, cell: str, stored: Stored) -> str:
        """Numbers of every type have a float."""
        return f"CAST({cell} AS DOUBLE)"

    def microseconds(self, cell: str, stored: Stored, low: int, high: int) -> str:
        """Dates as days, times as microseconds; those without a zone by their parts."""
        if stored.kind == "day":
            return self._clamped_days(f"unix_date({cell})", low, high)
        if stored.name.endswith("ntz"):
            days = self._clamped_days(f"unix_date(CAST({cell} AS DATE))", low, high)
            return (
                f"({days} + CAST(hour({cell}) AS BIGINT) * 3600000000L + CAST(minute({cell}) AS BIGINT) * 60000000L + "
                f"CAST(extract(SECOND FROM {cell}) * 1000000 AS BIGINT))"
            )
        return f"unix_micros({cell})"

    def whole_division(self, dividend: str, divisor: int) -> tuple[str, str]:
        """`/` would make floats of them."""
        return f"({dividend} DIV {divisor}L)", f"({dividend} % {divisor}L)"

    def digest_of(self, cell: str) -> str:
        """Digits of another base have a function of their own."""
        return f"CAST(conv(substr(md5(nullif({self.stripped(cell)}, X'')), 1, 8), 16, 10) AS BIGINT)"


_BLANKS = " || ".join(f"chr({ord(blank)})" for blank in BLANKS)
# PostgreSQL takes \\v for the letter v.
_POSTGRESQL_BLANKS = "E'" + "".join(f"\\x{ord(blank):02x}" for blank in BLANKS) + "'"
_SPARK_BLANKS = f"X'{BLANKS.encode().hex()}'"


def _or_infinite(cell: str, found: str, low: int, high: int) -> str:
    """Print what a moment is if it is finite; infinite ones lie beyond all others."""
    return (
        f"(CASE WHEN isfinite({cell}) THEN {found} WHEN {cell} > DATE '1970-01-01' THEN {high + 1} "
        f"WHEN {cell} < DATE '1970-01-01' THEN {low - 1} END)"
    )
