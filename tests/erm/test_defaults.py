"""Defaults that follow from public quantities: the kind of noise, the margin, the ridge."""

import math

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import log_loss, roc_auc_score

from tacit.budget import Budget
from tacit.data import Flag, Number, PublicEncoder, Records, Schema
from tacit.erm.classification import PrivateLinearSVC, PrivateLogisticRegression
from tacit.erm.losses.softmax import Softmax
from tacit.erm.losses.standard import Hinge, HuberHinge, HuberRegression, Logistic
from tacit.erm.perturbations.defaults import (
    MARGIN,
    default_alpha,
    default_kind,
    default_margin,
    noise_over_signal,
    perturbation_for,
)
from tacit.erm.perturbations.setting import Setting

SCHEMA = Schema({"a": Number(0, 1), "b": Number(0, 1), "rare": Flag()}, target="rare")


def _table(count: int, seed: int) -> dict[str, np.ndarray]:
    """Draw records of which about 6 % are positive, where one number is high and the other in the middle."""
    coins = np.random.default_rng(seed)
    a, b = coins.uniform(size=(2, count))
    scores = 6 * a - 30 * (b - 0.5) ** 2 - 5.8
    return {"a": a, "b": b, "rare": coins.random(count) < 1 / (1 + np.exp(-scores))}


def test_the_margin_fades_as_noise_does() -> None:
    """It is the largest where noise is a tenth of the signal, falls with every budget, and is nothing in the end."""
    for delta in (0.0, 1e-6):
        found = [default_margin(Budget(epsilon, delta), 50, 20_000) for epsilon in (0.01, 0.1, 1, 10, 50)]
        assert found == sorted(found, reverse=True)
        assert found[0] == MARGIN
    assert default_margin(Budget(1000), 50, 10**7) < 0.001
    assert default_margin(None, 50, 20_000) == 0
    ratio = noise_over_signal(Budget(1), 99, 20_000)
    assert ratio == pytest.approx(2 * 10 * math.sqrt(99) / 20_000)
    assert default_margin(Budget(1), 99, 20_000) == pytest.approx(4 + math.log10(ratio))


@pytest.mark.parametrize(
    ("loss", "epsilon", "delta", "kind"),
    [
        (Logistic(1.0), 1, 0.0, "objective"),
        (Logistic(1.0), 1, 1e-6, "objective"),
        (HuberHinge(0.5), 1, 1e-6, "objective"),
        (Logistic(1.0), 60, 1e-6, "objective"),
        (Logistic(1.0), 1, 1e-60, "objective"),
        (Softmax(3), 1, 1e-6, "gradient"),
        (Softmax(3), 1, 0.0, "objective"),
        (HuberRegression(1.0, 1.0), 1, 1e-6, "gradient"),
        (Hinge(), 1, 1e-6, "output"),
    ],
)
def test_the_objective_is_perturbed_wherever_that_is_certified_at_no_loss(
    loss: Logistic, epsilon: float, delta: float, kind: str
) -> None:
    """With a delta, losses of one score and one sign perturb the objective, others the gradients or the output."""
    assert default_kind(Budget(epsilon, delta).is_pure, loss) == kind


@pytest.mark.parametrize("budget", [Budget(60, 1e-6), Budget(1, 1e-60)])
def test_what_gaussian_noise_is_not_certified_for_is_pure(budget: Budget) -> None:
    """Beyond what is certified for a delta, noise is that of the same epsilon without one, and delta is not charged."""
    setting = Setting(1000, 10, 1.0, Logistic(1.0))
    chosen = perturbation_for("auto", budget, setting, "auto")
    assert chosen == perturbation_for("objective", Budget(budget.epsilon), setting, "auto")
    assert chosen.event.delta == 0


def test_the_ridge_fades_to_a_twentieth() -> None:
    """For a large budget n alpha is R^2/20, whatever the size of the table."""
    for count in (100, 10**6):
        assert count * default_alpha("objective", Budget(10**5), Setting(count, 10, 2.0, Logistic(0.001))) == (
            pytest.approx(0.2)
        )


def test_passes_over_records_do_not_grow_with_a_delta() -> None:
    """A default fit of two classes with a delta is one solution and not hundreds of noisy gradients."""
    model = PrivateLogisticRegression(1, 1e-6, random_state=0).fit(Records(_table(500, 0), SCHEMA))
    assert "EpsilonDelta" in type(model.release_.event).__name__
    svc = PrivateLinearSVC(1, 1e-6, random_state=0).fit(Records(_table(500, 0), SCHEMA))
    assert "EpsilonDelta" in type(svc.release_.event).__name__


@pytest.mark.parametrize(("epsilon", "delta"), [(50, 1e-6), (100, 1e-6), (1000, 0.0)])
def test_a_large_epsilon_gives_the_ordinary_model_in_all_three_scores(epsilon: float, delta: float) -> None:
    """On a rare class and at a large epsilon, all three are those of the model without privacy, or better."""
    train, test = _table(4000, 1), _table(4000, 2)
    encoder = PublicEncoder(SCHEMA, curves=17)
    plain = LogisticRegression(max_iter=1000).fit(encoder.transform(train), train["rare"])
    without = plain.predict_proba(encoder.transform(test))[:, 1]
    private = PrivateLogisticRegression(epsilon, delta, random_state=0).fit(Records(train, SCHEMA))
    chances = private.predict_proba(test)[:, 1]
    wanted = test["rare"]
    assert np.mean((chances > 0.5) == wanted) > np.mean((without > 0.5) == wanted) - 0.005
    assert roc_auc_score(wanted, chances) > roc_auc_score(wanted, without) - 0.005
    assert log_loss(wanted, chances) < log_loss(wanted, without) + 0.004


@pytest.mark.parametrize("delta", [0.0, 1e-6])
def test_probabilities_of_a_rare_class_beat_its_share(delta: float) -> None:
    """At epsilon 1, 4,000 records teach more than how many positives there are; calibration is right on average."""
    train, test = _table(4000, 3), _table(4000, 4)
    model = PrivateLogisticRegression(1, delta, random_state=0).fit(Records(train, SCHEMA))
    chances, wanted = model.predict_proba(test)[:, 1], test["rare"]
    prior = log_loss(wanted, np.full(len(wanted), np.mean(train["rare"])))
    assert log_loss(wanted, chances) < prior
    assert chances.mean() == pytest.approx(wanted.mean(), abs=0.05)
