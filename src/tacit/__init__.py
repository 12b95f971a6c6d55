"""tacit: differentially private machine learning. Learn from records; repeat none of them.

Every guarantee is stated for replace-one neighbours (one record replaced by any other) with a public number of
records, and every record is clipped to declared public bounds, never trusted.
"""

from tacit.accounting.ledger import Ledger
from tacit.budget import Budget
from tacit.data.encoder import PublicEncoder
from tacit.data.records import Records
from tacit.data.schema import Schema
from tacit.erm.classification import PrivateLinearSVC, PrivateLogisticRegression
from tacit.erm.general import PrivateERM
from tacit.erm.regression import PrivateLinearRegression
from tacit.kernels.classification import PrivateKernelClassifier
from tacit.kernels.interactive.predictor import InteractiveKernelPredictor
from tacit.kernels.regression import PrivateKernelRegressor
from tacit.queries.learners.conjunction import ConjunctionClassifier
from tacit.queries.oracle.oracle import StatisticalOracle
from tacit.release import Release, release
from tacit.sums.query import StatisticalQuery

__all__ = [
    "Budget",
    "ConjunctionClassifier",
    "InteractiveKernelPredictor",
    "Ledger",
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
    "release",
]

__version__ = "0.1.0"
