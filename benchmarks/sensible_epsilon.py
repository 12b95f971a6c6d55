"""How many records a logistic regression needs: made-up tables of several sizes and widths.

    python benchmarks/sensible_epsilon.py

For each size and width the epsilon is sought at which half of what can be learned (accuracy above chance, against the
fit without privacy) is learned, on made-up records (`Schema.twin`, signal 3; numbers only), and divided by what a rule
of thumb has in its place. Written to benchmarks/results/sensible_epsilon.md.
"""

from pathlib import Path

import numpy as np

from tacit import PrivateLogisticRegression
from tacit.data import Flag, Number, Schema
from tacit.model_selection import epsilon_for

RESULTS = Path(__file__).parent / "results" / "sensible_epsilon.md"
DELTA = 1e-6


def schema(columns):
    return Schema({**{f"x{place}": Number(0, 1) for place in range(columns)}, "y": Flag()}, target="y")


def main():
    lines = [
        "# How many records a logistic regression needs", "",
        "`python benchmarks/sensible_epsilon.py`: the epsilon at which half of what can be learned is learned, on "
        "made-up records with numbers only (median of 6 rehearsals); times n, over the columns (pure) or their root "
        f"(delta {DELTA:g}).", "",
        "| n | columns | pure epsilon | times n / columns | with a delta | times n / root of columns |",
        "|---|---|---|---|---|---|",
    ]  # fmt: skip
    pure, rooted = [], []
    for columns in (5, 10, 30, 100):
        for n in (569, 3000, 12_000):
            model = PrivateLogisticRegression(curves=False)
            without = epsilon_for(model, schema(columns), n=n, accuracy=0.5001, repeats=6).without
            half = 0.5 + (without - 0.5) / 2
            found = [
                epsilon_for(model, schema(columns), n=n, accuracy=half, delta=delta, repeats=6).epsilon
                for delta in (0.0, DELTA)
            ]
            pure.append(found[0] * n / columns)
            rooted.append(found[1] * n / columns**0.5)
            lines.append(f"| {n:,} | {columns} | {found[0]:.2g} | {pure[-1]:.0f} | {found[1]:.2g} | {rooted[-1]:.0f} |")
            print(lines[-1], flush=True)
    told = [each for each in pure if np.isfinite(each)], [each for each in rooted if np.isfinite(each)]
    lines += ["", f"Medians: {np.median(told[0]):.0f} (pure), {np.median(told[1]):.0f} (with a delta)."]
    RESULTS.write_text("\n".join([*lines, ""]), encoding="utf-8")


if __name__ == "__main__":
    main()
