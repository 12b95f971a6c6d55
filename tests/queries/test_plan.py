"""Plans: from a tolerance to a budget and back, with the lecture's constants made explicit."""

import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tacit.accounting import Ledger
from tacit.budget import Budget
from tacit.errors import InvalidParameter
from tacit.queries import Histogram, RowSums, SQDecisionTree, StatisticalOracle, StatisticalQuery
from tacit.queries.oracle.plan import Demand, enough_records, plan_for_budget, plan_for_tolerance

HUNDRED = [StatisticalQuery(lambda t: t.x0)] * 100


def test_the_lecture_s_three_plans_have_the_errors_that_theory_states() -> None:
    """n = 1e5, M = 100, alpha = 1: shared .0150, Gaussian .0083, split .0753 (the notes as printed: .896)."""
    demand = Demand.of_queries(HUNDRED, 100_000)
    assert plan_for_budget(demand, Budget(1.0)).tolerance == pytest.approx(0.0150, abs=5e-5)
    assert plan_for_budget(demand, Budget(1.0, 1e-6)).tolerance == pytest.approx(0.0083, abs=5e-5)
    oracle = StatisticalOracle((np.zeros((100_000, 1)), [1] * 100_000), bounds=(0, 1))
    split = oracle.conversation(100, epsilon=1.0, plan="split").plan
    assert split.parts == 100
    assert split.tolerance == pytest.approx(0.0753, abs=5e-5)


def test_the_noise_that_is_cheaper_is_chosen_and_named() -> None:
    """At delta = 1e-6 and epsilon = 1 Laplace noise is better for 5 queries, Gaussian noise from 6 on."""
    chosen = [
        plan_for_budget(Demand.of_queries(HUNDRED[:count], 10_000), Budget(1.0, 1e-6)).noise for count in (1, 5, 7, 50)
    ]
    assert chosen == ["laplace", "laplace", "gaussian", "gaussian"]
    assert plan_for_budget(Demand.of_queries(HUNDRED, 10_000), Budget(1.0)).noise == "laplace"


@pytest.mark.parametrize("accountant", ["basic", "renyi", "gaussian"])
def test_every_kind_of_account_pays_for_questions(accountant: Any, tmp_path: Path) -> None:
    """A question by epsilon or tolerance, and rounds of them: by Gaussian noise where nothing else is paid for."""
    ledger = Ledger.create(tmp_path / "l.db", name="a", budget=Budget(4.0, 1e-5), accountant=accountant)
    rows = np.linspace(0, 1, 4_000).reshape(-1, 1)
    oracle = StatisticalOracle((rows, [0, 1] * 2_000), bounds=(0, 1), ledger=ledger)
    query = StatisticalQuery(lambda t: t.x0)
    for how in ({"epsilon": 0.5}, {"tolerance": 0.1}):
        answer = oracle.ask(query, delta=1e-6, **how)
        assert answer.plan.noise == ("gaussian" if accountant == "gaussian" else "laplace")
        assert abs(answer.value - 0.5) < 3 * answer.tolerance
    tree = SQDecisionTree(epsilon=0.5, delta=1e-6, max_depth=2)
    assert tree.learn(oracle).plans_[0].noise == tree.set_params(ledger=ledger).preview(4_000, 1)[0].noise
    assert len([entry for entry in ledger.entries() if entry.amount]) == 3


def test_an_account_for_gaussian_noise_alone_says_that_it_needs_a_delta(tmp_path: Path) -> None:
    """Without one nothing is charged, and the words say what to give."""
    ledger = Ledger.create(tmp_path / "l.db", name="a", budget=Budget(1.0, 1e-5), accountant="gaussian")
    oracle = StatisticalOracle((np.zeros((100, 1)), [0, 1] * 50), bounds=(0, 1), ledger=ledger)
    for how in ({"epsilon": 0.5}, {"tolerance": 0.5}):
        with pytest.raises(InvalidParameter, match="delta"):
            oracle.ask(StatisticalQuery(lambda t: t.x0), **how)
    assert not ledger.spent


def test_laplace_noise_leaves_a_delta_unspent() -> None:
    """A plan with Laplace noise costs no delta, even where one was offered."""
    plan = plan_for_budget(Demand.of_queries(HUNDRED[:1], 10_000), Budget(1.0, 1e-6))
    assert plan.budget == Budget(1.0)


@given(
    n=st.integers(1_000, 10_000_000),
    size=st.integers(1, 60),
    excess=st.floats(1.05, 20),
    delta=st.sampled_from([0.0, 1e-6]),
    noise_rate=st.sampled_from([0.0, 0.2]),
    confidence=st.sampled_from([0.9, 0.95, 0.999]),
)
def test_a_tolerance_is_kept_and_nearly_used_up(
    n: int, size: int, excess: float, delta: float, noise_rate: float, confidence: float
) -> None:
    """The plan for a tolerance keeps it, and a budget 1 % smaller would not."""
    demand = Demand.of_queries(HUNDRED[:size], n, confidence=confidence, noise_rate=noise_rate)
    tolerance = demand.sampling * excess
    plan = plan_for_tolerance(demand, tolerance, delta)
    assert plan.tolerance <= tolerance
    less = Budget(0.99 * plan.budget.epsilon, delta)
    assert plan_for_budget(demand, less).tolerance > tolerance


def test_too_few_records_are_refused_with_the_number_that_would_do() -> None:
    """The number named in the refusal is enough, and a little less is not."""
    demand = Demand.of_queries(HUNDRED, 1_000)
    with pytest.raises(InvalidParameter, match=r"records would do with epsilon=1, delta=0"):
        plan_for_tolerance(demand, 0.01)
    enough = enough_records(demand, 0.01, Budget(1.0))
    more = Demand.of_queries(HUNDRED, enough)
    fewer = Demand.of_queries(HUNDRED, enough - enough // 500 - 1)
    assert plan_for_budget(more, Budget(1.0)).tolerance <= 0.01 < plan_for_budget(fewer, Budget(1.0)).tolerance


def test_a_histogram_costs_the_same_however_many_levels_it_has() -> None:
    """Counts that exclude each other have an L1 bound of 2; as single queries they would pay one by one."""
    many = Demand.of_queries([Histogram(lambda t: t.x0, tuple(range(50)))], 10_000)
    single = Demand.of_queries(HUNDRED[:50], 10_000)
    assert (round(many.l1), round(many.l2, 3)) == (2, 1.414)
    assert round(single.l1) == 50
    assert many.size == single.size == 50


def test_bounds_of_several_queries_add_up() -> None:
    """L1 bounds add up, L2 bounds add up in squares."""
    queries = [*HUNDRED[:3], Histogram(lambda t: t.x0, (1, 2)), RowSums(("x0", "x1", "x2"), lambda t: t.y, (0, 1))]
    demand = Demand.of_queries(queries, 10_000)
    assert demand.l1 == pytest.approx(3 + 2 + 6)
    assert demand.l2 == pytest.approx(math.sqrt(3 + 2 + 6))


def test_wrong_labels_cost_exactly_the_factor_of_the_theory() -> None:
    """At rate eta both errors grow by 1/(1 - 2 eta)."""
    clean = plan_for_budget(Demand.of_queries(HUNDRED[:4], 10_000), Budget(1.0))
    noisy = plan_for_budget(Demand.of_queries(HUNDRED[:4], 10_000, noise_rate=0.2), Budget(1.0))
    assert noisy.sampling_error == pytest.approx(clean.sampling_error / 0.6)
    assert noisy.noise_error == pytest.approx(clean.noise_error / 0.6)


@pytest.mark.parametrize("rate", [0.5, -0.1, float("nan"), 1.0])
def test_a_rate_of_wrong_labels_from_one_half_on_is_refused(rate: float) -> None:
    """Labels that are wrong half of the time say nothing."""
    with pytest.raises(InvalidParameter, match="noise_rate"):
        Demand.of_queries(HUNDRED, 100, noise_rate=rate)


@pytest.mark.parametrize("tolerance", [0.0, -1.0, float("nan"), float("inf")])
def test_a_tolerance_must_be_a_positive_number(tolerance: float) -> None:
    """Anything else is refused before any work."""
    with pytest.raises(InvalidParameter):
        plan_for_tolerance(Demand.of_queries(HUNDRED, 100), tolerance)


def test_a_plan_says_what_it_is() -> None:
    """Neighbours, epsilon, delta, n, tolerance and confidence are in the text of a plan."""
    text = str(plan_for_budget(Demand.of_queries(HUNDRED, 100_000), Budget(1.0, 1e-6)))
    for word in ("replace-one", "epsilon=1", "delta=1e-06", "n=100000", "Gaussian", "0.95", "population"):
        assert word in text
