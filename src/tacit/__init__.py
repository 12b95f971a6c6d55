"""tacit: differentially private machine learning. Learn from records; repeat none of them.

Every guarantee is stated for replace-one neighbours (one record replaced by any other) with a public number of
records, and every record is clipped to declared public bounds, never trusted.

Importing the package loads none of it: a name, or a room such as `tacit.statistics`, is loaded when it is first used.
"""

from importlib import import_module
from typing import TYPE_CHECKING

from tacit.version import VERSION

if TYPE_CHECKING:
    from tacit import (
        accounting,
        audit,
        data,
        errors,
        evaluation,
        kernels,
        mechanisms,
        models,
        queries,
        reports,
        statistics,
    )
    from tacit.accounting.ledger import Ledger
    from tacit.budget import Budget
    from tacit.client.client import Client
    from tacit.data.encoder import PublicEncoder
    from tacit.data.records import Records
    from tacit.data.schema import Schema
    from tacit.erm.classification import PrivateLinearSVC, PrivateLogisticRegression
    from tacit.erm.general import PrivateERM
    from tacit.erm.regression import PrivateLinearRegression
    from tacit.errors import PrivacyWarning
    from tacit.estimators.exact_scores import public_data
    from tacit.kernels.classification import PrivateKernelClassifier
    from tacit.kernels.interactive.predictor import InteractiveKernelPredictor
    from tacit.kernels.regression import PrivateKernelRegressor
    from tacit.model_selection.needed import epsilon_for
    from tacit.models.file import load, save
    from tacit.numerics.progress import progress
    from tacit.queries.learners.conjunction import ConjunctionClassifier
    from tacit.queries.oracle.oracle import StatisticalOracle
    from tacit.releases import Release, release
    from tacit.sums.query import StatisticalQuery

__all__ = [
    "Budget",
    "Client",
    "ConjunctionClassifier",
    "InteractiveKernelPredictor",
    "Ledger",
    "PrivacyWarning",
    "PrivateERM",
    "PrivateKernelClassifier",
    "PrivateKernelRegressor",
    "PrivateLinearRegression",
    "PrivateLinearSVC",
    "PrivateLogisticRegression",
    "PublicEncoder",
    "Records",
    "Release",
    "Schema",
    "StatisticalOracle",
    "StatisticalQuery",
    "accounting",
    "audit",
    "data",
    "epsilon_for",
    "errors",
    "evaluation",
    "kernels",
    "load",
    "mechanisms",
    "model_selection",
    "models",
    "progress",
    "public_data",
    "queries",
    "release",
    "reports",
    "save",
    "statistics",
]


__version__ = VERSION

_HOMES = {
    "Budget": "budget",
    "Client": "client.client",
    "ConjunctionClassifier": "queries.learners.conjunction",
    "InteractiveKernelPredictor": "kernels.interactive.predictor",
    "Ledger": "accounting.ledger",
    "PrivacyWarning": "errors",
    "PrivateERM": "erm.general",
    "PrivateKernelClassifier": "kernels.classification",
    "PrivateKernelRegressor": "kernels.regression",
    "PrivateLinearRegression": "erm.regression",
    "PrivateLinearSVC": "erm.classification",
    "PrivateLogisticRegression": "erm.classification",
    "PublicEncoder": "data.encoder",
    "Records": "data.records",
    "Release": "releases",
    "Schema": "data.schema",
    "StatisticalOracle": "queries.oracle.oracle",
    "StatisticalQuery": "sums.query",
    "epsilon_for": "model_selection.needed",
    "public_data": "estimators.exact_scores",
    "load": "models.file",
    "progress": "numerics.progress",
    "release": "releases",
    "save": "models.file",
}


def __getattr__(name: str) -> object:
    """Load a public name from its home, or a room, when it is first asked for."""
    if name in _HOMES:
        found: object = getattr(import_module(f"tacit.{_HOMES[name]}"), name)
    elif name in __all__:
        found = import_module(f"tacit.{name}")
    else:
        raise AttributeError(f"module 'tacit' has no attribute {name!r}")
    globals()[name] = found
    return found


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
