"""No command writes over what it reads, and no private record passes for a public landmark."""

import shutil
import sqlite3

import pytest

from tacit import Budget

INPUTS = ("patients.csv", "s.toml", "l.db", "l.db.lock", "l.db.lock-turn", "l.db-wal", "about.toml")


@pytest.fixture
def copied(clinic):
    """A clinic with answers for the card, and its table in a folder as well."""
    (clinic.folder / "about.toml").write_text('author = "A"', "utf-8")
    (clinic.folder / "folder").mkdir()
    shutil.copy(clinic.folder / "patients.csv", clinic.folder / "folder" / "one.csv")
    return clinic


def bytes_in(clinic):
    """Return all files but those that SQLite makes and takes away."""
    files = (path for path in clinic.folder.rglob("*") if path.is_file() and "-" not in path.name)
    return {path: path.read_bytes() for path in files}


@pytest.mark.parametrize("option", ["--output", "--report", "--card"])
@pytest.mark.parametrize(
    ("name", "link"),
    [(name, link) for name in INPUTS for link in ("itself", "hard", "soft") if (name, link) != ("l.db-wal", "hard")],
)
def test_nothing_that_is_read_is_written_over(copied, option, link, name):
    """The table, its schema, the ledger, its locks and the answers: by name, by a hard or by a symbolic link."""
    output = copied.folder / name
    if link != "itself":
        output = copied.folder / "other.yaml"
        if link == "soft":
            output.symlink_to(copied.folder / name)
        else:
            output.hardlink_to(copied.folder / name)
    before = bytes_in(copied)
    told = copied.train("--ledger", copied.address, "--about", "about.toml", option, str(output))
    assert told.code == 2
    assert "would be written over" in told.err or ("--card must end" in told.err and link == "itself")
    assert bytes_in(copied) == before
    assert copied.ledger.spent == Budget(0)


def test_nothing_is_written_among_records(copied):
    """A folder is a table: whatever is written into it could be read as records the next time."""
    asked = ("train", "folder", "--schema", "s.toml", "--epsilon", "0.5", "--seed", "1", "--output")
    assert copied.run(*asked, "folder/m.tacit").code == 2
    assert copied.run(*asked, "m.tacit").code == 0
    assert [path.name for path in (copied.folder / "folder").iterdir()] == ["one.csv"]


def test_other_commands_spare_what_they_read(copied):
    """Predictions, scores and witnesses do not replace the model, the table or the account."""
    assert copied.train("--seed", "1").code == 0
    before = bytes_in(copied)
    for command in (
        ("predict", "m.tacit", "patients.csv", "--output", "patients.csv"),
        ("predict", "m.tacit", "patients.csv", "--output", "m.tacit"),
        ("evaluate", "m.tacit", "patients.csv", "--epsilon", "0.1", "--seed", "1", "--report", "m.tacit"),
        ("evaluate", "m.tacit", "patients.csv", "--epsilon", "0.1", "--ledger", copied.address, "--report", "l.db"),
        ("ledger", "witness", copied.address, "--output", "l.db"),
    ):
        told = copied.run(*command)
        assert (told.code, "would be written over" in told.err) == (2, True), command
    assert bytes_in(copied) == before


def landmarks_refused(clinic, source, landmarks):
    """Whether these landmarks are told to be the records."""
    asked = ("train", source, "--schema", "s.toml", "--epsilon", "0.5", "--seed", "1", "--output", "k.tacit")
    told = clinic.run(*asked, "--method", "kernel", "--landmarks", landmarks)
    return told.code == 2 and "must name public records" in " ".join(told.err.split())


def test_records_are_no_landmarks_whatever_they_are_called(copied):
    """A file of the folder, the folder of a file, links to either, and one database under two addresses."""
    folder = copied.folder
    (folder / "hard.csv").hardlink_to(folder / "folder" / "one.csv")
    (folder / "elsewhere").mkdir()
    (folder / "elsewhere" / "linked.csv").symlink_to(folder / "folder" / "one.csv")
    for source, landmarks in (
        ("folder", "folder/one.csv"),
        ("folder/one.csv", "folder"),
        ("folder", "hard.csv"),
        ("folder", "elsewhere"),
    ):
        assert landmarks_refused(copied, source, landmarks), (source, landmarks)
    with sqlite3.connect(folder / "clinic.db") as database:
        database.execute("CREATE TABLE visits (age, ward, smoker, ill)")
        database.executemany("INSERT INTO visits VALUES (?, 'A', 'yes', 'true')", [(age,) for age in range(50)])
    table = f"sqlite:///{folder}/clinic.db#visits"
    assert landmarks_refused(copied, table, "sqlite:///clinic.db#VISITS")
    (folder / "other.db").symlink_to(folder / "clinic.db")
    assert landmarks_refused(copied, table, "sqlite:///other.db#visits")
    assert not landmarks_refused(copied, table, "patients.csv")
    assert not landmarks_refused(copied, "folder", "patients.csv")
