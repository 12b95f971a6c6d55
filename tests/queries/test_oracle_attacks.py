"""Ways in which an oracle could be made to say more than it charges for, each closed."""

import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy import sparse

from tacit.accounting import Ledger
from tacit.budget import Budget
from tacit.data import Key, Number, Records, Schema
from tacit.errors import InvalidParameter
from tacit.queries import Rounds, RowSums, SecondMoments, StatisticalOracle, StatisticalQuery
from tacit.queries.oracle.plan import Demand, plan_for_budget

ROWS = np.random.default_rng(3).normal(size=(1_000, 2))


@pytest.fixture
def ledger(tmp_path: Path) -> Ledger:
    """Give an account with a budget of 4."""
    return Ledger.create(f"sqlite:///{tmp_path}/ledger.db", name="test", budget=Budget(4.0))


def _database(folder: Path, table: dict[str, Any]) -> tuple[str, str]:
    """Put a table where rows have no place of their own, so that parts are fixed by a key."""
    with closing(sqlite3.connect(folder / "records.db")) as connection:
        pd.DataFrame(table).to_sql("records", connection, index=False)
    return f"sqlite:///{folder}/records.db", "records"


def test_a_cell_that_is_stored_many_times_counts_once() -> None:
    """The parts of a sparse cell are added up before they are clamped."""
    stored = sparse.csr_array((np.ones(1001), np.zeros(1001, dtype=int), [0, 1000, 1001]), shape=(2, 3))
    evaluator = StatisticalOracle((stored, None), bounds=(0, 1)).evaluator
    (sums,) = evaluator.sums([evaluator.prepare(RowSums(("x0", "x1", "x2")))])
    assert sums.tolist() == [2.0, 0.0, 0.0]


def test_other_parts_are_other_parts(ledger: Ledger) -> None:
    """Two splits of the same records in another order are not disjoint: what they cost adds up."""
    query = StatisticalQuery(lambda t: t.x0 > 0)
    for rows in (ROWS, ROWS[::-1].copy()):
        talk = StatisticalOracle((rows, None), bounds=(-6, 6), ledger=ledger).conversation(2, epsilon=1.0, plan="split")
        talk.ask(query)
        talk.ask(StatisticalQuery(lambda t: t.x1 > 0))
    assert ledger.spent == Budget(2.0)


def test_two_keys_of_one_table_are_two_splits(ledger: Ledger, tmp_path: Path) -> None:
    """Parts by one key overlap with parts by another."""
    table = _database(tmp_path, {"x": ROWS[:, 0], "k": np.arange(1_000), "l": np.arange(1_000)[::-1].copy()})
    schema = Schema({"x": Number(-6, 6), "k": Key(), "l": Key()})
    for limit, key in enumerate(("k", "l")):
        people = Records(table, schema, key=key, name="people")
        oracle = StatisticalOracle(people, ledger=ledger)
        oracle.conversation(2, epsilon=1.0, plan="split").ask(StatisticalQuery(lambda t, limit=limit: t.x > limit))
    assert ledger.spent == Budget(2.0)


def test_a_key_without_enough_values_is_no_split(tmp_path: Path) -> None:
    """With an empty part there is nothing to divide by; a small part has the tolerance of its size."""
    few = np.append(np.zeros(990, dtype=int), np.arange(1, 11))
    table = _database(tmp_path, {"x": ROWS[:, 0], "same": np.zeros(1_000, dtype=int), "few": few})
    schema = Schema({"x": Number(-6, 6), "same": Key(), "few": Key()})
    same = Records(table, schema, key="same")
    with pytest.raises(InvalidParameter, match="plan must be"):
        StatisticalOracle(same).conversation(2, epsilon=1.0, plan="split")
    uneven = Records(table, schema, key="few")
    plan = StatisticalOracle(uneven).conversation(2, epsilon=1.0, plan="split").plan
    assert plan.tolerance > 0.5


def test_noise_of_another_name_is_refused() -> None:
    """A misspelt noise must not be charged as one kind and drawn as another."""
    with pytest.raises(InvalidParameter, match="laplace"):
        Rounds(Budget(1.0, 1e-6), "Gaussian", 1, 1)  # type: ignore[arg-type]


def test_another_label_is_another_question(ledger: Ledger) -> None:
    """Which column's labels are corrected belongs to the question."""
    table = {"x": ROWS[:, 0], "a": np.ones(1_000), "b": -np.ones(1_000)}
    query = StatisticalQuery(lambda t: t.a == 1)
    schema = Schema({"x": Number(-6, 6), "a": Number(-1, 1), "b": Number(-1, 1)})
    for label in ("a", "b"):
        oracle = StatisticalOracle(Records(table, schema, name="people"), label=label, ledger=ledger)
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
    oracle = StatisticalOracle((rows, None), bounds=(0, 1))
    answer = oracle.ask(SecondMoments(("x0",)), epsilon=1e6, of="sample")
    assert abs(answer.value[0, 0] - rows[0, 0] ** 2) <= answer.tolerance


@pytest.mark.parametrize("cell", ["Jane Doe", 10**400, object(), None, [1, 2], float("nan"), True])
def test_a_cell_of_another_type_changes_how_no_other_is_read(cell: Any) -> None:
    """One record's cell turns no container into another type, refuses nothing and warns of nothing."""
    rows = [[1.0], [2.5], [cell]]
    evaluator = StatisticalOracle((rows, [1, -1, cell]), bounds=[(-4, 4)]).evaluator
    (found,) = evaluator.sums([evaluator.prepare(StatisticalQuery(lambda t: (t.x0 == 1) | (t.x0 == 2.5)))])
    assert found.tolist() == [2 + (cell is True)]
    (found,) = evaluator.sums([evaluator.prepare(StatisticalQuery(lambda t: t.y == -1))])
    assert found.tolist() == [1]


ODD_ROWS = [[], [1.0] * 2, [1.0] * 3, None, 1.0, "text", object()]


# Named by what they are: an address would differ between the workers of a run.
@pytest.mark.parametrize(
    "odd", ODD_ROWS, ids=lambda odd: f"{type(odd).__name__}{len(odd) if isinstance(odd, list) else 0}"
)
@pytest.mark.parametrize("place", [0, 1])
def test_a_row_of_another_width_is_read_by_itself(odd: Any, place: int) -> None:
    """How many columns there are is said by the bounds: no row decides, not even the first, or is refused."""
    rows: list[Any] = [[1.0], [1.0]]
    rows[place] = odd
    oracle = StatisticalOracle((rows, None), bounds=[(0, 1)])
    assert oracle.columns == ("x0",)
    (found,) = oracle.evaluator.sums([oracle.evaluator.prepare(StatisticalQuery(lambda t: t.x0))])
    assert found.tolist() == [2.0 if isinstance(odd, list) and odd else 1.5]
    with pytest.raises(InvalidParameter, match="a pair of bounds for each column"):
        StatisticalOracle((rows, None), bounds=(0, 1))


@pytest.mark.parametrize("cell", ["1e4000", "-1e4000", "1e-4900", "nan", "inf"])
@pytest.mark.parametrize("make", [np.array, sparse.csr_array, sparse.csc_array, sparse.coo_array])
def test_long_doubles_beyond_all_floats_are_silent(cell: str, make: Any) -> None:
    """Each is clamped or counts as 0, for a caller whose numpy raises too."""
    rows = make(np.array([[np.longdouble(cell)], [np.longdouble(1)]]))
    with np.errstate(all="raise"):
        evaluator = StatisticalOracle((rows, None), bounds=(-4, 4)).evaluator
        (found,) = evaluator.sums([evaluator.prepare(StatisticalQuery(lambda t: t.x0, -4, 4))])
    assert found[0] * 8 - 8 == 1 + {"1e4000": 4, "-1e4000": -4, "inf": 4}.get(cell, 0)
