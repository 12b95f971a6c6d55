"""Twenty million records in 600 MiB: 200 statistical queries, next to plain SQL for the same averages.

A folder of Parquet files with floats, integers, truth values and categories, some cells missing, is written in
pieces, declared by a schema and opened, in a fresh process: the cleaned cells lie in a private file. Half of the
queries count records by a condition, half are means of a clipped column. `StatisticalOracle.ask_all` answers them with
everything that belongs to it: it checks the queries, plans, charges a ledger, adds up, draws noise and records the
answers. Plain SQL is one SELECT of 200 averages over the Parquet files, by DuckDB, written in two ways (clipping by
CASE, and by LEAST and GREATEST); the faster one counts. The three take turns. Opening is told by itself: it is done
once, and a SELECT reads the files anew each time. On a machine with other work, processor time is the steadier measure.

    python benchmarks/queries_scale.py            # writes benchmarks/results/queries_scale.md
    python benchmarks/queries_scale.py --quick    # a tenth of the records, nothing written
"""

import argparse
import multiprocessing
import os
import resource
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

RESULTS = Path(__file__).parent / "results"
DEMANDED = 0.5
MEMORY = 600
REPEATS = 3
FILES = 20


def write(folder: Path, rows: int) -> None:
    """Write the records, one file at a time."""
    import numpy as np
    import pyarrow as pa
    import pyarrow.parquet as pq

    for number in range(FILES):
        rng = np.random.default_rng(number)
        n = rows // FILES

        def thinned(values: Any, rng: Any = rng, n: int = n) -> Any:
            return pa.array(values, mask=rng.random(n) < 0.05)

        table = pa.table(
            {
                "age": pa.array(rng.integers(18, 95, n), pa.int32()),
                "stay": thinned(rng.exponential(6.0, n)),
                "cost": pa.array(rng.lognormal(8.0, 1.0, n)),
                "pressure": thinned(rng.normal(125.0, 18.0, n)),
                "score": pa.array(rng.normal(size=n).astype(np.float32)),
                "visits": pa.array(rng.poisson(2.0, n), pa.int64()),
                "ward": pa.array(rng.integers(0, 12, n), pa.int8()),
                "emergency": pa.array(rng.random(n) < 0.3),
                "ill": pa.array(rng.random(n) < 0.12),
                "region": pa.array(np.array(["north", "east", "south", "west"])[rng.integers(0, 4, n)]),
            }
        )
        pq.write_table(table, folder / f"{number:02}.parquet", row_group_size=125_000)


def schema() -> Any:
    """Return what is declared about the records."""
    from tacit.data import Category, Flag, Number, Schema

    return Schema(
        {
            "age": Number(0, 120),
            "stay": Number(0, 365),
            "cost": Number(0, 1e7),
            "pressure": Number(0, 300),
            "score": Number(-10, 10),
            "visits": Number(0, 1000),
            "ward": Category(range(12)),
            "emergency": Flag(),
            "ill": Flag(),
            "region": Category(["north", "east", "south", "west"]),
        }
    )


@dataclass(frozen=True)
class Question:
    """One average, as a query and in two ways of plain SQL."""

    query: Any
    by_case: str
    by_least: str


def condition(function: Callable[[Any], Any], sql: str) -> Question:
    from tacit.queries import StatisticalQuery

    average = f"AVG(CASE WHEN {sql} THEN 1 ELSE 0 END)"
    return Question(StatisticalQuery(function), average, average)


def mean(column: str, low: float, high: float) -> Question:
    from tacit.queries import StatisticalQuery

    return Question(
        StatisticalQuery(lambda t: t[column], low=low, high=high),
        f"AVG(CASE WHEN {column} < {low} THEN {low} WHEN {column} > {high} THEN {high} ELSE {column} END)",
        f"AVG(CASE WHEN {column} IS NOT NULL THEN LEAST(GREATEST({column}, {low}), {high}) END)",
    )


def questions() -> list[Question]:
    """Return 100 conditions and 100 clipped means."""
    found = []
    for k in range(20):
        days, pounds, top = 1.0 + k, 1000.0 * (k + 1), 95.0 - k
        found += [
            condition(lambda t, k=k: t.age > 20 + 3 * k, f"age > {20 + 3 * k}"),
            condition(lambda t, x=days: (t.stay > x) & t.ill, f"stay > {days} AND ill"),
            condition(
                lambda t, x=pounds: (t.region == "north") & (t.cost < x), f"region = 'north' AND cost < {pounds}"
            ),
            condition(lambda t, k=k: (t.ward == k % 12) | (t.visits > k), f"ward = {k % 12} OR visits > {k}"),
            condition(lambda t, x=k / 10: ~t.emergency & (t.score > x), f"NOT emergency AND score > {k / 10}"),
            mean("age", 18.0, top),
            mean("stay", 0.0, 10.0 + k),
            mean("cost", 100.0, pounds),
            mean("pressure", 60.0 + k, 200.0),
            mean("visits", 0.0, 3.0 + k),
        ]
    return found


def measured(folder: Path, rows: int, repeats: int) -> dict[str, Any]:
    """Ask in turns, and return times in seconds."""
    import duckdb

    from tacit import Budget, Ledger, Records
    from tacit.queries import StatisticalOracle

    asked = questions()
    start, busy = time.perf_counter(), time.process_time()
    records = Records(folder, schema(), memory=2**26)
    opening = time.perf_counter() - start, time.process_time() - busy
    print(f"opened: {opening[0]:.2f} s, processors {opening[1]:.2f} s", flush=True)
    assert records.n == rows
    connection = duckdb.connect(config={"memory_limit": "1GB", "threads": 2})
    connection.execute(f"CREATE VIEW records AS SELECT * FROM read_parquet('{folder}/*.parquet', can_have_nan = true)")
    times: dict[str, list[float]] = {"oracle": [], "case": [], "least": []}
    work: dict[str, list[float]] = {name: [] for name in times}
    answers: list[Any] = []
    plain: list[float] = []
    peak = 0
    for turn in range(repeats):
        ledger = Ledger.create(f"sqlite:///{folder}/ledger-{turn}.db", name="scale", budget=Budget(1.0))
        oracle = StatisticalOracle(records, ledger=ledger)

        def ask(oracle: Any = oracle) -> None:
            answers[:] = oracle.ask_all([each.query for each in asked], epsilon=1.0, of="sample")

        def select(columns: list[str]) -> None:
            (plain[:],) = connection.execute(f"SELECT {', '.join(columns)} FROM records").fetchall()

        runs: list[tuple[str, Callable[[], None]]] = [
            ("oracle", ask),
            ("case", lambda: select([each.by_case for each in asked])),
            ("least", lambda: select([each.by_least for each in asked])),
        ]
        for name, run in runs[turn % 3 :] + runs[: turn % 3]:
            start, busy = time.perf_counter(), time.process_time()
            run()
            if not peak:
                # Before SQL has run: the first of all runs is the oracle's.
                peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
            times[name].append(time.perf_counter() - start)
            work[name].append(time.process_time() - busy)
            print(
                f"{turn + 1}/{repeats} {name}: {times[name][-1]:.2f} s, processors {work[name][-1]:.2f} s", flush=True
            )
    return {
        **{name: statistics.median(each) for name, each in times.items()},
        **{f"{name} work": statistics.median(each) for name, each in work.items()},
        "peak": peak,
        "opening": opening,
        "count": len(asked),
        "load": os.getloadavg()[2],
        "spread": {name: (min(each), max(each)) for name, each in work.items()},
    }


def page(found: dict[str, Any], rows: int) -> str:
    """Write the results down."""
    plain = min(found["case"], found["least"])
    ratio = found["oracle"] / plain
    work = found["oracle work"] / min(found["case work"], found["least work"])
    peak = found["peak"] / 2**20
    small = _met(peak <= MEMORY)
    each = 1000.0 / found["count"]
    opened, opened_work = found["opening"]
    description = (__doc__ or "").split("\n\n")[1]
    spread = ", ".join(f"{name} {low:.1f} to {high:.1f} s" for name, (low, high) in found["spread"].items())
    return f"""# Statistical queries at scale

Made by `python benchmarks/queries_scale.py` (one process, two cores; medians of {REPEATS} runs that take turns).
{description}

| what | measured | demanded | met |
|---|---|---|---|
| {rows:,} records, {found["count"]} queries: peak memory | {peak:,.0f} MiB | at most {MEMORY} MiB | {small} |
| opening (in the peak): all cells are read and cleaned | {opened:.1f} s, processors {opened_work:.1f} s | | |
| time per query, oracle | {found["oracle"] * each:.1f} ms | | |
| time per query, plain SQL by CASE | {found["case"] * each:.1f} ms | | |
| time per query, plain SQL by LEAST and GREATEST | {found["least"] * each:.1f} ms | | |
| oracle / the faster plain SQL, processor time | {work:.2f} | at most {DEMANDED} | {_met(work <= DEMANDED)} |
| oracle / the faster plain SQL | {ratio:.2f} | at most {DEMANDED} | {_met(ratio <= DEMANDED)} |

Processor time of single runs: {spread}. Load average over the last 15 minutes: {found["load"]:.1f}; where it is well
above 1, or the runs differ by more than the ratios do, measure again on a quiet machine.
"""


def _met(good: bool) -> str:
    return "yes" if good else "**no**"


def main() -> int:
    parser = argparse.ArgumentParser(description="200 queries on 20 million records in 600 MiB")
    parser.add_argument("--quick", action="store_true", help="a tenth of the records, nothing written")
    quick = parser.parse_args().quick
    rows = 2_000_000 if quick else 20_000_000
    with tempfile.TemporaryDirectory(prefix="tacit-scale-") as name:
        folder = Path(name)
        with ProcessPoolExecutor(1, multiprocessing.get_context("spawn"), max_tasks_per_child=1) as processes:
            processes.submit(write, folder, rows).result()
            found = processes.submit(measured, folder, rows, 2 if quick else REPEATS).result()
        text = page(found, rows)
    print(text)
    if not quick:
        (RESULTS / "queries_scale.md").write_text(text, encoding="utf-8")
    return "**no**" in text


if __name__ == "__main__":
    sys.exit(main())
