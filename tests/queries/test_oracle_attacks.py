"""Ways in which an oracle could be made to say more than it charges for, each closed."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy import sparse

from tacit.accounting import Ledger
from tacit.budget import Budget
from tacit.errors import InvalidParameter
from tacit.queries import Rounds, RowSums, SecondMoments, StatisticalOracle, StatisticalQuery
from tacit.queries.plan import Demand, plan_for_budget

ROWS = np.random.default_rng(3).normal(size=(1_000, 2))


@pytest.fixture
def ledger(tmp_path: Path) -> Ledger:
    """Give an account with a budget of 4."""
    return Ledger.create(f"sqlite:///{tmp_path}/ledger.db", name="test", budget=Budget(4.0))


@pytest.mark.parametrize("ask", [lambda t: t.x0.isin([t.x1]), lambda t: t.x0.notin([1.0, t.x1])])
def test_isin_takes_constants_only(ask: Any) -> None:
    """Membership in a column would be about all records at once."""
    with pytest.raises(InvalidParameter, match="isin with a column"):
        StatisticalOracle((ROWS, None)).ask(StatisticalQuery(ask), epsilon=0.1)


def test_a_cell_that_is_stored_many_times_counts_once() -> None:
    """The parts of a sparse cell are added up before they are clamped."""
    stored = sparse.csr_array((np.ones(1001), np.zeros(1001, dtype=int), [0, 1000, 1001]), shape=(2, 3))
    engine = StatisticalOracle((stored, None)).engine
    (sums,) = engine.sums([engine.prepare(RowSums(("x0", "x1", "x2")))])
    assert sums.tolist() == [2.0, 0.0, 0.0]


def test_other_parts_are_other_parts(ledger: Ledger) -> None:
    """Two splits of the same records in another order are not disjoint: what they cost adds up."""
    query = StatisticalQuery(lambda t: t.x0 > 0)
    for rows in (ROWS, ROWS[::-1].copy()):
        talk = StatisticalOracle((rows, None), ledger=ledger).conversation(2, epsilon=1.0, plan="split")
        talk.ask(query)
        talk.ask(StatisticalQuery(lambda t: t.x1 > 0))
    assert ledger.spent == Budget(2.0)


def test_two_keys_of_one_table_are_two_splits(ledger: Ledger) -> None:
    """Parts by one key overlap with parts by another."""
    table = {"x": ROWS[:, 0], "k": np.arange(1_000), "l": np.arange(1_000)[::-1].copy()}
    for limit, key in enumerate(("k", "l")):
        oracle = StatisticalOracle(table, key=key, ledger=ledger, name="people")
        oracle.conversation(2, epsilon=1.0, plan="split").ask(StatisticalQuery(lambda t, limit=limit: t.x > limit))
    assert ledger.spent == Budget(2.0)


def test_a_key_without_enough_values_is_no_split() -> None:
    """With an empty part there is nothing to divide by; a small part has the tolerance of its size."""
    table = {"x": ROWS[:, 0], "same": np.zeros(1_000, dtype=int)}
    with pytest.raises(InvalidParameter, match="plan must be"):
        StatisticalOracle(table, key="same").conversation(2, epsilon=1.0, plan="split")
    few = {"x": ROWS[:, 0], "few": np.append(np.zeros(990, dtype=int), np.arange(1, 11))}
    plan = StatisticalOracle(few, key="few").conversation(2, epsilon=1.0, plan="split").plan
    assert plan.tolerance > 0.5


def test_noise_of_another_name_is_refused() -> None:
    """A misspelt noise must not be charged as one kind and drawn as another."""
    with pytest.raises(InvalidParameter, match="laplace"):
        Rounds(Budget(1.0, 1e-6), "Gaussian", (1,), 1)  # type: ignore[arg-type]


def test_another_label_is_another_question(ledger: Ledger) -> None:
    """Which column's labels are corrected belongs to the question."""
    table = {"x": ROWS[:, 0], "a": np.ones(1_000), "b": -np.ones(1_000)}
    query = StatisticalQuery(lambda t: t.a == 1)
    for label in ("a", "b"):
        oracle = StatisticalOracle(table, label=label, ledger=ledger, name="people")
        assert not oracle.ask(query, epsilon=0.5, noise_rate=0.4).repeated


def test_wrong_labels_make_the_sample_uncertain() -> None:
    """Of a sample with wrong labels the tolerance includes that nobody knows which are wrong."""
    query = [StatisticalQuery(lambda t: t.y == 1)]
    right = plan_for_budget(Demand.of_queries(query, 2_000, of="sample"), Budget(50.0))
    wrong = plan_for_budget(Demand.of_queries(query, 2_000, of="sample", noise_rate=0.4), Budget(50.0))
    assert right.tolerance < 1e-3
    assert wrong.tolerance > 0.1


def test_rounding_to_whole_steps_is_in_the_tolerance() -> None:
    """Second moments of rows that lie between two steps are off by more than noise at a large epsilon."""
    rows = np.full((4_096, 1), 20_000.49 / 2**16)
    oracle = StatisticalOracle((rows, None))
    answer = oracle.ask(SecondMoments(("x0",)), epsilon=1e6, of="sample")
    assert abs(answer.value[0, 0] - rows[0, 0] ** 2) <= answer.tolerance


def test_reserved_names_are_refused() -> None:
    """A column that is called as an engine's own would be taken for it."""
    with pytest.raises(InvalidParameter, match="tacit_"):
        StatisticalOracle({"x": [1.0, 2.0], "tacit_float_x": [3.0, 4.0]})


@pytest.mark.parametrize("rows", [[["Jane Doe"]], [[10**400]], [[object()]]])
def test_refusals_have_no_context_that_quotes_a_record(rows: Any) -> None:
    """What numpy says about a cell is not even in the exception's context."""
    with pytest.raises(InvalidParameter, match="matrix of numbers") as caught:
        StatisticalOracle((rows, None))
    assert caught.value.__context__ is None


def test_files_of_different_types_are_refused(tmp_path: Path) -> None:
    """The types of one file must not decide how another's records are converted."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    pq.write_table(pa.table({"x": pa.array([1], pa.int32())}), tmp_path / "a.parquet")
    pq.write_table(pa.table({"x": pa.array([2**40], pa.int64())}), tmp_path / "b.parquet")
    with pytest.raises(InvalidParameter, match="same types"):
        StatisticalOracle(tmp_path)


def test_timestamps_of_different_scales_are_not_compared() -> None:
    """A conversion between them fails far from today, on one record."""
    import pyarrow as pa

    table = pa.table({"a": pa.array([0], pa.timestamp("us")), "b": pa.array([0], pa.timestamp("ns"))})
    with pytest.raises(InvalidParameter, match="different kinds"):
        StatisticalOracle(table).ask(StatisticalQuery(lambda t: t.a > t.b), epsilon=1.0)
