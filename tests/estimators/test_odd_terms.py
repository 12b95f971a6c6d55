"""Warnings from public facts alone: exact, few, the same for all records, and easy to silence."""

import subprocess
import sys
import warnings

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.compose import ColumnTransformer
from sklearn.pipeline import make_pipeline

from tacit import (
    Budget,
    Ledger,
    PrivacyWarning,
    PrivateKernelClassifier,
    PrivateLogisticRegression,
    PublicEncoder,
    Records,
)
from tacit.data import Flag, Number, Schema
from tacit.errors import InvalidParameter, OddTerms
from tacit.kernels import Linear
from tacit.model_selection import PrivateSearch, private_cross_validate
from tacit.queries import SQPCA, SQDecisionTree, SQKMeans, SQNaiveBayes, SQPerceptron

X = np.random.default_rng(0).normal(size=(200, 3)) / 3
Y = (X[:, 0] > 0).astype(int)
SCHEMA = Schema({"a": Number(-1, 1), "b": Number(-1, 1), "yes": Flag()}, target="yes")


@pytest.fixture
def ledger(tmp_path):
    """An account that can pay for anything."""
    return Ledger.create(tmp_path / "ledger.db", name="l", budget=Budget(10_000, 0.9))


def said(call):
    """Return what odd terms a call warns of."""
    with warnings.catch_warnings(record=True) as heard:
        warnings.simplefilter("always")
        call()
    return [str(each.message) for each in heard if issubclass(each.category, OddTerms)]


@pytest.mark.parametrize(
    ("terms", "words"),
    [
        ({"epsilon": 21.0}, "promises next to nothing"),
        ({"epsilon": 1.0, "delta": 0.01}, "above 1/n"),
        ({"epsilon": 0.005}, "will be noise"),
        ({"epsilon": 1.0}, None),
        ({"epsilon": 20.0, "delta": 0.005}, None),
        ({"epsilon": 1.0, "random_state": 1, "delta": 0.01}, None),
    ],
)
@pytest.mark.parametrize("labels", [Y, 1 - Y, np.r_[np.zeros(199, int), 1]])
def test_what_is_odd_is_warned_of_whatever_the_records(terms, words, labels, ledger):
    """The words follow from n, the columns and the budget: the same for all labels, and none where nothing is odd."""
    ledger = None if terms.get("random_state") else ledger
    model = PrivateLogisticRegression(**terms, data_norm=1.0, classes=[0, 1], ledger=ledger)
    heard = said(lambda: model.fit(X, labels))
    assert len(heard) == (words is not None)
    assert words is None or words in heard[0]


@pytest.mark.parametrize("rows", [60, 199, 400])
def test_what_is_odd_depends_on_the_number_of_persons_not_on_that_of_their_rows(rows, ledger):
    """A hundred persons hear the same, word for word, however many rows one of them has."""
    model = PrivateLogisticRegression(1.0, 0.008, data_norm=1.0, classes=[0, 1])
    owners = np.r_[np.zeros(rows, int), np.arange(1, 100)]
    points, labels = np.zeros((len(owners), 3)), owners % 2
    heard = said(lambda: model.fit(points, labels, groups=owners))
    assert [words for words in heard if "no ledger" not in words] == []
    model.delta = 0.02
    heard = [words for words in said(lambda: model.fit(points, labels, groups=owners)) if "no ledger" not in words]
    assert len(heard) == 1
    assert "n=100:" in heard[0]


def test_a_fit_without_a_ledger_is_warned_of_and_a_filter_silences_it():
    """At most one line for each fit, at a place of tacit's own; nothing is printed once the kind is filtered."""
    program = (
        "import numpy as np; from tacit import PrivateLogisticRegression as L; X = np.eye(60)[:, :3]; y = X[:, 0] > 0\n"
        "for _ in range(3): L(5.0, data_norm=1.0).fit(X, y)\n"
        "L(5.0, data_norm=1.0).fit(X, y)\n"
    )
    quiet = "import warnings, tacit.errors; warnings.filterwarnings('ignore', category=tacit.errors.OddTerms)\n"
    done = [
        subprocess.run([sys.executable, "-c", start + program], check=True, capture_output=True, text=True).stderr
        for start in ("", quiet)
    ]
    assert 1 <= done[0].count("under no ledger") <= 4
    assert done[1] == ""


def test_learners_from_queries_warn_too(ledger):
    """The same terms are odd for every estimator, and made-up records are never warned about."""
    twin = SCHEMA.twin(100)
    assert said(lambda: SQDecisionTree(50.0).fit(twin)) == []
    assert issubclass(OddTerms, PrivacyWarning)
    heard = said(lambda: SQDecisionTree(50.0, ledger=ledger, classes=[0, 1]).fit(X > 0, Y))
    assert len(heard) == 1


def test_a_norm_far_from_the_encoders_own_is_warned_of(ledger):
    """Declaring 5 behind an encoder that states 1 is odd; 1.5 is not."""
    table = {"a": X[:, 0], "b": X[:, 1]}
    for norm, count in ((5.0, 1), (0.2, 1), (1.5, 0)):
        pipe = make_pipeline(PublicEncoder(SCHEMA), PrivateLogisticRegression(2.0, data_norm=norm, ledger=ledger))
        assert len(said(lambda pipe=pipe: pipe.fit(table, Y))) == count


def test_a_lost_norm_says_what_to_pass():
    """In a ColumnTransformer or as a data frame the encoder's norm is lost, and the refusal says which to give."""
    import pandas as pd

    frame = pd.DataFrame({"a": X[:, 0], "b": X[:, 1]})
    columns = ColumnTransformer([("all", PublicEncoder(SCHEMA), ["a", "b"])])
    framed = PublicEncoder(SCHEMA).set_output(transform="pandas")
    for first in (columns, framed):
        with pytest.raises(InvalidParameter, match=r"data_norm=1\.0"):
            make_pipeline(first, PrivateLogisticRegression(2.0)).fit(frame, Y)
        make_pipeline(first, PrivateLogisticRegression(2.0, data_norm=1.0)).fit(frame, Y)


def test_undeclared_labels_name_the_declared_classes():
    """The classes are public and are named, the label is not."""
    with pytest.raises(InvalidParameter, match=r"'no', 'yes'.*texts") as caught:
        PrivateLogisticRegression(1.0, data_norm=1.0, classes=["no", "yes"]).fit(X, Y + 7)
    assert "7" not in str(caught.value)
    assert "8" not in str(caught.value)


RECORDS = Records({"a": X[:, 0], "b": X[:, 1], "yes": Y == 1}, SCHEMA)


@pytest.mark.parametrize(
    ("epsilon", "words"), [(60.0, "promises next to nothing"), (0.002, "will be noise"), (2.0, None)]
)
@pytest.mark.parametrize("what", ["search", "cross-validation"])
@pytest.mark.parametrize("labels", [Y, 1 - Y])
def test_searches_and_cross_validations_say_what_is_odd_about_the_whole(what, epsilon, words, labels, ledger):
    """Their fits are made unseen: what is odd about all of them, or about the price of all, is said before."""
    own = PrivateLogisticRegression(data_norm=1.0, classes=[0, 1])

    def fit(ledger, random_state=None):
        if what == "search":
            search = PrivateSearch(
                own, [{"alpha": 0.1}], epsilon=epsilon, runs=2, ledger=ledger, random_state=random_state
            )
            return search.fit(X, labels)
        model = clone(own).set_params(epsilon=epsilon)
        return private_cross_validate(
            model, X, labels, epsilon=epsilon, ledger=ledger, folds=2, random_state=random_state
        )

    heard = said(lambda: fit(ledger))
    assert len(heard) == (words is not None)
    assert words is None or words in heard[0]
    assert sum("under no ledger" in each for each in said(lambda: fit(None))) == 1
    assert said(lambda: fit(None, random_state=1)) == []


@pytest.mark.parametrize(
    "make",
    [
        lambda **rest: PrivateLogisticRegression(1.0, data_norm=50.0, **rest),
        lambda **rest: PrivateKernelClassifier(Linear() + 1.0, 1.0, landmarks=10, data_norm=50.0, **rest),
        lambda **rest: SQPerceptron(5.0, data_norm=50.0, **rest),
        lambda **rest: SQKMeans(2, 5.0, data_norm=50.0, **rest),
        lambda **rest: SQPCA(2, 5.0, data_norm=50.0, **rest),
    ],
)
def test_a_norm_far_from_what_the_encoder_states_is_warned_of_by_every_estimator(make, ledger):
    """Noise would grow with it for nothing."""
    (heard,) = [each for each in said(lambda: make(ledger=ledger).fit(RECORDS)) if "noise in" not in each]
    assert "data_norm=50, and the encoder states 1" in heard
    own = make(ledger=ledger).set_params(data_norm=1.0)
    assert [each for each in said(lambda: own.fit(RECORDS)) if "data_norm" in each] == []


@pytest.mark.parametrize("learner", [SQNaiveBayes, SQDecisionTree, SQPerceptron])
def test_hopeless_learners_from_queries_say_so(learner, ledger):
    """Where noise in a share is above all records, by n and the budget; the same for all records, before the charge."""
    other = Records({"a": -X[:, 0], "b": X[:, 0], "yes": Y == 0}, SCHEMA)
    for records in (RECORDS, other):
        (heard,) = said(lambda records=records: learner(0.001, ledger=ledger).fit(records))
        assert "will be noise" in heard
    assert said(lambda: learner(20.0, ledger=ledger).fit(RECORDS)) == []
    assert said(lambda: learner(0.001, random_state=1).fit(RECORDS)) == []
    spent = ledger.spent
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(OddTerms):
            learner(0.001, ledger=ledger).fit(RECORDS)
    assert ledger.spent == spent


def test_a_price_says_what_a_fit_will_warn_of(ledger):
    """Before anything is paid."""
    model = PrivateLogisticRegression(0.005, data_norm=1.0, classes=[0, 1], ledger=ledger)
    assert "will be noise" in model.price(X).odd[0]
    assert PrivateLogisticRegression(1.0, data_norm=1.0, ledger=ledger).price(X).odd == ()
