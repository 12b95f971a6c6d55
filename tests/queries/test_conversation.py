"""Conversations: queries that depend on earlier answers, within one budget and one honest tolerance."""

import copy
import ctypes
import os
import pickle
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest
from pyspark import cloudpickle

from tacit.accounting import Ledger
from tacit.budget import Budget
from tacit.data import Number, Records, Schema
from tacit.errors import BudgetExceeded, InvalidParameter
from tacit.queries import Histogram, StatisticalOracle, StatisticalQuery
from tacit.sums.evaluator import Evaluator

ROWS = np.random.default_rng(1).normal(size=(3_000, 2))
LABELS = np.where(ROWS[:, 0] > 0, 1.0, -1.0)
SCHEMA = Schema({"x0": Number(-6, 6), "x1": Number(-6, 6), "y": Number(-1, 1)}, target="y")


def _above(number: float) -> StatisticalQuery:
    return StatisticalQuery(lambda t: t.x0 > number)


def test_a_split_conversation_costs_one_query_s_budget_in_all(ledger: Ledger) -> None:
    """Each of ten queries is charged to a part of its own: together they cost what one costs."""
    conversation = StatisticalOracle((ROWS, LABELS), bounds=(-6, 6), ledger=ledger).conversation(
        10, epsilon=0.5, plan="split"
    )
    for number in range(10):
        conversation.ask(_above(number / 10))
    assert ledger.spent == Budget(0.5)
    assert conversation.left == 0
    assert len([entry for entry in ledger.entries() if entry.event is not None]) == 10


def test_a_rounded_conversation_spends_its_budget_query_by_query(ledger: Ledger) -> None:
    """After four of ten queries four tenths are spent, and after ten all of it, exactly."""
    conversation = StatisticalOracle((ROWS, LABELS), bounds=(-6, 6), ledger=ledger).conversation(
        10, epsilon=0.5, plan="rounded"
    )
    for number in range(4):
        conversation.ask(_above(number / 10))
    assert ledger.spent == Budget(0.2)
    for number in range(4, 10):
        conversation.ask(_above(number / 10))
    assert ledger.spent == Budget(0.5)


@pytest.mark.parametrize("plan", ["split", "rounded"])
def test_a_copy_of_a_conversation_shares_its_turns(plan: str) -> None:
    """Two queries were agreed on, and two are answered, whichever copy is asked; no ledger is needed for that."""
    conversation = StatisticalOracle((ROWS, LABELS), bounds=(-6, 6)).conversation(2, epsilon=0.5, plan=plan)
    other = copy.copy(conversation)
    conversation.ask(_above(0.1))
    other.ask(_above(0.2))
    for each in (conversation, other):
        with pytest.raises(InvalidParameter, match="all queries that were agreed on"):
            each.ask(_above(0.3))
    for send in (pickle.dumps, cloudpickle.dumps, copy.deepcopy):
        with pytest.raises(InvalidParameter, match="cannot be sent elsewhere"):
            send(conversation)


@pytest.mark.parametrize("plan", ["split", "rounded"])
def test_threads_share_the_queries_of_a_conversation(plan: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of 24 threads that ask at the same moment, two get an answer: that is what was agreed on, and is paid for."""
    sums = Evaluator.sums

    def slow(*given: Any, **options: Any) -> Any:
        time.sleep(0.02)
        return sums(*given, **options)

    monkeypatch.setattr(Evaluator, "sums", slow)
    conversation = StatisticalOracle((ROWS, LABELS), bounds=(-6, 6)).conversation(2, epsilon=0.5, plan=plan)
    barrier = threading.Barrier(24)

    def asked(number: int) -> bool:
        barrier.wait(60)
        try:
            conversation.ask(_above(number / 100))
        except InvalidParameter:
            return False
        return True

    with ThreadPoolExecutor(24) as pool:
        assert sum(pool.map(asked, range(24))) == 2
    assert conversation.left == 0


@pytest.mark.filterwarnings("ignore:.*multi-threaded, use of fork:DeprecationWarning")
@pytest.mark.parametrize("fork", [os.fork, ctypes.PyDLL(None).fork], ids=["os", "libc"])
def test_a_fork_has_no_part_in_a_conversation(fork: Callable[[], int]) -> None:
    """Each child would else have an answer of its own, also where Python does not see the fork."""
    conversation = StatisticalOracle((ROWS, LABELS), bounds=(-6, 6)).conversation(2, epsilon=0.5)
    child = fork()
    if child == 0:
        try:
            conversation.ask(_above(0.0))
        except InvalidParameter as error:
            os._exit(0 if "another" in str(error) else 1)
        os._exit(2)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    conversation.ask(_above(0.0))
    assert conversation.left == 1


def test_a_query_that_cannot_be_paid_uses_no_turn_up(ledger: Ledger) -> None:
    """What the ledger refused was not answered, and can be asked when there is budget for it."""
    conversation = StatisticalOracle((ROWS, LABELS), bounds=(-6, 6), ledger=ledger).conversation(
        2, epsilon=1.5, plan="rounded"
    )
    conversation.ask(_above(0.0))
    with pytest.raises(BudgetExceeded):
        conversation.ask(_above(1.0))
    assert conversation.left == 1


def test_a_split_conversation_goes_on_after_a_restart_where_it_stopped(ledger: Ledger) -> None:
    """Parts that were charged are not used again, and a question that was answered is answered alike for nothing."""
    first = StatisticalOracle(Records((ROWS, LABELS), SCHEMA, name="a"), ledger=ledger).conversation(
        5, epsilon=1.0, plan="split"
    )
    told = first.ask(_above(0.0)).value
    again = StatisticalOracle(Records((ROWS, LABELS), SCHEMA, name="a"), ledger=ledger).conversation(
        5, epsilon=1.0, plan="split"
    )
    assert again.left == 4
    assert again.ask(_above(0.0)).value == told
    assert again.left == 4
    for number in range(1, 5):
        again.ask(_above(number))
    assert ledger.spent == Budget(1.0)


def test_the_same_question_has_the_same_answer_and_uses_nothing_up(ledger: Ledger) -> None:
    """A conversation that repeats itself learns nothing and pays nothing."""
    conversation = StatisticalOracle((ROWS, LABELS), bounds=(-6, 6), ledger=ledger).conversation(3, epsilon=0.3)
    first = conversation.ask(_above(0.0))
    again = conversation.ask(_above(0.0))
    assert again.value == first.value
    assert again.repeated
    assert conversation.left == 2
    assert ledger.spent == first.cost


def test_the_better_plan_is_chosen_and_its_tolerance_kept() -> None:
    """The automatic plan has the smaller tolerance of the two, and an asked tolerance is kept."""
    oracle = StatisticalOracle((ROWS, LABELS), bounds=(-6, 6))
    plans = [oracle.conversation(10, epsilon=1.0, plan=plan).plan for plan in ("split", "rounded", "auto")]
    assert plans[2].tolerance == min(plans[0].tolerance, plans[1].tolerance)
    kept = oracle.conversation(10, tolerance=0.2).plan
    assert kept.tolerance <= 0.2
    with pytest.raises(InvalidParameter, match="cannot keep"):
        oracle.conversation(10, tolerance=0.01)


def test_rounded_answers_lie_on_the_public_grid() -> None:
    """Only 1 + 1/g answers are possible, which is what the union bound over conversations counts."""
    conversation = StatisticalOracle((ROWS, LABELS), bounds=(-6, 6)).conversation(20, epsilon=1.0, plan="rounded")
    cells = 55  # the square root of 3,000, rounded up
    for number in range(20):
        value = conversation.ask(_above(number / 10)).value
        assert 0 <= value <= 1
        assert round(value * cells) == pytest.approx(value * cells, abs=1e-9)


def test_wrong_labels_are_corrected_in_a_conversation() -> None:
    """With 30 % of the labels flipped, the answer is about the true ones."""
    rng = np.random.default_rng(2)
    rows = rng.normal(size=(200_000, 1))
    truth = np.where(rows[:, 0] > 0, 1.0, -1.0)
    wrong = np.where(rng.random(len(rows)) < 0.3, -truth, truth)
    conversation = StatisticalOracle((rows, wrong), bounds=(-6, 6)).conversation(2, epsilon=2.0, noise_rate=0.3)
    answer = conversation.ask(StatisticalQuery(lambda t: (t.x0 > 0) & (t.y == -1)))
    assert abs(answer.value) <= answer.tolerance < 0.1


def test_bad_conversations_are_refused() -> None:
    """Several numbers at once, no queries, both a tolerance and an epsilon, a split of more parts than records."""
    oracle = StatisticalOracle((ROWS, LABELS), bounds=(-6, 6))
    with pytest.raises(InvalidParameter, match="single numbers"):
        oracle.conversation(2, epsilon=1.0).ask(Histogram(lambda t: t.y, (1, -1)))  # type: ignore[arg-type]
    for count, options in (
        (0, {"epsilon": 1.0}),
        (2, {}),
        (2, {"epsilon": 1.0, "tolerance": 0.1}),
        (2, {"epsilon": 0.0}),
    ):
        with pytest.raises(InvalidParameter):
            oracle.conversation(count, **options)
    with pytest.raises(InvalidParameter, match="plan must be"):
        oracle.conversation(5_000, epsilon=1.0, plan="split")
