"""Linear classifiers: what they release, and what they charge."""

import math
import pickle
import threading
from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from scipy.optimize import brentq, minimize
from scipy.special import expit, logsumexp
from sklearn.linear_model import LogisticRegression

from tacit import noise
from tacit.accounting.ledger import Ledger
from tacit.budget import Budget
from tacit.erm.classification import PrivateLinearSVC, PrivateLogisticRegression
from tacit.erm.losses.softmax import ClippedSoftmax
from tacit.erm.perturbations.defaults import MARGIN
from tacit.errors import InvalidParameter
from tacit.numerics.arrays import Floats

GENERATOR = np.random.default_rng(3)
X = GENERATOR.normal(size=(80, 4))
Y = (X[:, 0] + 0.5 * X[:, 1] > 0).astype(int)
THREE = np.digitize(X[:, 0], [-0.4, 0.4])


def _augmented(data: Any, norm: float) -> Any:
    """Clip rows by hand and append the constant that stands for the intercept."""
    lengths = np.linalg.norm(data, axis=1, keepdims=True)
    return np.column_stack([data * np.minimum(1.0, norm / lengths), np.full(len(data), 0.25 * norm)])


@pytest.mark.parametrize("labels", [Y, THREE])
@pytest.mark.parametrize("norm", [1.0, 30.0])
def test_an_infinite_epsilon_gives_the_ordinary_model(labels: Any, norm: float) -> None:
    """Without privacy the coefficients are scikit-learn's for the same objective, and are never called private."""
    model = PrivateLogisticRegression(math.inf, data_norm=norm, alpha=0.01).fit(X, labels)
    rows = _augmented(X, norm)
    plain = LogisticRegression(C=1 / (len(X) * 0.01), fit_intercept=False, tol=1e-12, max_iter=10_000).fit(rows, labels)
    assert np.abs(model.coef_ - plain.coef_[:, :-1]).max() < 1e-6
    assert np.abs(model.intercept_ - plain.coef_[:, -1] * 0.25 * norm).max() < 1e-6
    assert np.abs(model.predict_proba(_augmented(X, norm)[:, :-1]) - plain.predict_proba(rows)).max() < 1e-6
    assert not model.release_.private
    assert model.release_.budget is None
    assert "NOT private" in model.release_.guarantee


def test_an_infinite_epsilon_is_refused_when_there_is_a_ledger(ledger: Ledger) -> None:
    """What cannot be charged is not released beside an account that says all is charged."""
    with pytest.raises(InvalidParameter, match="ledger"):
        PrivateLogisticRegression(math.inf, data_norm=1.0, ledger=ledger).fit(X, Y)
    assert ledger.entries() == []


@pytest.mark.parametrize(
    ("delta", "perturbation"),
    [(0.0, "auto"), (0.0, "output"), (1e-6, "auto"), (1e-6, "objective"), (1e-6, "output"), (1e-6, "gradient")],
)
@pytest.mark.parametrize("labels", [Y, THREE])
def test_a_fit_charges_its_budget_once_and_keeps_the_entry(
    delta: float, perturbation: Any, labels: Any, ledger: Ledger
) -> None:
    """Exactly epsilon and delta are charged, the release says so, and nothing else is kept of the data."""
    model = PrivateLogisticRegression(
        0.7, delta, data_norm=1.0, perturbation=perturbation, classes=np.unique(labels), ledger=ledger
    ).fit(X, labels)
    assert ledger.spent == Budget(0.7, delta) == model.release_.budget
    assert ledger.entries() == [model.release_.entry]
    assert model.release_.private
    assert "replace-one" in model.release_.guarantee
    assert {name for name in vars(model) if name.endswith("_")} == {
        "coef_", "intercept_", "coef_noise_", "intercept_noise_", "alpha_", "release_", "classes_", "n_features_in_",
            "margin_",
    }  # fmt: skip


def test_the_release_names_what_was_assumed_public() -> None:
    """Classes that were read off the labels, the norm, the loss and a raised ridge are all said."""
    assumed = PrivateLogisticRegression(1.0, data_norm=2.0, alpha=1e-6).fit(X, Y).release_.guarantee
    assert "the set of labels in y" in assumed
    assert "raised from 1e-06" in assumed
    assert "row norm 2.06" in assumed
    assert "Logistic" in assumed
    declared = PrivateLogisticRegression(1.0, data_norm=2.0, classes=[0, 1]).fit(X, Y).release_.guarantee
    assert "2 declared classes" in declared
    assert "raised" not in declared


def test_the_ridge_that_was_used_is_kept() -> None:
    """A small ridge is raised to what the guarantee needs, a large one is used as it is, for 99 % of epsilon."""
    norm_squared = 1 + 0.25**2
    low = PrivateLogisticRegression(1.0, data_norm=1.0, alpha=1e-9).fit(X, Y)
    assert low.alpha_ == pytest.approx(2 * norm_squared / (80 * 0.99), rel=1e-6)
    assert PrivateLogisticRegression(1.0, data_norm=1.0, alpha=0.5).fit(X, Y).alpha_ == 0.5
    assert (
        PrivateLogisticRegression(1.0, 1e-6, perturbation="gradient", data_norm=1.0, alpha=1e-3).fit(X, Y).alpha_
        == 1e-3
    )


@pytest.mark.filterwarnings("ignore:.*a ledger and a seed:tacit.PrivacyWarning")
@pytest.mark.parametrize("make", [PrivateLogisticRegression, PrivateLinearSVC])
def test_a_seed_makes_a_rehearsal(make: Callable[..., Any], ledger: Ledger) -> None:
    """Equal seeds give equal models, marked as not private and never charged; without one no two fits agree."""
    first, second = (make(1.0, data_norm=1.0, random_state=5, ledger=ledger).fit(X, Y) for _ in range(2))
    assert np.array_equal(first.coef_, second.coef_)
    assert not first.release_.private
    assert "NOT private" in first.release_.guarantee
    assert ledger.entries() == []
    assert not np.array_equal(make(1.0, data_norm=1.0).fit(X, Y).coef_, make(1.0, data_norm=1.0).fit(X, Y).coef_)


@pytest.mark.parametrize(("delta", "perturbation"), [(0.0, "objective"), (0.0, "output"), (1e-6, "gradient")])
@pytest.mark.parametrize("labels", [Y, THREE])
def test_rows_beyond_the_norm_are_clipped_silently(delta: float, perturbation: Any, labels: Any) -> None:
    """Huge rows give what rows scaled by hand give, up to the last digits."""
    rows = X * np.where(np.arange(80) % 3, 1.0, 1e7)[:, None]
    clipped = rows * np.minimum(1.0, 1.5 / np.linalg.norm(rows, axis=1))[:, None]
    settings: Any = {"data_norm": 1.5, "perturbation": perturbation, "random_state": 0}
    long = PrivateLogisticRegression(1.0, delta, **settings).fit(rows, labels)
    short = PrivateLogisticRegression(1.0, delta, **settings).fit(clipped, labels)
    assert np.abs(long.coef_ - short.coef_).max() < 1e-7
    assert np.abs(long.intercept_ - short.intercept_).max() < 1e-7


@pytest.mark.parametrize(("delta", "perturbation"), [(0.0, "objective"), (0.0, "output"), (1e-6, "gradient")])
@pytest.mark.parametrize("labels", [Y, THREE])
@pytest.mark.parametrize("norm", [0.5, 10.0])
def test_sparse_rows_give_the_coefficients_of_dense_ones(
    delta: float, perturbation: Any, labels: Any, norm: float
) -> None:
    """Explicit zeros, repeated and unsorted entries, 64-bit indices and other sparse formats change nothing."""
    rows = np.where(np.abs(X) < 0.7, 0.0, X)
    settings: Any = {"data_norm": norm, "perturbation": perturbation, "random_state": 0}
    dense = PrivateLogisticRegression(1.0, delta, **settings).fit(rows, labels)
    count, width = rows.shape
    places = np.tile(np.concatenate([np.arange(width)[::-1], np.arange(width)[::-1]]), count)
    mirrored = np.concatenate([rows[:, ::-1], rows[:, ::-1]], axis=1).ravel() / 2
    repeated = sparse.csr_array((mirrored, places, np.arange(count + 1) * 2 * width), shape=rows.shape)
    assert not repeated.has_canonical_format
    wide = sparse.csr_array(rows)
    wide.indices, wide.indptr = wide.indices.astype(np.int64), wide.indptr.astype(np.int64)
    for table in (sparse.csr_array(rows), sparse.csc_array(rows), sparse.coo_matrix(rows), repeated, wide):
        model = PrivateLogisticRegression(1.0, delta, **settings).fit(table, labels)
        assert np.abs(model.coef_ - dense.coef_).max() < 1e-10
        assert np.abs(model.predict_proba(sparse.csr_array(rows)) - dense.predict_proba(rows)).max() < 1e-10


def test_the_kind_of_table_does_not_matter() -> None:
    """Lists, data frames, other orders, strides and number types give the same model for the same numbers."""
    rows = np.round(X * 8)
    settings: Any = {"data_norm": 5.0, "random_state": 0}
    wanted = PrivateLogisticRegression(1.0, **settings).fit(rows, Y).coef_
    tables: list[Any] = [
        rows.tolist(), pd.DataFrame(rows, columns=list("abcd")), np.asfortranarray(rows), np.repeat(rows, 2, 1)[:, ::2],
        rows.astype(np.float32), rows.astype(np.int8), rows.astype(np.int64), rows.astype(object), rows[::-1][::-1],
    ]  # fmt: skip
    for table in tables:
        assert np.array_equal(PrivateLogisticRegression(1.0, **settings).fit(table, Y).coef_, wanted)
    read_only = rows.copy()
    read_only.flags.writeable = False
    assert np.array_equal(PrivateLogisticRegression(1.0, **settings).fit(read_only, Y).coef_, wanted)


def test_declared_classes_make_absent_labels_possible() -> None:
    """One row, one label: with declared classes nothing depends on which labels happen to occur."""
    one = PrivateLogisticRegression(1.0, data_norm=1.0, classes=["b", "a"]).fit(X[:1], ["b"])
    assert one.classes_.tolist() == ["a", "b"]
    assert one.coef_.shape == (1, 4)
    several = PrivateLogisticRegression(1.0, data_norm=1.0, classes={0, 1, 2, 3}).fit(X, Y)
    assert several.coef_.shape == (4, 4)
    assert several.predict_proba(X).shape == (80, 4)


def test_constant_columns_and_equal_rows_are_no_trouble() -> None:
    """Columns without variation, rows of zeros and rows that are all the same are fitted like any others."""
    for table in (np.zeros((80, 3)), np.ones((80, 3)), np.column_stack([X, np.ones(80), np.zeros(80)])):
        for delta in (0.0, 1e-6):
            assert np.all(np.isfinite(PrivateLogisticRegression(1.0, delta, data_norm=1.0).fit(table, Y).coef_))


@pytest.mark.parametrize("perturbation", ["objective", "output", "gradient"])
@pytest.mark.parametrize(("epsilon", "delta"), [(1e-3, 1e-6), (1e-3, 1e-12), (30.0, 1e-6), (1.0, 1e-12)])
@pytest.mark.parametrize("norm", [1e-30, 1.0, 1e30])
def test_extreme_budgets_and_norms_give_finite_models(
    perturbation: Any, epsilon: float, delta: float, norm: float
) -> None:
    """One record of one feature at any scale is enough for a model, which is noise."""
    model = PrivateLogisticRegression(epsilon, delta, data_norm=norm, perturbation=perturbation, classes=[0, 1]).fit(
        [[norm]], [1]
    )
    assert np.all(np.isfinite(model.coef_))
    assert np.all(np.isfinite(model.intercept_))
    assert np.any(model.coef_ != 0)


def test_the_budget_is_charged_before_noise_is_drawn(ledger: Ledger, monkeypatch: pytest.MonkeyPatch) -> None:
    """When the first random bits are asked for, the entry is already on disk."""
    charged: list[int] = []
    generator = noise.SystemEntropy.generator

    def watched(source: noise.SystemEntropy) -> np.random.Generator:
        charged.append(len(ledger.entries()))
        return generator(source)

    monkeypatch.setattr(noise.SystemEntropy, "generator", watched)
    PrivateLogisticRegression(1.0, data_norm=1.0, ledger=ledger).fit(X, Y)
    assert charged
    assert set(charged) == {1}


def test_an_error_after_the_charge_is_not_refunded(ledger: Ledger, monkeypatch: pytest.MonkeyPatch) -> None:
    """Once charged, always charged: a crash while noise is drawn leaves the entry."""
    monkeypatch.setattr(noise.SystemEntropy, "generator", lambda source: (_ for _ in ()).throw(MemoryError()))
    with pytest.raises(MemoryError):
        PrivateLogisticRegression(1.0, data_norm=1.0, ledger=ledger).fit(X, Y)
    assert ledger.spent == Budget(1)


def test_threads_and_pickles_share_no_noise(ledger: Ledger) -> None:
    """Models fitted at the same time, or from the same pickle, differ in every coefficient, and all are charged."""
    frozen = pickle.dumps(PrivateLogisticRegression(1.0, data_norm=1.0, ledger=ledger))
    found: list[Any] = []
    threads = [threading.Thread(target=lambda: found.append(pickle.loads(frozen).fit(X, Y).coef_)) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(found) == 6
    assert len(np.unique(found)) == 24
    assert ledger.spent == Budget(6)


def test_probabilities_minimise_the_expected_loss_with_its_margin() -> None:
    """At the score that is best for a record of known odds, predict_proba gives these odds back."""
    model = PrivateLogisticRegression(1.0, data_norm=1.0, random_state=0).fit(X, Y)
    assert model.margin_ == MARGIN
    for chance in (0.03, 0.4, 0.5, 0.8, 0.999):

        def slope(score: float, chance: float = chance) -> float:
            return float((1 - chance) * expit(MARGIN + score) - chance * expit(MARGIN - score))

        best = brentq(slope, -50, 50, xtol=1e-13)
        model.coef_, model.intercept_ = np.zeros_like(model.coef_), np.array([best])
        assert model.predict_proba(X[:1])[0, 1] == pytest.approx(chance, rel=1e-9)


def test_probabilities_of_several_classes_minimise_the_expected_loss_with_its_margin() -> None:
    """At the scores that are best for a record of known odds among three classes, predict_proba gives these back."""
    model = PrivateLogisticRegression(1.0, 1e-6, data_norm=1.0, random_state=0).fit(X, THREE)
    assert model.margin_ == ClippedSoftmax.anchor > 0
    chances = np.array([0.6, 0.3, 0.1])

    def expected(scores: Floats) -> float:
        anchored = scores - model.margin_ * np.eye(3)
        return float(chances @ (logsumexp(anchored, axis=1) - np.diag(anchored)))

    best = minimize(expected, np.zeros(3), tol=1e-12).x
    model.coef_, model.intercept_ = np.zeros_like(model.coef_), best
    assert model.predict_proba(X[:1])[0] == pytest.approx(chances, rel=1e-4)


@pytest.mark.parametrize(("epsilon", "delta"), [(math.inf, 0.0), (1.0, 0.0)])
def test_only_noisy_gradients_of_several_classes_have_a_margin(epsilon: float, delta: float) -> None:
    """Without noise, and with noise in the objective of several classes, the loss is the ordinary one."""
    assert PrivateLogisticRegression(epsilon, delta, data_norm=1.0).fit(X, THREE).margin_ == 0
    assert PrivateLogisticRegression(epsilon, delta, data_norm=1.0).fit(X, Y).margin_ == (MARGIN if epsilon == 1 else 0)


@pytest.mark.parametrize("labels", [Y, THREE])
def test_probabilities_follow_the_scores(labels: Any) -> None:
    """Probabilities add up to one, agree with predictions, and their logarithms never warn."""
    model = PrivateLogisticRegression(50.0, data_norm=3.0, random_state=0).fit(X, labels)
    chances = model.predict_proba(X)
    assert np.abs(chances.sum(axis=1) - 1).max() < 1e-12
    assert np.array_equal(model.classes_[chances.argmax(axis=1)], model.predict(X))
    assert np.all(np.isfinite(model.predict_log_proba(1e6 * X)))
    assert model.score(X, labels) > 0.8


@pytest.mark.parametrize("loss", ["huber", "hinge"])
def test_the_support_vector_machine_separates_what_can_be_separated(loss: Any) -> None:
    """Without much noise nearly every label is predicted."""
    model = PrivateLinearSVC(500.0, data_norm=3.0, loss=loss, random_state=0, alpha=0.01).fit(X, Y)
    assert model.score(X, Y) > 0.9
