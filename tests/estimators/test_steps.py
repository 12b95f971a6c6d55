"""A pipeline that fits a step to private rows says that this is not private, whatever the rows; others are silent."""

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.compose import ColumnTransformer
from sklearn.decomposition import PCA
from sklearn.feature_selection import SelectKBest
from sklearn.frozen import FrozenEstimator
from sklearn.pipeline import FeatureUnion, make_pipeline
from sklearn.preprocessing import FunctionTransformer, Normalizer, StandardScaler

from tacit import PrivacyWarning, PrivateLinearRegression, PrivateLogisticRegression, PublicEncoder, public_data
from tacit.data import Number, Schema
from tacit.queries import SQPCA, SQNaiveBayes

X = np.random.default_rng(0).uniform(-1, 1, size=(60, 3))
Y = (X[:, 0] > 0).astype(int)
SCHEMA = Schema({"x0": Number(-1, 1), "x1": Number(-1, 1), "x2": Number(-1, 1)})


class Odd(TransformerMixin, BaseEstimator):  # type: ignore[misc]
    """A step of somebody's own, which learns."""

    def fit(self, rows: Any, y: Any = None) -> "Odd":
        """Learn a mean."""
        self.mean_ = rows.mean(axis=0)
        return self

    def transform(self, rows: Any) -> Any:
        """Take it off."""
        return rows - self.mean_


LEARN = {
    "StandardScaler": StandardScaler(),
    "PCA": make_pipeline(Normalizer(), PCA(2)),
    "SelectKBest": SelectKBest(k=2),
    "Odd": Odd(),
    "StandardScaler, PCA": FeatureUnion([("a", StandardScaler()), ("b", PCA(1))]),
    "StandardScaler, Odd": ColumnTransformer([("a", StandardScaler(), [0])], remainder=Odd()),
}
DO_NOT = [
    "passthrough",
    None,
    Normalizer(),
    FunctionTransformer(),
    PublicEncoder(SCHEMA),
    FrozenEstimator(StandardScaler().fit(X + 1)),
    FeatureUnion([("a", Normalizer()), ("b", FunctionTransformer())]),
    ColumnTransformer([("a", Normalizer(), [0]), ("b", "drop", [1])], remainder="passthrough"),
    SQPCA(2, 5.0, data_norm=2.0),
]
LAST: list[Callable[..., Any]] = [
    lambda epsilon=1.0, **rest: PrivateLogisticRegression(epsilon, data_norm=2.0, classes=[0, 1], **rest),
    lambda epsilon=1.0, **rest: PrivateLinearRegression(epsilon, data_norm=2.0, target_range=(0, 1), **rest),
    lambda epsilon=1.0, **rest: SQNaiveBayes(epsilon, **rest),
]


def _heard(action: Callable[[], Any]) -> list[str]:
    with warnings.catch_warnings(record=True) as heard:
        warnings.simplefilter("always")
        action()
    return [str(each.message) for each in heard if each.category is PrivacyWarning]


@pytest.mark.parametrize("names", LEARN)
@pytest.mark.parametrize("last", LAST)
@pytest.mark.parametrize("rows", [X, np.zeros_like(X)])
def test_a_step_that_learns_is_named(names: str, last: Callable[..., Any], rows: Any) -> None:
    """The warning names every step that learns, wherever it is, and is the same for all rows."""
    with np.errstate(all="ignore"):
        said = _heard(lambda: make_pipeline(LEARN[names], last()).fit(rows, Y))
    assert len(said) == 1
    assert said[0].startswith(f"{names} learned")


@pytest.mark.parametrize("step", DO_NOT, ids=lambda step: type(step).__name__)
@pytest.mark.parametrize("last", LAST)
def test_steps_that_learn_nothing_are_no_matter(step: Any, last: Callable[..., Any]) -> None:
    """Public encoders, functions, normalisers, frozen steps, steps that were left out, private components."""
    assert _heard(lambda: make_pipeline(step, last()).fit(X, Y)) == []


@pytest.mark.parametrize("last", LAST)
def test_rehearsals_public_rows_and_infinite_epsilons_are_silent(last: Callable[..., Any]) -> None:
    """There is nothing to keep."""
    assert _heard(lambda: make_pipeline(StandardScaler(), last(random_state=1)).fit(X, Y)) == []
    assert _heard(lambda: make_pipeline(StandardScaler(), last(float("inf"))).fit(X, Y)) == []
    with public_data():
        assert _heard(lambda: make_pipeline(StandardScaler(), last()).fit(X, Y)) == []


def test_what_a_pipeline_does_after_a_private_step_is_no_matter() -> None:
    """Nor what stands in a pipeline that is not being fitted."""
    assert _heard(lambda: make_pipeline(SQPCA(2, 5.0, data_norm=2.0), StandardScaler()).fit(X)) == []
    scaled = make_pipeline(StandardScaler()).fit_transform(X)
    assert _heard(lambda: LAST[0]().fit(scaled, Y)) == []
