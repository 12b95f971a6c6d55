"""Parquet files, read as they are stored, a few rows at a time."""

from collections.abc import Generator, Iterator, Mapping, Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any

from tacit.data.readers.file_listing import FileStates, check_names
from tacit.data.readers.source import Source
from tacit.data.stored import Stored, StoredKind
from tacit.errors import InvalidParameter
from tacit.numerics.process import address_limit
from tacit.numerics.threads import ahead

_ROWS = 65_536
_BUFFER = 65_536
"""How many bytes of each column are read at a time, before they are decompressed."""


def open_parquet(files: Sequence[Path]) -> Source:
    """Say what the footers of Parquet files say, and how to read their rows."""
    states, footers = FileStates(files), read_footers(files)
    return Source(
        stored={field.name: stored_as(field.type) for field in footers[0].schema.to_arrow_schema()},
        ordered=True,
        read=partial(_read, files, states),
        name=states.name,
        rows=sum(footer.num_rows for footer in footers),
    )


def read_footers(files: Sequence[Path]) -> list[Any]:
    """Return what the Parquet files of one table say of themselves; refuse files that are not alike."""
    footers = [_footer(file) for file in files]
    schemas = [footer.schema.to_arrow_schema() for footer in footers]
    for file, schema in zip(files, schemas, strict=True):
        if not schema.equals(schemas[0]):
            # A conversion could fail on a record.
            raise InvalidParameter(
                "the Parquet files of one table must have the same columns of the same types, but "
                f"{str(file)!r} differs from {str(files[0])!r}."
            )
    if not schemas[0].names:
        raise InvalidParameter(f"the Parquet files at {str(files[0].parent)!r} cannot be read: they have no columns.")
    check_names(schemas[0].names, files[0])
    return footers


def stored_as(kind: Any) -> Stored:
    """Return what a type of Arrow is called."""
    import pyarrow.types as types

    if types.is_dictionary(kind):
        return stored_as(kind.value_type)
    if types.is_decimal(kind):
        return Stored("decimal", str(kind), kind.precision)
    kinds: Mapping[Any, StoredKind] = {
        types.is_boolean: "truth", types.is_integer: "whole", types.is_floating: "real", types.is_string: "text",
        types.is_large_string: "text", types.is_date: "day", types.is_timestamp: "moment", types.is_null: "cells",
    }  # fmt: skip
    otherwise: StoredKind = "uuid" if str(kind) == "extension<arrow.uuid>" else "other"
    return Stored(next((named for is_kind, named in kinds.items() if is_kind(kind)), otherwise), str(kind))


def _footer(file: Path) -> Any:
    """Return what a Parquet file says of itself."""
    import pyarrow.parquet as pq

    # By a name Arrow opens files through threads of its own, which map a gigabyte.
    with suppress(Exception), file.open("rb") as opened:
        return pq.ParquetFile(opened, pre_buffer=False).metadata
    raise InvalidParameter(f"{str(file)!r} is not a Parquet file that can be read.")


def _read(files: Sequence[Path], states: FileStates, names: Sequence[str]) -> Iterator[Any]:
    """Yield batches of some columns; refuse what cannot be read, and files that were changed meanwhile."""
    failure = None
    try:
        yield from ahead(_batches(files, names))
    except Exception as error:
        failure = error
    states.check()
    if isinstance(failure, MemoryError):
        raise InvalidParameter(
            "the files cannot be read within the memory that this process may take. A group of rows of a Parquet "
            "file is read at once, several times its size: write smaller ones (row_group_size in pyarrow)."
        )
    if failure is not None:
        raise InvalidParameter(
            f"the Parquet files at {str(files[0].parent)!r} cannot be read ({type(failure).__name__}). What is there "
            "is not shown, as it may be a record."
        )


def _batches(files: Sequence[Path], names: Sequence[str]) -> Generator[Any]:
    for file in files:
        yield from read_rows(file, names)


def read_rows(file: Path, names: Sequence[str], groups: Sequence[int] | None = None) -> Iterator[Any]:
    """Yield batches of some columns of a Parquet file, of all groups of rows or of some."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    with file.open("rb") as opened:
        # By itself Arrow reads a whole group of rows at once, through threads that map a gigabyte. Moments of 96 bits
        # reach farther than 64 bits of nanoseconds do.
        parquet = pq.ParquetFile(opened, pre_buffer=False, buffer_size=_BUFFER, coerce_int96_timestamp_unit="us")
        alone = groups is not None or address_limit() is not None
        for batch in parquet.iter_batches(_ROWS, row_groups=groups, columns=list(names), use_threads=not alone):
            for column in batch.columns:
                if not pa.types.is_primitive(column.type):
                    # Nobody has looked yet whether texts are UTF-8.
                    column.validate(full=True)
            yield batch
