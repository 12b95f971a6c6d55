"""`tacit train --method kernel`: public landmarks, made up or from a file, a card, a report, and nothing of records."""

import numpy as np
import pytest

import tacit
from cli.conftest import SCHEMA, write_table
from tacit import Budget, Schema
from tacit.data.twins import made_up_table
from tacit.kernels.maps.public import landmark_rows, usual_count, usual_gamma
from tacit.reports.registry import checked_record

NUMBER = SCHEMA.replace('target = "ill"', 'target = "age"')


@pytest.mark.parametrize("kernel", ["quadratic", "cubic", "rbf"])
@pytest.mark.parametrize(("schema", "kind"), [(SCHEMA, "Classifier"), (NUMBER, "Regressor")], ids=["class", "number"])
def test_a_kernel_model_comes_with_card_report_and_predictions(clinic, kernel, schema, kind):
    """Charged once, saved, drawn, carded; a loaded model predicts, and evaluates on the other part."""
    (clinic.folder / "s.toml").write_text(schema, "utf-8")
    asked = "--method", "kernel", "--kernel", kernel, "--part", "train", "--ledger", clinic.address, "--json"
    told = clinic.train(*asked)
    assert told.code == 0, told.err
    assert told.plain["kind"] == f"PrivateKernel{kind}"
    assert str(clinic.ledger.spent) == "epsilon=0.5, delta=0"
    card = tacit.load("m.tacit").card_
    assert checked_record(card.record) == card.record
    assert "features by public landmarks" in card.record["deployment"]["dp_flavor"]["unprotected_quantities"]
    page = (clinic.folder / "m.html").read_text("utf-8")
    assert "on average over made-up records" in page
    assert f"--method kernel --kernel {kernel}" in page
    assert len(clinic.run("predict", "m.tacit", "patients.csv").out.splitlines()) == 301
    scored = clinic.run("evaluate", "m.tacit", "patients.csv", "--part", "test", "--epsilon", "0.5", "--seed", "1")
    assert scored.code == 0, scored.err


def test_landmarks_that_are_made_up_depend_on_public_facts_alone(clinic):
    """Two tables of the same size under one schema have the same landmarks; their number follows n and the budget."""
    points = []
    for ill in (("true", "false"), ("true",)):
        write_table(clinic.folder / "patients.csv", ill=ill)
        assert clinic.train("--method", "kernel", "--seed", "1").code == 0
        points.append(np.asarray(tacit.load("m.tacit").landmarks))
    assert np.array_equal(*points)
    assert len(points[0]) == usual_count(300, Budget(0.5)) == 30
    assert usual_count(10_000, Budget(1)) == 100
    assert usual_count(10_000, Budget(1, 1e-6)) == 200
    assert usual_count(10**9, Budget(1)) == 500


def test_landmarks_of_a_public_table_are_coded_like_the_records(clinic):
    """A public file, with or without the target, gives the rows that the encoder makes of it."""
    write_table(clinic.folder / "volunteers.csv", count=40)
    assert clinic.train("--method", "kernel", "--landmarks", "volunteers.csv", "--seed", "1").code == 0
    model = tacit.load("m.tacit")
    public = tacit.Records("volunteers.csv", Schema.load("s.toml"))
    assert np.array_equal(model.landmarks, model.encoder_.transform(public))
    assert np.array_equal(model.landmarks, landmark_rows(Schema.load("s.toml"), public))
    assert clinic.train("--method", "kernel", "--landmarks", "25", "--seed", "1").code == 0
    assert len(tacit.load("m.tacit").landmarks) == 25


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (("--method", "kernel", "--landmarks", "patients.csv"), "must name public records"),
        (("--method", "kernel", "--landmarks", "./patients.csv"), "must name public records"),
        (("--method", "kernel", "--landmarks", "link.csv"), "must name public records"),
        (("--method", "kernel", "--landmarks", "nowhere.csv"), "nowhere.csv"),
        (("--method", "kernel", "--landmarks", "0"), "1 to 5000"),
        (("--method", "kernel", "--landmarks", "9999999999999"), "1 to 5000"),
        (("--landmarks", "30"), "are for --method kernel"),
        (("--method", "svc", "--kernel", "rbf"), "are for --method kernel"),
    ],
)
def test_landmarks_that_are_none_are_refused_before_any_charge(clinic, options, words):
    """The table itself under any name, no file, none or too many, another method: exit code 2."""
    (clinic.folder / "link.csv").symlink_to(clinic.folder / "patients.csv")
    ended = clinic.train(*options, "--ledger", clinic.address)
    assert ended.code == 2
    assert words in " ".join(ended.err.split())
    assert clinic.ledger.spent == Budget(0)


def test_a_kernel_model_is_priced_and_tuned(clinic):
    """`--dry-run` names the cost and charges nothing; `tune` searches over its ridge."""
    priced = clinic.train("--method", "kernel", "--ledger", clinic.address, "--dry-run", "--json").plain
    assert priced["cost"]["epsilon"] == 0.5
    assert clinic.ledger.spent == Budget(0)
    asked = "tune", "patients.csv", "--schema", "s.toml", "--epsilon", "0.8", "--try", "alpha=auto,0.1", "--runs", "2"
    told = clinic.run(*asked, "--method", "kernel", "--output", "t.tacit", "--seed", "1", "--json")
    assert told.code == 0, told.err
    assert told.plain["best"].get("alpha", "auto") in ("auto", 0.1)


def test_the_usual_width_is_that_of_typical_distances():
    """Points of one place have the width 1; points on both ends of a stick that of their distance."""
    assert usual_gamma(np.zeros((5, 2))) == 1.0
    assert usual_gamma(np.array([[0.0, 0.0], [0.5, 0.0]])) == pytest.approx(4.0)


def test_an_average_effect_is_the_mean_score_of_made_up_records(clinic):
    """A value of one column put into all made-up records, scored and averaged, up to the mean over its values."""
    assert clinic.train("--method", "kernel", "--seed", "1").code == 0
    model = tacit.load("m.tacit")
    effect = model.curves_["ward"]
    cells = made_up_table(model.encoder_.schema, 100, 0, signal=0.0)
    means = []
    for level in ("A", "B"):
        table = {name: cells[name] for name in model.encoder_.schema.inputs} | {"ward": np.array([level] * 100)}
        means.append(model.decision_function(model.encoder_.transform(table)).mean())
    assert np.allclose(effect.effect, np.array(means) - np.mean(means))
    assert effect.noise is None


def test_the_effects_of_a_kernel_regression_are_in_the_units_of_its_target(clinic):
    """They are means of predictions, up to a constant: years, not shares of the declared range."""
    (clinic.folder / "s.toml").write_text(NUMBER, "utf-8")
    assert clinic.train("--method", "kernel", "--seed", "1").code == 0
    model = tacit.load("m.tacit")
    cells = made_up_table(model.encoder_.schema, 100, 0, signal=0.0)
    means = []
    for level in ("A", "B"):
        table = {name: cells[name] for name in model.encoder_.schema.inputs} | {"ward": np.array([level] * 100)}
        means.append(model.predict(model.encoder_.transform(table)).mean())
    assert np.allclose(model.curves_["ward"].effect, np.array(means) - np.mean(means))
