"""Reports on records whose cells are in a private file or on a cluster: those of memory, some rows at a time."""

from typing import Any

import numpy as np
import pandas as pd
import pytest

from support.fits import people, schema_for
from tacit import PrivateLogisticRegression, evaluation
from tacit.data import Records
from tacit.data.encoder import RowCoder

TARGETS = ("answer", "kind")


@pytest.fixture(scope="module")
def table() -> pd.DataFrame:
    """Return the table of all fits."""
    return people()


@pytest.fixture(params=["file", "spark"])
def stored(request: pytest.FixtureRequest, table: pd.DataFrame) -> Any:
    """Leave it to the private file, or put it on a cluster, where rows have no fixed place."""
    if request.param == "file":
        return table
    return request.getfixturevalue("spark").createDataFrame(table).repartition(2)


@pytest.mark.parametrize("unit", [None, "who"])
def test_a_report_on_records_elsewhere_is_the_report_in_memory(
    stored: Any, table: pd.DataFrame, unit: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Some rows are encoded at a time, in whatever order they came, and every count is the same."""
    models = {
        target: PrivateLogisticRegression(1.0, random_state=3).fit(Records(table, schema_for(target)))
        for target in TARGETS
    }
    longest: list[int] = []
    honest = RowCoder.rows

    def watched(coder: RowCoder, cleaned: Any) -> Any:
        rows = honest(coder, cleaned)
        longest.append(len(rows))
        return rows

    monkeypatch.setattr(RowCoder, "rows", watched)
    monkeypatch.setattr("tacit.data.encoder._LOT", 1)
    for target, model in models.items():
        here = Records(table, schema_for(target), unit=unit)
        there = Records(stored, schema_for(target), unit=unit, memory=4000)
        one, two = (evaluation.report(model, each, epsilon=1.0, random_state=5) for each in (here, there))
        assert np.isclose(one.accuracy.value, two.accuracy.value, rtol=0, atol=1e-9)
        for count, other in zip(one.release.value.counts, two.release.value.counts, strict=True):
            assert np.allclose(count, other, rtol=0, atol=1e-6)
    assert max(longest) == 1000
