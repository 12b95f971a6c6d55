"""The checks that guard the project catch what they are there for."""

import importlib.util
import re
import subprocess
import sys
import time
from pathlib import Path

import pytest

import support
import tacit

ROOT = Path(__file__).resolve().parent.parent
TOOLS = ROOT / "tools"
# What may lie at the top of the repository: everything else has a room.
AT_THE_TOP = {
    ".ci",
    ".gitignore",
    "CHANGELOG.md",
    "CONTRIBUTING.md",
    "LICENSE",
    "Makefile",
    "README.md",
    "constraints.txt",
    "mkdocs.yml",
    "pyproject.toml",
    "requirements-dev.txt",
    "benchmarks",
    "docs",
    "experiments",
    "src",
    "tests",
    "tools",
}


def _tool(name):
    spec = importlib.util.spec_from_file_location(name, TOOLS / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture
def package(tmp_path):
    """A tiny package tree to point the tools at."""
    (tmp_path / "tacit" / "mechanisms").mkdir(parents=True)
    return tmp_path


def test_all_proof_notes_match_the_code():
    """No proof note is older than the code it speaks of."""
    assert _tool("check_proofs").main() == 0


def test_imports_go_one_way():
    """No inner layer imports an outer one."""
    assert _tool("check_layers").main() == 0


def test_a_changed_function_is_noticed_but_not_a_changed_docstring(package, monkeypatch):
    """A fingerprint covers code and leaves documentation out."""
    tool = _tool("check_proofs")
    monkeypatch.setattr(tool, "SOURCE", package)
    code, note = package / "tacit" / "mechanisms" / "x.py", package / "tacit" / "mechanisms" / "x.md"
    code.write_text('def f(a):\n    """Say."""\n    return a + 1\n')
    mark = tool.fingerprint(tool.definition("tacit.mechanisms.x", "f"))
    note.write_text(f"# X\n\nfingerprint: tacit.mechanisms.x:f {mark}\n")
    assert tool.main() == 0
    code.write_text('def f(a):\n    """Say otherwise."""\n    return a + 1\n')
    assert tool.main() == 0
    code.write_text('def f(a):\n    """Say."""\n    return a + 2\n')
    assert tool.main() == 1


@pytest.mark.parametrize(
    "note",
    ["# no mark\n", "fingerprint: tacit.mechanisms.x:g 0123456789abcdef\n", "fingerprint: nonsense\n"],
)
def test_a_note_without_a_valid_fingerprint_is_refused(package, monkeypatch, note):
    """A note must name at least one definition that exists, in the one form."""
    tool = _tool("check_proofs")
    monkeypatch.setattr(tool, "SOURCE", package)
    (package / "tacit" / "mechanisms" / "x.py").write_text("def f(a):\n    return a\n")
    (package / "tacit" / "mechanisms" / "x.md").write_text(note)
    assert tool.main() == 1


def test_a_mechanism_without_a_note_is_refused(package, monkeypatch):
    """Every mechanism has its proof beside it."""
    tool = _tool("check_proofs")
    monkeypatch.setattr(tool, "SOURCE", package)
    (package / "tacit" / "mechanisms" / "x.py").write_text("def f(a):\n    return a\n")
    assert tool.main() == 1


@pytest.mark.parametrize(
    ("where", "line"),
    [
        ("budget.py", "from tacit.noise import laplace"),
        ("noise.py", "import tacit.accounting.ledger"),
        ("mechanisms/x.py", "from tacit import release"),
        ("mechanisms/x.py", "from . import y"),
        ("erm/solver/x.py", "from tacit.erm.perturbations.gradient import GradientPerturbation"),
        ("erm/losses/x.py", "from tacit.erm.rows.rows import Rows"),
        ("queries/oracle/x.py", "import tacit.queries.learners.tree"),
        ("kernels/maps/x.py", "from tacit.kernels.classification import PrivateKernelClassifier"),
        ("service/pages/x.py", "from tacit.service.routes.jobs import ROUTES"),
        ("service/jobs/x.py", "from tacit.service.pages import forms"),
        ("data/readers/x.py", "from tacit.data.store.store import View"),
    ],
)
def test_an_import_outwards_is_refused(package, monkeypatch, where, line):
    """An inner layer or room cannot reach for an outer one, however it is spelled."""
    tool = _tool("check_layers")
    monkeypatch.setattr(tool, "SOURCE", package)
    (package / "tacit" / where).parent.mkdir(parents=True, exist_ok=True)
    (package / "tacit" / where).write_text(f"{line}\n")
    assert tool.main() == 1


@pytest.mark.parametrize(
    "line",
    [
        "from tacit.secret import open_secret",
        "from tacit.secret import open_secret as peek",
        "import tacit.secret\ncells = tacit.secret.open_secret(records.secret)",
        "cells = records.secret._Secret__held",
        'cells = getattr(records.secret, "_Secret__held")',
    ],
)
def test_a_secret_is_opened_in_listed_modules_alone(package, monkeypatch, line):
    """Whoever is not listed cannot open a secret, however it is spelled; who is listed and opens none is refused."""
    tool = _tool("check_layers")
    monkeypatch.setattr(tool, "SOURCE", package)
    (package / "tacit" / "cli").mkdir()
    stranger = package / "tacit" / "cli" / "x.py"
    stranger.write_text(f"{line}\n")
    assert tool.main() == 1
    monkeypatch.setattr(tool, "OPENERS", {"tacit.cli.x"})
    assert tool.main() == 0
    stranger.write_text("cells = None\n")
    assert tool.main() == 1


def test_a_killed_test_run_leaves_no_server_behind(tmp_path):
    """What stops a server does so when its starter is killed, without a chance to clean up."""
    folder, stopped = tmp_path / "server", tmp_path / "stopped"
    folder.mkdir()
    end = [
        sys.executable,
        str(Path(support.__file__).with_name("end_server.py")),
        str(folder),
        "",
        "touch",
        str(stopped),
    ]
    starter = (
        f"import subprocess, time; subprocess.Popen({end!r}, stdin=subprocess.PIPE, start_new_session=True); "
        "print(flush=True); time.sleep(600)"
    )
    with subprocess.Popen([sys.executable, "-c", starter], stdout=subprocess.PIPE) as run:
        assert run.stdout is not None
        run.stdout.readline()
        assert folder.exists()
        run.kill()
    for _ in range(600):
        if not folder.exists():
            break
        time.sleep(0.1)
    assert stopped.exists()
    assert not folder.exists()


def _at_the_top(folder):
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=folder, capture_output=True, check=False)
    return {name.split("/")[0] for name in listed.stdout.decode().split("\0") if name}


@pytest.mark.skipif(not _at_the_top(ROOT), reason="git does not know this copy")
def test_nothing_is_kept_at_the_top_that_a_run_left_there():
    """What git keeps at the top of the repository are the files that belong there, and no others."""
    assert _at_the_top(ROOT) == AT_THE_TOP


def test_a_stray_file_at_the_top_is_seen(tmp_path):
    """A file that a test left in the folder it ran in is noticed once it is kept."""
    (tmp_path / "ledger_0123").write_text("x")
    subprocess.run(["git", "init", "--quiet"], cwd=tmp_path, check=True)
    subprocess.run(["git", "add", "--all"], cwd=tmp_path, check=True)
    assert _at_the_top(tmp_path) - AT_THE_TOP == {"ledger_0123"}


def test_a_walk_counts_what_its_second_time_enters():
    """What only the first time enters is left out; lines of docstrings, comments and blanks are no code."""
    walks = _tool("walks")
    quiet = walks.row("nothing", lambda time: time or tacit.Budget(1))
    assert quiet == "| nothing | 0 | 0 | 0 | 0 |"
    files, functions, classes, lines = map(int, re.findall(r"\d+", walks.row("a budget", lambda _: tacit.Budget(1))))
    assert 1 <= files <= 3
    assert 1 <= classes < functions < lines
    assert walks.lines_of_code('"""Says."""\n\nx = """a\nb"""  # what\n# and\n') == 2
