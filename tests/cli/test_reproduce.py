"""`tacit reproduce`: the table of the library, in 80 columns, and exit code 1 where a claim about it fails."""

import importlib
import re
import shlex
from pathlib import Path

import pytest

from tacit import Budget
from tacit.cli import figures
from tacit.kernels.magnitudes import CELLS, Magnitudes


def test_the_table_is_the_librarys_and_its_claims_hold(clinic):
    """One row a cell with the library's numbers; both claims hold; a terminal of 80 columns has room for it."""
    plain = clinic.run("reproduce", "noise", "--json")
    assert (plain.code, plain.plain["holds"]) == (0, {"vacuous": True, "best": True})
    for row, (epsilon, *others) in zip(plain.plain["rows"], CELLS, strict=True):
        assert row["process"] == Magnitudes(Budget(epsilon, 1e-6), *others).process
        assert row["pinp_published"] > 1
    shown = clinic.run("reproduce", "noise")
    assert max(map(len, shown.out.splitlines())) <= 80
    assert len(shown.out.splitlines()) == 1 + len(CELLS) + 2
    assert "REFUTED" not in shown.out
    assert clinic.run("reproduce", "nothing").code == 2


@pytest.mark.parametrize(("name", "value", "claim"), [("pinp_published", 0.0, "vacuous"), ("process", 1e9, "best")])
def test_a_claim_that_fails_is_refuted(clinic, monkeypatch, name, value, claim):
    """Were one number otherwise, the command would say so and end with 1."""
    monkeypatch.setattr(Magnitudes, name, value)
    ended = clinic.run("reproduce", "noise", "--json")
    assert (ended.code, ended.plain["holds"][claim]) == (1, False)
    assert "REFUTED" in clinic.run("reproduce", "noise").out


EXPERIMENTS = Path(__file__).parents[2] / "experiments"
FIGURES = ("nips2008-figure1", "nips2008-figure2", "icml2013-figure2a", "icml2013-figure2b", "icml2013-interactive")


@pytest.fixture
def scripts(monkeypatch):
    """The experiments, which are scripts beside the package."""
    for folder in ("experiments", "benchmarks"):
        monkeypatch.syspath_prepend(str(EXPERIMENTS.parent / folder))
    return importlib.import_module


@pytest.mark.parametrize("figure", FIGURES)
def test_the_committed_tables_bear_out_what_is_said_of_them(scripts, figure):
    """Each claim holds of the table in experiments/results, and fails of one that goes the other way."""
    table = scripts("result_files").read_table(EXPERIMENTS / "results" / f"{figure.replace('-', '_')}.csv")
    worse = [dict(row) for row in table]
    for place, row in enumerate(worse):
        changed = {"accuracy": 0.7 - 0.1 * place / len(worse), "chi_square_tail": 0.0, "sum_of_squares": 1e9}
        if row.get("method") != "sensitivity":
            changed["error"] = 0.9
        row.update({name: str(value) for name, value in changed.items() if name in row})
    for claim in scripts("claims").CLAIMS[figure]:
        assert claim.holds(table), claim.name
        assert not claim.holds(worse), claim.name


def test_a_figure_is_made_checked_and_left_in_a_folder(clinic, scripts, monkeypatch):
    """A conversation of few answers: table, picture-less, claims that hold, exit code 0; JSON has the rows."""
    script = scripts("icml2013_interactive")
    for name, value in (("EVERY", 100), ("RECORDS", 200)):
        monkeypatch.setattr(script, name, value)
    monkeypatch.setitem(figures._QUICK, "icml2013-interactive", ("--points", "600"))
    ended = clinic.run("reproduce", "icml2013-interactive", "--quick", "--output", "there", "--json")
    assert ended.code == 0, ended.out
    assert ended.plain["holds"] == {"noise": True, "power": True}
    assert ended.plain["files"] == ["there/icml2013_interactive.csv"]
    assert [row["answered"] for row in ended.plain["rows"]] == ["100", "200", "300", "400", "500", "600"]
    assert (clinic.folder / "there" / "icml2013_interactive.csv").read_text("utf-8").startswith("# rehearsal")


@pytest.mark.stats
@pytest.mark.parametrize("page", ["experiments-nips2008.md", "experiments-icml2013.md"])
def test_the_commands_that_reproduce_a_figure_run_as_the_pages_have_them(clinic, page):
    """Word for word, in half a minute each; where the data of a figure is not here, that is said: exit code 2."""
    text = (Path(__file__).resolve().parents[2] / "docs" / page).read_text("utf-8")
    commands = re.findall(r"^ +tacit (reproduce .*--quick)", text, re.MULTILINE)
    assert commands
    for command in commands:
        ended = clinic.run(*shlex.split(command))
        assert ended.code == 0 or (ended.code == 2 and "needs data" in ended.err), (command, ended.err)


def test_a_figure_that_does_not_come_out_is_refuted(clinic, scripts, monkeypatch):
    """With a tenth of the records the 2008 paper's table is not what tacit says of it: exit code 1, files kept."""
    script = scripts("nips2008_figure1")
    monkeypatch.setattr(script, "POINTS", 1500)
    monkeypatch.setattr(script, "DATA_SETS", 2)
    monkeypatch.setitem(figures._QUICK, "nips2008-figure1", ("--draws", "5"))
    ended = clinic.run("reproduce", "nips2008-figure1", "--quick", "--output", "there")
    assert ended.code == 1
    assert "REFUTED: at epsilon 0.1" in ended.out
    assert (clinic.folder / "there" / "nips2008_figure1.svg").exists()


def test_data_and_scripts_that_are_missing_are_said_so(clinic, scripts, monkeypatch, tmp_path):
    """Without the data TACIT_DATA is named, without the source a clone; a file is no folder: nothing starts."""
    monkeypatch.setattr(scripts("datasets"), "FOLDER", tmp_path / "nowhere")
    ended = clinic.run("reproduce", "icml2013-figure2a", "--quick")
    assert ended.code == 2
    assert "covtype.data.xz" in ended.err
    assert "TACIT_DATA" in ended.err
    assert clinic.run("reproduce", "nips2008-figure1", "--output", "s.toml").code == 2
    monkeypatch.setattr(figures.tacit, "__file__", str(tmp_path / "a" / "b" / "tacit" / "__init__.py"))
    ended = clinic.run("reproduce", "nips2008-figure1")
    assert ended.code == 2
    assert "a clone of the repository" in ended.err
