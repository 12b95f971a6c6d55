"""Counting persons some rows at a time gives what counting all of them at once gives, and keeps no row."""

from typing import Any

import numpy as np
import pytest

from support.fits import people, schema_for
from tacit import PrivateLogisticRegression
from tacit.data import Records
from tacit.data.counted import CountedPersons
from tacit.data.persons import Persons
from tacit.data.values import KEYS, MISSING_KEY


@pytest.mark.parametrize("fewest", [1, 50, 10**6])
@pytest.mark.parametrize("ids", [[], [MISSING_KEY] * 3, [0], [0, KEYS - 1, MISSING_KEY, 0], None])
def test_persons_counted_in_parts_are_those_counted_at_once(
    fewest: int, ids: list[int] | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Their number and the rows of each are the same in parts of any size, and where parts are counted elsewhere."""
    monkeypatch.setattr("tacit.data.counted._FEWEST", fewest)
    coins = np.random.default_rng(1)
    some = np.where(coins.random(3000) < 0.1, MISSING_KEY, coins.zipf(1.5, 3000) % KEYS) if ids is None else ids
    keys = np.array(some, dtype=np.int64)
    expected, counted = Persons.of(keys), CountedPersons()
    merged, others = CountedPersons(), [CountedPersons() for _ in range(3)]
    for place, part in enumerate(np.array_split(keys, 17)):
        counted.add(part)
        others[place % 3].add(part)
    for other in others:
        merged.merge(other)
    for each in (counted, merged):
        assert each.n == expected.n
        found = [each.rows(part) for part in np.array_split(keys, 5)]
        assert np.array_equal(np.concatenate(found), expected.divisors)


def test_what_is_kept_of_persons_does_not_grow_with_their_rows() -> None:
    """After a hundred thousand rows of three persons three numbers are kept, and what waits to be counted."""
    counted = CountedPersons()
    for _ in range(100):
        counted.add(np.resize([1, 2, 3], 100_000))
    assert sum(map(len, counted._waiting)) <= 2**20 + 100_000
    assert counted.n == 3
    assert (len(counted._ids), len(counted._rows), counted._waiting) == (3, 3, [])


def test_a_fit_from_a_private_file_never_has_all_ids_in_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    """All of them at once, in order, took more memory than 20 million rows may."""

    def of(*_: Any) -> Any:
        raise AssertionError

    monkeypatch.setattr(Persons, "of", of)
    PrivateLogisticRegression(1.0, random_state=3).fit(Records(people(), schema_for("answer"), unit="who", memory=4000))
