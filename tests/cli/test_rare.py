"""A rare class can be weighed, found by a threshold, and its threshold chosen after one charge, by commands alone."""

import numpy as np

import tacit
from tacit import Records, Schema

JUDGE = ("evaluate", "m.tacit", "patients.csv", "--epsilon", "5", "--seed", "1", "--part", "all")


def test_a_threshold_is_that_of_the_probabilities(clinic):
    """`predict --threshold` says the positive class above it; `evaluate --threshold` counts there."""
    assert clinic.train("--seed", "1", "--part", "train").code == 0
    model, schema = tacit.load("m.tacit"), Schema.load("s.toml")
    chances = model.predict_proba(Records("patients.csv", schema))[:, 1]
    cut = float(np.median(chances))
    told = clinic.run("predict", "m.tacit", "patients.csv", "--threshold", f"{cut!r}", "--json").plain["prediction"]
    assert told == [model.classes_[int(chance > cut)] for chance in chances]
    assert clinic.run("predict", "m.tacit", "patients.csv", "--threshold", "2").code == 2
    plain = clinic.run(*JUDGE, "--threshold", "0.0001", "--json").plain
    assert plain["scores"]["recall"]["value"] > 0.9
    assert "--threshold 0.0001" in (clinic.folder / "m.scores.html").read_text("utf-8")


def test_thresholds_can_be_compared_after_one_charge(clinic):
    """Recall falls as the threshold rises; the page and JSON have the same table."""
    assert clinic.train("--seed", "1", "--part", "train").code == 0
    rows = clinic.run(*JUDGE, "--json").plain["thresholds"]
    recalls = [row["recall"] for row in rows]
    assert recalls == sorted(recalls, reverse=True)
    assert "positive above 0.05" in (clinic.folder / "m.scores.html").read_text("utf-8")


def test_classes_are_weighed_and_curves_are_told(clinic):
    """As `class_weight` and `curves` of the estimator, and in the command that repeats it; others refuse them."""
    told = clinic.train("--seed", "1", "--class-weight", "true=5", "--class-weight", "false=1", "--curves", "5")
    assert told.code == 0, told.err
    model = tacit.load("m.tacit")
    assert model.class_weight == {"true": 5.0, "false": 1.0}
    assert model.encoder_.curves == 5
    page = (clinic.folder / "m.html").read_text("utf-8")
    assert "--class-weight true=5" in page
    assert "--curves 5" in page
    twice = ("--class-weight", "true=5", "--class-weight", "true=6")
    for wrong in (("--class-weight", "true"), ("--class-weight", "true=x"), twice, ("--curves", "many")):
        assert clinic.train("--seed", "1", *wrong).code == 2
    refused = clinic.train("--seed", "1", "--method", "kernel", "--curves", "5")
    assert (refused.code, "--curves is not for" in refused.err) == (2, True)
