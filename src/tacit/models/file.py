"""Saving a fitted estimator and loading it again: the same class, the same predictions, bit for bit."""

import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, cast

from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from tacit.data.encoder import PublicEncoder
from tacit.data.schema import Schema
from tacit.errors import InvalidParameter, ModelFileError
from tacit.estimators.saving.declared import ENCODER
from tacit.estimators.saving.fields import Field, Plain, Saved, read_fields
from tacit.estimators.saving.packing import ReadingAside, Writing, WritingAside
from tacit.files import write_whole
from tacit.models.container import check_document, pack, short, unpack, unpack_bytes
from tacit.models.kinds import class_of, kind_of
from tacit.reports.card import Card, card_of_model
from tacit.version import VERSION

_PLAIN = Plain()
_SHARE = 0.45
_LARGEST_SEED = 2**63
USUAL_KNOTS = 33
"""More than curves="auto" asks for."""
_KEYS = {"tacit", "kind", "parameters", "fitted", "card"}


def save(model: Any, path: str | Path, *, card: Card | None = None) -> None:
    """Write a fitted model to a file, as a whole or not at all: parameters, what predicts, the release and the card.

    `card` is `tacit.reports.card_of_model(model, ledger=..., answers=...)`, by default with nothing to add; a loaded
    model keeps the one it came with, `card_`.

    What is written was released, or is public: saving costs nothing. The handle of a ledger is not written (its entry
    is), nor a `random_state` that is no whole number below 2^63. A model that holds records or code is refused, and so
    is one that `load` would refuse: a text too long, or one that UTF-8 cannot spell, is named.
    """
    write_whole(path, bytes_of(model, card=card))


def bytes_of(model: Any, *, card: Card | None = None) -> Iterator[bytes]:
    """Return what `save` writes, piece by piece."""
    kind, saved = kind_of(model), cast(Saved, type(model).saved)
    check_is_fitted(model)
    writing = WritingAside()
    document = {
        "tacit": VERSION,
        "kind": kind,
        "parameters": written_parameters(model, saved, writing),
        "fitted": _attributes(model, saved, writing),
        "card": (card or getattr(model, "card_", None) or card_of_model(model)).plain(),
    }
    return pack(document, writing.arrays, _built)


def check_declared(schema: Schema, *, knots: int = USUAL_KNOTS) -> None:
    """Refuse declarations that no model file could hold: to be asked before a fit is charged.

    What a file would say of them is read as it would be then; `knots` is how many a curve may have. A document has the
    schema, the classes once more, and little that grows with neither.
    """
    plain = ENCODER.write(PublicEncoder(schema, curves=knots), WritingAside())
    check_document(json.dumps(plain).encode("ascii"), share=_SHARE)
    try:
        ENCODER.read(plain, ReadingAside(()))
    except ModelFileError as error:
        raise ModelFileError(f"no model file could hold what is declared: {short(error)}.") from None


def load(path: str | Path) -> Any:
    """Return the model in a file: an estimator of its own class that predicts the same bits as the one saved.

    Whatever the file holds, no code of it runs, and reading it takes little more memory than the file. A damaged or
    foreign file is refused with `ModelFileError`.
    """
    return _loaded(*unpack(path))


def load_bytes(data: bytes) -> Any:
    """Return the model in the bytes of a file, as `load` does."""
    return _loaded(*unpack_bytes(data))


def _loaded(document: Mapping[str, Any], arrays: Sequence[NDArray[Any]]) -> Any:
    try:
        return _built(document, ReadingAside(arrays))
    except (ModelFileError, InvalidParameter) as error:
        raise ModelFileError(f"this model file is damaged or of another tacit: {short(error)}.") from None


def _built(document: Mapping[str, Any], reading: ReadingAside) -> Any:
    """Build the model that a document and its arrays speak of."""
    if document.keys() != _KEYS:
        raise ModelFileError("its document has other parts")
    known = class_of(document["kind"])
    saved = cast(Saved, known.saved)
    model = known(**read_fields(document["parameters"], parameter_fields(known, saved), reading))
    attributes = read_fields(document["fitted"], saved.fitted, reading)
    reading.finish(saved.sizes)
    for name, value in attributes.items():
        if value is not None:
            setattr(model, name, value)
    saved.check(model)
    model.card_ = Card.of_plain(document["card"])
    return model


def written_parameters(model: Any, saved: Saved, writing: Writing) -> dict[str, object]:
    """Return an estimator's parameters as plain JSON, their arrays put aside."""
    given = model.get_params(deep=False)
    seed = given.get("random_state")
    if type(seed) is not int or abs(seed) >= _LARGEST_SEED:
        given["random_state"] = None
    return {name: field.write(given[name], writing) for name, field in parameter_fields(type(model), saved).items()}


def parameter_fields(known: type[Any], saved: Saved) -> Mapping[str, Field]:
    """Return the field of every parameter that is written."""
    names = [name for name in known().get_params(deep=False) if name not in saved.forgotten]
    return {name: saved.parameters.get(name, _PLAIN) for name in names}


def _attributes(model: Any, saved: Saved, writing: Writing) -> dict[str, object]:
    names = {name for name in vars(model) if name.endswith("_") and not name.startswith("_")} - {"card_"}
    unknown = sorted(names - saved.fitted.keys())
    if unknown:
        raise ModelFileError(
            f"a {type(model).__name__} with {', '.join(unknown)} cannot be saved: no file has a place."
        )
    return {name: field.write(getattr(model, name, None), writing) for name, field in saved.fitted.items()}
