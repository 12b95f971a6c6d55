"""Check that imports inside tacit go one way, from the outer layers to the inner ones, and from room to room.

And that the cells of records are opened in the modules alone that are named here.
"""

import ast
import sys
from pathlib import Path

SOURCE = Path(__file__).resolve().parent.parent / "src"

LAYERS = (
    {"errors", "version", "secret"},
    {"notebook", "checks", "files"},
    {"numerics"},
    {"budget"},
    {"noise"},
    {"accounting"},
    {"mechanisms"},
    {"releases"},
    {"data"},
    {"estimators", "sums"},
    {"erm"},
    {"kernels", "queries", "statistics"},
    {"model_selection", "evaluation"},
    {"reports"},
    {"models"},
    {"audit"},
    {"service"},
    {"client"},
    {""},
    {"cli"},
    {"__main__"},
)
LEVEL = {name: level for level, names in enumerate(LAYERS) for name in names}

# Within a package; "" stands for the modules that are in no room: where it is not named they are on either side. A
# package's own __init__ may import all of it. docs/architecture.md shows the same order from the top downwards.
ROOMS = {
    "erm": ({"losses", "rows"}, {"solver"}, {"perturbations"}, {""}),
    "kernels": ({"kernel"}, {"maps"}, {"fit"}, {"interactive", "released"}, {""}),
    "queries": ({"oracle"}, {""}, {"learners"}),
    "data": ({"readers"}, {"store"}),
    "sums": ({"language"}, {""}),
    "audit": ({"outcomes"}, {""}, {"catalogue", "exhibits"}),
    "service": ({"jobs", "sessions"}, {"pages"}, {"routes"}),
}
# Opening a session is a job, and a job's table says whether a session is open.
TOGETHER = {("service", frozenset({"jobs", "sessions"}))}
ROOM_LEVEL = {
    (package, room): level for package, order in ROOMS.items() for level, rooms in enumerate(order) for room in rooms
}
# Who may open a secret: whatever else handles records cannot see into them. A module that opens none is struck off.
OPENERS = {
    "tacit.data.encoder",  # rows of features, which nothing but a mechanism or a learner's sums may see
    "tacit.data.mismatches",  # adds up missing and undeclared cells behind the door
    "tacit.data.records",  # cuts parts, which are Records again, and packs
    "tacit.estimators.encoded",  # targets and weights beside the encoder's rows
    "tacit.estimators.lazily_encoded",  # the same, made whenever they are read
    "tacit.evaluation.reading",  # targets and weights of held-out records, for scores that are released
    "tacit.model_selection.data",  # targets and persons of the folds that a search trains on
    "tacit.queries.learners.learner",  # a learner's own predictions, made of cells
    "tacit.service.blocks",  # whether all records lie in the block that they are registered as: before any budget
    "tacit.service.fingerprints",  # keyed marks of contents, by which a table is not registered twice
    "tacit.sums.record_evaluator",  # the sums that oracles release
}


def package(module: str) -> str:
    parts = module.split(".")
    return parts[1] if len(parts) > 1 else ""


def room(module: str) -> str:
    parts = module.split(".")
    return parts[2] if len(parts) > 2 and (parts[1], parts[2]) in ROOM_LEVEL else ""


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


def opened(tree: ast.AST) -> list[int]:
    """Return the lines that name what opens a secret, or what a secret holds."""
    found = []
    for node in ast.walk(tree):
        names = [getattr(node, part, None) for part in ("id", "attr", "name", "value")]
        if any(isinstance(name, str) and name in ("open_secret", "_Secret__held") for name in names):
            found.append(getattr(node, "lineno", 0))
    return sorted(set(found))


def problems_in(path: Path) -> list[str]:
    module = ".".join(path.relative_to(SOURCE).with_suffix("").parts).removesuffix(".__init__")
    here = package(module)
    tree = ast.parse(path.read_text(encoding="utf-8"))
    opens, found = opened(tree), []
    if opens and module not in (*OPENERS, "tacit.secret"):
        found.append(f"{path.relative_to(SOURCE)}:{opens[0]}: {module} must not open a secret")
    if not opens and module in OPENERS:
        found.append(f"{path.relative_to(SOURCE)}: {module} opens no secret: strike it off OPENERS")
    for line, name in imported(tree):
        there = package(name)
        if there not in LEVEL:
            there = "" if here in ("audit", "service", "cli") else there
        inward = LEVEL.get(there, 99) < LEVEL.get(here, -1)
        if not (there == here or inward):
            found.append(f"{path.relative_to(SOURCE)}:{line}: {here or 'tacit'} must not import {name}")
        elif there == here and here in ROOMS and path.name != "__init__.py":
            mine, other = room(module), room(name)
            levels = ROOM_LEVEL.get((here, other)), ROOM_LEVEL.get((here, mine))
            if mine == other or None in levels or (here, frozenset({mine, other})) in TOGETHER:
                continue
            if not ROOM_LEVEL[here, other] < ROOM_LEVEL[here, mine]:
                found.append(f"{path.relative_to(SOURCE)}:{line}: {here}.{mine or '*'} must not import {name}")
    return found


def main() -> int:
    problems = [problem for path in sorted((SOURCE / "tacit").rglob("*.py")) for problem in problems_in(path)]
    print("\n".join(problems) or "imports go one way")
    return bool(problems)


if __name__ == "__main__":
    sys.exit(main())
