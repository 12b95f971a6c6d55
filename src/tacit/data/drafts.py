"""Drafts of schemas: what a catalogue says about a table, as TOML with the rest left for a person to fill in."""

from tacit.data.source_opening import stored_columns
from tacit.data.stored import Stored
from tacit.data.toml import key_of

_HEAD = """\
# A draft: complete it from the codebook, never by looking at the records. Whatever you write here is public.
# Each column has one kind:
#   number     low, high: the range by meaning; log = true for amounts that span orders of magnitude; missing = a value
#   category   levels = ["A", "B"]; other = "B" takes in everything else; positive = "A" if it is what is predicted
#   ordinal    levels in their order; missing = a level; positive = a level, as for a category
#   flag       false = ["no"], true = ["yes"], as the table writes them (left out: false, False, 0; true, True, 1);
#              missing = true or false; true is the positive class
#   moment     low = "2015-01-01", high = "2024-12-31"; missing = a date
#   key        an id: never coded, may fix the part that a record is in
#   ignored    not used
# Text is compared without blanks at its ends. How the table writes it, if not as numbers 1.5 and dates 2015-01-31:
# [file]
# separator = ";"
# decimal = ","              also thousands = "."
# encoding = "cp1252"
# missing = ["NA", "-"]      words that mean a missing cell
# dates = ["%d.%m.%Y"]
# Name the column to predict, above [file] and all columns:
# target = "..."
"""

_BODIES = {
    "truth": 'kind = "flag"',
    "whole": 'kind = "number"        # or "category", "ordinal", "key"\n#low =\n#high =',
    "real": 'kind = "number"\n#low =\n#high =',
    "decimal": 'kind = "number"\n#low =\n#high =',
    "text": 'kind = "category"      # or "ordinal", "flag", "key"\n#levels = [""]',
    "uuid": 'kind = "key"',
    "day": 'kind = "moment"\n#low = "2000-01-01"\n#high = "2024-12-31"',
    "moment": 'kind = "moment"\n#low = "2000-01-01"\n#high = "2024-12-31"',
    "cells": "#kind =",
    "lines": "#kind =",
    "other": 'kind = "ignored"       # tacit does not read this type',
}


def draft(source: object) -> str:
    """Write a schema for a person to complete; nothing but names and stored types is looked at."""
    return "\n".join([_HEAD, *(_table(name, stored) for name, stored in stored_columns(source).items())])


def _table(name: str, stored: Stored) -> str:
    words = "text in a CSV file" if stored.kind == "lines" else stored.words
    return f"[columns.{key_of(name)}]        # stored as {words}\n{_BODIES[stored.kind]}\n"
