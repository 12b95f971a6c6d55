"""What a catalogue says a column is stored as, and which declarations that contradicts.

A stored type is a fact about the table, not about a record: it is public, and looked at before anything else is. So are
the names of columns, but for two: the first line of a CSV file may be a record, if nobody wrote the names above it, and
a type may list its values, as an ENUM does. Neither is quoted. A name in any other catalogue (a frame, a Parquet file,
a database) is quoted where it is near to a declared one: whoever made that catalogue has named columns, and if they
made it of such a file, a record stands wherever anybody lists the columns, in a draft first of all. Two kinds say
nothing about values: `cells` (Python objects, one by one) and `lines` (the fields of a CSV file, all text).
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal, final

from tacit.data.columns import Column, Ignored, Key, Moment, Number
from tacit.data.levels import Levelled
from tacit.errors import InvalidParameter

StoredKind = Literal["truth", "whole", "real", "decimal", "text", "uuid", "day", "moment", "cells", "lines", "other"]

_UNTYPED: tuple[StoredKind, ...] = ("cells", "lines")
_ACCEPTED: Mapping[type, tuple[tuple[StoredKind, ...], str]] = {
    Number: (
        ("whole", "real", "decimal", *_UNTYPED),
        "Declare levels for text (Category), ends for dates (Moment), words for truth values (Flag).",
    ),
    Levelled: (
        ("text", "whole", "truth", *_UNTYPED),
        "Declare bounds for numbers (Number), or convert the column to whole numbers or text.",
    ),
    Moment: (
        ("day", "moment", *_UNTYPED),
        "A Moment needs dates or times: convert the column, or declare it as what it is stored as.",
    ),
    Key: (("whole", "text", "uuid", *_UNTYPED), "A Key needs whole numbers, text or UUIDs."),
}
"""Which stored kinds a declaration can be about, and what to do about another."""

_WORDS: Mapping[StoredKind, str] = {
    "truth": "truth values",
    "whole": "whole numbers",
    "real": "floating-point numbers",
    "decimal": "decimal numbers",
    "text": "text",
    "uuid": "UUIDs",
    "day": "dates",
    "moment": "dates with times",
    "cells": "Python objects",
    "lines": "lines of text",
    "other": "a type that tacit does not read",
}


@final
@dataclass(frozen=True)
class Stored:
    """A stored type: its kind, what the catalogue calls it, and how many digits a decimal has."""

    kind: StoredKind
    name: str = ""
    digits: int = 0

    @property
    def words(self) -> str:
        """The type in words, for messages and drafts; of what stands in brackets digits alone."""
        name = re.sub(r"[(\[{](?![\d, ]*[)\]}]).*", "(...)", self.name, flags=re.S)
        return _WORDS[self.kind] + (f" ({name})" if name else "")


def check_declared(columns: Mapping[str, Column], stored: Mapping[str, Stored]) -> None:
    """Refuse declared columns that are not there, or that are stored as something else; no record is looked at."""
    for name, column in columns.items():
        if isinstance(column, Ignored):
            continue
        if name not in stored:
            near = nearest_name(name, stored)
            # Of a CSV file by its place: a file without a line of names has a record there.
            meant = (
                f"its column {list(stored).index(near) + 1}" if near and stored[near].kind == "lines" else repr(near)
            )
            alone = [each.kind for each in stored.values()] == ["lines"]
            raise InvalidParameter(
                f"the schema declares a column {name!r} that the table does not have"
                + (f"; did you mean {meant}? " if near else ". ")
                + ("It has one column: are they separated by something else than commas? " if alone else "")
                + ('A schema says so in its table [file]: separator = ";". ' if alone else "")
                + "Declare the columns by the names that the table gives them, or leave this one out; to predict, a "
                "model needs every column that it learned from."
            )
        wanted, advice = next(accepted for kind, accepted in _ACCEPTED.items() if isinstance(column, kind))
        if stored[name].kind not in wanted:
            kind = type(column).__name__
            article = "an" if kind[0] in "AEIO" else "a"
            raise InvalidParameter(
                f"column {name!r} is declared as {article} {kind}, but stored as {stored[name].words}. {advice}"
            )


def nearest_name(name: str, names: Mapping[str, object]) -> str | None:
    """Return the name that is spelled most like another, if any is."""
    from difflib import get_close_matches

    folded = {each.strip().casefold(): each for each in names}
    close = get_close_matches(name.strip().casefold(), list(folded), n=1, cutoff=0.6)
    return folded[close[0]] if close else None
