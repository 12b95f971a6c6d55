"""One Spark session for all tests of a process."""

from collections.abc import Iterator
from typing import Any

import pytest

from support.nasty_tables import needs_java


@pytest.fixture(scope="session")
def spark() -> Iterator[Any]:
    """Start Spark in this process, with Spark's own defaults for what SQL means."""
    needs_java()
    from pyspark.sql import SparkSession

    session = (
        SparkSession.builder.master("local[2]")
        .config("spark.ui.enabled", "false")
        .config("spark.ui.showConsoleProgress", "false")
        .config("spark.driver.bindAddress", "127.0.0.1")
        .config("spark.driver.host", "127.0.0.1")
        .config("spark.driver.memory", "1g")
        .config("spark.driver.extraJavaOptions", "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC")
        .config("spark.sql.shuffle.partitions", "2")
        .getOrCreate()
    )
    session.sparkContext.setLogLevel("OFF")
    yield session
    session.stop()
