"""How well a schema fits is told with noise, for one charge."""

import math
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from support.opened import view_of
from tacit import Budget, Ledger, Records, Schema
from tacit.data import Category, Flag, Key, Moment, Number
from tacit.data.mismatches import mismatches
from tacit.errors import BudgetExceeded, InvalidParameter
from tacit.mechanisms import Gaussian, Laplace

N = 4_000
SCHEMA = Schema(
    {
        "id": Key(),
        "age": Number(0, 100),
        "ward": Category(["A", "B"]),
        "day": Moment("2020-01-01", "2020-12-31"),
        "kind": Category(["x", "rest"], other="rest"),
        "ill": Flag(),
    },
    target="ill",
)


def _table(n: int = N) -> dict[str, list[object]]:
    """A tenth of the ages is missing, a fifth too large; half of the wards are lower case; all kinds are others."""
    return {
        "id": list(range(n)),
        "age": [None if i % 10 == 0 else 500 if i % 5 == 1 else 50 for i in range(n)],
        "ward": ["a" if i % 2 else " A " for i in range(n)],
        "day": ["2020-06-01"] * n,
        "kind": ["something else"] * n,
        "ill": [True] * n,
    }


def _counts(records: Records) -> Any:
    """Return the counts of missing and of undeclared cells, before any noise."""
    return view_of(records).mismatches(tuple(records.columns))


def test_the_shares_are_those_of_the_records_up_to_the_stated_noise():
    """Missing, out of bounds and of no level are counted apart, column by column."""
    with pytest.warns(UserWarning, match="Compare the schema with the codebook"):
        found = mismatches(Records(_table(), SCHEMA), epsilon=50.0, confidence=1 - 1e-9)
    truth = {"age": (0.1, 0.2), "ward": (0.0, 0.5), "day": (0.0, 0.0), "kind": (0.0, 1.0), "ill": (0.0, 0.0)}
    assert [each.column for each in found.columns] == list(truth)
    for name, shares in truth.items():
        assert (found[name].missing, found[name].undeclared) == pytest.approx(shares, abs=found.noise_error)


def test_words_are_said_above_five_per_cent_and_not_where_a_level_takes_in_the_rest():
    """The warning names the column and what is wrong, never a value; `other` is no surprise."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        found = Records(_table(), SCHEMA).mismatches(epsilon=50.0)
    said = [str(warning.message) for warning in caught]
    assert len(said) == len(found.words) == 3
    assert [next(name for name in ("age", "ward", "kind") if f"'{name}'" in each) for each in said] == [
        "age", "age", "ward"
    ]  # fmt: skip
    assert "something else" not in "".join(said)


def test_one_charge_pays_for_all_columns_and_a_part_pays_from_its_own_account(tmp_path):
    """Two parts cost the larger of both; what does not fit is refused before a record is read."""
    ledger = Ledger.create(f"sqlite:///{tmp_path}/ledger.db", name="d", budget=Budget(1.0))
    one, other = Records(_table(), SCHEMA, key="id").split(0.5, 0.5, by="key")
    with pytest.warns(UserWarning, match="codebook"):
        one.mismatches(epsilon=0.9, ledger=ledger)
    with pytest.warns(UserWarning, match="codebook"):
        other.mismatches(epsilon=0.4, ledger=ledger)
    assert ledger.spent == Budget(0.9)
    with pytest.raises(BudgetExceeded):
        one.mismatches(epsilon=0.2, ledger=ledger)


@pytest.mark.parametrize("delta", [0.0, 1e-6])
def test_the_noise_is_made_for_a_record_that_changes_every_column(delta):
    """A replacement moves two counts in each of five columns: L1 sensitivity 10, L2 sensitivity sqrt(10)."""
    good = {name: column[:1] * 3 for name, column in _table().items()}
    good |= {"age": [50] * 3, "ward": ["A"] * 3, "kind": ["x"] * 3}
    one = {**good, "age": [50, 50, None], "ward": ["A", "A", None], "day": ["2020-06-01"] * 2 + [None]}
    one |= {"kind": ["x", "x", None], "ill": [True, True, None]}
    other = {**one, "age": [50, 50, 500], "ward": ["A", "A", "?"], "day": ["2020-06-01"] * 2 + ["2031-01-01"]}
    other |= {"kind": ["x", "x", "?"], "ill": [True, True, "?"]}
    counts = [_counts(Records(each, SCHEMA)) for each in (one, other)]
    moved = counts[0] - counts[1]
    assert np.abs(moved).sum() == 10.0
    assert np.square(moved).sum() == 10.0
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = mismatches(Records(one, SCHEMA), epsilon=0.5, delta=delta, confidence=0.95)
    budget, level = Budget(0.5, delta), 1 - 0.05 / 10
    right, weak = (
        Laplace.for_budget(budget, scale * 10.0, (5, 2)).error(level)
        if delta == 0
        else Gaussian.for_budget(budget, scale * math.sqrt(10.0), (5, 2)).error(level)
        for scale in (1.0, 0.9)
    )
    assert found.noise_error * 3 == pytest.approx(right)
    assert found.noise_error * 3 > 1.05 * weak


OWNED = {
    "id": ["ann", "ann", "ann", "bob", None, None],
    "age": [None, 500, 50, 50, 500, None],
    "ward": ["A", "A", "?", "B", " b ", "A"],
    "day": ["2020-06-01"] * 6,
    "kind": ["x"] * 6,
    "ill": [True] * 6,
}
PERSONS = Schema({**SCHEMA.columns, "day": Category(["2020-06-01"])}, target="ill")
SHARES = {"age": (1 / 3 + 1, 1 / 3 + 1), "ward": (0.0, 1 / 3 + 1)}
"""Four persons: ann with three rows, bob with one, and a row each of two whose id is missing."""


def test_persons_count_the_shares_of_their_rows() -> None:
    """The numbers are of whole persons, each of whom counts once at most."""
    found = _counts(Records(OWNED, PERSONS, unit="id"))
    places = {name: place for place, name in enumerate(name for name in PERSONS.columns if name != "id")}
    for name, shares in SHARES.items():
        assert found[places[name]] == pytest.approx(shares, abs=2.0**-19)
        assert np.all(found[places[name]] <= shares)


@pytest.mark.parametrize("rows", [1, 2, 3, 700])
def test_a_person_moves_counts_by_no_more_than_a_record_does(rows: int) -> None:
    """However many rows they have in either table: two shares a column, which together are at most one."""
    coins = np.random.default_rng(rows)

    def counted(mine: int) -> Any:
        ages = coins.choice([np.nan, 500.0, 50.0], mine)
        table = {"id": [*["ann"] * mine, "bob"], "age": [*ages, 50.0]}
        return _counts(Records(table, Schema({"id": Key(), "age": Number(0, 100)}), unit="id"))[0]

    for _ in range(5):
        one, other = counted(rows), counted(int(coins.integers(1, 30)))
        assert one.sum() <= 1.0
        assert np.abs(one - other).sum() <= 2.0
        assert np.square(one - other).sum() <= 2.0


def test_mismatches_of_persons_are_charged_and_said_for_persons(tmp_path: Path) -> None:
    """The release names persons, counts persons and not rows, and a ledger for records refuses it."""
    table = {name: cells * 500 for name, cells in OWNED.items()}
    table["id"] = [None if each is None else f"{each}{place // 6}" for place, each in enumerate(table["id"])]
    records = Records(table, PERSONS, unit="id")
    ledger = Ledger.create(f"sqlite:///{tmp_path}/l.db", name="x", budget=Budget(9), unit="person")
    with pytest.warns(UserWarning, match="codebook"):
        found = records.mismatches(epsilon=5.0, ledger=ledger)
    assert (found.release.unit, ledger.spent) == ("person", Budget(5.0))
    assert "person" in found.release.guarantee
    assert found["age"].missing == pytest.approx(SHARES["age"][0] / 4, abs=3 * found.noise_error)
    part, _ = records.split(0.5, 0.5, by="key")
    with pytest.warns(UserWarning, match="codebook"):
        assert part.mismatches(epsilon=1e3, random_state=1)["ward"].undeclared == pytest.approx(1 / 3, abs=0.1)
    for_records = Ledger.create(f"sqlite:///{tmp_path}/r.db", name="x", budget=Budget(9))
    with pytest.raises(InvalidParameter):
        records.mismatches(epsilon=1.0, ledger=for_records)
    assert not for_records.spent
