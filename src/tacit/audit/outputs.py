"""Answers of any mechanism as rows of numbers, which is what Bob looks at."""

from collections.abc import Sequence
from numbers import Real
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tacit.errors import InvalidParameter
from tacit.release import Release

__all__ = ["FARTHEST", "Array", "NotPrivate", "as_numbers", "as_table"]

Array = NDArray[np.float64]

FARTHEST = 1e300
"""What stands for infinity, which classifiers do not take."""


class NotPrivate(InvalidParameter):
    """The answer says of itself that it carries no guarantee: there is no claim to audit."""


def as_numbers(answer: Any) -> Array:
    """Return one answer as a flat array.

    Understood are numbers, booleans, arrays, nested lists and tuples of them, strings, a `Release` of any of these,
    and fitted linear models, which are their `coef_` and `intercept_`.
    """
    if isinstance(answer, Release):
        return _guaranteed(answer, answer.value)
    if hasattr(answer, "coef_"):
        parts = [np.ravel(answer.coef_), np.ravel(getattr(answer, "intercept_", ()))]
        return _guaranteed(getattr(answer, "release_", None), np.concatenate(parts))
    if isinstance(answer, str | bytes):
        # Bytes as numbers: equal texts stay equal, different ones different.
        return np.frombuffer(answer.encode() if isinstance(answer, str) else answer, dtype=np.uint8).astype(np.float64)
    if isinstance(answer, tuple | list) and not all(isinstance(part, Real) for part in answer):
        return np.concatenate([as_numbers(part) for part in answer]) if answer else np.zeros(0)
    try:
        return np.asarray(answer, dtype=np.float64).ravel()
    except (TypeError, ValueError):
        raise InvalidParameter(
            f"the mechanism answered with a {type(answer).__name__}, which is not numbers. Return numbers, an array or "
            "a fitted linear model."
        ) from None


def _guaranteed(promise: object, value: object) -> Array:
    if isinstance(promise, Release) and not promise.private:
        raise NotPrivate(f"there is no claim to audit: {promise.guarantee}. Leave random_state out.")
    return as_numbers(value)


def as_table(rows: Sequence[Array]) -> Array:
    """Stack answers; shorter ones are filled up with NaN, and infinite numbers become the farthest finite ones."""
    width = max((row.size for row in rows), default=0)
    table = np.full((len(rows), max(width, 1)), np.nan)
    for index, row in enumerate(rows):
        table[index, : row.size] = row
    return np.asarray(np.clip(table, -FARTHEST, FARTHEST))
