"""Rounds: several adaptive batches for one charge, each with its share of the noise."""

import copy
import ctypes
import math
import os
import pickle
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import joblib
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from support.statistical import fits, sample_size
from tacit import release
from tacit.accounting import Ledger, gaussian_delta
from tacit.budget import Budget
from tacit.errors import InvalidParameter
from tacit.queries import Histogram, Session, StatisticalOracle, StatisticalQuery
from tacit.queries.oracle.plan import Demand
from tacit.queries.oracle.rounds import Rounds

BATCH = Demand.of_queries([StatisticalQuery(lambda t: t.x0)] * 5, 1_000)
COUNTS = st.integers(1, 40)


@given(count=COUNTS, epsilon=st.sampled_from([0.1, 1.0, 5.0]), delta=st.sampled_from([1e-9, 1e-6, 1e-3]))
def test_gaussian_rounds_together_keep_the_budget_and_nearly_use_it_up(
    count: int, epsilon: float, delta: float
) -> None:
    """The squares of the shifts add up to what (epsilon, delta) allows: never more, and 1 % less noise fails."""
    rounds = Rounds(Budget(epsilon, delta), "gaussian", count, BATCH.size)
    total = math.sqrt(count) * BATCH.l2 / rounds.deviation(BATCH)
    assert gaussian_delta(epsilon, total) <= delta
    assert gaussian_delta(epsilon, 1.01 * total) > delta


@given(count=COUNTS, epsilon=st.sampled_from([0.1, 1.0, 5.0]))
def test_laplace_rounds_together_keep_the_budget_and_nearly_use_it_up(count: int, epsilon: float) -> None:
    """The rounds' epsilons add up to the whole: never more, and 1 % less noise would be too little."""
    rounds = Rounds(Budget(epsilon), "laplace", count, BATCH.size)
    total = count * BATCH.l1 / (rounds.deviation(BATCH) / math.sqrt(2))
    assert total <= epsilon < 1.01 * total


@pytest.mark.stats
@pytest.mark.parametrize("kind", ["laplace", "gaussian"])
def test_what_is_drawn_has_the_stated_deviation(kind: Any) -> None:
    """False-alarm rate 1e-9; noise that is 10 % too small (the twin) is noticed."""
    size = sample_size(120_000)
    many = Demand.of_queries([Histogram(lambda t: t.x0, tuple(range(size)))], 1_000)
    rounds = Rounds(Budget(1.0, 1e-6), kind, 2, many.size)
    drawn = release(rounds, None, label="x").value.answer(1, many, lambda: np.zeros(many.size))
    scaled = drawn / rounds.deviation(many)

    def law(values: Any) -> Any:
        if kind == "gaussian":
            return 0.5 * (1 + np.vectorize(math.erf)(values / math.sqrt(2)))
        return np.where(values < 0, 0.5 * np.exp(math.sqrt(2) * values), 1 - 0.5 * np.exp(-math.sqrt(2) * values))

    assert fits(scaled, law)
    assert not fits(0.9 * scaled, law)


def test_all_rounds_are_one_charge_made_before_the_first(tmp_path: Path) -> None:
    """The ledger is charged when rounds are opened, and what is asked adds nothing."""
    ledger = Ledger.create(f"sqlite:///{tmp_path}/ledger.db", name="test", budget=Budget(1.0, 1e-6))
    opened = release(Rounds(Budget(1.0, 1e-6), "gaussian", 3, 5), None, label="x", ledger=ledger).value
    seen = [ledger.spent]
    for number in range(3):
        opened.answer(number, BATCH, lambda: np.zeros(5))
        seen.append(ledger.spent)
    assert seen == [Budget(1.0, 1e-6)] * 4
    assert len(ledger.entries()) == 1


@pytest.mark.parametrize("number", [0, 2, -1])
def test_no_round_is_answered_twice_and_none_that_was_not_agreed_on(number: int) -> None:
    """Round 0 was asked; there are rounds 0 and 1."""
    opened = release(Rounds(Budget(1.0), "laplace", 2, 5), None, label="x").value
    opened.answer(0, BATCH, lambda: np.zeros(5))
    with pytest.raises(InvalidParameter, match="is not open"):
        opened.answer(number, BATCH, lambda: np.zeros(5))


def test_a_round_larger_than_agreed_is_refused_before_its_sums_are_computed() -> None:
    """The errors of drawing were paid for up to a size; beyond it nothing is computed."""

    def never() -> Any:
        raise AssertionError

    opened = release(Rounds(Budget(1.0), "laplace", 1, 4), None, label="x").value
    with pytest.raises(InvalidParameter, match="asks for over 4"):
        opened.answer(0, BATCH, never)


def test_the_better_noise_is_chosen_by_public_facts() -> None:
    """Without a delta Laplace noise; with one, Gaussian noise for many numbers or rounds."""
    assert Rounds.for_demands(Budget(1.0), [BATCH] * 30, 30).noise == "laplace"
    assert Rounds.for_demands(Budget(1.0, 1e-6), [BATCH] * 30, 30).noise == "gaussian"
    single = Demand.of_queries([StatisticalQuery(lambda t: t.x0)], 1_000)
    assert Rounds.for_demands(Budget(1.0, 1e-6), [single], 1).noise == "laplace"


@pytest.mark.parametrize("count", [0, -1, 1.5, True])
def test_there_is_a_whole_number_of_rounds(count: Any) -> None:
    """A round without a share would have no noise to speak of."""
    with pytest.raises(InvalidParameter):
        Rounds(Budget(1.0), "laplace", count, 5)


QUERY = StatisticalQuery(lambda t: t.x0 > 0)


def _carried_out(oracle: StatisticalOracle, strategy: Any, rounds: int = 2) -> Any:
    """Let a strategy ask rounds of one query each."""
    with Session(oracle, Budget(0.2), [[QUERY]] * rounds) as session:
        return strategy(session.ask)


@pytest.fixture
def oracle(ledger: Ledger) -> StatisticalOracle:
    """Give an oracle over a hundred records."""
    rows = np.random.default_rng(0).normal(size=(100, 1))
    return StatisticalOracle((rows, None), bounds=(-5, 5), ledger=ledger)


def _answer(ask: Any, number: int = 0) -> float | None:
    """Return the value of a round, or None if it is refused."""
    try:
        return float(ask(number, [QUERY]).values[0])
    except InvalidParameter:
        return None


@pytest.mark.filterwarnings("ignore:.*multi-threaded, use of fork:DeprecationWarning")
@pytest.mark.parametrize("fork", [os.fork, ctypes.PyDLL(None).fork], ids=["os", "libc"])
@pytest.mark.parametrize("first", ["children", "parent"])
def test_a_strategy_that_forks_gets_one_answer_for_a_round(
    oracle: StatisticalOracle, ledger: Ledger, tmp_path: Path, first: str, fork: Any
) -> None:
    """Six children of a forking strategy would else have an independent answer each, for one charge.

    Python does not see the fork of a C library, and runs nothing after it.
    """

    def strategy(ask: Any) -> list[float | None]:
        mine = [_answer(ask)] if first == "parent" else []
        for number in range(6):
            child = fork()
            if child == 0:
                found = [_answer(ask, each) for each in (0, 1)]
                (tmp_path / f"{number}.answer").write_text(repr([each for each in found if each is not None]))
                os._exit(0)
            assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
        return mine or [_answer(ask)]

    (mine,) = _carried_out(oracle, strategy)
    assert mine is not None
    assert [file.read_text() for file in tmp_path.glob("*.answer")] == ["[]"] * 6
    assert ledger.spent == Budget(0.2)


@pytest.mark.filterwarnings("ignore:.*multi-threaded, use of fork:DeprecationWarning")
@pytest.mark.parametrize("fork", [os.fork, ctypes.PyDLL(None).fork], ids=["os", "libc"])
def test_a_fork_made_while_a_round_is_computed_gets_no_answer(fork: Any) -> None:
    """A handler of signals may fork after the turn was taken; the child would draw other noise for the same sums."""
    opened = release(Rounds(Budget(1.0), "laplace", 2, 5), None, label="x").value
    first, children, answered = os.getpid(), [], 0

    def sums() -> Any:
        children.append(fork())
        return np.zeros(5)

    try:
        opened.answer(0, BATCH, sums)
        answered = 1
    except InvalidParameter as refusal:
        answered = 2 if "one charge has one answer" in str(refusal) else 3
    finally:
        if os.getpid() != first:
            os._exit(answered)
    assert answered == 1
    assert os.waitstatus_to_exitcode(os.waitpid(children[0], 0)[1]) == 2


def test_threads_get_one_answer_for_a_round(oracle: StatisticalOracle) -> None:
    """Eight threads that ask at the same moment, sixteen times over."""

    def strategy(ask: Any) -> list[list[float | None]]:
        barrier = threading.Barrier(8)

        def asked(number: int) -> float | None:
            barrier.wait(60)
            return _answer(ask, number)

        with ThreadPoolExecutor(8) as pool:
            return [list(pool.map(asked, [number] * 8)) for number in range(16)]

    for answers in _carried_out(oracle, strategy, rounds=16):
        assert sum(answer is not None for answer in answers) == 1


@pytest.mark.parametrize("backend", ["loky", "multiprocessing", "threading"])
@pytest.mark.filterwarnings("ignore:.*multi-threaded, use of fork:DeprecationWarning")
def test_workers_get_one_answer_for_a_round(oracle: StatisticalOracle, ledger: Ledger, backend: str) -> None:
    """Whether the question travels by pickle, by fork or not at all, no two workers are answered."""

    def strategy(ask: Any) -> list[float | None]:
        try:
            found = joblib.Parallel(2, backend=backend)(joblib.delayed(_answer)(ask) for _ in range(4))
        except Exception:
            found = []
        return [*found, _answer(ask)]

    answers = _carried_out(oracle, strategy)
    assert sum(answer is not None for answer in answers) == 1
    assert ledger.spent == Budget(0.2)


def test_rounds_cannot_be_sent_anywhere(oracle: StatisticalOracle) -> None:
    """Neither by pickle nor by what joblib and Spark use for functions, nor as a deep copy."""
    from pyspark import cloudpickle

    def strategy(ask: Any) -> None:
        for send in (pickle.dumps, cloudpickle.dumps, copy.deepcopy):
            for what in (ask, ask.__self__, ask.__self__._open):
                with pytest.raises((InvalidParameter, pickle.PicklingError, AttributeError, TypeError)):
                    send(what)

    _carried_out(oracle, strategy)


def test_a_strategy_that_keeps_asking_after_its_session_is_refused(oracle: StatisticalOracle, ledger: Ledger) -> None:
    """What was not asked meanwhile is lost; the next session has rounds of its own."""
    kept: list[Any] = []
    _carried_out(oracle, kept.append)
    assert _answer(kept[0]) is None
    _carried_out(oracle, lambda ask: kept.append(_answer(ask)))
    assert kept[1] is not None
    assert _answer(kept[0], 1) is None
    assert ledger.spent == Budget(0.4)


def test_a_strategy_that_fails_has_paid_and_its_rounds_are_over(oracle: StatisticalOracle, ledger: Ledger) -> None:
    """Its own error is its own; the charge stands, and nothing is left to be asked."""
    kept: list[Any] = []

    def strategy(ask: Any) -> None:
        kept.append(ask)
        ask(0, [QUERY])
        raise KeyError("mine")

    with pytest.raises(KeyError, match="mine"):
        _carried_out(oracle, strategy)
    assert ledger.spent == Budget(0.2)
    assert _answer(kept[0], 1) is None


@pytest.mark.parametrize("number", [True, 0.0, "0", None, np.int64(0), 10**30])
def test_a_round_is_named_by_its_number(oracle: StatisticalOracle, number: Any) -> None:
    """Another name for the same number must not open it a second time."""

    def strategy(ask: Any) -> list[float | None]:
        return [_answer(ask, 0), _answer(ask, number)]

    assert _carried_out(oracle, strategy)[1] is None


def test_a_bad_question_takes_no_turn(oracle: StatisticalOracle) -> None:
    """What is refused before any record is touched may be asked better."""

    def strategy(ask: Any) -> float | None:
        for wrong in (StatisticalQuery(lambda t: t.x7), StatisticalQuery(lambda t: 1 / t.x0)):
            with pytest.raises(InvalidParameter):
                ask(0, [wrong])
        return _answer(ask, 0)

    assert _carried_out(oracle, strategy) is not None
