"""A convex loss of one's own: private if its declarations are true, refused when they are not."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import pytest

from tacit import Budget, PrivateERM, PrivateLogisticRegression
from tacit.erm import HuberHinge, HuberRegression, Logistic
from tacit.erm.losses.loss import PointwiseLoss
from tacit.errors import InvalidParameter


@dataclass(frozen=True)
class SmoothAbsolute(PointwiseLoss):
    """sqrt(1 + r^2) - 1: slope within 1, curvature within 1."""

    kind: ClassVar[str] = "residual"
    lipschitz: float = 1.0
    smoothness: float = 1.0
    one_sided: ClassVar[bool] = False

    def value(self, t):
        """Return sqrt(1 + t^2) - 1."""
        return np.hypot(1.0, t) - 1.0

    def derivative(self, t, out=None):
        """Return t / sqrt(1 + t^2)."""
        return np.divide(t, np.hypot(1.0, t), out=out)

    def curvature(self, t):
        """Return (1 + t^2)^(-3/2)."""
        return np.hypot(1.0, t) ** -3.0


@pytest.fixture(scope="module")
def problem():
    """Records that a line separates, nearly."""
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(500, 3))
    return rows / np.linalg.norm(rows, axis=1, keepdims=True), rows[:, 0] + 0.1 * rng.normal(size=500)


def test_the_logistic_loss_gives_logistic_regression(problem):
    """Under the same seed and with the same anchor the general estimator and the special one agree."""
    rows, scores = problem
    labels = np.where(scores > 0, "yes", "no")
    special = PrivateLogisticRegression(1.0, data_norm=1.0, random_state=0).fit(rows, labels)
    general = PrivateERM(Logistic(special.margin_), 1.0, data_norm=1.0, random_state=0).fit(rows, labels)
    assert np.array_equal(general.coef_, special.coef_[0])
    assert np.array_equal(general.predict(rows), special.predict(rows))


def test_a_loss_of_ones_own_is_fitted_and_charged(problem, ledger):
    """A user's residual loss learns, is charged, and says which loss it was."""
    rows, scores = problem
    model = PrivateERM(SmoothAbsolute(), 2.0, data_norm=1.0, ledger=ledger).fit(rows, np.tanh(scores))
    assert np.corrcoef(model.predict(rows), scores)[0, 1] > 0.5
    assert ledger.spent == Budget(2)
    assert "SmoothAbsolute" in model.release_.guarantee


@pytest.mark.parametrize("loss", [None, "logistic", 5])
def test_what_is_no_loss_is_refused(problem, loss):
    """The loss must be an object that declares its constants."""
    with pytest.raises(InvalidParameter):
        PrivateERM(loss, 1.0, data_norm=1.0).fit(*problem)


def test_three_classes_are_refused_by_a_margin_loss(problem):
    """A margin has two sides."""
    rows, _ = problem
    with pytest.raises(InvalidParameter, match="binary"):
        PrivateERM(HuberHinge(), 1.0, data_norm=1.0).fit(rows, np.arange(500) % 3)


def test_residual_losses_predict_numbers(problem):
    """Huber's loss through the general estimator is a regression."""
    rows, scores = problem
    model = PrivateERM(HuberRegression(1.0, 1.0), 50.0, data_norm=1.0, random_state=0).fit(rows, np.tanh(scores))
    assert model.predict(rows).dtype == np.float64
    assert not model.release_.private
