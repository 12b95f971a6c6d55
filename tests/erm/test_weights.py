"""Weights of rows, classes and persons, as callers of `fit` give them: what they do, and that no value is refused."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import ibis
import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

from tacit import PrivateERM, PrivateLinearRegression, PrivateLinearSVC, PrivateLogisticRegression
from tacit.accounting.ledger import Ledger
from tacit.budget import Budget
from tacit.data import Category, Key, Number, Records, Schema
from tacit.erm.losses.standard import HuberHinge, Logistic
from tacit.errors import InvalidParameter
from tacit.kernels import Linear, PrivateKernelClassifier

GENERATOR = np.random.default_rng(2)
X = GENERATOR.normal(size=(200, 3))
Y = (X[:, 0] + 0.5 * GENERATOR.normal(size=200) > 0).astype(int)
IDS = GENERATOR.integers(0, 60, 200)
SCHEMA = Schema({"id": Key(), "a": Number(-3, 3), "b": Number(-3, 3), "ill": Category(["no", "yes"])}, target="ill")
TABLE = {"id": IDS, "a": X[:, 0], "b": X[:, 1], "ill": np.array(["no", "yes"])[Y]}


def _model(**options: Any) -> PrivateLogisticRegression:
    return PrivateLogisticRegression(
        **{"epsilon": 1.0, "data_norm": 2.0, "classes": [0, 1], "random_state": 3, **options}
    )


@pytest.fixture
def persons(tmp_path: Path) -> Ledger:
    """Give an account of epsilon 100 for persons."""
    return Ledger.create(f"sqlite:///{tmp_path}/persons.db", name="p", budget=Budget(100, 0.1), unit="person")


MAKERS: list[Callable[[Ledger | None], Any]] = [
    lambda ledger: _model(random_state=None, ledger=ledger),
    lambda ledger: _model(random_state=None, ledger=ledger, delta=1e-6),
    lambda ledger: _model(random_state=None, ledger=ledger, delta=1e-6, perturbation="objective"),
    lambda ledger: _model(random_state=None, ledger=ledger, perturbation="output"),
    lambda ledger: PrivateLinearSVC(1.0, data_norm=2.0, classes=[0, 1], ledger=ledger),
    lambda ledger: PrivateERM(HuberHinge(0.3), 1.0, 1e-6, data_norm=2.0, classes=[0, 1], ledger=ledger),
    lambda ledger: PrivateLinearRegression(1.0, data_norm=2.0, target_range=(0, 1), ledger=ledger),
    lambda ledger: PrivateLinearRegression(1.0, 1e-6, data_norm=2.0, target_range=(0, 1), ledger=ledger),
    lambda ledger: PrivateKernelClassifier(
        Linear(), 1.0, 1e-6, landmarks=5, data_norm=2.0, classes=[0, 1], ledger=ledger
    ),
]


@pytest.mark.parametrize("make", MAKERS)
def test_groups_make_promises_for_persons(make: Callable[[Ledger | None], Any], persons: Ledger) -> None:
    """The release, its sentence and the ledger speak of persons; the same fit without groups is refused, uncharged."""
    with pytest.raises(InvalidParameter, match="promises for each person"):
        make(persons).fit(X, Y)
    assert persons.spent == Budget(0)
    model = make(persons).fit(X, Y, groups=IDS)
    assert model.release_.unit == "person"
    assert "replace-one person" in model.release_.guarantee
    assert persons.spent.epsilon == 1.0


def test_persons_are_refused_on_a_ledger_for_records(tmp_path: Path) -> None:
    """One ledger, one unit: the other way round is refused as well, before anything is charged."""
    ledger = Ledger.create(f"sqlite:///{tmp_path}/records.db", name="r", budget=Budget(10))
    for fit in (
        lambda: _model(random_state=None, ledger=ledger).fit(X, Y, groups=IDS),
        lambda: PrivateLogisticRegression(1.0, ledger=ledger).fit(Records(TABLE, SCHEMA, unit="id")),
    ):
        with pytest.raises(InvalidParameter, match="promises for each record"):
            fit()
    assert ledger.spent == Budget(0)


def test_records_with_a_unit_are_fitted_for_persons(persons: Ledger) -> None:
    """`Records(..., unit=)` does what `groups` does, and splits pay from the parts' accounts."""
    records = Records(TABLE, SCHEMA, unit="id")
    whole = PrivateLogisticRegression(1.0, ledger=persons).fit(records)
    train, _ = records.split(0.7, 0.3, by="key")
    part = PrivateLogisticRegression(1.0, ledger=persons).fit(train)
    assert whole.release_.unit == part.release_.unit == "person"
    assert part.release_.entry.path[0][1] == "train"
    seeded = [
        PrivateLogisticRegression(1.0, random_state=5).fit(records).coef_,
        PrivateLogisticRegression(1.0, random_state=5).fit(Records(TABLE, SCHEMA)).coef_,
    ]
    assert not np.array_equal(*seeded)


def test_nothing_public_depends_on_how_many_rows_there_are() -> None:
    """Persons with their rows once and seven times over have the same ridge, sentence and, nearly, model."""
    for options in ({}, {"delta": 1e-6}, {"delta": 1e-6, "perturbation": "objective"}, {"perturbation": "output"}):
        once = _model(**options).fit(X, Y, groups=IDS)
        often = _model(**options).fit(np.repeat(X, 7, axis=0), np.repeat(Y, 7), groups=np.repeat(IDS, 7))
        assert once.alpha_ == often.alpha_
        assert once.release_.public == often.release_.public
        assert once.release_.event == often.release_.event
        assert np.allclose(once.coef_, often.coef_, rtol=1e-6)


def test_the_order_of_rows_does_not_matter_but_for_rounding() -> None:
    """Rows of persons in any order, ids under other names in the same order."""
    order = np.random.default_rng(0).permutation(len(X))
    one = _model().fit(X, Y, groups=IDS)
    other = _model().fit(X[order], Y[order], groups=IDS[order])
    renamed = _model().fit(X, Y, groups=[f"patient {each}" for each in IDS])
    assert np.allclose(one.coef_, other.coef_, rtol=1e-6)
    assert np.allclose(one.coef_, renamed.coef_, rtol=1e-6)


def test_a_weight_is_a_share_of_the_declared_largest() -> None:
    """Weights over twice the bound are the same as half of them over the bound; all at the largest is no weight."""
    weights = np.random.default_rng(1).uniform(0, 4, 200)
    one = _model(largest_weight=4.0).fit(X, Y, sample_weight=weights)
    other = _model(largest_weight=1.0).fit(X, Y, sample_weight=weights / 4)
    assert np.array_equal(one.coef_, other.coef_)
    plain, full = _model().fit(X, Y), _model(largest_weight=4.0).fit(X, Y, sample_weight=np.full(200, 4.0))
    assert np.allclose(plain.coef_, full.coef_, rtol=1e-9)


@pytest.mark.parametrize("odd", [-1.0, float("nan"), float("-inf"), None, "much", -1e300, pd.NA])
def test_odd_weights_weigh_nothing_and_are_never_refused(odd: Any) -> None:
    """Negative, missing, or no number: the row counts as one of weight 0 does."""
    weights: list[Any] = [0.5] * 200
    zero = list(weights)
    weights[7], zero[7] = odd, 0.0
    found = [_model(largest_weight=1.0).fit(X, Y, sample_weight=each).coef_ for each in (weights, zero)]
    assert np.array_equal(*found)


@pytest.mark.parametrize("odd", [1.5, 1e300, float("inf"), 10**400])
def test_weights_above_the_largest_count_as_much_as_it(odd: Any) -> None:
    """Nobody counts more than was declared."""
    weights: list[Any] = [0.5] * 200
    full = list(weights)
    weights[7], full[7] = odd, 1.0
    found = [_model(largest_weight=1.0).fit(X, Y, sample_weight=each).coef_ for each in (weights, full)]
    assert np.array_equal(*found)


def test_no_weight_at_all_and_one_owner_of_everything_are_fitted() -> None:
    """All weights zero, one person with all rows, only missing ids."""
    assert _model(largest_weight=1.0).fit(X, Y, sample_weight=np.zeros(200)).release_.unit == "record"
    assert np.isfinite(_model().fit(X, Y, groups=np.zeros(200, dtype=int)).coef_).all()
    missing = _model().fit(X, Y, groups=np.full(200, np.nan))
    assert missing.release_.unit == "person"


def test_class_weights_are_public_numbers_over_their_largest() -> None:
    """{0: 1, 1: 4} is a row weight of 1/4 or 1; classes that are not named weigh 1."""
    by_class = _model(class_weight={0: 1, 1: 4}).fit(X, Y)
    by_row = _model(largest_weight=4.0).fit(X, Y, sample_weight=np.where(Y == 1, 4.0, 1.0))
    assert np.array_equal(by_class.coef_, by_row.coef_)
    unnamed = _model(class_weight={0: 0.25}).fit(X, Y)
    assert np.array_equal(by_class.coef_, unnamed.coef_)
    rare = PrivateLogisticRegression(1.0, class_weight={"no": 0.2}, random_state=1).fit(
        Records(TABLE, SCHEMA, unit="id")
    )
    assert rare.release_.unit == "person"


@pytest.mark.parametrize(
    ("options", "given", "words"),
    [
        ({}, {"sample_weight": np.ones(200)}, "largest_weight is missing"),
        ({"largest_weight": 0}, {"sample_weight": np.ones(200)}, "largest_weight must be a positive number"),
        ({"largest_weight": -1.0}, {"sample_weight": np.ones(200)}, "largest_weight must be a positive number"),
        ({"largest_weight": "big"}, {"sample_weight": np.ones(200)}, "largest_weight must be"),
        ({"largest_weight": float("nan")}, {"sample_weight": np.ones(200)}, "largest_weight must"),
        ({"largest_weight": 1.0}, {"sample_weight": np.ones(199)}, "one entry for each row"),
        ({"largest_weight": 1.0}, {"sample_weight": np.ones((200, 2))}, "one column"),
        ({"largest_weight": 1.0}, {"sample_weight": "heavy"}, "one column"),
        ({}, {"groups": IDS[:-1]}, "one entry for each row"),
        ({}, {"groups": np.ones((200, 2))}, "one column"),
        ({}, {"groups": 3}, "one column"),
        ({"class_weight": "balanced"}, {}, "no noise covers that"),
        ({"class_weight": {0: 1, 2: 1}}, {}, "not among the classes"),
        ({"class_weight": {0: 1, 1: -1}}, {}, "class weights must be"),
        ({"class_weight": {0: 0, 1: 0}}, {}, "class weights must be"),
        ({"class_weight": {0: float("nan")}}, {}, "a class weight must be"),
        ({"class_weight": [1, 2]}, {}, "must map classes"),
    ],
)
def test_public_nonsense_is_refused_and_uncharged(
    options: dict[str, Any], given: dict[str, Any], words: str, tmp_path: Path
) -> None:
    """With a sentence that says what to do and quotes no record."""
    ledger = Ledger.create(f"sqlite:///{tmp_path}/a.db", name="a", budget=Budget(10))
    with pytest.raises(InvalidParameter, match=words):
        _model(**options, random_state=None, ledger=ledger).fit(X, Y, **given)
    assert ledger.spent == Budget(0)


@pytest.mark.parametrize(
    ("make", "given"),
    [
        (lambda: PrivateLinearSVC(1.0, data_norm=2.0, loss="hinge"), {"groups": IDS}),
        (lambda: PrivateKernelClassifier(Linear(), 1.0, method="tddl", landmarks=5, data_norm=2.0), {"groups": IDS}),
        (lambda: PrivateERM(Logistic(), 1.0, data_norm=2.0, class_weight="balanced"), {}),
    ],
)
def test_what_has_no_proof_for_persons_says_so(make: Callable[[], Any], given: dict[str, Any]) -> None:
    """Rows never pass for persons silently."""
    with pytest.raises(InvalidParameter):
        make().fit(X, Y, **given)


def test_records_take_no_groups_and_say_what_to_do() -> None:
    """Their unit says whose the rows are."""
    with pytest.raises(InvalidParameter, match="unit="):
        PrivateLogisticRegression(1.0).fit(Records(TABLE, SCHEMA), groups=IDS)


@pytest.mark.parametrize("length", [0, 60, 199, 200, 201])
@pytest.mark.parametrize("memory", [1, 2**29])
def test_weights_beside_records_without_places_are_refused_whatever_their_number(
    length: int, memory: int, persons: Ledger
) -> None:
    """Whether they are as many as a person's rows would tell how many those are, and nobody would pay for it."""
    records = Records(TABLE, SCHEMA, unit="id", memory=memory)
    stored = ibis.duckdb.connect().create_table("t", pa.table(TABLE))
    for each in (records, records.split(by="key")[0], Records(stored, SCHEMA, memory=memory)):
        with pytest.raises(InvalidParameter, match="cannot stand beside these records") as caught:
            PrivateLogisticRegression(1.0, largest_weight=1.0, ledger=persons).fit(each, sample_weight=np.ones(length))
        assert not any(digit in str(caught.value) for digit in "0123456789")
    assert persons.entries() == []


def test_a_price_for_persons_is_found() -> None:
    """What a fit of records with a unit would charge is known without a look at them."""
    price = PrivateLogisticRegression(1.0).price(Records(TABLE, SCHEMA, unit="id"))
    assert price.event is not None


@pytest.mark.parametrize("persons", [True, False])
def test_one_patient_with_twenty_rows_is_hidden_only_as_a_person(persons: bool) -> None:
    """The published coefficient tells a patient's 20 rows apart at epsilon 1, unless they are one person's.

    Two plays a side: of 120 fits the share with a positive slope differs by less than e^1 allows for persons; for
    rows it goes from nearly all to nearly none.
    """
    rest = 3
    signs = []
    for label in (1, 0):
        rows = np.concatenate([np.ones((20, 1)), np.zeros((rest, 1))])
        marks = np.array([label] * 20 + [0, 1, 0])
        ids = np.array([7] * 20 + [1, 2, 3]) if persons else None
        models = [
            PrivateLogisticRegression(1.0, data_norm=1.0, classes=[0, 1], fit_intercept=False).fit(
                rows, marks, groups=ids
            )
            for _ in range(120)
        ]
        signs.append(sum(float(model.coef_[0, 0]) > 0 for model in models) / 120)
    # A share of at most e/(1+e) = .73 is allowed for one of two opposite patients; .95 is 5 standard deviations above.
    if not persons:
        assert signs[0] > 0.95
        assert signs[1] < 0.05
    else:
        assert signs[0] < 0.95
        assert signs[1] > 0.05
