"""Answers that were paid for are kept beside the account, in few transactions, by whoever comes first."""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any

import pytest
import sqlalchemy as sa
from dp_accounting import dp_event

from support.databases import rows
from tacit import Records, Schema, StatisticalOracle, StatisticalQuery
from tacit.accounting import Ledger, store
from tacit.accounting.answers import InLedger, question_digest
from tacit.budget import Budget
from tacit.data import Number

HUNDREDTH = dp_event.LaplaceDpEvent(100.0)


@pytest.fixture
def transactions(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Write down each transaction that is opened, and whether it writes."""
    opened: list[str] = []
    begin = store.Store._begin

    @contextmanager
    def counted(self: store.Store, *, read_only: bool = False) -> Iterator[sa.Connection]:
        opened.append("read" if read_only else "write")
        with begin(self, read_only=read_only) as connection:
            yield connection

    monkeypatch.setattr(store.Store, "_begin", counted)
    return opened


def test_asking_takes_three_transactions(address: str, transactions: list[str]) -> None:
    """Looking a question up, charging and writing the answer down open one transaction each, the first time too."""
    ledger = Ledger.create(address, name="a", budget=Budget(1.0))
    for number in range(3):
        transactions.clear()
        question = question_digest(ledger, [number])
        assert InLedger().recall(ledger, question) is None
        ledger.spend(HUNDREDTH, label="a question")
        InLedger().record(ledger, question, {"shares": [str(number)]})
        assert transactions == ["read", "write", "write"]
        assert InLedger().recall(ledger, question) == {"shares": [str(number)]}
        assert transactions[3:] == ["read"]


@pytest.mark.parametrize("how", [{"epsilon": 0.01}, {"tolerance": 0.2}], ids=["epsilon", "tolerance"])
def test_an_oracle_asks_in_three_transactions(address: str, transactions: list[str], how: dict[str, float]) -> None:
    """Whether an epsilon or a tolerance is given; what is left is only looked up to say why something is refused."""
    ledger = Ledger.create(address, name="a", budget=Budget(1.0))
    oracle = StatisticalOracle(Records({"x": [0.0, 1.0] * 2000}, Schema({"x": Number(0, 1)})), ledger=ledger)
    transactions.clear()
    oracle.ask(StatisticalQuery(lambda t: t.x > 0.5), **how)
    assert transactions == ["read", "write", "write"]


def test_looking_at_an_account_takes_one_transaction(address: str, transactions: list[str]) -> None:
    """What is spent, what is left and a price are read in one transaction each; a partition is one that writes."""
    ledger = Ledger.create(address, name="a", budget=Budget(1.0))
    transactions.clear()
    _ = ledger.spent, ledger.remaining, ledger.price(HUNDREDTH), ledger.head
    assert transactions == ["read"] * 4
    ledger.partition("halves", ["left", "right"], fixed_by="index")
    assert transactions[4:] == ["write"]


def test_the_first_answer_stays(address: str) -> None:
    """A question answered twice at once keeps the answer that was written first."""
    ledger = Ledger.create(address, name="a", budget=Budget(1.0))
    InLedger().record(ledger, "question", {"answer": 1})
    InLedger().record(ledger, "question", {"answer": 2})
    assert InLedger().recall(ledger, "question") == {"answer": 1}


def test_a_question_is_looked_up_while_others_write_their_first_answers(address: str) -> None:
    """Nobody meets a ledger without a table of answers, however many come at the same moment."""
    Ledger.create(address, name="0", budget=Budget(1.0))
    ledgers = [Ledger.create(address, name=str(number), budget=Budget(1.0)) for number in range(1, 5)]

    def asks(ledger: Ledger) -> Any:
        before = InLedger().recall(ledger, "question")
        InLedger().record(ledger, "question", {"by": ledger.name})
        return before, InLedger().recall(ledger, "question")

    with ThreadPoolExecutor(4) as pool:
        assert list(pool.map(asks, ledgers)) == [(None, {"by": str(number)}) for number in range(1, 5)]
    assert rows(address, "SELECT count(*) FROM tacit_answer") == [(4,)]


def test_a_new_ledger_has_its_table_of_answers(address: str) -> None:
    """It is made with the others: what is made at the first answer is missing to who looks a moment earlier."""
    Ledger.create(address, name="a", budget=Budget(1.0))
    assert rows(address, "SELECT count(*) FROM tacit_answer") == [(0,)]
