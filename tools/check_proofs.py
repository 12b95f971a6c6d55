"""Check that every proof note was reread since the code it speaks of last changed.

A note (a Markdown file beside the code) names what it proves in lines like

    fingerprint: tacit.mechanisms.laplace:Laplace.units 0123456789abcdef

where the number is a hash of the definition's syntax tree without docstrings. When the code changes, this
check fails: reread the note, mend it, and put in the new number, which the failure prints.
"""

import ast
import hashlib
import re
import sys
from pathlib import Path

SOURCE = Path(__file__).resolve().parent.parent / "src"
LINE = re.compile(r"^fingerprint: ([\w.]+):([\w.]+) ([0-9a-f]{16})$", re.MULTILINE)


def definition(module: str, name: str) -> ast.AST | None:
    path = SOURCE / Path(*module.split(".")).with_suffix(".py")
    if not path.exists():
        return None
    node: ast.AST | None = ast.parse(path.read_text(encoding="utf-8"))
    for part in name.split("."):
        node = next((child for child in getattr(node, "body", []) if _name(child) == part), None)
    return node


def _name(node: ast.AST) -> str | None:
    if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name):
        return node.targets[0].id
    if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
        return node.target.id
    return getattr(node, "name", None)


def fingerprint(node: ast.AST) -> str:
    for child in ast.walk(node):
        body = getattr(child, "body", None)
        if isinstance(body, list) and body and _is_docstring(body[0]):
            body[:1] = []
    return hashlib.sha256(ast.dump(node).encode()).hexdigest()[:16]


def _is_docstring(node: ast.AST) -> bool:
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str)


def check_note(path: Path) -> list[str]:
    text = path.read_text(encoding="utf-8")
    marks = LINE.findall(text)
    if len(marks) != text.count("fingerprint: "):
        return [f"{path.name}: a fingerprint line is not in the form `fingerprint: module:name 16-hex-digits`"]
    problems = [] if marks else [f"{path.name}: names no fingerprint"]
    for module, name, recorded in marks:
        node = definition(module, name)
        if node is None:
            problems.append(f"{path.name}: {module}:{name} does not exist")
        elif (actual := fingerprint(node)) != recorded:
            problems.append(f"{path.name}: {module}:{name} changed; reread the note, then record {actual}")
    return problems


def main() -> int:
    notes = sorted(path for path in (SOURCE / "tacit").rglob("*.md") if path.name != "ATTRIBUTION.md")
    problems = [problem for note in notes for problem in check_note(note)]
    problems += [
        f"{path.relative_to(SOURCE)}: a mechanism without a proof note {path.stem}.md"
        for path in sorted((SOURCE / "tacit" / "mechanisms").glob("*.py"))
        if path.stem not in ("__init__", "mechanism") and not path.with_suffix(".md").exists()
    ]
    print("\n".join(problems) or f"{len(notes)} proof notes match the code")
    return bool(problems)


if __name__ == "__main__":
    sys.exit(main())
