"""Reports on records that are in a database or on a cluster: those of memory, though few cells are held at a time."""

import os
from typing import Any

import numpy as np
import pandas as pd
import pytest

from support.fits import people, schema_for
from support.stored_people import in_postgresql
from tacit import PrivateLogisticRegression, evaluation
from tacit.data import Records
from tacit.data.sources.held import HeldTable
from tacit.data.sources.memory import MemoryTable

TARGETS = ("answer", "kind")


@pytest.fixture(scope="module")
def table() -> pd.DataFrame:
    """Return the table of all engines."""
    return people()


@pytest.fixture(params=["postgresql", "spark"])
def stored(request: pytest.FixtureRequest, table: pd.DataFrame) -> Any:
    """Put it where rows have no fixed place."""
    if request.param == "spark":
        return request.getfixturevalue("spark").createDataFrame(table).repartition(2)
    return in_postgresql(request.getfixturevalue("postgresql"), request.getfixturevalue("database"), table)


@pytest.mark.parametrize("unit", [None, "who"])
def test_a_report_on_records_elsewhere_is_the_report_in_memory(
    stored: Any, table: pd.DataFrame, unit: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Cleaned cells wait in a private file, some are read back at a time, and every count is the same."""
    models = {
        target: PrivateLogisticRegression(1.0, random_state=3).fit(Records(table, schema_for(target)))
        for target in TARGETS
    }
    longest: list[int] = []
    honest = HeldTable.blocks

    def watched(held: HeldTable, *given: Any) -> Any:
        for block in honest(held, *given):
            longest.append(max(map(len, block.values())))
            yield block

    monkeypatch.setattr(HeldTable, "blocks", watched)
    monkeypatch.setattr("tacit.data.sources.held.BLOCK", 1000)
    monkeypatch.setattr(MemoryTable, "of", None)
    for target, model in models.items():
        here = Records(table, schema_for(target), unit=unit)
        there = Records(stored, schema_for(target), unit=unit, memory=4000)
        one, two = (evaluation.report(model, each, epsilon=1.0, random_state=5) for each in (here, there))
        assert np.isclose(one.accuracy.value, two.accuracy.value, rtol=0, atol=1e-9)
        for count, other in zip(one.release.value.counts, two.release.value.counts, strict=True):
            assert np.allclose(count, other, rtol=0, atol=1e-6)
    assert max(longest) == 1000


def test_cells_held_in_a_file_are_those_that_were_read(stored: Any, table: pd.DataFrame) -> None:
    """Every cell and every type is the same, in every order the same, and the file is gone with the records."""
    before = len(os.listdir("/proc/self/fd")) if os.path.exists("/proc/self/fd") else 0
    records = Records(stored, schema_for("kind"), memory=4000)
    held, kept = records.held(), Records(stored, schema_for("kind")).held()
    assert isinstance(held.table, HeldTable)
    assert isinstance(kept.table, MemoryTable)
    assert held.held() is held
    names = ("x", "v", "c", "who", "kind")
    for one, other in zip(_sorted(held, names), _sorted(kept, names), strict=True):
        assert one.dtype == other.dtype
        assert one.tobytes() == other.tobytes()
    again = [np.concatenate([block["x"] for block in held.blocks(("x",))]) for _ in range(2)]
    assert again[0].tobytes() == again[1].tobytes()
    del held, records
    if before:
        assert len(os.listdir("/proc/self/fd")) <= before + 4


def _sorted(records: Records, names: tuple[str, ...]) -> list[Any]:
    """Return the cells of all columns, rows in the order of one of them."""
    blocks = list(records.blocks(names))
    cells = [np.concatenate([block[name] for block in blocks]) for name in names]
    order = np.lexsort(cells[:2])
    return [each[order] for each in cells]
