"""Private cross-validation: its price, its folds, its scores."""

import sqlite3

import numpy as np
import pytest

from support.opened import cells_of
from tacit import Budget, Ledger, PrivateLinearRegression, PrivateLogisticRegression, Records
from tacit.data import Flag, Key, Number, Schema
from tacit.errors import BudgetExceeded, InvalidParameter
from tacit.model_selection import cross_validation_price, private_cross_validate
from tacit.model_selection.judging import judged

COINS = np.random.default_rng(0)
X = COINS.normal(size=(800, 3)) / 3
Y = (X[:, 0] + 0.05 * COINS.normal(size=800) > 0).astype(int)
SCHEMA = Schema({"who": Key(), "a": Number(-1, 1), "b": Number(-1, 1), "yes": Flag()}, target="yes")


@pytest.fixture
def ledger(tmp_path):
    """An account of 10 with a delta."""
    return Ledger.create(f"sqlite:///{tmp_path / 'ledger.db'}", name="l", budget=Budget(10, 1e-4))


@pytest.mark.parametrize("delta", [0.0, 1e-6])
def test_the_price_is_all_fits_but_one_and_one_score(delta, ledger):
    """Five folds at epsilon 2 with scores at 1.5 cost 9.5, in one entry, told before."""
    model = PrivateLogisticRegression(2.0, delta, data_norm=1.0)
    told = cross_validation_price(model, epsilon=1.5, ledger=ledger)
    assert (told.budget, told.affordable) == (Budget(9.5, 4 * delta), True)
    found = private_cross_validate(model, X, Y, epsilon=1.5, ledger=ledger)
    (entry,) = ledger.entries()
    assert entry.amount == told.budget
    assert len(found.scores) == 5
    assert 0.8 < found.mean < 1.05
    assert found.noise_error < 0.05
    assert "epsilon=9.5" in str(found)
    with pytest.raises(BudgetExceeded):
        private_cross_validate(model, X, Y, epsilon=1.5, ledger=ledger)


def test_noise_is_as_announced():
    """Over 100 rehearsals of scores of one model, the means stay within the noise error nearly always."""
    model = PrivateLogisticRegression(1e4, data_norm=1.0)
    means = [private_cross_validate(model, X, Y, epsilon=0.2, random_state=seed) for seed in range(40)]
    middle = np.median([each.mean for each in means])
    assert sum(abs(each.mean - middle) <= each.noise_error for each in means) >= 36
    assert 0.02 < means[0].noise_error < 0.1


def test_persons_are_in_one_fold(ledger):
    """A person's rows are all in one fold, and the release is for persons; a ledger for records is refused."""
    records = Records({"who": np.arange(800) // 4, "a": X[:, 0], "b": X[:, 1], "yes": Y}, SCHEMA, unit="who")
    with pytest.raises(InvalidParameter):
        private_cross_validate(PrivateLogisticRegression(1.0), records, epsilon=1.0, ledger=ledger)
    assert ledger.entries() == []


@pytest.mark.parametrize("form", ["records", "arrays"])
def test_neither_folds_nor_scores_depend_on_the_order_of_rows(form, monkeypatch):
    """Persons' rows in any order are in the same folds with the same scores; rows without an id are in one fold."""
    who = np.array([None if row % 8 == 0 else f"p{row // 4}" for row in range(800)], dtype=object)
    first, folds, scores = X[:, 0].clip(-1, 1), [], []

    def watched(setting, train, test, *rest):
        folds.append(sorted(cells_of(test.X, "a")["a"] if form == "records" else test.X[:, 0]))
        return judged(setting, train, test, *rest)

    monkeypatch.setattr("tacit.model_selection.cross_validation.judged", watched)
    for order in (np.arange(800), np.random.default_rng(1).permutation(800)):
        if form == "records":
            cells = {"who": who[order], "a": X[order, 0], "b": X[order, 1], "yes": Y[order]}
            data, model = {"X": Records(cells, SCHEMA, unit="who")}, PrivateLogisticRegression(1.0)
        else:
            data = {"X": X[order].clip(-1, 1), "y": Y[order], "groups": who[order]}
            model = PrivateLogisticRegression(1.0, data_norm=1.0)
        scores.append(private_cross_validate(model, **data, epsilon=1.0, random_state=0).scores)
    assert folds[:5] == folds[5:]
    assert np.allclose(*scores, rtol=0, atol=1e-9)
    alone = set(first[::8])
    assert [len(alone & set(fold)) for fold in folds[:5] if alone & set(fold)] == [len(alone)]


@pytest.mark.parametrize("ids", ["all", "half"])
def test_no_record_moves_others_to_another_fold(tmp_path, ids, monkeypatch):
    """Rows of a database without an id lie in one fold together: a record's primary key moves nobody to another."""
    folds = []
    for name, first in (("one", 0), ("other", 5000)):
        with sqlite3.connect(tmp_path / name) as connection:
            connection.execute("CREATE TABLE t (pk INTEGER PRIMARY KEY, who TEXT, a REAL, b REAL, yes TEXT)")
            for row in range(100):
                who = f"p{row // 2}" if ids == "all" or row % 4 else None
                cells = (row or first, who, row / 100, 0.0, "ny"[row % 2])
                connection.execute("INSERT INTO t VALUES (?, ?, ?, ?, ?)", cells)
        connection.close()
        schema = Schema({**SCHEMA.columns, "yes": Flag("n", "y")}, target="yes")
        records = Records((f"sqlite:///{tmp_path}/{name}", "t"), schema, unit="who")
        seen = []

        def judged(setting, train, test, *_, seen=seen):
            seen.append([sorted(cells_of(part.X, "a")["a"].tolist()) for part in (train, test)])
            return 0.5, None

        monkeypatch.setattr("tacit.model_selection.cross_validation.judged", judged)
        private_cross_validate(PrivateLogisticRegression(1.0), records, epsilon=1.0, random_state=0)
        folds.append(seen)
    assert folds[0] == folds[1]
    assert all(sorted(train + test) == [row / 100 for row in range(100)] for train, test in folds[0])
    assert len({row for _, test in folds[0] for row in test}) == sum(len(test) for _, test in folds[0]) == 100


def test_as_many_persons_with_an_id_as_folds_are_needed(tmp_path, ledger):
    """Rows of a database without an id count as one, and the refusal charges nothing."""
    with sqlite3.connect(tmp_path / "t") as connection:
        connection.execute("CREATE TABLE t (who TEXT, a REAL, b REAL, yes TEXT)")
        ids = [*["p"] * 20, "q", *[None] * 20]
        connection.executemany("INSERT INTO t VALUES (?, 0, 0, 'n')", [(who,) for who in ids])
    connection.close()
    records = Records((f"sqlite:///{tmp_path}/t", "t"), SCHEMA, unit="who")
    with pytest.raises(InvalidParameter, match=r"5 folds need .* Got 3"):
        private_cross_validate(PrivateLogisticRegression(1.0), records, epsilon=1.0, ledger=ledger)
    assert ledger.entries() == []
    found = private_cross_validate(PrivateLogisticRegression(1.0), records, epsilon=1.0, folds=3, random_state=0)
    assert len(found.scores) == 3
    assert found.noise_error > 0.5


def test_regressions_are_scored_by_their_error():
    """The mean absolute error comes with the noise in its own units."""
    model = PrivateLinearRegression(50.0, data_norm=1.0, target_range=(-2, 2))
    found = private_cross_validate(model, X, X[:, 0], epsilon=5.0, random_state=0)
    assert found.scoring == "error"
    assert 0 < found.mean < 0.5


def test_a_twin_costs_nothing(ledger):
    """Cross-validation is rehearsed on made-up records."""
    found = private_cross_validate(PrivateLogisticRegression(1.0), SCHEMA.twin(500), epsilon=1.0, ledger=ledger)
    assert not found.release.private
    assert ledger.entries() == []


@pytest.mark.parametrize(
    ("changes", "message"),
    [({"folds": 1}, "at least 2"), ({"folds": 900}, "as many records"), ({"epsilon": None}, "epsilon is missing"),
     ({"epsilon": np.inf}, "finite"), ({"scoring": "error"}, "scoring"), ({"confidence": 1}, "confidence")],
)  # fmt: skip
def test_what_is_public_is_refused_before_the_charge(changes, message, ledger):
    """Each refusal says what is wrong, and charges nothing."""
    with pytest.raises(InvalidParameter, match=message):
        private_cross_validate(
            PrivateLogisticRegression(1.0, data_norm=1.0), X, Y, **({"epsilon": 1.0} | changes), ledger=ledger
        )
    assert ledger.entries() == []
