"""A small clinic: a CSV file, its schema, an account, and how to run commands on them without a new process."""

import csv
import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from tacit import Budget, Ledger
from tacit.cli.app import app

SCHEMA = """target = "ill"

[columns.age]
kind = "number"
low = 0
high = 120

[columns.ward]
kind = "category"
levels = ["A", "B"]

[columns.smoker]
kind = "flag"
false = ["no"]
true = ["yes"]

[columns.ill]
kind = "flag"
"""
SECRET = "Xq77secret"
"""A value that stands in a record and must never stand in a message."""


@dataclass
class Ended:
    """What a command left behind."""

    code: int
    out: str
    err: str

    @property
    def plain(self) -> Any:
        """Return the JSON that was printed."""
        return json.loads(self.out)


@dataclass
class Clinic:
    """A folder with what commands need."""

    folder: Path

    @property
    def address(self) -> str:
        """Return where the account is."""
        return f"sqlite:///{self.folder}/l.db"

    def run(self, *arguments: str) -> Ended:
        """Run a command in this process; no message of any may quote the secret."""
        ended = CliRunner().invoke(app, [str(each) for each in arguments])
        assert ended.exception is None or isinstance(ended.exception, SystemExit)
        assert SECRET not in ended.stdout + ended.stderr
        assert "Traceback" not in ended.stderr
        return Ended(ended.exit_code, ended.stdout, ended.stderr)

    def train(self, *more: str) -> Ended:
        """Run `tacit train` with some more options."""
        return self.run("train", "patients.csv", "--schema", "s.toml", "--epsilon", "0.5", "--output", "m.tacit", *more)

    @property
    def ledger(self) -> Ledger:
        """Open the account anew."""
        return Ledger.open(self.address)

    def names(self) -> set[str]:
        """Name the files there, locks left out."""
        return {path.name for path in self.folder.iterdir() if ".lock" not in path.name}


def write_table(path: Path, count: int = 300, ill: tuple[str, ...] = ("true", "false")) -> None:
    """Write patients, one of whom has a value that must never be shown."""
    with path.open("w", newline="", encoding="utf-8") as file:
        lines = csv.writer(file)
        lines.writerow(["age", "ward", "smoker", "ill", "note"])
        for row in range(count):
            age = SECRET if row == 7 else 20 + row % 70
            lines.writerow([age, "AB?"[row % 3], ["yes", "no"][row % 2], ill[int(row % 70 < 35) % len(ill)], SECRET])


@pytest.fixture
def clinic(tmp_path, monkeypatch):
    """A folder with a table, its schema and an account of epsilon 1, which is also where commands run."""
    monkeypatch.chdir(tmp_path)
    write_table(tmp_path / "patients.csv")
    (tmp_path / "s.toml").write_text(SCHEMA, "utf-8")
    made = Clinic(tmp_path)
    Ledger.create(made.address, name="clinic", budget=Budget(1))
    return made


@pytest.fixture
def trained(clinic):
    """The same with a model in it."""
    assert clinic.train("--ledger", clinic.address).code == 0
    return clinic


def raising(error):
    """Return a function that raises an error, however it is called."""

    def fail(*_, **__):
        raise error

    return fail
