"""How a command ends: its exit code, and an error as one JSON object. Nothing else of tacit is loaded for it."""

import json

DONE, REFUTED, WRONG, NO_BUDGET, CANNOT_TELL, FAILED = range(6)

INTERRUPTED = "interrupted: no file was half-written."


def error_as_json(kind: str, message: str, code: int, charged: bool | None = False) -> str:
    """Return an error as JSON; `charged` is None where the ledger cannot be asked any more."""
    plain = {"kind": kind, "message": message, "exit_code": code, "charged": charged}
    return json.dumps({"error": plain}, indent=2) + "\n"
