"""What the experiments of the 2013 kernel paper share: public scaling, the files written, and how they look.

Everything here is a rehearsal: seeds, and public data. Nothing is charged and nothing is private.
"""

import sys
from functools import partial
from pathlib import Path

import numpy as np
import result_files
from numpy.typing import NDArray
from result_files import RESULTS, read_table, tidy

# The data sets are read by the benchmarks' own module, which is a script's neighbour and no package.
sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "benchmarks"))
import datasets

__all__ = [
    "COLOURS",
    "LABEL",
    "RESULTS",
    "Floats",
    "datasets",
    "read_table",
    "save_picture",
    "scaled_by",
    "tidy",
    "write_table",
]

Floats = NDArray[np.float64]

LABEL = "rehearsal with seeds, public data"
COLOURS = {"private": "#20639b", "published": "#b5522b", "none": "#555555", "other": "#3caea3"}


def scaled_by(sample: Floats, numbers: int, rows: Floats) -> Floats:
    """Scale rows by a public sample alone: unit variance for the first columns, then unit mean square of a row's norm.

    Rows that are longer than 1 afterwards are clipped by whoever learns from them.
    """
    middle, spread = np.zeros(sample.shape[1]), np.ones(sample.shape[1])
    middle[:numbers], spread[:numbers] = sample[:, :numbers].mean(axis=0), sample[:, :numbers].std(axis=0)
    size = float(np.sqrt(np.mean(np.sum(((sample - middle) / spread) ** 2, axis=1))))
    return np.asarray((rows - middle) / (spread * size))


write_table = partial(result_files.write_table, LABEL)
save_picture = partial(result_files.save_picture, LABEL)
