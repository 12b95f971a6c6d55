"""Five thousand adaptive questions to one Gaussian process: is its noise what it should be, and how fast is it?

    python experiments/icml2013_interactive.py            about two minutes of one core
    python experiments/icml2013_interactive.py --points 500

Every point but the first depends on the answer before. In the end the noise of all answers is whitened by an
independent factorisation of sigma^2 (K + jitter I): the sum of squares is then chi-square, whose exact tail probability
is printed.
A rehearsal: a seed, and made-up records.
"""

import argparse
import time
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from icml2013 import RESULTS, Floats, write_table
from scipy import stats
from scipy.linalg import cholesky, solve_triangular

from tacit.budget import Budget
from tacit.erm import Logistic
from tacit.kernels import RBF
from tacit.kernels.fit.reading import Certified, certified_model
from tacit.kernels.kernel.domain import Domain
from tacit.mechanisms.process import GaussianProcess, SamplePath
from tacit.releases import release

RECORDS, ALPHA, EVERY = 2_000, 0.03, 500
COLUMNS = ("answered", "milliseconds_per_answer", "sum_of_squares", "chi_square_tail")


def secret(domain: Domain) -> Certified:
    """Fit made-up records."""
    generator = np.random.default_rng(2013)
    rows = generator.normal(size=(RECORDS, domain.width)) / 2
    labels = np.where(rows[:, 0] * rows[:, 1] > 0, 1.0, -1.0)
    return certified_model(domain, rows, labels, Logistic(), ALPHA, None)


def converse(path: SamplePath, domain: Domain, count: int) -> tuple[Floats, Floats, list[tuple[int, float]]]:
    """Ask one point after another, each chosen by the answer before; return points, answers and times."""
    points, answers = np.empty((count, domain.width)), np.empty(count)
    here, times = np.zeros(domain.width), []
    started = time.process_time()
    for place in range(count):
        points[place] = here
        part, earlier = points[place : place + 1], points[:place]
        (drawn,) = path.draw(part, domain.kernel.block(part, earlier), domain.kernel.block(part, part))
        path.adopt(drawn)
        answers[place] = drawn.answer
        # Wherever the answer sends us, and now and then back to where we were.
        angle = 50 * drawn.answer + place
        here = here if place % 97 == 96 else np.array([np.cos(angle), np.sin(angle), np.cos(3 * angle)]) / np.sqrt(2)
        here = here / max(1.0, float(np.linalg.norm(here)))
        if (place + 1) % EVERY == 0:
            times.append((place + 1, 1000 * (time.process_time() - started) / EVERY))
            started = time.process_time()
    return points, answers, times


def squares(normals: Floats) -> tuple[float, float]:
    """Return the sum of squares of whitened noise, and how rare one as far out is."""
    total = float(normals @ normals)
    return total, float(2 * min(stats.chi2.cdf(total, len(normals)), stats.chi2.sf(total, len(normals))))


def main(given: Sequence[str] | None = None) -> None:
    """Ask, test the noise, and write the times."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--points", type=int, default=5_000)
    parser.add_argument("--output", type=Path, default=RESULTS, help="the folder to write to")
    asked = parser.parse_args(given)
    domain = Domain(RBF(1.0) + 1.0, 1.0, 3)
    found = secret(domain)
    law = GaussianProcess(
        Budget(1, 1e-6), found.sensitivity, domain.square, domain.accuracy, found.value_error, found.reach
    )
    path = release(law, found.model, label="rehearsal", random_state=2013).value
    points, answers, times = converse(path, domain, asked.points)
    factor = cholesky(domain.gram(points) + law.jitter * np.eye(len(points)), lower=True)
    normals = solve_triangular(factor, answers - found.model.values(points), lower=True) / law.sigma
    print(f"{len(points)} answers, deviation {law.sigma * np.sqrt(domain.square):.4f} each")
    rows = []
    for answered, milliseconds in times:
        total, tail = squares(normals[:answered])
        rows.append((answered, milliseconds, total, tail))
        print(f"{answered:6d} answered: {milliseconds:.2f} ms of one core each, squares {total:.1f}, tail {tail:.3g}")
    print(f"were the noise 10 % smaller, the tail would be {squares(0.9 * normals)[1]:.1g}")
    asked.output.mkdir(parents=True, exist_ok=True)
    command = f"icml2013_interactive.py --points {asked.points}"
    write_table(asked.output / "icml2013_interactive.csv", command, COLUMNS, rows)


if __name__ == "__main__":
    main()
