"""A ledger promises for records or for persons, for good, and takes releases for no other unit."""

import copy
import pickle
from collections.abc import Callable
from pathlib import Path

import pytest
import sqlalchemy as sa

from tacit.accounting.ledger import Ledger
from tacit.budget import Budget
from tacit.errors import InvalidParameter, LedgerCorrupt
from tacit.mechanisms import Laplace
from tacit.releases import release


@pytest.fixture
def make(tmp_path: Path) -> Callable[[str], Ledger]:
    """Open an account for a unit in a file of its own."""

    def made(unit: str) -> Ledger:
        address = f"sqlite:///{tmp_path}/{unit}.db"
        return Ledger.create(address, name="a", budget=Budget(1), unit=unit)  # type: ignore[arg-type]

    return made


def test_a_ledger_remembers_its_unit_in_every_handle(make: Callable[[str], Ledger]) -> None:
    """Opened again, copied, pickled, shown, and in parts."""
    ledger = make("person")
    part = ledger.partition("halves", ["a", "b"], fixed_by="key")["a"]
    handles = [ledger, Ledger.open(ledger.address), copy.deepcopy(ledger), pickle.loads(pickle.dumps(ledger)), part]
    assert all(handle.unit == "person" and "unit='person'" in repr(handle) for handle in handles)


@pytest.mark.parametrize(("unit", "other"), [("person", "record"), ("record", "person")])
def test_a_release_for_the_other_unit_is_refused_and_uncharged(
    make: Callable[[str], Ledger], unit: str, other: str
) -> None:
    """Through the door and past it, rehearsals included, before anything is charged."""
    ledger, law = make(unit), Laplace.for_budget(Budget(0.5), 1.0)
    part = ledger.partition("halves", ["a", "b"], fixed_by="key")["a"]
    for account in (ledger, part):
        for seed in (None, 7):
            with pytest.raises(InvalidParameter, match="promises for each"):
                release(law, 1, label="count", ledger=account, random_state=seed, unit=other)  # type: ignore[arg-type]
        with pytest.raises(InvalidParameter, match="promises for each"):
            account.spend(law.event, label="count", unit=other)  # type: ignore[arg-type]
    assert ledger.spent == Budget(0)
    assert release(law, 1, label="count", ledger=part, unit=unit).unit == unit  # type: ignore[arg-type]
    assert ledger.spent == Budget(0.5)


def test_parts_by_index_are_refused_on_a_ledger_for_persons(make: Callable[[str], Ledger]) -> None:
    """They would cut persons in two, whose halves would then count as one."""
    with pytest.raises(InvalidParameter, match="cut persons in two"):
        make("person").partition("halves", ["a", "b"], fixed_by="index")


def test_what_says_no_unit_is_for_records(make: Callable[[str], Ledger]) -> None:
    """A function that knows nothing of persons cannot charge a ledger for them by accident."""
    with pytest.raises(InvalidParameter, match="promises for each person"):
        release(Laplace.for_budget(Budget(0.5), 1.0), 1, label="count", ledger=make("person"))


def test_guarantees_name_the_unit() -> None:
    """A sentence about persons says so, and that the number of persons is public, not that of rows."""
    law = Laplace.for_budget(Budget(0.5), 1.0)
    assert "replace-one neighbours; public: n" in release(law, 1, label="count").guarantee
    assert "replace-one person" in release(law, 1, label="count", unit="person").guarantee
    assert "how many persons" in release(law, 1, label="count", unit="person").map(float).guarantee


@pytest.mark.parametrize("unit", ["patient", None, 3, ["person"]])
def test_no_other_unit_is_known(make: Callable[[str], Ledger], unit: object) -> None:
    """Nonsense is refused before a file is made or noise drawn."""
    with pytest.raises(InvalidParameter, match="unit must be"):
        make(unit)  # type: ignore[arg-type]
    with pytest.raises(InvalidParameter, match="unit must be"):
        release(Laplace.for_budget(Budget(0.5), 1.0), 1, label="count", unit=unit)  # type: ignore[arg-type]


def test_a_unit_that_was_changed_is_noticed(make: Callable[[str], Ledger]) -> None:
    """The first hash covers the unit."""
    ledger = make("person")
    ledger.spend(Laplace.for_budget(Budget(0.5), 1.0).event, label="one", unit="person")
    engine = sa.create_engine(ledger.address)
    with engine.begin() as connection:
        connection.exec_driver_sql("UPDATE tacit_account SET terms = replace(terms, '\"person\"', '\"record\"')")
    with pytest.raises(LedgerCorrupt):
        Ledger.open(ledger.address)
