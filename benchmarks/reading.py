"""Cleaning and coding 200,000 records of 27 mixed columns, beside scikit-learn's ColumnTransformer in the same run.

Eight floats, four whole numbers, ten categories of 3 to 21 levels, two ordinals and three flags, in a pandas frame, as
they are and with three cells in a hundred missing. scikit-learn scales numbers to [-1, 1] (missing ones to the mean)
and codes levels in dense columns; it learns ranges and levels first, which a schema declares: both times are shown.
Each figure is the least processor time of five calls, taken in turns.

    python benchmarks/reading.py            # writes benchmarks/results/reading.md
    python benchmarks/reading.py --quick    # a hundredth of the records, nothing written
"""

import argparse
import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from sklearn.compose import ColumnTransformer
from sklearn.impute import SimpleImputer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MinMaxScaler, OneHotEncoder, OrdinalEncoder

from tacit import PublicEncoder, Records, Schema
from tacit.data import Category, Column, Flag, Number, Ordinal

RESULTS = Path(__file__).parent / "results"
ROWS, TURNS, DEMANDED = 200_000, 5, 0.3
GRADES = ["low", "middle", "high", "top"]
KINDS = {"float": 8, "whole": 4, "category": 10, "grade": 2, "flag": 3}


def column(kind: str, number: int, rows: int, rng: np.random.Generator) -> tuple[Any, Column]:
    """Draw a column, and declare it."""
    levels = [f"level {level}" for level in range(3 + 2 * number)]
    match kind:
        case "float":
            return rng.normal(size=rows) * 10, Number(-40, 40)
        case "whole":
            return rng.integers(0, 100, rows), Number(0, 99)
        case "category":
            return pd.array(rng.choice(levels, rows), dtype="str"), Category(levels)
        case "grade":
            return pd.array(rng.choice(GRADES, rows), dtype="str"), Ordinal(GRADES)
    return pd.array(rng.choice(["no", "yes"], rows), dtype="str"), Flag("no", "yes")


def made(rows: int, missing: bool) -> tuple[pd.DataFrame, Schema]:
    """Draw the table."""
    rng = np.random.default_rng(0)
    columns = {f"{kind}{n}": column(kind, n, rows, rng) for kind, count in KINDS.items() for n in range(count)}
    frame = pd.DataFrame({name: cells for name, (cells, _) in columns.items()})
    if missing:
        frame = frame.mask(rng.random(frame.shape) < 0.03)
    return frame, Schema({name: declared for name, (_, declared) in columns.items()})


def peer(frame: pd.DataFrame) -> ColumnTransformer:
    """Return scikit-learn's way to do it."""

    def of(*kinds: str) -> list[str]:
        return [name for name in frame.columns if name.startswith(kinds)]

    codes = {"handle_unknown": "ignore", "sparse_output": False}
    grades = OrdinalEncoder(handle_unknown="use_encoded_value", unknown_value=-1, encoded_missing_value=-1)
    return ColumnTransformer(
        [
            ("numbers", make_pipeline(SimpleImputer(), MinMaxScaler((-1, 1))), of("float", "whole")),
            ("categories", OneHotEncoder(**codes), of("category")),
            ("grades", grades, of("grade")),
            ("flags", OneHotEncoder(drop="first", **codes), of("flag")),
        ]
    )


def least(calls: list[Callable[[], Any]]) -> list[float]:
    """Return the least processor time of every call, taken in turns."""
    found = [[] for _ in calls]  # type: list[list[float]]
    for _ in range(TURNS):
        for call, times in zip(calls, found, strict=True):
            start = time.process_time()
            call()
            times.append(time.process_time() - start)
    return [min(times) for times in found]


def line(rows: int, missing: bool) -> str:
    """Measure one table."""
    frame, schema = made(rows, missing)
    encoder, theirs = PublicEncoder(schema), peer(frame).fit(frame)
    ours, opened, learned, transformed = least(
        [
            lambda: encoder.transform(frame),
            lambda: Records(frame, schema),
            lambda: theirs.fit_transform(frame),
            lambda: theirs.transform(frame),
        ]
    )
    name = "3 % of cells missing" if missing else "no cell missing"
    met = "yes" if ours <= DEMANDED * learned else "**no**"
    return (
        f"| {rows:,} x {frame.shape[1]}, {name} | {ours:.3f} s | {opened:.3f} s | {learned:.3f} s | "
        f"{transformed:.3f} s | {ours / learned:.2f} | {ours / transformed:.2f} | {met} |"
    )


def main() -> int:
    """Measure, and write the page."""
    parser = argparse.ArgumentParser(description="cleaning and coding mixed columns")
    parser.add_argument("--quick", action="store_true", help="a hundredth of the records, nothing written")
    quick = parser.parse_args().quick
    rows = ROWS // 100 if quick else ROWS
    body = "\n".join(line(rows, missing) for missing in (False, True))
    page = f"""# Cleaning and coding mixed columns

Made by `python benchmarks/reading.py`: the least processor time of {TURNS} calls in one run. `transform` cleans and
codes; `Records` cleans, and keeps how cells fared. At most {DEMANDED:g} times scikit-learn's `fit_transform` is
demanded: it learns ranges and levels, which tacit is told. Its `transform` alone stands beside it.

| table | `PublicEncoder.transform` | `Records(...)` | `fit_transform` | its `transform` | ratio | ratio | met |
|---|---|---|---|---|---|---|---|
{body}

Load average over the last minute: {os.getloadavg()[0]:.1f} on {os.cpu_count()} processors.
"""
    print(page)
    if not quick:
        (RESULTS / "reading.md").write_text(page, encoding="utf-8")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
