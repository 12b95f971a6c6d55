"""How a table writes numbers, moments and missing cells as text, declared and never guessed.

A text reads the same wherever it stands: in a CSV file, in a column of a database, in a data frame. Both grammars are
total, look at one text alone, and round once.
"""

import codecs
import datetime
import math
import re
from collections.abc import Sequence
from dataclasses import dataclass, fields
from functools import cached_property
from typing import final

from tacit.checks import shown
from tacit.errors import InvalidParameter

BLANKS = " \t\n\r\f\v"
"""What is taken off both ends of a text before it is compared or read."""
NUMBER_PATTERN = r"[+-]?([0-9]+(\.[0-9]*)?|\.[0-9]+)([eE][+-]?[0-9]+)?"
"""Which texts are numbers, where the decimal sign is a point."""
MOMENT_PATTERN = r"[0-9]{4}-[0-9]{2}-[0-9]{2}([ T]([01][0-9]|2[0-3]):[0-5][0-9](:[0-5][0-9](\.[0-9]{1,6})?)?)?"
"""Which texts are dates or times by themselves: ISO 8601, without a zone."""
ENCODINGS = (
    "utf-8", "utf-16", "utf-16-le", "utf-16-be", "ascii", "latin-1", "iso-8859-2", "iso-8859-15", "cp1250", "cp1251",
    "cp1252", "cp437", "cp850", "mac-roman", "gb18030", "shift_jis", "euc-jp", "euc-kr", "big5",
)  # fmt: skip
"""How the bytes of a file may spell letters; other names of these are understood."""
_ENCODING_OF = {codecs.lookup(name).name: name for name in ENCODINGS}
_ISO = re.compile(MOMENT_PATTERN)
_THOUSANDS = (",", ".", " ", "'", "\u2019", "\u00a0", "\u202f")
_PARTS = {"Y": "year", "m": "month", "d": "day", "H": "hour", "M": "minute", "S": "second", "f": "microsecond"}
_PIECES = re.compile(r"%[YmdHMSf]|[^%]")


@final
@dataclass(frozen=True)
class FileForm:
    """How a file is written: what none of its lines may decide.

    `separator` stands between the fields of a line (None: as a file's ending says, a comma for .csv and a tab for
    .tsv), `encoding` says which letters the bytes are. `decimal` is the decimal sign, `thousands` what may stand
    between groups of three digits. `missing` lists the words that mean a missing cell, and `dates` formats of dates and
    times besides ISO 8601, of the directives %Y %m %d %H %M %S %f; the first that fits is taken.
    """

    separator: str | None = None
    decimal: str = "."
    thousands: str | None = None
    encoding: str = "utf-8"
    missing: Sequence[str] = ()
    dates: Sequence[str] = ()

    def __post_init__(self) -> None:
        if self.separator is not None and (not _is_letter(self.separator) or self.separator in '"\r\n'):
            raise InvalidParameter(f'separator must be one ASCII letter such as ";", got {shown(self.separator)}.')
        if not isinstance(self.decimal, str) or self.decimal not in (".", ","):
            raise InvalidParameter(f'decimal must be "." or ",", got {shown(self.decimal)}.')
        if self.thousands is not None and (self.thousands not in _THOUSANDS or self.thousands == self.decimal):
            raise InvalidParameter(
                f"thousands must be one of {list(_THOUSANDS)!r} and not the decimal sign, got {shown(self.thousands)}."
            )
        object.__setattr__(self, "encoding", _checked_encoding(self.encoding))
        object.__setattr__(self, "missing", tuple(word.strip(BLANKS) for word in _texts("missing", self.missing)))
        object.__setattr__(self, "dates", tuple(_texts("dates", self.dates)))
        for spelling in self.dates:
            _compiled(spelling)

    def entry(self) -> dict[str, object]:
        """Return what is declared otherwise than by default."""
        declared = {field.name: (getattr(self, field.name), field.default) for field in fields(self)}
        return {name: value for name, (value, default) in declared.items() if value != default}

    def number(self, cell: str) -> float:
        """Return the double that is nearest to a text: infinite beyond all of them, NaN for a text that is no number.

        Digits, a decimal sign and an exponent: no text names an infinite number, or spells digits of other scripts.
        """
        cell = cell.strip(BLANKS)
        if cell in self._words or not self._number.fullmatch(cell):
            return math.nan
        if self.thousands is not None:
            cell = cell.replace(self.thousands, "")
        return float(cell.replace(self.decimal, "."))

    def moment(self, cell: str) -> datetime.datetime | None:
        """Return the moment that a text writes, in no zone; None for any other text."""
        cell = cell.strip(BLANKS)
        if cell in self._words:
            return None
        try:
            if _ISO.fullmatch(cell):
                return datetime.datetime.fromisoformat(cell)
        except ValueError:
            return None
        for pattern in self._dates:
            if written := pattern.fullmatch(cell):
                parts = {name: int(digits) for name, digits in written.groupdict().items()}
                if fraction := written.groupdict().get("microsecond"):
                    parts["microsecond"] = int(fraction.ljust(6, "0"))
                try:
                    return datetime.datetime(**parts)  # type: ignore[arg-type]
                except ValueError:
                    continue
        return None

    @cached_property
    def _words(self) -> frozenset[str]:
        return frozenset(self.missing)

    @cached_property
    def _number(self) -> re.Pattern[str]:
        pattern = NUMBER_PATTERN.replace(r"\.", re.escape(self.decimal))
        if self.thousands is not None:
            grouped = f"[0-9]{{1,3}}({re.escape(self.thousands)}[0-9]{{3}})+"
            pattern = pattern.replace("([0-9]+", f"(({grouped}|[0-9]+)", 1)
        return re.compile(pattern)

    @cached_property
    def _dates(self) -> tuple[re.Pattern[str], ...]:
        return tuple(map(_compiled, self.dates))


def _compiled(spelling: str) -> re.Pattern[str]:
    """Return which texts a format of dates fits, with a group for each part; refuse one that names no day."""
    pieces = _PIECES.findall(spelling)
    parts = [piece[1] for piece in pieces if len(piece) > 1]
    if "".join(pieces) != spelling or len(set(parts)) < len(parts) or not {"Y", "m", "d"} <= set(parts):
        raise InvalidParameter(
            "a format in dates has %Y, %m and %d, may have %H, %M, %S and %f, each once, and other letters than %, got "
            f"{spelling!r}."
        )
    pattern = ""
    for before, piece, after in zip(["", *pieces], pieces, [*pieces[1:], ""], strict=False):
        if len(piece) == 1:
            pattern += re.escape(piece)
            continue
        # Where nothing stands between two parts, the first digit of the second must not pass for the first's last.
        least = 2 if len(before) > 1 or len(after) > 1 else 1
        digits = {"%Y": "{4}", "%f": "{1,6}"}.get(piece, f"{{{least},2}}")
        pattern += f"(?P<{_PARTS[piece[1]]}>[0-9]{digits})"
    return re.compile(pattern)


def _is_letter(value: object) -> bool:
    return isinstance(value, str) and len(value) == 1 and value.isascii() and value != "\0"


def _checked_encoding(encoding: object) -> str:
    try:
        return _ENCODING_OF[codecs.lookup(encoding).name]  # type: ignore[arg-type]
    except (LookupError, TypeError, ValueError):
        raise InvalidParameter(f"encoding must be one of {list(ENCODINGS)!r}, got {shown(encoding)}.") from None


def _texts(name: str, values: object) -> list[str]:
    """Return declared texts, which every file can hold."""
    listed = [values] if isinstance(values, str) else values
    if not isinstance(listed, Sequence) or not all(
        isinstance(each, str) and each == each.encode("utf-8", "replace").decode() for each in listed
    ):
        raise InvalidParameter(f"{name} must be a list of texts, got {shown(values)}.")
    return list(listed)


STANDARD = FileForm()
"""How a table is written where nothing else is declared."""
