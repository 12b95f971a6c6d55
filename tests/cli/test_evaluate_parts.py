"""`tacit evaluate` judges a model on records that it did not learn from, and says so where it does not."""

from shutil import copyfile

import pytest

from tacit import PrivateLogisticRegression, Records, Schema, save

JUDGE = ("evaluate", "m.tacit", "patients.csv", "--epsilon", "0.1")


@pytest.fixture
def parted(clinic):
    """A clinic with a model of the training part."""
    assert clinic.train("--part", "train", "--ledger", clinic.address).code == 0
    return clinic


def test_the_other_part_is_the_default(parted):
    """Together with the training it costs the larger of both, and the output says what was held out."""
    told = parted.run(*JUDGE, "--ledger", parted.address, "--json").plain
    assert told["part"] == "test"
    assert told["judged"] == "held out"
    assert told["n"] < 100
    assert str(parted.ledger.spent) == "epsilon=0.5, delta=0"
    said = parted.run(*JUDGE, "--seed", "1", "--overwrite")
    assert f"{told['n']} records held out" in said.out
    assert "the part 'test'" in said.err
    page = (parted.folder / "m.scores.html").read_text("utf-8")
    assert "records held out" in page
    assert "--part test" in page


@pytest.mark.parametrize("part", ["all", "train"])
def test_records_it_was_fitted_to_are_judged_if_asked_for(parted, part):
    """With a warning, and never as held out, on paper neither."""
    said = parted.run(*JUDGE, "--seed", "1", "--part", part)
    assert said.code == 0
    assert "records that the model was fitted to" in said.out
    assert "flatter" in said.err
    assert "held out" not in said.out + (parted.folder / "m.scores.html").read_text("utf-8").lower()


def test_a_model_of_all_records_has_none_held_out(trained):
    """Neither has one of another table, which may be the same under another name."""
    assert "records that the model was fitted to" in trained.run(*JUDGE, "--seed", "1").out
    copyfile("patients.csv", "others.csv")
    said = trained.run("evaluate", "m.tacit", "others.csv", "--epsilon", "0.1", "--seed", "1")
    assert "300 records judged" in said.out


def test_a_split_by_another_key_is_refused(clinic):
    """It overlaps the one that the model was trained on; the right key is taken from the model."""
    lines = (clinic.folder / "patients.csv").read_text("utf-8").splitlines()
    keyed = [f"{line},{'id' if place == 0 else place // 2}" for place, line in enumerate(lines)]
    (clinic.folder / "patients.csv").write_text("\n".join(keyed), "utf-8")
    schema = (clinic.folder / "s.toml").read_text("utf-8")
    (clinic.folder / "s.toml").write_text(f'{schema}\n[columns.id]\nkind = "key"\n', "utf-8")
    assert clinic.train("--part", "train", "--ledger", clinic.address).code == 0
    before = clinic.ledger.head
    refused = clinic.run(*JUDGE, "--part", "test", "--key", "id", "--ledger", clinic.address)
    assert refused.code == 2
    assert "overlap" in refused.err
    assert clinic.ledger.head == before
    assert clinic.train("--part", "train", "--key", "id", "--seed", "1", "--overwrite").code == 0
    told = clinic.run(*JUDGE, "--seed", "1", "--json").plain
    assert told["judged"] == "held out"
    assert "--key id" in (clinic.folder / "m.scores.html").read_text("utf-8")


def test_what_is_judged_must_be_said_where_the_table_is_not_known_again(parted):
    """A copy, or a file whose rights were changed: all of it was judged, training records too, without a word."""
    (parted.folder / "patients.csv").rename(parted.folder / "moved.csv")
    copyfile(parted.folder / "moved.csv", parted.folder / "patients.csv")
    before = parted.ledger.head
    for more in ((), ("--dry-run",)):
        refused = parted.run(*JUDGE, "--ledger", parted.address, *more)
        assert refused.code == 2
        assert "part 'train'" in refused.err
        assert "--part train or test" in refused.err
    assert parted.ledger.head == before
    for part, count in (("all", "300"), ("test", "")):
        said = parted.run(*JUDGE, "--seed", "1", "--overwrite", "--part", part)
        assert said.code == 0
        assert f"{count} records judged" in said.out


@pytest.mark.parametrize(("place", "code"), [(0, 0), (1, 2)])
def test_the_part_that_is_held_out_follows_from_where_parts_lie(clinic, place, code):
    """By its name alone, a model of the second half was judged on records that it was fitted to."""
    records = Records("patients.csv", Schema.load("s.toml"))
    half = records.split(0.5, 0.5, names=["train", "test"])[place]
    save(PrivateLogisticRegression(1.0, random_state=1).fit(half), "m.tacit")
    told = clinic.run(*JUDGE, "--seed", "1", "--json")
    assert told.code == code
    if code:
        assert "none of them is held out" in told.err + told.out
    else:
        assert (told.plain["part"], told.plain["judged"]) == ("test", "held out")
