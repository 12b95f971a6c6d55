"""Statistics of persons: one person moves an answer no more than one record does, however many rows there are."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tacit import releases, statistics
from tacit.accounting.ledger import Ledger
from tacit.budget import Budget
from tacit.data.persons import Persons
from tacit.errors import InvalidParameter

ASK: dict[str, Callable[..., Any]] = {
    "count": lambda column, **how: statistics.count(column > 5, epsilon=1.0, **how),
    "sum": lambda column, **how: statistics.sum(column, low=0, high=10, epsilon=1.0, **how),
    "mean": lambda column, **how: statistics.mean(column, low=0, high=10, epsilon=1.0, **how),
    "histogram": lambda column, **how: statistics.histogram(column, levels=[0, 3, 7, 10], epsilon=1.0, **how),
    "quantile": lambda column, **how: statistics.quantile(column, 0.5, low=0, high=10, epsilon=1.0, **how),
    "bounds": lambda column, **how: statistics.bounds(column, low=0, high=10, epsilon=1.0, **how)[0],
}


def _exact(monkeypatch: pytest.MonkeyPatch, name: str, column: Any, groups: Any) -> Any:
    """Return the value that goes to the door, before any noise."""
    seen = []

    def door(mechanism: Any, value: Any, **how: Any) -> Any:
        seen.append(np.asarray(value, dtype=float))
        return true_door(mechanism, value, **how)

    true_door = releases.release
    with monkeypatch.context() as patch:
        patch.setattr(releases, "release", door)
        ASK[name](column, groups=groups, random_state=1)
    return seen[0]


# What one replaced unit moves at most, in the norm that the noise is made for.
LIMITS = {"count": 1.0, "sum": 1.0, "mean": 1.0, "histogram": 2.0, "quantile": 1.0, "bounds": 1.0}


@pytest.mark.parametrize("name", ASK)
def test_a_person_moves_an_answer_as_one_record_may(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Persons of 1 to 20 rows replaced by others with other numbers of rows; as records they move it up to 20 times."""
    generator = np.random.default_rng(1)
    rest, owners = generator.choice([0, 3, 7, 10], 30), generator.integers(1, 12, 30)
    worst = plain = 0.0
    for mine, theirs in ((1, 20), (20, 1), (20, 20), (3, 7)):
        values = []
        for count, level in ((mine, 0), (theirs, 10)):
            column, ids = np.concatenate([np.full(count, level), rest]), np.concatenate([np.zeros(count, int), owners])
            values.append((_exact(monkeypatch, name, column, ids), _exact(monkeypatch, name, column, None)))
        (one, row), (other, rows) = values
        measure = np.max if name in ("quantile", "bounds") else np.sum
        worst = max(worst, float(measure(np.abs(one - other))))
        plain = max(plain, float(measure(np.abs(row - rows))))
    assert 0.4 * LIMITS[name] <= worst <= LIMITS[name]
    assert plain > 2 * LIMITS[name]


@pytest.mark.parametrize("name", ASK)
def test_statistics_of_persons_pay_from_ledgers_of_persons(name: str, tmp_path: Path) -> None:
    """And from no other; without groups they are refused there."""
    persons = Ledger.create(f"sqlite:///{tmp_path}/p.db", name="p", budget=Budget(2), unit="person")
    records = Ledger.create(f"sqlite:///{tmp_path}/r.db", name="r", budget=Budget(2))
    column = np.arange(10)
    assert ASK[name](column, groups=column // 2, ledger=persons).unit == "person"
    for ledger, groups in ((persons, None), (records, column // 2)):
        with pytest.raises(InvalidParameter, match="promises for each"):
            ASK[name](column, groups=groups, ledger=ledger)
    assert persons.spent == Budget(1)
    assert records.spent == Budget(0)


def test_answers_are_means_over_persons() -> None:
    """With little noise: two persons, one of whom owns most rows, count the same."""
    values, ids = [10.0] * 9 + [0.0], ["a"] * 9 + ["b"]
    how: dict[str, Any] = {"groups": ids, "epsilon": 1e6, "random_state": 0}
    assert statistics.mean(values, low=0, high=10, **how).value == pytest.approx(5.0, abs=1e-3)
    assert statistics.sum(values, low=0, high=10, **how).value == pytest.approx(10.0, abs=1e-3)
    assert statistics.count([value > 5 for value in values], **how).value == pytest.approx(1.0, abs=1e-3)
    found = statistics.histogram(values, levels=[0, 10], **how).value
    assert found == pytest.approx([1.0, 1.0], abs=1e-3)
    how = {"groups": ids, "epsilon": 1e6, "random_state": 0, "low": 0, "high": 10}
    assert statistics.quantile(values, 0.25, **how).value < 10 * 0.999


def test_whole_numbers_of_a_person_are_averaged_within_their_range() -> None:
    """Rounded down, and parts of all steps never exceed them."""
    persons = Persons.of(np.array([4, 4, 4, 8]))
    assert persons.means(np.array([1, 1, 0, 5])).tolist() == [0, 5]
    assert persons.parts(2**30)[:3].sum() <= 2**30


def test_groups_of_another_length_are_refused() -> None:
    """In words that say no number of rows."""
    for ask in ASK.values():
        with pytest.raises(InvalidParameter, match="one id for each row"):
            ask(np.arange(4), groups=[1, 2])
