"""Fits on a Spark cluster: the model of memory, charged once, and one clear error when the cluster fails."""

import os
import signal
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from support.fits import MODELS, ROWS, check_same, people, schema_for, watch_certificates
from support.opened import view_of
from tacit import Budget, Ledger, PrivateKernelClassifier
from tacit.data import Number, Records, Schema, SparkFolder
from tacit.data.store.spark_rows import SparkRows
from tacit.erm.classification import PrivateLogisticRegression
from tacit.errors import InvalidParameter, QueryFailed
from tacit.kernels import RBF
from tacit.numerics.arrays import Floats
from tacit.numerics.spread import SpreadColumn, in_lot


@pytest.fixture(scope="module")
def table() -> pd.DataFrame:
    """Return the table of all engines."""
    return people()


@pytest.fixture(scope="module")
def frame(spark: Any, table: pd.DataFrame) -> Any:
    """Return it as a data frame of several partitions."""
    return spark.createDataFrame(table).repartition(3)


@pytest.fixture(scope="module")
def folder(spark: Any, table: pd.DataFrame, tmp_path_factory: pytest.TempPathFactory) -> SparkFolder:
    """Write it as a folder of files."""
    path = tmp_path_factory.mktemp("people")
    for place in range(3):
        table[place * 1000 : (place + 1) * 1000].to_parquet(path / f"{place}.parquet", index=False)
    return SparkFolder(spark, path)


@pytest.mark.parametrize("number", range(len(MODELS)))
def test_fits_on_a_cluster_are_those_in_memory(
    frame: Any, folder: SparkFolder, table: pd.DataFrame, number: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """For one seed the released coefficients agree within the certified radius.

    Every other model is one of persons, whose rows lie in several partitions, and half of these are of a part of them;
    every third solves samples, too, pass by pass, the others on one executor.
    """
    unit = "who" if number % 2 else None
    monkeypatch.setattr("tacit.erm.solver.warm_start._FEWEST_ROWS", 16)
    if number % 3 == 0:
        monkeypatch.setattr("tacit.erm.rows.rows._ON_ONE_NODE", 0)
    target, make = MODELS[number]
    certified = watch_certificates(monkeypatch)
    source = folder if number % 3 else frame
    both = [Records(each, schema_for(target), unit=unit) for each in (table, source)]
    held, there = (each.split(by="key")[0] if number % 4 == 1 else each for each in both)
    check_same(make().fit(held), make().fit(there), target, certified)


@pytest.mark.parametrize("unit", [None, "who"])
def test_declared_weights_stand_beside_rows(
    spark: Any, table: pd.DataFrame, unit: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Weights of rows, by themselves and times the shares of persons, are those in memory."""
    columns = {**schema_for("answer").columns, "w": Number(0, 2, missing=0)}
    schema, heavy = Schema(columns, target="answer", weight="w"), table.assign(w=np.arange(len(table)) % 7 / 3)
    certified, model = watch_certificates(monkeypatch), MODELS[0][1]
    held = model().fit(Records(heavy, schema, unit=unit))
    plain = model().fit(Records(table, schema_for("answer"), unit=unit))
    certified.pop()
    there = model().fit(Records(spark.createDataFrame(heavy).repartition(3), schema, unit=unit))
    check_same(held, there, "answer", certified)
    assert not np.allclose(held.coef_, plain.coef_, rtol=1e-3)


def test_no_row_comes_to_the_driver(frame: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """What the driver asks for are sums, which are as long as the model is wide, and counts."""
    lengths: dict[str, list[int]] = {"sum": [], "together": []}

    def watched(name: str) -> Callable[[SparkRows, Any], Floats]:
        honest = getattr(SparkRows, name)

        def watching(lots: SparkRows, job: Any) -> Floats:
            found: Floats = honest(lots, job)
            lengths[name].append(found.size)
            return found

        return watching

    def refused(*_: object, **__: object) -> Any:
        raise AssertionError("rows were asked for")

    for name in lengths:
        monkeypatch.setattr(SparkRows, name, watched(name))
    monkeypatch.setattr("tacit.erm.solver.warm_start._FEWEST_ROWS", 16)
    records = Records(frame, schema_for("answer"))
    monkeypatch.setattr(type(view_of(records)), "block", refused)
    model = PrivateLogisticRegression(1.0, random_state=3, curves=False).fit(records)
    assert max(lengths["sum"]) == model.coef_.size**2
    assert lengths["together"] == [model.coef_.size]


def test_a_cluster_that_fails_is_one_clear_error(frame: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A task that fails for good stops the fit without a word of the engine's; what was charged before is said."""
    ledger = Ledger.create(f"sqlite:///{tmp_path / 'a.db'}", name="a", budget=Budget(1.0))
    honest = SparkRows.sum

    def broken(_: Floats) -> Floats:
        raise RuntimeError("a record's secret")

    monkeypatch.setattr(SparkRows, "sum", lambda lots, job: honest(lots, broken))
    with pytest.raises(QueryFailed, match="the cluster failed") as caught:
        PrivateLogisticRegression(1.0, ledger=ledger).fit(Records(frame, schema_for("answer")))
    told = f"{caught.value} {caught.value.__context__} {caught.value.__notes__}"
    assert "secret" not in told
    assert "charged for it: epsilon=1" in told
    assert len(ledger.entries()) == 1


def _kept_there(spark: Any) -> int:
    """Return how many tables Spark's storage has."""
    return int(spark.sparkContext._jsc.getPersistentRDDs().size())


def test_a_ctrl_c_ends_the_fit_and_its_jobs(
    spark: Any, frame: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The interrupt was lost within the engine, which went on: it is raised, says what was charged, and no job runs."""
    ledger = Ledger.create(f"sqlite:///{tmp_path / 'a.db'}", name="a", budget=Budget(1.0))
    honest, tracker = SparkRows.sum, spark.sparkContext.statusTracker()
    before, own = signal.getsignal(signal.SIGINT), spark.sparkContext.getLocalProperty("spark.jobGroup.id")
    begun = threading.Event()

    def slow(_: Floats) -> Floats:
        time.sleep(120)
        raise AssertionError

    def interrupt() -> None:
        begun.wait(60)
        while not tracker.getActiveJobsIds():
            time.sleep(0.05)
        time.sleep(1)
        os.kill(os.getpid(), signal.SIGINT)

    def summed(lots: SparkRows, _: Any) -> Floats:
        begun.set()
        return honest(lots, slow)

    with monkeypatch.context() as patch:
        patch.setattr(SparkRows, "sum", summed)
        thread = threading.Thread(target=interrupt)
        thread.start()
        started = time.monotonic()
        with pytest.raises(KeyboardInterrupt) as caught:
            PrivateLogisticRegression(0.5, ledger=ledger).fit(Records(frame, schema_for("answer")))
        thread.join()
    assert time.monotonic() - started < 60
    assert "charged for it: epsilon=0.5" in " ".join(caught.value.__notes__)
    assert caught.value.__context__ is None
    assert tracker.getActiveJobsIds() == []
    assert _kept_there(spark) == 0
    assert signal.getsignal(signal.SIGINT) is before
    assert spark.sparkContext.getLocalProperty("spark.jobGroup.id") == own
    PrivateLogisticRegression(0.5, ledger=ledger).fit(Records(frame, schema_for("answer")))
    assert len(ledger.entries()) == 2


def test_an_exception_that_is_kept_keeps_no_storage(spark: Any, frame: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """An exception names the rows it was raised over; the lots of a fit go when it ends, and features made of them."""

    def interrupted(*_: object) -> Any:
        raise KeyboardInterrupt

    monkeypatch.setattr("tacit.erm.perturbations.perturbation.solve", interrupted)
    for model in (
        PrivateLogisticRegression(1.0, random_state=3),
        PrivateKernelClassifier(RBF(1.0), 1.0, method="fourier", landmarks=10, random_state=3),
    ):
        with pytest.raises(KeyboardInterrupt) as caught:
            model.fit(Records(frame, schema_for("answer")))
        assert caught.value is not None
        assert _kept_there(spark) == 0


def test_weights_beside_rows_of_a_cluster_are_refused(frame: Any) -> None:
    """Rows there have no fixed place that weights could stand beside."""
    model = PrivateLogisticRegression(1.0, largest_weight=1.0, random_state=3)
    with pytest.raises(InvalidParameter, match="places of rows are private"):
        model.fit(Records(frame, schema_for("answer")), sample_weight=np.ones(ROWS))


def test_a_column_in_memory_is_never_taken_for_one_of_a_lot() -> None:
    """Weights that were left behind would count every row in full: that is an error, not a default."""
    lot = np.arange(6.0).reshape(2, 3)
    assert np.array_equal(np.asarray(in_lot(SpreadColumn(None, -1), lot)), lot[:, -1])
    assert in_lot(None, lot) is None
    with pytest.raises(TypeError, match="in memory"):
        in_lot(np.ones(2), lot)
