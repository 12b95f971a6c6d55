"""The estimators that a model file can hold, by their names there: a closed table, loaded one by one."""

from importlib import import_module
from typing import Any, cast

from tacit.errors import ModelFileError

_HOMES = {
    "logistic-regression": ("erm.classification", "PrivateLogisticRegression"),
    "linear-svc": ("erm.classification", "PrivateLinearSVC"),
    "linear-regression": ("erm.regression", "PrivateLinearRegression"),
    "erm": ("erm.general", "PrivateERM"),
    "kernel-classifier": ("kernels.classification", "PrivateKernelClassifier"),
    "kernel-regressor": ("kernels.regression", "PrivateKernelRegressor"),
    "conjunction": ("queries.learners.conjunction", "ConjunctionClassifier"),
    "decision-list": ("queries.learners.decision_list", "DecisionListClassifier"),
    "decision-tree": ("queries.learners.tree", "SQDecisionTree"),
    "naive-bayes": ("queries.learners.naive_bayes", "SQNaiveBayes"),
    "perceptron": ("queries.learners.perceptron", "SQPerceptron"),
    "k-means": ("queries.learners.kmeans", "SQKMeans"),
    "principal-components": ("queries.learners.pca", "SQPCA"),
}

NAMES = tuple(_HOMES)


def class_of(kind: object) -> type[Any]:
    """Return the class of a kind."""
    if not isinstance(kind, str) or kind not in _HOMES:
        raise ModelFileError(f"the model in this file is none that tacit knows; it knows {', '.join(NAMES)}.")
    module, name = _HOMES[kind]
    return cast("type[Any]", getattr(import_module(f"tacit.{module}"), name))


def class_named(name: object) -> type[Any]:
    """Return the class that has a kind, by its own name."""
    for kind, (_, known) in _HOMES.items():
        if name == known:
            return class_of(kind)
    raise ModelFileError(f"there is no such estimator; there are {', '.join(known for _, known in _HOMES.values())}.")


def kind_of(model: object) -> str:
    """Return the kind of a model, by its exact type: a subclass is code, which a file does not hold."""
    for kind, (_, name) in _HOMES.items():
        if type(model).__name__ == name and type(model) is class_of(kind):
            return kind
    if type(model).__name__ == "PrivateSearch":
        raise ModelFileError("a PrivateSearch cannot be saved: save the model that it found, its best_estimator_.")
    raise ModelFileError(
        f"a {type(model).__name__} cannot be saved: model files hold {', '.join(name for _, name in _HOMES.values())}, "
        "and neither records nor code."
    )
