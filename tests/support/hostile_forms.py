"""Ways to tell one bit without any noise, each as a function from the bit to an answer, an exception or a hang."""

import dataclasses
import datetime
import decimal
import enum
import fractions
import functools
import logging
import math
import struct
import sys
import time
import types
import warnings

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
from scipy.sparse import coo_array, csr_array
from sklearn.linear_model import LogisticRegression


class Model:
    """A fitted model whose coefficients say nothing."""

    def __init__(self, **told):
        self.coef_ = np.zeros((1, 2))
        self.intercept_ = np.zeros(1)
        vars(self).update(told)


class Worked:
    def __init__(self, bit):
        self._bit = bit

    @property
    def bit(self):
        """Tell it."""
        return self._bit


class Slotted:
    __slots__ = ("bit",)

    def __init__(self, bit):
        self.bit = bit


class Tagged(float):
    """A number with an attribute."""


@dataclasses.dataclass(frozen=True)
class Pair:
    one: float
    two: float


class Colour(enum.Enum):
    RED = 0
    BLUE = 1


class Own(Exception):
    def __init__(self, bit):
        super().__init__("no")
        self.bit = bit


def _tagged(bit):
    number = Tagged(1.0)
    number.tag = bit
    return number


def _nan(bit):
    return struct.unpack("<d", struct.pack("<Q", 0x7FF8000000000000 + bit))[0]


def _local_class(bit):
    return types.new_class("Local", (), {}, lambda space: space.update(bit=bit))()


def _itself(bit):
    answer = [bit]
    answer.append(answer)
    return answer


def _sparse_zero(bit):
    return csr_array(([0.0, 1.0], ([0, 1], [bit, 2])), shape=(3, 3))


def _fitted(bit):
    return LogisticRegression().fit([[0.0], [1.0], [bit]], [0, 1, 1])


VALUES = {
    "imaginary part": lambda bit: complex(1.0, bit),
    "imaginary part of an array": lambda bit: np.array([1.0 + bit * 1j]),
    "huge": lambda bit: 1e150 if bit else 1e200,
    "infinity": lambda bit: math.inf if bit else 1e308,
    "mask": lambda bit: np.ma.array([1.0, 2.0], mask=[bool(bit), False]),
    "what lies under a mask": lambda bit: np.ma.array([float(bit), 2.0], mask=[True, False]),
    "shape": lambda bit: np.zeros((2, 1) if bit else (1, 2)),
    "layout": lambda bit: np.zeros((2, 2), order="F" if bit else "C"),
    "negative zero": lambda bit: -0.0 if bit else 0.0,
    "negative zero in an array": lambda bit: np.array([1.0, -0.0 if bit else 0.0]),
    "beyond 2^53": lambda bit: 2**53 + bit,
    "beyond 2^53 in an array": lambda bit: np.array([2**62 + bit, 3]),
    "beyond a double": lambda bit: 10**400 + bit,
    "True or 1.0": lambda bit: True if bit else 1.0,
    "1 or 1.0": lambda bit: 1 if bit else 1.0,
    "last bit": lambda bit: math.nextafter(1.0, 2.0) if bit else 1.0,
    "last bit of a long double": lambda bit: np.nextafter(np.longdouble(1), np.longdouble(1 + bit)),
    "payload of a NaN": _nan,
    "NaN or infinity": lambda bit: math.nan if bit else math.inf,
    "dtype": lambda bit: np.zeros(2, dtype=np.float32 if bit else np.float64),
    "byte order": lambda bit: np.zeros(2, dtype=">f8" if bit else "<f8"),
    "field of a structure": lambda bit: np.zeros(2, dtype=[("a" if bit else "b", float)]),
    "unit of a time": lambda bit: np.array([1], dtype="datetime64[s]" if bit else "datetime64[ms]"),
    "object in an array": lambda bit: np.array([1.0, "a" if bit else None], dtype=object),
    "numpy scalar": lambda bit: np.float64(1.0) if bit else 1.0,
    "another attribute": lambda bit: Model(mean_=bit),
    "an attribute that is there": lambda bit: Model(**({"mean_": 0} if bit else {})),
    "a private attribute": lambda bit: Model(_mean=bit),
    "an attribute of an attribute": lambda bit: Model(inner_=Model(table_={"deep": [1, (2, bit)]})),
    "a model of scikit-learn": lambda bit: Model(inner_=_fitted(bit)),
    "a property": Worked,
    "a slot": Slotted,
    "a class attribute": _local_class,
    "an attribute of a number": _tagged,
    "a field": lambda bit: Pair(1.0, bit),
    "a key": lambda bit: {"a" if bit else "b": 1.0},
    "a key's type": lambda bit: {(True if bit else 1): 1.0},
    "the order of keys": lambda bit: {"a": 1, "b": 1} if bit else {"b": 1, "a": 1},
    "a member of a set": lambda bit: {"a", "b" if bit else "c"},
    "text": lambda bit: "yes" if bit else "no",
    "text with a lone surrogate": lambda bit: chr(0xD800 + bit),
    "bytes or text": lambda bit: b"yes" if bit else "yes",
    "None": lambda bit: None if bit else 0.0,
    "empty": lambda bit: () if bit else [],
    "a decimal": lambda bit: decimal.Decimal("1.0" if bit else "1.00"),
    "a fraction": lambda bit: fractions.Fraction(10**30 + bit, 10**30 + 7),
    "a date": lambda bit: datetime.date(2020, 1, 1 + bit),
    "an enum": lambda bit: Colour(bit),
    "a type": lambda bit: int if bit else float,
    "what a function holds": lambda bit: lambda: bit,
    "a default of a function": lambda bit: functools.partial(pow, 2, bit),
    "an explicit zero": _sparse_zero,
    "a sparse format": lambda bit: coo_array(np.eye(2)) if bit else csr_array(np.eye(2)),
    "a pandas dtype": lambda bit: pd.DataFrame({"x": pd.array([1], dtype="Int64" if bit else "int64")}),
    "a pandas NA": lambda bit: pd.Series([1.0, pd.NA if bit else 2.0], dtype="Float64"),
    "a pandas column": lambda bit: pd.DataFrame({"x" if bit else "y": [1.0]}),
    "a pandas index": lambda bit: pd.Series([1.0], index=[bit]),
    "a pandas level": lambda bit: pd.Series(pd.Categorical(["a"], categories=["a", "b" if bit else "c"])),
    "a polars dtype": lambda bit: pl.DataFrame({"x": [1]}, schema={"x": pl.Int8 if bit else pl.Int64}),
    "an Arrow type": lambda bit: pa.table({"x": pa.array([1], type=pa.int8() if bit else pa.int64())}),
    "an answer that holds itself": _itself,
}  # fmt: skip


def _raise(bit):
    raise (KeyError if bit else ValueError)("no")


def _message(bit):
    raise ValueError("yes" if bit else "no")


def _raised_attribute(bit):
    raise Own(bit)


def _note(bit):
    error = ValueError("no")
    error.add_note("yes" if bit else "no")
    raise error


def _cause(bit):
    try:
        _message(bit)
    except ValueError as error:
        raise RuntimeError("no") from error


def _line(bit):
    if bit:
        raise ValueError("no")
    raise ValueError("no")


def _sometimes(bit):
    if bit:
        raise ValueError("no")
    return 1.0


def _leave(bit):
    sys.exit(bit)


def _category(bit):
    warnings.warn("no", RuntimeWarning if bit else UserWarning, stacklevel=1)
    return 1.0


def _warning(bit):
    warnings.warn("yes" if bit else "no", RuntimeWarning, stacklevel=1)
    return 1.0


def _numpy_warning(bit):
    return float(np.isfinite(np.array([1.0]) / np.array([1.0 - bit]))[0]) * 0.0


def _print(bit):
    print("yes" if bit else "no")
    return 1.0


def _complain(bit):
    print("yes" if bit else "no", file=sys.stderr)
    return 1.0


def _log(bit):
    logging.getLogger("somewhere").warning("yes" if bit else "no")
    return 1.0


def hang(bit):
    """Never return if the bit is set."""
    while bit:
        time.sleep(0.001)
    return 1.0


FAILURES = {
    "type of an exception": _raise,
    "message of an exception": _message,
    "attribute of an exception": _raised_attribute,
    "note of an exception": _note,
    "cause of an exception": _cause,
    "line of an exception": _line,
    "an exception or none": _sometimes,
    "exit code": _leave,
    "category of a warning": _category,
    "text of a warning": _warning,
    "a warning of numpy": _numpy_warning,
    "printed": _print,
    "printed as an error": _complain,
    "logged": _log,
}
