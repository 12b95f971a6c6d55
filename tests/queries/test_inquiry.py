"""Inquiries: what one fit asks goes to one oracle, within one budget, and every round only once."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tacit.accounting.ledger import Ledger
from tacit.budget import Budget
from tacit.errors import InvalidParameter
from tacit.queries import StatisticalOracle, StatisticalQuery
from tacit.queries.learners.inquiry import Answers, Inquiry, Round, planned
from tacit.sums.engines.matrix import engine_of_arrays
from tacit.sums.engines.memory import MemoryEngine

QUERIES = [StatisticalQuery(lambda t: (t.x0 > 0) & (t.y == 1)), StatisticalQuery(lambda t: t.x0 > 0)]
ONE = [Round(QUERIES)]
TWO = [Round(QUERIES, weight=3), Round(QUERIES[:1], of="sample")]


def _engine(n: int = 1_000) -> MemoryEngine:
    rng = np.random.default_rng(0)
    return engine_of_arrays(rng.integers(0, 2, (n, 1)), rng.integers(0, 2, n), labels=(0, 1))


def _inquiry(budget: Budget | None, **how: Any) -> Inquiry:
    given = {"ledger": None, "random_state": None, "name": "a test", "labels": (0, 1)} | how
    return Inquiry.of_records(_engine(), budget, **given)


@pytest.mark.parametrize("rounds", [ONE, TWO])
def test_no_round_is_asked_twice_or_outside(rounds: list[Round], tmp_path: Path) -> None:
    """A second answer to the same round would be paid for by nobody."""
    ledger = Ledger.create(f"sqlite:///{tmp_path}/ledger.db", name="records", budget=Budget(10))
    inquiry = _inquiry(Budget(1), ledger=ledger)

    def study() -> None:
        inquiry.ask(0, QUERIES)
        with pytest.raises(InvalidParameter, match="before"):
            inquiry.ask(0, QUERIES)

    inquiry.run(rounds, study)
    with pytest.raises(InvalidParameter, match=r"outside|before"):
        inquiry.ask(len(rounds) - 1, QUERIES[:1])
    assert ledger.spent == Budget(1)
    assert len(inquiry.learned().plans) == 1


def test_several_rounds_are_one_charge_made_before_the_first(tmp_path: Path) -> None:
    """The learner finds the ledger charged when it starts."""
    ledger = Ledger.create(f"sqlite:///{tmp_path}/ledger.db", name="records", budget=Budget(1, 1e-6))
    inquiry = _inquiry(Budget(1, 1e-6), ledger=ledger)
    seen: list[Budget] = []
    inquiry.run(TWO, lambda: seen.append(ledger.spent))
    assert [entry.label for entry in ledger.entries()] == ["a test"]
    assert seen == [ledger.spent]


@pytest.mark.parametrize("budget", [Budget(1), Budget(1, 1e-6)])
@pytest.mark.parametrize("rounds", [ONE, TWO])
def test_a_plan_says_what_the_answers_are_like(rounds: list[Round], budget: Budget) -> None:
    """What was planned is what was done; the noise is that of the plan, and smaller for a larger weight."""
    inquiry = _inquiry(budget, random_state=1)
    found: list[Answers] = []
    inquiry.run(rounds, lambda: found.extend(inquiry.ask(i, each.queries) for i, each in enumerate(rounds)))
    plans = planned(rounds, 1_000, budget)
    assert inquiry.learned().plans == plans
    for answers, plan in zip(found, plans, strict=True):
        assert answers.noise == plan.noise_error
        assert answers.sampling == plan.sampling_error
        assert 0 < answers.deviation < answers.noise
    if rounds is TWO and budget.is_pure:
        assert found[0].deviation / found[1].deviation == pytest.approx(2 / 3, rel=1e-3)


def test_without_a_budget_answers_are_exact() -> None:
    """Also with wrong labels, where they are the correction of exact averages; no noise, and not called private."""
    engine = _engine()
    rows = np.random.default_rng(0).integers(0, 2, (1_000, 1))
    inquiry = _inquiry(None)
    found: list[Answers] = []
    inquiry.run(ONE, lambda: found.append(inquiry.ask(0, QUERIES)))
    assert found[0].values[1] == pytest.approx(rows.mean(), abs=1e-12)
    assert (found[0].deviation, found[0].noise) == (0.0, 0.0)
    assert not inquiry.learned().private
    noisy = _inquiry(None, noise_rate=0.25)
    noisy.run(ONE, lambda: found.append(noisy.ask(0, QUERIES)))
    straight, crossed = found[0].values[0], found[0].values[1] - found[0].values[0]
    assert found[1].values[0] == pytest.approx((0.75 * straight - 0.25 * crossed) / 0.5, abs=1e-12)
    assert found[1].values[1] == pytest.approx(found[0].values[1], abs=1e-12)
    with pytest.raises(InvalidParameter, match="without privacy"):
        Inquiry(engine, Budget(1), name="a test")
    with pytest.raises(InvalidParameter, match="without privacy"):
        Inquiry(StatisticalOracle(engine), None, name="a test")
