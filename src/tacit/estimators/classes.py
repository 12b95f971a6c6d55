"""The classes of a classifier: declared, or those that occur; and which one each record has."""

from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tacit.data.labels import checked_classes, column, label, places
from tacit.data.records import Records
from tacit.data.streamed import StreamedLabels
from tacit.errors import InvalidParameter
from tacit.numerics.disk import by_part

_MANY = 20


def check_told(classes: object, X: object) -> None:
    """Refuse classes told beside `Records` that leave out a level of the target: whether one has it is theirs alone."""
    if classes is None or not isinstance(X, Records) or not X.schema.classes:
        return
    if np.any(places(list(X.schema.classes), checked_classes(classes)) < 0):
        raise InvalidParameter(
            "classes must hold every level that the schema declares for the target, as texts. Leave classes out: "
            "records bring theirs; or declare a schema with fewer levels, and the rest counts as unknown."
        )


def known_classes(declared: ArrayLike | None, labels: object, most: float = np.inf) -> tuple[NDArray[Any], Any, str]:
    """Return the sorted classes, the index of every label among them, and what was assumed.

    Each label is looked up by itself. One that is not among declared classes is refused without being named.
    """
    if isinstance(labels, StreamedLabels):
        # Declared classes hold all names (`check_told`), so that none of them is refused.
        classes, indices, assumed = known_classes(declared, np.array(labels.names), most)
        return classes, by_part(lambda places: indices[places.astype(np.intp)], labels.places), assumed
    cells = column(labels)
    if declared is None:
        classes = _occurring(cells)
        assumed = "the set of labels in y"
    else:
        classes = checked_classes(declared)
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
