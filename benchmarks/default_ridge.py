"""Which default ridge for pure objective perturbation, ordinary logistic loss: no data set of the accuracy tables.

Usage: python benchmarks/default_ridge.py

Compares n alpha = max(2 R^2/epsilon, c R sigma), sigma = 2 R sqrt(d + 1)/epsilon the noise in the sum of gradients,
for a constant c = 1/2 and for c = 3 sigma d/(n R) kept between 1/10 and 1: little ridge where the records outweigh the
noise, more where they do not. The second rule was found on 24 other synthetic problems (normal and correlated
features). These 16, half of them with binary features, come from another generator; four variants of the rule were
looked at on them too.
"""

import math
from pathlib import Path

import numpy as np
from scipy import stats
from sklearn.datasets import make_classification

from tacit import PrivateERM
from tacit.erm import Logistic
from tacit.estimators.parameters import INTERCEPT

RESULTS = Path(__file__).resolve().parent / "results" / "default_ridge.md"
EPSILONS = (0.1, 0.316, 1.0, 3.16)
TESTS = 15_000
DRAWS = 4


def problems() -> list[tuple[int, int, int]]:
    """Return (records, features, seed) of every problem."""
    rng = np.random.default_rng(77)
    return [
        (count, int(np.exp(rng.uniform(np.log(8), np.log(150)))), int(seed))
        for count in (1_500, 5_000, 15_000, 40_000)
        for seed in rng.integers(10**6, size=4)
    ]


def records(count: int, features: int, seed: int, binary: bool) -> tuple[np.ndarray, np.ndarray]:
    """Return rows of norm 1 and labels: a mixture of clusters, some features redundant, some labels wrong."""
    rng = np.random.default_rng(seed)
    informative = max(2, int(features * rng.uniform(0.2, 0.8)))
    X, y = make_classification(
        count + TESTS,
        features,
        n_informative=informative,
        n_redundant=min(features - informative, features // 5),
        n_clusters_per_class=int(rng.integers(1, 3)),
        class_sep=float(rng.uniform(0.5, 1.5)),
        flip_y=float(rng.uniform(0, 0.15)),
        weights=[float(rng.uniform(0.5, 0.85))],
        random_state=seed,
    )
    X = np.greater(X, rng.normal(size=features) * X.std(axis=0)).astype(float) if binary else X
    return X / np.maximum(np.linalg.norm(X, axis=1, keepdims=True), 1e-12), y


def ridges(count: int, features: int, epsilon: float) -> tuple[float, float]:
    """Return the ridge of either rule."""
    norm, dimension = math.hypot(1, INTERCEPT), features + 1
    sigma = 2 * norm * math.sqrt(dimension + 1) / epsilon
    share = min(1.0, max(0.1, 3 * sigma * dimension / (count * norm)))
    floor = 2 * norm**2 / epsilon
    return max(floor, norm * sigma / 2) / count, max(floor, share * norm * sigma) / count


def gains(number: int, count: int, features: int, seed: int) -> list[float]:
    """Return how many points of accuracy the second rule gains over the first, for every epsilon."""
    X, y = records(count, features, seed, binary=number % 2 == 1)
    found = []
    for epsilon in EPSILONS:
        scores = [
            np.mean(
                [
                    PrivateERM(Logistic(), epsilon, data_norm=1.0, alpha=alpha, classes=[0, 1], random_state=draw)
                    .fit(X[:count], y[:count])
                    .predict(X[count:])
                    == y[count:]
                    for draw in range(DRAWS)
                ]
            )
            for alpha in ridges(count, features, epsilon)
        ]
        found.append(100 * float(scores[1] - scores[0]))
    return found


def main() -> None:
    table = np.array([gains(number, *problem) for number, problem in enumerate(problems())])
    means, errors = table.mean(axis=0), stats.sem(table, axis=0)
    lines = [
        "# The default ridge of pure objective perturbation",
        "",
        "Made by `python benchmarks/default_ridge.py`; what is compared is said at its head. Points of test accuracy",
        f"that the second rule gains, mean ± standard error over {len(table)} synthetic problems, {DRAWS} draws each",
        "(seeded: rehearsals).",
        "",
        "| epsilon | " + " | ".join(f"{epsilon:g}" for epsilon in EPSILONS) + " | all |",
        "|---|" + "---|" * (len(EPSILONS) + 1),
        "| gain | "
        + " | ".join(f"{mean:+.2f} ± {error:.2f}" for mean, error in zip(means, errors, strict=True))
        + f" | {table.mean():+.2f} ± {stats.sem(table.mean(axis=1)):.2f} |",
        "",
        f"Better on average over the four epsilons on {int((table.mean(axis=1) > 0).sum())} of {len(table)} problems.",
    ]
    RESULTS.write_text("\n".join(lines) + "\n", encoding="utf-8")
    print("\n".join(lines))


if __name__ == "__main__":
    main()
