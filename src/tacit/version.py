"""The version of this tacit, for whatever is written and read again, and a hash of the code that makes promises."""

import hashlib
from functools import cache
from pathlib import Path

VERSION = "0.1.0"
_PRESENTATION = ("cli", "reports", "service", "notebook.py", "audit")


@cache
def code_hash() -> str:
    """Return a hash of all code of tacit but what only shows results and attacks them; "" where there is no source."""
    root = Path(__file__).resolve().parent
    paths = sorted(path.relative_to(root) for path in root.rglob("*.py"))
    found = hashlib.sha256()
    for path in paths:
        if path.parts[0] not in _PRESENTATION:
            found.update(f"{path.as_posix()}\0".encode() + (root / path).read_bytes() + b"\0")
    return found.hexdigest() if paths else ""
