"""The records of a data set in one process: their packed file, opened once."""

import threading
from collections.abc import Sequence
from pathlib import Path
from typing import final

from tacit.data.records import Records
from tacit.errors import InvalidParameter
from tacit.service.refusals import unavailable
from tacit.sums.evaluator import Evaluator
from tacit.sums.record_evaluator import evaluator_for

PARTS = ("all", "train", "test")


@final
class OpenTable:
    """Packed records, their parts, and who adds them up."""

    def __init__(self, path: Path, parts: Sequence[str]) -> None:
        self._path, self._names = path, parts
        self._turn = threading.RLock()
        self._parts: dict[str, Records] = {}
        self._evaluators: dict[str, Evaluator] = {}

    def part(self, name: str) -> Records:
        """Return all records, or one of the parts that were fixed when they were registered."""
        with self._turn:
            if not self._parts:
                self._parts = self._opened()
            return self._parts[name]

    def evaluator(self, name: str) -> Evaluator:
        """Return what adds up over a part."""
        with self._turn:
            records = self.part(name)
            if name not in self._evaluators:
                self._evaluators[name] = evaluator_for(records)
            return self._evaluators[name]

    def _opened(self) -> dict[str, Records]:
        try:
            records = Records(self._path)
        except InvalidParameter:
            raise unavailable("the table, whose packed records cannot be read,") from None
        return dict(zip(self._names, (records, *(split(records) if len(self._names) > 1 else ())), strict=True))


def split(records: Records) -> tuple[Records, ...]:
    """Cut records into the parts that every data set has: by the key if there is one, else by place."""
    return records.split(by="index" if records.key is None else "key")
