"""Sessions: what one fit asks goes to one oracle, within one budget, and every round only once."""

from pathlib import Path

import numpy as np
import pytest

from tacit.accounting.ledger import Ledger
from tacit.budget import Budget
from tacit.errors import InvalidParameter
from tacit.queries import Query, Session, StatisticalOracle, StatisticalQuery
from tacit.queries.oracle.session import planned
from tacit.sums.array_evaluator import evaluator_of_arrays
from tacit.sums.evaluator import Evaluator

QUERIES = [StatisticalQuery(lambda t: (t.x0 > 0) & (t.y == 1)), StatisticalQuery(lambda t: t.x0 > 0)]
ONE: list[list[Query]] = [[*QUERIES]]
TWO: list[list[Query]] = [[*QUERIES], [QUERIES[0]]]


def _engine(n: int = 1_000) -> Evaluator:
    rng = np.random.default_rng(0)
    return evaluator_of_arrays(rng.integers(0, 2, (n, 1)), rng.integers(0, 2, n), labels=(0, 1))


@pytest.fixture
def ledger(tmp_path: Path) -> Ledger:
    """Give a durable account of epsilon 10."""
    return Ledger.create(f"sqlite:///{tmp_path}/ledger.db", name="records", budget=Budget(10, 1e-5))


@pytest.mark.parametrize("budget", [Budget(1), Budget(1, 1e-6)])
@pytest.mark.parametrize("rounds", [ONE, TWO])
def test_a_plan_says_what_the_answers_are_like(rounds: list[list[Query]], budget: Budget) -> None:
    """What was planned is what was done; the noise is that of the plan, and smaller for fewer numbers."""
    with Session(StatisticalOracle(_engine(), random_state=1), budget, rounds) as session:
        found = [session.ask(number) for number in range(len(rounds))]
    plans = planned(rounds, 1_000, budget)
    assert session.release().value == plans
    for reply, plan in zip(found, plans, strict=True):
        assert 0 < reply.deviation < plan.noise_error
    if rounds is TWO and budget.is_pure:
        assert found[0].deviation / found[1].deviation == pytest.approx(2, rel=1e-3)


def test_without_a_budget_answers_are_exact() -> None:
    """Also with wrong labels, where they are the correction of exact averages; no noise, and not called private."""
    evaluator = _engine()
    rows = np.random.default_rng(0).integers(0, 2, (1_000, 1))
    with Session(evaluator, None, ONE) as session:
        exact = session.ask(0)
    assert exact.values[1] == pytest.approx(rows.mean(), abs=1e-12)
    assert exact.deviation == 0.0
    assert not session.release().private
    with Session(evaluator, None, ONE, noise_rate=0.25) as session:
        noisy = session.ask(0)
    straight, crossed = exact.values[0], exact.values[1] - exact.values[0]
    assert noisy.values[0] == pytest.approx((0.75 * straight - 0.25 * crossed) / 0.5, abs=1e-12)
    assert noisy.values[1] == pytest.approx(exact.values[1], abs=1e-12)
    with pytest.raises(InvalidParameter, match="without privacy"):
        Session(evaluator, Budget(1), ONE)
    with pytest.raises(InvalidParameter, match="without privacy"):
        Session(StatisticalOracle(evaluator), None, ONE)
