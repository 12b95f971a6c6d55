"""What was paid for is not written over: a model and a report cannot be had again without paying again."""

import pytest

from cli.conftest import write_table

SCORES = ("evaluate", "m.tacit", "patients.csv", "--epsilon", "0.1")
TUNE = ("tune", "patients.csv", "--schema", "s.toml", "--epsilon", "0.5", "--try", "alpha=0.1", "--runs", "2")


@pytest.fixture
def parted(clinic):
    """A clinic with a model of one part, paid for."""
    assert clinic.train("--part", "train", "--ledger", clinic.address).code == 0
    return clinic


def test_a_paid_model_and_its_report_stay(parted):
    """Whatever comes after them: a rehearsal, another paid fit, a search; also a report of another model's."""
    kept = {name: (parted.folder / name).read_bytes() for name in ("m.tacit", "m.html")}
    spent = parted.ledger.spent
    for told in (
        parted.train("--seed", "1"),
        parted.train("--part", "test", "--ledger", parted.address),
        parted.train("--seed", "1", "--report", "other.html"),
        parted.run(*TUNE, "--seed", "1", "--output", "m.tacit"),
        parted.run(*TUNE, "--seed", "1", "--output", "n.tacit", "--report", "m.html"),
    ):
        assert told.code == 2
        assert "--overwrite" in told.err
    assert {name: (parted.folder / name).read_bytes() for name in kept} == kept
    assert parted.ledger.spent == spent
    assert parted.train("--seed", "1", "--overwrite").code == 0
    assert parted.train("--seed", "2").code == 0, "a rehearsal may be written over"


def test_paid_scores_stay(parted):
    """Rehearsed scores of a paid model are written over, and paid scores are not."""
    assert parted.run(*SCORES, "--seed", "1").code == 0
    assert parted.run(*SCORES, "--ledger", parted.address).code == 0
    page = (parted.folder / "m.scores.html").read_bytes()
    refused = parted.run(*SCORES, "--seed", "1")
    assert refused.code == 2
    assert "m.scores.html" in refused.err
    assert (parted.folder / "m.scores.html").read_bytes() == page
    assert parted.run(*SCORES, "--seed", "1", "--overwrite").code == 0


def test_a_model_file_that_cannot_be_read_stays(parted):
    """One of another version may hold what was paid for; other files are written over as ever."""
    damaged = (parted.folder / "m.tacit").read_bytes()[:-1]
    (parted.folder / "m.tacit").write_bytes(damaged)
    assert parted.train("--seed", "1", "--report", "n.html").code == 2
    (parted.folder / "m.tacit").write_text("no model", "utf-8")
    assert parted.train("--seed", "1", "--report", "n.html").code == 0


def test_answers_are_not_written_over_another_model(parted):
    """`inspect --output` names a file of its own, too."""
    (parted.folder / "about.toml").write_text('author = "A. Person"', "utf-8")
    write_table(parted.folder / "late.csv")
    assert parted.run(*("train", "late.csv", "--schema", "s.toml", "--epsilon", "0.5", "--output", "n.tacit")).code == 0
    asked = ("inspect", "m.tacit", "--about", "about.toml", "--output", "n.tacit")
    assert parted.run(*asked).code == 2
    assert parted.run(*asked, "--overwrite").code == 0
