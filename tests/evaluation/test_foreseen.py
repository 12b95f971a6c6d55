"""What a report will be like, told before it is made."""

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression

from tacit.budget import Budget
from tacit.evaluation import report
from tacit.evaluation.foreseen import expected_error, foreseen_sketch


@pytest.mark.parametrize("n", [500, 5_000])
@pytest.mark.parametrize("budget", [Budget(0.5), Budget(2.0), Budget(2.0, 1e-6)])
def test_the_error_that_is_expected_is_the_one_that_comes(n, budget):
    """Half the accuracy's interval lies below it, and by no more than two fifths; the event is the one charged."""
    draw = np.random.default_rng(0)
    X = draw.normal(size=(n, 3))
    y = X[:, 0] + draw.normal(size=n) > 0
    told = report(LogisticRegression().fit(X, y), X, y, epsilon=budget.epsilon, delta=budget.delta, random_state=1)
    low, high = told.accuracy.interval
    assert 0.6 < (high - low) / 2 / expected_error(n, budget) <= 1.0
    assert foreseen_sketch(n, budget).event == told.release.event
