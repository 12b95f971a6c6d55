"""Files that are there as a whole or not at all."""

import os
from collections.abc import Iterable
from pathlib import Path

from tacit.errors import FileNotWritten

_NAMES = 1000


def write_whole(path: str | Path, pieces: Iterable[bytes], *, rights: int = 0o666) -> None:
    """Write a file under another name in the same folder, and give it its own once all of it is on the disk.

    Whoever looks sees the former file or the new one; a failure or an interrupt on the way leaves the former. `rights`
    are those of the new file, less what the process's mask takes away: 0o600 for what is as secret as records.
    """
    target = checked_target(path)
    handle, partial = _opened_beside(target, rights)
    try:
        with os.fdopen(handle, "wb") as file:
            for piece in pieces:
                file.write(piece)
            file.flush()
            os.fsync(file.fileno())
        os.replace(partial, target)
    except BaseException as failure:
        partial.unlink(missing_ok=True)
        if isinstance(failure, OSError):
            raise _refused(target, failure) from None
        raise


def check_room(path: str | Path, size: int = 2**20) -> None:
    """Refuse a place where a file of some size cannot be written, by writing one there and taking it away again."""
    target = checked_target(path)
    handle, partial = _opened_beside(target)
    try:
        with os.fdopen(handle, "wb") as file:
            for start in range(0, size, 2**20):
                file.write(bytes(min(2**20, size - start)))
            file.flush()
            os.fsync(file.fileno())
    except OSError as failure:
        raise _refused(target, failure) from None
    finally:
        partial.unlink(missing_ok=True)


def private_folder(path: str | Path) -> Path:
    """Return a folder that only its owner can read; make it where it is missing."""
    folder = Path(path)
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError as failure:
        raise _refused(folder, failure) from None
    return folder


def checked_target(path: str | Path) -> Path:
    """Return where a path leads, through links; refuse what is there and is no file, and a folder that is not there."""
    target = Path(os.path.realpath(path))
    if not target.parent.is_dir():
        raise FileNotWritten(f"{str(path)!r} cannot be written: there is no folder {str(target.parent)!r}. Make it.")
    if target.exists() and not target.is_file():
        raise FileNotWritten(f"{str(path)!r} cannot be written: there is something that is no file. Name another.")
    return target


def _opened_beside(target: Path, rights: int = 0o666) -> tuple[int, Path]:
    """Open a new file in the target's folder, with the rights that new files have, or fewer."""
    for number in range(_NAMES):
        partial = target.with_name(f".tacit-{os.getpid()}-{number}.partial")
        try:
            return os.open(partial, os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0), rights), partial
        except FileExistsError:
            continue
        except OSError as failure:
            raise _refused(target, failure) from None
    raise FileNotWritten(f"{str(target.parent)!r} is full of files named .tacit-*.partial. Remove them.")


def _refused(target: Path, failure: OSError) -> FileNotWritten:
    reason = (failure.strerror or "the system refused it").lower()
    return FileNotWritten(f"{str(target)!r} cannot be written: {reason}. Choose another place or make room.")
