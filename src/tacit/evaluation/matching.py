"""What is public and cannot match is refused before any charge: another task, labels of another type, other classes."""

import re
from typing import Any, cast

import numpy as np
from sklearn.base import is_classifier, is_regressor

from tacit.data.labels import column, label, places
from tacit.data.levels import Levelled, needed_positive
from tacit.data.records import Records
from tacit.data.values import AnyArray
from tacit.errors import InvalidParameter
from tacit.estimators.encoded import target_of
from tacit.numerics.attempts import attempt

_TEXTS = re.compile(r"(large_)?(str(ing)?|utf8)(_view)?(\[.*\])?")
_NUMBERS = re.compile(r"(u?int|float)\d+(\[.*\])?|double(\[.*\])?|bool(ean)?(\[.*\])?")
"""How pandas, polars and Arrow call the types of columns of texts and of numbers, in small letters."""


def tells_classes(model: Any) -> bool:
    """Whether a model tells classes, which its `classes_` list, and no number."""
    return getattr(model, "classes_", None) is not None


def refuse_other_tasks(model: Any) -> None:
    """Refuse what learns no target, as a clusterer, and a classifier that is not fitted."""
    if tells_classes(model) or not hasattr(model, "__sklearn_tags__") or is_regressor(model):
        return
    name = type(model).__name__
    if is_classifier(model):
        raise InvalidParameter(f"{name} is not fitted, so that it knows no classes. Fit it first. Nothing was charged.")
    raise InvalidParameter(
        f"{name} predicts no target: wanted a fitted classifier or a regression. Nothing was charged."
    )


def refuse_regression(model: Any) -> None:
    """Refuse to ask a regression, or what learns no target at all, for classes."""
    refuse_other_tasks(model)
    if not tells_classes(model) and hasattr(model, "__sklearn_tags__"):
        raise InvalidParameter(
            f"this score is one of classes, and {type(model).__name__} predicts a number. Use evaluation.report."
        )


def refuse_without(model: Any, way: str) -> None:
    """Refuse a model that lacks the method whose answers a score is made of."""
    if not callable(getattr(model, way, None)):
        name = type(model).__name__
        raise InvalidParameter(f"{name} has no {way}, which this score is made of: wanted a fitted classifier.")


def listed_classes(model: Any) -> AnyArray:
    """Return the classes that a model tells apart, in its order; refuse one that lists none: scores are made of them.

    Whatever is made of classes is made of this list: a model's own may be a set, or another list each time.
    """
    if not tells_classes(model):
        raise InvalidParameter(f"{type(model).__name__} has no classes_, which list the classes that it tells apart.")
    found = attempt(lambda: column(model.classes_), None)
    if found is None or any(label(each) is None for each in found.tolist()):
        raise InvalidParameter(
            f"{type(model).__name__}.classes_ must list texts or numbers in a fixed order, as an array does. Nothing "
            "was charged."
        )
    return found


def positive_place(X: Any, classes: AnyArray) -> int:
    """Return which class scores are about: of two the one that the schema declares, else the last.

    Two classes whose positive one the schema of `Records` does not declare are refused, or declares and the model does
    not know.
    """
    if not isinstance(X, Records) or len(classes) != 2:
        return len(classes) - 1
    column = target_of(X.schema, "classification")
    positive = needed_positive(cast("Levelled", column), X.schema.target)
    (place,) = places([positive], classes)
    if place < 0:
        raise InvalidParameter(
            f"the schema declares {positive!r} as the positive class, which is none of the model's. Open the records "
            "with the schema that the model was fitted with. Nothing was charged."
        )
    return int(place)


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


def check_labels(model: Any, X: Any, y: Any) -> None:
    """Refuse labels that no class can match: of another stored type, or, for `Records`, none of the levels declared."""
    if not tells_classes(model):
        return
    classes = listed_classes(model)
    if isinstance(X, Records):
        levels = X.schema.classes
        if levels and np.all(places(list(levels), classes) < 0):
            raise InvalidParameter(
                "the schema declares none of the model's classes for the target, so that no label can match. Open the "
                "records with the schema that the model was fitted with. Nothing was charged."
            )
        return
    texts = all(isinstance(each, str) for each in classes.tolist())
    stored = _stored(y)
    if stored and stored != ("texts" if texts else "numbers"):
        raise InvalidParameter(
            f"the model's classes are {'texts' if texts else 'numbers'}, and the labels are stored as {stored}: none "
            "can match. Spell labels as they were spelled for the fit. Nothing was charged."
        )


def refuse_texts(y: Any) -> None:
    """Refuse targets that are stored as texts, where a model predicts a number."""
    if _stored(y) == "texts":
        raise InvalidParameter("the model predicts a number, and the targets are stored as texts. Nothing was charged.")


def _stored(labels: Any) -> str:
    """Return whether a column is stored as "texts" or as "numbers", "" where its type does not say: that is public."""
    kind = getattr(labels, "dtype", getattr(labels, "type", None))
    kind = getattr(getattr(kind, "categories", None), "dtype", kind)
    if isinstance(kind, np.dtype):
        return "texts" if kind.kind == "U" else "numbers" if kind.kind in "biuf" else ""
    name = str(kind).lower()
    return "texts" if _TEXTS.fullmatch(name) else "numbers" if _NUMBERS.fullmatch(name) else ""
