"""The bytes of model files, taken apart and sealed again, and what refuses them."""

import hashlib
import json
import struct


def seal(document, numbers=b"", *, version=1, magic=b"\x89TACIT\r\n", length=None):
    """Return a file whose checksum is right, of a document as text or as an object."""
    text = document if isinstance(document, bytes) else json.dumps(document).encode()
    whole = struct.pack("<8sII", magic, version, len(text) if length is None else length) + text + numbers
    return whole + hashlib.sha256(whole).digest()


def taken_apart(whole):
    """Return the document of a file and the bytes of its numbers."""
    (length,) = struct.unpack("<I", whole[12:16])
    return json.loads(whole[16 : 16 + length]), whole[16 + length : -32]
