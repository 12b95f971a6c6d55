"""Naive Bayes from statistical queries: the counts of the ordinary one, consistent, and noise where it should be."""

import math
from pathlib import Path

import numpy as np
import pytest
from sklearn.naive_bayes import CategoricalNB

from support.statistical import at_least, sample_size
from tacit import Budget, Ledger
from tacit.data import Flag, Number, Schema
from tacit.data.file_form import FileForm
from tacit.errors import InvalidParameter
from tacit.queries.learners.discrete import ClassCounts
from tacit.queries.learners.domains import CodeColumn
from tacit.queries.learners.naive_bayes import SQNaiveBayes
from tacit.queries.oracle.session import Reply

RNG = np.random.default_rng(2)


def _records(n: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Three classes that differ in four features with five levels each."""
    labels = rng.integers(0, 3, n)
    rows = np.where(rng.random((n, 4)) < 0.6, labels[:, None], rng.integers(0, 5, (n, 4)))
    return rows, labels


def test_without_noise_it_is_the_ordinary_naive_bayes() -> None:
    """Probabilities agree with scikit-learn's up to the smoothing."""
    rows, labels = _records(20_000, RNG)
    mine = SQNaiveBayes(math.inf, levels=5).fit(rows, labels).predict_proba(rows)
    peer = CategoricalNB(min_categories=5).fit(rows, labels).predict_proba(rows)
    assert np.abs(mine - peer).max() < 5e-3


def test_texts_are_read_in_the_form_that_the_learners_schema_declares() -> None:
    """Its decimal comma was forgotten, so that all numbers were missing."""
    schema = Schema({"x": Number(0, 10), "y": Flag()}, target="y", form=FileForm(decimal=","))
    model = SQNaiveBayes(math.inf, schema=schema, classes=[0, 1]).fit({"x": ["0,5", "9,5"] * 200}, [0, 1] * 200)
    assert model.predict({"x": ["0,6", "9,4"]}).tolist() == [0, 1]


def test_all_is_asked_at_once() -> None:
    """One round of one histogram a feature: 4 features with 5 levels and 3 classes are 60 numbers, at L1 2 each."""
    (plan,) = SQNaiveBayes(1.0, levels=5, classes=[0, 1, 2]).preview(20_000, 4)
    assert plan.size == 60
    miss = 0.05 / (2 * 60)
    assert plan.noise_error == pytest.approx(8 * -math.log(miss) / 20_000, rel=1e-3)


def test_a_level_that_nobody_has_tells_nothing() -> None:
    """With no count above the noise, the classes' odds stay what they are, whatever the noise."""
    rows, labels = np.zeros((5_000, 1)), np.arange(5_000) % 4 == 0
    model = SQNaiveBayes(math.inf, levels=3).fit(rows, labels)
    odds = model.predict_proba([[1.0], [2.0]])
    assert np.allclose(odds[:, 1], 0.25, atol=1e-3)


@pytest.mark.stats
def test_consistent_counts_have_less_noise() -> None:
    """Averaging what all features say of the classes lowers the error; drawing anew (the twin) does not (1e-9)."""
    trials, columns = sample_size(400), [CodeColumn("x", size) for size in (2, 3, 4)]
    rng = np.random.default_rng(5)
    truth = [np.outer(share, [0.3, 0.7]) for share in (np.ones(2) / 2, np.ones(3) / 3, np.ones(4) / 4)]
    better = other = 0
    for _ in range(trials):
        noisy = [table + rng.normal(0, 0.1, table.shape) for table in truth]
        counts = ClassCounts.of(Reply(tuple(table.ravel() for table in noisy), 0.1), columns, 1)
        assert all(np.allclose(table.sum(axis=1), counts.totals) for table in counts.tables)
        before = sum(np.square(one - two).sum() for one, two in zip(noisy, truth, strict=True))
        after = sum(np.square(one[0] - two).sum() for one, two in zip(counts.tables, truth, strict=True))
        better += after < before
        again = sum(np.square(rng.normal(0, 0.1, table.shape)).sum() for table in truth)
        other += again < before
    assert at_least(better, trials, 0.9)
    assert not at_least(other, trials, 0.9)


def test_privacy_costs_little_where_records_are_many() -> None:
    """At epsilon 1 and 20,000 records the private model is within a point of the ordinary one."""
    rows, labels = _records(20_000, RNG)
    fresh, true = _records(20_000, RNG)
    plain = SQNaiveBayes(math.inf, levels=5).fit(rows, labels).score(fresh, true)
    scores = [SQNaiveBayes(1.0, levels=5, random_state=seed).fit(rows, labels).score(fresh, true) for seed in range(3)]
    assert np.mean(scores) > plain - 0.01


def test_smoothing_must_be_positive() -> None:
    """A probability of 0 would rule a class out for good."""
    with pytest.raises(InvalidParameter, match="smoothing"):
        SQNaiveBayes(1.0, smoothing=0.0).fit(np.eye(4), [0, 1, 0, 1])


@pytest.mark.parametrize("odd", ["1", None, 2**53, math.nan, [1], object()], ids=lambda odd: type(odd).__name__)
def test_labels_of_no_class_are_refused_before_any_charge(odd: object, tmp_path: Path) -> None:
    """Arrays without a schema: a label beside the declared classes is refused, unquoted and uncharged."""
    ledger = Ledger.create(tmp_path / "l.db", name="l", budget=Budget(2))
    model = SQNaiveBayes(1.0, levels=3, classes=[0, 1], ledger=ledger)
    with pytest.raises(InvalidParameter, match="not among the declared classes: 0, 1") as caught:
        model.fit(np.zeros((4, 1), dtype=int), [0, 1, 0, odd])
    assert str(2**53) not in str(caught.value)
    assert not ledger.spent
