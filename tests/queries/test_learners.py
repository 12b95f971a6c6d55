"""What holds of every learner from statistical queries: budgets, previews, sums, refusals, manners."""

import math
import pickle
import re
from decimal import Decimal
from fractions import Fraction
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV, KFold, cross_val_score
from sklearn.utils.estimator_checks import parametrize_with_checks

from tacit import PrivateLogisticRegression
from tacit.accounting.ledger import Ledger
from tacit.audit import audit
from tacit.budget import Budget
from tacit.data import BoundedRows, Category, Flag, Number, Records, Schema
from tacit.errors import BudgetExceeded, InvalidParameter
from tacit.queries import StatisticalOracle
from tacit.queries.learners.conjunction import ConjunctionClassifier
from tacit.queries.learners.decision_list import DecisionListClassifier
from tacit.queries.learners.kmeans import SQKMeans
from tacit.queries.learners.naive_bayes import SQNaiveBayes
from tacit.queries.learners.pca import SQPCA
from tacit.queries.learners.perceptron import SQPerceptron
from tacit.queries.learners.tree import SQDecisionTree
from tacit.sums.array_evaluator import evaluator_of_arrays
from tacit.sums.evaluator import Evaluator
from tacit.sums.record_evaluator import evaluator_for

BY_FEATURE = [ConjunctionClassifier, DecisionListClassifier, SQNaiveBayes, SQDecisionTree]
DISCRETE = BY_FEATURE[1:]
BY_ROW = [
    SQPerceptron(0.7, data_norm=3.0, rounds=3),
    SQKMeans(3, 0.7, bounds=(-3, 4), rounds=3),
    SQKMeans(3, 0.7, data_norm=3.0, rounds=3),
    SQPCA(2, 0.7, data_norm=3.0),
]
MODELS = {SQPerceptron: ("coef_", "intercept_"), SQKMeans: ("cluster_centers_",), SQPCA: ("components_", "mean_")}
every_learner = pytest.mark.parametrize(
    "learner", [*(kind(0.7) for kind in BY_FEATURE), *BY_ROW], ids=lambda each: str(each)[:40]
)
by_row = pytest.mark.parametrize("learner", BY_ROW, ids=lambda each: str(each)[:40])
RNG = np.random.default_rng(12)
X = (RNG.random((4_000, 5)) < 0.7).astype(float)
Y = X[:, :2].all(axis=1).astype(int)
FRAME = pd.DataFrame(X, columns=list("abcde")).assign(y=np.where(Y == 1, "yes", "no"))
BITS = Schema({**{name: Number(0, 1) for name in "abcde"}, "y": Category(["no", "yes"], positive="yes")}, target="y")
ROWS = RNG.normal(size=(2_000, 3)) * [1.0, 0.6, 0.3] + 0.5
SIDES = np.where(ROWS @ [1.0, -2.0, 0.5] > 0.2, 1, -1)
SIDED = Schema({**{name: Number(-9, 9) for name in "abc"}, "y": Number(-1, 1)}, target="y")
SCHEMA = Schema(
    {
        "age": Number(0, 100),
        "income": Number(0, 1e6, log=True, missing=0),
        "town": Category(["a", "b", "c"]),
        "smokes": Flag(),
        "ill": Category(["no", "yes"], positive="yes"),
    },
    target="ill",
)


def _people(count: int) -> pd.DataFrame:
    rng = np.random.default_rng(5)
    age, income = rng.uniform(-5, 110, count), np.exp(rng.uniform(0, 15, count))
    town, smokes = rng.choice(["a", "b", "c", "d"], count), rng.choice([True, False], count)
    ill = np.where((age > 60) & smokes | (town == "a"), "yes", "no")
    income[::7] = np.nan
    return pd.DataFrame({"age": age, "income": income, "town": town, "smokes": smokes, "ill": ill})


def _with(learner: Any, **options: Any) -> Any:
    return clone(learner).set_params(**options)


def _data(learner: Any) -> tuple[Any, Any]:
    return (ROWS, SIDES) if type(learner) in MODELS else (X, Y)


def _model(learner: Any) -> np.ndarray:
    """Return the numbers that a learner has learned, or what it predicts of the rows."""
    if type(learner) not in MODELS:
        return np.asarray(learner.predict(X))
    return np.concatenate([np.ravel(getattr(learner, name)) for name in MODELS[type(learner)]])


@every_learner
def test_a_fit_is_one_charge_of_exactly_its_epsilon_before_any_record_is_touched(
    learner: Any, ledger: Ledger, monkeypatch: pytest.MonkeyPatch
) -> None:
    """However many rounds it asks, and also if it ends early: the ledger has the whole charge before the first sums."""
    honest, seen = Evaluator.sums, []

    def watched(self: Evaluator, *args: Any, **kwargs: Any) -> Any:
        seen.append(ledger.spent)
        return honest(self, *args, **kwargs)

    monkeypatch.setattr(Evaluator, "sums", watched)
    model = _with(learner, ledger=ledger).fit(*_data(learner))
    assert ledger.spent == Budget(0.7)
    assert [entry.label for entry in ledger.entries()] == [type(learner).__name__]
    assert set(seen) == {Budget(0.7)}
    assert {plan.budget for plan in model.plans_} == {Budget(0.7)}
    assert {plan.n for plan in model.plans_} == {len(_data(learner)[0])}
    assert model.release_.guarantee.startswith("epsilon=0.7, delta=0, replace-one neighbours; public: n, ")
    assert model.release_.value == model.plans_
    assert [model.release_.entry] == ledger.entries()


@every_learner
def test_with_a_delta_no_fit_costs_more_than_its_budget(learner: Any, ledger: Ledger) -> None:
    """Gaussian rounds share epsilon and delta; Laplace rounds leave the delta unspent."""
    model = _with(learner, delta=1e-7, ledger=ledger).fit(*_data(learner))
    assert ledger.spent <= Budget(0.7, 1e-7)
    assert model.release_.budget == Budget(0.7, 1e-7)
    assert model.release_.guarantee.startswith("epsilon=0.7, delta=1e-07, replace-one neighbours; public: n, ")


@every_learner
def test_a_budget_that_is_too_small_is_refused_before_anything(
    learner: Any, ledger: Ledger, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nothing is charged, no record is touched and there is no model, not even of the first rounds."""
    monkeypatch.setattr(Evaluator, "sums", None)
    model = _with(learner, epsilon=1.1, ledger=ledger)
    with pytest.raises(BudgetExceeded):
        model.fit(*_data(learner))
    assert ledger.entries() == []
    assert not any(hasattr(model, name) for name in ("plans_", *MODELS.get(type(model), ())))


def test_a_delta_that_cannot_be_paid_is_refused_before_the_first_round(ledger: Ledger) -> None:
    """Where Gaussian noise would be drawn."""
    with pytest.raises(BudgetExceeded):
        SQNaiveBayes(0.9, 1e-5, ledger=ledger).fit(np.tile(X, 8), Y)
    assert ledger.entries() == []


@every_learner
def test_a_preview_is_what_is_then_asked_at_most(learner: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """From n and the number of features alone it has the cost of every round, and at least its size."""
    rows, labels = _data(learner)
    model = _with(learner, random_state=1)
    with monkeypatch.context() as patch:
        patch.setattr(Evaluator, "sums", None)
        before = model.preview(*rows.shape)
    after = model.fit(rows, labels).plans_
    assert before == after if type(learner) in MODELS else len(after) <= len(before)
    for planned, done in zip(before, after, strict=False):
        assert planned == done or done.size < planned.size
        assert done.tolerance <= planned.tolerance
    assert {plan.budget for plan in before} == {Budget(0.7)}
    assert repr(after[0]) in str(model.release_)


@pytest.mark.filterwarnings("ignore:.*a ledger and a seed:tacit.PrivacyWarning")
@every_learner
def test_a_rehearsal_is_repeatable_not_private_and_free(learner: Any, ledger: Ledger) -> None:
    """The same seed gives the same model, another seed another one, and the ledger is not charged."""
    one, same, other = (_with(learner, ledger=ledger, random_state=seed).fit(*_data(learner)) for seed in (1, 1, 2))
    assert np.array_equal(_model(one), _model(same))
    assert type(learner) not in MODELS or not np.array_equal(_model(one), _model(other))
    assert one.release_.guarantee == "NOT private and not charged: a rehearsal from a seed"
    assert ledger.entries() == []


@every_learner
def test_an_infinite_epsilon_is_the_model_without_noise_and_never_called_private(learner: Any, ledger: Ledger) -> None:
    """It has no plan, is the same every time and close to that of a huge epsilon, and cannot be charged."""
    plain, again = (_with(learner, epsilon=math.inf).fit(*_data(learner)) for _ in range(2))
    assert plain.plans_ == ()
    assert plain.release_.guarantee == "NOT private and not charged: infinite epsilon"
    assert np.array_equal(_model(plain), _model(again))
    assert np.allclose(
        _model(plain), _model(_with(learner, epsilon=1e6, random_state=0).fit(*_data(learner))), atol=0.01
    )
    assert type(learner) in MODELS or np.array_equal(_model(plain), Y)
    with pytest.raises(InvalidParameter, match="infinite epsilon"):
        _with(learner, epsilon=math.inf, ledger=ledger).fit(*_data(learner))
    with pytest.raises(InvalidParameter, match="no cost"):
        _with(learner, epsilon=math.inf).preview(100, 3)


@every_learner
def test_an_oracle_pays_for_what_is_learned_from_it(learner: Any, ledger: Ledger) -> None:
    """`learn` charges the oracle's ledger; a ledger or a seed besides, or a column that is not there, is refused."""
    ends = (-9, 9) if type(learner) in MODELS else (0, 1)
    labels = (-1, 1) if type(learner) in MODELS else (0, 1)
    oracle = StatisticalOracle(_data(learner), bounds=ends, labels=labels, ledger=ledger)
    model = _with(learner, epsilon=0.4).learn(oracle, features=["x0", "x2"])
    assert ledger.spent == Budget(0.4)
    assert model.feature_names_in_.tolist() == ["x0", "x2"]
    for options, features, words in (
        ({"random_state": 0}, None, "oracle's own"),
        ({"epsilon": math.inf}, None, "answers privately"),
        ({}, ["x0", "weight"], "column"),
    ):
        with pytest.raises(InvalidParameter, match=words):
            _with(learner, **{"epsilon": 0.1, **options}).learn(oracle, features=features)
    assert ledger.spent == Budget(0.4)


@every_learner
def test_errors_quote_no_record(learner: Any) -> None:
    """Neither a text among the numbers nor a missing number is repeated in a message."""
    rows, labels = _data(learner)
    missing = np.where(rows == rows[0, 0], np.nan, 12345.0)
    for wrong in (np.array([["secret", *"1" * (rows.shape[1] - 1)]] * 3), missing):
        with pytest.raises((ValueError, TypeError)) as refusal:
            clone(learner).fit(wrong, labels[: len(wrong)])
        assert "secret" not in str(refusal.value)
        assert "12345" not in str(refusal.value)


@every_learner
def test_copies_charge_the_same_account_and_keep_the_guarantee(learner: Any, tmp_path: Path) -> None:
    """Clones and pickles are fitted for themselves; a saved model predicts the same and holds no record."""
    ledger = Ledger.create(f"sqlite:///{tmp_path}/ledger.db", name="records", budget=Budget(10))
    model = _with(learner, ledger=ledger)
    for copy in (clone(model), pickle.loads(pickle.dumps(model))):
        copy.fit(*_data(learner))
        assert copy.ledger == ledger
    assert ledger.spent == 2 * Budget(0.7)
    text = pickle.dumps(copy)
    assert len(text) < 40_000
    again = pickle.loads(text)
    assert again.release_ == copy.release_
    assert again.release_.private
    assert np.array_equal(_model(again), _model(copy))
    assert not hasattr(copy, "labels_")
    assert not hasattr(copy, "inertia_")


@every_learner
def test_parameters_are_stored_as_they_were_given(learner: Any) -> None:
    """Nothing is checked or converted before `fit`, so that searches may set anything."""
    assert type(learner)().get_params()["epsilon"] is None
    assert _with(learner, epsilon="much").get_params()["epsilon"] == "much"


@pytest.mark.parametrize("learner", BY_FEATURE)
def test_feature_names_are_kept_and_checked(learner: Any) -> None:
    """A model fitted on a data frame refuses other columns."""
    frame = FRAME.drop(columns="y")
    model = learner(1.0).fit(frame, Y)
    assert model.feature_names_in_.tolist() == list("abcde")
    with pytest.raises(ValueError, match="feature names"):
        model.predict(frame[list("bacde")])


@pytest.mark.filterwarnings("ignore::tacit.PrivacyWarning")
def test_folds_and_searches_spend_for_every_fit(tmp_path: Path) -> None:
    """Three folds, then two candidates on two folds and the final fit: eight fits."""
    ledger = Ledger.create(f"sqlite:///{tmp_path}/ledger.db", name="records", budget=Budget(10))
    cross_val_score(SQNaiveBayes(0.5, ledger=ledger), X, Y, cv=3)
    GridSearchCV(SQNaiveBayes(0.5, ledger=ledger), {"smoothing": [1.0, 2.0]}, cv=KFold(2)).fit(X, Y)
    assert ledger.spent == Budget(4)


WITHOUT_LABELS = "labels_ of the training records are not private, and are not kept; predict them one by one"


def _refused_checks(estimator: Any) -> dict[str, str]:
    return {"check_clustering": WITHOUT_LABELS} if isinstance(estimator, SQKMeans) else {}


@pytest.mark.filterwarnings("ignore")
@parametrize_with_checks(
    [
        ConjunctionClassifier(epsilon=10.0, delta=1e-6, monotone=False, noise_rate=0.1, random_state=0),
        DecisionListClassifier(epsilon=1000.0, bounds=(-3, 3), random_state=0),
        SQNaiveBayes(epsilon=100.0, delta=1e-6, bounds=(-3, 3), random_state=0),
        SQDecisionTree(epsilon=1000.0, bounds=(-3, 3), random_state=0),
        SQDecisionTree(epsilon=math.inf, bounds=(-3, 3)),
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


@by_row
def test_an_auditor_takes_a_rehearsal_for_a_rehearsal(learner: Any) -> None:
    """A seeded learner claims nothing, as any seeded estimator: there is nothing to refute, and no verdict (4)."""
    other = ROWS.copy()
    other[0] = 0.0
    for model in (_with(learner, random_state=1), PrivateLogisticRegression(0.7, data_norm=9.0, random_state=1)):
        report = audit(partial(_fitted, model), (ROWS, SIDES), (other, SIDES), epsilon=0.7, plays=200)
        assert report.exit_code == 4
        assert "NOT private and not charged: a rehearsal from a seed" in report.conclusion


def _fitted(model: Any, data: tuple[Any, Any]) -> Any:
    return clone(model).fit(*data)


@by_row
def test_tables_and_arrays_give_the_same_model(learner: Any) -> None:
    """Without noise and with the same coins, records and arrays lead to the same numbers, broken cells included."""
    frame = pd.DataFrame(ROWS, columns=list("abc")).assign(y=SIDES)
    frame.iloc[:4, :3] = [[np.nan, 1.0, 1.0], [np.inf, 0.0, 0.0], [-np.inf, np.inf, 1e300], [1e-300, 50.0, -1e9]]
    table = evaluator_for(Records(frame, SIDED))
    rows = np.clip(np.nan_to_num(frame[list("abc")].to_numpy(), posinf=9, neginf=-9), -9, 9)
    arrays = evaluator_of_arrays(rows, frame["y"].to_numpy(), names=list("abc"), labels=(-1, 1))
    for asked, epsilon in (
        ((table, arrays), math.inf),
        ([StatisticalOracle(each, random_state=4) for each in (table, arrays)], 0.7),
    ):
        one, other = (_with(learner, epsilon=epsilon).learn(each) for each in asked)
        assert np.isfinite(_model(one)).all()
        assert np.allclose(_model(one), _model(other), rtol=1e-9, atol=1e-9)
        assert one.feature_names_in_.tolist() == ["a", "b", "c"]


@by_row
def test_rows_beyond_the_region_count_as_if_on_its_rim(learner: Any) -> None:
    """However far one record is, without noise it moves the model no farther than 1/n of the region allows."""
    moved = ROWS.copy()
    moved[0] *= 1e12
    single = {} if isinstance(learner, SQPCA) else {"rounds": 1}
    one, other = (_with(learner, epsilon=math.inf, **single).fit(rows, SIDES) for rows in (ROWS, moved))
    scale = 32.0 if isinstance(learner, SQPerceptron) else 100.0
    assert 0 < np.abs(_model(one) - _model(other)).max() <= scale / len(ROWS)


@by_row
def test_no_norm_is_needed_behind_rows_that_state_theirs(learner: Any) -> None:
    """Rows of an encoder say what they are clipped to."""
    silent = {name: None for name in ("bounds", "data_norm") if name in learner.get_params()}
    model = _with(learner, **silent).fit(BoundedRows(ROWS / 10.0, data_norm=2.5), SIDES)
    assert "row norm 2.5" in model.release_.guarantee


FOR_ALL = [
    ({"epsilon": None}, "epsilon is missing"),
    ({"epsilon": 0.0}, "above 0"),
    ({"delta": 1.0}, "delta"),
]
WITH_ROUNDS = [*FOR_ALL, ({"rounds": 0}, "rounds"), ({"rounds": 2.5}, "rounds"), ({"rounds": "many"}, "rounds")]
WITH_NORM = [({"data_norm": None}, "data_norm is missing"), ({"data_norm": -1.0}, "data_norm")]
WITH_CLASSES = [
    *FOR_ALL, ({"noise_rate": 0.5}, "noise_rate"), ({"confidence": 1.0}, "confidence"),
    ({"classes": [1]}, "two different"),
    ({"classes": [1, 2]}, "declared classes"), ({"random_state": -1, "ledger": None}, "random_state"),
]  # fmt: skip
IN_ONE_WAY = [
    ({"levels": 2, "bounds": (0, 1)}, "one way"), ({"levels": [2, 2]}, "2 features are declared"),
    ({"bounds": (1, 0)}, "low must lie below high"), ({"levels": 0}, "levels"), ({"bins": 0, "bounds": (0, 1)}, "bins"),
    ({"schema": "people"}, "tacit.Schema"),
]  # fmt: skip
IN_A_BOX = [
    ({"bounds": None}, "bounds is missing"), ({"bounds": (1.0, 0.0)}, "low"), ({"bounds": (0.0, math.inf)}, "high"),
    ({"bounds": "wide"}, "bounds"), ({"bounds": [(0, 1)] * 2}, "bounds"), ({"data_norm": 1.0}, "not both"),
    ({"n_clusters": 0}, "n_clusters"), ({"init": [[0.0, 0.0, 0.0]]}, "init"),
]  # fmt: skip
REFUSED = [
    (ConjunctionClassifier(0.7), WITH_CLASSES),
    *((kind(0.7), [*WITH_CLASSES, *IN_ONE_WAY]) for kind in DISCRETE),
    (BY_ROW[0], [*WITH_ROUNDS, *WITH_NORM, ({"noise_rate": 0.5}, "noise_rate"), ({"classes": [1]}, "classes")]),
    (BY_ROW[1], [*WITH_ROUNDS, *IN_A_BOX]),
    (BY_ROW[2], [*WITH_ROUNDS, ({"data_norm": None}, "bounds is missing"), ({"data_norm": 0}, "data_norm")]),
    (BY_ROW[3], [*FOR_ALL, *WITH_NORM, ({"n_components": 4}, "n_components"), ({"n_components": 0}, "n_components")]),
]


@pytest.mark.parametrize(("learner", "refused"), REFUSED, ids=lambda each: type(each).__name__)
def test_what_makes_no_sense_is_refused_before_anything_is_charged(
    learner: Any, refused: list[tuple[dict[str, Any], str]], ledger: Ledger
) -> None:
    """The message says what is wrong; the ledger has no entry."""
    for options, words in refused:
        with pytest.raises(InvalidParameter, match=re.escape(words)):
            _with(learner, **{"ledger": ledger, **options}).fit(*_data(learner))
    assert ledger.entries() == []


@pytest.mark.parametrize("learner", BY_FEATURE)
def test_records_and_arrays_give_the_same_words(learner: Any) -> None:
    """Without noise they lead to the same predictions, classes and rules."""
    declared: dict[str, int] = {} if learner is ConjunctionClassifier else {"levels": 2}
    rows = FRAME.drop(columns="y")
    one = learner(math.inf, **declared).learn(evaluator_for(Records(FRAME, BITS)))
    other = learner(math.inf, **declared).fit(rows, FRAME["y"])
    assert np.array_equal(one.predict(rows), other.predict(rows))
    assert one.classes_.tolist() == other.classes_.tolist() == ["no", "yes"]
    assert getattr(one, "literals_", None) == getattr(other, "literals_", None)
    assert not hasattr(one, "rules") or one.rules() == other.rules()


@pytest.mark.parametrize("learner", BY_FEATURE)
def test_labels_and_sources_that_make_no_sense_are_refused(learner: Any, ledger: Ledger) -> None:
    """What is no oracle, classes that are not declared or not two, records without a target."""
    oracle = StatisticalOracle(Records(FRAME, BITS), ledger=ledger)
    for options, source, words in (
        ({}, FRAME, "StatisticalOracle"),
        ({"classes": ["no"]}, oracle, "two different labels"),
        ({"classes": [0, 1]}, oracle, "no declared level"),
        ({}, StatisticalOracle(Records(FRAME, Schema(BITS.columns))), "label="),
    ):
        with pytest.raises(InvalidParameter, match=words):
            learner(0.1, **options).learn(source)
    assert ledger.entries() == []


@pytest.mark.parametrize("learner", [ConjunctionClassifier, SQNaiveBayes])
def test_learning_twice_from_one_oracle_costs_once(learner: Any, ledger: Ledger) -> None:
    """The same questions about the same records are answered from memory, and so is the whole model."""
    oracle = StatisticalOracle((X, Y), labels=(0, 1), bounds=(0, 1), ledger=ledger)
    one = learner(0.5).learn(oracle)
    spent = ledger.spent
    again = learner(0.5).learn(oracle)
    assert ledger.spent == spent
    assert np.array_equal(
        one.predict(pd.DataFrame(X, columns=one.feature_names_in_)),
        again.predict(pd.DataFrame(X, columns=one.feature_names_in_)),
    )


@pytest.mark.parametrize("learner", BY_FEATURE)
def test_wrong_labels_are_corrected_for(learner: Any) -> None:
    """With three labels of ten wrong and known to be, the model is the one of the true labels."""
    rng = np.random.default_rng(6)
    rows = (rng.random((60_000, 4)) < 0.6).astype(float)
    true = rows[:, :2].all(axis=1).astype(int)
    wrong = np.where(rng.random(len(true)) < 0.3, 1 - true, true)
    model = learner(20.0, noise_rate=0.3, random_state=1).fit(rows, wrong)
    assert np.mean(model.predict(rows) == true) == 1.0
    assert "labels are wrong at rate 0.3" in learner(20.0, noise_rate=0.3).fit(rows, wrong).release_.guarantee


@pytest.mark.parametrize("learner", BY_FEATURE)
@pytest.mark.parametrize("rate", [Fraction(1, 3), Decimal("0.25"), np.float32(0.25)])
def test_a_rate_may_be_any_number(learner: Any, rate: Any) -> None:
    """What is said of a rate is said before anything is paid, and a fraction can be said."""
    model = learner(20.0, noise_rate=rate).fit(X, Y)
    assert f"labels are wrong at rate {float(rate):g}" in model.release_.guarantee


@pytest.mark.parametrize("learner", DISCRETE)
def test_three_classes_can_be_learned_but_not_confused(learner: Any) -> None:
    """Several classes are fine; a noise rate is about two."""
    labels = (X[:, 0] + X[:, 1]).astype(int)
    model = learner(math.inf).fit(X, labels)
    assert np.mean(model.predict(X) == labels) > 0.85
    assert model.predict_proba(X).shape == (len(X), 3)
    assert np.allclose(model.predict_proba(X).sum(axis=1), 1)
    with pytest.raises(InvalidParameter, match="two classes"):
        learner(1.0, noise_rate=0.1).fit(X, labels)
    with pytest.raises(InvalidParameter, match="Only binary"):
        ConjunctionClassifier(1.0).fit(X, labels)


@pytest.mark.parametrize("learner", DISCRETE)
def test_a_schema_is_all_that_a_table_needs(learner: Any) -> None:
    """Through a schema, texts, truth values, numbers out of range and missing cells are read alike everywhere."""
    people = _people(1_000)
    oracle = StatisticalOracle(Records(people, SCHEMA))
    less: dict[str, int] = {"bins": 4}
    less |= {SQDecisionTree: {"max_depth": 2}, DecisionListClassifier: {"max_rules": 2}}.get(learner, {})
    from_frame = learner(math.inf, schema=SCHEMA, **less).fit(people, SCHEMA.labels(people))
    from_table = learner(math.inf, schema=SCHEMA, **less).learn(oracle.evaluator)
    assert np.mean(from_frame.predict(people) == people["ill"]) > 0.8
    assert np.array_equal(from_frame.predict_proba(people), from_table.predict_proba(people))
    private = learner(50.0, schema=SCHEMA, **less).learn(oracle)
    assert "the declared features" in private.release_.guarantee
    assert private.classes_.tolist() == ["no", "yes"]
    assert len(private.preview(1_000)) >= 1
    with pytest.raises(InvalidParameter, match="one label for each"):
        learner(1.0, schema=SCHEMA).fit(people, ["no", "yes"])


@pytest.mark.parametrize("learner", BY_FEATURE)
def test_a_record_can_move_the_answers_no_farther_than_they_were_calibrated_for(
    learner: Any, summed: list[Any]
) -> None:
    """Replacing one record by any other moves what is asked, in L1 and L2 norm, within what the noise assumes."""
    rng = np.random.default_rng(3)
    for _ in range(5):
        rows, labels = rng.integers(0, 3, (50, 3)).astype(float), rng.integers(0, 2, 50)
        for data, answers in ((rows, labels), (_replaced(rows, 7), _replaced(labels, 1))):
            learner(math.inf).learn(evaluator_of_arrays(data, answers, labels=(0, 1)))
        (one, queries), (other, _) = summed[0], summed[len(summed) // 2]
        assert np.abs(one - other).sum() <= sum(query.l1 for query in queries)
        assert np.square(one - other).sum() <= sum(query.l2**2 for query in queries) + 1e-9
        summed.clear()


def _replaced(values: Any, value: int) -> Any:
    changed = values.copy()
    changed[0] = value
    return changed
