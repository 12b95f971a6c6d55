"""Parallel composition: spends on disjoint parts of the records cost the largest of them."""

import itertools
import tempfile
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from dp_accounting import dp_event
from hypothesis import given, settings
from hypothesis import strategies as st

from tacit.accounting import EpsilonDeltaDpEvent, Ledger, parallel
from tacit.accounting.history import History, Partition
from tacit.accounting.links import PartPath as Parts
from tacit.budget import Budget
from tacit.errors import BudgetExceeded, InvalidParameter

TENTH = dp_event.LaplaceDpEvent(10.0)
HALF = dp_event.LaplaceDpEvent(2.0)


@pytest.fixture
def ledger(address: str) -> Ledger:
    """Give an account of epsilon 1."""
    return Ledger.create(address, name="clinic", budget=Budget(1.0))


def test_parts_cost_the_largest_of_them(ledger: Ledger) -> None:
    """Spends on parts raise the account only beyond what the dearest part has spent already."""
    train, test, spare = ledger.partition("split", ["train", "test", "spare"], fixed_by="index").values()
    train.spend(HALF, label="fit")
    test.spend(TENTH, label="score")
    test.spend(HALF, label="score again")
    assert (train.spent, test.spent, spare.spent, ledger.spent) == (Budget(0.5), Budget(0.6), Budget(0), Budget(0.6))
    assert (train.remaining, test.remaining, spare.remaining, ledger.remaining) == (
        Budget(0.5),
        Budget(0.4),
        Budget(1.0),
        Budget(0.4),
    )


def test_parts_and_the_whole_add_up(ledger: Ledger) -> None:
    """What is asked about all records adds to what is asked about a part."""
    left, right = ledger.partition("halves", ["left", "right"], fixed_by="key").values()
    ledger.spend(HALF, label="everyone")
    left.spend(HALF, label="left")
    assert ledger.spent == Budget(1.0)
    right.spend(HALF, label="right")
    assert ledger.spent == Budget(1.0)
    for handle in (ledger, left, right):
        with pytest.raises(BudgetExceeded):
            handle.spend(TENTH, label="more")


def test_a_refusal_in_a_part_names_the_part_and_what_is_left_there(ledger: Ledger) -> None:
    """A part that runs dry says so, with what is left in this part."""
    left, right = ledger.partition("halves", ["left", "right"], fixed_by="index").values()
    left.spend(dp_event.LaplaceDpEvent(1.0), label="all of it")
    right.spend(dp_event.LaplaceDpEvent(1.25), label="most of it")
    with pytest.raises(BudgetExceeded, match=r"epsilon=0.5.*epsilon=0.2.*is left.*'right' of 'halves'"):
        right.spend(HALF, label="too much")
    assert ledger.spent == Budget(1.0)


def test_partitions_nest(ledger: Ledger) -> None:
    """A part can be partitioned again, and the largest is taken level by level."""
    north, south = ledger.partition("region", ["north", "south"], fixed_by="key").values()
    young, old = north.partition("age at entry", ["young", "old"], fixed_by="key").values()
    young.spend(HALF, label="young in the north")
    old.spend(TENTH, label="old in the north")
    north.spend(TENTH, label="all in the north")
    south.spend(HALF, label="all in the south")
    assert (young.spent, old.spent, north.spent, south.spent, ledger.spent) == (
        Budget(0.5),
        Budget(0.1),
        Budget(0.6),
        Budget(0.5),
        Budget(0.6),
    )
    assert (young.remaining, old.remaining, north.remaining, south.remaining, ledger.remaining) == (
        Budget(0.4),
        Budget(0.8),
        Budget(0.4),
        Budget(0.5),
        Budget(0.4),
    )
    old.spend(dp_event.LaplaceDpEvent(1.25), label="exactly what is left")
    assert ledger.remaining == Budget(0)


def test_two_partitions_of_the_same_records_add_up(ledger: Ledger) -> None:
    """A record lies in one part of each partition, so different partitions compose in sequence."""
    first = ledger.partition("by ward", ["a", "b"], fixed_by="key")
    second = ledger.partition("by doctor", ["a", "b"], fixed_by="key")
    for parts in (first, second):
        for part in parts.values():
            part.spend(HALF, label="each")
    assert ledger.spent == Budget(1.0)


def test_epsilon_and_delta_are_maximised_apart(tmp_path: Path) -> None:
    """One part's epsilon and another's delta together bound the account."""
    ledger = Ledger.create(f"sqlite:///{tmp_path}/ledger.db", name="a", budget=Budget(1.0, 1e-6))
    left, right = ledger.partition("halves", ["left", "right"], fixed_by="index").values()
    left.spend(EpsilonDeltaDpEvent(0.5, 1e-9), label="epsilon")
    right.spend(EpsilonDeltaDpEvent(0.1, 1e-7), label="delta")
    assert ledger.spent == parallel([left.spent, right.spent]) == Budget(0.5, 1e-7)


def test_the_price_in_a_part_is_what_the_account_would_lose(ledger: Ledger) -> None:
    """A part that lags behind its siblings spends without cost to the account until it catches up."""
    left, right = ledger.partition("halves", ["left", "right"], fixed_by="index").values()
    left.spend(HALF, label="left")
    assert right.price(TENTH) == Budget(0)
    assert right.price(dp_event.LaplaceDpEvent(1.0)) == Budget(0.5)
    right.spend(TENTH, label="free for the account")
    assert ledger.spent == Budget(0.5)


def test_asking_again_returns_the_same_parts(ledger: Ledger, address: str) -> None:
    """A partition is declared once and for all; asking again, from any handle, finds it."""
    parts = ledger.partition("halves", ["left", "right"], fixed_by="index")
    parts["left"].spend(HALF, label="left")
    again = Ledger.open(address).partition("halves", ("left", "right"), fixed_by="index")
    assert again == parts
    assert again["left"].spent == Budget(0.5)
    assert [entry.label for entry in ledger.entries()] == ["halves", "left"]
    declaration = ledger.entries()[0]
    assert (declaration.amount, declaration.event) == (Budget(0), None)
    assert declaration.partition == Partition(("left", "right"), "index")


@pytest.mark.parametrize(
    ("parts", "fixed_by"),
    [(["left"], "index"), (["left", "right", "middle"], "index"), (["a", "b"], "index"), (["left", "right"], "key")],
)
def test_a_partition_cannot_be_redefined(ledger: Ledger, parts: list[str], fixed_by: Any) -> None:
    """Other parts or another reason under a known name are refused and leave the first as it was."""
    ledger.partition("halves", ["left", "right"], fixed_by="index")
    with pytest.raises(InvalidParameter, match=r"'halves' exists, fixed by index, with .*left, right"):
        ledger.partition("halves", parts, fixed_by=fixed_by)
    assert len(ledger.entries()) == 1


@pytest.mark.parametrize(
    "wrong",
    [
        {"name": ""}, {"name": None}, {"name": 3}, {"name": "a\nb"}, {"parts": []}, {"parts": None}, {"parts": 5},
        {"parts": "ab"}, {"parts": ["a", "a"]}, {"parts": ["a", ""]}, {"parts": ["a", 1]}, {"parts": [["a"]]},
        {"parts": {"a": 1}}, {"parts": (part for part in "ab")}, {"parts": ["a", "x" * 1001]}, {"fixed_by": "value"},
        {"fixed_by": None}, {"fixed_by": ["index"]},
    ],
    ids=lambda wrong: next(iter(wrong)),
)  # fmt: skip
def test_a_partition_that_makes_no_sense_is_refused(tmp_path: Path, wrong: dict[str, Any]) -> None:
    """Bad names, parts that are none, and unsafe reasons are refused and nothing is recorded."""
    ledger = Ledger.create(f"sqlite:///{tmp_path}/ledger.db", name="a", budget=Budget(1.0))
    named = {"name": "p", "parts": ["a", "b"], "fixed_by": "index", **wrong}
    with pytest.raises(InvalidParameter):
        ledger.partition(named["name"], named["parts"], fixed_by=named["fixed_by"])
    with pytest.raises(TypeError, match="fixed_by"):
        ledger.partition("p", ["a", "b"])  # type: ignore[call-arg]
    assert ledger.entries() == []


def test_parts_of_a_renyi_account_compose_in_parallel(tmp_path: Path) -> None:
    """Divergences take the largest part too, and what is left in a part can be spent to the end."""
    address = f"sqlite:///{tmp_path}/ledger.db"
    ledger = Ledger.create(address, name="a", budget=Budget(2.0, 1e-6), accountant="renyi")
    left, right = ledger.partition("halves", ["left", "right"], fixed_by="index").values()
    left.spend(dp_event.GaussianDpEvent(10.0), label="left")
    once = ledger.spent
    right.spend(dp_event.GaussianDpEvent(10.0), label="right")
    assert ledger.spent == left.spent == right.spent == once
    left.spend(dp_event.GaussianDpEvent(10.0), label="left again")
    assert right.remaining.exact_epsilon - left.remaining.exact_epsilon == left.spent.exact_epsilon - once.exact_epsilon
    room = (right.remaining.exact_epsilon) / right.price(dp_event.GaussianDpEvent(2.0)).exact_epsilon
    assert room < 1
    with pytest.raises(BudgetExceeded, match=r"Renyi divergence of .* at order"):
        right.spend(dp_event.GaussianDpEvent(2.0), label="too much")
    while right.price(dp_event.GaussianDpEvent(10.0)) <= ledger.remaining:
        right.spend(dp_event.GaussianDpEvent(10.0), label="until dry")
    assert len(ledger.entries()) > 10
    assert ledger.spent <= ledger.budget
    assert right.remaining == ledger.remaining <= left.remaining


amounts = st.builds(
    lambda epsilon, delta: Budget(Fraction(epsilon, 100), Fraction(delta, 10**9)), st.integers(0, 50), st.integers(0, 9)
)


@st.composite
def histories(draw: st.DrawFn) -> tuple[dict[tuple[Parts, str], Partition], list[tuple[Parts, Budget]]]:
    """Draw nested partitions, and spends at random places in them."""
    partitions: dict[tuple[Parts, str], Partition] = {}
    places: list[Parts] = [()]
    for number in range(draw(st.integers(0, 4))):
        where = draw(st.sampled_from(places))
        parts = tuple("abc"[: draw(st.integers(1, 3))])
        partitions[where, f"p{number}"] = Partition(parts, "index")
        places += [(*where, (f"p{number}", part)) for part in parts]
    return partitions, draw(st.lists(st.tuples(st.sampled_from(places), amounts), max_size=12))


def _worst_record(partitions: dict[tuple[Parts, str], Partition], spends: list[tuple[Parts, Budget]]) -> Budget:
    """Charge every possible record with the spends it is subject to, and take the worst.

    A record lies in one part of every partition; it is subject to a spend if it lies in all of its parts.
    """
    names = list(partitions)
    totals = []
    for choice in itertools.product(*(partitions[name].parts for name in names)):
        lies_in = {(where, name): part for (where, name), part in zip(names, choice, strict=True)}
        totals.append(
            sum(
                (
                    amount
                    for path, amount in spends
                    if all(lies_in[path[:depth], name] == part for depth, (name, part) in enumerate(path))
                ),
                Budget(0),
            )
        )
    return Budget.largest(totals)


@given(histories())
def test_a_history_costs_what_its_worst_record_pays(
    drawn: tuple[dict[tuple[Parts, str], Partition], list[tuple[Parts, Budget]]],
) -> None:
    """The total equals brute force over all records, and never exceeds the sum of all spends."""
    partitions, spends = drawn
    history = History(0, "", partitions=partitions)
    for path, amount in spends:
        history = history.with_amount(path, amount)
    assert history.total() == _worst_record(partitions, spends)
    assert history.total() <= sum((amount for _, amount in spends), Budget(0))


@settings(max_examples=12)
@given(histories())
def test_a_ledger_keeps_what_its_worst_record_pays(
    drawn: tuple[dict[tuple[Parts, str], Partition], list[tuple[Parts, Budget]]],
) -> None:
    """Accepted spends never exceed the budget for any record, refused ones would have, and all that is left fits."""
    partitions, spends = drawn
    budget = Budget(1.0, 1e-8)
    with tempfile.TemporaryDirectory() as folder:
        handles: dict[Parts, Ledger] = {
            (): Ledger.create(f"sqlite:///{folder}/ledger.db", name="a", budget=budget),
        }
        for (where, name), partition in partitions.items():
            parts = handles[where].partition(name, partition.parts, fixed_by="index")
            handles |= {(*where, (name, part)): handle for part, handle in parts.items()}
        accepted: list[tuple[Parts, Budget]] = []
        for path, amount in spends:
            tried = [*accepted, (path, amount)]
            try:
                handles[path].spend(EpsilonDeltaDpEvent(amount.epsilon, amount.delta), label="spend")
                accepted = tried
                assert _worst_record(partitions, accepted) <= budget
            except BudgetExceeded:
                assert not _worst_record(partitions, tried) <= budget
        assert handles[()].spent == _worst_record(partitions, accepted)
        path, last = max(handles.items(), key=lambda item: len(item[0]))
        left = last.remaining
        with pytest.raises(BudgetExceeded):
            last.spend(EpsilonDeltaDpEvent(left.epsilon + 0.01, 0.0), label="more than is left")
        last.spend(EpsilonDeltaDpEvent(left.epsilon, left.delta), label="all that is left")
        assert not last.remaining


def test_parallel_costs_the_largest() -> None:
    """The function for budgets fixed in advance takes the largest epsilon and delta, of nothing nothing."""
    assert parallel([Budget(0.5), Budget(0.1, 1e-6), Budget(0.3)]) == Budget(0.5, 1e-6)
    assert parallel(budget for budget in [Budget(0.5), Budget(0.7)]) == Budget(0.7)
    assert parallel([]) == Budget(0)


def test_a_handle_that_looks_writes_nothing(tmp_path):
    """It prices parts that are not named yet, and those that are; charging, noting and naming are refused."""
    ledger = Ledger.create(tmp_path / "l.db", name="l", budget=Budget(1))
    looking, head = ledger.looking(), ledger.head
    part = looking.partition("site", ["north", "south"], fixed_by="key")["north"]
    event = EpsilonDeltaDpEvent(0.5, 0.0)
    assert (part.remaining, part.affords(event), part.price(event)) == (Budget(1), True, Budget(0.5))
    for writing in (
        lambda: part.spend(event, label="a"),
        lambda: looking.note("a"),
        lambda: looking.spend(event, label="a"),
    ):
        with pytest.raises(InvalidParameter, match="only looks"):
            writing()
    assert ledger.head == head
    ledger.partition("site", ["north", "south"], fixed_by="key")["north"].spend(event, label="a")
    parts = looking.partition("site", ["north", "south"], fixed_by="key")
    assert (parts["north"].remaining, parts["south"].remaining) == (Budget(0.5), Budget(1))
    with pytest.raises(InvalidParameter, match="exists"):
        looking.partition("site", ["east", "west"], fixed_by="key")
