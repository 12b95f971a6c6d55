"""How much memory and disk encoded rows may take."""

from dataclasses import dataclass
from typing import final

from tacit.checks import is_whole
from tacit.errors import InvalidParameter
from tacit.numerics.process import address_limit

_BYTES = 8
_BESIDE = 3
"""The target, the weight and the owner of a row."""


@final
@dataclass(frozen=True)
class Room:
    """Rows that take more than `memory` bytes, encoded, are kept in a private file of at most `disk` bytes.

    By default that is half a GiB of memory, or a 32nd part of what the process may map, and as much disk as there is.
    """

    memory: int | None = None
    disk: int = 2**62

    def __post_init__(self) -> None:
        if self.memory is None:
            object.__setattr__(self, "memory", min(2**29, (address_limit() or 2**34) // 32))
        for name in ("memory", "disk"):
            size = getattr(self, name)
            if not is_whole(size) or not 1 <= size < 2**63:
                raise InvalidParameter(f"{name} must be a whole number of bytes, such as 2**30, got {size!r}.")
            object.__setattr__(self, name, int(size))

    @property
    def kept(self) -> int:
        """How many bytes of rows stay in memory."""
        assert self.memory is not None
        return self.memory

    def holds(self, rows: int, width: int) -> bool:
        """Whether so many rows stay in memory."""
        return rows * width * _BYTES <= self.kept

    def check_disk(self, rows: int, width: int) -> None:
        """Refuse so many rows, which must be a public number, if the file would be larger than declared."""
        # Samples, every 8th row and so on, take a seventh of what all rows take, and each of them a row at least.
        needed = (rows * 8 // 7 + 7) * (width + _BESIDE) * _BYTES
        if needed > self.disk:
            raise InvalidParameter(
                f"{rows:,} encoded rows of {width} numbers take {needed / 2**30:.3g} GiB on disk, more than the "
                f"declared {self.disk} bytes. Declare more in Records(..., disk=...), or fewer columns. Not charged."
            )
