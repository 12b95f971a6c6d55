"""Every kind of estimator remembers the records of its last fit, and no others."""

import warnings
from typing import Any

import numpy as np
import pytest

from tacit import InteractiveKernelPredictor, PrivateERM, PrivateKernelClassifier, Records, Schema, evaluation
from tacit.data import Flag, Number
from tacit.erm import Logistic
from tacit.estimators.learned_from import LearnedFrom, learned_from
from tacit.kernels import RBF, PrivateKernelRegressor
from tacit.models.kinds import NAMES, class_of, kind_of
from tacit.queries import SQPCA, SQKMeans, SQNaiveBayes, StatisticalOracle

COLUMNS = {"a": Flag(), "b": Flag(), "x": Number(0, 1), "y": Flag()}
FLAGS = np.random.default_rng(0).integers(0, 2, (400, 3)).astype(bool)
TABLE = {"a": FLAGS[:, 0], "b": FLAGS[:, 1], "x": FLAGS[:, 2] / 2, "y": FLAGS[:, 0]}


def _estimator(kind: str) -> Any:
    """Return an estimator of a kind, without a budget that could fail to be enough."""
    own: dict[type, Any] = {
        PrivateERM: lambda: PrivateERM(Logistic(), 5.0),
        PrivateKernelClassifier: lambda: PrivateKernelClassifier(RBF(1.0), 5.0, landmarks=5),
        PrivateKernelRegressor: lambda: PrivateKernelRegressor(RBF(1.0), 5.0, landmarks=5),
        SQKMeans: lambda: SQKMeans(2, 5.0),
        SQPCA: lambda: SQPCA(1, 5.0),
        InteractiveKernelPredictor: lambda: InteractiveKernelPredictor(RBF(1.0), 5.0, 1e-6, landmarks=5),
    }
    cls = InteractiveKernelPredictor if kind == "interactive" else class_of(kind)
    return own.get(cls, lambda: cls(5.0))().set_params(random_state=1)


def _parts(kind: str) -> tuple[Records, Records]:
    """Return the two parts of a split of records that the kind can learn from."""
    names = ["a", "b", "y"] if kind == "conjunction" else ["x", "a", "y"]
    target = "x" if "regress" in kind and "logistic" not in kind else "y"
    kept = {name: COLUMNS[name] for name in names}
    train, test = Records({name: TABLE[name] for name in names}, Schema(kept, target=target)).split()
    return train, test


@pytest.mark.parametrize("kind", [*NAMES, "interactive"])
@pytest.mark.filterwarnings("ignore")
def test_every_kind_remembers_its_last_records(kind: str) -> None:
    """Before, learners from queries remembered none, and kept the part that a search had fitted them to."""
    train, test = _parts(kind)
    model = _estimator(kind)
    assert kind == "interactive" or kind_of(model) == kind
    for records in (train, test, train):
        model.fit(records)
        assert learned_from(model) == LearnedFrom.of(records)


LEARNERS = [name for name in NAMES if hasattr(class_of(name), "learn")]


@pytest.mark.parametrize("kind", LEARNERS)
@pytest.mark.filterwarnings("ignore")
def test_a_learner_remembers_the_records_of_an_oracle(kind: str) -> None:
    """An oracle over arrays makes a learner forget them."""
    train, _ = _parts(kind)
    model = _estimator(kind).set_params(random_state=None)
    if "data_norm" in model.get_params():
        model.set_params(data_norm=2.0)
    model.learn(StatisticalOracle(train, random_state=1))
    assert learned_from(model) == LearnedFrom.of(train)
    if kind in ("k-means", "principal-components"):
        model.learn(StatisticalOracle(np.zeros((50, 2)), bounds=(0, 1), random_state=1))
        assert learned_from(model) is None


@pytest.mark.filterwarnings("ignore")
def test_a_fit_to_rows_forgets_the_records_before() -> None:
    """Whichever way it was told of them: by a fit, or by a search that kept the model."""
    train, _ = _parts("naive-bayes")
    model = SQNaiveBayes(5.0, random_state=1).fit(train)
    model.set_params(bounds=(0, 1)).fit(np.column_stack([TABLE["x"], TABLE["a"]]), TABLE["y"])
    assert learned_from(model) is None


def test_a_learner_is_judged_with_a_warning_on_its_own_records() -> None:
    """And on the other part as on records held out."""
    train, test = _parts("naive-bayes")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = SQNaiveBayes(5.0, random_state=1).fit(train)
    assert evaluation.report(model, test, epsilon=1.0, random_state=1).judged == "held out"
    with pytest.warns(UserWarning, match="that the model was fitted to"):
        evaluation.report(model, train, epsilon=1.0, random_state=1)
