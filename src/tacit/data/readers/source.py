"""What every reader gives: the facts of a catalogue, and batches of raw cells that are read once."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, final

from tacit.data.stored import Stored

Batch = Any
"""Some rows as one table that `tacit.data.frames.read_table` reads: an Arrow batch, a frame, a dict of columns."""


@final
@dataclass(frozen=True, eq=False)
class Source:
    """Where records are read from.

    `stored` is what the catalogue says of every column: public, and looked at before any cell is. `ordered` says
    whether rows have a place that no value decides, so that parts can be fixed by index. `read` is called once, with
    the names of the declared columns that are not ignored, and yields batches that have these columns; what fails in it
    is refused in words that quote nothing. `name` names the same records for good, where something public does; `rows`
    is how many there are, where the catalogue says so, for a progress bar.
    """

    stored: Mapping[str, Stored]
    ordered: bool
    read: Callable[[Sequence[str]], Iterator[Batch]]
    name: str | None = None
    rows: int | None = None
