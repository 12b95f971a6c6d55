"""What the package's extras bring along, and processes in which nothing else is installed."""

import json
import subprocess
import sys
import tomllib
from collections.abc import Iterable
from importlib import metadata
from pathlib import Path

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

PROJECT = tomllib.loads((Path(__file__).parents[2] / "pyproject.toml").read_text("utf-8"))["project"]
_NARROW = """if True:
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
        print(ended.exit_code, (ended.stdout + ended.stderr).strip().replace(chr(10), ' '), flush=True)
"""


def brought(*extras: str) -> set[str]:
    """Return the distributions that the package with these extras brings along, those of this platform."""
    visited: set[tuple[str, str]] = set()
    pending = [("tacit", ""), *(("tacit", extra) for extra in extras)]
    while pending:
        if (step := pending.pop()) in visited:
            continue
        visited.add(step)
        for requirement in map(Requirement, _required(*step)):
            if requirement.marker is None or requirement.marker.evaluate({"extra": step[1]}):
                name = canonicalize_name(requirement.name)
                pending += [(name, ""), *((name, extra) for extra in requirement.extras)]
    return {name for name, _ in visited}


def _required(name: str, extra: str) -> list[str]:
    """Return the requirements of a distribution, of the package those that its sources state."""
    if name == "tacit":
        found: list[str] = PROJECT["optional-dependencies"][extra] if extra else PROJECT["dependencies"]
        return found
    return metadata.requires(name) or []


def absent(*extras: str) -> set[str]:
    """Return the modules that are installed here, and are not with these extras alone."""
    distributions = brought(*extras)
    homes = metadata.packages_distributions().items()
    return {module for module, owners in homes if not distributions & set(map(canonicalize_name, owners))}


def narrow(hidden: Iterable[str], folder: Path, *commands: str) -> subprocess.Popen[str]:
    """Start a process without these modules, which runs commands and prints how each ended, a line each."""
    modules, lines = json.dumps(sorted(hidden)), json.dumps([command.split() for command in commands])
    command = [sys.executable, "-c", _NARROW, modules, lines]
    return subprocess.Popen(command, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
