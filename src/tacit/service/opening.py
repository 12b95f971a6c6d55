"""The records of a data set in one process: opened once, those of a database again when the connection was lost."""

import threading
from collections.abc import Mapping
from pathlib import Path
from typing import Any, final

from tacit.data.records import Records
from tacit.data.schema import Schema
from tacit.data.sources.kept import Kept
from tacit.errors import InvalidParameter
from tacit.service.refusals import unavailable
from tacit.sums.engines.engine import Engine
from tacit.sums.engines.opening import engine_for

PARTS = ("all", "train", "test")


@final
class OpenTable:
    """Records where they are kept, their parts, and who adds them up."""

    def __init__(self, kept: Mapping[str, Any], document: Mapping[str, Any], schema: Schema, tables: Path) -> None:
        self._kept, self._document, self._schema, self._tables = kept, document, schema, tables
        self._turn = threading.RLock()
        self._parts: dict[str, Records] = {}
        self._engines: dict[str, Engine] = {}

    def part(self, name: str) -> Records:
        """Return all records, or one of the parts that were fixed when they were registered."""
        with self._turn:
            if self._parts and "address" in self._kept and not _is_there(self._parts["all"]):
                self._parts, self._engines = {}, {}
            if not self._parts:
                self._parts = self._opened()
            return self._parts[name]

    def engine(self, name: str) -> Engine:
        """Return what adds up over a part."""
        with self._turn:
            records = self.part(name)
            if name not in self._engines:
                self._engines[name] = engine_for(records)
            return self._engines[name]

    def _opened(self) -> dict[str, Records]:
        try:
            records = opened(self._kept, self._document, self._schema, self._tables)
            same = records.n == self._document["n"] and _is_there(records)
        except InvalidParameter:
            same = False
        if not same:
            # More or fewer records than were registered are other records: they would need another account.
            raise unavailable("the table, which cannot be read or is not of as many records as were registered,")
        parts = split(records) if len(self._document["parts"]) > 1 else ()
        return dict(zip(PARTS, (records, *parts), strict=False))


def opened(kept: Mapping[str, Any], document: Mapping[str, Any], schema: Schema, tables: Path) -> Records:
    """Open records where they are kept; their name makes them the same ones after every restart."""
    source = Kept(tables / kept["folder"]) if "folder" in kept else (kept["address"], kept["table"])
    identity = document["identity"]
    return Records(source, schema, unit=document["unit"], key=document["key"], name=identity)


def split(records: Records) -> tuple[Records, ...]:
    """Cut records into the parts that every data set has: by the key if there is one, else by place."""
    return records.split(by="index" if records.key is None else "key")


def _is_there(records: Records) -> bool:
    """Whether the table can be reached, and has as many records as when it was opened."""
    try:
        records.table.check()
    except InvalidParameter:
        return False
    return True
