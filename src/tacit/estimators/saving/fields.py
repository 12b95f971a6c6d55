"""Fields of plain values: numbers, texts, arrays, and records of these."""

import math
import re
import sys
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from decimal import Decimal
from fractions import Fraction
from typing import Any, final

import numpy as np

from tacit.errors import InvalidParameter, ModelFileError
from tacit.estimators.saving.packing import Reading, Writing

_LONGEST_TEXT = 10**5
_LARGEST_WHOLE = int(sys.float_info.max)
_DEEPEST = 8
_UNKNOWN = "unknown"
_FRACTION = re.compile(r"-?[0-9]{1,400}(/[1-9][0-9]{0,400})?", re.ASCII)


class Field(ABC):
    """One value in a model file."""

    def write(self, value: Any, writing: Writing) -> object:
        """Return the value as plain JSON, its arrays put aside; as it is where JSON has it, numpy's scalars too."""
        return value.item() if isinstance(value, np.generic) else value

    @abstractmethod
    def read(self, plain: Any, reading: Reading) -> Any:
        """Return the value; raise `ModelFileError` for what `write` never wrote."""


@final
@dataclass(frozen=True)
class Saved:
    """What an estimator keeps in a file: its fitted attributes, and parameters that are more than plain values.

    `fitted` may have `Optional` fields; a fitted estimator must have no further attribute. Parameters that are named
    nowhere are `Plain`. `forgotten` are parameters that belong to the place where a model was fitted. `sizes` are
    those of axes that all such models have. `check` refuses attributes that make no sense together.
    """

    fitted: Mapping[str, Field]
    parameters: Mapping[str, Field] = field(default_factory=dict)
    forgotten: frozenset[str] = frozenset({"ledger"})
    sizes: Mapping[str, int] = field(default_factory=dict)
    check: Callable[[Any], None] = lambda model: None

    def and_also(self, **fitted: Field) -> "Saved":
        """Return the same with further fitted attributes."""
        return replace(self, fitted={**self.fitted, **fitted})


@final
@dataclass(frozen=True)
class Optional(Field):
    """A value that may be None; as an attribute, one that may be missing."""

    inner: Field

    def write(self, value: Any, writing: Writing) -> object:
        """Write None as null."""
        return None if value is None else self.inner.write(value, writing)

    def read(self, plain: Any, reading: Reading) -> Any:
        """Read null as None."""
        return None if plain is None else self.inner.read(plain, reading)


@final
@dataclass(frozen=True)
class Checked(Field):
    """A value that JSON has as it is, for which a condition holds; `axis` names the size that it is, if it is one."""

    wanted: str
    holds: Callable[[Any], bool]
    axis: str | None = None

    def read(self, plain: Any, reading: Reading) -> Any:
        """Return the value if it is as wanted, and as large as other sizes of its name."""
        _require(self.holds(plain), self.wanted, plain)
        if self.axis is not None:
            reading.agree(self.axis, plain)
        return plain


@final
@dataclass(frozen=True)
class Converted(Field):
    """A value that stands in a file as what `to` makes of it; `back` makes it again of that, and refuses all else."""

    to: Callable[[Any], object]
    back: Callable[[Any], Any]

    def write(self, value: Any, writing: Writing) -> object:
        """Convert the value."""
        return self.to(value)

    def read(self, plain: Any, reading: Reading) -> Any:
        """Convert it back."""
        return self.back(plain)


def whole(low: int = 0, high: int = 10**9, axis: str | None = None) -> Checked:
    """Return a field for a whole number between two bounds, perhaps the size of something."""
    wanted = f"a whole number from {low} to {high}"
    return Checked(wanted, lambda plain: type(plain) is int and low <= plain <= high, axis)


def word_of(words: Sequence[str]) -> Checked:
    """Return a field for one of some words."""
    return Checked(f"one of {', '.join(words)}", lambda plain: isinstance(plain, str) and plain in words)


def _is_text(plain: object) -> bool:
    """Whether this is a text, not too long, that UTF-8 can spell."""
    try:
        return isinstance(plain, str) and len(plain) <= _LONGEST_TEXT and plain.encode("utf-8") is not None
    except UnicodeEncodeError:
        return False


TRUTH = Checked("true or false", lambda plain: isinstance(plain, bool))
TEXT = Checked(f"a text of at most {_LONGEST_TEXT:,} letters that UTF-8 can spell", _is_text)


@final
@dataclass(frozen=True)
class Scalar(Field):
    """A float between two bounds; perhaps NaN, which stands for what is not known."""

    low: float = -1e200
    high: float = 1e200
    unknown: bool = False

    def write(self, value: Any, writing: Writing) -> object:
        """Write the shortest decimal that reads back as the same float."""
        return _UNKNOWN if self.unknown and math.isnan(value) else float(value)

    def read(self, plain: Any, reading: Reading) -> Any:
        """Read a number within the bounds."""
        if self.unknown and plain == _UNKNOWN:
            return math.nan
        known = isinstance(plain, int | float) and not isinstance(plain, bool) and self.low <= plain <= self.high
        return float(_require(known, f"a number from {self.low:g} to {self.high:g}", plain))


@final
@dataclass(frozen=True)
class Listed(Field):
    """A sequence of values of one kind, kept by `hold` (a tuple, a list, an array of objects)."""

    inner: Field
    hold: Callable[[list[Any]], Any] = tuple
    axis: str | None = None

    def write(self, value: Any, writing: Writing) -> object:
        """Write the values, each by the field of all."""
        return [self.inner.write(each, writing) for each in value]

    def read(self, plain: Any, reading: Reading) -> Any:
        """Read the values, each by the field of all."""
        _require(isinstance(plain, list), "a list", plain)
        if self.axis is not None:
            reading.agree(self.axis, len(plain))
        return self.hold([self.inner.read(each, reading) for each in plain])


@final
@dataclass(frozen=True, init=False)
class Numbers(Field):
    """An array of finite floats whose axes are named: what has one name must have one size all over a model.

    An axis without a name ("") may have any size. With `unknown` numbers may be NaN as well, which stands for what is
    not known.
    """

    axes: tuple[str, ...]
    kind: str = "float64"
    unknown: bool = False

    def __init__(self, *axes: str, kind: str = "float64", unknown: bool = False) -> None:
        object.__setattr__(self, "axes", axes)
        object.__setattr__(self, "kind", kind)
        object.__setattr__(self, "unknown", unknown)

    def write(self, value: Any, writing: Writing) -> object:
        """Put the array among those of the file, and write its place there."""
        array = np.asarray(value, dtype=self.kind)
        if not self._known(array):
            raise ModelFileError("numbers that are not finite cannot be saved.")
        return writing.add(array)

    def read(self, plain: Any, reading: Reading) -> Any:
        """Take the array back; its numbers must be finite, and its axes as long as others of their names."""
        array = reading.take(plain, self.kind, len(self.axes))
        if not self._known(array):
            raise ModelFileError("holds numbers that are not finite")
        for axis, size in zip(self.axes, array.shape, strict=True):
            if axis:
                reading.agree(axis, size)
        return array

    def _known(self, array: Any) -> bool:
        return bool(np.all(np.isfinite(array) | (self.unknown & np.isnan(array))))


@final
@dataclass(frozen=True)
class Struct(Field):
    """A record of values, built by a function that takes them by their names."""

    build: Callable[..., Any]
    fields: Mapping[str, Field]

    def write(self, value: Any, writing: Writing) -> object:
        """Write every attribute by its field."""
        return {name: each.write(getattr(value, name), writing) for name, each in self.fields.items()}

    def read(self, plain: Any, reading: Reading) -> Any:
        """Read field by field; there must be all of them and no other, and together they must make sense."""
        parts = read_fields(plain, self.fields, reading)
        try:
            return self.build(**parts)
        except (InvalidParameter, TypeError) as error:
            raise ModelFileError(f"makes no sense: {error}") from None


@final
@dataclass(frozen=True)
class Either(Field):
    """One of several kinds of values, each under a name; `kind_of` says which one a value is."""

    kinds: Mapping[str, Field]
    kind_of: Callable[[Any], str]

    def write(self, value: Any, writing: Writing) -> object:
        """Write the kind and the value."""
        kind = self.kind_of(value)
        return {"kind": kind, "value": self.kinds[kind].write(value, writing)}

    def read(self, plain: Any, reading: Reading) -> Any:
        """Read a value of a known kind."""
        known = isinstance(plain, dict) and plain.keys() == {"kind", "value"} and plain["kind"] in list(self.kinds)
        _require(known, f"one of {', '.join(self.kinds)}", plain)
        return self.kinds[plain["kind"]].read(plain["value"], reading)


@final
@dataclass(frozen=True)
class Plain(Field):
    """What parameters usually are: None, a truth value, a number, a text, or lists, tuples and dicts of these."""

    def write(self, value: Any, writing: Writing, depth: int = 0) -> object:
        """Write JSON's own values as they are, and others as an object that says what it is."""
        if depth > _DEEPEST:
            raise ModelFileError("a parameter is nested too deeply to be saved.")
        value = value.item() if isinstance(value, np.generic) else value
        if value is None or type(value) in (bool, str):
            return value
        if type(value) is int and abs(value) <= _LARGEST_WHOLE:
            return value
        if type(value) is float:
            return value if math.isfinite(value) else {"float": str(value)}
        if type(value) in (Fraction, Decimal):
            return {"fraction": str(Fraction(value))}
        if getattr(value, "ndim", 0) in (1, 2) and hasattr(value, "tolist"):
            value = value.tolist()
        if type(value) in (list, tuple):
            listed = [self.write(each, writing, depth + 1) for each in value]
            return listed if type(value) is list else {"tuple": listed}
        if isinstance(value, Mapping):
            pairs = [[self.write(part, writing, depth + 1) for part in pair] for pair in value.items()]
            return {"pairs": pairs}
        raise ModelFileError(f"a parameter of type {type(value).__name__} cannot be saved: it is no plain value.")

    def read(self, plain: Any, reading: Reading, depth: int = 0) -> Any:
        """Read what `write` wrote."""
        _require(depth <= _DEEPEST, "no deeper list", plain)
        if isinstance(plain, str):
            return TEXT.read(plain, reading)
        if plain is None or isinstance(plain, bool | float):
            return plain
        if isinstance(plain, int):
            return _require(abs(plain) <= _LARGEST_WHOLE, "a number that a float can be near to", plain)
        if isinstance(plain, list):
            return [self.read(each, reading, depth + 1) for each in plain]
        _require(isinstance(plain, dict) and len(plain) == 1, "a plain value", plain)
        ((kind, inner),) = plain.items()
        if kind == "float" and inner in ("inf", "-inf"):
            return float(inner)
        if kind == "fraction":
            return exact(inner)
        if kind == "tuple" and isinstance(inner, list):
            return tuple(self.read(each, reading, depth + 1) for each in inner)
        pairs: list[Any] = inner if kind == "pairs" and isinstance(inner, list) else [None]
        _require(all(isinstance(pair, list) and len(pair) == 2 for pair in pairs), "a plain value", plain)
        read = [[self.read(part, reading, depth + 1) for part in pair] for pair in pairs]
        _require(all(isinstance(key, str | int | float | None) for key, _ in read), "keys that are plain", plain)
        return dict(read)


def exact(plain: object) -> Fraction:
    """Read a fraction such as 7/10."""
    known = isinstance(plain, str) and _FRACTION.fullmatch(plain) is not None
    return Fraction(_require(known, "a fraction", plain))


def read_fields(plain: Any, fields: Mapping[str, Field], reading: Reading) -> dict[str, Any]:
    """Read an object that has every field and nothing else; say which one makes no sense."""
    _require(isinstance(plain, dict) and plain.keys() == fields.keys(), f"an object of {', '.join(fields)}", plain)
    found = {}
    for name, each in fields.items():
        try:
            found[name] = each.read(plain[name], reading)
        except ModelFileError as error:
            raise ModelFileError(f"{name}: {error}") from None
    return found


def _require(holds: bool, wanted: str, plain: Any) -> Any:
    """Return the value if it is as wanted; what it is instead is only said by its kind."""
    if not holds:
        raise ModelFileError(f"should be {wanted}, got {type(plain).__name__}")
    return plain


def choice(refused: str, kinds: Mapping[str, type]) -> Either:
    """Return a field for dataclasses of plain values, of exactly these types."""

    def kind_of(value: Any) -> str:
        for name, kind in kinds.items():
            if type(value) is kind:
                return name
        raise ModelFileError(f"a model file holds no code: {refused} cannot be saved.")

    each = {
        name: Struct(kind, {part.name: Plain() for part in fields(kind) if part.init}) for name, kind in kinds.items()
    }
    return Either(each, kind_of)
