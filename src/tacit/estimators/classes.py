"""The classes of a classifier: declared, or those that occur; and which one each record has."""

from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tacit.data.labels import checked_classes, column, label, places
from tacit.data.levels import Levelled
from tacit.data.records import Records
from tacit.data.store.lazy_rows import StreamedLabels
from tacit.errors import InvalidParameter
from tacit.numerics.by_part import by_part

_MANY = 20


Declared = ArrayLike | Levelled
"""Classes as they are declared: for arrays listed, for `Records` by the column of the target."""


def check_told(classes: object, X: object) -> None:
    """Refuse classes told beside `Records` that are not the levels of the target, which records bring, in order."""
    if classes is None or not isinstance(X, Records) or not X.schema.classes:
        return
    if set(checked_classes(classes).tolist()) != set(X.schema.classes):
        raise InvalidParameter(
            "classes must be the levels that the schema declares for the target, as texts. Leave classes out: records "
            "bring theirs; or declare a schema with other levels: what is at none of them counts as unknown."
        )


def ordered_classes(classes: object, positive: object = None) -> NDArray[Any]:
    """Return declared classes in the order of `classes_`: sorted, but for the positive one, which is last.

    So of two classes the second is the positive one, as in scikit-learn.
    """
    names = checked_classes(classes)
    is_positive = np.zeros(len(names), dtype=np.bool_) if positive is None else names == positive
    return np.concatenate([names[~is_positive], names[is_positive]])


def known_classes(declared: Declared | None, labels: object, most: float = np.inf) -> tuple[NDArray[Any], Any, str]:
    """Return the classes in the order of `classes_`, the index of every label among them, and what was assumed.

    Each label is looked up by itself. One that is not among declared classes is refused without being named.
    """
    if isinstance(labels, StreamedLabels):
        # The column that declares the classes holds all names, so that none of them is refused.
        classes, indices, assumed = known_classes(declared, np.array(labels.names), most)
        return classes, by_part(lambda places: indices[places.astype(np.intp)], labels.places), assumed
    cells = column(labels)
    if declared is None:
        classes = _occurring(cells)
        assumed = "the set of labels in y"
    else:
        own = (declared.classes, declared.positive) if isinstance(declared, Levelled) else (declared,)
        classes = ordered_classes(*own)
        assumed = f"{len(classes)} declared classes"
    if len(classes) > most:
        raise InvalidParameter(
            f"Only binary classification is supported by this loss, got {len(classes)} classes. "
            "Use PrivateLogisticRegression or the logistic PrivateKernelClassifier, which are joint over classes."
        )
    indices = places(cells, classes)
    if np.any(indices < 0):
        kind = "texts" if isinstance(classes.tolist()[0], str) else "numbers"
        raise InvalidParameter(
            f"y holds a label that is not among the declared classes: {_listed(classes)}. Declare all that can occur, "
            f"spelled as they occur, texts as texts and numbers as numbers (these are {kind})."
        )
    return classes, indices, assumed


def _listed(classes: NDArray[Any]) -> str:
    """Name some classes, which are public."""
    names = [repr(each) for each in classes.tolist()]
    return ", ".join(names[:_MANY]) + (f", ... ({len(names)} in all)" if len(names) > _MANY else "")


def _occurring(labels: NDArray[Any]) -> NDArray[Any]:
    """Return the classes that occur, which the caller takes to be public."""
    seen = {label(cell) for cell in (np.unique(labels) if labels.dtype.kind in "biufU" else labels).tolist()}
    if None in seen or any(isinstance(name, Fraction | Decimal) for name in seen):
        raise InvalidParameter("y must hold texts or numbers as labels, none of them missing. Declare the classes.")
    if any(isinstance(name, float) and not name.is_integer() for name in seen):
        # scikit-learn's wording, which its checks look for.
        raise InvalidParameter("Unknown label type: continuous. Declare the classes: classes=[...].")
    if len(seen) < 2:
        raise InvalidParameter(
            "a classifier needs at least two classes, got 1 class. Declare the classes that can occur: classes=[...]."
        )
    # A mixture of texts and numbers is refused there.
    alike = len({isinstance(name, str) for name in seen}) == 1
    return checked_classes(np.array(list(seen), dtype=labels.dtype) if alike else list(seen))
