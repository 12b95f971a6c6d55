"""Declared public facts about records, and records as clipped vectors.

A `Schema` says what is known of a table without looking at it; a `PublicEncoder` turns tables into rows of
norm at most 1 by the schema alone.
"""

from typing import TYPE_CHECKING

from tacit.data.bounded import BoundedRows, stated_filled, stated_norm
from tacit.data.bundled import adult_schema, load_adult
from tacit.data.columns import Column, Ignored, Key, Moment, Number
from tacit.data.file_form import FileForm
from tacit.data.levels import Category, Flag, Ordinal
from tacit.data.readers.spark import SparkFolder
from tacit.data.records import Records
from tacit.data.schema import Schema

if TYPE_CHECKING:
    from tacit.data.encoder import PublicEncoder

__all__ = [
    "BoundedRows",
    "Category",
    "Column",
    "FileForm",
    "Flag",
    "Ignored",
    "Key",
    "Moment",
    "Number",
    "Ordinal",
    "PublicEncoder",
    "Records",
    "Schema",
    "SparkFolder",
    "adult_schema",
    "load_adult",
    "stated_filled",
    "stated_norm",
]


def __getattr__(name: str) -> object:
    """Load the encoder, and scikit-learn with it, when it is first asked for: a schema needs neither."""
    if name != "PublicEncoder":
        raise AttributeError(f"module 'tacit.data' has no attribute {name!r}")
    from tacit.data.encoder import PublicEncoder

    globals()[name] = PublicEncoder
    return PublicEncoder
