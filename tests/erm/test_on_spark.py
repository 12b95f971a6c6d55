"""Fits on a Spark cluster: the model of memory, charged once, and one clear error when the cluster fails."""

import gc
import os
import signal
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import ibis
import numpy as np
import pandas as pd
import pytest

from support.fits import MODELS, ROWS, check_same, people, schema_for, watch_certificates
from tacit import Budget, Ledger, PrivateKernelClassifier, Schema
from tacit.data import Records
from tacit.data.sources.spark_lots import SparkLots
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


@pytest.mark.parametrize("number", range(len(MODELS)))
def test_fits_on_a_cluster_are_those_in_memory(
    frame: Any, table: pd.DataFrame, number: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """For one seed the released coefficients agree within the certified radius.

    Every other model is one of persons, whose rows lie in several partitions; every third solves samples, too, pass by
    pass, the others on one executor.
    """
    unit = "who" if number % 2 else None
    monkeypatch.setattr("tacit.erm.solver.warm_start._FEWEST_ROWS", 16)
    if number % 3 == 0:
        monkeypatch.setattr("tacit.erm.rows.rows._ON_ONE_NODE", 0)
    target, make = MODELS[number]
    certified = watch_certificates(monkeypatch)
    held = make().fit(Records(table, schema_for(target), unit=unit))
    check_same(held, make().fit(Records(frame, schema_for(target), unit=unit)), target, certified)


def test_no_row_comes_to_the_driver(frame: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """What the driver asks for are sums, which are as long as the model is wide, and counts."""
    lengths: dict[str, list[int]] = {"sum": [], "together": []}

    def watched(name: str) -> Callable[[SparkLots, Any], Floats]:
        honest = getattr(SparkLots, name)

        def watching(lots: SparkLots, job: Any) -> Floats:
            found: Floats = honest(lots, job)
            lengths[name].append(found.size)
            return found

        return watching

    def refused(*_: object) -> Any:
        raise AssertionError("rows were asked for")

    for name in lengths:
        monkeypatch.setattr(SparkLots, name, watched(name))
    monkeypatch.setattr("tacit.erm.solver.warm_start._FEWEST_ROWS", 16)
    records = Records(frame, schema_for("answer"))
    monkeypatch.setattr(type(records.table), "_stream", refused)
    model = PrivateLogisticRegression(1.0, random_state=3, curves=False).fit(records)
    assert max(lengths["sum"]) == model.coef_.size**2
    assert lengths["together"] == [model.coef_.size]


def test_a_cluster_that_fails_is_one_clear_error(frame: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A task that fails for good stops the fit without a word of the engine's; what was charged before is said."""
    ledger = Ledger.create(f"sqlite:///{tmp_path / 'a.db'}", name="a", budget=Budget(1.0))
    honest = SparkLots.sum

    def broken(_: Floats) -> Floats:
        raise RuntimeError("a record's secret")

    monkeypatch.setattr(SparkLots, "sum", lambda lots, job: honest(lots, broken))
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
    honest, tracker = SparkLots.sum, spark.sparkContext.statusTracker()
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

    def summed(lots: SparkLots, _: Any) -> Floats:
        begun.set()
        return honest(lots, slow)

    with monkeypatch.context() as patch:
        patch.setattr(SparkLots, "sum", summed)
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


def test_the_name_of_a_data_frame_goes_with_its_records(spark: Any, frame: Any) -> None:
    """Every table that was opened, or drafted, stayed in the session's catalogue; what is cached of a frame stays."""

    def names() -> list[str]:
        # Without their descriptions, which fail for one that goes meanwhile.
        views = spark._jsparkSession.sessionState().catalog().listLocalTempViews("tacit_records*")
        return [views.apply(place).table() for place in range(views.size())]

    gc.collect()
    _await(lambda: not names())
    cached = frame.selectExpr("x", "v", "c", "answer", "who").cache()
    try:
        records = Records(cached, schema_for("answer"))
        PrivateLogisticRegression(1.0, random_state=3).fit(records)
        Schema.draft(cached)
        gc.collect()
        _await(lambda: len(names()) == 1)
        del records
        gc.collect()
        _await(lambda: not names())
        assert _kept_there(spark) == 1
    finally:
        cached.unpersist()


def _await(happens: Callable[[], bool]) -> None:
    """Wait until something happens."""
    for _ in range(100):
        if happens():
            return
        time.sleep(0.1)
    raise AssertionError("it did not happen")


@pytest.mark.parametrize("change", ["CAST(x AS STRING) AS x", "1 AS other"])
def test_a_table_of_other_columns_is_refused_before_it_is_read(
    spark: Any, frame: Any, tmp_path: Path, change: str
) -> None:
    """Spark's own words came out, with the columns that are there by now, or texts were read as numbers."""
    frame.createOrReplaceTempView("people_now")
    records = Records(ibis.pyspark.connect(spark).table("people_now"), schema_for("answer"))
    rest = [name for name in frame.columns if name != "x"]
    frame.selectExpr(*rest, change).createOrReplaceTempView("people_now")
    ledger = Ledger.create(tmp_path / "l.db", name="x", budget=Budget(1))
    with pytest.raises(InvalidParameter, match="'x' is no longer stored as it was"):
        PrivateLogisticRegression(1.0, ledger=ledger).fit(records)
    assert not ledger.entries()


@pytest.mark.parametrize("unit", [None, "who"])
def test_a_table_that_grew_is_refused_uncharged(spark: Any, frame: Any, tmp_path: Path, unit: str | None) -> None:
    """Rows that came since it was opened would count, of persons who were not counted."""
    frame.limit(100).createOrReplaceTempView("people_then")
    records = Records(ibis.pyspark.connect(spark).table("people_then"), schema_for("answer"), unit=unit)
    assert records.n <= 100
    frame.limit(110).createOrReplaceTempView("people_then")
    ledger = Ledger.create(tmp_path / "l.db", name="x", budget=Budget(1), unit=records.whom.kind)
    with pytest.raises(InvalidParameter, match="no longer has as many records"):
        PrivateLogisticRegression(1.0, ledger=ledger).fit(records)
    assert not ledger.entries()


def test_weights_beside_rows_of_a_cluster_are_refused(frame: Any) -> None:
    """Rows there have no fixed place that weights could stand beside."""
    model = PrivateLogisticRegression(1.0, largest_weight=1.0, random_state=3)
    with pytest.raises(InvalidParameter, match="no fixed place"):
        model.fit(Records(frame, schema_for("answer")), sample_weight=np.ones(ROWS))


def test_a_column_in_memory_is_never_taken_for_one_of_a_lot() -> None:
    """Weights that were left behind would count every row in full: that is an error, not a default."""
    lot = np.arange(6.0).reshape(2, 3)
    assert np.array_equal(np.asarray(in_lot(SpreadColumn(None, -1), lot)), lot[:, -1])
    assert in_lot(None, lot) is None
    with pytest.raises(TypeError, match="in memory"):
        in_lot(np.ones(2), lot)
