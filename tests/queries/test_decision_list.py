"""Decision lists from statistical queries: planted lists are found, rule by rule."""

import math

import numpy as np
import pytest

from tacit.data import Category, Number, Schema
from tacit.errors import InvalidParameter
from tacit.queries.learners.decision_list import DecisionListClassifier

RNG = np.random.default_rng(7)


def _records(n: int) -> tuple[np.ndarray, np.ndarray]:
    """Labels by the list: x3 -> 1, not x1 -> 0, x5 -> 1, else 0."""
    rows = (RNG.random((n, 8)) < 0.5).astype(float)
    labels = np.where(rows[:, 3] > 0, 1, np.where(rows[:, 1] == 0, 0, np.where(rows[:, 5] > 0, 1, 0)))
    return rows, labels


@pytest.mark.parametrize("epsilon", [math.inf, 3.0])
def test_a_planted_list_is_found(epsilon: float) -> None:
    """Without noise and with little of it, the rules are pure and predict every label."""
    rows, labels = _records(40_000)
    model = DecisionListClassifier(epsilon, random_state=None if math.isinf(epsilon) else 0).fit(rows, labels)
    assert model.score(rows, labels) == 1.0
    assert model.rules().splitlines()[0] == "if x3 > 0: 1 (1.00)" or model.rules().startswith("if not (x3 <= 0): 1")


def test_a_list_is_found_under_wrong_labels() -> None:
    """Two labels of ten wrong, and known to be: the list of the true labels, not of the observed ones."""
    rows, labels = _records(100_000)
    wrong = np.where(RNG.random(len(labels)) < 0.2, 1 - labels, labels)
    model = DecisionListClassifier(5.0, noise_rate=0.2, random_state=0).fit(rows, wrong)
    assert model.score(rows, labels) == 1.0


def test_pure_rules_come_before_better_ones() -> None:
    """A literal that is never wrong is taken before one that divides the classes better, if it is true often enough."""
    n = 30_000
    pure = RNG.random(n) < 0.2
    labels = np.where(pure, 1, RNG.random(n) < 0.4).astype(int)
    good = np.where(RNG.random(n) < 0.12, 1 - labels, labels)
    rows = np.column_stack([good, pure]).astype(float)
    first = DecisionListClassifier(math.inf, error=0.01).fit(rows, labels).rules_[0].literal
    assert first is not None
    assert first.feature == 1
    other = DecisionListClassifier(math.inf, error=0.2).fit(rows, labels).rules_[0].literal
    assert other is not None
    assert other.feature == 0


def test_a_list_without_a_rule_is_a_guess() -> None:
    """Where nothing stands out from the noise there are no rules, and what was not asked was not paid for."""
    rows, labels = RNG.random((500, 5)) < 0.5, np.arange(500) % 3 == 0
    model = DecisionListClassifier(0.1, random_state=0).fit(rows, labels)
    assert model.rules().startswith("else: ")
    assert len(model.plans_) == 2


def test_numbers_and_levels_make_readable_rules() -> None:
    """Rules speak of thresholds and levels, and the last one of everybody else."""
    people = {"age": RNG.uniform(0, 80, 5_000), "town": RNG.choice(["a", "b", "c"], 5_000)}
    ill = np.where(people["town"] == "b", "yes", np.where(people["age"] > 60, "yes", "no"))
    schema = Schema({"age": Number(0, 80), "town": Category(["a", "b", "c"])})
    model = DecisionListClassifier(math.inf, schema=schema).fit(people, ill)
    assert model.score(people, ill) == 1.0
    assert model.rules().splitlines()[0] == "if town is b: yes (1.00)"
    assert "age <= 60" in model.rules()
    assert model.rules().splitlines()[-1].startswith("else: ")


def test_rounds_share_the_budget_equally() -> None:
    """A round for every rule and one for the classes under all of them."""
    plans = DecisionListClassifier(3.0, max_rules=2).preview(10**6, 10)
    noise = [plan.noise_error / -math.log(0.05 / plan.size) for plan in plans]
    assert noise == pytest.approx([20 / 10**6, 20 / 10**6, 2 / 10**6], rel=1e-3)
    assert [plan.size for plan in plans] == [40, 40, 6]
    assert len(DecisionListClassifier(0.01, max_rules=5).preview(1_000, 10)) == 2


def test_what_makes_no_sense_is_refused() -> None:
    """The number of rules and the error have their ranges."""
    rows, labels = _records(100)
    for wrong in ({"max_rules": 0}, {"max_rules": 2_000}, {"error": 0.0}, {"error": 1.5}):
        with pytest.raises(InvalidParameter, match=next(iter(wrong))):
            DecisionListClassifier(1.0, **wrong).fit(rows, labels)
