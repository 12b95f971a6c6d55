"""A predictor that answers on demand, kept for other processes: a file as secret as the records, beside its state file.

The file has the form of a model file (`tacit.models.container`), is its owner's alone (mode 0600), and holds numbers
and declarations: no code, no pickle. It is not a model to give away, and `tacit.load` refuses it.
"""

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any, cast

from tacit.accounting.ledger import Ledger
from tacit.errors import InvalidParameter, ModelFileError
from tacit.estimators.saving.fields import read_fields
from tacit.estimators.saving.packing import ReadingAside, WritingAside
from tacit.files import write_whole
from tacit.kernels.interactive.predictor import InteractiveKernelPredictor
from tacit.kernels.interactive.state_file import FileMemory
from tacit.kernels.kept import SAVED, assemble, parts_of
from tacit.models.container import pack, short, unpack
from tacit.models.file import parameter_fields, written_parameters
from tacit.version import VERSION

_KEYS = {"tacit", "secret", "parameters", "fitted"}
_SECRET = "interactive-predictor"


def keep(predictor: InteractiveKernelPredictor, path: str | Path) -> None:
    """Write the secret part of a fitted predictor to a new file of mode 0600, as a whole or not at all.

    With it and the state file any process of this machine can `reopen` the predictor, after a restart or beside this
    one. Nothing is released. The predictor must have a state file, a kernel of tacit's own and no seed.
    """
    if type(predictor) is not InteractiveKernelPredictor or not hasattr(predictor, "_session"):
        raise InvalidParameter(f"wanted a fitted InteractiveKernelPredictor, got {type(predictor).__name__}.")
    if os.path.lexists(path):
        raise InvalidParameter("there is a file already: a kept predictor never replaces another. Choose a new path.")
    writing, parts = WritingAside(), parts_of(predictor)
    document = {
        "tacit": VERSION,
        "secret": _SECRET,
        "parameters": written_parameters(predictor, SAVED, writing),
        "fitted": {name: field.write(parts[name], writing) for name, field in SAVED.fitted.items()},
    }
    write_whole(path, pack(document, writing.arrays, _parts), rights=0o600)


def reopen(
    path: str | Path,
    *,
    state: str | os.PathLike[str],
    head: tuple[int, str] | None = None,
    ledger: Ledger | None = None,
) -> InteractiveKernelPredictor:
    """Return the predictor in a file that `keep` wrote, which goes on from its state file.

    Guarantee: all answers of all processes together are those of one predictor, charged once by its fit.
    Assumes: both files are those that were written; the state file is the newest.
    Reference: tacit/kernels/interactive/predictor.md, "Kept".

    `head` is `head_` as it was last written down: a state file in which these answers are not is refused, as is one of
    another fit. `ledger` is charged nothing; a predictor that is asked for its parameters names it.
    """
    seen = _seen(head)
    document, arrays = unpack(path)
    if document.keys() != _KEYS or document["secret"] != _SECRET:
        raise ModelFileError("this file holds no predictor that answers on demand. Use tacit.load for models.")
    try:
        given, parts = _parts(document, ReadingAside(arrays))
        predictor = InteractiveKernelPredictor(**given, ledger=ledger)
        assemble(predictor, parts, FileMemory(str(Path(state).resolve()), parts["mark"], seen))
    except (ModelFileError, InvalidParameter) as error:
        raise ModelFileError(f"this predictor's file is damaged or of another tacit: {short(error)}.") from None
    # A turn looks for the mark and the head in the file.
    _ = predictor.points_left_
    return predictor


def _parts(document: Mapping[str, Any], reading: ReadingAside) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return the parameters of a kept predictor and what is kept of its fit."""
    given = read_fields(document["parameters"], parameter_fields(InteractiveKernelPredictor, SAVED), reading)
    parts = read_fields(document["fitted"], SAVED.fitted, reading)
    reading.finish({})
    return given, parts


def _seen(head: object) -> tuple[int, bytes]:
    if head is None:
        return 0, b""
    try:
        count, link = cast("tuple[int, str]", head)
        if type(count) is int and count >= 0:
            return count, bytes.fromhex(link)
    except (TypeError, ValueError):
        pass
    raise InvalidParameter("head must be the `head_` of a predictor: a number and a hash.")
