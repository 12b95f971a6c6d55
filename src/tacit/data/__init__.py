"""Declared public facts about records, and records as clipped vectors.

A `Schema` says what is known of a table without looking at it; a `PublicEncoder` turns tables into rows of
norm at most 1 by the schema alone.
"""

from tacit.data.bounded import BoundedRows, stated_filled, stated_norm
from tacit.data.bundled import adult_schema, load_adult
from tacit.data.columns import Column, Ignored, Key, Moment, Number
from tacit.data.encoder import PublicEncoder
from tacit.data.levels import Category, Flag, Ordinal
from tacit.data.records import Records
from tacit.data.schema import Schema

__all__ = [
    "BoundedRows",
    "Category",
    "Column",
    "Flag",
    "Ignored",
    "Key",
    "Moment",
    "Number",
    "Ordinal",
    "PublicEncoder",
    "Records",
    "Schema",
    "adult_schema",
    "load_adult",
    "stated_filled",
    "stated_norm",
]
