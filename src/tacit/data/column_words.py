"""What was declared about a column, in words."""

from tacit.data.columns import Column, Key, Moment, Number, Uncoded
from tacit.data.levels import Flag, Levelled, Ordinal

_MOST_LEVELS = 400


def column_in_words(column: Column) -> str:
    """Say what was declared about a column: all of it, so that a check of a schema is one."""
    beside = (("missing", "what is missing counts as"), ("other", "all else counts as"))
    found = [(words, getattr(column, name, None)) for name, words in beside]
    if isinstance(column, Levelled) and not isinstance(column, Flag):
        found.append(("positive is", column.positive))
    told = [
        f"{words} {f'{value:g}' if isinstance(value, float) else value}" for words, value in found if value is not None
    ]
    return "; ".join([_kind_in_words(column), *told])


def _kind_in_words(column: Column) -> str:
    if isinstance(column, Number):
        return f"a number from {column.low:g} to {column.high:g}{', on a logarithmic scale' if column.log else ''}"
    if isinstance(column, Moment):
        return f"a moment from {column.low} to {column.high}"
    if isinstance(column, Flag):
        true = column.spellings[1][0]
        tail = "" if true == "true" else f", of which {true} is true"
        return f"one of {', '.join(_spelled(*each) for each in column.spellings)}{tail}"
    if isinstance(column, Levelled):
        names = ", ".join(column.classes[:_MOST_LEVELS])
        more = f" and {len(column.classes) - _MOST_LEVELS} more" if len(column.classes) > _MOST_LEVELS else ""
        return f"one of {names}{more}{', in this order' if isinstance(column, Ordinal) else ''}"
    if isinstance(column, Key):
        return "an id, never used to predict"
    assert isinstance(column, Uncoded)
    return "not used"


def _spelled(first: str, *others: str) -> str:
    return f"{first} (or {', '.join(others)})" if others else first
