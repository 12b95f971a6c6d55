"""Fields of what tacit's estimators have in common: classes, schemas, encoders, releases."""

import json
from typing import Any, final

import numpy as np

from tacit.accounting.events import event_from_json, event_to_json
from tacit.accounting.history import Entry, Partition
from tacit.accounting.unit import Unit
from tacit.budget import Budget
from tacit.data.curves import checked_pairs, curves_of
from tacit.data.encoder import PublicEncoder
from tacit.data.file_form import FileForm
from tacit.data.levels import Levelled
from tacit.data.schema import Schema
from tacit.data.toml import KINDS, declared_column, entry_of
from tacit.errors import InvalidParameter, ModelFileError
from tacit.estimators.saving.fields import (
    TEXT,
    TRUTH,
    Converted,
    Field,
    Listed,
    Numbers,
    Optional,
    Plain,
    Scalar,
    Struct,
    exact,
    whole,
)
from tacit.estimators.saving.packing import Reading, Writing
from tacit.releases import Release

_INTEGERS = (f"{sign}int{bits}" for sign in ("", "u") for bits in (8, 16, 32, 64))
_NUMBER_TYPES = ("bool", *_INTEGERS, "float16", "float32", "float64")


@final
class _Labels(Field):
    """The classes of a classifier, in the type that they have as an array: different texts, or different numbers."""

    def write(self, value: Any, writing: Writing) -> object:
        """Write the type and the labels."""
        kind = {"U": "text", "O": "objects"}.get(value.dtype.kind, value.dtype.name)
        if kind not in ("text", "objects", *_NUMBER_TYPES):
            raise ModelFileError(f"classes of type {value.dtype} cannot be saved. Declare texts or numbers.")
        return {"type": kind, "labels": [Plain().write(label, writing) for label in value.tolist()]}

    def read(self, plain: Any, reading: Reading) -> Any:
        """Read them; the type's own reading must not change one."""
        fields = {"type": TEXT, "labels": Listed(Plain(), list, axis="classes")}
        kind, labels = _fields(plain, fields, reading)
        # Whole numbers that no type of 64 bits holds are objects, as texts may be.
        wanted = {"text": {str}, "objects": {str} if str in set(map(type, labels)) else {bool, int, float}}
        own = {bool if kind == "bool" else int if "int" in kind else float}
        if kind not in ("text", "objects", *_NUMBER_TYPES) or not set(map(type, labels)) <= wanted.get(kind, own):
            raise ModelFileError("should be labels of one type that can be saved")
        try:
            array = np.array(labels, dtype={"text": np.str_, "objects": object}.get(kind, kind))
        except OverflowError:
            raise ModelFileError("should be labels that their type can hold") from None
        if array.tolist() != labels or not 2 <= len(set(labels)) == len(labels):
            raise ModelFileError("should be at least two different labels")
        return array


@final
class _Column(Field):
    """One declared column, as the table that a TOML file has for it."""

    def write(self, value: Any, writing: Writing) -> object:
        """Write what it declares besides its defaults."""
        if type(value) not in KINDS.values():
            raise ModelFileError(f"a column that is a {type(value).__name__} cannot be saved.")
        return {key: Plain().write(each, writing) for key, each in entry_of(value).items()}

    def read(self, plain: Any, reading: Reading, name: str = "of a feature") -> Any:
        """Build the declaration as if a person had written it."""
        if not isinstance(plain, dict):
            raise ModelFileError("should be the table of a column")
        entry = {TEXT.read(key, reading): Plain().read(each, reading) for key, each in plain.items()}
        try:
            return declared_column(name, entry)
        except InvalidParameter as error:
            raise ModelFileError(f"should be a declaration: {error}") from None


@final
class _Columns(Field):
    """Declared columns by their names, in order."""

    def write(self, value: Any, writing: Writing) -> object:
        """Write pairs of a name and its table."""
        return [[name, COLUMN.write(column, writing)] for name, column in value.items()]

    def read(self, plain: Any, reading: Reading) -> Any:
        """Read such pairs; no name may come twice."""
        if not isinstance(plain, list) or not all(isinstance(pair, list) and len(pair) == 2 for pair in plain):
            raise ModelFileError("should be the names of columns and their tables")
        names = [TEXT.read(name, reading) for name, _ in plain]
        if len(set(names)) < len(names):
            raise ModelFileError("should declare each column once")
        return {name: COLUMN.read(entry, reading, name) for name, (_, entry) in zip(names, plain, strict=True)}


@final
class _Encoder(Field):
    """An encoder: its schema and its parameters."""

    def write(self, value: Any, writing: Writing) -> object:
        """Write its parameters, if its outputs can be named."""
        _check_names(value)
        return _ENCODER.write(value, writing)

    def read(self, plain: Any, reading: Reading) -> Any:
        """Build it, and let it check that it makes as many columns as the model has features."""
        encoder = _ENCODER.read(plain, reading)
        try:
            _check_names(encoder)
            reading.agree("features", len(encoder.get_feature_names_out()))
        except InvalidParameter as error:
            raise ModelFileError(f"should be an encoder: {error}") from None
        return encoder


def _check_names(encoder: PublicEncoder) -> None:
    """Refuse declarations whose outputs could not be named in bounded memory: levels of pairs multiply."""
    if isinstance(encoder.interactions, list | tuple) and len(encoder.interactions) > _MOST_PAIRS:
        raise ModelFileError(f"declares more than {_MOST_PAIRS} interactions.")
    sizes, curves = {}, curves_of(encoder.curves)
    knots = 2 if curves is None else curves.knots
    for name, column in encoder.schema.columns.items():
        levels = column.classes if isinstance(column, Levelled) else ("",)
        sizes[name] = len(levels) + knots, len(name) + max(map(len, levels)) + _OBJECT
    total = sum(count * length for count, length in sizes.values())
    for pair in checked_pairs(encoder.interactions, tuple(sizes)):
        (one, long), (other, longer) = (sizes[name] for name in pair)
        total += one * other * (long + longer)
    if total > _MOST_LETTERS:
        raise ModelFileError("declares more levels, or longer names, than a model file may hold.")


def _event(plain: Any) -> Any:
    """Read an event that could be charged."""
    try:
        return event_from_json(json.dumps(plain))
    except (InvalidParameter, ValueError, KeyError, TypeError):
        raise ModelFileError("should be an event that tacit writes") from None


@final
class _Place(Field):
    """Which charge of which ticket an entry is: the ticket's name, and a number from 1 on."""

    def write(self, value: Any, writing: Writing) -> object:
        """Write both as an object."""
        return dict(zip(_CHARGE, value, strict=True))

    def read(self, plain: Any, reading: Reading) -> Any:
        """Read such an object as a pair."""
        return tuple(_fields(plain, _CHARGE, reading))


@final
class _Answer(Field):
    """The value of a release, if it is an array; other values are what a model was made of, and are not kept."""

    def write(self, value: Any, writing: Writing) -> object:
        """Put an array among those of the file, and write its place there."""
        if isinstance(value, np.ndarray) and value.dtype == np.float64 and value.ndim in (1, 2):
            return {"axes": value.ndim, "array": Numbers(*_AXES[: value.ndim]).write(value, writing)}
        return None

    def read(self, plain: Any, reading: Reading) -> Any:
        """Take the array back, if one was kept."""
        if plain is None:
            return None
        axes, place = _fields(plain, {"axes": whole(1, 2), "array": Plain()}, reading)
        return Numbers(*_AXES[:axes]).read(place, reading)


def _fields(plain: Any, fields: dict[str, Field], reading: Reading) -> list[Any]:
    """Read an object of some fields in their order."""
    return list(Struct(dict, fields).read(plain, reading).values())


_OBJECT = 50
_MOST_PAIRS = 1000
_MOST_LETTERS = 8 * 10**7
_AXES = ("rows of the answer", "columns of the answer")
_EXACT = Converted(str, exact)
_EVENT = Converted(lambda event: json.loads(event_to_json(event)), _event)
COLUMN = _Column()
COLUMNS = _Columns()
BUDGET = Struct(
    lambda exact_epsilon, exact_delta: Budget.amount(exact_epsilon, exact_delta),
    {"exact_epsilon": _EXACT, "exact_delta": _EXACT},
)
_CHARGE: dict[str, Field] = {"ticket": TEXT, "number": whole(1, 2**62)}
_PARTITION = Struct(Partition, {"parts": Listed(TEXT), "fixed_by": TEXT})
_ENTRY = Struct(
    Entry,
    {
        "number": whole(1, 2**62),
        "time": TEXT,
        "label": TEXT,
        "path": Listed(Listed(TEXT)),
        "amount": BUDGET,
        "event": Optional(_EVENT),
        "partition": Optional(_PARTITION),
        "hash": TEXT,
        "payer": Optional(TEXT),
        "share": Optional(_EXACT),
        "ticket": Optional(_Place()),
        "ids": Optional(TEXT),
    },
)

LABELS = _Labels()
_FORM = Struct(
    FileForm,
    {
        "separator": Optional(TEXT), "decimal": TEXT, "thousands": Optional(TEXT), "encoding": TEXT,
        "missing": Listed(TEXT), "dates": Listed(TEXT),
    },
)  # fmt: skip
SCHEMA = Struct(Schema, {"target": Optional(TEXT), "columns": COLUMNS, "weight": Optional(TEXT), "form": _FORM})
_ENCODER = Struct(
    PublicEncoder,
    {"schema": SCHEMA, "norm": Plain(), "constant": TRUTH, "curves": Plain(), "interactions": Plain()},
)
ENCODER = _Encoder()
WHOM = Struct(Unit, {"ids": Optional(Listed(TEXT))})
RELEASE = Struct(
    Release,
    {
        "value": _Answer(),
        "budget": Optional(BUDGET),
        "event": Optional(_EVENT),
        "public": Listed(TEXT),
        "private": TRUTH,
        "entry": Optional(_ENTRY),
        "whom": WHOM,
        "noise_error": Optional(Scalar(0.0)),
    },
)
FITTED: dict[str, Field] = {
    "n_features_in_": whole(1, 10**9, axis="features"),
    "feature_names_in_": Optional(Listed(TEXT, lambda names: np.array(names, dtype=object), axis="features")),
    "encoder_": Optional(ENCODER),
    "release_": RELEASE,
    "alpha_": Scalar(0.0),
}
"""The fitted attributes that nearly every estimator has."""
