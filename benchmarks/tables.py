"""Private models of real tables with their defaults, next to private and ordinary peers: three scores each.

    python benchmarks/tables.py [--repeats 10] [--only adult,houses] [--models ours|peers|all] [--resume | --report]

Writes results/tables.csv (every fit, as soon as it is made) and results/tables.md. Fits that are not asked for keep
their lines. Nothing is tuned. The peers run in environments of their own, made on first use in .venv-ebm and
.venv-peers. Seeds make our fits rehearsals: repeatable, with the law of a private fit.
"""

import argparse
import csv
import hashlib
import json
import math
import subprocess
import sys
import tempfile
import time
import venv
import zlib
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any

import numpy as np
from datasets import MissingData
from numpy.typing import NDArray
from real_tables import BY_NAME, RealTable
from rich.console import Console
from rich.progress import Progress
from tables_page import page

import tacit
from tacit import PrivateLinearRegression, PrivateLogisticRegression, PublicEncoder, Records
from tacit.data import Ordinal
from tacit.data.columns import Uncoded
from tacit.data.levels import Levelled

HERE = Path(__file__).resolve().parent
RESULTS = HERE / "results"
DELTA = 1e-6
EPSILONS = (0.1, 0.316, 1.0, 3.16)
PEERS = {
    "DP-EBM": ("ebm", 1.0),
    "DP-EBM at half": ("ebm", 0.5),
    "diffprivlib": ("diffprivlib", 1.0),
}
REQUIREMENTS = {"ebm": "ebm-requirements.txt", "diffprivlib": "peers-requirements.txt"}
ENVIRONMENTS = {"ebm": ".venv-ebm", "diffprivlib": ".venv-peers"}


@dataclass(frozen=True)
class Line:
    """One fit: its scores on the held-out records, how long it took."""

    table: str
    model: str
    epsilon: float
    delta: float
    repeat: int
    trained_on: int
    first: float
    second: float
    third: float
    seconds: float
    source: str


def fingerprint() -> str:
    """Return a hash of the source that decides what is fitted."""
    folder = Path(tacit.__file__).parent
    files = sorted(path for part in ("erm", "data", "estimators") for path in (folder / part).rglob("*.py"))
    return hashlib.sha256(b"".join(path.read_bytes() for path in files)).hexdigest()[:10]


SOURCE = fingerprint()


@dataclass(frozen=True)
class Split:
    """A table cut in two: what all models are given."""

    table: RealTable
    training: dict[str, NDArray[Any]]
    testing: dict[str, NDArray[Any]]
    y: NDArray[Any]
    truth: NDArray[Any]

    @classmethod
    def of(cls, table: RealTable, repeat: int) -> "Split":
        """Draw records, one in five to test on; all records of one owner fall on one side."""
        cells = {name: cells for name, cells in table.read().items() if name in table.schema.columns}
        count = len(next(iter(cells.values())))
        rng = np.random.default_rng([zlib.crc32(table.name.encode()), repeat])
        if table.unit is None:
            chosen = rng.permutation(count)[: table.most]
            testing, training = np.split(chosen, [-(-len(chosen) // 5)])
        else:
            owners, own = np.unique(cells[table.unit], return_inverse=True)
            held = rng.permutation(len(owners))[: -(-len(owners) // 5)]
            testing = np.flatnonzero(np.isin(own, held))
            training = rng.permutation(np.flatnonzero(~np.isin(own, held)))
        column = table.schema.columns[str(table.schema.target)]
        target = column.clean(cells[str(table.schema.target)])[0]
        taken = [{name: values[part] for name, values in cells.items()} for part in (training, testing)]
        return cls(table, taken[0], taken[1], target[training], target[testing])

    def records(self, cells: dict[str, NDArray[Any]]) -> Records:
        """Return records over some of the cells."""
        return Records(cells, self.table.schema, unit=self.table.unit)

    def cleaned(self, cells: dict[str, NDArray[Any]]) -> tuple[NDArray[np.float64], list[str], dict[int, list[float]]]:
        """Return cleaned features as numbers and codes of levels, their kinds, the bounds of numbers."""
        columns, kinds, bounds = [], [], {}
        for name in self.table.schema.inputs:
            column = self.table.schema.columns[name]
            if isinstance(column, Uncoded):
                continue
            if isinstance(column, Levelled) and not isinstance(column, Ordinal):
                kinds.append("nominal")
            else:
                high = len(column.classes) - 1 if isinstance(column, Levelled) else column.high
                bounds[len(columns)] = [0.0 if isinstance(column, Levelled) else column.low, float(high)]
                kinds.append("continuous")
            columns.append(column.clean(cells[name])[0].astype(float))
        return np.column_stack(columns), kinds, bounds

    def scores(self, answer: NDArray[Any]) -> tuple[float, float, float]:
        """Return accuracy, AUC and log-loss; of numbers R2, and MAE and RMSE in standard deviations."""
        from sklearn.metrics import log_loss, r2_score, roc_auc_score

        if not self.table.regression:
            right = np.mean((answer > 0.5) == (self.truth == 1))
            return float(right), float(roc_auc_score(self.truth, answer)), float(log_loss(self.truth, answer))
        error, spread = answer - self.truth, self.truth.std()
        root = math.sqrt(np.mean(error**2))
        return float(r2_score(self.truth, answer)), float(np.mean(np.abs(error)) / spread), root / float(spread)


class Peer:
    """A process that fits one library's models."""

    def __init__(self, library: str, stack: ExitStack) -> None:
        python = HERE.parent / ENVIRONMENTS[library] / "bin" / "python"
        if not python.exists():
            venv.create(python.parent.parent, with_pip=True)
            command = [python, "-m", "pip", "install", "--quiet", "--requirement", HERE / REQUIREMENTS[library]]
            subprocess.run(command, check=True)
        self.library = library
        self.process = stack.enter_context(
            subprocess.Popen(
                [python, HERE / "peer_worker.py"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
            )
        )

    def fit(self, split: Split, epsilon: float, seed: int) -> tuple[NDArray[np.float64], float]:
        """Return what the fitted model says about the held-out records, and the seconds that its fit took."""
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        target = split.table.schema.columns[str(split.table.schema.target)]
        task: dict[str, Any] = {"peer": self.library, "epsilon": epsilon, "delta": DELTA, "seed": seed}
        task |= {"regression": split.table.regression}
        if split.table.regression:
            task["range"] = [target.low, target.high]
        if self.library == "ebm":
            (X, kinds, bounds), held_out = split.cleaned(split.training), split.cleaned(split.testing)[0]
            task |= {"types": kinds, "bounds": bounds}
        else:
            X, held_out = coded(split)
        with tempfile.TemporaryDirectory() as folder:
            for name, array in (("X", X), ("y", split.y), ("held_out", held_out)):
                np.save(f"{folder}/{name}.npy", np.asarray(array))
            self.process.stdin.write(json.dumps(task | {"folder": folder}) + "\n")
            self.process.stdin.flush()
            seconds = json.loads(self.process.stdout.readline())
            return np.load(f"{folder}/scores.npy"), float(seconds)


def coded(split: Split) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return rows of norm at most 1 by the public encoder, without curves: what peers without a coding are given."""
    encoder = PublicEncoder(split.table.schema)
    return tuple(np.asarray(encoder.transform(cells)) for cells in (split.training, split.testing))  # type: ignore[return-value]


def ordinary(split: Split) -> Iterator[tuple[str, Any]]:
    """Yield ordinary models of the cleaned features, without privacy."""
    from sklearn.compose import make_column_transformer
    from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor
    from sklearn.linear_model import LogisticRegression, Ridge
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import OneHotEncoder, StandardScaler

    _, kinds, _ = split.cleaned({name: cells[:1] for name, cells in split.training.items()})
    nominal = [place for place, kind in enumerate(kinds) if kind == "nominal"]
    numbers = [place for place, kind in enumerate(kinds) if kind != "nominal"]
    code = make_column_transformer(
        (StandardScaler(), numbers), (OneHotEncoder(handle_unknown="ignore"), nominal), sparse_threshold=0.0
    )
    if split.table.regression:
        yield "scikit-learn, no privacy", make_pipeline(code, Ridge())
        yield "boosting, no privacy", HistGradientBoostingRegressor(categorical_features=nominal)
    else:
        yield "scikit-learn, no privacy", make_pipeline(code, LogisticRegression(max_iter=2000))
        yield "boosting, no privacy", HistGradientBoostingClassifier(categorical_features=nominal)


def ours(split: Split, repeat: int) -> Iterator[Line]:
    """Fit tacit's models with their defaults."""
    kind = PrivateLinearRegression if split.table.regression else PrivateLogisticRegression
    budgets = [("tacit, pure", e, 0.0) for e in EPSILONS] + [("tacit, with a delta", e, DELTA) for e in EPSILONS]
    training, testing = split.records(split.training), split.records(split.testing)
    for name, epsilon, delta in [*budgets, ("tacit, epsilon = inf", math.inf, 0.0)]:
        model = kind(epsilon, delta, random_state=zlib.crc32(f"{name} {epsilon} {repeat}".encode()))
        start = time.perf_counter()
        model.fit(training)
        seconds = time.perf_counter() - start
        if split.table.regression:
            answer = model.predict(testing)
        else:
            # The benchmark's second class is the second that the schema declares; the model's may be the first.
            second = split.table.schema.classes[1]
            answer = model.predict_proba(testing)[:, list(model.classes_).index(second)]
        yield line(split, name, epsilon, delta, repeat, answer, seconds)


def plain(split: Split, repeat: int) -> Iterator[Line]:
    """Fit the models without privacy."""
    X, held_out = split.cleaned(split.training)[0], split.cleaned(split.testing)[0]
    for name, model in ordinary(split):
        start = time.perf_counter()
        model.fit(X, split.y)
        seconds = time.perf_counter() - start
        answer = model.predict(held_out) if split.table.regression else model.predict_proba(held_out)[:, 1]
        yield line(split, name, math.inf, 0.0, repeat, answer, seconds)
    if split.table.regression:
        guess = np.full(len(split.truth), split.y.mean())
    else:
        guess = np.full(len(split.truth), np.mean(split.y == 1))
    yield line(split, "always the same", math.inf, 0.0, repeat, guess, 0.0)


def private_peers(split: Split, repeat: int, peers: dict[str, Peer]) -> Iterator[Line]:
    """Fit the private peers."""
    for name, (library, share) in PEERS.items():
        for epsilon in EPSILONS:
            answer, seconds = peers[library].fit(split, epsilon * share, 1_000 * repeat + round(100 * epsilon))
            delta = DELTA if library == "ebm" else 0.0
            yield line(split, name, epsilon, delta, repeat, answer, seconds)


def line(
    split: Split, model: str, epsilon: float, delta: float, repeat: int, answer: NDArray[Any], seconds: float
) -> Line:
    """Score an answer."""
    scores = (round(score, 5) for score in split.scores(np.asarray(answer, dtype=float)))
    source = SOURCE if model.startswith("tacit") else ""
    return Line(split.table.name, model, epsilon, delta, repeat, len(split.y), *scores, round(seconds, 3), source)


def read(path: Path) -> list[Line]:
    """Read the lines of earlier runs."""
    if not path.exists():
        return []
    types = {item.name: item.type for item in fields(Line)}
    with path.open(newline="") as file:
        return [Line(**{name: types[name](text) for name, text in row.items()}) for row in csv.DictReader(file)]


def write(path: Path, lines: list[Line]) -> None:
    """Write all lines, sorted."""
    order = {name: place for place, name in enumerate(BY_NAME)}
    with path.open("w", newline="") as file:
        writer = csv.DictWriter(file, [item.name for item in fields(Line)], lineterminator="\n")
        writer.writeheader()
        for each in sorted(lines, key=lambda each: (order[each.table], each.model, each.epsilon, each.repeat)):
            writer.writerow(asdict(each))


def main(arguments: list[str]) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--repeats", type=int, default=10)
    parser.add_argument("--only", default=",".join(BY_NAME))
    parser.add_argument("--models", choices=("ours", "peers", "all"), default="all")
    parser.add_argument("--resume", action="store_true", help="keep fits that tables.csv holds already")
    parser.add_argument("--report", action="store_true", help="only write the page of tables.csv anew")
    parser.add_argument("--results", type=Path, default=RESULTS / "tables.csv")
    options = parser.parse_args(arguments)
    console = Console()
    wanted = options.only.split(",")
    lines = read(options.results)
    if not options.report:
        mine = ("ours", "all")

        def again(each: Line) -> bool:
            own = each.model.startswith("tacit")
            asked = options.models in mine if own else options.models != "ours"
            stale = each.source != SOURCE if own else False
            return each.table in wanted and asked and (stale or not options.resume)

        lines = [each for each in lines if not again(each)]
        run(options, wanted, lines, console)
    text = page(lines)
    options.results.with_suffix(".md").write_text(text, "utf-8")
    console.print(text)


def run(options: argparse.Namespace, wanted: list[str], lines: list[Line], console: Console) -> None:
    """Fit what is asked for and not there yet; write after every split."""
    with ExitStack() as stack, Progress(console=console) as progress:
        peers = {} if options.models == "ours" else {name: Peer(name, stack) for name in REQUIREMENTS}
        bar = progress.add_task("fits", total=options.repeats * len(wanted))
        for repeat in range(options.repeats):
            for name in wanted:
                there = {
                    each.model.startswith("tacit") for each in lines if (each.table, each.repeat) == (name, repeat)
                }
                try:
                    split = Split.of(BY_NAME[name], repeat)
                except MissingData as missing:
                    console.print(f"Skipping {name}: {missing}")
                    continue
                if options.models != "peers" and True not in there:
                    lines += ours(split, repeat)
                if options.models != "ours" and False not in there:
                    lines += [*plain(split, repeat), *private_peers(split, repeat, peers)]
                write(options.results, lines)
                progress.advance(bar)


if __name__ == "__main__":
    main(sys.argv[1:])
