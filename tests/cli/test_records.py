"""`tacit records`: a table is read once, and from then on every command takes the file that it was packed into."""

import os

import pytest

from cli.conftest import SCHEMA, write_table
from tacit.budget import Budget

PACKED = "p.tacit-records"


@pytest.fixture
def packed(clinic):
    """The clinic with its table packed, and the table gone."""
    assert clinic.run("records", "pack", "patients.csv", PACKED, "--schema", "s.toml").code == 0
    (clinic.folder / "patients.csv").unlink()
    return clinic


def test_every_command_takes_packed_records_without_their_table(packed):
    """Training, predicting, scoring, tuning and asking go on when the table is gone; only its owner reads the file."""
    assert os.stat(PACKED).st_mode & 0o777 == 0o600
    paid = ("--ledger", packed.address)
    assert packed.run("train", PACKED, "--epsilon", "0.3", "--part", "train", "--output", "m.tacit", *paid).code == 0
    os.rename(PACKED, "moved.tacit-records")
    scored = packed.run("evaluate", "m.tacit", "moved.tacit-records", "--epsilon", "0.3", *paid, "--json")
    # The file is known by its own identity, wherever it is: what was not learned from is found, and costs nothing more.
    assert (scored.plain["part"], scored.plain["judged"]) == ("test", "held out")
    assert packed.ledger.spent == Budget(0.3)
    assert len(packed.run("predict", "m.tacit", "moved.tacit-records").out.splitlines()) == 301
    assert packed.run("query", "moved.tacit-records", "smoker", "--epsilon", "0.1", *paid).code == 0
    assert packed.run("schema", "check", "s.toml", "--data", "moved.tacit-records", "--epsilon", "0.1", *paid).code == 0
    tuned = ("tune", "moved.tacit-records", "--try", "alpha=auto,0.1", "--runs", "2", "--epsilon", "0.1", "--seed", "1")
    assert packed.run(*tuned, "--output", "t.tacit").code == 0
    # How to repeat it names the file, and none of what it brings along.
    report = (packed.folder / "t.html").read_text("utf-8")
    assert "tacit tune moved.tacit-records --epsilon" in report


def test_the_same_fit_is_made_of_a_table_and_of_the_same_records_packed(clinic):
    """A rehearsal from one seed has the same coefficients to the last bit."""
    assert clinic.run("records", "pack", "patients.csv", PACKED, "--schema", "s.toml").code == 0
    assert clinic.train("--seed", "1").code == 0
    again = ("train", PACKED, "--epsilon", "0.5", "--seed", "1", "--output", "n.tacit")
    assert clinic.run(*again).code == 0
    assert clinic.run("predict", "m.tacit", "patients.csv", "--probabilities").out == (
        clinic.run("predict", "n.tacit", PACKED, "--probabilities").out
    )


def test_show_says_what_is_public_and_no_number_of_persons_rows(clinic):
    """How many persons, whose rows, what was declared; the same as plain values; of a file that is whole."""
    schema = SCHEMA.replace("[columns.ward]", '[columns.note]\nkind = "key"\n\n[columns.ward]')
    (clinic.folder / "s.toml").write_text(schema, "utf-8")
    assert clinic.run("records", "pack", "patients.csv", PACKED, "--schema", "s.toml", "--unit", "note").code == 0
    shown, plain = clinic.run("records", "show", PACKED).out, clinic.run("records", "show", PACKED, "--json").plain
    assert shown.startswith("records   1 person, each with all rows of one 'note'\n")
    assert "300" not in shown
    assert "  ward    one of A, B\n" in shown
    assert (plain["n"], plain["protects"], plain["unit"], plain["target"]) == (1, "person", "note", "ill")
    content = (clinic.folder / PACKED).read_bytes()
    (clinic.folder / PACKED).write_bytes(content[:40] + bytes([content[40] ^ 1]) + content[41:])
    refused = clinic.run("records", "show", PACKED)
    assert (refused.code, "Restore it" in refused.err) == (2, True)
    assert clinic.run("records", "remove", PACKED).code == 0


def test_remove_takes_away_packed_records_and_nothing_else(packed):
    """A table, another file under such a name, and a file that is not there are refused, and stay."""
    write_table(packed.folder / "patients.csv")
    (packed.folder / "other.tacit-records").write_text("age,ward\n", "utf-8")
    before = packed.names()
    for name in ("patients.csv", "other.tacit-records", "none.tacit-records", "l.db"):
        refused = packed.run("records", "remove", name)
        assert (refused.code, "there are no packed records" in refused.err) == (2, True), name
    assert packed.names() == before
    assert packed.run("records", "remove", PACKED, "--json").plain == {"removed": PACKED}
    assert packed.names() == before - {PACKED}


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("records", "pack", "t.csv", PACKED, "--schema", "s.toml"), "already"),
        (("records", "pack", "t.csv", "q.csv", "--schema", "s.toml"), "ends with .tacit-records"),
        (("records", "pack", PACKED, "q.tacit-records"), "packed once"),
        (("records", "pack", "t.csv", "none/q.tacit-records", "--schema", "s.toml"), "no folder"),
        (("records", "pack", "t.csv", "q.tacit-records"), "needs its --schema"),
        (("train", "t.csv", "--epsilon", "1"), "needs its --schema"),
        (("train", PACKED, "--schema", "s.toml", "--epsilon", "1"), "Leave --schema out"),
        (("train", PACKED, "--key", "age", "--epsilon", "1"), "leave them out"),
        (("schema", "draft", PACKED), "tacit records show"),
        (("schema", "check", "other.toml", "--data", PACKED), "another schema"),
    ],
)
def test_what_packed_records_bring_along_is_not_given_again(packed, arguments, words):
    """A second schema, unit or key, a file that is there already, a table without a schema: refused in one line."""
    write_table(packed.folder / "t.csv")
    (packed.folder / "other.toml").write_text(SCHEMA.replace("120", "121"), "utf-8")
    before = packed.names()
    refused = packed.run(*arguments)
    assert (refused.code, words in refused.err) == (2, True), refused.err
    assert packed.names() == before
