"""What a model says about held-out rows, read cell by cell: classes, scores, numbers.

What depends on records is answered: a score that is no number is the lowest there can be, a prediction that is
none the middle of the range, and a label of no class is counted nowhere.
"""

import math
from collections.abc import Callable, Mapping
from contextlib import nullcontext
from dataclasses import dataclass
from typing import Any, TypeVar, final

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tacit.accounting.ledger import Ledger
from tacit.accounting.unit import RECORD, Unit
from tacit.data.labels import column
from tacit.data.persons import Persons
from tacit.data.records import Records, payer
from tacit.data.values import numbers, objects
from tacit.errors import InvalidParameter
from tacit.estimators.encoded import refuse_targets, rows_alone, target_of
from tacit.evaluation.asking import answers, refuse_failing
from tacit.evaluation.bins import LARGEST
from tacit.evaluation.sketch import in_steps
from tacit.mechanisms.mechanism import Mechanism
from tacit.mechanisms.reading import listed
from tacit.numerics.arrays import Floats
from tacit.releases import Release, Terms
from tacit.secret import open_secret

Answer = TypeVar("Answer")
SURE = 52 * math.log(2)
"""Log-odds are read up to this, on either side: a probability within 2^-52 of 0 or 1 is as good as certain."""


@final
@dataclass(frozen=True, eq=False)
class HeldOut:
    """Rows to judge a model on, their targets, who pays, and for whom the judgement is private.

    `count` is the public number of records, or of persons, whose rows have the `weights`.
    """

    rows: Any
    targets: NDArray[Any]
    count: int
    weights: Floats | None
    unit: Unit
    ledger: Ledger | None
    random_state: object
    bounds: tuple[float, float] | None

    @property
    def held_weights(self) -> Floats:
        """Each row's weight, so rounded that sums of them are exact."""
        return in_steps(self.weights, len(self.targets))

    def release(self, mechanism: Mechanism[Any, Answer], value: Any, label: str, *known: str) -> Release[Answer]:
        """Release something computed from the rows."""
        return Terms(self.ledger, label, self.random_state, known).release(mechanism, value, unit=self.unit)


def held_out(
    X: Any, y: ArrayLike | None, groups: object, ledger: Ledger | None, random_state: object, classes: bool
) -> HeldOut:
    """Return rows and targets, and whose they are; `Records` bring theirs, None where a target is of no class."""
    if not isinstance(X, Records):
        return _of_arrays(X, y, groups, ledger, random_state)
    if groups is not None:
        raise InvalidParameter('Records bring their own persons: Records(..., unit="the column of ids"), not groups.')
    refuse_targets(y)
    target_of(X.schema, "classification" if classes else "regression")
    view = open_secret(X.secret)
    paid = payer(X, ledger, random_state)
    return HeldOut(X, view.labels(X.schema), X.n, view.weights(), X.whom, *paid, X.schema.target_range)


def _of_arrays(X: Any, y: Any, groups: object, ledger: Ledger | None, random_state: object) -> HeldOut:
    if y is None:
        raise InvalidParameter("y is missing: give the true targets, or Records, which bring theirs.")
    cells, persons = column(y), Persons.given(groups)
    if len(cells) == 0:
        raise InvalidParameter("there are no rows to judge on, got an empty part.")
    has_rows = hasattr(X, "__len__") and not isinstance(X, Mapping)
    rows = X.shape[:1] if hasattr(X, "shape") else (len(X),) if has_rows else ()
    # Not how many: the rows of persons are not counted in public.
    if rows and rows[0] != len(cells):
        raise InvalidParameter("X and y must be equally long: one target for each row.")
    if persons is None:
        return HeldOut(X, cells, len(cells), None, RECORD, ledger, random_state, None)
    if len(persons.owners) != len(cells):
        raise InvalidParameter("groups must have one entry for each row of X.")
    return HeldOut(X, cells, persons.n, persons.weights, persons.whom, ledger, random_state, None)


def asked(method: Callable[[Any], Any], held: HeldOut, what: str, *width: int) -> Any:
    """Return what a model says about each row, None for one that it fails on; refuse one that fails on made-up rows."""
    with nullcontext() if held.unit.kind == "record" else rows_alone():
        refuse_failing(method, held.rows, what, width)
        return answers(method, held.rows, len(held.targets))


def predictions(model: Any, held: HeldOut) -> NDArray[Any]:
    """Return one prediction for each row."""
    found = asked(model.predict, held, "predictions")
    return column(found if np.ndim(found[:0]) == 1 else list(found))


def said(answer: Any, shape: tuple[int, ...]) -> Floats:
    """Return what a model says about each row as numbers, NaN for what is none; no row is read in the light of another.

    A row that is no row of the wanted length says nothing.
    """
    if isinstance(answer, np.ndarray) and answer.dtype.kind in "biuf" and answer.shape == shape:
        read = numbers(answer.ravel())
    else:
        rows = list(answer)
        cells = rows if len(shape) == 1 else [cell for row in rows for cell in _of_length(row, shape[1])]
        read = numbers(objects(cells), texts=False)
    return np.where(np.isnan(read), np.nan, read).reshape(shape)  # a signalling NaN would raise in a comparison


def _of_length(row: object, length: int) -> list[Any]:
    """Return the cells of a row; as many that say nothing if it is no row, or one of another length."""
    try:
        cells = listed(row)
    except Exception:  # whatever an object of another make does when it is asked for its cells
        cells = None
    return cells if cells is not None and len(cells) == length else [None] * length


def scores_of(model: Any, held: HeldOut, size: int, positive: int) -> tuple[Floats, bool]:
    """Return a score for each row, or one for each class if there are more than two, and whether they are log-odds.

    Of two classes the score is that of the positive one, whose place among the model's classes is given.
    """
    count = len(held.targets)
    if hasattr(model, "predict_proba"):
        likely = chances_of(model, held, size)
        chances = likely[:, [positive]] if size == 2 else likely
        with np.errstate(all="ignore"):
            odds = np.log(chances) - np.log1p(-chances)
        return np.where(chances > 0, np.clip(np.nan_to_num(odds, nan=SURE), -SURE, SURE), -SURE), True
    if hasattr(model, "decision_function"):
        width = (size,) if size > 2 else ()
        scores = said(asked(model.decision_function, held, "scores", *width), (count, *width)).reshape(count, -1)
        if size == 2 and positive == 0:
            scores = -scores
        return np.clip(np.nan_to_num(scores, nan=-LARGEST, posinf=LARGEST, neginf=-LARGEST), -LARGEST, LARGEST), False
    raise InvalidParameter(
        f"{type(model).__name__} has no scores: wanted predict_proba or decision_function. evaluation.accuracy and "
        "evaluation.confusion_matrix need predictions only."
    )


def chances_of(model: Any, held: HeldOut, size: int) -> Floats:
    """Return the probability of each of so many classes for each row."""
    return said(asked(model.predict_proba, held, "probabilities", size), (len(held.targets), size))


def numbers_of(values: Any, count: int, low: float, high: float) -> Floats:
    """Return numbers within the range, in units of half of it around its middle; 0 for what is none."""
    middle, half = low + (high - low) / 2, (high - low) / 2
    read = said(values, (count,))
    with np.errstate(all="ignore"):
        return np.clip(np.nan_to_num((read - middle) / half, nan=0.0, posinf=1.0, neginf=-1.0), -1.0, 1.0)
