"""Private fits of more rows than memory holds: from a file within 2 GiB, and on Spark beside its own library.

Records of 50 numbers and a yes-or-no, as float32 in a folder of Parquet files, are written in pieces; of the
ill-conditioned twin all columns share most of one number and differ in scale a thousandfold.

- *Streamed*: `fit(Records(folder, schema))` in a fresh process whose address space is limited to 2 GiB (RLIMIT_AS), for
  several numbers of rows, beside one bare pass over the same files: decode with Arrow, make doubles, add up X'X, X'y.
- *CSV*: a file of five million rows and 20 numbers, in the same 2 GiB.
- *Spark*: local[2], all warmed up by a fit before the one that counts: MLlib's LogisticRegression, not private, with
  the ridge that the private fit uses, and the private fit of the same folder, and of the data frame of it.
- *Cluster*: a standalone cluster of two workers on this machine, one of which is killed in the middle of a fit, and
  then one whose executors die until Spark gives up (what `tests/erm/test_on_a_cluster.py` asks, with its figures).
- *Equality*: for one seed the coefficients from memory, from the file and from Spark.

    python benchmarks/scale.py streamed     # writes benchmarks/results/scale.md and scale.svg
    python benchmarks/scale.py spark        # writes benchmarks/results/scale_spark.md
    python benchmarks/scale.py cluster      # writes benchmarks/results/scale_cluster.md
    python benchmarks/scale.py              # all
    python benchmarks/scale.py --quick      # a fiftieth of the rows, nothing written
"""

import argparse
import json
import multiprocessing
import os
import resource
import sys
import tempfile
import time
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any

RESULTS = Path(__file__).parent / "results"
LIMIT = 2 * 2**30
COLUMNS = 50
ROWS = (1_000_000, 2_000_000, 5_000_000, 20_000_000)
CSV_ROWS, CSV_COLUMNS = 5_000_000, 20
SPARK_ROWS = 2_000_000
TURNS = 2
SLOWER, MLLIB, MLLIB_ILL = 5.0, (0.4, 0.25), (0.2, 0.12)
PIECE = 200_000


def write(folder: Path, rows: int, columns: int = COLUMNS, *, ill: bool = False, lines: bool = False) -> None:
    """Write the records in pieces."""
    import numpy as np
    import pyarrow as pa
    import pyarrow.csv as pc
    import pyarrow.parquet as pq

    names = [*(f"x{place}" for place in range(columns)), "y"]
    weights = np.random.default_rng(0).normal(size=columns)
    folder.mkdir()
    for number in range(-(-rows // PIECE)):
        rng = np.random.default_rng(number + 1)
        found = rng.normal(size=(min(PIECE, rows - number * PIECE), columns))
        if ill:
            found = found * np.geomspace(1, 1e-3, columns) + found[:, :1]
        scores = found @ weights * (0.05 if ill else 0.5) + rng.logistic(size=len(found))
        arrays = [pa.array(column.round(2) if lines else column.astype(np.float32)) for column in found.T]
        table = pa.table([*arrays, pa.array((scores > 0).astype(np.int8))], names=names)
        if lines:
            with (folder / "all.csv").open("ab") as file:
                pc.write_csv(table, file, pc.WriteOptions(include_header=not number))
        else:
            pq.write_table(table, folder / f"{number:04}.parquet")


def schema(columns: int) -> Any:
    """Declare them."""
    from tacit.data import Flag, Number, Schema

    declared: dict[str, Any] = {f"x{place}": Number(-4, 4) for place in range(columns)}
    return Schema({**declared, "y": Flag(0, 1)}, target="y")


def model() -> Any:
    """Return the model that is fitted, with a seed, so that fits can be compared."""
    from tacit import PrivateLogisticRegression

    return PrivateLogisticRegression(1.0, curves=False, random_state=1)


def family(process: int) -> list[int]:
    """Return a process and all that it started, which still run."""
    children: list[int] = []
    for task in Path(f"/proc/{process}/task").glob("*/children"):
        with suppress(OSError):
            children += map(int, task.read_text().split())
    return [process, *(each for child in children for each in family(child))]


def worked() -> float:
    """Return the processor time of this process and all that it started: Java, and Python on the executors."""
    ticks = 0
    for process in family(os.getpid()):
        with suppress(OSError):
            ticks += sum(map(int, Path(f"/proc/{process}/stat").read_text().rsplit(")", 1)[1].split()[11:13]))
    return ticks / os.sysconf("SC_CLK_TCK")


def timed(work: Callable[[], Any]) -> tuple[float, float, Any]:
    """Return wall-clock time, processor time, and what came out."""
    start, before = time.perf_counter(), worked()
    found = work()
    return time.perf_counter() - start, worked() - before, found


def bare(folder: Path, columns: int) -> dict[str, Any]:
    """Make one pass with nothing private about it."""
    import numpy as np
    import pyarrow.parquet as pq
    from threadpoolctl import threadpool_limits

    def work() -> Any:
        gram, moment = np.zeros((columns, columns)), np.zeros(columns)
        for path in sorted(folder.iterdir()):
            for batch in pq.ParquetFile(path).iter_batches(65_536):
                table = np.empty((columns + 1, len(batch)))
                for place, column in enumerate(batch.columns):
                    table[place] = column.to_numpy(zero_copy_only=False)
                gram += table[:-1] @ table[:-1].T
                moment += table[:-1] @ table[-1]
        return gram.sum() + moment.sum()

    # So small products are slower on two threads than on one.
    with threadpool_limits(1):
        wall, processor, _ = timed(work)
    return {"wall": wall, "processor": processor}


def streamed(folder: Path, columns: int, memory: int | None = None) -> dict[str, Any]:
    """Open the records and fit, within the limit."""
    if memory is None:
        resource.setrlimit(resource.RLIMIT_AS, (LIMIT, LIMIT))
    from tacit import Records
    from tacit.numerics.threads import Threads

    passes: list[int] = []
    honest = Threads.sum

    def counted(self: Threads, work: Any, blocks: Any) -> Any:
        passes.append(blocks[-1][1])
        return honest(self, work, blocks)

    Threads.sum = counted  # type: ignore[method-assign]
    wall, processor, fitted = timed(lambda: model().fit(Records(folder, schema(columns), memory=memory)))
    return {
        "wall": wall,
        "processor": processor,
        "peak": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024,
        "passes": passes.count(max(passes)),
        "ridge": fitted.alpha_,
        "coefficients": fitted.coef_.ravel().tolist(),
    }


def on_spark(folder: Path, alpha_of: Path) -> dict[str, Any]:
    """Fit MLlib's model and the private one, each twice; the second time counts."""
    from pyspark.ml.classification import LogisticRegression
    from pyspark.ml.feature import VectorAssembler
    from pyspark.sql import SparkSession

    from tacit import Records
    from tacit.data import SparkFolder

    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    session = (
        SparkSession.builder.master("local[2]")
        .config("spark.ui.enabled", "false")
        .config("spark.ui.showConsoleProgress", "false")
        .config("spark.driver.memory", "4g")
        .config("spark.driver.host", "127.0.0.1")
        .config("spark.driver.bindAddress", "127.0.0.1")
        .getOrCreate()
    )
    session.sparkContext.setLogLevel("OFF")
    frame = session.read.parquet(str(folder))
    ridge = float(alpha_of.read_text()) if alpha_of.exists() else 1e-5

    def theirs() -> Any:
        inputs = [name for name in frame.columns if name != "y"]
        rows = VectorAssembler(inputCols=inputs, outputCol="features").transform(frame)
        rows = rows.selectExpr("features", "double(y) AS label").persist()
        plain = LogisticRegression(regParam=ridge, elasticNetParam=0.0, standardization=False, maxIter=1000)
        found = plain.fit(rows).summary.totalIterations
        rows.unpersist()
        return found

    sources = {"folder": SparkFolder(session, folder), "frame": frame}
    opened: dict[str, Any] = {}

    def opening(way: str) -> None:
        opened[way] = Records(sources[way], schema(COLUMNS))

    def ours(way: str) -> Any:
        return model().fit(opened[way])

    def turn() -> dict[str, Any]:
        found = {"theirs": timed(theirs)}
        for way in sources:
            found |= {f"opening, {way}": timed(partial(opening, way)), f"fit, {way}": timed(partial(ours, way))}
        return found

    turn()
    # In turns, the least of two: somebody else's load comes and goes.
    turns = [turn() for _ in range(TURNS)]
    least = {what: [min(each[what][place] for each in turns) for place in range(2)] for what in turns[0]}
    coefficients = {way: turns[0][f"fit, {way}"][2].coef_.ravel().tolist() for way in sources}
    return {"least": least, "iterations": turns[0]["theirs"][2], "coefficients": coefficients}


def apart(work: Callable[..., Any], *arguments: Any) -> Any:
    """Do something in a fresh process."""
    with ProcessPoolExecutor(1, multiprocessing.get_context("spawn"), max_tasks_per_child=1) as processes:
        return processes.submit(work, *arguments).result()


def difference(one: list[float], other: list[float]) -> float:
    """Return the largest difference of two coefficients over the largest coefficient."""
    return max(abs(a - b) for a, b in zip(one, other, strict=True)) / max(map(abs, one))


def streamed_page(folder: Path, sizes: tuple[int, ...], csv_rows: int) -> tuple[str, list[Any]]:
    """Measure fits from files and write down what came out."""
    lines, found = [], []
    for rows in sizes:
        apart(write, folder / f"{rows}", rows)
        plain, ours = apart(bare, folder / f"{rows}", COLUMNS), apart(streamed, folder / f"{rows}", COLUMNS)
        if rows == sizes[1]:
            held = apart(streamed, folder / f"{rows}", COLUMNS, 2**34)
            equal = difference(held["coefficients"], ours["coefficients"])
        ratio, work = ours["wall"] / plain["wall"], ours["processor"] / plain["processor"]
        lines.append(
            f"| {rows:,} x {COLUMNS}, Parquet | {plain['wall']:.1f} s | {ours['wall']:.1f} s | {ratio:.1f} | "
            f"{work:.1f} | {ours['passes']} | {ours['peak']:,.0f} MiB | {_met(ratio <= SLOWER)} |"
        )
        found.append((rows, ours["wall"], plain["wall"], ours["peak"]))
        print(lines[-1], flush=True)
        for path in (folder / f"{rows}").iterdir():
            path.unlink()
    apart(write_lines, folder / "csv", csv_rows)
    ours = apart(streamed, folder / "csv", CSV_COLUMNS)
    lines.append(
        f"| {csv_rows:,} x {CSV_COLUMNS}, CSV | | {ours['wall']:.1f} s | | | {ours['passes']} | "
        f"{ours['peak']:,.0f} MiB | |"
    )
    body = "\n".join(lines)
    return (
        f"""# Private fits within 2 GiB

Made by `python benchmarks/scale.py streamed`: private logistic regression, epsilon 1, in a process that may map 2 GiB
(RLIMIT_AS). Times include opening the records, which reads them once. The bare pass decodes the same files and
adds up X'X and X'y in doubles. "Passes" are sums over all encoded rows, of which 6 are the aim; at most {SLOWER:g}
times the bare pass is demanded.

| table | bare pass | fit | times | times, processor | passes | peak memory | met |
|---|---|---|---|---|---|---|---|
{body}

For one seed the coefficients of {sizes[1]:,} rows from memory and from the file differ by {equal:.1e} of the largest.
Load average over the last 15 minutes: {os.getloadavg()[2]:.1f} on {os.cpu_count()} processors: where it is above 1,
times are those of a busy machine, and processor time is the steadier measure.

![Time and memory against the number of rows](scale.svg)
""",
        found,
    )


def write_lines(folder: Path, rows: int) -> None:
    """Write the CSV file."""
    write(folder, rows, CSV_COLUMNS, lines=True)


def write_ill(folder: Path, rows: int) -> None:
    """Write the ill-conditioned twin."""
    write(folder, rows, ill=True)


def spark_page(folder: Path, rows: int) -> str:
    """Measure fits on Spark beside MLlib's."""
    lines = []
    for name, make, demanded in (("well", write, MLLIB), ("ill", write_ill, MLLIB_ILL)):
        apart(make, folder / name, rows)
        held = apart(streamed, folder / name, COLUMNS, 2**34)
        ridge = folder / f"{name}.ridge"
        ridge.write_text(repr(held["ridge"]))
        found = apart(on_spark, folder / name, ridge)
        theirs = found["least"]["theirs"]
        for way, coefficients in found["coefficients"].items():
            (opening, opening_work), (fit, work) = (found["least"][f"{what}, {way}"] for what in ("opening", "fit"))
            ratios = (opening + fit) / theirs[0], fit / theirs[0]
            met = [ratio <= most for ratio, most in zip(ratios, demanded, strict=True)]
            lines.append(
                f"| {rows:,} x {COLUMNS}, {name}-conditioned, {way} | "
                f"{theirs[0]:.1f} s, {theirs[1]:.1f} s ({found['iterations']} iterations) | "
                f"{opening:.1f} s, {opening_work:.1f} s | {fit:.1f} s, {work:.1f} s | "
                f"{ratios[0]:.2f} | {ratios[1]:.2f} | "
                f"{(opening_work + work) / theirs[1]:.2f} | {demanded[0]:g}, {demanded[1]:g} | {_met(all(met))} | "
                f"{difference(held['coefficients'], coefficients):.1e} |"
            )
            print(lines[-1], flush=True)
    body = "\n".join(lines)
    return f"""# Private fits on Spark beside MLlib

Made by `python benchmarks/scale.py spark`: Spark local[2], Parquet, everything done once before what counts. MLlib's
LogisticRegression is not private and has the same ridge (standardization off); the private fit has epsilon 1. Opening
reads and cleans all records, once for all fits and questions: a *folder* is read by the executors' own Python
(`SparkFolder`), a *frame*, the data frame of the same files, through Java. Wall-clock and processor time, Java's and
Python's together, are the least of {TURNS} in turns; ratios are of wall time to MLlib's. Demanded is the ratio with
opening and the one after it, from a folder.

| table | MLlib | opening | fit | both | after opening | both, processor | demanded | met | difference from memory |
|---|---|---|---|---|---|---|---|---|---|
{body}

Load average over the last 15 minutes: {os.getloadavg()[2]:.1f} on {os.cpu_count()} processors: where it is above 1,
times are those of a busy machine, and processor time is the steadier measure.
"""


def cluster_page() -> str:
    """Fit on a cluster whose nodes die, and write down what came out."""
    sys.path.insert(0, str(RESULTS.parents[1] / "tests"))
    from support.clusters import fits_while_nodes_die

    with tempfile.TemporaryDirectory(prefix="tacit-cluster-") as name:
        told = fits_while_nodes_die(Path(name))
    same = _met(told["difference"] <= 1.01 * told["certified"] + 1e-12)
    charges = _met(told["charges"] == 2)
    return f"""# Private fits on a cluster whose nodes die

Made by `python benchmarks/scale.py cluster`: a standalone Spark cluster of two workers on this machine. During the
{told["after"]}rd of {told["passes"]} passes over the lots a worker is killed, with all that it keeps. Then a fit is
tried while every task kills the executor that it runs on.

| what | found | as demanded |
|---|---|---|
| difference of the coefficients from those in memory, same coins | {told["difference"]:.1e} | |
| distance that the two certificates allow | {told["certified"]:.1e} | {same} |
| executors left | {told["executors"]} | {_met(told["executors"] == 1)} |
| charges, for the two fits together | {told["charges"]} | {charges} |
| what the second fit raised | `{told["error"]}` | {_met(bool(told["error"]))} |
| its notes | `{" ".join(told["notes"])}` | {_met("charged" in " ".join(told["notes"]))} |
"""


def picture(found: list[Any], path: Path) -> None:
    """Draw time and memory against the number of rows."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(8, 3.2), layout="constrained")
    times, memory = figure.subplots(1, 2)
    rows = [each[0] / 1e6 for each in found]
    times.plot(rows, [each[1] for each in found], "o-", label="private fit")
    times.plot(rows, [each[2] for each in found], "s--", label="one bare pass")
    times.set(xlabel="million rows", ylabel="seconds")
    times.legend()
    memory.plot(rows, [each[3] for each in found], "o-")
    memory.set(xlabel="million rows", ylabel="peak memory, MiB", ylim=(0, 2048))
    figure.savefig(path, metadata={"Date": None})


def _met(good: bool) -> str:
    return "yes" if good else "**no**"


def main() -> int:
    """Measure what was asked for."""
    parser = argparse.ArgumentParser(description="private fits of more rows than memory holds")
    parser.add_argument("what", nargs="?", choices=["streamed", "spark", "cluster"])
    parser.add_argument("--quick", action="store_true", help="a fiftieth of the rows, nothing written")
    parser.add_argument("--folder", help="where to write the records", default=None)
    asked = parser.parse_args()
    share = 50 if asked.quick else 1
    pages = {}
    with tempfile.TemporaryDirectory(prefix="tacit-scale-", dir=asked.folder) as name:
        if asked.what in (None, "streamed"):
            sizes = tuple(rows // share for rows in ROWS)
            pages["scale.md"], found = streamed_page(Path(name), sizes, CSV_ROWS // share)
        if asked.what in (None, "spark"):
            pages["scale_spark.md"] = spark_page(Path(name), SPARK_ROWS // share)
    if asked.what in (None, "cluster"):
        pages["scale_cluster.md"] = cluster_page()
    for file, text in pages.items():
        print(text)
        if not asked.quick:
            (RESULTS / file).write_text(text, encoding="utf-8")
    if "scale.md" in pages:
        print(json.dumps(found))
        if not asked.quick:
            picture(found, RESULTS / "scale.svg")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
