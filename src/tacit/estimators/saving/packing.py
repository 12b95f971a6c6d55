"""What fields write into and read from: arrays by their places, and sizes that must agree across a model."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, final

import numpy as np
from numpy.typing import NDArray

from tacit.errors import ModelFileError

TYPES = {name: np.dtype(name).newbyteorder("<") for name in ("float64", "int64", "bool")}
"""What arrays in a file can hold, always with the least significant byte first."""


@final
@dataclass
class Writing:
    """The arrays of a model that is being written, in order."""

    arrays: list[NDArray[Any]] = field(default_factory=list)

    def add(self, array: NDArray[Any]) -> int:
        """Keep an array; return its place."""
        if array.dtype.name not in TYPES or array.ndim not in (1, 2):
            raise ModelFileError(f"an array of {array.dtype.name} with {array.ndim} axes cannot be saved.")
        self.arrays.append(array)
        return len(self.arrays) - 1


@final
@dataclass
class Reading:
    """The arrays of a model that is being read, each of which is wanted once, and the sizes known so far."""

    arrays: Sequence[NDArray[Any]]
    sizes: dict[str, int] = field(default_factory=dict)
    used: set[int] = field(default_factory=set)

    def take(self, place: object, kind: str, axes: int) -> NDArray[Any]:
        """Return the array at a place, if it is of this kind and nobody has taken it."""
        if type(place) is not int or not 0 <= place < len(self.arrays) or place in self.used:
            raise ModelFileError("names an array that is not there, or one of another value")
        self.used.add(place)
        array = self.arrays[place]
        if array.dtype.name != kind or array.ndim != axes:
            raise ModelFileError(f"should be an array of {kind} with {axes} axes")
        return array

    def agree(self, axis: str, size: int) -> None:
        """Refuse a size that is another one elsewhere in the model."""
        if self.sizes.setdefault(axis, size) != size:
            raise ModelFileError(f"should have as many {axis} as the rest of the model")

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
