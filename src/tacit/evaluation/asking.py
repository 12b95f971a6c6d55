"""What a model says about rows: about all at once, or, where it fails, about fewer, so that a row fails for itself.

A model may be of any make. Whether it answers for a record is that record's secret, so a row that it fails on says
nothing, and the others say what they say without that row. What it makes of made-up rows is public: one that fails on
all of these is refused, before any charge.
"""

import warnings
from collections.abc import Callable, Mapping, Sequence
from copy import deepcopy
from functools import partial
from typing import Any

import numpy as np
from scipy.sparse import csr_matrix, issparse

from tacit.data.bounded import BoundedRows
from tacit.data.labels import column
from tacit.data.records import Records, taken
from tacit.data.twins import made_up
from tacit.data.values import AnyArray, objects
from tacit.errors import InvalidParameter
from tacit.numerics.arrays import Integers, unmasked
from tacit.numerics.attempts import attempt

_TRIED = (0, 1)
"""What made-up rows of numbers are filled with."""

_COUNTS = (1, 3)
"""About how many made-up rows at once a model is asked: it must answer for as many."""

_UNCHANGING = frozenset([int, float, str, bool, bytes, type(None), np.float64, np.float32, np.int64, np.str_, np.bool_])


def refuse_failing(method: Callable[[Any], Any], X: Any, what: str, width: tuple[int, ...]) -> None:
    """Refuse a model that fails on made-up rows of the form of X, or says something of another shape or number."""
    _refuse_whole(X)
    for count in _COUNTS:
        said = [_said(method, rows) for rows in _made_up(X, count)]
        # Whoever fails on several rows is asked about one at a time.
        if said and not any(count > 1 if answer is None else _fits(answer, count, width) for answer in said):
            raise InvalidParameter(
                f"the model's {what} must be an array or nested lists with {_each(width)}, and on made-up rows of the "
                f"form of these, {count} at once, it failed or gave another shape or number. Is it fitted, and on such "
                "rows? Nothing was charged."
            )


def _refuse_whole(X: Any) -> None:
    """Refuse a table whose rows cannot be taken out of it: if the model failed on one, all others would say nothing."""
    try:
        takes = isinstance(X, Records) or issparse(X) or len(_taken(X, np.zeros(2, dtype=np.intp))) == 2
    except Exception:
        takes = False
    if not takes:
        raise InvalidParameter(
            f"rows cannot be taken out of a {type(X).__name__} by their places. Give an array, a data frame, a list of "
            "rows or Records. Nothing was charged."
        )
    if _hides_objects(X):
        raise InvalidParameter(
            f"what a {type(X).__name__} of Python objects holds cannot be copied for each question. Give an array, a "
            "data frame of pandas, a list of rows or Records. Nothing was charged."
        )


def _hides_objects(X: Any) -> bool:
    """Whether a table holds Python objects by its types, in a make that copies of them cannot be put into."""
    if isinstance(X, np.ndarray):
        return bool(X.dtype.hasobject) and X.dtype.kind != "O"
    schema = getattr(X, "schema", None)
    kinds = schema.values() if isinstance(schema, Mapping) else [getattr(X, "dtype", None)]
    return not hasattr(X, "iloc") and any(str(kind).lower() == "object" for kind in kinds)


def answers(method: Callable[[Any], Any], X: Any, count: int) -> Any:
    """Return what a model says about each of `count` rows, None for a row that it fails on.

    Guarantee: nothing is raised, warned of or refused because of a row; what is said of one does not follow from
    whether the model fails on another. A model may change the rows that it is given: each question has copies, and of a
    row that cannot be copied it says nothing.
    Assumes: the model answers for each row by itself.
    Reference: none is needed; nothing is released.
    """
    # Through the same copy as below, since a library adds up otherwise where rows lie otherwise.
    whole = _said(method, X, None if isinstance(X, Records) else np.arange(count))
    if whole is not None and len(whole) == count:
        return whole
    found: list[Any] = [None] * count
    parts = [np.arange(count)]
    while parts:
        places = parts.pop()
        said = _said(method, X, places)
        if said is not None and len(said) == len(places):
            # Copies: a model may write its next answers where these are.
            found[places[0] : places[-1] + 1] = [attempt(partial(_copied, each), None) for each in said]
        elif len(places) > 1:
            parts += np.array_split(places, 2)
    return _all_at_once(method, X, found)


def _all_at_once(method: Callable[[Any], Any], X: Any, found: list[Any]) -> list[Any]:
    """Return what a model says about all rows at once, with one that it answers for in the place of each it fails on.

    Of fewer rows a library adds up otherwise: the last bit of each would tell that another one fails.
    """
    places = np.array([place for place, answer in enumerate(found) if answer is not None], dtype=np.intp)
    if len(places):
        every = np.full(len(found), places[0])
        every[places] = places
        said = _said(method, X, every)
        if said is not None and len(said) == len(found):
            return [None if answer is None else each for answer, each in zip(found, said, strict=True)]
    return found


def _said(method: Callable[[Any], Any], X: Any, places: Integers | None = None) -> Sequence[Any] | None:
    """Return what a model says about rows, None if it fails; what it warns of or fails with is not passed on."""
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        try:
            said: Sequence[Any] = _cells(unmasked(method(X if places is None else _chosen(X, places)), None))
            len(said)  # there is none of a single number
            return said
        except KeyboardInterrupt:
            raise
        except BaseException:  # the panic of a compiled library is no Exception, and quotes values none the less
            return None


def _cells(answer: Any) -> Any:
    """Return an answer of another make as cells, none of which was read in the light of another: a column, or rows."""
    if isinstance(answer, np.ndarray):
        return np.asarray(answer)  # a matrix or an array of letters gives other cells than it seems to hold
    if isinstance(answer, list | tuple):
        return answer
    is_column = hasattr(answer, "__len__") and len(getattr(answer, "shape", (0,))) == 1
    return column(answer) if is_column else np.asarray(answer)


def _chosen(X: Any, places: Integers) -> Any:
    """Return copies of some rows of a table of any make, each by itself, of the objects in its cells, too."""
    some = _taken(X, places)
    if isinstance(some, list | tuple):
        return type(some)(map(_copied, some))
    if hasattr(some, "iloc"):
        return _copied_frame(some)
    if isinstance(some, np.ndarray):
        return _copied_cells(some) if some.dtype.hasobject else some
    return some if issparse(some) or type(some).__module__.startswith("pyarrow") else deepcopy(some)


def _copied_frame(frame: Any) -> Any:
    """Copy the objects in a frame or series of pandas, whatever they are."""
    if frame.ndim == 1:
        is_typed = frame.dtype != np.dtype(object)
        cells = None if is_typed else _copied_cells(frame.to_numpy())
        return frame if is_typed else type(frame)(cells, index=frame.index, name=frame.name, dtype=object)
    for place, kind in enumerate(frame.dtypes):
        if kind == np.dtype(object):
            frame.isetitem(place, _copied_frame(frame.iloc[:, place]))
    return frame


def _copied_cells(cells: AnyArray) -> AnyArray:
    """Copy the objects in an array."""
    own = objects([_copied(cell) for cell in np.asarray(cells).ravel().tolist()]).reshape(cells.shape)
    return np.ma.array(own, mask=np.ma.getmaskarray(cells)) if isinstance(cells, np.ma.MaskedArray) else own


def _copied(cell: Any) -> Any:
    """Copy a cell, or a row with its cells."""
    if type(cell) in _UNCHANGING:
        return cell
    if type(cell) is list or type(cell) is dict:
        cells = cell if isinstance(cell, list) else cell.values()
        if _UNCHANGING.issuperset(map(type, cells)):
            return cell.copy()
    return deepcopy(cell)


def _taken(X: Any, places: Integers) -> Any:
    """Return some rows of a table of any make."""
    if isinstance(X, Records):
        return taken(X, places)
    if hasattr(X, "iloc"):
        return X.iloc[places]
    if isinstance(X, list | tuple):
        some = [X[place] for place in places]
        return tuple(some) if isinstance(X, tuple) else some
    if type(X).__module__.startswith("pyarrow"):
        return X.take(places)
    return (X.tocsr() if issparse(X) else X)[places]


def _made_up(X: Any, count: int) -> list[Any]:
    """Return made-up rows of the same public form, none where the form does not say what a row could be."""
    if isinstance(X, Records):
        return [made_up(X.schema, count, seed, key=X.key, unit=X.unit) for seed in _TRIED]
    if isinstance(X, BoundedRows) and X.data_norm is not None:
        empty = np.zeros((count, X.shape[1]))
        return [BoundedRows(empty, data_norm=X.data_norm, has_constant=X.has_constant, filled=X.filled)]
    if hasattr(X, "iloc"):
        kinds = {getattr(each, "kind", "O") for each in X.dtypes} if X.ndim == 2 else {"O"}
        return (
            [X.iloc[:0].reset_index(drop=True).reindex(range(count), fill_value=each) for each in _TRIED]
            if kinds <= set("biuf")
            else []
        )
    if len(getattr(X, "shape", ())) != 2 or getattr(getattr(X, "dtype", None), "kind", "O") not in "biuf":
        return []
    tables = [np.full((count, X.shape[1]), each, dtype=X.dtype) for each in _TRIED]
    return [csr_matrix(each) for each in tables] if issparse(X) else tables


def _fits(answer: Any, count: int, width: tuple[int, ...]) -> bool:
    """Whether there is an answer about each of so many rows, and of that width where it says how wide it is."""
    return len(answer) == count and (not isinstance(answer, np.ndarray) or answer.shape[1:] == width)


def _each(width: tuple[int, ...]) -> str:
    return f"a row of {width[0]} numbers for each row" if width else "one number for each row"
