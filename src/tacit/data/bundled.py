"""Adult, the data set that comes with tacit: 48,842 people of a census survey, and whether they earn over 50K.

Public records, for demonstrations and experiments. Licence and citation: `adult/ATTRIBUTION.md`.
"""

import csv
import lzma
from importlib.resources import files
from typing import Literal

import numpy as np

from tacit.data.schema import Schema
from tacit.data.values import AnyArray
from tacit.errors import InvalidParameter

_FOLDER = files("tacit.data") / "adult"
_FILES = {"train": ("adult.data.xz",), "test": ("adult.test.xz",), "all": ("adult.data.xz", "adult.test.xz")}
_WHOLE_NUMBERS = ("age", "fnlwgt", "education-num", "capital-gain", "capital-loss", "hours-per-week")
_MISSING = "?"


def adult_schema() -> Schema:
    """Return Adult's schema, declared after its codebook; its target is `income`."""
    return Schema.from_toml((_FOLDER / "adult.toml").read_text("utf-8"))


def load_adult(
    split: Literal["train", "test", "all"] = "train", missing: Literal["drop", "keep"] = "drop"
) -> dict[str, AnyArray]:
    """Return Adult as a mapping from names to columns, `income` included.

    `split` is that of the publishers: 32,561 records to train on, 16,281 to test on. Missing values are
    written "?"; `missing="drop"` leaves out the records that have any (45,222 of all remain).
    """
    if split not in _FILES:
        raise InvalidParameter(f"split must be one of {list(_FILES)!r}, got {split!r}.")
    if missing not in ("drop", "keep"):
        raise InvalidParameter(f'missing must be "drop" or "keep", got {missing!r}.')
    names = list(adult_schema().columns)
    records = [record for file in _FILES[split] for record in _records(file, len(names))]
    if missing == "drop":
        records = [record for record in records if _MISSING not in record]
    columns = dict(zip(names, map(np.array, zip(*records, strict=True)), strict=True))
    return {name: column.astype(np.int64) if name in _WHOLE_NUMBERS else column for name, column in columns.items()}


def _records(file: str, width: int) -> list[list[str]]:
    """Read one of the two files; its comment and its empty line have no fields, its labels may end in a dot."""
    lines = lzma.decompress((_FOLDER / file).read_bytes()).decode("ascii").splitlines()
    records = [row for row in csv.reader(lines, skipinitialspace=True) if len(row) == width]
    return [[*record[:-1], record[-1].removesuffix(".")] for record in records]
