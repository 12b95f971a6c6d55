"""Points as they come over HTTP, read as the table that a session's model was fitted on."""

from collections.abc import Mapping, Sequence
from typing import Any

from tacit.data.schema import Schema
from tacit.data.values import objects
from tacit.errors import InvalidParameter

MOST_POINTS = 1000
_LONGEST = 1000


def table_of(points: object, schema: Schema) -> dict[str, Any]:
    """Return columns of cells: a point is an object by the columns' names, or a list in the order of the schema.

    Every cell stands by itself, so that no point is read in the light of another. A column that is left out of an
    object is missing there, as an empty cell of a table is. A list has a value for each input, or for each input that
    is neither a key nor ignored.
    """
    if not isinstance(points, list) or not 1 <= len(points) <= MOST_POINTS:
        raise InvalidParameter(f"points must be a list of 1 to {MOST_POINTS} points.")
    rows = [_cells(point, schema) for point in points]
    return {name: objects([row[place] for row in rows]) for place, name in enumerate(schema.features)}


def _cells(point: object, schema: Schema) -> list[Any]:
    """Return the value of every feature of a point."""
    named, wanted = point, ", ".join(schema.features)
    if isinstance(point, list):
        order = next((each for each in (schema.features, schema.inputs) if len(each) == len(point)), None)
        named = None if order is None else dict(zip(order, point, strict=True))
    if not isinstance(named, Mapping):
        raise InvalidParameter(f"a point is an object, or a list of {len(schema.features)} values: {wanted}.")
    if not named.keys() <= set(schema.inputs):
        raise InvalidParameter(f"a point has other columns than those declared: {wanted}.")
    return _checked([named.get(name) for name in schema.features])


def _checked(cells: Sequence[object]) -> list[Any]:
    for cell in cells:
        if isinstance(cell, str) and len(cell) > _LONGEST:
            raise InvalidParameter(f"a text in a point has at most {_LONGEST} letters.")
        if isinstance(cell, float) and not abs(cell) < float("inf"):
            raise InvalidParameter("a number in a point must be finite. A missing value is null.")
        if isinstance(cell, int) and abs(cell) >= 2**63:
            raise InvalidParameter("a whole number in a point must be below 2^63.")
        if not (cell is None or isinstance(cell, bool | int | float | str)):
            raise InvalidParameter("a value of a point is a number, a text, true, false or null.")
    return list(cells)
