"""What a notebook asks of every estimator when somebody types a dot behind it."""

from typing import Any

import numpy as np
import pytest

from tacit import PrivateERM, PrivateLinearRegression, PrivateLinearSVC, PrivateLogisticRegression, queries
from tacit.kernels import RBF, InteractiveKernelPredictor, PrivateKernelClassifier, PrivateKernelRegressor
from tacit.model_selection import PrivateSearch

ESTIMATORS = [
    PrivateERM, PrivateLinearRegression, PrivateLinearSVC, PrivateLogisticRegression, InteractiveKernelPredictor,
    PrivateKernelClassifier, PrivateKernelRegressor, PrivateSearch, queries.ConjunctionClassifier,
    queries.DecisionListClassifier, queries.SQDecisionTree, queries.SQKMeans, queries.SQNaiveBayes, queries.SQPCA,
    queries.SQPerceptron,
]  # fmt: skip


@pytest.mark.parametrize("kind", ESTIMATORS)
def test_the_names_of_its_attributes_can_be_listed(kind: Any) -> None:
    """scikit-learn looks at each attribute to list them: one that is not there, or not yet, must say just that."""
    assert "fit" in dir(kind())


def test_a_predictor_without_a_file_has_no_head() -> None:
    """Its attributes can be listed: the head is not among them."""
    rows = np.linspace(0, 1, 40)[:, None]
    model = InteractiveKernelPredictor(RBF(1.0), 1.0, 1e-6, data_norm=1.0, classes=[0, 1])
    model.fit(rows, np.resize([0, 1], 40))
    assert "points_left_" in dir(model)
    assert not hasattr(model, "head_")
