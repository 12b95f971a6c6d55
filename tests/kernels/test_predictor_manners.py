"""An interactive predictor among scikit-learn's estimators: clones, widths, scores and tags."""

from typing import Any

import numpy as np
import pytest
from sklearn.base import clone, is_classifier, is_regressor
from sklearn.exceptions import NotFittedError

from support.fitted_models import SCHEMA, table
from tacit import Records
from tacit.kernels import RBF, InteractiveKernelPredictor

GENERATOR = np.random.default_rng(17)
COUNT = 400
X = GENERATOR.normal(size=(COUNT, 3))
X /= np.maximum(1, np.linalg.norm(X, axis=1, keepdims=True))
Y = np.where(X[:, 0] + X[:, 1] ** 2 > 0.2, "yes", "no")
Z = GENERATOR.normal(size=(40, 3))


def _predictor(**changes: Any) -> InteractiveKernelPredictor:
    given = {"kernel": RBF(1.0) + 0.5, "epsilon": 1.0, "delta": 1e-6, "data_norm": 1.0, **changes}
    return InteractiveKernelPredictor(**given)


def test_a_clone_is_unfitted_and_points_of_other_width_are_refused() -> None:
    """Clones carry parameters only; a point must have the records' columns."""
    predictor = _predictor().fit(X, Y)
    with pytest.raises(NotFittedError):
        clone(predictor).answer(Z)
    with pytest.raises(ValueError, match="features"):
        predictor.answer(np.ones((2, 4)))
    with pytest.raises(ValueError, match="0 sample"):
        predictor.answer(np.ones((0, 3)))


def test_a_predictor_scores_and_says_what_is_left() -> None:
    """It is a classifier or a regressor to scikit-learn, and counts the points that it can still answer."""
    predictor = _predictor(random_state=1).fit(X, Y)
    assert is_classifier(predictor)
    assert predictor.points_left_ == 10_000
    assert predictor.score(Z, predictor.predict(Z)) == 1.0
    assert predictor.points_left_ == 10_000 - len(Z)
    number = _predictor(loss="squared", target_range=(-1.0, 1.0), random_state=1).fit(X, X[:, 0])
    assert is_regressor(number)
    assert number.score(Z, Z[:, 0]) <= 1
    assert _predictor(method="pinp", alpha=0.1).fit(X, Y).points_left_ is None


@pytest.mark.parametrize("changes", [{}, {"landmarks": 20}, {"method": "pinp", "alpha": 0.2}, {"alpha": 0.2}])
def test_the_error_is_known_before_records_are_read(changes: dict[str, Any]) -> None:
    """What is expected by public facts is what the fitted predictor says where K(z, z) is largest."""
    records = Records(table(), SCHEMA)
    predictor = InteractiveKernelPredictor(RBF(1.0), 1.0, 1e-6, random_state=0, **changes)
    expected = predictor.expected_error(Records(table(seed=9), SCHEMA))
    found = predictor.fit(records).answer(table(30, seed=2)).error
    assert np.max(found) <= 1.01 * expected
    assert np.max(found) >= 0.5 * expected
