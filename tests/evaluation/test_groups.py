"""Rows in arrays that belong to persons are judged for persons: each counts once, however many rows they have."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.linear_model import LinearRegression, LogisticRegression

from tacit import Budget, Ledger, PrivateLogisticRegression, Records, Schema, evaluation
from tacit.data import Flag, Key, Number
from tacit.errors import InvalidParameter, LedgerError
from tacit.evaluation import reporting

PERSONS, MANY = 40, 30
OWNERS = np.r_[np.arange(PERSONS), np.zeros(MANY, dtype=int)]
X = np.random.default_rng(0).normal(size=(len(OWNERS), 2))
Y = (X[:, 0] > 0).astype(int)
MODEL = LogisticRegression().fit(X, Y)
OTHER = np.where(OWNERS == 0, 1 - Y, Y)
ASK: list[Callable[..., Any]] = [
    evaluation.accuracy,
    evaluation.log_loss,
    evaluation.confusion_matrix,
    evaluation.report,
]


@pytest.fixture
def ledger(tmp_path: Path) -> Ledger:
    """Give an account that promises for persons."""
    return Ledger.create(tmp_path / "ledger.db", name="x", budget=Budget(100), unit="person")


@pytest.mark.parametrize("ask", ASK)
def test_arrays_are_judged_under_a_ledger_of_persons(ask: Callable[..., Any], ledger: Ledger) -> None:
    """With groups it is charged and says for whom it is private; without, a ledger of persons refuses."""
    found = ask(MODEL, X, Y, epsilon=1.0, groups=OWNERS, ledger=ledger)
    assert found.release.unit == "person"
    assert "replace-one person" in found.release.guarantee
    assert ledger.spent == Budget(1)
    with pytest.raises((InvalidParameter, LedgerError)):
        ask(MODEL, X, Y, epsilon=1.0, ledger=ledger)
    assert ledger.spent == Budget(1)


def test_one_person_moves_a_score_by_one_persons_share(monkeypatch: pytest.MonkeyPatch) -> None:
    """All thirty-one rows of one person changed move accuracy by 1/40; counted as rows they would move it by 31/70."""
    named: dict[str, Any] = {"epsilon": 1e6, "random_state": 0}
    of_persons, of_rows = (
        [evaluation.accuracy(MODEL, X, y, groups=groups, **named).value for y in (Y, OTHER)]
        for groups in (OWNERS, None)
    )
    assert abs(of_persons[0] - of_persons[1]) <= 1 / PERSONS + 1e-4
    assert abs(of_rows[0] - of_rows[1]) > 0.4
    counts = [evaluation.confusion_matrix(MODEL, X, y, groups=OWNERS, **named).value for y in (Y, OTHER)]
    assert np.abs(counts[0] - counts[1]).sum() <= 2 + 1e-3
    monkeypatch.setattr(reporting, "_can_choose", lambda *_: False)
    both = [evaluation.report(MODEL, X, y, groups=OWNERS, **named).release.value.counts for y in (Y, OTHER)]
    assert sum(np.abs(one - other).sum() for one, other in zip(*both, strict=True)) <= 2 + 1e-2


def test_groups_are_judged_as_records_of_persons_are() -> None:
    """The same rows as an array with groups and as Records with a unit have the same scores."""
    schema = Schema({"id": Key(), "a": Number(-3, 3), "t": Flag("no", "yes")}, target="t")
    table = {"id": OWNERS, "a": X[:, 0], "t": np.where(Y, "yes", "no")}
    records = Records(table, schema, unit="id")
    model = PrivateLogisticRegression(1.0, random_state=0).fit(records)
    rows = model.encoder_.transform(table)
    for ask in (evaluation.accuracy, evaluation.log_loss):
        one = ask(model, records, epsilon=1.0, random_state=0).value
        assert ask(model, rows, table["t"], groups=OWNERS, epsilon=1.0, random_state=0).value == one


def test_a_regression_is_judged_for_persons_too(ledger: Ledger) -> None:
    """Errors of a person's rows weigh one together."""
    model = LinearRegression().fit(X, X[:, 0])
    found = evaluation.report(model, X, X[:, 0], epsilon=1.0, target_range=(-3, 3), groups=OWNERS, ledger=ledger)
    assert found.release.unit == "person"


@pytest.mark.parametrize("ask", ASK)
def test_groups_that_make_no_sense_are_refused(ask: Callable[..., Any], ledger: Ledger) -> None:
    """Of another length, no column, or beside Records, which bring theirs."""
    schema = Schema({"id": Key(), "a": Number(-3, 3), "t": Flag("no", "yes")}, target="t")
    records = Records({"id": OWNERS, "a": X[:, 0], "t": np.where(Y, "yes", "no")}, schema, unit="id")
    model = PrivateLogisticRegression(1.0, random_state=0).fit(records)
    for groups in (OWNERS[:-1], "id", OWNERS[:, None]):
        with pytest.raises(InvalidParameter, match="groups"):
            ask(MODEL, X, Y, epsilon=1.0, groups=groups, ledger=ledger)
    with pytest.raises(InvalidParameter, match="bring their own persons"):
        ask(model, records, epsilon=1.0, groups=OWNERS, ledger=ledger)
    assert ledger.entries() == []
