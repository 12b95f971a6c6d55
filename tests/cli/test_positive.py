"""Whoever reads scores of two classes is told which of them is the positive one."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
TARGET = 'kind = "category"\nlevels = ["rest", "<30"]\nother = "rest"\n'


def declare(clinic, line):
    """Let the target be those who come back within 30 days, and the rest."""
    text = (clinic.folder / "s.toml").read_text("utf-8")
    text = re.sub(r'(\[columns.ill\]\n)kind = "flag"\n', lambda found: found[1] + TARGET + line, text)
    (clinic.folder / "s.toml").write_text(text, "utf-8")
    table = (clinic.folder / "patients.csv").read_text("utf-8")
    (clinic.folder / "patients.csv").write_text(table.replace(",true,", ",<30,").replace(",false,", ",>30,"), "utf-8")


@pytest.mark.parametrize("positive", ["<30", "rest"])
def test_every_output_names_the_positive_class(clinic, positive):
    """A table, JSON and pages name the class that the schema declares, whichever comes first in the alphabet."""
    declare(clinic, f'positive = "{positive}"\n')
    checked = clinic.run("schema", "check", "s.toml", "--json")
    assert checked.plain["positive"] == positive
    assert "not declared" not in checked.err
    assert clinic.train("--part", "train", "--seed", "1").code == 0
    inspected = clinic.run("inspect", "m.tacit", "--json").plain
    assert inspected["positive"] == inspected["classes"][1] == positive
    assert f"(positive: {positive})" in " ".join(clinic.run("inspect", "m.tacit").out.split())
    asked = ("evaluate", "m.tacit", "patients.csv", "--epsilon", "1", "--seed", "1")
    assert clinic.run(*asked, "--json").plain["positive"] == positive
    assert f"{positive} (positive) against" in clinic.run(*asked).out
    page = (clinic.folder / "m.scores.html").read_text("utf-8")
    assert f"{positive.replace('<', '&lt;')} (positive) against" in page


def test_a_threshold_asks_for_the_positive_class(clinic):
    """Whoever declares none is warned when a model is trained, and refused where a score depends on it, uncharged."""
    declare(clinic, "")
    assert "not declared" in clinic.run("schema", "check", "s.toml").err
    trained = clinic.train("--part", "train", "--seed", "1")
    assert trained.code == 0
    assert "not declared" in trained.err
    for asked in (
        ("evaluate", "m.tacit", "patients.csv", "--epsilon", "1", "--seed", "1"),
        ("predict", "m.tacit", "patients.csv", "--threshold", "0.3"),
    ):
        refused = clinic.run(*asked)
        assert refused.code != 0
        assert 'positive = "..."' in refused.err
    assert clinic.run("predict", "m.tacit", "patients.csv").code == 0


@pytest.mark.parametrize("positive", ["<30", "rest"])
def test_a_threshold_is_one_of_the_positive_class(clinic, positive):
    """The lower it is, the more rows are said to be positive; none at one, and all at nothing."""
    declare(clinic, f'positive = "{positive}"\n')
    assert clinic.train("--seed", "1").code == 0
    for threshold, said in (("0", {positive}), ("1", {"<30", "rest"} - {positive})):
        found = clinic.run("predict", "m.tacit", "patients.csv", "--threshold", threshold, "--json")
        assert set(found.plain["prediction"]) == said


def test_the_recipe_for_two_classes_makes_the_rare_one_positive():
    """The page on tables of one's own declares it, beside the level that takes in the rest."""
    page = (ROOT / "docs/your-own-table.md").read_text("utf-8")
    levels = re.search(r'`levels = \["(.+?)", "(.+?)"\]`, `other = "(.+?)"` and `positive = "(.+?)"`', page)
    assert levels[3] == levels[1]
    assert levels[4] == levels[2]
