"""Made-up answers of models about held-out rows, on which bins and error bars of reports are chosen and checked.

Nothing is fitted: what a model says, and what is true, are drawn together. Families of two classes, whose rate of
positives is between 4 and 50 %:

- `normal`: log-odds of a normal law, which a model shrinks, exaggerates or moves. Choices were made here.
- `skewed`: log-odds of a shifted gamma law, either way round. Choices were made here.
- `mixed`: a mixture of two to four clusters of log-odds. It is held out: it was run only to check.
- `steps`: as `normal`, but the model tells 12 to 200 different scores, as trees do. It is held out.

Of several classes `softmax` (3 to 10 classes of uneven size; choices) and `centres` (clusters in a plane; held out); of
numbers `even` (normal errors and targets; choices) and `heavy` (errors and targets with heavy tails; held out).
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit, softmax

Array = NDArray[Any]
CHOSEN = ("normal", "skewed", "softmax", "even")
HELD_OUT = ("mixed", "steps", "centres", "heavy")


class Said:
    """A model's answers about rows, given again by their numbers."""

    def __init__(self, classes: Any, answers: Any) -> None:
        if classes is None:
            self.predict = lambda rows: answers[rows]
        else:
            self.classes_ = np.asarray(classes)
            self.predict_proba = lambda rows: answers[rows]
            self.predict = lambda rows: self.classes_[answers[rows].argmax(axis=1)]


def made(family: str, seed: int, count: int) -> tuple[Array, Array]:
    """Return what a model answers and what is true: probabilities and class numbers, or numbers from -1 to 1."""
    rng = np.random.default_rng([7100, [*CHOSEN, *HELD_OUT].index(family), seed])
    if family in ("normal", "skewed", "mixed", "steps"):
        return _two(rng, family, count)
    return _several(rng, family, count) if family in ("softmax", "centres") else _numbers(rng, family, count)


def _two(rng: np.random.Generator, family: str, count: int) -> tuple[Array, Array]:
    wide = rng.uniform(0.6, 2.5)
    if family == "skewed":
        odds = rng.choice([-1, 1]) * (rng.gamma(rng.uniform(1, 4), size=count) - 1) * wide / 1.5
    elif family == "mixed":
        size = int(rng.integers(2, 5))
        which = rng.choice(size, size=count, p=rng.dirichlet(np.full(size, 2.0)))
        odds = rng.normal(scale=1.5 * wide, size=size)[which] + rng.uniform(0.1, 0.8, size)[which] * rng.normal(
            size=count
        )
    else:
        odds = wide * rng.normal(size=count)
    odds = odds - np.quantile(odds, rng.uniform(0.5, 0.96))
    truth = (rng.random(count) < expit(odds)).astype(int)
    said = rng.uniform(0.3, 1.6) * odds + rng.normal(scale=0.4) + rng.uniform(0, 0.6) * rng.normal(size=count)
    if family == "steps":
        cuts = np.sort(rng.choice(said, size=int(rng.integers(12, 200)), replace=False))
        said = cuts[np.searchsorted(cuts, said).clip(0, len(cuts) - 1)]
    chance = expit(said)
    return np.column_stack([1 - chance, chance]), truth


def _several(rng: np.random.Generator, family: str, count: int) -> tuple[Array, Array]:
    size = int(rng.integers(3, 11))
    rate = np.sort(rng.dirichlet(np.full(size, 1.0)))
    if family == "softmax":
        odds = np.log(rate + 0.005) + rng.uniform(0.8, 2.5) * rng.normal(size=(count, size))
    else:
        which = rng.choice(size, size=count, p=rate)
        centres = rng.normal(scale=rng.uniform(1.0, 2.5), size=(size, 2))
        place = centres[which] + rng.normal(size=(count, 2))
        odds = np.log(rate + 0.002) - np.square(place[:, None] - centres).sum(axis=2) / 2
    chances = softmax(odds, axis=1)
    truth = (np.cumsum(chances, axis=1) < rng.random((count, 1))).sum(axis=1).clip(0, size - 1)
    said = rng.uniform(0.4, 1.3) * odds + rng.uniform(0, 0.5) * rng.normal(size=(count, size))
    return softmax(said, axis=1), truth


def _numbers(rng: np.random.Generator, family: str, count: int) -> tuple[Array, Array]:
    spread, explained = rng.uniform(0.1, 0.4), rng.uniform(0.1, 0.9)
    if family == "even":
        signal, rest = rng.normal(size=count), rng.normal(size=count)
    else:
        signal, rest = rng.gamma(1.5, size=count) - 1.5, rng.standard_t(3, size=count)
    targets = spread * (np.sqrt(explained) * signal + np.sqrt(1 - explained) * rest) + rng.uniform(-0.3, 0.3)
    return np.clip(targets - spread * np.sqrt(1 - explained) * rest, -1, 1), np.clip(targets, -1, 1)
