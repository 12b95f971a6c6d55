"""How should a private search draw and judge? Laws of the number of runs, shares of the budget, candidates' chances.

    python benchmarks/search_law.py        writes results/search_law.md

On made-up tables (`synthetic_tables.varied`, nine kinds) models are fitted six times for each of eight ridges and for
the default one, at the epsilon that a design leaves for a fit; searches are then played 400 times each by drawing among
those models, so that thousands of designs cost no more fits. Test accuracy is compared with the default ridge at the
whole epsilon, 1. The designs:

- shape 0 (the best of K runs costs two of them, K = 1 in one search of six) or -1/2 (one and a half; one of two);
- judged on a hold-out of a tenth of the records, or on all of them for a twentieth of the run's budget;
- the estimator as it was given is not drawn at all, or half of the time.

Two grids: eight ridges about the default, and eight decades. The choice was made by both together on other seeds of
`varied` (300 and 303); measured here on seed 310.
"""

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from synthetic_tables import KINDS, varied

import tacit
from tacit import PrivateLogisticRegression
from tacit.data import Flag, PublicEncoder, Schema

RESULTS = Path(__file__).resolve().parent / "results" / "search_law.md"
SEED, TESTS, FITS, PLAYED = 310, 6_000, 6, 400
DESIGNS: dict[str, tuple[float, float, bool]] = {
    "shape 0, hold-out (before)": (0.0, 1 / 2, True),
    "shape 0, all records": (0.0, 1 / 2 * 0.95, False),
    "shape -1/2, all records": (-0.5, 2 / 3 * 0.95, False),
}
STOP = {0.0: 3.4e-3, -0.5: 1e-4}
"""The parameters of the laws with 50 runs on average."""


class Table:
    """Encoded rows of a made-up table, to fit, to hold out and to test."""

    def __init__(self, kind: str) -> None:
        table, self.count = varied(SEED, kind, TESTS)
        cells = table.values | {"label": table.labels}
        rows = np.asarray(PublicEncoder(Schema(table.columns | {"label": Flag()}, target="label")).transform(cells))
        order = np.random.default_rng(0).permutation(self.count)
        parts = {"all": order, "held": order[: self.count // 10], "rest": order[self.count // 10 :]}
        parts["test"] = np.arange(self.count, len(rows))
        self.parts = {name: (rows[part], table.labels[part]) for name, part in parts.items()}

    def model(self, part: str, epsilon: float, alpha: Any, seed: int) -> Any:
        """Fit a part."""
        model = PrivateLogisticRegression(epsilon, alpha=alpha, data_norm=1.0, classes=[False, True], random_state=seed)
        return model.fit(*self.parts[part])

    def accuracy(self, model: Any, part: str) -> float:
        """Return the exact accuracy on a part."""
        rows, labels = self.parts[part]
        return float(np.mean(model.predict(rows) == labels))


def chances(shape: float) -> NDArray[np.float64]:
    """Return the chances of K = 1, 2, ... at 50 runs on average."""
    counts = np.arange(2, 20_001)
    ratios = np.concatenate([[1.0], (counts - 1 + shape) / counts * (1 - STOP[shape])])
    found = np.cumprod(ratios)
    return np.asarray(found / found.sum())


def played(pool: NDArray[np.float64], shape: float, noise: float, own: float) -> float:
    """Return the mean accuracy of the winners, in points; the last candidate of the pool is the estimator's own."""
    rng = np.random.default_rng(5)
    size = len(pool) - 1
    weights = (
        np.append(np.full(size, 1 / size), 0.0) if own is None else np.append(np.full(size, (1 - own) / size), own)
    )
    won = []
    for runs in rng.choice(20_000, PLAYED, p=chances(shape)) + 1:
        some = pool[rng.choice(size + 1, runs, p=weights), rng.integers(FITS, size=runs)]
        won.append(some[np.argmax(some[:, 1] + rng.laplace(scale=noise, size=runs)), 0])
    return 100 * float(np.mean(won))


def main() -> None:
    """Measure and write the page."""
    found: dict[tuple[str, str, str], list[float]] = {}
    with tacit.public_data():
        for kind in KINDS:
            table = Table(kind)
            base = [table.accuracy(table.model("all", 1.0, "auto", seed), "test") for seed in range(30)]
            for design, (shape, epsilon, held) in DESIGNS.items():
                part, judges = ("rest", "held") if held else ("all", "all")
                usual = table.model(part, epsilon, "auto", 0).alpha_
                noise = 1 / (0.5 * (table.count // 10)) if held else 1 / (epsilon / 19 * table.count)
                for grid, alphas in (
                    ("about the default", [usual * 2 ** (power / 2) for power in range(-4, 4)]),
                    ("decades", [10.0**power for power in range(-5, 3)]),
                ):
                    pool = np.empty((len(alphas) + 1, FITS, 2))
                    for place, alpha in enumerate([*alphas, usual]):
                        for fit in range(FITS):
                            model = table.model(part, epsilon, alpha, 1000 * place + fit)
                            pool[place, fit] = table.accuracy(model, "test"), table.accuracy(model, judges)
                    for said, own in (("not drawn", 0.0), ("half of the time", 0.5)):
                        gain = played(pool, shape, noise, own) - 100 * float(np.mean(base))
                        found.setdefault((design, said, grid), []).append(gain)
            print(kind, {key: round(values[-1], 2) for key, values in found.items()}, flush=True)
    lines = [
        "# How a private search draws and judges", "",
        "Made by `python benchmarks/search_law.py`; what is compared is said at its head. Points of test accuracy over "
        f"the default ridge at epsilon 1: mean over {len(KINDS)} made-up tables, and the worst of them.", "",
        "| design | estimator's own | ridges about the default | decades |", "|---|---|---|---|",
    ]  # fmt: skip
    for design in DESIGNS:
        for said in ("not drawn", "half of the time"):
            cells = [found[design, said, grid] for grid in ("about the default", "decades")]
            lines.append(
                f"| {design} | {said} | "
                + " | ".join(f"{np.mean(each):+.2f}, {min(each):+.2f}" for each in cells)
                + " |"
            )
    RESULTS.write_text("\n".join([*lines, ""]), encoding="utf-8")


if __name__ == "__main__":
    main()
