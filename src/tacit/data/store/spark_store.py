"""A store on a Spark cluster: cleaned columns in private files that all nodes share, and work done by the nodes.

Executors clean every declared column once, by the cleaner of all other stores, and write lots as a private file has
them. Whatever is computed later is computed of these files, also a second time, after a node was lost.
"""

import os
import shutil
import tempfile
import weakref
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, TypeVar, final

import numpy as np

from tacit.data.columns import Column, Ignored
from tacit.data.counted import CountedPersons
from tacit.data.file_form import FileForm
from tacit.data.readers.spark import SparkSource
from tacit.data.readers.spark_jobs import asked, interruptible, worked
from tacit.data.schema import Schema
from tacit.data.store.lots import Filed, Lots
from tacit.data.store.private_file import read_cells
from tacit.data.store.reading import StoreWriter, add_owners, clean_batch
from tacit.data.store.spark_rows import SAMPLED, SparkRows, counted, rows_to_a_lot
from tacit.data.store.store import Block, Store, View
from tacit.data.stored import check_declared
from tacit.data.values import AnyArray
from tacit.errors import InvalidParameter, QueryFailed
from tacit.noise import unique_name
from tacit.numerics.arrays import Floats
from tacit.numerics.process import this_process
from tacit.numerics.spread import TARGET

SETTING = "spark.tacit.folder"
"""The setting of a Spark session that names a folder which the driver and all nodes reach under the same path."""
_TO_A_TASK = 8

Answer = TypeVar("Answer")
Written = tuple[Lots, CountedPersons | None]


@final
@dataclass(frozen=True)
class SharedFile:
    """A file that every node can open by its path, and that one task wrote."""

    path: str

    def append(self, cells: AnyArray) -> int:
        """Write cells behind those before, and return where they begin."""
        with open(self.path, "ab", opener=partial(os.open, mode=0o600)) as file:
            start = file.tell()
            file.write(np.ascontiguousarray(cells).data)
        return start

    def read(self, start: int, count: int, kind: np.dtype[Any]) -> AnyArray:
        """Return so many cells of a type that begin at a place."""
        with suppress(OSError), open(self.path, "rb") as file:
            return read_cells(file.fileno(), start, count, kind)
        raise QueryFailed(f"a private file of the records is gone. Look at the folder that {SETTING} names.")


@final
class SparkCluster:
    """The executors of a Spark session, and the private folder of one table, which goes with its records."""

    def __init__(self, session: Any) -> None:
        self.context, self.folder = session.sparkContext, _private_folder(session)
        self.files: Sequence[Lots] = ()
        weakref.finalize(self, _remove, self.folder, this_process())

    def each(self, view: View, work: Callable[[View, int], Answer]) -> list[Answer]:
        """Return what some work makes of the rows of a view in each file, and of how many rows lie in files before."""
        found: list[Answer] = asked(self.context, self._over(view, partial(_worked_on, work)).collect)
        return found

    def encoded(self, view: View, names: Sequence[str], make: Callable[[Block], Floats], width: int) -> SparkRows:
        """Return a table of what a function makes of blocks, kept there: features, then what stands beside them."""
        most = rows_to_a_lot(width)
        lots, eighths = (self._over(view, partial(_encoded, names, make, most, step)) for step in (1, SAMPLED))
        lengths = (min(most, rows - start) for rows in self._lengths(view) for start in range(0, rows, most))
        return SparkRows(lots, eighths, counted(lengths), width, -TARGET)

    def _lengths(self, view: View) -> list[int]:
        """Return how many rows of a view lie in each file."""
        ends = np.cumsum([0, *(file.count for file in self.files)])
        return [int(length) for length in np.diff(view.starts[ends])]

    def _over(self, view: View, work: Callable[[Iterator[tuple[View, int]]], Iterator[Any]]) -> Any:
        """Return what some work yields for the rows of a view in some files, on the executors."""
        parts, last = [], 0
        for file in self.files:
            first, last = last, last + file.count
            # What a node need not know stays here: persons, and how to reach the cluster.
            store = replace(view.store, columns={}, stored={}, lots=file, persons=None, cluster=None)
            marks = None if view.marks is None else view.marks[first:last]
            parts.append((View(store, marks), int(view.starts[first])))
        tasks = max(self.context.defaultParallelism, len(parts) // _TO_A_TASK)
        return self.context.parallelize(parts, min(len(parts), tasks)).mapPartitions(partial(worked, work))

    def with_owners(self, files: Sequence[Lots], unit: str, persons: CountedPersons) -> list[Lots]:
        """Return the same files with the number of rows of each row's person in them."""
        counted = self.context.broadcast(persons)
        try:
            spread = self.context.parallelize(files, len(files))
            work = partial(_with_owners, self.folder, unit, counted)
            found: list[Lots] = spread.mapPartitions(partial(worked, work)).collect()
        finally:
            counted.destroy()
        for each in files:
            os.unlink(each.file.path)
        return found


def read_on_cluster(source: SparkSource, schema: Schema, *, unit: str | None, name: str | None = None) -> Store:
    """Have the executors read a source to its end, clean it and keep it, and return the store.

    Guarantee: as `read_store`, with which it shares every step that looks at a cell.
    Assumes: as `read_store`; the nodes, and the folder that they share, are the custodian's.
    Reference: docs/guarantees.md, "Records".
    """
    declared = {each: column for each, column in schema.columns.items() if not isinstance(column, Ignored)}
    check_declared(declared, source.stored)
    cluster, failure = SparkCluster(source.session), None
    try:
        files, persons = interruptible(cluster.context, lambda: _read(cluster, source, declared, schema.form, unit))
    except InvalidParameter:
        raise
    except Exception as error:
        failure = type(error).__name__
    if failure is not None:
        raise InvalidParameter(
            f"the records cannot be read, or not be kept in {cluster.folder!r}, by the cluster ({failure}). What was "
            "said is withheld, as it may quote them."
        )
    cluster.files, lots = files, Lots()
    for each in files:
        lots.lengths += each.lengths
        lots.kept += each.kept
    return Store(
        declared, source.stored, lots, False, name or source.name or unique_name(),
        "private files that the nodes of a cluster share", unit or "", persons, cluster=cluster,
    )  # fmt: skip


def _read(
    cluster: SparkCluster, source: SparkSource, declared: Mapping[str, Column], form: FileForm, unit: str | None
) -> tuple[list[Lots], CountedPersons | None]:
    """Return the files that executors wrote, and the persons that they counted."""
    written = source.over(tuple(declared), partial(_write, cluster.folder, dict(declared), form, unit))
    files = [file for file, _ in written]
    if not files:
        raise InvalidParameter("a table needs at least one record, got 0.")
    if unit is None:
        return files, None
    persons = CountedPersons()
    for _, some in written:
        persons.merge(some)
    return cluster.with_owners(files, unit, persons), persons


def _write(
    folder: str, columns: Mapping[str, Column], form: FileForm, unit: str | None, batches: Iterator[Any]
) -> Iterator[Written]:
    """Clean batches and write them into a file, on an executor; nothing where there are no rows."""
    # Under a name of its own, so that a task that is repeated disturbs none.
    file = SharedFile(os.path.join(folder, unique_name()))
    writer, persons = StoreWriter(columns, 0, file), None if unit is None else CountedPersons()
    for batch in batches:
        length, cleaned = clean_batch(batch, columns, form)
        if persons is not None:
            persons.add(cleaned[str(unit)][0])
        writer.add(length, cleaned)
    if writer.rows:
        yield writer.done(), persons


def _with_owners(folder: str, unit: str, persons: Any, files: Iterator[Lots]) -> Iterator[Lots]:
    """Copy files, and put the numbers of rows of persons beside their rows, on an executor."""
    for file in files:
        copy = SharedFile(os.path.join(folder, unique_name()))
        shutil.copyfile(file.file.path, copy.path)
        moved = [{name: _moved(copy, *kept) for name, kept in lot.items()} for lot in file.kept]
        lots: Lots = Lots(copy, file.lengths, moved)  # type: ignore[arg-type]
        add_owners(lots, unit, persons.value)
        yield lots


def _moved(file: SharedFile, cells: Any, states: Any) -> tuple[Filed, Filed | None]:
    """Return the same cells, and how they fared, in a copy of their file."""
    return replace(cells, file=file), None if states is None else replace(states, file=file)


def _worked_on(work: Callable[[View, int], Answer], parts: Iterator[tuple[View, int]]) -> Iterator[Answer]:
    for view, before in parts:
        yield work(view, before)


def _encoded(
    names: Sequence[str], make: Callable[[Block], Floats], most: int, step: int, parts: Iterator[tuple[View, int]]
) -> Iterator[Floats]:
    """Encode every so manyth row, a lot at a time, on an executor."""
    for view, _ in parts:
        for block in view.blocks(names, most):
            yield make({name: cells[::step] for name, cells in block.items()})


def _private_folder(session: Any) -> str:
    """Make a folder that nobody else can look into, and that Spark removes if this process is killed."""
    context, root = session.sparkContext, session.conf.get(SETTING, None)
    if root is None and not context.master.startswith("local"):
        raise InvalidParameter(
            "records are kept in files that the driver and all nodes of a cluster reach under one path. Name such a "
            f'folder when the session begins: SparkSession.builder.config("{SETTING}", "/a/mounted/folder").'
        )
    failure = ""
    try:
        made = context._jvm.org.apache.spark.util.Utils.createTempDir(root or tempfile.gettempdir(), "tacit")
        folder = str(made.getAbsolutePath())
        os.chmod(folder, 0o700)
    except Exception as error:
        failure = type(error).__name__
    if failure:
        raise InvalidParameter(
            f"no private folder can be made in {root or tempfile.gettempdir()!r} ({failure}). Name another one: "
            f'SparkSession.builder.config("{SETTING}", "/a/mounted/folder").'
        )
    return folder


def _remove(folder: str, made_in: object) -> None:
    """Remove a folder, in the process that made it and in no fork of it."""
    if made_in == this_process():
        shutil.rmtree(folder, ignore_errors=True)
