"""What holds of every learner from statistical queries: budgets, previews, engines, refusals."""

import math
import re
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from tacit.accounting.ledger import Ledger
from tacit.budget import Budget
from tacit.data import Category, Flag, Number, Records, Schema
from tacit.errors import BudgetExceeded, InvalidParameter
from tacit.queries import StatisticalOracle
from tacit.queries.learners.conjunction import ConjunctionClassifier
from tacit.queries.learners.decision_list import DecisionListClassifier
from tacit.queries.learners.naive_bayes import SQNaiveBayes
from tacit.queries.learners.tree import SQDecisionTree
from tacit.sums.engines.matrix import engine_of_arrays
from tacit.sums.engines.memory import MemoryEngine
from tacit.sums.engines.opening import engine_for

LEARNERS = [ConjunctionClassifier, DecisionListClassifier, SQNaiveBayes, SQDecisionTree]
DISCRETE = LEARNERS[1:]
RNG = np.random.default_rng(12)
X = (RNG.random((4_000, 5)) < 0.7).astype(float)
Y = X[:, :2].all(axis=1).astype(int)
FRAME = pd.DataFrame(X, columns=list("abcde")).assign(y=np.where(Y == 1, "yes", "no"))
BITS = Schema({**{name: Number(0, 1) for name in "abcde"}, "y": Category(["no", "yes"], positive="yes")}, target="y")

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


@pytest.fixture
def ledger(tmp_path: Path) -> Ledger:
    """Give a durable account of epsilon 1 and delta 1e-6."""
    return Ledger.create(f"sqlite:///{tmp_path}/ledger.db", name="records", budget=Budget(1.0, 1e-6))


@pytest.mark.parametrize("learner", LEARNERS)
def test_a_fit_is_one_charge_of_exactly_its_epsilon(learner: Any, ledger: Ledger) -> None:
    """However many rounds it asks, and also if it ends early."""
    for number in (1, 2):
        learner(0.3, ledger=ledger).fit(X, Y)
        assert ledger.spent == number * Budget(0.3)
    assert [entry.label for entry in ledger.entries()] == [learner.__name__] * 2


@pytest.mark.parametrize("learner", LEARNERS)
def test_with_a_delta_no_fit_costs_more_than_its_budget(learner: Any, ledger: Ledger) -> None:
    """Gaussian rounds use epsilon and delta; Laplace rounds leave the delta unspent."""
    model = learner(0.7, 1e-7, ledger=ledger).fit(X, Y)
    assert ledger.spent <= Budget(0.7, 1e-7)
    assert model.release_.budget == Budget(0.7, 1e-7)
    assert model.release_.guarantee.startswith(
        "epsilon=0.7, delta=1e-07, replace-one neighbours; public: n, the columns"
    )
    assert {plan.n for plan in model.plans_} == {4_000}


@pytest.mark.parametrize("learner", LEARNERS)
def test_a_fit_that_cannot_be_paid_to_the_end_spends_nothing(learner: Any, ledger: Ledger) -> None:
    """It is refused before its first round, not in the middle, also for its delta."""
    with pytest.raises(BudgetExceeded):
        learner(1.1, ledger=ledger).fit(X, Y)
    with pytest.raises(BudgetExceeded):
        SQNaiveBayes(0.9, 1e-5, ledger=ledger).fit(np.tile(X, 8), Y)
    assert ledger.entries() == []


@pytest.mark.parametrize("learner", LEARNERS)
def test_a_preview_is_what_is_then_asked_at_most(learner: Any) -> None:
    """Round by round, a preview from n and the number of features has the cost of the fit, and at least its size."""
    model = learner(3.0, random_state=1)
    before, after = model.preview(len(X), 5), model.fit(X, Y).plans_
    assert len(after) <= len(before)
    for planned, done in zip(before, after, strict=False):
        if planned.size == done.size:
            assert planned == done
        assert done.size <= planned.size
        assert done.tolerance <= planned.tolerance
    assert {plan.budget for plan in before} == {Budget(3)}
    assert model.release_.value == after
    assert repr(after[0]) in str(model.release_)


@pytest.mark.filterwarnings("ignore:.*a ledger and a seed:tacit.PrivacyWarning")
@pytest.mark.parametrize("learner", LEARNERS)
def test_a_rehearsal_is_repeatable_not_private_and_free(learner: Any, ledger: Ledger) -> None:
    """The same seed gives the same model, another seed other answers, and the ledger is not charged."""
    one, same = (learner(0.5, ledger=ledger, random_state=3).fit(X, Y) for _ in range(2))
    assert np.array_equal(one.predict(X), same.predict(X))
    assert one.release_.guarantee == "NOT private and not charged: a rehearsal from a seed"
    assert ledger.entries() == []


@pytest.mark.parametrize("learner", LEARNERS)
def test_an_infinite_epsilon_is_the_model_without_noise_and_never_called_private(learner: Any, ledger: Ledger) -> None:
    """It needs no seed to be repeatable, has no plan, and cannot be charged; a huge epsilon comes close to it."""
    plain = learner(math.inf).fit(X, Y)
    assert plain.plans_ == ()
    assert plain.release_.guarantee == "NOT private and not charged: infinite epsilon"
    assert np.array_equal(plain.predict(X), learner(1e5, random_state=0).fit(X, Y).predict(X))
    assert np.mean(plain.predict(X) == Y) == 1.0
    with pytest.raises(InvalidParameter, match="infinite epsilon"):
        learner(math.inf, ledger=ledger).fit(X, Y)
    with pytest.raises(InvalidParameter, match="no cost"):
        learner(math.inf).preview(100, 3)


@pytest.mark.parametrize("learner", LEARNERS)
def test_tables_and_arrays_give_the_same_model(learner: Any, tmp_path: Path) -> None:
    """Without noise, a Parquet file read by DuckDB and arrays lead to the same predictions and the same words."""
    FRAME.to_parquet(tmp_path / "records.parquet")
    engine = engine_for(Records(tmp_path / "records.parquet", BITS))
    declared: dict[str, int] = {} if learner is ConjunctionClassifier else {"levels": 2}
    from_table = learner(math.inf, **declared).learn(engine)
    from_arrays = learner(math.inf, **declared).fit(FRAME.drop(columns="y"), FRAME["y"])
    assert np.array_equal(from_table.predict(FRAME.drop(columns="y")), from_arrays.predict(FRAME.drop(columns="y")))
    assert from_table.classes_.tolist() == from_arrays.classes_.tolist() == ["no", "yes"]
    for words in ("literals_", "rules"):
        if hasattr(from_table, words):
            one, other = getattr(from_table, words), getattr(from_arrays, words)
            assert (one() if callable(one) else one) == (other() if callable(other) else other)


@pytest.mark.parametrize("learner", LEARNERS)
def test_an_oracle_pays_for_what_is_learned_from_it(learner: Any, ledger: Ledger, tmp_path: Path) -> None:
    """`learn` charges the oracle's ledger; a ledger or seed of the learner's own would be a misunderstanding."""
    FRAME.to_parquet(tmp_path / "records.parquet")
    oracle = StatisticalOracle(Records(tmp_path / "records.parquet", BITS), ledger=ledger)
    model = learner(0.5).learn(oracle, features=["a", "b", "c"])
    assert ledger.spent == Budget(0.5)
    assert model.feature_names_in_.tolist() == ["a", "b", "c"]
    with pytest.raises(InvalidParameter, match="oracle's own"):
        learner(0.1, random_state=0).learn(oracle)
    with pytest.raises(InvalidParameter, match="answers privately"):
        learner(math.inf).learn(oracle)
    with pytest.raises(InvalidParameter, match="StatisticalOracle"):
        learner(0.1).learn(FRAME)
    with pytest.raises(InvalidParameter, match="two different labels"):
        learner(0.1, classes=["no"]).learn(oracle)
    with pytest.raises(InvalidParameter, match="no declared level"):
        learner(0.1, classes=[0, 1]).learn(oracle)
    with pytest.raises(InvalidParameter, match="column"):
        learner(0.1).learn(oracle, features=["a", "nobody"])
    with pytest.raises(InvalidParameter, match="label="):
        learner(0.1).learn(StatisticalOracle(Records(tmp_path / "records.parquet", Schema(BITS.columns))))
    assert ledger.spent == Budget(0.5)


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


@pytest.mark.parametrize("learner", LEARNERS)
def test_wrong_labels_are_corrected_for(learner: Any) -> None:
    """With three labels of ten wrong and known to be, the model is the one of the true labels."""
    rng = np.random.default_rng(6)
    rows = (rng.random((60_000, 4)) < 0.6).astype(float)
    true = rows[:, :2].all(axis=1).astype(int)
    wrong = np.where(rng.random(len(true)) < 0.3, 1 - true, true)
    model = learner(20.0, noise_rate=0.3, random_state=1).fit(rows, wrong)
    assert np.mean(model.predict(rows) == true) == 1.0
    assert "labels are wrong at rate 0.3" in learner(20.0, noise_rate=0.3).fit(rows, wrong).release_.guarantee


@pytest.mark.parametrize("learner", LEARNERS)
@pytest.mark.parametrize("rate", [Fraction(1, 3), Decimal("0.25"), np.float32(0.25)])
def test_a_rate_may_be_any_number(learner: Any, rate: Any) -> None:
    """What is said of a rate is said before anything is paid, and a fraction can be said."""
    model = learner(20.0, noise_rate=rate).fit(X, Y)
    assert f"labels are wrong at rate {float(rate):g}" in model.release_.guarantee


@pytest.mark.parametrize("learner", LEARNERS)
def test_what_makes_no_sense_is_refused_before_anything_is_charged(learner: Any, ledger: Ledger) -> None:
    """Messages say what is wanted, and quote no record."""
    for wrong, words in [
        ({"epsilon": None}, "epsilon is missing"),
        ({"epsilon": 0.0}, "above 0"),
        ({"epsilon": 1.0, "noise_rate": 0.5}, "noise_rate"),
        ({"epsilon": 1.0, "confidence": 1.0}, "confidence"),
        ({"epsilon": 1.0, "classes": [1]}, "two different"),
        ({"epsilon": 1.0, "classes": [1, 2]}, "declared classes"),
        ({"epsilon": 1.0, "random_state": -1}, "random_state"),
    ]:
        with pytest.raises(InvalidParameter, match=words):
            learner(**wrong, ledger=None if "random_state" in wrong else ledger).fit(X, Y)
    with pytest.raises(ValueError, match="NaN") as caught:
        learner(1.0, ledger=ledger).fit(np.where(X == 0, np.nan, 12345.0), Y)
    assert "12345" not in str(caught.value)
    assert ledger.entries() == []


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
def test_a_schema_is_all_that_a_table_needs(learner: Any, tmp_path: Path) -> None:
    """Through a schema, texts, truth values, numbers out of range and missing cells are read alike everywhere."""
    people = _people(1_000)
    people.to_parquet(tmp_path / "people.parquet")
    oracle = StatisticalOracle(Records(tmp_path / "people.parquet", SCHEMA))
    less: dict[str, int] = {"bins": 4}
    less |= {SQDecisionTree: {"max_depth": 2}, DecisionListClassifier: {"max_rules": 2}}.get(learner, {})
    from_frame = learner(math.inf, schema=SCHEMA, **less).fit(people, SCHEMA.labels(people))
    from_table = learner(math.inf, schema=SCHEMA, **less).learn(oracle.engine)
    assert np.mean(from_frame.predict(people) == people["ill"]) > 0.8
    assert np.array_equal(from_frame.predict_proba(people), from_table.predict_proba(people))
    private = learner(50.0, schema=SCHEMA, **less).learn(oracle)
    assert "the declared features" in private.release_.guarantee
    assert private.classes_.tolist() == ["no", "yes"]
    assert len(private.preview(1_000)) >= 1
    with pytest.raises(InvalidParameter, match="one label for each"):
        learner(1.0, schema=SCHEMA).fit(people, ["no", "yes"])


@pytest.mark.parametrize("learner", DISCRETE)
def test_features_are_declared_in_one_way_only(learner: Any) -> None:
    """A schema, levels and bounds exclude each other, and must fit the number of features."""
    for wrong, words in [
        ({"levels": 2, "bounds": (0, 1)}, "one way"),
        ({"levels": [2, 2]}, "2 features are declared"),
        ({"bounds": (1, 0)}, "low must lie below high"),
        ({"levels": 0}, "levels"),
        ({"bins": 0, "bounds": (0, 1)}, "bins"),
        ({"schema": "people"}, "tacit.Schema"),
    ]:
        with pytest.raises(InvalidParameter, match=re.escape(words)):
            learner(1.0, **wrong).fit(X, Y)


@pytest.mark.parametrize("learner", LEARNERS)
def test_a_record_can_move_the_answers_no_farther_than_they_were_calibrated_for(
    learner: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Replacing one record by any other moves what is asked, in L1 and L2 norm, within what the noise assumes."""
    asked: list[Any] = []
    plainly = MemoryEngine.sums

    def watched(self: MemoryEngine, queries: Any, **how: Any) -> Any:
        found = plainly(self, queries, **how)
        asked.append((np.concatenate(found), [query.query for query in queries]))
        return found

    monkeypatch.setattr(MemoryEngine, "sums", watched)
    rng = np.random.default_rng(3)
    for _ in range(5):
        rows, labels = rng.integers(0, 3, (50, 3)).astype(float), rng.integers(0, 2, 50)
        for data, answers in ((rows, labels), (_replaced(rows, 7), _replaced(labels, 1))):
            learner(math.inf).learn(engine_of_arrays(data, answers, labels=(0, 1)))
        (one, queries), (other, _) = asked[0], asked[len(asked) // 2]
        assert np.abs(one - other).sum() <= sum(query.l1 for query in queries)
        assert np.square(one - other).sum() <= sum(query.l2**2 for query in queries) + 1e-9
        asked.clear()


def _replaced(values: Any, value: int) -> Any:
    changed = values.copy()
    changed[0] = value
    return changed
