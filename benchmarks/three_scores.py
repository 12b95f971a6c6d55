"""Accuracy, AUC and log-loss against epsilon up to 100, next to the ordinary model and the class prior.

Usage: python benchmarks/three_scores.py

Defaults throughout: `PrivateLogisticRegression(epsilon, delta)` on `Records`. The ordinary model is scikit-learn's
logistic regression (C = 1) on the same columns, with 17 knots for each number and with straight lines. Adult comes with
tacit; the other table is made up (`varied`, 6 % of one class, a seed that no default was chosen on).
"""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.figure import Figure
from numpy.typing import NDArray
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import log_loss, roc_auc_score
from synthetic_tables import varied
from threadpoolctl import threadpool_limits

from tacit import PrivateLogisticRegression
from tacit.data import Flag, PublicEncoder, Records, Schema, adult_schema, load_adult

RESULTS = Path(__file__).resolve().parent / "results"
EPSILONS = (0.1, 0.316, 1.0, 3.16, 10.0, 31.6, 100.0)
DELTAS = (0.0, 1e-6)
SCORES = ("accuracy, %", "AUC", "log-loss")
DRAWS = 3
Cells = dict[str, NDArray[Any]]


@dataclass(frozen=True)
class Split:
    """A table cut into records to train on and to test on."""

    name: str
    schema: Schema
    train: Cells
    test: Cells
    wanted: NDArray[np.bool_]

    def scored(self, chances: NDArray[np.float64]) -> tuple[float, float, float]:
        """Return accuracy in percent, AUC and log-loss."""
        kept = np.clip(chances, 1e-12, 1 - 1e-12)
        accuracy = 100 * float(np.mean((chances > 0.5) == self.wanted))
        return accuracy, float(roc_auc_score(self.wanted, chances)), float(log_loss(self.wanted, kept))

    @property
    def labels(self) -> NDArray[Any]:
        """The labels to train on."""
        return np.asarray(self.schema.labels(self.train))


def splits() -> Iterator[list[Split]]:
    """Yield the splits of each table."""
    table, schema = load_adult("all", "drop"), adult_schema()
    found = []
    for draw in range(DRAWS):
        order = np.random.default_rng(draw).permutation(len(table["income"]))
        train, test = ({name: np.asarray(cells)[part] for name, cells in table.items()}
                       for part in (order[9045:], order[:9045]))  # fmt: skip
        found.append(Split("Adult", schema, train, test, schema.labels(test) == schema.classes[1]))
    yield found
    made, count = varied(200, "6 % positive", tests=12_000)
    columns, cells = Schema(made.columns | {"rare": Flag()}, target="rare"), made.values | {"rare": made.labels}
    parts = [{name: cell[part] for name, cell in cells.items()} for part in (slice(count), slice(count, None))]
    yield [Split("made up, 6 % positive", columns, *parts, parts[1]["rare"])] * DRAWS


def private(split: Split, epsilon: float, delta: float, draw: int) -> tuple[float, float, float]:
    """Return the scores of a private fit with its defaults."""
    model = PrivateLogisticRegression(epsilon, delta, random_state=draw).fit(Records(split.train, split.schema))
    return split.scored(model.predict_proba(split.test)[:, 1])


def ordinary(split: Split, curves: bool | int) -> tuple[float, float, float]:
    """Return the scores of scikit-learn's model without privacy."""
    encoder = PublicEncoder(split.schema, curves=curves)
    model = LogisticRegression(max_iter=2000).fit(encoder.transform(split.train), split.labels)
    return split.scored(model.predict_proba(encoder.transform(split.test))[:, 1])


def prior(split: Split) -> tuple[float, float, float]:
    """Return the scores of always stating the share of the classes."""
    share = float(np.mean(split.labels == split.schema.classes[1]))
    return split.scored(np.full(len(split.wanted), share))


def main() -> None:
    """Measure, and write the page and the picture."""
    lines = [
        "# Three scores against epsilon",
        "",
        "Made by `python benchmarks/three_scores.py`, which says what is compared.",
    ]
    lines += [f"Means of {DRAWS} splits or draws (seeded: rehearsals). Accuracy in percent / AUC / log-loss.", ""]
    lines += ["![Three scores against epsilon](three_scores.svg)"]
    figure = Figure(figsize=(10, 6), layout="constrained")
    axes = figure.subplots(2, 3)
    with threadpool_limits(1):
        for row, parts in enumerate(splits()):
            drawn = np.array(
                [[[private(split, e, delta, draw) for draw, split in enumerate(parts)] for e in EPSILONS]
                 for delta in DELTAS]
            ).mean(axis=2)  # fmt: skip
            fixed = {
                "ordinary, curves": np.mean([ordinary(split, 17) for split in parts], axis=0),
                "ordinary, straight lines": np.mean([ordinary(split, False) for split in parts], axis=0),
                "class prior": np.mean([prior(split) for split in parts], axis=0),
            }
            lines += ["", f"## {parts[0].name}, {len(parts[0].labels):,} rows to train on", ""]
            lines += ["| | " + " | ".join(f"ε = {e:g}" for e in EPSILONS) + " |", "|---|" + "---|" * len(EPSILONS)]
            for delta, values in zip(DELTAS, drawn, strict=True):
                lines += [f"| δ = {delta:g} | " + " | ".join(map(_shown, values)) + " |"]
            lines += [
                "",
                "Without privacy: " + "; ".join(f"{name} {_shown(values)}" for name, values in fixed.items()) + ".",
            ]
            for score, spot in enumerate(axes[row]):
                for delta, values in zip(DELTAS, drawn, strict=True):
                    spot.plot(EPSILONS, values[:, score], "o-", label=f"private, δ = {delta:g}")
                for (name, values), style in zip(fixed.items(), ("-", "--", ":"), strict=True):
                    spot.axhline(values[score], color="black", linestyle=style, linewidth=0.8, label=name)
                spot.set_xscale("log")
                spot.set_title(f"{parts[0].name}: {SCORES[score]}", fontsize=9)
            print("\n".join(lines[-6:]), flush=True)
    axes[0][0].legend(fontsize=7)
    axes[1][1].set_xlabel("epsilon")
    figure.savefig(RESULTS / "three_scores.svg", metadata={"Date": None})
    (RESULTS / "three_scores.md").write_text("\n".join(lines) + "\n", encoding="utf-8")


def _shown(values: NDArray[np.float64]) -> str:
    return f"{values[0]:.1f} / {values[1]:.3f} / {values[2]:.3f}"


if __name__ == "__main__":
    main()
