"""Check that imports inside tacit go one way, from the outer layers to the inner ones."""

import ast
import sys
from pathlib import Path

SOURCE = Path(__file__).resolve().parent.parent / "src"

LAYERS = (
    {"errors"},
    {"checks"},
    {"numerics"},
    {"budget"},
    {"noise", "accounting"},
    {"mechanisms"},
    {"release"},
    {"data"},
    {"estimators", "sums"},
    {"erm"},
    {"kernels", "queries", "statistics"},
    {"model_selection", "evaluation"},
    {"", "audit"},
    {"service", "cli"},
)
LEVEL = {name: level for level, names in enumerate(LAYERS) for name in names}


def package(module: str) -> str:
    parts = module.split(".")
    return parts[1] if len(parts) > 1 else ""


def imported(tree: ast.AST) -> list[tuple[int, str]]:
    found = []
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            found += [(node.lineno, alias.name) for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            submodules = [f"{node.module}.{alias.name}" for alias in node.names]
            found += [(node.lineno, name) for name in (submodules if node.module == "tacit" else [node.module])]
        elif isinstance(node, ast.ImportFrom):
            found.append((node.lineno, "tacit.relative-import"))
    return [(line, name) for line, name in found if name.split(".")[0] == "tacit"]


def problems_in(path: Path) -> list[str]:
    module = ".".join(path.relative_to(SOURCE).with_suffix("").parts).removesuffix(".__init__")
    here = package(module)
    found = []
    for line, name in imported(ast.parse(path.read_text(encoding="utf-8"))):
        there = package(name)
        if there not in LEVEL:
            there = "" if here in ("audit", "service", "cli") else there
        inward = LEVEL.get(there, 99) < LEVEL.get(here, -1)
        if not (there == here or inward):
            found.append(f"{path.relative_to(SOURCE)}:{line}: {here or 'tacit'} must not import {name}")
    return found


def main() -> int:
    problems = [problem for path in sorted((SOURCE / "tacit").rglob("*.py")) for problem in problems_in(path)]
    print("\n".join(problems) or "imports go one way")
    return bool(problems)


if __name__ == "__main__":
    sys.exit(main())
