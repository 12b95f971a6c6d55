"""A column of every kind that can be asked about, and four records' cleaned cells of each."""

from typing import Any

import numpy as np

from tacit.data import Category, Column, Flag, Moment, Number, Ordinal

COLUMNS: dict[str, Column] = {
    "x": Number(-2, 3),
    "z": Number(0, 1e60),
    "small": Number(-1e-99, 1e-99),
    "town": Category(["A", "B", "rest"]),
    "stage": Ordinal(["I", "II", "III"]),
    "ill": Flag("no", ["yes", "ja"]),
    "seen": Moment("2015-01-01", "2024-12-31"),
    "born": Moment("0001-01-01", "9999-12-31"),
}
CELLS: dict[str, Any] = {
    "x": np.array([-2.0, 0.0, 1.0, 3.0]),
    "z": np.array([0.0, 1.0, 1e30, 1e60]),
    "small": np.array([-1e-99, 0.0, 1e-100, 1e-99]),
    "town": np.array([0, 1, 2, -1]),
    "stage": np.array([0, 1, 2, -1]),
    "ill": np.array([0, 1, 1, -1]),
    "seen": np.array([16436.0, 17000.5, 20088.0, 18262.25]),
    "born": np.array([-719162.0, 0.0, 11016.0, 2932896.0]),
}
