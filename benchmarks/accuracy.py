"""Test accuracy of private logistic regression with its defaults, next to the published figures of its peers.

    python benchmarks/accuracy.py [--repeats 10] [--only adult-104,mnist] [--jobs 2] [--resume | --report]

Writes results/accuracy.csv (every fit, as soon as it is made), accuracy.md (tables and verdicts) and accuracy.svg.
With --only, the other settings keep the fits that accuracy.csv already holds. Nothing is tuned: every private fit is
`PrivateLogisticRegression(epsilon, delta)` with its defaults, except that the rows "noisy gradients" ask for
perturbation="gradient". Seeds make the fits rehearsals: repeatable, with the law of a private fit.
"""

import argparse
import csv
import math
import sys
import time
import zlib
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import asdict, fields
from functools import cache
from pathlib import Path
from typing import Any

import datasets
import numpy as np
from accuracy_page import page, picture
from accuracy_settings import BY_NAME, GRADIENT, MAJORITY, PLAIN, PURE, RESULTS, SKLEARN, SOURCE, Fit, Setting
from rich.console import Console
from rich.markdown import Markdown
from rich.progress import Progress
from sklearn.linear_model import LogisticRegression
from threadpoolctl import threadpool_limits

from tacit.erm.classification import PrivateLogisticRegression


@cache
def loaded(name: str) -> datasets.Labelled:
    """Read a data set once a process."""
    return BY_NAME[name].load()


def one_repeat(name: str, repeat: int) -> list[Fit]:
    """Split afresh, fit every model on four fifths and score it on the rest."""
    setting, data = BY_NAME[name], loaded(name)
    rng = np.random.default_rng([zlib.crc32(name.encode()), repeat])
    chosen = rng.permutation(len(data.labels))[: setting.records]
    held_out, kept = np.split(chosen, [-(-len(chosen) // 5)])
    X, y, X_test, y_test = data.rows[kept], data.labels[kept], data.rows[held_out], data.labels[held_out]
    fits = []
    for label, epsilon, delta, model in models(setting, data.classes, len(kept), rng):
        if repeat >= setting.repeats_of(label):
            continue
        start = time.perf_counter()
        with threadpool_limits(1):
            predicted = model.fit(X, y).predict(X_test)
        seconds = time.perf_counter() - start
        accuracy = float(np.mean(predicted == y_test))
        fits.append(
            Fit(name, label, epsilon, delta, repeat, len(kept), X.shape[1], accuracy, round(seconds, 3), SOURCE)
        )
    values, counts = np.unique(y, return_counts=True)
    majority = float(np.mean(y_test == values[counts.argmax()]))
    return [*fits, Fit(name, MAJORITY, 0.0, 0.0, repeat, len(kept), X.shape[1], majority, 0.0, SOURCE)]


def models(
    setting: Setting, classes: list[Any], count: int, rng: np.random.Generator
) -> Iterator[tuple[str, float, float, Any]]:
    """Yield label, epsilon, delta and the model, all with their defaults."""
    for epsilon in setting.epsilons:
        for label in setting.private:
            delta = 0.0 if label == PURE else setting.delta_for(count)
            yield label, epsilon, delta, _private(epsilon, delta, label, classes, rng)
    yield PLAIN, math.inf, 0.0, _private(math.inf, 0.0, PLAIN, classes, rng)
    yield SKLEARN, math.inf, 0.0, LogisticRegression(max_iter=1000)


def _private(
    epsilon: float, delta: float, label: str, classes: list[Any], rng: np.random.Generator
) -> PrivateLogisticRegression:
    return PrivateLogisticRegression(
        epsilon,
        delta,
        perturbation="gradient" if label == GRADIENT else "auto",
        data_norm=1.0,
        classes=classes,
        random_state=int(rng.integers(2**31)),
    )


def run(tasks: list[tuple[str, int]], jobs: int, console: Console, keep: Callable[[list[Fit]], None]) -> None:
    """Run repeats of settings side by side, and hand over the fits of each as soon as it is done."""
    with ProcessPoolExecutor(jobs) as pool, Progress(console=console) as progress:
        counts = Counter(name for name, _ in tasks)
        bars = {name: progress.add_task(name, total=count) for name, count in counts.items()}
        waiting = {pool.submit(one_repeat, *task): task[0] for task in tasks}
        for done in as_completed(waiting):
            keep(done.result())
            progress.advance(bars[waiting[done]])


def present(names: list[str], console: Console) -> list[str]:
    """Leave out, with a message, the settings whose data is missing."""
    found = []
    for name in names:
        try:
            datasets.require(name.split("-")[0])
            found.append(name)
        except datasets.MissingData as missing:
            console.print(f"[yellow]Skipping {name}:[/] {missing}")
    return found


def read(path: Path) -> list[Fit]:
    """Read the fits of earlier runs."""
    if not path.exists():
        return []
    types = {item.name: item.type for item in fields(Fit)}
    with path.open(newline="") as file:
        return [Fit(**{name: types[name](text) for name, text in row.items()}) for row in csv.DictReader(file)]


def write(path: Path, fits: list[Fit]) -> None:
    """Write all fits, sorted."""
    order = {name: place for place, name in enumerate(BY_NAME)}
    with path.open("w", newline="") as file:
        writer = csv.DictWriter(file, [item.name for item in fields(Fit)], lineterminator="\n")
        writer.writeheader()
        for fit in sorted(fits, key=lambda fit: (order[fit.setting], fit.model, fit.epsilon, fit.repeat)):
            writer.writerow(asdict(fit))


def main(arguments: list[str]) -> None:
    """Run the benchmark and write its results."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--repeats", type=int, default=10)
    parser.add_argument("--only", default=",".join(BY_NAME), help="settings, separated by commas; or their beginnings")
    parser.add_argument("--jobs", type=int, default=2, help="processes, each with one thread")
    parser.add_argument("--resume", action="store_true", help="keep the repeats of the same source in accuracy.csv")
    parser.add_argument("--report", action="store_true", help="only write the page and picture of accuracy.csv anew")
    options = parser.parse_args(arguments)
    console = Console()
    if options.report:
        report(read(RESULTS / "accuracy.csv"), console)
        return
    wanted = [name for name in BY_NAME if name.startswith(tuple(options.only.split(",")))]
    names = present(wanted, console)
    RESULTS.mkdir(exist_ok=True)
    earlier = read(RESULTS / "accuracy.csv")
    fits = [fit for fit in earlier if fit.setting not in names or (options.resume and fit.source == SOURCE)]
    there = {(fit.setting, fit.repeat) for fit in fits}
    tasks = [(name, repeat) for repeat in range(options.repeats) for name in names if (name, repeat) not in there]

    def keep(found: list[Fit]) -> None:
        fits.extend(found)
        write(RESULTS / "accuracy.csv", fits)

    run(tasks, options.jobs, console, keep)
    report(fits, console)


def report(fits: list[Fit], console: Console) -> None:
    """Write and print the page, and draw the picture."""
    text = page(fits)
    (RESULTS / "accuracy.md").write_text(text, "utf-8")
    picture(fits, RESULTS / "accuracy.svg")
    console.print(Markdown(text))


if __name__ == "__main__":
    main(sys.argv[1:])
