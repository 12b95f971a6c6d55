"""The package's front: public names, loaded when they are used."""

import importlib
import json
import subprocess
import sys

import pytest

import tacit

STEPS = {
    "import tacit": "import tacit",
    "records and statistics": "tacit.Schema, tacit.Records, tacit.statistics, tacit.Ledger",
    "scikit-learn": "import sklearn.base, scipy.sparse",
    "data": "tacit.PublicEncoder",
    "estimators": "tacit.Budget, tacit.statistics; import tacit.evaluation, tacit.mechanisms, tacit.erm",
    "queries": """if True:
        import numpy as np
        from tacit.data import Number, Records, Schema
        from tacit.queries import StatisticalOracle, StatisticalQuery
        query = StatisticalQuery(lambda t: t.x0 > 0)
        StatisticalOracle((np.ones((9, 1)), np.ones(9)), bounds=(0, 1)).ask(query, epsilon=1.0)
        StatisticalOracle(Records({'x0': [1, 2]}, Schema({'x0': Number(0, 1)}))).ask(query, epsilon=1.0)""",
    "the auditor": "import tacit.audit.catalogue",
}
"""What a process does, one thing after the other."""


@pytest.fixture(scope="module")
def loaded():
    """Give the modules that are loaded after each step: of libraries their own name, of tacit all."""
    program = "import json, sys; seen = {}\n" + "\n".join(
        f"exec({code!r}); seen[{step!r}] = [m for m in sys.modules if '.' not in m or m.startswith('tacit.')]"
        for step, code in STEPS.items()
    )
    done = subprocess.run(
        [sys.executable, "-c", f"{program}\nprint(json.dumps(seen))"], check=True, capture_output=True, text=True
    )
    return {step: set(modules) for step, modules in json.loads(done.stdout).items()}


def test_importing_the_package_loads_no_library(loaded):
    """`import tacit` loads neither numpy nor anything heavier; a name that is used does (the twin)."""
    heavy = {"numpy", "scipy", "sklearn", "pandas", "sqlalchemy", "dp_accounting", "ibis", "matplotlib", "randomgen"}
    assert not heavy & loaded["import tacit"]
    assert "randomgen" not in loaded["import tacit"]
    assert "randomgen" in loaded["records and statistics"]


def test_schemas_records_and_statistics_load_neither_scikit_learn_nor_a_data_frame(loaded):
    """They load when an estimator or the encoder does (the twin)."""
    assert not {"sklearn", "pandas", "polars", "pyarrow", "narwhals"} & loaded["records and statistics"]
    assert "sklearn" in loaded["data"]


def test_every_public_name_is_there_without_the_extras_and_a_client_says_what_it_needs():
    """`from tacit import *` and a walk over its names load no optional library; a connection names the extra."""
    program = """if True:
        import sys
        for extra in ("httpx", "fastapi", "uvicorn", "typer", "rich", "matplotlib", "duckdb", "ibis", "pyspark"):
            sys.modules[extra] = None
        import inspect
        import tacit
        from tacit import *
        assert {name for name, _ in inspect.getmembers(tacit)} >= set(tacit.__all__)
        try:
            Client("https://learner.example", "a token")
        except tacit.errors.InvalidParameter as refusal:
            print(refusal)"""
    done = subprocess.run([sys.executable, "-c", program], check=True, capture_output=True, text=True)
    assert "httpx: pip install 'tacit[service]'" in done.stdout


def test_data_and_names_load_nothing_heavy(loaded):
    """No database engine, cluster, web framework or drawing; of data frames none that scikit-learn does not load."""
    assert not {"ibis", "pyspark", "fastapi", "matplotlib", "typer", "rich"} & loaded["data"]
    frames = {"narwhals", "pandas", "polars", "pyarrow"}
    assert not frames & (loaded["data"] - loaded["scikit-learn"])


def test_arrays_and_frames_in_memory_need_no_engine(loaded):
    """Neither ibis nor DuckDB nor Spark is loaded to ask an oracle about them."""
    assert "tacit.queries" in loaded["queries"]
    assert not {"ibis", "duckdb", "pyspark"} & loaded["queries"]


def test_the_library_cannot_reach_the_exhibits(loaded):
    """Every estimator, the statistics and the oracle load nothing of the auditor; the auditor loads no database."""
    assert not [name for name in loaded["queries"] if name.startswith("tacit.audit")]
    assert "tacit.audit.exhibits" in loaded["the auditor"]
    assert "ibis" not in loaded["the auditor"]


@pytest.mark.parametrize("name", tacit.__all__)
def test_every_public_name_is_there_and_listed(name):
    """Public names load from their homes, are the same objects there, and are listed by dir()."""
    found = getattr(tacit, name)
    assert name in dir(tacit)
    home = getattr(found, "__module__", None) or found.__name__
    assert found is importlib.import_module(home) or found is getattr(importlib.import_module(home), name)


def test_a_name_that_is_not_there_is_an_attribute_error():
    """hasattr and typos work as with any module."""
    assert not hasattr(tacit, "PrivateLogistikRegression")
