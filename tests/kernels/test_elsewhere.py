"""Kernel models of more rows than memory holds: features made as rows are read, from a file and on a cluster."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import pytest

from support.fits import people, schema_for
from tacit import PrivateKernelClassifier, PrivateKernelRegressor
from tacit.data import Records
from tacit.data.store.lazy_rows import LazyRows
from tacit.kernels import RBF, Laplacian
from tacit.numerics.arrays import Floats

MODELS: list[tuple[str, Callable[[], Any]]] = [
    ("answer", lambda: PrivateKernelClassifier(RBF(1.0), 1.0, 1e-6, landmarks=12, random_state=3)),
    ("answer", lambda: PrivateKernelClassifier(Laplacian(0.5), 1.0, method="fourier", landmarks=10, random_state=3)),
    (
        "kind",
        lambda: PrivateKernelClassifier(
            RBF(1.0), 1.0, landmarks=8, class_weight={"low": 0.5}, perturbation="objective", random_state=3
        ),
    ),
    ("score", lambda: PrivateKernelRegressor(RBF(1.0), 1.0, 1e-6, landmarks=12, random_state=3)),
]


@pytest.fixture(scope="module")
def table() -> pd.DataFrame:
    """Return the table of all fits."""
    return people()


def _close(held: Any, other: Any, table: pd.DataFrame, target: str) -> None:
    """Compare what two models say of all records."""
    one, two = (model._scores(Records(table, schema_for(target))) for model in (held, other))
    assert np.allclose(one, two, rtol=0, atol=1e-6 * np.abs(one).max())
    assert held.alpha_ == other.alpha_
    assert held.release_.guarantee == other.release_.guarantee


@pytest.mark.parametrize("number", range(len(MODELS)))
@pytest.mark.parametrize("unit", [None, "who"])
def test_kernel_models_from_a_file_are_those_in_memory(
    table: pd.DataFrame, number: int, unit: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """For one seed the released models agree to far less than the noise that covers the solver's error."""
    target, make = MODELS[number]
    held = make().fit(Records(table, schema_for(target), unit=unit))
    longest: list[int] = []
    honest = LazyRows.mapped

    def watched(lazy: LazyRows, function: Callable[[Floats], Any], width: int | None) -> LazyRows:
        def seen(rows: Floats) -> Any:
            longest.append(len(rows))
            return function(rows)

        return honest(lazy, seen, width)

    monkeypatch.setattr("tacit.erm.rows.rows._CACHE_ENTRIES", 1)
    monkeypatch.setattr(LazyRows, "mapped", watched)
    streamed = make().fit(Records(table, schema_for(target), unit=unit, memory=4000))
    assert max(longest) == 256
    _close(held, streamed, table, target)


@pytest.mark.parametrize(("number", "unit"), [(0, "who"), (1, None)])
def test_kernel_models_on_a_cluster_are_those_in_memory(
    spark: Any, table: pd.DataFrame, number: int, unit: str | None
) -> None:
    """Features are made where the rows are, and what stands beside rows stays with them."""
    target, make = MODELS[number]
    held = make().fit(Records(table, schema_for(target), unit=unit))
    frame = spark.createDataFrame(table).repartition(3)
    _close(held, make().fit(Records(frame, schema_for(target), unit=unit)), table, target)
