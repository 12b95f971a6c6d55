"""What `pip install 'tacit[cli]'` brings is what the command line needs: a CSV file works with that alone."""

import json
import re
import subprocess
import sys
import tomllib
from importlib import metadata
from pathlib import Path

import pytest

from cli.conftest import SCHEMA, write_table

PROJECT = tomllib.loads((Path(__file__).parents[2] / "pyproject.toml").read_text("utf-8"))["project"]
NARROW = """if True:
    import json, sys
    hidden = set(json.loads(sys.argv[1]))
    class Hiding:
        def find_spec(self, name, path=None, target=None):
            if name.partition('.')[0] in hidden:
                raise ModuleNotFoundError(f'No module named {name!r}', name=name)
    sys.meta_path.insert(0, Hiding())
    from typer.testing import CliRunner
    from tacit.cli.app import app
    for command in json.loads(sys.argv[2]):
        ended = CliRunner().invoke(app, command)
        print(ended.exit_code, ended.stderr.strip().replace(chr(10), ' '))
"""
"""A process in which some modules are not installed."""


def _name(requirement: str) -> str:
    return re.match(r"[\w.-]+", requirement)[0].lower().replace("_", "-").replace(".", "-")


def _brought(requirements: list[str]) -> set[str]:
    """Return the distributions that requirements bring along, extras of theirs left out."""
    found: set[str] = set()
    open_ones = [_name(each) for each in requirements]
    while open_ones:
        name = open_ones.pop()
        if name in found:
            continue
        found.add(name)
        try:
            needed = metadata.requires(name) or []
        except metadata.PackageNotFoundError:
            continue
        open_ones += [_name(each) for each in needed if "extra ==" not in each]
    return found


def _absent(*extras: str) -> set[str]:
    """Return the modules that are installed here, and are not with these extras alone."""
    asked = [*PROJECT["dependencies"], *(each for extra in extras for each in PROJECT["optional-dependencies"][extra])]
    brought = _brought(asked) | {"tacit"}
    homes = metadata.packages_distributions().items()
    return {module for module, owners in homes if not brought & {_name(owner) for owner in owners}}


def _ends(folder: Path, hidden: set[str], *commands: str) -> list[str]:
    write_table(folder / "patients.csv")
    (folder / "s.toml").write_text(SCHEMA, "utf-8")
    given = json.dumps(sorted(hidden)), json.dumps([command.split() for command in commands])
    done = subprocess.run(
        [sys.executable, "-c", NARROW, *given], cwd=folder, check=True, capture_output=True, text=True
    )
    return done.stdout.splitlines()


def test_a_csv_file_needs_nothing_but_the_command_lines_own_extra(tmp_path):
    """With every module hidden that the extra does not bring, a draft, a model and predictions are made from a CSV."""
    absent = _absent("cli")
    assert {"ibis", "sqlglot", "pandas", "pyspark", "pytest"} <= absent
    ends = _ends(
        tmp_path,
        absent,
        "schema draft patients.csv",
        "ledger create sqlite:///l.db --name d --epsilon 1",
        "train patients.csv --schema s.toml --epsilon 0.7 --ledger sqlite:///l.db --output m.tacit --quiet",
        "inspect m.tacit",
        "predict m.tacit patients.csv --output p.csv",
    )
    assert [end[0] for end in ends] == ["0"] * 5, ends
    assert len((tmp_path / "p.csv").read_text("utf-8").splitlines()) == 301


@pytest.mark.parametrize("missing", ["duckdb", "pyarrow"])
def test_what_is_missing_is_told_with_the_extra_that_brings_it(clinic, monkeypatch, missing):
    """Without what reads files (the twin of the test above), one line says what to install."""
    assert missing in {_name(each) for each in PROJECT["optional-dependencies"]["cli"]}
    monkeypatch.setitem(sys.modules, missing, None)
    ended = clinic.run("schema", "check", "s.toml", "--data", "patients.csv")
    assert ended.code == 2
    assert f"{missing}: pip install 'tacit[cli]'" in ended.err
