"""Conjunctions: planted ones are found, as surely as said, also where labels are wrong."""

import math

import numpy as np
import pytest
from numpy.typing import NDArray

from support.statistical import at_most, sample_size
from tacit.queries import StatisticalOracle
from tacit.queries.learners.conjunction import ConjunctionClassifier
from tacit.queries.sample_sizes import records_for_conjunction

PLANTED, OFTEN = 2, 0.97
Bits = NDArray[np.bool_]


def _records(features: int, error: float, n: int, rng: np.random.Generator) -> tuple[Bits, Bits]:
    """Return a hard population's records, and whether the planted conjunction, of the first two features, is true.

    Of the other features at most one is false in a record, each just often enough that keeping it is a mistake, and
    keeping all of them is an error of 1.25 times the one asked for.
    """
    rows = np.ones((n, features), dtype=bool)
    rows[:, :PLANTED] = rng.random((n, PLANTED)) < OFTEN
    false = PLANTED + rng.random(n) / _rarely(features, error)
    rows[np.arange(n)[false < features], false[false < features].astype(np.intp)] = False
    return rows, rows[:, :PLANTED].all(axis=1)


def _rarely(features: int, error: float) -> float:
    return 1.25 * error / (features - PLANTED) / OFTEN**PLANTED


def _error(model: ConjunctionClassifier, features: int, error: float) -> float:
    """Return the exact share of that population on which a model errs."""
    kept, others = model.needed_[:PLANTED, 0].sum(), model.needed_[PLANTED:, 0].sum()
    refused = others * _rarely(features, error)
    return float(OFTEN**PLANTED * refused + (OFTEN**kept - OFTEN**PLANTED) * (1 - refused))


def _learned(features: int, n: int, seed: int, error: float, rate: float) -> float:
    """Learn from n records of the population, labels wrong at a rate, and return the error."""
    rng = np.random.default_rng(seed)
    rows, true = _records(features, error, n, rng)
    labels = (true ^ (rng.random(n) < rate)).astype(np.int8)
    oracle = StatisticalOracle((rows.view(np.int8), labels), labels=(0, 1), bounds=(0, 1), random_state=seed)
    model = ConjunctionClassifier(1.0, error=error, noise_rate=rate).learn(oracle)
    return _error(model, features, error)


@pytest.mark.stats
@pytest.mark.parametrize(
    ("features", "error", "rate", "too_few"),
    [(20, 0.1, 0.0, 10), (25, 0.2, 0.0, 10), (8, 0.15, 0.2, 30), (6, 0.15, 0.3, 30)],
)
def test_the_error_is_kept_with_the_confidence(features: int, error: float, rate: float, too_few: int) -> None:
    """More than 5 % of the repetitions above the error asked for would be noticed (1e-9).

    With a tenth or thirtieth of the records (the twin), far more are. Twenty and fifty features at error 0.1, with and
    without wrong labels, are in benchmarks/results/queries.md, 200 repetitions each.
    """
    n, repetitions = records_for_conjunction(features, error=error, epsilon=1.0, noise_rate=rate), sample_size(16)
    errors = [_learned(features, n, seed, error, rate) for seed in range(repetitions)]
    assert at_most(sum(each > error for each in errors), repetitions, 0.05)
    fewer = [_learned(features, n // too_few, seed, error, rate) for seed in range(repetitions)]
    assert not at_most(sum(each > error for each in fewer), repetitions, 0.05)


def test_a_monotone_conjunction_is_found() -> None:
    """Features that are often false are dropped, and the words say which are left."""
    rng = np.random.default_rng(0)
    rows = rng.random((80_000, 20)) < 0.8
    labels = np.where(rows[:, [1, 4, 5]].all(axis=1), "yes", "no")
    model = ConjunctionClassifier(1.0, random_state=0).fit(rows, labels)
    assert model.literals_ == ["x1", "x4", "x5"]
    assert model.error_ == 0.1
    assert model.threshold_ == 0.1 / 40
    assert np.array_equal(model.predict(rows), labels)


def test_a_general_conjunction_is_found() -> None:
    """With negations there are twice as many literals and queries."""
    rng = np.random.default_rng(1)
    rows = (rng.random((60_000, 8)) < 0.5).astype(float)
    labels = (rows[:, 0] > 0) & (rows[:, 3] == 0)
    model = ConjunctionClassifier(1.0, monotone=False, random_state=1).fit(rows, labels)
    assert model.literals_ == ["x0", "not x3"]
    assert model.plans_[0].size == 16
    assert np.array_equal(model.predict(rows), labels)


def test_without_any_positive_record_nothing_is_positive() -> None:
    """All literals are kept, also contrary ones, and then no record is in the second class."""
    rows = np.eye(4).repeat(5_000, axis=0)
    model = ConjunctionClassifier(5.0, monotone=False, classes=[0, 1], random_state=2).fit(rows, np.zeros(len(rows)))
    assert len(model.literals_) == 8
    assert not model.predict(rows).any()


def test_the_error_that_is_promised_follows_from_public_quantities() -> None:
    """Asked for too much, the model says which error its n can keep, 1.0 for none, whatever the records are."""
    rng = np.random.default_rng(3)
    few, some = (rng.random((n, 10)) < 0.5 for n in (50, 9_000))
    assert ConjunctionClassifier(1.0).fit(few, few[:, 0]).error_ == 1.0
    kept = ConjunctionClassifier(1.0).fit(some, some[:, 0]).error_
    assert 0.1 < kept < 0.5
    assert ConjunctionClassifier(1.0).fit(some, ~some[:, 0]).error_ == kept
    assert ConjunctionClassifier(1.0, error=0.5).fit(some, some[:, 0]).error_ == 0.5
    assert records_for_conjunction(10, error=kept, epsilon=1.0) == pytest.approx(9_000, rel=3e-3)


def test_the_epsilon_of_a_conjunction_matters() -> None:
    """A hundredth of the budget promises less on the same records; an infinite one most."""
    rng = np.random.default_rng(4)
    rows = rng.random((20_000, 10)) < 0.5
    errors = [ConjunctionClassifier(e, error=1e-3).fit(rows, rows[:, 0]).error_ for e in (0.01, 1.0, 100.0, math.inf)]
    assert errors == sorted(errors, reverse=True)
    assert errors[0] == 1.0
    assert errors[-1] < 0.1
