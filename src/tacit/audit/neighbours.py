"""Whether two data sets are neighbours: as many records, and exactly one of them different.

A data set is a sequence of records (a list, an array, a table), or a tuple of columns of the same length such as
`(X, y)`, whose i-th entries together are record i.
"""

from typing import Any

import numpy as np

from tacit.audit.outcomes import seen
from tacit.errors import InvalidParameter
from tacit.numerics.arrays import Truths


def check_neighbours(first: object, second: object) -> int:
    """Return the index of the one record in which the data sets differ; refuse sets that are not neighbours."""
    mine, theirs = _columns(first), _columns(second)
    if len(mine) != len(theirs):
        raise InvalidParameter(f"the data sets have {len(mine)} and {len(theirs)} columns: they are not neighbours.")
    counts = sorted({len(column) for column in (*mine, *theirs)})
    if len(counts) != 1:
        raise InvalidParameter(
            f"neighbours have as many records (replace-one), got columns of {', '.join(map(str, counts))} records."
        )
    different = np.zeros(counts[0], dtype=bool)
    # Records may differ in what `==` does not see: True and 1.0, 0.0 and -0.0, a type.
    for differences in (_differences, _seen_differences):
        if not different.any():
            for one, other in zip(mine, theirs, strict=True):
                different |= differences(one, other)
    if different.sum() != 1:
        raise InvalidParameter(
            f"neighbours differ in exactly one record, got {different.sum()} that differ. "
            "With none there is nothing to guess; with several the claim promises less."
        )
    return int(different.argmax())


def _columns(data: object) -> list[Any]:
    parts = list(data) if isinstance(data, tuple) else [data]
    return [_sequence(part) for part in parts]


def _sequence(part: Any) -> Any:
    if hasattr(part, "toarray"):
        return part.toarray()
    if hasattr(part, "to_numpy"):
        return part.to_numpy()
    if isinstance(part, list | tuple) or (isinstance(part, np.ndarray) and part.ndim):
        return part
    raise InvalidParameter(
        f"a data set must be a list, an array or a table of records, or a tuple of columns, got {type(part).__name__}."
    )


def _differences(one: Any, other: Any) -> Truths:
    """Return for each record whether it differs between the two columns."""
    if isinstance(one, np.ndarray) and isinstance(other, np.ndarray) and one.shape == other.shape:
        same = (one == other) | ((one != one) & (other != other))
        return np.asarray(~same.reshape(len(one), -1).all(axis=1))
    return np.array([not _same(a, b) for a, b in zip(one, other, strict=True)], dtype=bool)


def _seen_differences(one: Any, other: Any) -> Truths:
    return np.array([seen(a) != seen(b) for a, b in zip(one, other, strict=True)], dtype=bool)


def _same(one: Any, other: Any) -> bool:
    try:
        a, b = np.asarray(one), np.asarray(other)
        return a.shape == b.shape and bool(np.all((a == b) | ((a != a) & (b != b))))
    except (TypeError, ValueError):
        return seen(one) == seen(other)
