"""The bytes of a model file: a document and the arrays it speaks of, in one piece with a checksum.

    8 bytes         0x89 "TACIT" 0x0d 0x0a: what is damaged by a transfer as text shows at once
    4 bytes         the version of the format, 1
    4 bytes         the length L of the document
    L bytes         the document: one JSON object in ASCII, whose "arrays" lists type and shape of every array
    ...             the numbers of these arrays, one after the other, least significant byte first, row by row
    32 bytes        SHA-256 of all that stands before

All numbers are unsigned, least significant byte first. Nothing is compressed, and places and lengths follow from the
document alone: a file that is longer or shorter than that is refused before any of it is kept. The checksum tells
damage, not forgery: a file can be written by anybody, and reading it builds nothing but numbers and declarations.
"""

import hashlib
import io
import json
import math
import os
import stat
import struct
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import Any, BinaryIO, final

import numpy as np
from numpy.typing import NDArray

from tacit.errors import InvalidParameter, ModelFileError
from tacit.estimators.saving.packing import TYPES, ReadingAside

MAGIC = b"\x89TACIT\r\n"
VERSION = 1
_HEAD = struct.Struct("<8sII")
_CHECKSUM = 32

LONGEST_DOCUMENT = 4 * 2**20
MOST_VALUES = 250_000
"""Limits on the document, which takes more memory as objects than as text; arrays are as large as the file."""
_MOST_DIGITS = 400
_LONGEST_WORDS = 400
_LARGEST_SIZE = 2**48


def pack(
    document: Mapping[str, Any], arrays: Sequence[NDArray[Any]], read: Callable[[dict[str, Any], ReadingAside], object]
) -> Iterator[bytes]:
    """Return the bytes of a file, piece by piece, once `read` has taken all that it will say.

    So whatever is written can be read again: what may be written is said nowhere but by the reading.
    """
    kept = [np.ascontiguousarray(array) for array in arrays]
    listed = [{"type": array.dtype.name, "shape": list(array.shape)} for array in kept]
    text = json.dumps({**document, "arrays": listed}).encode("ascii")
    try:
        read(_parsed(text)[0], ReadingAside(kept))
    except (ModelFileError, InvalidParameter) as error:
        raise ModelFileError(f"this model cannot be saved, as no file could hold it: {short(error)}.") from None
    return _pieces(text, kept)


def _pieces(text: bytes, kept: Sequence[NDArray[Any]]) -> Iterator[bytes]:
    whole = hashlib.sha256()
    numbers = (array.astype(TYPES[array.dtype.name], copy=False).tobytes() for array in kept)
    for piece in chain((_HEAD.pack(MAGIC, VERSION, len(text)), text), numbers):
        whole.update(piece)
        yield piece
    yield whole.digest()


def unpack(path: str | Path) -> tuple[dict[str, Any], list[NDArray[Any]]]:
    """Return the document and the arrays of a file that is whole; refuse any other with one error."""
    try:
        with _opened(path) as file:
            return _read(file, os.fstat(file.fileno()).st_size)
    except OSError as failure:
        reason = (failure.strerror or "the system refused it").lower()
        raise ModelFileError(f"there is no model file that can be read: {reason}. Name another file.") from None


def unpack_bytes(data: bytes) -> tuple[dict[str, Any], list[NDArray[Any]]]:
    """Return the same of a file's bytes."""
    return _read(io.BytesIO(data), len(data))


def _opened(path: str | Path) -> BinaryIO:
    """Open a file that is one: reading a pipe or a device could wait for ever."""
    handle = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0))
    file = os.fdopen(handle, "rb")
    if not stat.S_ISREG(os.fstat(handle).st_mode):
        file.close()
        raise ModelFileError("this is a folder or a device, and no model file. Name a file that `tacit.save` wrote.")
    return file


@final
@dataclass(frozen=True)
class _Declared:
    """An array that a document speaks of."""

    kind: np.dtype[Any]
    shape: tuple[int, ...]

    @classmethod
    def of(cls, plain: object) -> "_Declared":
        """Read a declaration; a shape is one or two lengths, and only a single one may be 0."""
        if not isinstance(plain, dict) or plain.keys() != {"type", "shape"} or not isinstance(plain["shape"], list):
            raise _damaged("it does not say which arrays it holds")
        kind, shape = plain["type"], plain["shape"]
        least = 0 if len(shape) == 1 else 1
        sizes = len(shape) in (1, 2) and all(type(size) is int and least <= size < _LARGEST_SIZE for size in shape)
        if not isinstance(kind, str) or kind not in TYPES or not sizes:
            raise _damaged("it speaks of arrays that are none")
        return cls(TYPES[kind], tuple(shape))

    @property
    def size(self) -> int:
        """How many bytes it has."""
        return math.prod(self.shape) * self.kind.itemsize

    def read(self, file: BinaryIO, whole: Any) -> NDArray[Any]:
        """Read the array as this machine has its numbers."""
        array = np.empty(self.shape, dtype=self.kind)
        # A memory view does not cast what is empty.
        view: Any = array.reshape(-1).view(np.uint8).data if array.size else bytearray()
        if file.readinto(view) != self.size:  # type: ignore[attr-defined]
            raise _damaged("it became shorter while it was read")
        whole.update(view)
        if self.kind == np.bool_ and np.any(array.view(np.uint8) > 1):
            raise _damaged("it holds truth values that are none")
        return array.astype(self.kind.newbyteorder("="), copy=False)


def _read(file: BinaryIO, size: int) -> tuple[dict[str, Any], list[NDArray[Any]]]:
    head, whole = file.read(_HEAD.size), hashlib.sha256()
    if len(head) < _HEAD.size or head[: len(MAGIC)] != MAGIC:
        raise ModelFileError("this is no model file of tacit's: it does not begin as one. `tacit.save` writes them.")
    _, version, length = _HEAD.unpack(head)
    if version != VERSION:
        raise ModelFileError(
            f"this model file has format {version}, and this tacit reads format {VERSION}. Use the tacit it is from."
        )
    if length > min(LONGEST_DOCUMENT, size):
        raise _damaged("its document is longer than it can be")
    text = file.read(length)
    whole.update(head + text)
    document, declared = _parsed(text)
    if _HEAD.size + length + sum(each.size for each in declared) + _CHECKSUM != size:
        raise _damaged("it is shorter or longer than it says")
    arrays = [each.read(file, whole) for each in declared]
    if file.read(_CHECKSUM) != whole.digest():
        raise _damaged("its checksum is wrong")
    return document, arrays


def check_document(text: bytes, share: float = 1.0) -> None:
    """Refuse a document that would take much memory as objects: each value is behind a comma or a bracket.

    `share` is the part of the room that there is for this text alone.
    """
    values, longest, most = sum(map(text.count, (b",", b"[", b"{"))), share * LONGEST_DOCUMENT, share * MOST_VALUES
    if len(text) > longest or values > most:
        raise ModelFileError(
            f"a model's declarations must fit into {longest:.0f} bytes and {most:.0f} values, got {len(text)} and "
            f"{values}. Declare fewer columns or levels."
        )


def _parsed(text: bytes) -> tuple[dict[str, Any], list[_Declared]]:
    """Parse a document strictly (ASCII, finite numbers, no key twice); return it and the arrays that it speaks of."""
    check_document(text)
    try:
        document = json.loads(
            text.decode("ascii"),
            object_pairs_hook=_object,
            parse_constant=_number,
            parse_float=_number,
            parse_int=_whole,
        )
    except (ValueError, RecursionError):
        raise _damaged("its document is not one that tacit writes") from None
    if not isinstance(document, dict):
        raise _damaged("its document is not one that tacit writes")
    listed = document.pop("arrays", None)
    if not isinstance(listed, list):
        raise _damaged("it does not say which arrays it holds")
    return document, [_Declared.of(plain) for plain in listed]


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        raise ValueError
    return found


def _number(digits: str) -> float:
    number = float(digits)
    if len(digits) > _MOST_DIGITS or not math.isfinite(number):
        raise ValueError
    return number


def _whole(digits: str) -> int:
    if len(digits) > _MOST_DIGITS:
        raise ValueError
    return int(digits)


def short(error: Exception) -> str:
    """Return the words of an error on one line of bounded length: parts of them are a stranger's."""
    words = "".join(letter if letter.isprintable() else "?" for letter in str(error).rstrip("."))
    return words if len(words) <= _LONGEST_WORDS else f"{words[:_LONGEST_WORDS]}..."


def _damaged(how: str) -> ModelFileError:
    return ModelFileError(f"this model file is damaged or was not written by tacit: {how}. Copy it once more.")
