"""README and the quick start: every line and command of both, as they stand, on tables that are not Adult too."""

import contextlib
import csv
import io
import re
import shlex
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

from cli.conftest import SCHEMA, write_table
from support.opened import cells_of
from tacit import Budget, Ledger
from tacit.cli.app import app
from tacit.data import Category, Moment, Number, Records, Schema

ROOT = Path(__file__).resolve().parent.parent
README = (ROOT / "README.md").read_text("utf-8")
QUICK = (ROOT / "docs" / "quick-start.md").read_text("utf-8")


def _blocks(page: str, language: str) -> list[str]:
    fences = re.findall(r"^```(\w*)\n(.*?)^```", page, re.DOTALL | re.MULTILINE)
    return [text for name, text in fences if name == language]


def _commands(page: str) -> list[str]:
    lines = "".join(_blocks(page, "")).splitlines()
    return [line for line in lines if line.startswith("tacit ")]


def _run(command: str) -> str:
    """Run a command as a shell would, `>` included."""
    typed, _, into = command.partition(" > ")  # a question's own > stands in quotes
    if '"' in typed and typed.count('"') % 2:
        typed, into = command, ""
    ended = CliRunner().invoke(app, shlex.split(typed)[1:])
    assert ended.exit_code == 0, (command, ended.output)
    if into:
        Path(into).write_text(ended.stdout, "utf-8")
    return ended.output


def _printed(block: str) -> str:
    with contextlib.redirect_stdout(io.StringIO()) as printed:
        exec(block, {})
    return printed.getvalue()


def test_the_example_of_readme_prints_what_readme_shows(tmp_path, monkeypatch):
    """After `tacit demo` the ten lines run as written and print the lines below them, all but what noise decides."""
    monkeypatch.chdir(tmp_path)
    _run("tacit demo")
    said = _printed(_blocks(README, "python")[0]).splitlines()
    shown = _blocks(README, "")[1].splitlines()
    # The ridge depends on public numbers alone; only its last digits differ from one machine to another.
    assert [re.sub(r"alpha=\S+", "", line) for line in said[::2]] == [re.sub(r"alpha=\S+", "", s) for s in shown[::2]]
    assert re.sub(r"[\d.]+", "0", said[1]) == re.sub(r"[\d.]+", "0", shown[1])
    assert abs(float(said[1].split()[1]) - float(shown[1].split()[1])) < 0.03


def test_the_commands_of_readme_go_from_a_draft_to_a_ledger_that_verifies(tmp_path, monkeypatch):
    """On a table of patients, filled in by a person between the first command and the second."""
    monkeypatch.chdir(tmp_path)
    write_table(tmp_path / "patients.csv")
    commands = _commands(README)
    assert [shlex.split(command)[1] for command in commands] == [
        "schema", "schema", "ledger", "train", "evaluate", "inspect", "predict", "ledger",
    ]  # fmt: skip
    _run(commands[0])
    assert "[columns.age]" in Path("patients.toml").read_text("utf-8")
    Path("patients.toml").write_text(SCHEMA, "utf-8")
    for command in commands[1:]:
        _run(command)
    assert Ledger.open("sqlite:///patients.db").spent == Budget(1)


@pytest.fixture
def loans(tmp_path, monkeypatch):
    """The bank's file of the quick start, in a folder with nothing else."""
    monkeypatch.chdir(tmp_path)
    head, first = _blocks(QUICK, "csv")[0].splitlines()
    with open("loans.csv", "w", newline="", encoding="utf-8") as file:
        lines = csv.writer(file)
        lines.writerow(head.split(","))
        lines.writerow(first.split(","))
        for row in range(1, 3000):
            home, late = ("no", "yes")[row % 3 > 0], ("no", "yes")[row % 7 < 2 and row % 3 == 0]
            purpose = ("car", "house", "study", "boat")[row % 4]
            lines.writerow(
                [f"L{row}", f"20{10 + row % 14}-0{1 + row % 9}-12", 500 + row * 7, 1 + row % 30, purpose, home, late]
            )


def test_the_quick_start_runs_from_an_empty_folder(loans):
    """Its commands, its schema and its Python, in their order; nothing could be read wrongly; the budget adds up."""
    commands = _commands(QUICK)
    _run(commands[0])
    refused = CliRunner().invoke(app, ["schema", "check", "loans.toml"])
    assert refused.exit_code == 2
    assert "column 'id' has no kind yet" in refused.output
    Path("loans.toml").write_text(_blocks(QUICK, "toml")[0], "utf-8")
    said = {command: _run(command) for command in commands[1:]}
    fit = next(
        words for command, words in said.items() if command.startswith("tacit schema check") and "--eps" in command
    )
    assert "noise within" in fit
    assert "of the values" not in fit.replace("'purpose'", "")
    assert Ledger.open("sqlite:///loans.db").spent == Budget(1.2)
    assert Path("late.html").exists()
    assert Path("late.scores.html").exists()
    assert len(Path("predictions.csv").read_text("utf-8").splitlines()) == 3001
    broke = CliRunner().invoke(
        app, shlex.split("train loans.csv --schema loans.toml --epsilon 1 --ledger sqlite:///loans.db")
    )
    assert broke.exit_code == 3
    assert "BudgetExceeded" in broke.output


def test_the_quick_start_declares_what_spreadsheets_write(tmp_path):
    """Semicolons, decimal commas, Latin-1 and dates with dots are read by the form that the page declares."""
    lines = ["größe;opened;purpose", "1,5;31.12.2019;Bäder", "NA;01.02.2020;-"]
    (tmp_path / "export.csv").write_bytes(("\n".join(lines) + "\n").encode("latin-1"))
    (form,) = (block for block in _blocks(QUICK, "toml") if block.startswith("[file]"))
    columns = {
        "größe": Number(0, 10, missing=9),
        "opened": Moment("2019-01-01", "2021-01-01"),
        "purpose": Category(["Bäder"]),
    }
    records = Records(tmp_path / "export.csv", Schema.from_toml(f"{form}\n{Schema(columns).to_toml()}"))
    cells = cells_of(records)
    assert cells["größe"].tolist() == [1.5, 9.0]
    assert np.diff(cells["opened"]).tolist() == [32.0]
    assert cells["purpose"].tolist() == [0, -1]


SECTIONS = {
    "Adult": "Adult",
    "CoverType": "CoverType, lodgepole pine",
    "California": "California housing, above 200,000",
    "Diabetes 130, stays": "Diabetes 130, stays",
    "patients": "Diabetes 130, patients",
}


def _measured(page: str, title: str, name: str) -> str:
    """Return the AUC at epsilon 1, or without privacy, that the results have for a model."""
    section = page.partition(f"\n## {title}\n")[2].partition("\n## ")[0]
    without = re.search(rf"^- {re.escape(name)}: (.*)$", section, re.MULTILINE)
    if without:
        return without[1].split(" / ")[1]
    rows = [[cell.strip(" *") for cell in row.split("|")] for row in re.findall(r"^\| (.*) \|$", section, re.MULTILINE)]
    at = rows[0].index("epsilon = 1")
    return next(row[at].split(" / ")[1] for row in rows if row[0] == name)


def test_the_table_of_peers_is_that_of_the_committed_results():
    """Every figure in README stands in the results, in the column of epsilon 1 of the section that it names."""
    page = (ROOT / "benchmarks" / "results" / "tables.md").read_text("utf-8")
    table = README.partition("<!-- peers: begin")[2].partition("<!-- peers: end")[0]
    head, *rows = [
        [cell.strip(" *") for cell in row.split("|")] for row in re.findall(r"^\| (.*) \|$", table, re.MULTILINE)
    ]
    assert [row[0].partition(" (")[0] for row in rows] == [
        "tacit, with a delta", "tacit, pure", "DP-EBM", "diffprivlib", "scikit-learn, no privacy",
    ]  # fmt: skip
    for row in rows:
        for name, figure in zip(head[2:], row[2:], strict=True):
            assert figure == _measured(page, SECTIONS[name], row[0].partition(" (")[0]), (row[0], name)
    speed = (ROOT / "benchmarks" / "results" / "speed_peers.md").read_text("utf-8")
    assert "[0.16 times]" in README
    assert "| 0.16 |" in speed
