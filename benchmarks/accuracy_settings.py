"""What the accuracy benchmark measures: settings, the peers' published figures, and the records of single fits."""

import hashlib
import math
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import datasets
import numpy as np

import tacit

RESULTS = Path(__file__).parent / "results"
EPSILONS = (0.1, 0.316, 1.0, 3.16)
PURE, DEFAULT, GRADIENT = "pure (default)", "with a delta (default)", "noisy gradients"
PLAIN, SKLEARN, MAJORITY = "tacit, epsilon = inf", "scikit-learn", "majority class"
OURS_FOR = {"pure": PURE, "approximate": DEFAULT}
TOO_LARGE = 10**9


DECIDING = {"accounting", "budget", "data", "erm", "estimators", "mechanisms", "noise", "numerics", "releases"}


def deciding_files(folder: Path) -> list[Path]:
    """Return the modules that decide accuracy, in all rooms of their packages."""
    return sorted(p for p in folder.rglob("*.py") if p.relative_to(folder).parts[0].removesuffix(".py") in DECIDING)


def fingerprint(folder: Path) -> str:
    """Return a hash of the source that decides accuracy, so that fits of different defaults are never mixed."""
    return hashlib.sha256(b"".join(path.read_bytes() for path in deciding_files(folder))).hexdigest()[:10]


SOURCE = fingerprint(Path(tacit.__file__).parent)


@dataclass(frozen=True)
class Peer:
    """A row to be compared with: pure or (epsilon, delta), tuned on test data or not, percentages by epsilon."""

    name: str
    kind: str
    tuned: bool
    figures: dict[float, float]


@dataclass(frozen=True)
class Setting:
    """A data set in one encoding: how many records are drawn (four in five to train on), delta, the peers."""

    name: str
    title: str
    load: Callable[[], datasets.Labelled]
    epsilons: tuple[float, ...]
    records: int = TOO_LARGE
    delta: float | None = None
    peers: tuple[Peer, ...] = ()
    private: tuple[str, ...] = (PURE, DEFAULT, GRADIENT)
    plain_repeats: int = 3
    spare_repeats: int = TOO_LARGE

    def delta_for(self, count: int) -> float:
        """Return the declared delta, by default 1/n^2."""
        return 1 / count**2 if self.delta is None else self.delta

    def repeats_of(self, label: str) -> int:
        """Limit the repeats of models without privacy, and of slow ones that no peer is compared with."""
        if label in (PLAIN, SKLEARN):
            return self.plain_repeats
        compared = {OURS_FOR[peer.kind] for peer in self.peers}
        return TOO_LARGE if label in compared else self.spare_repeats


@dataclass(frozen=True)
class Fit:
    """One fit and its accuracy on the records held out."""

    setting: str
    model: str
    epsilon: float
    delta: float
    repeat: int
    trained_on: int
    columns: int
    accuracy: float
    seconds: float
    source: str


@dataclass
class Cell:
    """The repeats of one model at one epsilon, in percent."""

    values: list[float] = field(default_factory=list)

    @property
    def mean(self) -> float:
        """The mean accuracy."""
        return float(np.mean(self.values))

    @property
    def error(self) -> float:
        """The standard error of the mean."""
        return float(np.std(self.values, ddof=1) / math.sqrt(len(self.values))) if len(self.values) > 1 else math.nan

    def __str__(self) -> str:
        return f"{self.mean:.2f} ± {self.error:.2f}" if len(self.values) > 1 else f"{self.mean:.2f} (one split)"


def _row(*figures: float) -> dict[float, float]:
    return dict(zip(EPSILONS, figures, strict=True))


ADULT_PEERS = (
    Peer("AMP", "approximate", False, _row(78.2, 82.0, 83.0, 83.6)),
    Peer("noisy SGD", "approximate", True, _row(78.9, 82.1, 82.8, 83.4)),
    Peer("output perturbation, best ridge", "pure", True, _row(76.2, 78.6, 81.2, 82.6)),
    Peer("objective perturbation (2011), best ridge", "pure", True, _row(77.6, 81.5, 83.0, 83.8)),
    Peer("diffprivlib, default C (unsound)", "pure", False, _row(70.6, 75.7, 78.5, 83.6)),
    Peer("diffprivlib, best C (unsound)", "pure", True, _row(77.6, 80.9, 82.7, 83.7)),
)


def _published(epsilon: float, amp: float, output: float, sgd: float, gd: float) -> tuple[Peer, ...]:
    """The (epsilon, delta) rows of Yu et al. (2020), who chose the number of (S)GD steps among 50, 200 and 800."""
    return (
        Peer("AMP (Yu et al.)", "approximate", False, {epsilon: amp}),
        Peer("output perturbation (Yu et al.)", "approximate", False, {epsilon: output}),
        Peer("DP-SGD (Yu et al.)", "approximate", True, {epsilon: sgd}),
        Peer("DP-GD (Yu et al.)", "approximate", True, {epsilon: gd}),
    )


KDD = _published(0.1, 97.5, 98.1, 98.7, 98.7)
COVTYPE = _published(1.0, 64.3, 62.4, 67.7, 66.2)
PROTOTYPE = (
    Peer("prototype, pure", "pure", False, _row(80.8, 82.6, 83.8, 84.1)),
    Peer("prototype, Gaussian objective", "approximate", False, _row(82.4, 83.8, 84.1, 84.1)),
    Peer("prototype, gradient", "approximate", False, _row(82.8, 83.9, 84.2, 84.1)),
)
SETTINGS = (
    Setting(
        "adult-104",
        "Adult, 104 columns as published",
        datasets.adult_published,
        EPSILONS,
        peers=(*ADULT_PEERS, *_published(0.1, 79.3, 77.4, 80.4, 80.9)),
    ),
    Setting("adult-schema", "Adult through its schema", datasets.adult_encoded, EPSILONS, delta=1e-6, peers=PROTOTYPE),
    Setting("kdd-columns", "KDD99, columns as published", datasets.kdd_published, (0.1,), 70_000, peers=KDD),
    Setting("kdd-schema", "KDD99 through a schema", datasets.kdd_encoded, (0.1,), 70_000, peers=KDD),
    Setting(
        "mnist",
        "MNIST",
        datasets.mnist,
        (1.0,),
        65_000,
        peers=_published(1.0, 71.9, 69.4, 87.5, 88.6),
        private=(PURE, DEFAULT),
        plain_repeats=1,
        spare_repeats=1,
    ),
    Setting(
        "covtype-columns",
        "CoverType, columns as published",
        datasets.covtype_published,
        (1.0,),
        peers=COVTYPE,
        private=(PURE, DEFAULT),
        plain_repeats=1,
        spare_repeats=1,
    ),
    Setting(
        "covtype-schema",
        "CoverType through a schema",
        datasets.covtype_encoded,
        (1.0,),
        peers=COVTYPE,
        private=(PURE, DEFAULT),
        plain_repeats=1,
        spare_repeats=1,
    ),
)
BY_NAME = {setting.name: setting for setting in SETTINGS}

BEFORE = {
    ("adult-104", PURE): (79.30, 81.78, 83.11, 83.77),
    ("adult-104", DEFAULT): (81.19, 82.56, 83.41, 84.12),
    ("adult-schema", PURE): (81.76, 83.16, 83.74, 84.00),
    ("adult-schema", DEFAULT): (83.06, 83.55, 83.86, 83.97),
    ("kdd-columns", PURE): (98.60,),
    ("kdd-columns", DEFAULT): (98.71,),
    ("kdd-schema", PURE): (98.32,),
    ("kdd-schema", DEFAULT): (98.62,),
    ("mnist", PURE): (65.49,),
    ("mnist", DEFAULT): (88.78,),
    ("covtype-columns", PURE): (70.42,),
    ("covtype-columns", DEFAULT): (70.83,),
    ("covtype-schema", PURE): (72.12,),
    ("covtype-schema", DEFAULT): (72.35,),
}
"""Mean accuracies of the run before, source db8a52173e: 10 splits; with a delta by noisy gradients."""
