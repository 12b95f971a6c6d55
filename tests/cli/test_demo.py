"""`tacit demo`: all of it in a folder, one budget, a summary, and commands that go on from there."""

import contextlib
import re
import shlex
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
from typer.testing import CliRunner

import tacit
from tacit import Budget, Ledger, Records, Schema
from tacit.cli.app import app

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="module")
def ended(tmp_path_factory):
    """A folder in which a demonstration was made once, and what it printed."""
    folder = tmp_path_factory.mktemp("demo")
    with contextlib.chdir(folder):
        result = CliRunner().invoke(app, ["demo", "--output", "a folder"])
    assert result.exit_code == 0, result.output
    return folder, result.stdout


@pytest.fixture
def shown(ended, monkeypatch):
    """What the demonstration printed, in the folder where it was made."""
    monkeypatch.chdir(ended[0])
    return ended[1]


def test_the_demo_leaves_what_it_says_and_its_commands_can_be_pasted(shown):
    """Every file it names is there, training and scoring together cost the larger of both, each command works."""
    for name, path in re.findall(r"^(report|model|card|ledger) +(.+)$", shown, re.MULTILINE):
        assert (Path.cwd() / path).stat().st_size > 1000, name
    ledger = Ledger.open("sqlite:///a folder/ledger.db")
    assert ledger.spent == Budget(1, 1e-6)
    assert ledger.budget == Budget(1.5, 1e-6)
    model = tacit.load("a folder/model.tacit")
    assert model.release_.private
    assert model.card_.tacit["ledger"]["name"] == ledger.name
    page = (Path.cwd() / "a folder" / "report.html").read_text("utf-8")
    assert "What was learned" in page
    assert "calibration error" in page
    commands = re.findall(r"^  (tacit .*)$", shown, re.MULTILINE)
    assert [shlex.split(command)[1] for command in commands] == ["inspect", "predict", "ledger", "query"]
    for command in commands:
        assert CliRunner().invoke(app, shlex.split(command)[1:]).exit_code == 0, command
    assert ledger.spent == Budget(1.1, 1e-6)
    records = Records("a folder/adult.csv", Schema.load("a folder/adult.toml"))
    predicted = (Path.cwd() / "a folder" / "predictions.csv").read_text("utf-8").split()
    assert predicted[1:] == model.predict(records).tolist()


def test_the_summary_fits_a_terminal_and_says_what_was_measured(shown):
    """No line of prose is longer than 80 columns; accuracy, promise and limits are in it."""
    prose = shown.partition("Next:")[0]
    assert max(map(len, prose.splitlines())) <= 80
    for words in ("The model", "The promise", "The limits", "at most 73.1 times in 100", "epsilon=1.5"):
        assert words in " ".join(prose.split())
    accuracy = float(re.search(r"right for ([\d.]+)%", prose)[1])
    assert 80 < accuracy < 88


def test_a_demo_that_cannot_be_written_is_refused_before_anything(clinic):
    """A file where the folder should be, and an epsilon that is none, are wrong usage."""
    (clinic.folder / "taken").write_text("")
    assert clinic.run("demo", "--output", "taken").code == 2
    assert clinic.run("demo", "--output", "free", "--epsilon", "-1").code == 2
    assert not (clinic.folder / "free").exists()


def test_the_demo_needs_nothing_but_what_make_demo_installs(tmp_path):
    """It runs where every package of the other extras, and of development, is missing."""
    declared = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    wanted = " ".join([*declared["dependencies"], *declared["optional-dependencies"]["cli"]])
    others = ["duckdb", "ibis", "sqlglot", "pandas", "polars", "pyspark", "psycopg", "fastapi", "opendp", "IPython"]
    assert [name for name in ("pyarrow", "jinja2", "matplotlib") if name not in wanted] == []
    without = f"import sys\nsys.modules.update(dict.fromkeys({others!r}))\nsys.argv = ['tacit', 'demo']\n"
    code = f"{without}from tacit.cli import main\nmain()"
    done = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "demo" / "report.html").exists()
