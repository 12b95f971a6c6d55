"""Learners from `Records`: the same model as from an oracle or from encoded rows, in every place, paid by the part."""

import math
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from tacit.accounting.ledger import Ledger
from tacit.budget import Budget
from tacit.data import Category, Flag, Key, Moment, Number, PublicEncoder, Records, Schema
from tacit.errors import InvalidParameter
from tacit.queries import StatisticalOracle
from tacit.queries.learners.conjunction import ConjunctionClassifier
from tacit.queries.learners.decision_list import DecisionListClassifier
from tacit.queries.learners.kmeans import SQKMeans
from tacit.queries.learners.naive_bayes import SQNaiveBayes
from tacit.queries.learners.pca import SQPCA
from tacit.queries.learners.perceptron import SQPerceptron
from tacit.queries.learners.tree import SQDecisionTree
from tacit.sums.evaluator import Evaluator

SCHEMA = Schema(
    {
        "age": Number(0, 100),
        "income": Number(0, 1e6, log=True, missing=0),
        "town": Category(["a", "b", "c"]),
        "smokes": Flag("no", "yes"),
        "seen": Moment("2020-01-01", "2024-12-31"),
        "id": Key(),
        "ill": Category(["no", "yes"], positive="yes"),
    },
    target="ill",
)
FLAGS = Schema({**{name: Flag("no", "yes") for name in "abcd"}, "y": Flag("sound", "ill")}, target="y")
BY_COLUMN = [
    ConjunctionClassifier(1.0),
    DecisionListClassifier(1.0, max_rules=2, bins=4),
    SQNaiveBayes(1.0),
    SQDecisionTree(1.0, max_depth=2, bins=4),
]
ENCODED = [SQPerceptron(1.0, rounds=3), SQKMeans(3, 1.0, rounds=3), SQPCA(2, 1.0)]
MODELS = {SQPerceptron: ("coef_", "intercept_"), SQKMeans: ("cluster_centers_",), SQPCA: ("components_", "mean_")}


def _name(learner: Any) -> str:
    return type(learner).__name__


def _with(learner: Any, **options: Any) -> Any:
    return type(learner)(**(learner.get_params() | options))


def _people(count: int = 1_500) -> pd.DataFrame:
    rng = np.random.default_rng(5)
    age, income = rng.uniform(-5, 110, count), np.exp(rng.uniform(0, 15, count))
    town, smokes = rng.choice(["a", " b", "c", "d"], count), rng.choice(["yes", "no", "?"], count)
    ill = np.where((age > 60) & (smokes == "yes") | (town == "a"), "yes", "no")
    income[::7] = np.nan
    seen = np.datetime64("2019-06-01", "us") + rng.integers(0, 2_500, count).astype("m8[D]")
    return pd.DataFrame(
        {"age": age, "income": income, "town": town, "smokes": smokes, "seen": seen, "id": range(count), "ill": ill}
    )


def _flags(count: int = 1_500) -> pd.DataFrame:
    rng = np.random.default_rng(6)
    frame = pd.DataFrame(np.where(rng.random((count, 4)) < 0.7, "yes", "no"), columns=list("abcd"))
    return frame.assign(y=np.where((frame["a"] == "yes") & (frame["c"] == "yes"), "ill", "sound"))


def _table(learner: Any) -> tuple[pd.DataFrame, Schema]:
    return (_flags(), FLAGS) if isinstance(learner, ConjunctionClassifier) else (_people(), SCHEMA)


@pytest.fixture
def ledger(tmp_path: Path) -> Ledger:
    """Give a durable account of epsilon 2."""
    return Ledger.create(f"sqlite:///{tmp_path}/ledger.db", name="records", budget=Budget(2.0))


@pytest.mark.parametrize("learner", BY_COLUMN, ids=_name)
def test_fit_is_learn_from_an_oracle_over_the_same_records(learner: Any) -> None:
    """With the same coins: the same predictions for the same frame."""
    frame, schema = _table(learner)
    learned = _with(learner).learn(StatisticalOracle(Records(frame, schema), random_state=3))
    expected = learned.predict(frame)
    records = Records(frame, schema)
    model = _with(learner, random_state=3).fit(records)
    assert model.predict(frame).tolist() == model.predict(records).tolist() == expected.tolist()
    assert model.classes_.tolist() == list(schema.classes)
    assert model.feature_names_in_.tolist() == [*schema.features]
    assert set(expected) <= set(schema.classes)


@pytest.mark.parametrize("learner", BY_COLUMN[1:], ids=_name)
def test_a_learner_s_own_schema_gives_the_same_model(learner: Any) -> None:
    """Said by the learner for a frame, or by the records: the same features, the same codes."""
    frame = _people()
    own = _with(learner, epsilon=math.inf, schema=SCHEMA).fit(frame, SCHEMA.labels(frame))
    records = Records(frame, SCHEMA)
    both = _with(learner, epsilon=math.inf, schema=SCHEMA).fit(records)
    theirs = _with(learner, epsilon=math.inf).fit(records)
    for model in (both, theirs):
        assert np.array_equal(model.predict_proba(frame), own.predict_proba(frame))
    assert np.array_equal(own.predict_proba(records), own.predict_proba(frame))


@pytest.mark.parametrize("learner", BY_COLUMN[1:], ids=_name)
def test_levels_in_another_order_are_refused_and_not_mistaken(learner: Any) -> None:
    """The place of a level is its place in the records' declaration; a learner's other one would shuffle them."""
    frame = _people()
    other = Schema({**SCHEMA.columns, "town": Category(["c", "b", "a"])}, target="ill")
    records = Records(frame, SCHEMA)
    with pytest.raises(InvalidParameter, match="declares column 'town' differently"):
        _with(learner, schema=other).fit(records)
    model = _with(learner, epsilon=math.inf).fit(records)
    with pytest.raises(InvalidParameter, match="declare column 'town' differently"):
        model.predict(Records(frame, other))
    lacking = Schema({name: column for name, column in SCHEMA.columns.items() if name != "age"}, target="ill")
    with pytest.raises(InvalidParameter, match="'age' differently"):
        model.predict(Records(frame, lacking))


@pytest.mark.parametrize("learner", ENCODED, ids=_name)
def test_encoded_learners_fit_the_rows_of_the_public_encoder(learner: Any) -> None:
    """From records they learn what they learn from the encoded rows, whose norm is known; and predict from any."""
    frame = _people()
    rows, labels = PublicEncoder(SCHEMA).transform(frame), SCHEMA.labels(frame)
    expected, records = _with(learner, random_state=2).fit(rows, labels), Records(frame, SCHEMA)
    model = _with(learner, random_state=2).fit(records)
    for name in MODELS[type(learner)]:
        assert np.array_equal(getattr(model, name), getattr(expected, name))
    read = "predict" if hasattr(model, "predict") else "transform"
    for given in (records, frame, frame.drop(columns="ill")):
        assert np.array_equal(getattr(model, read)(given), getattr(expected, read)(rows))


def test_a_perceptron_s_unknown_targets_teach_nothing() -> None:
    """A record without a declared class becomes a row of zeros: the model is the one without noise from the others."""
    frame = _people()
    spoiled = frame.copy()
    spoiled.loc[:99, "ill"] = "perhaps"
    model = SQPerceptron(math.inf, rounds=3).fit(Records(spoiled, SCHEMA))
    rows = np.asarray(PublicEncoder(SCHEMA).transform(frame)).copy()
    rows[:100] = 0.0
    labels = SCHEMA.labels(frame)
    labels[:100] = "no"
    assert np.allclose(model.coef_, SQPerceptron(math.inf, data_norm=1.0, rounds=3).fit(rows, labels).coef_)


@pytest.mark.parametrize("learner", [*BY_COLUMN, *ENCODED], ids=_name)
def test_a_part_is_paid_from_its_own_account(learner: Any, ledger: Ledger) -> None:
    """Learning from one part and from the other costs what one costs; n is the part's."""
    frame, schema = _table(learner)
    train, test = Records(frame, schema).split(0.7, 0.3)
    for part in (train, test):
        model = _with(learner, ledger=ledger).fit(part)
        assert {plan.n for plan in model.release_.value} == {part.n}
    assert ledger.spent == Budget(1.0)
    _with(learner, ledger=ledger, epsilon=0.5).fit(train)
    assert ledger.spent == Budget(1.5)


@pytest.mark.parametrize("learner", [*BY_COLUMN, *ENCODED], ids=_name)
def test_an_interrupted_fit_leaves_the_model_as_it_was(learner: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """The release of one fit never stands beside the model of another."""
    frame, schema = _table(learner)
    records = Records(frame, schema)
    model = _with(learner, epsilon=math.inf).fit(records)
    before = dict(vars(model))
    honest, calls = Evaluator.sums, []

    def interrupted(self: Evaluator, *args: Any, **kwargs: Any) -> Any:
        calls.append(1)
        if len(calls) > 1 or isinstance(learner, ConjunctionClassifier | SQNaiveBayes | SQPCA):
            raise KeyboardInterrupt
        return honest(self, *args, **kwargs)

    monkeypatch.setattr(Evaluator, "sums", interrupted)
    with pytest.raises(KeyboardInterrupt):
        model.set_params(epsilon=1.0).fit(records)
    assert {**vars(model), "epsilon": math.inf} == before


@pytest.mark.parametrize("learner", [*BY_COLUMN, ENCODED[0]], ids=_name)
def test_records_bring_their_target(learner: Any) -> None:
    """Labels beside them, or a schema without a target, are refused before anything is charged."""
    frame, schema = _table(learner)
    with pytest.raises(InvalidParameter, match="bring their own target"):
        _with(learner).fit(Records(frame, schema), frame[str(schema.target)])
    with pytest.raises(InvalidParameter, match=r"target|label="):
        _with(learner).fit(Records(frame, Schema(schema.columns)))


@pytest.mark.parametrize("learner", [*BY_COLUMN, *ENCODED], ids=_name)
def test_a_refit_forgets_what_the_records_declared(learner: Any) -> None:
    """A learner that had records may be fitted on rows, and the other way round."""
    frame, schema = _table(learner)
    rng = np.random.default_rng(0)
    rows = (rng.random((400, 3)) < 0.6).astype(float)
    labels = (rows[:, 0] > 0).astype(int)
    declared = {"data_norm": 2.0} if isinstance(learner, tuple(MODELS)) else {}
    model = _with(learner, epsilon=math.inf, **declared).fit(Records(frame, schema))
    again, fresh = model.fit(rows, labels), _with(learner, epsilon=math.inf, **declared).fit(rows, labels)
    read = "predict" if hasattr(model, "predict") else "transform"
    assert np.array_equal(getattr(again, read)(rows), getattr(fresh, read)(rows))
    with pytest.raises(InvalidParameter):
        getattr(again, read)(Records(frame, schema))
    assert model.fit(Records(frame, schema)).release_.guarantee.startswith("NOT private")


def test_a_number_cannot_be_a_class_and_levels_cannot_be_added_up() -> None:
    """What a learner cannot use is refused in words about the declaration."""
    frame = _people(50)
    number = Schema({**SCHEMA.columns}, target="age")
    with pytest.raises(InvalidParameter, match="target with declared levels"):
        SQPerceptron(1.0).fit(Records(frame, number))
    with pytest.raises(InvalidParameter, match="levels"):
        ConjunctionClassifier(1.0).fit(Records(frame, SCHEMA))
    with pytest.raises(InvalidParameter, match="levels"):
        SQPCA(1, 1.0, data_norm=1.0).learn(StatisticalOracle(Records(frame, SCHEMA)))
