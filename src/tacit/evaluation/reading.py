"""What a model says about held-out rows, read cell by cell: classes, scores, numbers.

Whatever is known in public and cannot match (a task, stored types, a model without scores) is refused before any
charge. What depends on records is answered: a score that is no number is the lowest there can be, a prediction that is
none the middle of the range, and a label of no class is counted nowhere.
"""

from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import dataclass
from typing import Any, TypeVar, final

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import is_regressor

from tacit.accounting.ledger import Ledger
from tacit.accounting.unit import RECORD, Unit
from tacit.data.labels import column, places
from tacit.data.records import Records, payer
from tacit.data.values import numbers, objects
from tacit.errors import InvalidParameter
from tacit.estimators.encoded import refuse_targets, rows_alone, target_of
from tacit.evaluation.asking import answers, refuse_failing
from tacit.evaluation.bins import LARGEST
from tacit.evaluation.sketch import in_steps
from tacit.mechanisms.mechanism import Mechanism
from tacit.mechanisms.reading import listed
from tacit.numerics.arrays import Codes, Floats
from tacit.releases import Release, Terms

Answer = TypeVar("Answer")
SURE = 36.0
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


def held_out(X: Any, y: ArrayLike | None, ledger: Ledger | None, random_state: object, classes: bool) -> HeldOut:
    """Return rows and targets; `Records` bring theirs, None where a target is of no class."""
    if not isinstance(X, Records):
        if y is None:
            raise InvalidParameter("y is missing: give the true targets, or Records, which bring theirs.")
        cells = column(y)
        if len(cells) == 0:
            raise InvalidParameter("there are no rows to judge on, got an empty part.")
        return HeldOut(X, cells, len(cells), None, RECORD, ledger, random_state, None)
    refuse_targets(y)
    target_of(X.schema, "classification" if classes else "regression")
    held = X.held()
    paid = payer(X, ledger, random_state)
    return HeldOut(held, held.labels(), X.n, held.weights(), X.whom, *paid, X.schema.target_range)


def tells_classes(model: Any) -> bool:
    """Whether a model tells classes, which its `classes_` list, and no number."""
    return getattr(model, "classes_", None) is not None


def refuse_regression(model: Any) -> None:
    """Refuse to ask a regression for classes."""
    if not tells_classes(model) and hasattr(model, "__sklearn_tags__") and is_regressor(model):
        raise InvalidParameter(
            f"this score is one of classes, and {type(model).__name__} predicts a number. Use evaluation.report."
        )


def refuse_predictor(model: Any) -> None:
    """Refuse a model that keeps what it is asked: how many different rows there were would be seen in it, unpaid.

    So is one with such a model among its parameters, as a pipeline's steps are.
    """
    inner = model.get_params(deep=True).values() if hasattr(model, "get_params") else ()
    for kind in map(type, (model, *inner)):
        if getattr(kind, "keeps_answers", False):
            raise InvalidParameter(
                f"{kind.__name__} keeps every row that it is asked about, so that judging it would tell about them. "
                "Judge a released model, such as PrivateKernelClassifier. Nothing was charged."
            )


def check_labels(model: Any, y: Any) -> None:
    """Refuse labels whose stored type no class can have: numbers for texts, or texts for numbers."""
    classes = getattr(model, "classes_", None)
    if classes is None or y is None:
        return
    stored = getattr(y, "dtype", None)
    texts = all(isinstance(each, str) for each in np.asarray(classes).tolist())
    if isinstance(stored, np.dtype) and stored.kind in ("biuf" if texts else "U"):
        raise InvalidParameter(
            f"the model's classes are {'texts' if texts else 'numbers'}, and the labels are stored as {stored}: none "
            "can match. Spell labels as they were spelled for the fit. Nothing was charged."
        )


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


def scores_of(model: Any, held: HeldOut) -> tuple[Floats, bool]:
    """Return a score for each row, or one for each class if there are several, and whether they are log-odds."""
    count, size = len(held.targets), len(model.classes_)
    if hasattr(model, "predict_proba"):
        likely = chances_of(model, held)
        chances = likely[:, 1:] if size == 2 else likely
        with np.errstate(all="ignore"):
            odds = np.log(chances) - np.log1p(-chances)
        return np.where(chances > 0, np.clip(np.nan_to_num(odds, nan=SURE), -SURE, SURE), -SURE), True
    if hasattr(model, "decision_function"):
        width = (size,) if size > 2 else ()
        scores = said(asked(model.decision_function, held, "scores", *width), (count, *width)).reshape(count, -1)
        return np.clip(np.nan_to_num(scores, nan=-LARGEST, posinf=LARGEST, neginf=-LARGEST), -LARGEST, LARGEST), False
    raise InvalidParameter(
        f"{type(model).__name__} has no scores: wanted predict_proba or decision_function. evaluation.accuracy and "
        "evaluation.confusion_matrix need predictions only."
    )


def chances_of(model: Any, held: HeldOut) -> Floats:
    """Return the probability of each class for each row."""
    size = len(model.classes_)
    return said(asked(model.predict_proba, held, "probabilities", size), (len(held.targets), size))


def numbers_of(values: Any, count: int, low: float, high: float) -> Floats:
    """Return numbers within the range, in units of half of it around its middle; 0 for what is none."""
    middle, half = low + (high - low) / 2, (high - low) / 2
    read = said(values, (count,))
    with np.errstate(all="ignore"):
        return np.clip(np.nan_to_num((read - middle) / half, nan=0.0, posinf=1.0, neginf=-1.0), -1.0, 1.0)


def groups_of(model: Any, targets: NDArray[Any]) -> Codes:
    """Return the class of each row, -1 for none."""
    return places(targets, model.classes_)
