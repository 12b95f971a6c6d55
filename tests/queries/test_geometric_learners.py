"""What holds of the perceptron, k-means and principal components alike: budgets, engines, refusals, manners."""

import math
import pickle
import re
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.utils.estimator_checks import parametrize_with_checks

from tacit import PrivateLogisticRegression
from tacit.accounting.ledger import Ledger
from tacit.audit import audit
from tacit.budget import Budget
from tacit.data import BoundedRows, Number, Records, Schema
from tacit.errors import BudgetExceeded, InvalidParameter
from tacit.queries import StatisticalOracle
from tacit.queries.learners.kmeans import SQKMeans
from tacit.queries.learners.pca import SQPCA
from tacit.queries.learners.perceptron import SQPerceptron
from tacit.sums.engines.matrix import engine_of_arrays
from tacit.sums.engines.memory import MemoryEngine
from tacit.sums.engines.opening import engine_for

RNG = np.random.default_rng(3)
X = RNG.normal(size=(2_000, 3)) * [1.0, 0.6, 0.3] + 0.5
Y = np.where(X @ [1.0, -2.0, 0.5] > 0.2, 1, -1)
FRAME = pd.DataFrame(X, columns=list("abc")).assign(y=Y)
SCHEMA = Schema({**{name: Number(-9, 9) for name in "abc"}, "y": Number(-1, 1)}, target="y")
LEARNERS = [
    SQPerceptron(0.7, data_norm=3.0, rounds=3),
    SQKMeans(3, 0.7, bounds=(-3, 4), rounds=3),
    SQKMeans(3, 0.7, data_norm=3.0, rounds=3),
    SQPCA(2, 0.7, data_norm=3.0),
]
NAMES = ["perceptron", "k-means in a box", "k-means in a ball", "components"]
MODELS = {SQPerceptron: ("coef_", "intercept_"), SQKMeans: ("cluster_centers_",), SQPCA: ("components_", "mean_")}
every_learner = pytest.mark.parametrize("learner", LEARNERS, ids=NAMES)


@pytest.fixture
def ledger(tmp_path: Path) -> Ledger:
    """Give a durable account of epsilon 1 and delta 1e-6."""
    return Ledger.create(f"sqlite:///{tmp_path}/ledger.db", name="records", budget=Budget(1.0, 1e-6))


def _with(learner: Any, **options: Any) -> Any:
    return clone(learner).set_params(**options)


def _model(learner: Any) -> np.ndarray:
    return np.concatenate([np.ravel(getattr(learner, name)) for name in MODELS[type(learner)]])


@every_learner
def test_a_fit_costs_its_budget_exactly(learner: Any, ledger: Ledger) -> None:
    """However many rounds there are, they are one charge of the epsilon that was typed, to the last fraction."""
    model = _with(learner, ledger=ledger).fit(X, Y)
    assert ledger.spent == Budget(0.7)
    assert [entry.label for entry in ledger.entries()] == [type(learner).__name__]
    assert len(model.plans_) == (1 if isinstance(model, SQPCA) else 3)
    assert {plan.budget for plan in model.plans_} == {Budget(0.7)}
    assert model.release_.guarantee.startswith("epsilon=0.7, delta=0, replace-one neighbours; public: n, ")
    assert model.release_.value == model.plans_
    assert {plan.n for plan in model.plans_} == {2_000}
    assert [model.release_.entry] == ledger.entries()


@every_learner
def test_with_a_delta_no_fit_costs_more_than_its_budget(learner: Any, ledger: Ledger) -> None:
    """Gaussian rounds share epsilon and delta; Laplace rounds leave the delta unspent."""
    model = _with(learner, delta=1e-7, ledger=ledger).fit(X, Y)
    assert ledger.spent <= Budget(0.7, 1e-7)
    assert model.release_.budget == Budget(0.7, 1e-7)


@every_learner
def test_the_charge_comes_before_the_records_are_touched(
    learner: Any, ledger: Ledger, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whenever the engine is called the ledger has the whole charge."""
    seen = []
    honest = MemoryEngine.sums

    def watched(self: MemoryEngine, *args: Any, **kwargs: Any) -> Any:
        seen.append(ledger.spent)
        return honest(self, *args, **kwargs)

    monkeypatch.setattr(MemoryEngine, "sums", watched)
    model = _with(learner, ledger=ledger).fit(X, Y)
    assert seen == [Budget(0.7)] * len(model.plans_)


@every_learner
def test_a_budget_that_is_too_small_is_refused_before_anything(
    learner: Any, ledger: Ledger, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nothing is charged, no record is touched and there is no model, not even of the first rounds."""
    monkeypatch.setattr(MemoryEngine, "sums", None)
    model = _with(learner, epsilon=1.1, ledger=ledger)
    with pytest.raises(BudgetExceeded):
        model.fit(X, Y)
    assert ledger.entries() == []
    assert not any(hasattr(model, name) for name in MODELS[type(model)])


@every_learner
def test_a_preview_is_what_is_then_asked(learner: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """From n and the number of features alone, it has every round's size, tolerance and cost."""
    with monkeypatch.context() as patch:
        patch.setattr(MemoryEngine, "sums", None)
        before = learner.preview(len(X), 3)
    assert before == _with(learner, random_state=0).fit(X, Y).plans_
    assert learner.preview(len(X), list("abc")) == before


@pytest.mark.filterwarnings("ignore:.*a ledger and a seed:tacit.PrivacyWarning")
@every_learner
def test_a_rehearsal_is_repeatable_not_private_and_free(learner: Any, ledger: Ledger) -> None:
    """The same seed gives the same model, another seed another one, and the ledger is not charged."""
    one, same, other = (_with(learner, ledger=ledger, random_state=seed).fit(X, Y) for seed in (1, 1, 2))
    assert np.array_equal(_model(one), _model(same))
    assert not np.array_equal(_model(one), _model(other))
    assert one.release_.guarantee == "NOT private and not charged: a rehearsal from a seed"
    assert ledger.entries() == []


@every_learner
def test_an_auditor_takes_a_rehearsal_for_a_rehearsal(learner: Any) -> None:
    """A seeded learner claims nothing, as any seeded estimator: there is nothing to refute, and no verdict (4)."""
    other = X.copy()
    other[0] = 0.0
    for model in (_with(learner, random_state=1), PrivateLogisticRegression(0.7, data_norm=9.0, random_state=1)):
        fits = partial(_fitted, model)
        report = audit(fits, (X, Y), (other, Y), epsilon=0.7, plays=200)
        assert report.exit_code == 4
        assert "NOT private and not charged: a rehearsal from a seed" in report.conclusion


def _fitted(model: Any, data: tuple[Any, Any]) -> Any:
    return clone(model).fit(*data)


@every_learner
def test_an_infinite_epsilon_is_never_called_private(learner: Any, ledger: Ledger) -> None:
    """It has no plan, is the same every time and close to that of a huge epsilon, and cannot be charged."""
    plain = _with(learner, epsilon=math.inf).fit(X, Y)
    assert plain.plans_ == ()
    assert plain.release_.guarantee == "NOT private and not charged: infinite epsilon"
    assert np.array_equal(_model(plain), _model(_with(learner, epsilon=math.inf).fit(X, Y)))
    assert np.allclose(_model(plain), _model(_with(learner, epsilon=1e6, random_state=0).fit(X, Y)), atol=0.01)
    with pytest.raises(InvalidParameter, match="infinite epsilon"):
        _with(learner, epsilon=math.inf, ledger=ledger).fit(X, Y)
    with pytest.raises(InvalidParameter, match="no cost"):
        _with(learner, epsilon=math.inf).preview(100, 3)


@every_learner
def test_tables_and_arrays_give_the_same_model(learner: Any, tmp_path: Path) -> None:
    """Without noise, a Parquet file read by DuckDB and arrays lead to the same numbers, broken cells included."""
    frame = FRAME.copy()
    frame.iloc[:4, :3] = [[np.nan, 1.0, 1.0], [np.inf, 0.0, 0.0], [-np.inf, np.inf, 1e300], [1e-300, 50.0, -1e9]]
    frame.to_parquet(tmp_path / "records.parquet")
    table = engine_for(Records(tmp_path / "records.parquet", SCHEMA))
    rows = np.clip(np.nan_to_num(frame[list("abc")].to_numpy(), posinf=9, neginf=-9), -9, 9)
    arrays = engine_of_arrays(rows, frame["y"].to_numpy(), names=list("abc"), labels=(-1, 1))
    one, other = (_with(learner, epsilon=math.inf).learn(engine) for engine in (table, arrays))
    assert np.isfinite(_model(one)).all()
    assert np.allclose(_model(one), _model(other), rtol=1e-9, atol=1e-9)
    assert one.feature_names_in_.tolist() == ["a", "b", "c"]


@every_learner
def test_the_same_coins_give_the_same_model_from_a_table(learner: Any, tmp_path: Path) -> None:
    """With a seed in the oracle, noise included, DuckDB and arrays agree."""
    FRAME.to_parquet(tmp_path / "records.parquet")
    table = StatisticalOracle(Records(tmp_path / "records.parquet", SCHEMA), random_state=4)
    arrays = StatisticalOracle(engine_of_arrays(X, Y, names=list("abc")), random_state=4)
    one, other = (clone(learner).learn(oracle) for oracle in (table, arrays))
    assert np.allclose(_model(one), _model(other), rtol=1e-9, atol=1e-9)


@every_learner
def test_an_oracle_pays_for_what_is_learned_from_it(learner: Any, ledger: Ledger) -> None:
    """`learn` charges the oracle's ledger; a ledger or a seed besides, or a column that is not there, is refused."""
    oracle = StatisticalOracle((X, Y), bounds=(-9, 9), ledger=ledger)
    model = _with(learner, epsilon=0.4).learn(oracle, features=["x0", "x2"])
    assert ledger.spent == Budget(0.4)
    assert model.n_features_in_ == 2
    with pytest.raises(InvalidParameter, match="oracle's own"):
        _with(learner, epsilon=0.1, random_state=0).learn(oracle)
    with pytest.raises(InvalidParameter, match="answers privately"):
        _with(learner, epsilon=math.inf).learn(oracle)
    with pytest.raises(InvalidParameter, match="no declared column"):
        _with(learner, epsilon=0.1).learn(oracle, features=["x0", "weight"])
    assert ledger.spent == Budget(0.4)


@every_learner
def test_rows_beyond_the_region_count_as_if_on_its_rim(learner: Any) -> None:
    """However far one record is, without noise it moves the model no farther than 1/n of the region allows."""
    moved = X.copy()
    moved[0] *= 1e12
    one, other = (_with(learner, epsilon=math.inf).set_params(**_single(learner)).fit(rows, Y) for rows in (X, moved))
    scale = 32.0 if isinstance(learner, SQPerceptron) else 100.0
    assert 0 < np.abs(_model(one) - _model(other)).max() <= scale / len(X)


def _single(learner: Any) -> dict[str, int]:
    return {} if isinstance(learner, SQPCA) else {"rounds": 1}


FOR_ALL = [
    ({"epsilon": None}, "epsilon is missing"),
    ({"epsilon": 0.0}, "above 0"),
    ({"delta": 1.0}, "delta"),
]
WITH_ROUNDS = [*FOR_ALL, ({"rounds": 0}, "rounds"), ({"rounds": 2.5}, "rounds"), ({"rounds": "many"}, "rounds")]
WITH_NORM = [({"data_norm": None}, "data_norm is missing"), ({"data_norm": -1.0}, "data_norm")]
REFUSED = [
    (LEARNERS[0], [*WITH_ROUNDS, *WITH_NORM, ({"noise_rate": 0.5}, "noise_rate"), ({"classes": [1]}, "classes")]),
    (
        LEARNERS[1],
        [
            *WITH_ROUNDS,
            ({"bounds": None}, "bounds is missing"),
            ({"bounds": (1.0, 0.0)}, "low"),
            ({"bounds": (0.0, math.inf)}, "high"),
            ({"bounds": "wide"}, "bounds"),
            ({"bounds": [(0, 1)] * 2}, "bounds"),
            ({"data_norm": 1.0}, "not both"),
            ({"n_clusters": 0}, "n_clusters"),
            ({"init": [[0.0, 0.0, 0.0]]}, "init"),
        ],
    ),
    (LEARNERS[2], [*WITH_ROUNDS, ({"data_norm": None}, "bounds is missing"), ({"data_norm": 0}, "data_norm")]),
    (LEARNERS[3], [*FOR_ALL, *WITH_NORM, ({"n_components": 4}, "n_components"), ({"n_components": 0}, "n_components")]),
]


@pytest.mark.parametrize(("learner", "refused"), REFUSED, ids=NAMES)
def test_what_makes_no_sense_is_refused_before_anything_is_charged(
    learner: Any, refused: list[tuple[dict[str, Any], str]], ledger: Ledger
) -> None:
    """The message says what is wrong; the ledger has no entry."""
    for options, words in refused:
        with pytest.raises(InvalidParameter, match=re.escape(words)):
            _with(learner, ledger=ledger, **options).fit(X, Y)
    assert ledger.entries() == []


@every_learner
def test_errors_quote_no_record(learner: Any) -> None:
    """Neither a text among the numbers nor a missing number is repeated in a message."""
    for wrong in (np.array([["secret", "1", "2"]] * 3), np.where(X > 1.0, np.nan, X)):
        with pytest.raises((InvalidParameter, TypeError)) as refusal:
            clone(learner).fit(wrong, Y[: len(wrong)])
        assert "secret" not in str(refusal.value)


@every_learner
def test_no_norm_is_needed_behind_rows_that_state_theirs(learner: Any) -> None:
    """Rows of an encoder say what they are clipped to."""
    rows = BoundedRows(X / 10.0, data_norm=2.5)
    silent = {name: None for name in ("bounds", "data_norm") if name in learner.get_params()}
    model = _with(learner, **silent).fit(rows, Y)
    assert "row norm 2.5" in model.release_.guarantee


@every_learner
def test_a_model_keeps_its_guarantee_through_a_pickle_and_holds_no_record(learner: Any) -> None:
    """A copy predicts the same; what is kept grows with the number of features and not with that of records."""
    model = clone(learner).fit(X, Y)
    text = pickle.dumps(model)
    assert len(text) < 20_000
    assert pickle.loads(text).release_ == model.release_
    assert not hasattr(model, "labels_")
    assert not hasattr(model, "inertia_")


WITHOUT_LABELS = "labels_ of the training records are not private, and are not kept; predict them one by one"


def _refused_checks(estimator: Any) -> dict[str, str]:
    return {"check_clustering": WITHOUT_LABELS} if isinstance(estimator, SQKMeans) else {}


@pytest.mark.filterwarnings("ignore")
@parametrize_with_checks(
    [
        SQPerceptron(100.0, data_norm=10.0, random_state=0),
        SQKMeans(3, 100.0, bounds=(-10, 10), random_state=0),
        SQKMeans(3, math.inf, data_norm=20.0),
        SQPCA(2, 100.0, data_norm=10.0, random_state=0),
    ],
    expected_failed_checks=_refused_checks,
)
def test_scikit_learn_checks(estimator: Any, check: Any) -> None:
    """Every check of scikit-learn passes, but for one that wants the labels of the training records."""
    check(estimator)
