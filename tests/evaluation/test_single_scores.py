"""Private scores: what they say, what they cost, and which splits make them cheap."""

import math

import numpy as np
import pytest

from tacit import Budget, PrivateLogisticRegression, evaluation
from tacit.errors import InvalidParameter


@pytest.fixture(scope="module")
def problem():
    """Two hundred easy records with three classes, and a model that is not private."""
    rng = np.random.default_rng(0)
    rows, labels = rng.normal(size=(200, 3)), rng.integers(0, 3, 200)
    rows[np.arange(200), labels] += 3
    model = PrivateLogisticRegression(float("inf"), data_norm=10.0, classes=[0, 1, 2]).fit(rows, labels)
    return rows, labels, model


def test_accuracy_is_the_share_of_right_answers_plus_noise(problem, ledger):
    """The private accuracy lies within its own error bars of the true one."""
    rows, labels, model = problem
    score = evaluation.accuracy(model, rows, labels, epsilon=1.0, confidence=1 - 1e-9, ledger=ledger)
    assert abs(score.value - model.score(rows, labels)) <= score.noise_error
    assert score.noise_error == pytest.approx(math.log(1e9) / 200, rel=1e-3)
    assert score.sampling_error == pytest.approx(math.sqrt(math.log(2e9) / 400), rel=1e-6)
    assert ledger.spent == Budget(1)
    assert "replace-one" in str(score)


def test_log_loss_is_clipped_for_every_record(problem):
    """A record whose class the model rules out, or does not know, costs `largest` and no more."""
    rows, labels, model = problem
    strange = np.full(200, 77)
    score = evaluation.log_loss(model, rows, strange, epsilon=1e6, largest=2.0, random_state=0)
    assert score.value == pytest.approx(2.0, abs=1e-3)
    known = evaluation.log_loss(model, rows, labels, epsilon=1e6, random_state=0)
    own = model.predict_proba(rows)[np.arange(200), labels]
    assert known.value == pytest.approx(np.minimum(-np.log(own), 5).mean(), abs=1e-3)


def test_a_confusion_matrix_counts_pairs_of_classes(problem, ledger):
    """Rows are true classes, columns predicted ones; unknown labels are counted nowhere; one charge in all."""
    rows, labels, model = problem
    odd = labels.copy()
    odd[:10] = 77
    counts = evaluation.confusion_matrix(model, rows, odd, epsilon=1.0, ledger=ledger)
    assert ledger.spent == Budget(1)
    exact = evaluation.confusion_matrix(model, rows, odd, epsilon=1e6, random_state=0)
    truth = np.zeros((3, 3))
    np.add.at(truth, (odd[10:], model.predict(rows[10:])), 1)
    assert np.allclose(exact.value, truth, atol=1e-2)
    assert counts.value.shape == (3, 3)


def test_training_and_scoring_on_parts_cost_the_larger_of_the_two(problem, ledger):
    """With a split fixed by index, the account is charged the maximum and not the sum."""
    rows, labels, _ = problem
    train, test = evaluation.split_by_index(200, 0.25)
    parts = ledger.partition("use", ["train", "test"], fixed_by="index")
    model = PrivateLogisticRegression(1.0, data_norm=5.0, classes=[0, 1, 2], ledger=parts["train"])
    model.fit(rows[train], labels[train])
    evaluation.accuracy(model, rows[test], labels[test], epsilon=0.5, ledger=parts["test"])
    assert ledger.spent == Budget(1)


def test_a_split_is_disjoint_complete_and_of_public_size():
    """Every index is in exactly one part, the sizes depend on the count alone, and a seed repeats it."""
    train, test = evaluation.split_by_index(101, 0.2)
    assert sorted([*train, *test]) == list(range(101))
    assert len(test) == 20
    again = [evaluation.split_by_index(101, 0.2, random_state=3)[1].tolist() for _ in range(2)]
    assert again[0] == again[1]
    assert any(evaluation.split_by_index(101)[1].tolist() != test.tolist() for _ in range(3))


@pytest.mark.parametrize("fraction", [0, 1, -0.5, 0.001, math.nan, "half", None])
def test_a_split_that_leaves_nothing_on_one_side_is_refused(fraction):
    """Both parts must hold records."""
    with pytest.raises(InvalidParameter):
        evaluation.split_by_index(100, fraction)


@pytest.mark.parametrize("count", [True, 10.0, "10", None, 0, -5, 2**33])
def test_a_split_needs_a_whole_number_of_records(count):
    """The number of records is a public whole number."""
    with pytest.raises(InvalidParameter):
        evaluation.split_by_index(count)


@pytest.mark.parametrize(
    "options",
    [{"epsilon": 0}, {"epsilon": math.nan}, {"epsilon": 1, "confidence": 1}, {"epsilon": 1, "largest": -1}],
)
def test_bad_input_charges_nothing(problem, ledger, options):
    """Senseless parameters are refused first."""
    rows, labels, model = problem
    with pytest.raises(InvalidParameter):
        evaluation.log_loss(model, rows, labels, ledger=ledger, **options)
    assert ledger.spent == Budget(0)


def test_scores_are_among_those_there_can_be(problem):
    """A share lies between 0 and 1, a loss below its largest, a count above 0: nearer to the exact one than before."""
    rows, labels, model = problem
    for seed in range(20):
        named = {"epsilon": 0.02, "random_state": seed}
        right = evaluation.accuracy(model, rows, labels, **named)
        loss = evaluation.log_loss(model, rows, labels, largest=2.0, **named)
        counts = evaluation.confusion_matrix(model, rows, labels, **named)
        assert 0 <= right.value <= 1
        assert 0 <= loss.value <= 2
        assert np.all(counts.value >= 0)
        assert right.value == min(max(right.release.value, 0), 1)
        assert np.array_equal(counts.value, np.maximum(counts.release.value, 0))
    assert np.any(counts.release.value < 0)
