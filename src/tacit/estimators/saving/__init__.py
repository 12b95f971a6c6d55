"""What of a fitted estimator goes into a model file: every estimator declares it, one line for each attribute.

    class PrivateLogisticRegression(...):
        saved: ClassVar = Saved(fitted={"coef_": Numbers("scores", "features"), "margin_": Number(0, 100), ...})

A `Field` writes a value as plain JSON and arrays, and reads it back from what a stranger may have written: it builds
nothing but what it was declared for. A new fitted attribute is one more line; without one saving a model refuses.
"""

from tacit.estimators.saving.declared import BUDGET, COLUMN, COLUMNS, ENCODER, FITTED, LABELS, RELEASE, SCHEMA
from tacit.estimators.saving.fields import (
    TEXT,
    TRUTH,
    Either,
    Field,
    Listed,
    Number,
    Numbers,
    Optional,
    Plain,
    Saved,
    Struct,
    choice,
    one_of,
    read_fields,
    whole,
)
from tacit.estimators.saving.packing import (
    Reading,
    ReadingAside,
    ReadingInline,
    Writing,
    WritingAside,
    WritingInline,
)

__all__ = [
    "BUDGET",
    "COLUMN",
    "COLUMNS",
    "ENCODER",
    "FITTED",
    "LABELS",
    "RELEASE",
    "SCHEMA",
    "TEXT",
    "TRUTH",
    "Either",
    "Field",
    "Listed",
    "Number",
    "Numbers",
    "Optional",
    "Plain",
    "Reading",
    "ReadingAside",
    "ReadingInline",
    "Saved",
    "Struct",
    "Writing",
    "WritingAside",
    "WritingInline",
    "choice",
    "one_of",
    "read_fields",
    "whole",
]
