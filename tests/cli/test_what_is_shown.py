"""What a person wants to know first is shown: how many records were learned from, and what is odd before it is paid."""

import pytest


def test_a_model_says_how_many_records_it_learned_from(clinic):
    """In `inspect` and on its page, with the part; how all tables look comes last."""
    assert clinic.train("--seed", "1", "--part", "train").code == 0
    shown = " ".join(clinic.run("inspect", "m.tacit").out.split())
    assert "learned from 240 records, the part 'train' by their place" in shown
    assert shown.index("guarantee") < shown.index("open") < shown.index(" over ")
    page = (clinic.folder / "m.html").read_text("utf-8")
    assert "Learned from 240 records, the part &#39;train&#39; by their place." in page


@pytest.mark.filterwarnings("always::tacit.errors.OddTerms")
def test_a_dry_run_warns_of_odd_budgets(clinic):
    """What the fit would warn of when it is too late."""
    asked = ("train", "patients.csv", "--schema", "s.toml", "--dry-run")
    assert "odd terms" in clinic.run(*asked, "--epsilon", "100").err
    assert "odd terms" in clinic.run(*asked, "--epsilon", "1", "--delta", "0.5").err
    assert "odd terms" not in clinic.run(*asked, "--epsilon", "1", "--delta", "1e-6").err
