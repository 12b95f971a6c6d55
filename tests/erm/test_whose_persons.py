"""A ledger for persons takes what is for the persons of one column of ids, whatever is asked and however."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import tacit
from tacit import Budget, Ledger, PrivateLogisticRegression, Records, Schema, StatisticalOracle, evaluation, statistics
from tacit.data import Flag, Key, Number
from tacit.errors import InvalidParameter
from tacit.model_selection import PrivateSearch
from tacit.sums.query import StatisticalQuery

N = 300
SCHEMA = Schema({"patient": Key(), "visit": Key(), "x": Number(0, 1), "y": Flag("no", "yes")}, target="y")
TABLE = pd.DataFrame(
    {
        "patient": [f"p{row // 3}" for row in range(N)],
        "visit": np.arange(N),
        "x": np.linspace(0, 1, N),
        "y": np.where(np.arange(N) % 2, "yes", "no"),
    }
)
X, Y = TABLE[["x"]].to_numpy(), TABLE["y"].to_numpy()


@pytest.fixture
def ledger(tmp_path: Path) -> Ledger:
    """Open an account that patients have a first release on."""
    found = Ledger.create(tmp_path / "l.db", name="p", budget=Budget(100), unit="person")
    PrivateLogisticRegression(1.0, ledger=found).fit(Records(TABLE, SCHEMA, unit="patient"))
    return found


@pytest.mark.filterwarnings("ignore:these are records that the model was fitted to")
def test_a_ledger_of_patients_pays_for_no_visits(ledger: Ledger) -> None:
    """With an id of its own for each row a promise for persons would be one for rows."""
    visits, spent = Records(TABLE, SCHEMA, unit="visit"), ledger.spent
    model = PrivateLogisticRegression(1.0, data_norm=1.0, classes=["no", "yes"], ledger=ledger)
    known = PrivateLogisticRegression(1.0, random_state=1).fit(visits)
    for ask in (
        lambda: PrivateLogisticRegression(1.0, ledger=ledger).fit(visits),
        lambda: model.fit(X, Y, groups=TABLE["visit"]),
        lambda: model.fit(X, Y, groups=TABLE["visit"].to_numpy()),
        lambda: model.price(X, groups=TABLE["visit"]),
        lambda: statistics.mean(TABLE["x"], low=0, high=1, epsilon=1.0, groups=TABLE["visit"], ledger=ledger),
        lambda: StatisticalOracle(visits, ledger=ledger).ask(StatisticalQuery("x > 0.5"), tolerance=0.4),
        lambda: evaluation.report(known, visits, epsilon=1.0, ledger=ledger),
    ):
        with pytest.raises(InvalidParameter, match="promises for each person by 'patient'"):
            ask()
    assert ledger.spent == spent


@pytest.mark.filterwarnings("ignore:these are records that the model was fitted to")
def test_a_ledger_of_patients_pays_for_patients(ledger: Ledger) -> None:
    """A table's column and a Series of one name are the same persons; what is released says which."""
    patients = Records(TABLE, SCHEMA, unit="patient")
    model = PrivateLogisticRegression(1.0, data_norm=1.0, classes=["no", "yes"], ledger=ledger)
    answer = StatisticalOracle(patients, ledger=ledger).ask(StatisticalQuery("x > 0.5"), tolerance=0.4)
    report = evaluation.report(PrivateLogisticRegression(1.0, ledger=ledger).fit(patients), patients, epsilon=1.0)
    for told in (
        model.fit(X, Y, groups=TABLE["patient"]).release_.guarantee,
        statistics.mean(TABLE["x"], low=0, high=1, epsilon=1.0, groups=TABLE["patient"], ledger=ledger).guarantee,
        statistics.quantile(TABLE["x"], 0.5, low=0, high=1, epsilon=1.0, groups=TABLE["patient"]).guarantee,
        answer.guarantee,
        str(answer.plan),
        report.release.guarantee,
    ):
        assert "replace-one person neighbours by 'patient'" in told


def test_a_model_file_and_its_card_name_the_column(ledger: Ledger, tmp_path: Path) -> None:
    """Whoever gets the model later reads for whom it is private."""
    model = PrivateLogisticRegression(1.0, ledger=ledger).fit(Records(TABLE, SCHEMA, unit="patient"))
    tacit.save(model, tmp_path / "m.tacit")
    kept = tacit.load(tmp_path / "m.tacit")
    assert kept.release_.guarantee == model.release_.guarantee
    assert kept.release_.whom == ledger.whom
    for card in (tacit.reports.card_of_model(kept, ledger=ledger), tacit.reports.card_of_ledger(ledger)):
        assert "one person by 'patient'" in card.to_yaml()
        assert card.tacit["ids"] == ["patient"]


def test_parts_and_folds_keep_the_name(ledger: Ledger) -> None:
    """A search and its folds charge for the persons that they were given."""
    found = PrivateSearch(
        PrivateLogisticRegression(data_norm=1.0, classes=["no", "yes"]),
        {"alpha": [0.1, 1.0]},
        epsilon=3.0,
        ledger=ledger,
    ).fit(X, Y, groups=TABLE["patient"])
    assert "by 'patient'" in found.release_.guarantee
