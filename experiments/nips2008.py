"""What the two experiments of the 2008 paper share: its data, cross-validation and methods, and the files written.

Everything here is a rehearsal: seeds, and public synthetic data. Nothing is charged and nothing is private.
"""

import argparse
import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np
import result_files
from numpy.typing import NDArray
from result_files import RESULTS

from tacit import Budget, PrivateLogisticRegression
from tacit.erm import Logistic, Objective, Rows
from tacit.erm.perturbations.perturbation import ObjectivePerturbation, OutputPerturbation
from tacit.erm.perturbations.setting import Setting
from tacit.releases import release

Floats = NDArray[np.float64]

LABEL = "rehearsal with seeds, public synthetic data"
DIMENSION, FOLDS, POINTS, ALPHA = 10, 5, 17_500, 0.01
SEED = 2008
METHODS = {"sensitivity": OutputPerturbation, "new": ObjectivePerturbation}
COLOURS = {"sensitivity": "#b5522b", "new": "#20639b", "standard": "#555555"}
NAMES = {"sensitivity": "sensitivity method (output)", "new": "new method (objective)", "standard": "no privacy"}


@dataclass(frozen=True)
class Fold:
    """Training and test records of one part of a cross-validation."""

    X: Floats
    y: Floats
    X_test: Floats
    y_test: Floats

    def first(self, count: int) -> "Fold":
        """Keep the first training records only."""
        return Fold(self.X[:count], self.y[:count], self.X_test, self.y_test)

    def swapped(self) -> "Fold":
        """Train on the test part and test on the training part."""
        return Fold(self.X_test, self.y_test, self.X, self.y)

    def error(self, coefficient: Floats) -> float:
        """Return the share of test records on the wrong side."""
        return float(np.mean(np.sign(self.X_test @ coefficient) != self.y_test))


@dataclass(frozen=True)
class Measured:
    """Test errors, one row for each fold and one column for each draw, and the ridge that was used."""

    errors: Floats
    ridge: float

    @property
    def mean(self) -> float:
        """The mean error."""
        return float(self.errors.mean())

    @property
    def spread(self) -> float:
        """The standard deviation over all folds and draws."""
        return float(self.errors.std())

    @property
    def fold_spread(self) -> float:
        """The standard deviation over folds of the mean over draws."""
        return float(self.errors.mean(axis=1).std(ddof=1))

    @property
    def standard_error(self) -> float:
        """How far chance in the noise may move the mean."""
        return self.spread / math.sqrt(self.errors.size)


def separable(count: int, seed: int = SEED) -> tuple[Floats, Floats]:
    """Draw from the unit sphere, leaving out what is within 0.03 of the separating plane."""
    X = _sphere(np.random.default_rng(seed), 2 * count)
    X = X[np.abs(X[:, 0]) >= 0.03][:count]
    return X, np.sign(X[:, 0])


def noisy(count: int, seed: int = SEED) -> tuple[Floats, Floats]:
    """Draw from the unit sphere; within 0.1 of the plane a label is flipped with chance 0.2."""
    generator = np.random.default_rng(seed)
    X = _sphere(generator, count)
    flipped = (np.abs(X[:, 0]) <= 0.1) & (generator.random(count) < 0.2)
    return X, np.where(flipped, -1.0, 1.0) * np.sign(X[:, 0])


DATA: dict[str, Callable[..., tuple[Floats, Floats]]] = {"separable": separable, "noisy": noisy}
TITLES = {"separable": "separable, margin 0.03", "noisy": "labels flipped with chance 0.2 within 0.1"}


def _sphere(generator: np.random.Generator, count: int) -> Floats:
    X = generator.normal(size=(count, DIMENSION))
    return np.asarray(X / np.linalg.norm(X, axis=1, keepdims=True))


def folds(X: Floats, y: Floats) -> Iterator[Fold]:
    """Yield five folds of consecutive records, which are in random order already."""
    for part in np.array_split(np.arange(len(y)), FOLDS):
        rest = np.setdiff1d(np.arange(len(y)), part)
        yield Fold(X[rest], y[rest], X[part], y[part])


def standard(parts: Sequence[Fold], alpha: float = ALPHA) -> Measured:
    """Fit the ordinary model on every fold."""
    model = PrivateLogisticRegression(epsilon=math.inf, data_norm=1.0, alpha=alpha, fit_intercept=False)
    errors = [[fold.error(model.fit(fold.X, fold.y).coef_[0])] for fold in parts]
    return Measured(np.array(errors), alpha)


def private(
    method: str, parts: Sequence[Fold], epsilon: float, draws: int, *, alpha: float = ALPHA, seed: int = 0
) -> Measured:
    """Fit on every fold with fresh noise, `draws` times altogether (rounded up to a multiple of the folds)."""
    each = math.ceil(draws / len(parts))
    errors = np.empty((len(parts), each))
    ridge = alpha
    for index, fold in enumerate(parts):
        rows = Rows.clipped(fold.X, 1.0)
        mechanism = METHODS[method](Budget(epsilon), Setting.of(rows, Logistic()), alpha)
        ridge = mechanism.alpha
        objective = Objective(rows, fold.y, Logistic(), ridge)
        for draw in range(each):
            state = np.random.default_rng([SEED, seed, index, draw])
            errors[index, draw] = fold.error(release(mechanism, objective, label=LABEL, random_state=state).value)
    return Measured(errors, ridge)


def arguments(description: str | None, draws: int, given: Sequence[str] | None) -> argparse.Namespace:
    """Read the command line of an experiment: how many draws, and where to write."""
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument(
        "--draws", type=int, default=draws, help=f"noise draws for each point, over all folds ({draws})"
    )
    parser.add_argument("--output", type=Path, default=RESULTS, help="the folder to write to")
    read = parser.parse_args(given)
    read.output.mkdir(parents=True, exist_ok=True)
    return read


write_table = partial(result_files.write_table, LABEL)
save_picture = partial(result_files.save_picture, LABEL)
