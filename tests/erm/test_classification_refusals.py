"""What linear classifiers refuse before anything is charged, and that they quote no record."""

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy import sparse

from tacit.accounting.ledger import Ledger
from tacit.erm.classification import PrivateLinearSVC, PrivateLogisticRegression
from tacit.errors import InvalidParameter

GENERATOR = np.random.default_rng(3)
X = GENERATOR.normal(size=(80, 4))
Y = (X[:, 0] + 0.5 * X[:, 1] > 0).astype(int)
SECRET = 0.123456789


BAD_PARAMETERS: list[dict[str, Any]] = [
    {"epsilon": None}, {"epsilon": 0}, {"epsilon": -1.0}, {"epsilon": math.nan}, {"epsilon": "1"}, {"epsilon": True},
    {"epsilon": 1e-13}, {"delta": -1e-9}, {"delta": 1.0}, {"delta": None}, {"delta": 1e-40}, {"delta": 0.9},
    {"data_norm": None}, {"data_norm": 0.0}, {"data_norm": -1.0}, {"data_norm": math.nan}, {"data_norm": math.inf},
    {"data_norm": "1"}, {"data_norm": 1e101}, {"alpha": 0.0}, {"alpha": -1.0}, {"alpha": math.nan}, {"alpha": math.inf},
    {"alpha": "large"}, {"alpha": None}, {"alpha": True}, {"alpha": np.ones(2)}, {"alpha": 5e-324},
    {"alpha": 1e-90, "perturbation": "output"}, {"perturbation": "input"},
    {"alpha": 1e-30, "delta": 1e-6, "perturbation": "gradient"},
    {"perturbation": None}, {"perturbation": ["output"]}, {"perturbation": "gradient"},
    {"epsilon": 60.0, "delta": 1e-6, "perturbation": "objective"}, {"classes": [0]}, {"classes": []},
    {"classes": [1, 2]}, {"classes": ["0", "1"]}, {"classes": [[0, 1]]}, {"classes": [0, 1, math.nan]}, {"classes": 2},
    {"random_state": -1}, {"random_state": "seed"}, {"random_state": 1.5}, {"random_state": True},
]  # fmt: skip


@pytest.mark.parametrize("wrong", BAD_PARAMETERS, ids=str)
def test_a_wrong_parameter_is_refused_before_anything_is_charged(wrong: dict[str, Any], ledger: Ledger) -> None:
    """The message names a parameter that is wrong; no noise is drawn, nothing is charged, no model is left."""
    model = PrivateLogisticRegression(**{"epsilon": 1.0, "data_norm": 1.0, "ledger": ledger} | wrong)
    with pytest.raises(InvalidParameter) as caught:
        model.fit(X, Y)
    assert ledger.entries() == []
    assert not hasattr(model, "coef_")
    named = {"budget", "sensitivity", "passes", *wrong}
    assert any(name in str(caught.value) for name in named)


@pytest.mark.parametrize(
    "wrong",
    [
        {"loss": "hinge", "perturbation": "objective"},
        {"loss": "hinge", "perturbation": "gradient", "delta": 1e-6},
        {"loss": "squared"},
        {"loss": None},
        {"width": 0.0},
        {"width": math.nan},
        {"width": "wide"},
        {"classes": [0, 1, 2]},
    ],
    ids=str,
)
def test_a_wrong_parameter_of_the_support_vector_machine_is_refused(wrong: dict[str, Any], ledger: Ledger) -> None:
    """A corner cannot be smoothed away, and three classes cannot be separated by one plane."""
    with pytest.raises(InvalidParameter):
        PrivateLinearSVC(**{"epsilon": 1.0, "data_norm": 1.0, "ledger": ledger} | wrong).fit(X, Y)
    assert ledger.entries() == []


def _with(value: Any) -> Any:
    table = X.astype(object) if isinstance(value, str | dict | complex) else X.copy()
    table[3, 1] = value
    return table.astype(complex) if isinstance(value, complex) else table


BAD_TABLES: dict[str, Callable[[], tuple[Any, Any]]] = {
    "nan": lambda: (_with(math.nan), Y),
    "infinite": lambda: (_with(-math.inf), Y),
    "sparse nan": lambda: (sparse.csr_array(_with(math.nan)), Y),
    "text": lambda: (_with(f"secret {SECRET}"), Y),
    "sly text": lambda: (_with(f"Supports only {SECRET}"), Y),
    "dictionary": lambda: (_with({SECRET: SECRET}), Y),
    "complex": lambda: (_with(SECRET + 1j), Y),
    "no rows": lambda: (X[:0], Y[:0]),
    "no columns": lambda: (X[:, :0], Y),
    "one dimension": lambda: (np.full(80, SECRET), Y),
    "a number": lambda: (SECRET, Y),
    "three dimensions": lambda: (X[:, :, None], Y),
    "ragged": lambda: ([[SECRET], [SECRET, SECRET]], [0, 1]),
    "nothing": lambda: (None, Y),
    "frame of text": lambda: (pd.DataFrame({"a": [f"secret {SECRET}"] * 80}), Y),
    "fewer labels": lambda: (X, Y[:-1]),
    "no labels": lambda: (X, None),
    "one class": lambda: (X, np.full(80, SECRET).astype(str)),
    "one row": lambda: (X[:1], Y[:1]),
    "labels in two columns": lambda: (X, np.column_stack([Y, Y])),
    "label nan": lambda: (X, np.where(Y, math.nan, 0.0)),
    "continuous labels": lambda: (X, X[:, 0]),
    "mixed labels": lambda: (X, np.array([0, f"secret {SECRET}"] * 40, dtype=object)),
    "labels of objects": lambda: (X, np.array([{SECRET: 1}, {SECRET: 2}] * 40, dtype=object)),
}


@pytest.mark.parametrize("make", [PrivateLogisticRegression, PrivateLinearSVC])
@pytest.mark.parametrize("bad", BAD_TABLES)
def test_bad_records_are_refused_before_anything_is_charged_and_never_quoted(
    bad: str, make: Callable[..., Any], ledger: Ledger
) -> None:
    """A clear error, nothing charged, and no value of any record in it, nor in an exception that it was raised from."""
    table, labels = BAD_TABLES[bad]()
    with pytest.raises((ValueError, TypeError)) as caught:
        make(1.0, data_norm=1.0, ledger=ledger).fit(table, labels)
    assert ledger.entries() == []
    seen: BaseException | None = caught.value
    while seen is not None:
        assert "12345" not in str(seen)
        assert str(seen).strip()
        seen = seen.__cause__ or seen.__context__


def test_records_to_predict_are_not_quoted_either() -> None:
    """Wrong tables given to a fitted model are refused in words of our own."""
    model = PrivateLogisticRegression(1.0, data_norm=1.0).fit(X, Y)
    for table in (
        np.full(4, SECRET),
        [[f"secret {SECRET}", 1, 2, 3]],
        np.full((2, 4), SECRET + 1j),
        [[SECRET]],
        SECRET,
    ):
        with pytest.raises(ValueError, match=r".") as caught:
            model.predict(table)
        assert "12345" not in str(caught.value)
