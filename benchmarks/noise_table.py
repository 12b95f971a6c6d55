"""How much noise each way to answer with a kernel model costs, from public quantities alone, as Markdown.

    python benchmarks/noise_table.py

`tacit reproduce noise` prints the same for a terminal; `tacit.kernels.magnitudes` says what the columns are.
"""

import argparse

from tacit.budget import Budget
from tacit.kernels.magnitudes import CELLS, Magnitudes


def table() -> str:
    """Return the table as Markdown; numbers in brackets are PINP's updates."""
    lines = [
        "| epsilon | records | ridge | answers | trivial | PINP published | recalibrated, paper's step "
        "| recalibrated | TDDL | independent Gaussian | matched TDDL, Gaussian process |",
        "|---|---|---|---|---|---|---|---|---|---|---|",
    ]
    for epsilon, count, ridge, answers in CELLS:
        cell = Magnitudes(Budget(epsilon, 1e-6), count, ridge, answers)
        (paper, updates), (better, fewer) = cell.pinp(16 / 5), cell.pinp()
        lines.append(
            f"| {epsilon:g} | {count:,} | {ridge:g} | {answers:,} | {cell.trivial:.3g} | {cell.pinp_published:.3g} "
            f"| {paper:.3g} ({updates}) | {better:.3g} ({fewer}) | {cell.tddl:.3g} | {cell.independent:.3g} "
            f"| {cell.process:.3g} |"
        )
    return "\n".join(lines)


if __name__ == "__main__":
    argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter).parse_args()
    print(table())
