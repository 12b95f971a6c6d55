"""How large a fit may be, by what is declared and the public number of records: asked before anything is charged."""

import copy
import json
from typing import Any

import numpy as np

from tacit.checks import whole_number
from tacit.data.curves import checked_pairs
from tacit.data.levels import Levelled
from tacit.data.records import Records
from tacit.errors import InvalidParameter, ModelFileError
from tacit.estimators.saving.declared import SCHEMA
from tacit.estimators.saving.packing import WritingAside
from tacit.models.container import check_document
from tacit.models.file import check_declared
from tacit.queries.learners.discrete import DiscreteClassifier
from tacit.queries.learners.learner import SQClassifier
from tacit.queries.learners.literals import FeatureLiteral, Node
from tacit.queries.learners.saved import GROWN
from tacit.queries.learners.tree import GrownClassifier

MOST_AT_ONCE = 10**8
"""How many numbers a kernel model may hold at once: records or landmarks, times features or landmarks."""

_MOST_FEATURES, _CURVED = 5000, 40
_MOST_IN_A_MODEL = 2 * 10**6
_SHARE = 0.95
"""The part of a model file that may grow with what is declared; its card, its release and its plans have the rest."""


def check_work(estimator: Any, records: Records) -> None:
    """Refuse a fit that would take too much room, or whose model no file could hold."""
    check_declared(records.schema)
    width = _most_features(estimator, records)
    if width > _MOST_FEATURES:
        raise InvalidParameter(
            f"a fit may have {_MOST_FEATURES} features, and this one could have {width}: ask for fewer interactions."
        )
    if isinstance(estimator, SQClassifier):
        _check_learner(estimator, records)
    if not hasattr(estimator, "landmarks"):
        return
    points = estimator.landmarks
    count = records.n if points is None else points if isinstance(points, int) else points.shape[0]
    if count * width > _MOST_IN_A_MODEL and count < records.n:
        raise InvalidParameter(
            f"landmarks may have {_MOST_IN_A_MODEL:,} numbers in all, and these could have {count * width:,}."
        )
    held = max(records.n, count) * max(width, count)
    if held > MOST_AT_ONCE:
        raise InvalidParameter(
            f"a kernel model may hold {MOST_AT_ONCE:,} numbers at once, and this one would hold {held:,}: "
            "give landmarks, or fewer of them."
        )


def _most_features(estimator: Any, records: Records) -> int:
    """Bound how many features records have once they are encoded: each pair of columns has all pairs of theirs."""
    curves, pairs = estimator._coding(records) if hasattr(estimator, "_coding") else (False, None)
    schema, line = records.schema, _CURVED if curves else 2
    sizes = {
        name: max(line, len(column.classes)) if isinstance(column, Levelled) else line
        for name, column in ((each, schema.columns[each]) for each in schema.features)
    }
    named = checked_pairs(pairs, schema.features)
    return sum(sizes.values()) + sum(sizes[one] * sizes[other] for one, other in named)


def _check_learner(learner: SQClassifier, records: Records) -> None:
    """Refuse a learner by queries whose model could be too large a document: it has columns, features and nodes in it.

    Written is the most that there can be of each, in the very form that a model file has for it.
    """
    schema, writing = records.schema, WritingAside()
    names, classes = schema.features, list(schema.classes)
    most: dict[str, object] = {"columns": SCHEMA.write(schema, writing), "names": names, "classes": classes}
    if isinstance(learner, DiscreteClassifier):
        asked: Any = copy.copy(learner)
        asked.columns_ = schema.columns
        features = asked._columns(names)
        most["features"] = GROWN.fitted["features_"].write(features, writing)
        most["tables"] = [{"type": "float64", "shape": [each.size, len(classes)]} for each in features]
    else:
        most["literals"] = [(name, f"not {name}") for name in names]
    if isinstance(learner, GrownClassifier):
        name, _ = learner.size_parameter
        leaves = learner._widths(whole_number(name, getattr(learner, name)))[-1]
        largest = FeatureLiteral(len(names), max(each.size for each in features), up_to=False, contrary=False)
        node = Node(np.full(len(classes), 1e-5 / 3), largest, 2 * leaves, 2 * leaves)
        most["nodes"] = GROWN.fitted["nodes_"].write([node] * (2 * leaves - 1), writing)
    try:
        check_document(json.dumps(most).encode("ascii"), share=_SHARE)
    except ModelFileError as error:
        words = f"no model file could hold what {type(learner).__name__} may learn here: {error}"
        raise ModelFileError(words) from None
