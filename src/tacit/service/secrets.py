"""Secrets of a service: made once, kept in its folder, the same for all workers."""

import os
from pathlib import Path

from tacit.noise import unique_token


def kept_secret(path: Path) -> bytes:
    """Return the secret in a file; the first who comes makes it, whole or not at all."""
    if not path.exists():
        # Threads make it at once, too: each has a draft of its own.
        name, secret = unique_token()
        draft = path.with_name(f"{path.name}.{name}")
        draft.touch(0o600)
        with draft.open("w", encoding="ascii") as file:
            file.write(secret)
            file.flush()
            os.fsync(file.fileno())
        try:
            os.link(draft, path)
        except FileExistsError:
            pass
        finally:
            draft.unlink()
    return path.read_bytes()
