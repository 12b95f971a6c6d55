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


def test_a_check_advises_an_epsilon_for_as_many_records(clinic):
    """The noise it foretells is the noise it has: some 5 %, whether there are 300 records or fewer."""
    advised = clinic.run("schema", "check", "s.toml", "--data", "patients.csv").err
    epsilon = advised.partition("--epsilon ")[2].split()[0]
    asked = ("schema", "check", "s.toml", "--data", "patients.csv", "--epsilon", epsilon, "--seed", "1", "--json")
    assert 0.03 < clinic.run(*asked).plain["noise"] < 0.08


def test_an_answer_that_was_paid_before_says_so(clinic):
    """The same question under the same account is free, and is told to be."""
    asked = ("query", "patients.csv", "smoker", "--schema", "s.toml", "--epsilon", "0.1", "--ledger", clinic.address)
    assert "of the population's" in clinic.run(*asked).out
    assert "nothing was charged" in clinic.run(*asked).out
