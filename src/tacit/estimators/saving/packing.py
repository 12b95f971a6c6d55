"""What fields write into and read from: arrays, and sizes that must agree across a model.

In files arrays stand behind the document, which names them by their places; in a document that stands by itself, such
as a request to a service, they are lists of numbers within it.
"""

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, final

import numpy as np
from numpy.typing import NDArray

from tacit.errors import ModelFileError

TYPES = {name: np.dtype(name).newbyteorder("<") for name in ("float64", "int64", "bool")}
"""What arrays in a file can hold, always with the least significant byte first."""

_CELLS: dict[str, tuple[type, ...]] = {"float64": (int, float), "int64": (int,), "bool": (bool,)}


class Writing(ABC):
    """Where arrays go while a model, or an estimator, is written."""

    @abstractmethod
    def add(self, array: NDArray[Any]) -> object:
        """Take an array; return what stands for it in the document."""


@final
@dataclass
class WritingAside(Writing):
    """The arrays of a model that is being written, in order."""

    arrays: list[NDArray[Any]] = field(default_factory=list)

    def add(self, array: NDArray[Any]) -> int:
        """Keep an array; return its place."""
        _check_form(array)
        self.arrays.append(array)
        return len(self.arrays) - 1


@final
@dataclass
class WritingInline(Writing):
    """No place of its own: arrays are lists of numbers within the document."""

    def add(self, array: NDArray[Any]) -> list[Any]:
        """Return the numbers as nested lists, which stand in the document itself."""
        _check_form(array)
        return list(array.tolist())


def _check_form(array: NDArray[Any]) -> None:
    if array.dtype.name not in TYPES or array.ndim not in (1, 2):
        raise ModelFileError(f"an array of {array.dtype.name} with {array.ndim} axes cannot be saved.")


@dataclass
class Reading(ABC):
    """Where arrays come from while a model, or an estimator, is read, and the sizes known so far."""

    sizes: dict[str, int] = field(default_factory=dict, init=False)

    @abstractmethod
    def take(self, plain: object, kind: str, axes: int) -> NDArray[Any]:
        """Return the array that something in the document stands for."""

    def agree(self, axis: str, size: int) -> None:
        """Refuse a size that is another one elsewhere in the model."""
        if self.sizes.setdefault(axis, size) != size:
            raise ModelFileError(f"should have as many {axis} as the rest of the model")


@final
@dataclass
class ReadingAside(Reading):
    """The arrays of a model that is being read, each of which is wanted once."""

    arrays: Sequence[NDArray[Any]]
    used: set[int] = field(default_factory=set)

    def take(self, plain: object, kind: str, axes: int) -> NDArray[Any]:
        """Return the array at a place, if it is of this kind and nobody has taken it."""
        if type(plain) is not int or not 0 <= plain < len(self.arrays) or plain in self.used:
            raise ModelFileError("names an array that is not there, or one of another value")
        self.used.add(plain)
        array = self.arrays[plain]
        if array.dtype.name != kind or array.ndim != axes:
            raise ModelFileError(f"should be an array of {kind} with {axes} axes")
        return array

    def finish(self, sizes: Mapping[str, int]) -> None:
        """Refuse arrays that no field asked for, and sizes that no such model has.

        A classifier has one score for two classes, else one for each.
        """
        for axis, size in sizes.items():
            self.agree(axis, size)
        if len(self.used) != len(self.arrays):
            raise ModelFileError("there are arrays that belong to nothing")
        classes = self.sizes.get("classes")
        if classes is not None and "scores" in self.sizes:
            self.agree("scores", 1 if classes == 2 else classes)


@final
@dataclass
class ReadingInline(Reading):
    """Arrays that are lists of numbers, or lists of rows of one length, of at most `most` numbers in all."""

    most: int

    def take(self, plain: object, kind: str, axes: int) -> NDArray[Any]:
        """Return the numbers, each of which has the kind's own type."""
        rows = plain if axes == 2 else [plain]
        if not isinstance(rows, list) or not rows or not all(isinstance(row, list) for row in rows):
            raise ModelFileError(f"should be {'a list of rows' if axes == 2 else 'a list of numbers'}")
        if len({len(row) for row in rows}) > 1 or not rows[0]:
            raise ModelFileError("should be rows of one length, with at least one number")
        self.most -= len(rows) * len(rows[0])
        if self.most < 0:
            raise ModelFileError("should be fewer numbers")
        if not all(type(cell) in _CELLS[kind] for row in rows for cell in row):
            raise ModelFileError(f"should hold numbers of type {kind} and nothing else")
        try:
            array = np.array(rows, dtype=kind)
        except OverflowError:
            raise ModelFileError("should hold numbers that fit into 64 bits") from None
        return array if axes == 2 else array[0]
