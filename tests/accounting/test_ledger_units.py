"""A ledger promises for records or for the persons of one column of ids, for good, and takes nothing for others."""

import copy
import pickle
from collections.abc import Callable
from pathlib import Path

import pytest
import sqlalchemy as sa

from tacit.accounting.ledger import Ledger
from tacit.accounting.unit import RECORD, Unit
from tacit.budget import Budget
from tacit.errors import BudgetExceeded, InvalidParameter, LedgerCorrupt
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


LAW = Laplace.for_budget(Budget(0.125), 1.0)
PATIENT, VISIT = Unit.persons("patient"), Unit.persons("visit")


def test_the_first_release_for_persons_fixes_who_they_are(make: Callable[[str], Ledger]) -> None:
    """Every handle refuses another column of ids from then on, rehearsals included, and nothing is charged for it."""
    ledger = make("person")
    assert ledger.whom == Unit(())
    part = ledger.partition("halves", ["a", "b"], fixed_by="key")["a"]
    release(LAW, 1, label="count", ledger=part, unit=PATIENT)
    for handle in (ledger, part, Ledger.open(ledger.address), copy.deepcopy(ledger)):
        assert handle.whom == PATIENT
        for other in (VISIT, "person"):
            for seed in (None, 7):
                with pytest.raises(InvalidParameter, match="each person by 'patient'"):
                    release(LAW, 1, label="count", ledger=handle, random_state=seed, unit=other)  # type: ignore[arg-type]
            with pytest.raises(InvalidParameter, match="Nothing was charged"):
                handle.spend(LAW.event, label="count", unit=other)  # type: ignore[arg-type]
        with pytest.raises(InvalidParameter, match="each person by 'patient'"):
            handle.spend(LAW.event, label="count", unit=RECORD)
    assert ledger.spent == Budget(0.125)
    release(LAW, 1, label="count", ledger=ledger, unit=PATIENT)
    assert ledger.spent == Budget(0.25)
    assert [entry.ids for entry in ledger.entries()] == [None, "patient", None]


def test_a_column_of_ids_is_fixed_where_charges_are_decided(make: Callable[[str], Ledger]) -> None:
    """A handle that saw no column before its transaction began meets the one that another fixed meanwhile."""
    ledger = make("person")
    late = Ledger.open(ledger.address)
    ledger.spend(LAW.event, label="first", unit=PATIENT)
    late.require = lambda unit: None  # type: ignore[method-assign]
    with pytest.raises(InvalidParameter, match="each person by 'patient'"):
        late.spend(LAW.event, label="second", unit=VISIT)
    assert len(ledger.entries()) == 1


def test_a_refused_first_release_fixes_nothing(make: Callable[[str], Ledger]) -> None:
    """What does not fit into the budget leaves no trace of its column."""
    ledger = make("person")
    with pytest.raises(BudgetExceeded):
        ledger.spend(Laplace.for_budget(Budget(2), 1.0).event, label="too much", unit=VISIT)
    assert release(LAW, 1, label="count", ledger=ledger, unit=PATIENT).whom == PATIENT


def test_columns_of_the_same_ids_may_be_declared(tmp_path: Path) -> None:
    """Tables that call the ids of the same persons differently share a ledger that says so from the start."""
    ledger = Ledger.create(tmp_path / "l.db", name="a", budget=Budget(1), unit="person", ids=["patient", "patient_no"])
    for names in ("patient", "patient_no"):
        release(LAW, 1, label="count", ledger=ledger, unit=Unit.persons(names))
    with pytest.raises(InvalidParameter, match="each person by 'patient' or 'patient_no'"):
        release(LAW, 1, label="count", ledger=ledger, unit=VISIT)
    again = Ledger.open(ledger.address)
    assert again.whom == Unit(("patient", "patient_no"))
    assert "ids=['patient', 'patient_no']" in repr(again)
    assert "by 'patient' or 'patient_no'" in repr(again.show())
    same = Ledger.open_or_create(
        ledger.address, name="a", budget=Budget(1), unit="person", ids=["patient_no", "patient"]
    )
    assert same == again
    with pytest.raises(InvalidParameter, match="other terms"):
        Ledger.open_or_create(ledger.address, name="a", budget=Budget(1), unit="person", ids="patient")


@pytest.mark.parametrize(("unit", "ids"), [("record", "patient"), ("person", 3), ("person", [""]), ("person", [3])])
def test_ids_that_are_none_are_refused(tmp_path: Path, unit: str, ids: object) -> None:
    """Before a file is made; records have no ids."""
    with pytest.raises(InvalidParameter, match="ids"):
        Ledger.create(tmp_path / "l.db", name="a", budget=Budget(1), unit=unit, ids=ids)  # type: ignore[arg-type]
    assert not (tmp_path / "l.db").exists()


def test_guarantees_name_the_column_of_ids() -> None:
    """A promise for each patient is another than one for each visit, and does not sound like it."""
    told = release(LAW, 1, label="count", unit=PATIENT)
    assert "replace-one person neighbours by 'patient'; public: who is in the table" in told.guarantee
    assert "by 'visit'" in release(LAW, 1, label="count", unit=VISIT).map(float).guarantee
    assert "by 'groups'" in release(LAW, 1, label="count", unit="person").guarantee
