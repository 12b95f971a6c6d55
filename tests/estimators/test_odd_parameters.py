"""Whatever a parameter of an estimator is, a fit is made or refused in words, and what is refused is not charged."""

import warnings
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from support.service import SCHEMA, made_up_table
from tacit import InteractiveKernelPredictor, Ledger, Records, Schema
from tacit.budget import Budget
from tacit.errors import TacitError
from tacit.kernels import RBF
from tacit.models.kinds import NAMES, class_of

ODD: list[Any] = [True, [1], ["x"], {"a": [0, 1]}, np.zeros((2, 2)), Fraction(1, 3), 10**400, "x", object(), {1}]
CLASSES = [*map(class_of, NAMES), InteractiveKernelPredictor]
TABLE = made_up_table(60)
RECORDS = {
    "classification": Records(TABLE, SCHEMA),
    "regression": Records(TABLE, Schema(SCHEMA.columns, target="age")),
}


@pytest.mark.parametrize("known", CLASSES, ids=lambda known: known.__name__)
def test_an_odd_parameter_is_refused_in_words_and_uncharged(known: Any, tmp_path: Path) -> None:
    """Of every estimator, every parameter: truth values, containers, fractions, huge numbers, words, things."""
    ledger = Ledger.create(tmp_path / "l.db", name="a", budget=Budget(10**6, 0.5))
    usual: dict[str, Any] = {"epsilon": 1.0, "delta": 1e-6, "ledger": ledger}
    if "kernel" in known().get_params():
        usual |= {"kernel": RBF(1.0), "landmarks": 5}
    if known.__name__ == "PrivateERM":
        usual["loss"] = "logistic"
    records = RECORDS["regression" if known.__name__.endswith(("LinearRegression", "Regressor")) else "classification"]
    for name in known().get_params().keys() - {"ledger", "random_state", "state", "schema"}:
        for odd in ODD:
            before = len(ledger.entries())
            try:
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore")
                    known(**{**usual, name: odd}).fit(records)
            except TacitError:
                assert len(ledger.entries()) == before, (name, odd)
