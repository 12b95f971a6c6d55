"""Trace what one act of each kind enters: files, functions and classes of tacit, and how many lines these files have.

    python tools/walks.py > benchmarks/results/walks.md

Each act is done twice and its second time counts, in all threads of this process: what is imported or kept at the first
is left out, and so is what Spark's executors do. Comprehensions and lambdas are no functions; a class is entered where
one of its methods is; lines of code are those without docstrings, comments and blanks.
"""

import ast
import io
import os
import shutil
import subprocess
import sys
import tempfile
import threading
import tokenize
import warnings
from collections.abc import Callable, Generator
from contextlib import closing
from pathlib import Path
from types import CodeType, FrameType
from typing import Any

import polars as pl
from typer.testing import CliRunner

import tacit
from tacit.cli.app import app
from tacit.data import PublicEncoder, Records, adult_schema, load_adult
from tacit.kernels import RBF, InteractiveKernelPredictor

SOURCE = Path(tacit.__file__).parent
NOT_CODE = {tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT, tokenize.ENDMARKER}


def row(name: str, act: Callable[[int], object]) -> str:
    """Return what is entered when an act is done for the second time, as a row of a table."""
    entered: set[CodeType] = set()

    def trace(frame: FrameType, event: str, _: Any) -> None:
        if event == "call":
            entered.add(frame.f_code)

    # Threads that are begun in the first round and kept are traced in the second, too.
    threading.setprofile(trace)
    sys.setprofile(trace)
    act(0)
    entered.clear()
    act(1)
    sys.setprofile(None)
    threading.setprofile(None)
    ours = [code for code in set(entered) if Path(code.co_filename).is_relative_to(SOURCE)]
    functions = {(code.co_filename, code.co_qualname) for code in ours if not code.co_name.startswith("<")}
    files = {file for file, _ in functions}
    classes = {(file, home) for file, name in functions if (home := name.rpartition(".")[0]) and home[-1] != ">"}
    lines = sum(lines_of_code(Path(file).read_text("utf-8")) for file in files)
    return f"| {name} | {len(files)} | {len(functions)} | {len(classes)} | {lines:,} |"


def lines_of_code(text: str) -> int:
    """Count the lines that are neither blank nor within a comment or a docstring."""
    tokens = (token for token in tokenize.generate_tokens(io.StringIO(text).readline) if token.type not in NOT_CODE)
    lines = {line for token in tokens for line in range(token.start[0], token.end[0] + 1)}
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str):
            lines -= set(range(node.lineno, (node.end_lineno or node.lineno) + 1))
    return len(lines)


def walks(folder: Path) -> Generator[tuple[str, Callable[[int], object]], None, None]:
    """Return each act with its name; it is told which time it is done."""
    columns, schema = {name: cells[:2000] for name, cells in load_adult("train").items()}, adult_schema()
    frame, table, address = pl.DataFrame(columns), str(folder / "adult.parquet"), f"sqlite:///{folder / 'ledger.db'}"
    frame.write_parquet(table)
    (folder / "adult.toml").write_text(schema.to_toml(), "utf-8")
    ledger = tacit.Ledger.create(address, name="walks", budget=tacit.Budget(100, 1e-3))
    X, y = PublicEncoder(schema).transform(columns), schema.labels(columns)
    model = tacit.PrivateLogisticRegression(1, 1e-6, ledger=ledger)
    arrays = tacit.PrivateLogisticRegression(1, 1e-6, data_norm=1.0, classes=schema.classes, ledger=ledger)
    yield "a fit of arrays", lambda _: arrays.fit(X, y)
    yield "a fit of Records of a frame", lambda _: model.fit(Records(frame, schema))
    yield "a fit of Records of a Parquet file", lambda _: model.fit(Records(table, schema))
    if shutil.which("java") is None:
        print("no Java here: a fit on Spark is left out", file=sys.stderr)
    else:
        from pyspark.sql import SparkSession

        os.environ["PYSPARK_PYTHON"] = sys.executable
        with SparkSession.builder.master("local[1]").config("spark.ui.enabled", "false").getOrCreate() as spark:
            yield "a fit of Records of Spark", lambda _: model.fit(Records(spark.read.parquet(table), schema))
    records = Records(frame, schema)
    oracle = tacit.StatisticalOracle(records, ledger=ledger)
    yield "an ask", lambda time: oracle.ask(tacit.StatisticalQuery(f"age > {60 + time}"), epsilon=0.1)
    predictor = InteractiveKernelPredictor(RBF(1.0), 1, 1e-6, data_norm=1.0, ledger=ledger).fit(X[:300], y[:300])
    yield "an answer", lambda time: predictor.answer(X[time : time + 1])
    yield "a report", lambda _: tacit.evaluation.report(model, records, epsilon=1, delta=1e-6, ledger=ledger)
    event = tacit.mechanisms.Laplace.for_budget(tacit.Budget(0.1)).event
    yield "a spend", lambda time: ledger.spend(event, label=str(time))

    def train(time: int) -> None:
        words = f"train {table} --schema {folder}/adult.toml --epsilon 1 --ledger {address} --output {folder}/{time}"
        assert CliRunner().invoke(app, words.split(), catch_exceptions=False).exit_code == 0

    yield "`tacit train`", train


def main() -> None:
    warnings.simplefilter("ignore")
    commit = subprocess.run(["git", "-C", SOURCE, "rev-parse", "--short", "HEAD"], capture_output=True, text=True)
    with tempfile.TemporaryDirectory() as folder, closing(walks(Path(folder))) as acts:
        rows = [row(name, act) for name, act in acts]
    print(f"# What one act of each kind enters\n\nMade by `python tools/walks.py` at {commit.stdout.strip()}.\n")
    print("| walk | files | functions | classes | lines of code |\n|---|---|---|---|---|", *rows, sep="\n")


if __name__ == "__main__":
    main()
