"""Files that are not what they should be: one line each, exit code 2, nothing charged, no value of a record."""

import pytest

from cli.conftest import SECRET, write_table
from tacit import Budget, Records, Schema


def _semicolons(path):
    path.write_text(path.read_text("utf-8").replace(",", ";"), "utf-8")


def _a_column_less(path):
    lines = path.read_text("utf-8").splitlines()
    path.write_text("\n".join(line.split(",", 1)[1] for line in lines) + "\n", "utf-8")


def _no_names(path):
    lines = path.read_text("utf-8").splitlines()
    path.write_text("\n".join(lines[8:]) + "\n", "utf-8")


def _no_bytes(path):
    path.write_bytes(b"")


def _no_records(path):
    path.write_text(path.read_text("utf-8").splitlines()[0] + "\n", "utf-8")


def _latin(path):
    path.write_bytes(path.read_bytes().replace(b",A,", b",\xe4,"))


def _latin_names(path):
    path.write_bytes(path.read_bytes().replace(b"ward", b"w\xe4rd", 1))


def _absent(path):
    path.unlink()


def _a_folder(path):
    path.unlink()
    path.mkdir()


@pytest.mark.parametrize(
    ("spoil", "words"),
    [
        (_semicolons, "It has one column: are they separated by something else than commas?"),
        (_a_column_less, "declares a column 'age' that the table does not have"),
        (_no_names, "columns 1 and 5 of 'patients.csv' have names that differ in case at most"),
        (_no_bytes, "the first line of 'patients.csv' must name every column"),
        (_no_records, "a table needs at least one record, got 0"),
        (_latin, "is not UTF-8 text"),
        (_latin_names, "cannot be read as utf-8 text"),
        (_absent, "patients.csv"),
        (_a_folder, "patients.csv"),
    ],
)
def test_a_table_that_cannot_be_read_is_refused_in_one_line(clinic, spoil, words):
    """Wrong separator, a column missing, nothing in it, other encodings: said before any charge, quoting no record."""
    spoil(clinic.folder / "patients.csv")
    head = clinic.ledger.head
    ended = clinic.train("--ledger", clinic.address)
    assert (ended.code, ended.out) == (2, "")
    assert words in ended.err
    assert len(ended.err.splitlines()) == 1
    assert SECRET not in ended.err
    assert clinic.ledger.head == head
    assert "m.tacit" not in clinic.names()


def test_a_draft_of_a_file_with_other_separators_says_so(clinic):
    """One column with semicolons in its name is most likely several; the names are public."""
    _semicolons(clinic.folder / "patients.csv")
    assert "separated by something else than commas" in clinic.run("schema", "draft", "patients.csv").err
    write_table(clinic.folder / "patients.csv")
    assert "separated" not in clinic.run("schema", "draft", "patients.csv").err


def test_a_target_of_one_class_is_answered_like_any_other(clinic):
    """Same words, same keys, same charge; predictions come out, whatever they are."""
    told = {}
    for ill in (("true", "false"), ("true",)):
        write_table(clinic.folder / "patients.csv", ill=ill)
        ended = clinic.run(
            "train", "patients.csv", "--schema", "s.toml", "--epsilon", "0.5", "--output", "m.tacit",
            "--ledger", clinic.address, "--overwrite", "--json",
        )  # fmt: skip
        told[ill] = {name: ended.plain[name] for name in ended.plain if name not in ("left", "entry")}, ended.err
        assert len(clinic.run("predict", "m.tacit", "patients.csv").out.splitlines()) == 301
    assert told["true", "false"] == told[("true",)]
    assert clinic.ledger.spent == Budget(1)
    assert Records("patients.csv", Schema.load("s.toml")).n == 300


def test_warnings_are_words_of_the_command_and_show_no_place_in_a_file(clinic):
    """An epsilon that protects nobody is warned of in one line; that there is no ledger is said once."""
    ended = clinic.run("train", "patients.csv", "--schema", "s.toml", "--epsilon", "50", "--output", "m.tacit")
    assert ended.code == 0
    assert ".py" not in ended.err
    assert ended.err.lower().count("no ledger") == 1
