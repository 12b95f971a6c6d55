"""Learners from statistical queries: planted conjunctions, the oracle's three plans, and real records.

Usage: python benchmarks/queries.py [conjunctions] [plans] [records] [--repeats 200]

Without a name all sections are made (about half an hour on one core); a named one replaces its part of the results.
"""

import argparse
import io
import lzma
import math
import re
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from datasets import FOLDER, MissingData
from numpy.typing import NDArray
from planted import check_packed, coin_population, hard_population, repetition
from scipy import stats
from sklearn.datasets import load_svmlight_file
from sklearn.naive_bayes import BernoulliNB, CategoricalNB
from sklearn.tree import DecisionTreeClassifier

from tacit.data import adult_schema, load_adult
from tacit.queries import StatisticalOracle, StatisticalQuery
from tacit.queries.learners.decision_list import DecisionListClassifier
from tacit.queries.learners.domains import declared_features
from tacit.queries.learners.naive_bayes import SQNaiveBayes
from tacit.queries.learners.tree import SQDecisionTree
from tacit.queries.sample_sizes import records_for_conjunction

RESULTS = Path(__file__).resolve().parent / "results" / "queries.md"
EPSILONS = (0.1, 1.0, 10.0)
LEARNERS: dict[str, Any] = {
    "naive Bayes": SQNaiveBayes,
    "decision list": DecisionListClassifier,
    "decision tree": SQDecisionTree,
}


def conjunctions(repeats: int) -> Iterator[str]:
    """Make the section on planted conjunctions."""
    check_packed()
    yield f"Error asked for 0.1, confidence 0.95, epsilon 1 (pure), {repeats} repetitions a case; n is what"
    yield "`records_for_conjunction` says, and errors are exact over the population. At least 95 % of the repetitions"
    yield "must keep the error. *Hard*: each feature that is not planted is false just often enough that keeping it is"
    yield "a mistake; with a tenth of the records it is made. *Coins*: independent fair coins. Both plant `x0 and x1`."
    yield ""
    yield "| features | wrong labels | n | population | error ≤ 0.1 | largest error | with n/10 | seconds a fit |"
    yield "|---|---|---|---|---|---|---|---|"
    for features in (20, 50):
        for rate in (0.0, 0.2):
            n = records_for_conjunction(features, error=0.1, epsilon=1.0, noise_rate=rate)
            for name, population in (("hard", hard_population), ("coins", coin_population)):
                start = time.perf_counter()
                errors = np.array([repetition(population, features, n, rate, seed) for seed in range(repeats)])
                seconds = (time.perf_counter() - start) / repeats
                fewer = [repetition(population, features, n // 10, rate, seed) for seed in range(repeats)]
                yield (
                    f"| {features} | {rate:.0%} | {n:,} | {name} | {int((errors <= 0.1).sum())} of {repeats} "
                    f"| {errors.max():.4f} | {sum(error <= 0.1 for error in fewer)} of {repeats} | {seconds:.2f} |"
                )


def plans(repeats: int) -> Iterator[str]:
    """Make the section on the three plans."""
    yield "100 averages of fair coins over 100,000 records, epsilon 1 (delta 1e-6 for the Gaussian): the largest of the"
    yield f"100 errors, {repeats} repetitions. It must stay below the bound in at least 95 % of them."
    yield ""
    yield "| plan | bound | median | 95 % quantile | largest | within the bound |"
    yield "|---|---|---|---|---|---|"
    rng = np.random.default_rng(11)
    queries = [StatisticalQuery(lambda t, j=j: t[f"x{j}"]) for j in range(100)]
    worst: dict[str, list[float]] = {"split": [], "shared": [], "gaussian": []}
    bounds: dict[str, float] = {}
    for seed in range(repeats):
        table = (rng.integers(0, 2, (100_000, 100), dtype=np.int8), None)
        for name, found in worst.items():
            oracle = StatisticalOracle(table, bounds=(0, 1), random_state=seed)
            if name == "split":
                talk = oracle.conversation(100, epsilon=1.0, plan="split")
                answers = [talk.ask(query) for query in queries]
            else:
                answers = oracle.ask_all(queries, epsilon=1.0, delta=1e-6 if name == "gaussian" else 0.0)
            bounds[name] = answers[0].plan.tolerance
            found.append(max(abs(answer.value - 0.5) for answer in answers))
    names = {
        "split": "(i) split, the whole epsilon each",
        "shared": "(ii) all records, Laplace",
        "gaussian": "(iii) all records, Gaussian",
    }
    for name, found in worst.items():
        errors, bound = np.array(found), bounds[name]
        yield (
            f"| {names[name]} | {bound:.4f} | {np.median(errors):.4f} | {np.quantile(errors, 0.95):.4f} "
            f"| {errors.max():.4f} | {int((errors <= bound).sum())} of {repeats} |"
        )


@dataclass(frozen=True)
class Task:
    """Records in a table, how a learner is told about them, and how many there are."""

    name: str
    table: Any
    labels: NDArray[Any]
    declared: dict[str, Any]

    def rows(self, places: NDArray[np.intp]) -> Any:
        """Return some of the records."""
        if isinstance(self.table, dict):
            return {name: column[places] for name, column in self.table.items()}
        return self.table[places]

    @cached_property
    def codes(self) -> tuple[NDArray[np.intp], NDArray[np.float64]]:
        """Return codes, and the same with a column for each level where levels have no order: for scikit-learn."""
        if not isinstance(self.table, dict):
            return self.table.astype(np.intp), self.table
        features = declared_features((), **self.declared)
        codes = np.column_stack([feature.encode(self.table[feature.name]) for feature in features])
        wide = [
            codes[:, [j]] if feature.ordered else (codes[:, [j]] == np.arange(feature.size))
            for j, feature in enumerate(features)
        ]
        return codes, np.hstack(wide).astype(np.float64)


def tasks() -> Iterator[Task]:
    adult, schema = load_adult("all", "keep"), adult_schema()
    yield Task("Adult through its schema", adult, schema.labels(adult), {"schema": schema})
    parts = []
    for name in ("a9a", "a9a.t"):
        path = FOLDER / "libsvm" / f"{name}.xz"
        if not path.exists():
            raise MissingData(f"libsvm/{name}.xz was not found. Point TACIT_DATA to the folder that holds it.")
        parts.append(load_svmlight_file(io.BytesIO(lzma.decompress(path.read_bytes())), n_features=123))
    rows = np.vstack([part[0].toarray() for part in parts])
    yield Task("a9a, 123 two-valued columns", rows, np.concatenate([part[1] for part in parts]), {})


def records(repeats: int) -> Iterator[str]:
    """Make the section on real records."""
    yield f"Test accuracy in percent, mean ± standard error over {repeats} fresh splits (80/20) and noise"
    yield "(seeded, so rehearsals). Defaults throughout: 8 bins a number, smoothing 1, at most 5 rules or 4 levels."
    yield "δ = 1/n² where there is one. *Without privacy* is the same learner at an infinite epsilon; next to it"
    yield "scikit-learn's: BernoulliNB or CategoricalNB, and DecisionTreeClassifier of depth 4 (one column a level"
    yield "where levels have no order)."
    yield ""
    yield "No parameter was chosen by these accuracies, but three rules were written after a look at some of them: that"
    yield "a list takes the literal with the best gain (at first it took the one true of most records), that a literal"
    yield "needs more records than noise alone would show, and that fewer levels or rules are asked for where noise"
    yield "would drown them. Their constants are argued for in literals.py."
    for task in tasks():
        yield ""
        yield f"### {task.name}"
        yield ""
        most = _percent([majority(task, seed) for seed in range(repeats)])
        yield f"{len(task.labels):,} records; the majority class has {most}."
        yield ""
        yield "| | noise | " + " | ".join(f"ε = {e:g}" for e in EPSILONS) + " | without privacy | scikit-learn |"
        yield "|---|---|" + "---|" * (len(EPSILONS) + 2)
        for name, learner in LEARNERS.items():
            plain = _percent([score(task, learner, math.inf, 0.0, seed) for seed in range(repeats)])
            peer = _percent([found for seed in range(repeats) if (found := counterpart(task, name, seed)) is not None])
            for noise in ("pure", "(ε, δ)"):
                cells = [
                    _percent(
                        [score(task, learner, e, 0.0 if noise == "pure" else 1.0, seed) for seed in range(repeats)]
                    )
                    for e in EPSILONS
                ]
                yield f"| {name} | {noise} | {' | '.join(cells)} | {plain} | {peer} |"
        yield ""
        yield "What each asks at most at ε = 1, pure, all rounds for one charge:"
        yield ""
        n, width = int(0.8 * len(task.labels)), None if task.declared else task.table.shape[1]
        for name, learner in LEARNERS.items():
            for number, plan in enumerate(learner(1.0, **task.declared).preview(n, width), 1):
                yield f"- {name}, round {number}: {plan.size} numbers within {plan.tolerance:.3g}"


def split(task: Task, seed: int) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    order = np.random.default_rng(seed).permutation(len(task.labels))
    cut = int(0.8 * len(order))
    return order[:cut], order[cut:]


def score(task: Task, learner: Any, epsilon: float, delta: float, seed: int) -> float:
    """Fit on one split and return the test accuracy; `delta` 1 stands for 1/n^2."""
    train, test = split(task, seed)
    delta /= len(train) ** 2
    model = learner(epsilon, delta, **task.declared, random_state=None if math.isinf(epsilon) else seed)
    model.fit(task.rows(train), task.labels[train])
    return float(model.score(task.rows(test), task.labels[test]))


def counterpart(task: Task, name: str, seed: int) -> float | None:
    """Return the test accuracy of scikit-learn's learner of the same kind, if there is one."""
    train, test = split(task, seed)
    codes, wide = task.codes
    if name == "naive Bayes":
        peer = CategoricalNB(min_categories=codes.max(axis=0) + 1) if task.declared else BernoulliNB()
        return float(peer.fit(codes[train], task.labels[train]).score(codes[test], task.labels[test]))
    if name == "decision tree":
        peer = DecisionTreeClassifier(max_depth=4, random_state=0)
        return float(peer.fit(wide[train], task.labels[train]).score(wide[test], task.labels[test]))
    return None


def majority(task: Task, seed: int) -> float:
    train, test = split(task, seed)
    values, counts = np.unique(task.labels[train], return_counts=True)
    return float(np.mean(task.labels[test] == values[counts.argmax()]))


def _percent(scores: list[float]) -> str:
    return f"{100 * np.mean(scores):.2f} ± {100 * stats.sem(scores):.2f}" if scores else ""


SECTIONS: dict[str, tuple[str, Callable[[int], Iterator[str]], int]] = {
    "conjunctions": ("Planted conjunctions", conjunctions, 200),
    "plans": ("The three plans of an oracle", plans, 200),
    "records": ("Real records", records, 10),
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("sections", nargs="*", choices=[*SECTIONS, []])
    parser.add_argument("--repeats", type=int)
    chosen = parser.parse_args()
    made = {}
    for key, (title, make, repeats) in SECTIONS.items():
        if not chosen.sections or key in chosen.sections:
            lines = []
            for line in make(chosen.repeats or repeats):
                lines.append(line)
                print(line, flush=True)
            made[title] = "\n".join(lines)
    known = _written() | made
    text = (
        "# Learners from statistical queries\n\nMade by `python benchmarks/queries.py`, which says how at its head.\n"
    )
    titles = [title for title, _, _ in SECTIONS.values() if title in known]
    RESULTS.write_text(text + "".join(f"\n## {title}\n\n{known[title]}\n" for title in titles), encoding="utf-8")


def _written() -> dict[str, str]:
    """Read the sections that are there already."""
    text = RESULTS.read_text(encoding="utf-8") if RESULTS.exists() else ""
    parts = re.split(r"^## (.*)\n", text, flags=re.MULTILINE)[1:]
    return {title: body.strip() for title, body in zip(parts[::2], parts[1::2], strict=True)}


if __name__ == "__main__":
    main()
