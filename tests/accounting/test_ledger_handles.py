"""A handle is a name for an account: copies of it are the same account, wherever they travel."""

import copy
import pickle
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from dp_accounting import dp_event
from sklearn.base import BaseEstimator, clone

from tacit.accounting import Ledger
from tacit.budget import Budget
from tacit.errors import BudgetExceeded, TacitError

HALF = dp_event.LaplaceDpEvent(2.0)


class Spender(BaseEstimator):
    """An estimator that charges its ledger when it is fitted."""

    def __init__(self, ledger: Ledger | None = None) -> None:
        self.ledger = ledger

    def fit(self, X: object, y: object = None) -> "Spender":
        """Charge one half."""
        assert self.ledger is not None
        self.ledger.spend(HALF, label="fit")
        return self


COPIES: list[Callable[[Any], Any]] = [
    lambda handle: pickle.loads(pickle.dumps(handle)),
    lambda handle: pickle.loads(pickle.dumps(handle, protocol=0)),
    copy.copy,
    copy.deepcopy,
    clone,
    lambda handle: clone(Spender(handle)).ledger,
    lambda handle: clone(clone(Spender(handle))).ledger,
    lambda handle: copy.deepcopy(Spender(handle)).ledger,
    lambda handle: pickle.loads(pickle.dumps(Spender(handle))).ledger,
]
NAMES = [
    "pickle", "oldest pickle", "copy", "deepcopy", "clone", "clone in an estimator", "clone of a clone",
    "deepcopy in an estimator", "pickle in an estimator",
]  # fmt: skip


@pytest.mark.parametrize("copied", COPIES, ids=NAMES)
def test_a_copy_is_the_same_account(address: str, copied: Callable[[Any], Any]) -> None:
    """What a copy spends is gone for the original, and the other way round."""
    ledger = Ledger.create(address, name="one", budget=Budget(1.0))
    twin = copied(ledger)
    assert twin == ledger
    assert hash(twin) == hash(ledger)
    twin.spend(HALF, label="by the copy")
    assert ledger.spent == twin.spent == Budget(0.5)
    ledger.spend(HALF, label="by the original")
    for handle in (ledger, twin):
        with pytest.raises(BudgetExceeded):
            handle.spend(HALF, label="one too many")


@pytest.mark.parametrize("copied", COPIES, ids=NAMES)
def test_a_copy_of_a_part_is_the_same_part(tmp_path: Path, copied: Callable[[Any], Any]) -> None:
    """A copied part still composes in parallel with its siblings."""
    ledger = Ledger.create(f"sqlite:///{tmp_path}/ledger.db", name="one", budget=Budget(1.0))
    left, right = ledger.partition("halves", ["left", "right"], fixed_by="index").values()
    copied(left).spend(HALF, label="left")
    right.spend(HALF, label="right")
    assert copied(left) == left != right
    assert (left.spent, right.spent, ledger.spent) == (Budget(0.5), Budget(0.5), Budget(0.5))


def test_cross_validation_pays_for_every_fold(address: str) -> None:
    """Clones that scikit-learn makes for folds charge the one account, and run dry with it."""
    ledger = Ledger.create(address, name="folds", budget=Budget(1.0))
    model = Spender(ledger)
    for _ in range(2):
        clone(model).fit([[0.0]])
    assert ledger.spent == Budget(1.0)
    with pytest.raises(BudgetExceeded):
        clone(model).fit([[0.0]])


def test_a_relative_path_is_resolved_when_the_handle_is_made(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A handle keeps its file after the working directory has changed."""
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path)
    ledger = Ledger.create("sqlite:///ledger.db", name="here", budget=Budget(1.0))
    saved = pickle.dumps(ledger)
    monkeypatch.chdir(tmp_path / "elsewhere")
    ledger.spend(HALF, label="from elsewhere")
    assert pickle.loads(saved).spent == Budget(0.5)
    assert Ledger.open("sqlite:///../ledger.db") == ledger
    assert [file.name for file in tmp_path.iterdir()].count("ledger.db") == 1
    assert list((tmp_path / "elsewhere").iterdir()) == []


@pytest.mark.parametrize("name", ["a b.db", "50%.db", "a#b.db", "é.db", "q'u.db", "file:x.db"])
def test_awkward_file_names_lead_to_that_very_file(tmp_path: Path, name: str) -> None:
    """Characters that mean something in a URL or to SQLite reach the file system unchanged."""
    address = f"sqlite:///{tmp_path}/{name}"
    ledger = Ledger.create(address, name="a", budget=Budget(1.0))
    assert {file.name for file in tmp_path.iterdir()} == {name, f"{name}.lock", f"{name}.lock-turn"}
    assert Ledger.open(address) == Ledger.open(ledger.address) == ledger


def test_handles_differ_by_address_name_and_part(tmp_path: Path) -> None:
    """Only the same account in the same place is equal; nothing else is."""
    first = Ledger.create(f"sqlite:///{tmp_path}/1.db", name="a", budget=Budget(1.0))
    second = Ledger.create(f"sqlite:///{tmp_path}/2.db", name="a", budget=Budget(1.0))
    third = Ledger.create(f"sqlite:///{tmp_path}/1.db", name="b", budget=Budget(1.0))
    part = first.partition("p", ["x"], fixed_by="index")["x"]
    assert len({first, second, third, part, Ledger.open(f"sqlite:///{tmp_path}/2.db")}) == 4
    assert first != "a"


def test_a_handle_prints_what_it_is(tmp_path: Path) -> None:
    """The printed handle names address, account, part, budget and accountant."""
    address = f"sqlite:///{tmp_path}/ledger.db"
    ledger = Ledger.create(address, name="clinic", budget=Budget(2.0, 1e-6), accountant="renyi", order=16.0)
    part = ledger.partition("folds", ["train", "test"], fixed_by="index")["test"]
    assert repr(ledger) == f"Ledger('{address}', name='clinic', budget=Budget(2, 1e-06), renyi 16.0)"
    assert repr(part) == f"Ledger('{address}', name='clinic', folds='test', budget=Budget(2, 1e-06), renyi 16.0)"


@pytest.mark.parametrize("place", ["login", "query"])
def test_a_password_is_never_shown(postgresql: Any, database: str, place: str) -> None:
    """Neither the handle nor any error shows the password, wherever the address carries it."""
    if place == "login":
        address = postgresql.address(database, password="sekrit")
        wrong = "postgresql://postgres:sekrit@127.0.0.1:1/db"
    else:
        address = postgresql.address(database) + "&password=sekrit"
        wrong = "postgresql://postgres@127.0.0.1:1/db?password=sekrit"
    ledger = Ledger.create(address, name="a", budget=Budget(1.0))
    copied = pickle.loads(pickle.dumps(ledger))
    copied.spend(HALF, label="works with the password")
    assert ledger.spent == Budget(0.5)
    shown = [repr(ledger), str(ledger), ledger.address, repr(vars(ledger))]
    part = ledger.partition("p", ["x"], fixed_by="key")["x"]
    for attempt in (
        lambda: Ledger.create(address, name="a", budget=Budget(1.0)),
        lambda: Ledger.open(address, name="b"),
        lambda: Ledger.open(address, head="0" * 64),
        lambda: part.spend(dp_event.LaplaceDpEvent(0.5), label="too much"),
        lambda: Ledger.open(wrong),
        lambda: Ledger.create(wrong, name="a", budget=Budget(1.0)),
        lambda: Ledger.open(address.replace(database, "nowhere")),
        lambda: Ledger.open("postgresql+nothing://postgres:sekrit@h/db"),
        lambda: Ledger.open("postgresql://postgres:sekrit@h:port/db"),
        lambda: Ledger.open("postgres:sekrit@h/db"),
    ):
        with pytest.raises(TacitError) as error:
            attempt()
        cause: BaseException | None = error.value
        while cause is not None:
            shown.append(str(cause))
            cause = cause.__cause__
    assert [text for text in shown if "sekrit" in text] == []


def test_the_address_of_a_server_says_where_it_is(postgresql: Any, database: str) -> None:
    """The address shown for an account on a server leads back to the account."""
    ledger = Ledger.create(postgresql.address(database), name="a", budget=Budget(1.0))
    ledger.spend(HALF, label="first")
    assert Ledger.open(ledger.address).spent == Budget(0.5)
