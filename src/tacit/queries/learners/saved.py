"""What learners from statistical queries keep in a model file: features, literals, nodes, tables and plans."""

from typing import Any, get_args

import numpy as np

from tacit.data.columns import Moment, day_number
from tacit.errors import ModelFileError
from tacit.estimators.saving.declared import BUDGET, COLUMN, COLUMNS, FITTED, LABELS, SCHEMA, WHOM
from tacit.estimators.saving.fields import (
    TEXT,
    TRUTH,
    Either,
    Field,
    Listed,
    Optional,
    Saved,
    Scalar,
    Struct,
    whole,
    word_of,
)
from tacit.queries.learners.domains import Cut, Named
from tacit.queries.learners.literals import FeatureLiteral, Node
from tacit.queries.oracle.plan import NoiseKind, Plan, Target

_FLOATS = 1.7e308
_MOST_NODES = 10_000

PLANS = Listed(
    Struct(
        Plan,
        {
            "noise": word_of(get_args(NoiseKind)),
            "budget": BUDGET,
            "sampling_error": Scalar(0.0, _FLOATS),
            "noise_error": Scalar(0.0, _FLOATS),
            "confidence": Scalar(0.0, 1.0),
            "n": whole(1, 2**50),
            "size": whole(1, 2**50),
            "of": word_of(get_args(Target)),
            "parts": whole(1, 2**50),
            "rounds": whole(1, 2**31),
            "whom": WHOM,
        },
    )
)
"""How each round was asked."""


def _cut(name: str, edges: tuple[float, ...], column: Any, ordered: bool) -> Cut:
    if not edges or list(edges) != sorted(set(edges)):
        raise ModelFileError("should be edges in their order")
    if isinstance(column, Moment) and not day_number(column.low) - 1 < edges[0] <= edges[-1] <= day_number(column.high):
        raise ModelFileError("should be edges between the ends of their column")
    return Cut(name, edges, column, ordered)


_EDGES = Listed(Scalar(-_FLOATS, _FLOATS))
_FEATURE = Either(
    {
        "cut": Struct(_cut, {"name": TEXT, "edges": _EDGES, "column": Optional(COLUMN), "ordered": TRUTH}),
        "named": Struct(Named, {"name": TEXT, "column": COLUMN}),
    },
    lambda feature: "named" if type(feature) is Named else "cut",
)
_LITERAL = Struct(FeatureLiteral, {"feature": whole(), "code": whole(), "up_to": TRUTH, "contrary": TRUTH})
_NODE = Struct(
    Node,
    {
        "shares": Listed(Scalar(0.0, 1.0), np.array, axis="classes"),
        "literal": Optional(_LITERAL),
        "yes": whole(-1, _MOST_NODES),
        "no": whole(-1, _MOST_NODES),
    },
)

LEARNER: dict[str, Field] = {**{name: field for name, field in FITTED.items() if name != "alpha_"}, "plans_": PLANS}
"""What every learner keeps."""
CLASSIFIER: dict[str, Field] = {**LEARNER, "classes_": LABELS, "columns_": Optional(COLUMNS)}
"""What every classifier keeps."""
DISCRETE: dict[str, Field] = {**CLASSIFIER, "features_": Listed(_FEATURE)}
"""What classifiers over declared features keep."""
DECLARED: dict[str, Field] = {"schema": Optional(SCHEMA)}
"""The parameter of theirs that is no plain value."""


def known_columns(model: Any) -> None:
    """Refuse columns that are not those that the model was asked about."""
    columns = getattr(model, "columns_", None)
    if columns is not None and not set(getattr(model, "feature_names_in_", [None])) <= columns.keys():
        raise ModelFileError("columns_: should be all that the model was asked about")


def known_features(model: Any) -> None:
    """Refuse features that are none, or not those of the columns, wherever these are declared."""
    columns, features, schema = getattr(model, "columns_", None), model.features_, model.schema
    if columns is not None:
        declared = [
            (each.name, each.column if isinstance(each, Named) else columns.get(each.name)) for each in features
        ]
        holds = all(column is not None and columns.get(name) == column for name, column in declared)
    elif schema is not None:
        declared = [(each.name, each.column) for each in features]
        holds = declared == [(name, schema.columns[name]) for name in schema.features]
    else:
        holds = len(features) == model.n_features_in_
    if not features or not holds:
        raise ModelFileError("features_: should be those of the columns")


def counted(model: Any) -> None:
    """Refuse tables of naive Bayes that are not about the features."""
    known_features(model)
    if [len(table) for table in model.feature_log_prob_] != [feature.size for feature in model.features_]:
        raise ModelFileError("feature_log_prob_: should have a number for each code of each feature")


def grown(model: Any) -> None:
    """Refuse nodes that are no tree, that is too deep, or that asks for what features do not have."""
    known_features(model)
    nodes, (_, deepest) = model.nodes_, model.size_parameter
    splits = [(number, node) for number, node in enumerate(nodes) if node.literal is not None]
    below = sorted(place for _, node in splits for place in (node.yes, node.no))
    if not nodes or below != list(range(1, len(nodes))):
        raise ModelFileError("nodes_: should be a tree")
    depth = [0] * len(nodes)
    for number, node in splits:
        asked = node.literal
        known = asked.feature < len(model.features_) and asked.code < model.features_[asked.feature].size - asked.up_to
        if min(node.yes, node.no) <= number or not known:
            raise ModelFileError("nodes_: should be a tree of literals about the features")
        depth[node.yes] = depth[node.no] = depth[number] + 1
    if max(depth) > deepest:
        raise ModelFileError("nodes_: should be less deep")


GROWN = Saved({**DISCRETE, "nodes_": Listed(_NODE, list)}, DECLARED, check=grown)
"""What trees and lists keep."""
