"""Whoever reads scores of two classes is told which of them is the positive one."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
TARGET = 'kind = "category"\nlevels = ["{other}", "<30"]\nother = "{other}"\n'


def declared(clinic, other):
    """Let the target be those who come back within 30 days, and the rest under this name."""
    text = (clinic.folder / "s.toml").read_text("utf-8")
    text = re.sub(r'(\[columns.ill\]\n)kind = "flag"\n', lambda found: found[1] + TARGET.format(other=other), text)
    (clinic.folder / "s.toml").write_text(text, "utf-8")
    table = (clinic.folder / "patients.csv").read_text("utf-8")
    (clinic.folder / "patients.csv").write_text(table.replace(",true,", ",<30,").replace(",false,", ",>30,"), "utf-8")


@pytest.mark.parametrize(("other", "positive"), [("(rest)", "<30"), ("rest", "rest")])
def test_every_output_names_the_positive_class(clinic, other, positive):
    """A table, JSON and pages; a check of the schema warns where it is the one that takes in the rest."""
    declared(clinic, other)
    checked = clinic.run("schema", "check", "s.toml", "--json")
    assert checked.plain["positive"] == positive
    assert ("'(rest)'" in checked.err) == (positive == "rest")
    assert clinic.train("--part", "train", "--seed", "1").code == 0
    assert clinic.run("inspect", "m.tacit", "--json").plain["positive"] == positive
    assert f"(positive: {positive})" in " ".join(clinic.run("inspect", "m.tacit").out.split())
    asked = ("evaluate", "m.tacit", "patients.csv", "--epsilon", "1", "--seed", "1")
    assert clinic.run(*asked, "--json").plain["positive"] == positive
    assert f"{positive} (positive) against" in clinic.run(*asked).out
    page = (clinic.folder / "m.scores.html").read_text("utf-8")
    assert f"{positive.replace('<', '&lt;')} (positive) against" in page


def test_the_recipe_for_two_classes_makes_the_rare_one_positive():
    """The page on tables of one's own names the level that takes in the rest so that it comes first."""
    page = (ROOT / "docs/your-own-table.md").read_text("utf-8")
    levels = re.search(r'`levels = \["(.+?)", "(.+?)"\]` and `other = "(.+?)"`', page)
    assert levels[3] == levels[1] == sorted(levels.groups()[:2])[0]
