"""How fast private noise is drawn: tacit next to OpenDP and numpy, in one run.

    make bench            or            python benchmarks/noise.py

The three are timed in turn, in processor time, several rounds, and the fastest round of each counts, so
that the ratios hold on a busy machine too. OpenDP draws on a grid with exact rational arithmetic, numpy in
plain doubles (not private: its low bits leak), tacit integers on a grid.
"""

import argparse
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import opendp.prelude as dp

from tacit.budget import Budget
from tacit.mechanisms import Gaussian, Laplace
from tacit.noise import SystemEntropy, add_on_grid
from tacit.releases import release

RESULTS = Path(__file__).parent / "results" / "noise.md"
MANY = 1_000_000
WANTED = 50

Timed = dict[str, float]


def seconds_each(rounds: int, **contestants: tuple[Callable[[], object], int]) -> Timed:
    """Return the seconds that one draw takes each contestant, given what to call and how many draws that makes."""
    best = dict.fromkeys(contestants, float("inf"))
    for _ in range(rounds):
        for name, (call, draws) in contestants.items():
            start = time.process_time()
            call()
            best[name] = min(best[name], (time.process_time() - start) / draws)
    return best


def opendp_laplace(size: int) -> Callable[[], object]:
    space = dp.vector_domain(dp.atom_domain(T=float, nan=False)), dp.l1_distance(T=float)
    measure, value = dp.m.make_laplace(*space, scale=1.0), [0.0] * size
    return lambda: measure(value)


def opendp_gaussian(size: int) -> Callable[[], object]:
    space = dp.vector_domain(dp.atom_domain(T=float, nan=False)), dp.l2_distance(T=float)
    measure, value = dp.m.make_gaussian(*space, scale=1.0), [0.0] * size
    return lambda: measure(value)


def repeated(call: Callable[[], object], times: int) -> tuple[Callable[[], object], int]:
    def calls() -> None:
        for _ in range(times):
            call()

    return calls, times


def vectors(rounds: int, many: int) -> dict[str, Timed]:
    generator = np.random.default_rng()
    value = np.zeros(many)
    laplace = Laplace.for_budget(Budget(1), 1.0, many)
    gaussian = Gaussian.for_budget(Budget(1, 1e-6), 1.0, many)
    few = max(many // 200, 1)
    return {
        "Laplace": seconds_each(
            rounds,
            tacit=(lambda: release(laplace, value, label="bench"), many),
            opendp=(opendp_laplace(few), few),
            numpy=(lambda: value + generator.laplace(size=many), many),
        ),
        "Gaussian": seconds_each(
            rounds,
            tacit=(lambda: release(gaussian, value, label="bench"), many),
            opendp=(opendp_gaussian(few), few),
            numpy=(lambda: value + generator.normal(size=many), many),
        ),
    }


def scalars(rounds: int, calls: int) -> dict[str, Timed]:
    generator = np.random.default_rng()
    laplace, gaussian = Laplace.for_budget(Budget(1)), Gaussian.for_budget(Budget(1, 1e-6))
    space = dp.atom_domain(T=float, nan=False), dp.absolute_distance(T=float)
    their_laplace, their_gaussian = dp.m.make_laplace(*space, scale=1.0), dp.m.make_gaussian(*space, scale=1.0)
    return {
        "Laplace": seconds_each(
            rounds,
            tacit=repeated(lambda: release(laplace, 0.0, label="bench"), calls),
            opendp=repeated(lambda: their_laplace(0.0), calls),
            numpy=repeated(lambda: 0.0 + generator.laplace(), calls),
        ),
        "Gaussian": seconds_each(
            rounds,
            tacit=repeated(lambda: release(gaussian, 0.0, label="bench"), calls),
            opendp=repeated(lambda: their_gaussian(0.0), calls),
            numpy=repeated(lambda: 0.0 + generator.normal(), calls),
        ),
    }


def grid_cost(rounds: int, many: int) -> Timed:
    """Time the parts of a release of many numbers: doubles, the cipher, integers, and rounding to the grid."""
    generator = np.random.default_rng()
    private = SystemEntropy()
    mechanism = Laplace.for_budget(Budget(1), 1.0, many)
    value, noise = np.zeros(many), mechanism.noise(private)
    doubles = generator.laplace(size=many)
    return seconds_each(
        rounds,
        draw_doubles=(lambda: generator.laplace(size=many), many),
        draw_doubles_by_cipher=(lambda: private.generator().laplace(size=many), many),
        draw_integers=(lambda: mechanism.noise(private), many),
        add_doubles=(lambda: value + doubles, many),
        add_on_grid=(lambda: add_on_grid(value, noise, mechanism.grid), many),
    )


def ratio(value: float) -> str:
    return f"{value:,.0f}" if value >= 10 else f"{value:.1f}"


def table(title: str, rows: dict[str, Timed]) -> list[str]:
    lines = [
        f"| {title} | OpenDP / tacit | tacit / numpy | tacit | OpenDP | numpy |",
        "|---|---:|---:|---:|---:|---:|",
    ]
    for law, each in rows.items():
        speed = [f"{1 / each[name]:,.0f}" for name in ("tacit", "opendp", "numpy")]
        lines.append(
            f"| {law} | **{ratio(each['opendp'] / each['tacit'])}** | {ratio(each['tacit'] / each['numpy'])} | "
            + " | ".join(speed)
            + " |"
        )
    return lines


def report(many: int, vector: dict[str, Timed], scalar: dict[str, Timed], parts: Timed) -> str:
    slowest = min(each["opendp"] / each["tacit"] for each in vector.values())
    verdict = "holds" if slowest >= WANTED else "FAILS"
    unit = parts["add_doubles"] + parts["draw_doubles"]
    return "\n".join(
        [
            "# Drawing private noise",
            "",
            "Made by `make bench` (or `python benchmarks/noise.py`). Time ratios first: they travel between machines;",
            "the last three columns are draws per second of processor time on the machine of the last run.",
            "",
            *table(f"{many:,} numbers in one release", vector),
            "",
            *table("one number per release", scalar),
            "",
            f"At least {WANTED} times as fast as OpenDP on vectors: **{verdict}** (smaller ratio: {slowest:.0f}).",
            "One number per release is dominated by the fixed cost of a release: checks, a fresh 256-bit key from the",
            "operating system and the `Release` itself.",
            "",
            "## What the grid costs",
            "",
            f"Laplace, {many:,} numbers, in units of numpy's whole job (draw doubles and add them):",
            "",
            "| step | cost |",
            "|---|---:|",
            f"| numpy: draw doubles | {parts['draw_doubles'] / unit:.2f} |",
            f"| numpy: add them | {parts['add_doubles'] / unit:.2f} |",
            f"| the same doubles from the ChaCha20 cipher | {parts['draw_doubles_by_cipher'] / unit:.2f} |",
            f"| tacit: draw integers of the exact law (cipher included) | {parts['draw_integers'] / unit:.2f} |",
            f"| tacit: round the value to the grid and add | {parts['add_on_grid'] / unit:.2f} |",
            "",
        ]
    )


def main() -> None:
    arguments = argparse.ArgumentParser(description="Time private noise next to OpenDP's and numpy's.")
    arguments.add_argument("--draws", type=int, default=MANY, help="numbers in one vector release")
    arguments.add_argument("--rounds", type=int, default=5, help="rounds, of which the fastest counts")
    asked = arguments.parse_args()
    dp.enable_features("contrib")
    text = report(
        asked.draws,
        vectors(asked.rounds, asked.draws),
        scalars(asked.rounds, 2_000),
        grid_cost(asked.rounds, asked.draws),
    )
    print(text)
    if asked.draws == MANY:
        RESULTS.parent.mkdir(exist_ok=True)
        RESULTS.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
