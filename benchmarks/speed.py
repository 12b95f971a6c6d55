"""How long does a certified fit take? Side by side with scikit-learn's LogisticRegression, in one process.

Both minimise the same objective, mean logistic loss + (alpha/2)|w|^2 without an intercept, with
scikit-learn's default ridge C = 1/(n alpha) = 1. tacit's time includes measuring and clipping the rows, and
its solution is certified: |gradient| <= 1e-5 R/n, rounding errors included. scikit-learn stops at its
default tolerance. Contenders take turns, and medians are compared.

    python benchmarks/speed.py            # everything; writes benchmarks/results/speed.md and speed.svg
    python benchmarks/speed.py --quick    # a tenth of the rows, nothing written
"""

import argparse
import math
import statistics
import time
import tracemalloc
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from many import solve_many
from sklearn.linear_model import LogisticRegression

from tacit.erm import Logistic, Objective, Rows, solve

RESULTS = Path(__file__).parent / "results"
REPEATS = 5
NORM = 12.0
DRAWS = 200


@dataclass(frozen=True)
class Problem:
    """Rows and targets, and a ridge."""

    X: np.ndarray
    y: np.ndarray
    alpha: float

    @property
    def tolerance(self) -> float:
        """The gradient norm that tacit certifies."""
        return 1e-5 * NORM / len(self.y)

    def objective(self) -> Objective:
        """Clip the rows and pose the problem."""
        return Objective(Rows.clipped(self.X, NORM), self.y, Logistic(), self.alpha)

    def certified(self) -> np.ndarray:
        """Solve with tacit."""
        return solve(self.objective(), self.tolerance).coefficient

    def sklearn(self, solver: str) -> np.ndarray:
        """Solve with scikit-learn."""
        ridge = 1.0 / (self.alpha * len(self.y))
        model = LogisticRegression(C=ridge, fit_intercept=False, solver=solver, max_iter=100_000)
        return model.fit(self.X, self.y).coef_[0]

    def one_draw(self) -> None:
        """Solve for one draw of the noise."""
        solve(self.objective().with_linear(noise(self, 1)[0]), self.tolerance)

    def many_draws(self) -> None:
        """Solve for many draws of the noise together."""
        solve_many(self.objective(), noise(self, DRAWS), self.tolerance)


def problem(rows: int, features: int, smallest_scale: float = 1.0) -> Problem:
    rng = np.random.default_rng(0)
    X = rng.standard_normal((rows, features))
    X *= np.geomspace(1.0, smallest_scale, features) * min(1.0, np.sqrt(50 / features))
    weights = rng.standard_normal(features) / np.geomspace(1.0, smallest_scale, features) / np.sqrt(features)
    chances = 1.0 / (1.0 + np.exp(-X @ weights))
    return Problem(X, np.where(rng.random(rows) < chances, 1.0, -1.0), alpha=1.0 / rows)


def noise(problem: Problem, count: int) -> np.ndarray:
    """Draw what objective perturbation at epsilon 1 adds: uniform directions, Gamma lengths."""
    rng = np.random.default_rng(1)
    features = problem.X.shape[1]
    directions = rng.standard_normal((count, features))
    directions /= np.linalg.norm(directions, axis=1, keepdims=True)
    return directions * rng.gamma(features, 2 * NORM, size=(count, 1))


def medians(contenders: dict[str, Callable[[], object]], repeats: int = REPEATS) -> dict[str, float]:
    """Return the median seconds of each contender; they take turns, after a warm-up."""
    times: dict[str, list[float]] = {name: [] for name in contenders}
    for turn in range(repeats + 1):
        for name, run in contenders.items():
            start = time.perf_counter()
            run()
            if turn:
                times[name].append(time.perf_counter() - start)
    return {name: statistics.median(values) for name, values in times.items()}


def peak_memory(run: Callable[[], object]) -> float:
    """Return the most megabytes that a run allocates at a time."""
    tracemalloc.start()
    run()
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return peak / 1e6


@dataclass(frozen=True)
class Line:
    """One line of the table: what is compared, the two figures, and the demanded ratio."""

    what: str
    ours: float
    theirs: float
    unit: str
    demanded: float

    @property
    def ratio(self) -> float:
        """Ours over theirs."""
        return self.ours / self.theirs

    def __str__(self) -> str:
        return (
            f"| {self.what} | {self.ours:.3g} {self.unit} | {self.theirs:.3g} {self.unit} | {self.ratio:.2f} "
            f"| at most {self.demanded:g} | {'yes' if self.ratio <= self.demanded else 'NO'} |"
        )


def against_sklearn(rows: int) -> list[Line]:
    lines = []
    for name, smallest_scale, limits in (
        ("well-conditioned", 1.0, {"lbfgs": 1.2, "newton-cholesky": 0.4}),
        ("column scales 1 to 0.01", 0.01, {"lbfgs": 0.15, "newton-cholesky": 0.4}),
    ):
        data = problem(rows, 50, smallest_scale)
        contenders: dict[str, Callable[[], object]] = {"certified": data.certified}
        contenders |= {solver: (lambda s=solver, d=data: d.sklearn(s)) for solver in limits}
        times = medians(contenders)
        for solver, limit in limits.items():
            what = f"{rows:,} x 50, {name}: certified fit / {solver}"
            lines.append(Line(what, times["certified"], times[solver], "s", limit))
            print(lines[-1], flush=True)
    return lines


def draws_and_memory(rows: int) -> list[Line]:
    # The default ridge of pure objective perturbation at epsilon 1, for which this noise is meant.
    data = replace(problem(rows, 50), alpha=NORM**2 * math.sqrt(51) / rows)
    times = medians({"one": data.one_draw, "many": data.many_draws}, repeats=5)
    megabytes = data.X.nbytes / 1e6
    held = megabytes + peak_memory(data.certified)
    held_many = megabytes + peak_memory(data.many_draws)
    return [
        Line(f"{rows:,} x 50: {DRAWS} draws / one draw", times["many"], times["one"], "s", 15.0),
        Line(f"{rows:,} x 50: memory of a fit, data included / data", held, megabytes, "MB", 1.3),
        Line(f"{rows:,} x 50: memory of {DRAWS} draws, data included / data", held_many, megabytes, "MB", 1.3),
    ]


def growth() -> dict[str, list[tuple[int, float, float, float, float]]]:
    """Return (size, our seconds, lbfgs's seconds, our megabytes, the data's) as rows and features grow."""
    sizes = {
        "rows": [(n, 50) for n in (10_000, 30_000, 100_000, 300_000, 1_000_000)],
        "features": [(50_000, d) for d in (10, 30, 100, 300, 1_000)],
    }
    found: dict[str, list[tuple[int, float, float, float, float]]] = {}
    for axis, shapes in sizes.items():
        found[axis] = []
        for rows, features in shapes:
            data = problem(rows, features)
            times = medians({"ours": data.certified, "lbfgs": lambda d=data: d.sklearn("lbfgs")}, repeats=3)
            size = rows if axis == "rows" else features
            memory = data.X.nbytes / 1e6
            found[axis].append((size, times["ours"], times["lbfgs"], memory + peak_memory(data.certified), memory))
    return found


def picture(found: dict[str, list[tuple[int, float, float, float, float]]], path: Path) -> None:
    import matplotlib

    matplotlib.use("svg")
    from matplotlib import pyplot as plt

    figure, axes = plt.subplots(2, 2, figsize=(9, 6.5), layout="constrained", sharex="col")
    fixed = {"rows": "50 features", "features": "50,000 rows"}
    for column, (axis, points) in zip(axes.T, found.items(), strict=True):
        size, ours, lbfgs, memory, data = np.array(points).T
        column[0].loglog(size, ours, "o-", label="tacit, certified")
        column[0].loglog(size, lbfgs, "s--", label="scikit-learn lbfgs, default tolerance")
        column[0].set(ylabel="seconds", title=f"growing {axis}, {fixed[axis]}")
        column[1].loglog(size, memory, "o-", label="tacit, data included")
        column[1].loglog(size, data, "k:", label="the data")
        column[1].set(xlabel=axis, ylabel="megabytes")
        for panel in column:
            panel.legend(frameon=False)
            panel.grid(alpha=0.3)
    figure.savefig(path, metadata={"Date": None})


def table(lines: list[Line]) -> str:
    head = "| what | tacit | against | ratio | demanded | met |\n|---|---|---|---|---|---|"
    return "\n".join([head, *map(str, lines)])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="a tenth of the rows, nothing written")
    quick = parser.parse_args().quick
    rows = 100_000 if quick else 1_000_000
    lines = draws_and_memory(rows)
    print(table(lines), flush=True)
    lines = against_sklearn(rows) + lines
    if quick:
        return
    RESULTS.mkdir(exist_ok=True)
    picture(growth(), RESULTS / "speed.svg")
    text = (
        "# Speed\n\nMade by `python benchmarks/speed.py` (one process, two cores; medians of runs that take "
        f"turns).\n{__doc__.split(chr(10) * 2)[1]}\n\n{table(lines)}\n\n![time and memory](speed.svg)\n"
    )
    (RESULTS / "speed.md").write_text(text)


if __name__ == "__main__":
    main()
