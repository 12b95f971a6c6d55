"""The oracle: charged first, private by construction, repeatable for nothing, closed to bad questions."""

import json
import pickle
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import support
from tacit.accounting import Ledger
from tacit.accounting.answers import InLedger
from tacit.budget import Budget
from tacit.data import Category, Flag, Key, Moment, Number, Records, Schema
from tacit.errors import BudgetExceeded, InvalidParameter, LedgerBusy, QueryFailed
from tacit.queries import Histogram, Query, RowSums, SecondMoments, StatisticalOracle, StatisticalQuery
from tacit.sums.evaluator import Evaluator

WORKERS = Path(support.__file__).with_name("oracle_workers.py")


X = np.random.default_rng(0).normal(size=(500, 3))


Y = np.where(X[:, 0] + X[:, 1] > 0, 1.0, -1.0)


BOUNDS = (-6.0, 6.0)


SCHEMA = Schema({**{f"x{j}": Number(*BOUNDS) for j in range(3)}, "y": Number(-1, 1)}, target="y")


def _named(name: str) -> Records:
    return Records((X, Y), SCHEMA, name=name)


def _positive(t: Any) -> Any:
    return (t.x0 > 0) & (t.y == 1)


def test_an_answer_says_value_tolerance_confidence_and_cost(ledger: Ledger) -> None:
    """All four are there, the ledger was charged the cost, and the value is as near as was said."""
    oracle = StatisticalOracle((X, Y), bounds=BOUNDS, ledger=ledger)
    answer = oracle.ask(StatisticalQuery(_positive), tolerance=0.2, confidence=0.999)
    assert abs(answer.value - np.mean((X[:, 0] > 0) & (Y == 1))) < 0.1
    assert answer.tolerance <= 0.2
    assert answer.confidence == 0.999
    assert answer.cost == ledger.spent == answer.plan.budget
    for word in ("replace-one", "epsilon=", "delta=0", "n=500", "0.999"):
        assert word in str(answer)


def test_a_preview_costs_nothing_and_touches_no_record(ledger: Ledger, monkeypatch: pytest.MonkeyPatch) -> None:
    """The plan of a preview is the plan that is then carried out; until then no sums are computed."""
    oracle = StatisticalOracle((X, Y), bounds=BOUNDS, ledger=ledger)
    with monkeypatch.context() as patch:
        patch.setattr(Evaluator, "sums", _never)
        plan = oracle.preview([StatisticalQuery(_positive)] * 3, tolerance=0.2)
    assert not ledger.spent
    answers = oracle.ask_all([StatisticalQuery(_positive)] * 3, tolerance=0.2)
    assert {answer.plan for answer in answers} == {plan}
    assert ledger.spent == plan.budget


def test_the_charge_comes_before_the_first_look_at_the_records(ledger: Ledger, monkeypatch: pytest.MonkeyPatch) -> None:
    """When sums are asked for the ledger has the charge, and if the charge is refused nothing is asked."""
    seen = []
    honest = Evaluator.sums

    def watched(self: Evaluator, *args: Any, **kwargs: Any) -> Any:
        seen.append(ledger.spent)
        return honest(self, *args, **kwargs)

    monkeypatch.setattr(Evaluator, "sums", watched)
    oracle = StatisticalOracle((X, Y), bounds=BOUNDS, ledger=ledger)
    oracle.ask(StatisticalQuery(_positive), epsilon=0.75)
    assert seen == [Budget(0.75)]
    with pytest.raises(BudgetExceeded):
        oracle.ask(StatisticalQuery(lambda t: t.x1 > 0), epsilon=0.75)
    assert len(seen) == 1


def test_a_tolerance_beyond_the_budget_names_the_records_that_would_do(ledger: Ledger) -> None:
    """The refusal says how many records would answer within what is left; nothing is charged."""
    oracle = StatisticalOracle((X, Y), bounds=BOUNDS, ledger=ledger)
    with pytest.raises(BudgetExceeded, match=r"\d+ records would do with epsilon=1"):
        oracle.ask(StatisticalQuery(_positive), tolerance=0.0665)
    assert not ledger.spent


def test_a_repeated_question_gets_the_recorded_answer_at_no_cost(ledger: Ledger) -> None:
    """By the same oracle, by its pickle, and by another process's oracle over records of the same name."""
    oracle = StatisticalOracle(_named("ward 7"), ledger=ledger)
    first = oracle.ask(StatisticalQuery(_positive), epsilon=0.2)
    for other in (oracle, pickle.loads(pickle.dumps(oracle)), StatisticalOracle(_named("ward 7"), ledger=ledger)):
        again = other.ask(StatisticalQuery(lambda t: (t.x0 > 0) & (t.y == 1)), epsilon=0.2)
        assert again.value == first.value
        assert again.repeated
        assert again.cost == Budget(0)
    assert ledger.spent == Budget(0.2)


@pytest.mark.parametrize(
    "other",
    [
        lambda oracle: oracle.ask(StatisticalQuery(lambda t: (t.x0 >= 0) & (t.y == 1)), epsilon=0.2),
        lambda oracle: oracle.ask(StatisticalQuery(_positive, high=2.0), epsilon=0.2),
        lambda oracle: oracle.ask(StatisticalQuery(_positive), epsilon=0.1),
        lambda oracle: oracle.ask(StatisticalQuery(_positive), epsilon=0.2, noise_rate=0.1),
    ],
)
def test_another_question_is_charged(ledger: Ledger, other: Any) -> None:
    """What differs in the function, the range, the budget or the noise rate is another question."""
    oracle = StatisticalOracle((X, Y), bounds=BOUNDS, ledger=ledger)
    oracle.ask(StatisticalQuery(_positive), epsilon=0.2)
    assert not other(oracle).repeated
    assert ledger.spent != Budget(0.2)


def test_other_records_are_other_records(ledger: Ledger) -> None:
    """Two oracles over unnamed arrays share no answers, though their questions have the same words."""
    first = StatisticalOracle((X, Y), bounds=BOUNDS, ledger=ledger).ask(StatisticalQuery(_positive), epsilon=0.2)
    second = StatisticalOracle((-X, Y), bounds=BOUNDS, ledger=ledger).ask(StatisticalQuery(_positive), epsilon=0.2)
    assert not second.repeated
    assert first.value != second.value


def test_without_a_ledger_a_repeated_question_gets_the_same_answer() -> None:
    """Averaging over repeated answers gains nothing."""
    oracle = StatisticalOracle((X, Y), bounds=BOUNDS)
    assert len({oracle.ask(StatisticalQuery(_positive), epsilon=0.1).value for _ in range(5)}) == 1


def test_a_rehearsal_is_not_private_not_charged_and_not_recorded(ledger: Ledger) -> None:
    """A seed makes repeatable answers that are marked, cost nothing and are never given to a private question."""
    oracle = StatisticalOracle(_named("a"), ledger=ledger, random_state=3)
    answers = [oracle.ask(StatisticalQuery(_positive), epsilon=0.1) for _ in range(3)]
    assert len({answer.value for answer in answers}) == 3
    assert not any(answer.private for answer in answers)
    assert "NOT private" in str(answers[0])
    again = StatisticalOracle(_named("a"), ledger=ledger, random_state=3)
    assert again.ask(StatisticalQuery(_positive), epsilon=0.1).value == answers[0].value
    assert not ledger.spent
    real = StatisticalOracle(_named("a"), ledger=ledger).ask(StatisticalQuery(_positive), epsilon=0.1)
    assert real.private
    assert not real.repeated


def test_an_answer_that_cannot_be_written_down_was_still_paid_and_is_kept_in_memory(
    ledger: Ledger, monkeypatch: pytest.MonkeyPatch
) -> None:
    """If the ledger is busy at the wrong moment, asking again in this process returns the answer for nothing."""
    oracle = StatisticalOracle((X, Y), bounds=BOUNDS, ledger=ledger)

    def busy(*_: Any) -> None:
        raise LedgerBusy("busy")

    with monkeypatch.context() as patch:
        patch.setattr(InLedger, "record", busy)
        with pytest.raises(LedgerBusy):
            oracle.ask(StatisticalQuery(_positive), epsilon=0.3)
    assert ledger.spent == Budget(0.3)
    assert oracle.ask(StatisticalQuery(_positive), epsilon=0.3).repeated
    assert ledger.spent == Budget(0.3)


def _worker(command: str, oracle: StatisticalOracle, folder: Path) -> subprocess.CompletedProcess[str]:
    (folder / "oracle").write_bytes(pickle.dumps(oracle))
    return subprocess.run(
        [sys.executable, WORKERS, command, folder / "oracle", folder], capture_output=True, text=True, check=False
    )


def test_four_processes_asking_one_oracle_never_overspend(address: str, tmp_path: Path) -> None:
    """Of 80 questions at 0.02 by four processes exactly 50 are answered from a budget of 1."""
    ledger = Ledger.create(address, name="race", budget=Budget(1.0))
    done = _worker("race", StatisticalOracle((X, Y), bounds=BOUNDS, ledger=ledger), tmp_path)
    assert done.returncode == 0, done.stderr
    assert sum(json.loads(done.stdout)) == 50
    assert ledger.spent == Budget(1.0)


def test_an_act_that_finds_its_first_answer_pays_for_its_second(ledger: Ledger) -> None:
    """Two questions of one cost under one ticket: taken up again after the first, the second is charged by itself."""
    first, second = ([StatisticalQuery(_positive), StatisticalQuery(f"x0 > {end}")] for end in (0.1, 0.2))
    for run in (1, 2, 3):
        oracle = StatisticalOracle(_named("ward 8"), ledger=ledger.acting(ticket="act"))
        told = [oracle.ask_all(first, epsilon=0.1)]
        if run > 1:
            told.append(oracle.ask_all(second, epsilon=0.1))
        assert [answers[0].repeated for answers in told] == [run > 1, run > 2][:run]
    assert ledger.spent == Budget(0.2)
    assert len({entry.label for entry in ledger.entries()}) == 1
    assert [entry.ticket for entry in ledger.entries()] == [("act", 1), ("act", 2)]


def test_a_crash_between_charge_and_answer_never_answers_for_free(ledger: Ledger, tmp_path: Path) -> None:
    """Killed after the charge, the oracle has answered nothing; asking again is charged again."""
    oracle = StatisticalOracle(_named("a"), ledger=ledger)
    assert _worker("die", oracle, tmp_path).returncode == -9
    assert ledger.spent == Budget(0.25)
    again = oracle.ask(StatisticalQuery(lambda t: t.x0 > 0), epsilon=0.25)
    assert not again.repeated
    assert ledger.spent == Budget(0.5)


def test_an_engine_that_fails_says_nothing_about_records(ledger: Ledger, monkeypatch: pytest.MonkeyPatch) -> None:
    """The charge stands, and neither the message nor the chain of exceptions quotes what the evaluator said."""

    def failing(*_: Any, **__: Any) -> Any:
        raise ValueError("could not convert string to float: 'Jane Doe'")

    monkeypatch.setattr(Evaluator, "sums", failing)
    with pytest.raises(QueryFailed, match="ValueError") as caught:
        StatisticalOracle((X, Y), bounds=BOUNDS, ledger=ledger).ask(StatisticalQuery(_positive), epsilon=0.5)
    assert "Jane" not in str(caught.value)
    assert caught.value.__cause__ is None
    assert caught.value.__context__ is None
    assert ledger.spent == Budget(0.5)


@pytest.mark.parametrize(
    "query",
    [
        StatisticalQuery(lambda t: t.nowhere),
        StatisticalQuery(lambda t: 1 / 0),
        StatisticalQuery(lambda t: 1 if t.x0 > 0 else 0),
        StatisticalQuery("x0 > "),
        Histogram(lambda t: [t.x0, t.x1], [(1,), (2,)]),
        RowSums(("x0", "x9")),
        SecondMoments(("x0", "x9")),
    ],
)
def test_a_bad_question_is_refused_before_anything_is_charged_or_touched(
    ledger: Ledger, monkeypatch: pytest.MonkeyPatch, query: Query
) -> None:
    """Missing columns, functions that raise, look at several records or branch on them, wrong numbers of columns."""
    monkeypatch.setattr(Evaluator, "sums", _never)
    with pytest.raises(InvalidParameter):
        StatisticalOracle((X, Y), bounds=BOUNDS, ledger=ledger).ask(query, epsilon=0.1)
    assert not ledger.spent


def test_a_function_that_changes_its_mind_is_asked_once() -> None:
    """What is charged, evaluated and recorded is the one expression that the function gave."""
    calls = []

    def fickle(t: Any) -> Any:
        calls.append(t)
        return t.x0 > len(calls)

    StatisticalOracle((X, Y), bounds=BOUNDS).ask(StatisticalQuery(fickle), epsilon=0.1)
    assert len(calls) == 1


def test_what_leaves_the_range_is_clamped_and_what_is_missing_counts_as_declared() -> None:
    """Infinite, huge, missing and impossible values stay in the range, and n stays n."""
    nasty = [np.inf, -np.inf, np.nan, 1e308, 0.5, None, "?", 10**400, [1.0]]
    for missing, expected in ((None, 0.5), (1.0, 1.0), (-3.0, 0.0)):
        schema = Schema({"x0": Number(-5, 6, missing=missing)})
        oracle = StatisticalOracle(Records({"x0": nasty}, schema))
        assert _exact(oracle, StatisticalQuery(lambda t: t.x0)) == pytest.approx((3 + 0.5 + 4 * expected) / 9)


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"tolerance": 0.1, "epsilon": 1.0},
        {"epsilon": 0.0},
        {"epsilon": -1.0},
        {"tolerance": 0.1, "confidence": 1.0},
        {"epsilon": 1.0, "of": "universe"},
        {"epsilon": 1.0, "noise_rate": 0.5},
    ],
)
def test_options_that_make_no_sense_are_refused(ledger: Ledger, options: dict[str, Any]) -> None:
    """Either a tolerance or an epsilon, and everything in its range."""
    with pytest.raises(InvalidParameter):
        StatisticalOracle((X, Y), bounds=BOUNDS, ledger=ledger).ask(StatisticalQuery(_positive), **options)
    assert not ledger.spent


PATIENTS = Schema(
    {
        "age": Number(0, 120),
        "income": Number(0, 1e6),
        "town": Category(["A", "B", "x[/]\0"]),
        "ill": Flag("no", "yes"),
        "seen": Moment("2015-01-01", "2024-12-31"),
        "a\nb": Number(0, 1),
        "id": Key(),
    },
    target="ill",
)


@pytest.mark.parametrize(
    ("query", "label"),
    [
        (StatisticalQuery(lambda t: (t.age > 60) & t.ill), "mean of ((age > 60) & (ill is yes))"),
        (StatisticalQuery(lambda t: t.age * 2 - 1, 0, 99), "mean of ((age * 2) - 1)"),
        (StatisticalQuery(lambda t: t.town.isin(["A", "B"])), "mean of town is A or B"),
        (StatisticalQuery(lambda t: t.town == "x[/]\0"), "mean of town is x[/]?"),
        (StatisticalQuery(lambda t: t.ill.ifelse(t.age, 3), 0, 9), "mean of (age if (ill is yes) else 3)"),
        (StatisticalQuery(lambda t: t.seen > "2020-01-31"), "mean of seen > 2020-01-31"),
        (StatisticalQuery(lambda t: t.seen <= "2020-01-31T12:30"), "mean of seen <= 2020-01-31T12:30:00"),
        (StatisticalQuery(lambda t: t.seen.year == 2020), "mean of seen.year == 2020"),
        (StatisticalQuery(lambda t: t.seen.weekday, 0, 6), "mean of seen.weekday"),
        (StatisticalQuery(lambda t: t["a\nb"]), "mean of a?b"),
        (Histogram(lambda t: [t.town, t.ill], [("A", True), ("B", False)]), "histogram of town, ill"),
        (RowSums(("age", "income"), norm=1.0), "sums of age, income"),
        (RowSums(("age", "income"), lambda t: t.town, ("A", "B")), "sums of age, income by town"),
        (SecondMoments(("age", "a\nb")), "second moments of age, a?b"),
    ],
)
def test_the_ledger_says_what_was_asked(query: Query, label: str, ledger: Ledger) -> None:
    """Entries are labelled by the question, in the words a person would type, or in the asker's own."""
    table = {name: [None, None] for name in PATIENTS.columns}
    oracle = StatisticalOracle(Records(table, PATIENTS, key="id"), ledger=ledger)
    oracle.ask(query, epsilon=0.1)
    oracle.ask_all([query, StatisticalQuery(lambda t: t.age > 9)], epsilon=0.1)
    oracle.ask(query, epsilon=0.05, label="for the board")
    assert [entry.label for entry in ledger.entries()] == [label, f"{label} and 1 more", "for the board"]


def test_long_questions_have_short_labels(ledger: Ledger) -> None:
    """However long a question is, and in a conversation as well."""
    oracle = StatisticalOracle((X, Y), bounds=BOUNDS, ledger=ledger)
    long = StatisticalQuery(lambda t: sum([t.x0 * k for k in range(500)], t.x1), -1e6, 1e6)
    oracle.ask(long, epsilon=0.1)
    oracle.conversation(2, epsilon=0.1, name="talk", plan="rounded").ask(long)
    one, other = (entry.label for entry in ledger.entries())
    assert len(one) <= 210
    assert one.startswith("mean of ")
    assert other.startswith("talk: mean of ")


def test_a_part_of_a_split_is_paid_from_that_part_s_own_account(ledger: Ledger) -> None:
    """Questions about different parts cost together what the dearer costs; the same part again adds up."""
    train, test = Records((X, Y), SCHEMA).split()
    for part in (train, test):
        StatisticalOracle(part, ledger=ledger).ask(StatisticalQuery(_positive), epsilon=0.3)
        assert ledger.spent == Budget(0.3)
    StatisticalOracle(train, ledger=ledger).ask(StatisticalQuery(lambda t: t.x1 > 0), epsilon=0.2)
    assert ledger.spent == Budget(0.5)
    StatisticalOracle(Records((X, Y), SCHEMA), ledger=ledger).ask(StatisticalQuery(_positive), epsilon=0.5)
    assert ledger.spent == Budget(1.0)
    assert train.n + test.n == len(X)


def test_a_stranger_s_query_cannot_state_its_own_bounds(ledger: Ledger) -> None:
    """Only the library's own kinds are answered; a subclass with a smaller bound is refused."""

    class Cheap(StatisticalQuery):  # type: ignore[misc]
        l1 = 1e-6

    with pytest.raises(InvalidParameter, match="Cheap"):
        StatisticalOracle((X, Y), bounds=BOUNDS, ledger=ledger).ask(Cheap(_positive), epsilon=0.1)


def _never(*_: Any, **__: Any) -> Any:
    raise AssertionError("the records were touched")


def _exact(oracle: StatisticalOracle, query: StatisticalQuery) -> float:
    (sums,) = oracle.evaluator.sums([oracle.evaluator.prepare(query)])
    return float(query.answer(sums / oracle.n))
