"""How much noise an answer of a secret kernel model should have: made-up problems alone, half of them held out.

Usage: python benchmarks/kernel_ridge.py    (some minutes on two cores)

The ridge alpha of TDDL, matched TDDL and TDIL makes the noise in one answer a share of a unit of the score, that of
PINP its threshold: alpha = 2 s L R^2/(n share), where s, the noise over what one record moves an answer by, follows
from the budget and the number of answers. Compared are shares, and the n alpha that every method had before (that of a
Gaussian process, 34 at epsilon 1 and delta 1e-6). Models of other kernels than the linear one are restricted to the
span of 200 points of their distribution, so that 100,000 records take seconds. All are rehearsals with seeds.
"""

import itertools
from functools import partial
from multiprocessing import Pool
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits

from tacit.accounting.analytic import gaussian_shift
from tacit.budget import Budget
from tacit.kernels import RBF, Kernel, Linear, Polynomial
from tacit.kernels.fit.reading import Certified, certified_linear
from tacit.kernels.fit.ridge import foresee_noise
from tacit.kernels.interactive.memory import ProcessMemory
from tacit.kernels.interactive.pinp import Pinp, pinp_noise
from tacit.kernels.interactive.session import AnswerSession
from tacit.kernels.kernel.domain import Domain
from tacit.kernels.maps.landmarks import Landmarks, public_points
from tacit.kernels.released.model import answer_noise, release_answers, release_tdil
from tacit.noise import source_for
from tacit.releases import Terms

Floats = NDArray[np.float64]
Problem = tuple[str, str, int, int, int]
Scores = dict[tuple[str, float], float]
Halves = dict[bool, list[tuple[Problem, Scores]]]

RESULTS = Path(__file__).resolve().parent / "results" / "kernel_ridge.md"
KERNELS: dict[str, Kernel] = {
    "linear": Linear(), "RBF(1)": RBF(1.0), "RBF(4)": RBF(4.0), "cubic": Polynomial(3, constant=1.0),
}  # fmt: skip
EPSILONS, DELTA = (0.3, 1.0, 3.0), 1e-6
ANSWERS = {"tddl": (30, 100, 300), "matched": (30, 300), "tdil": (10, 20, 50), "pinp": (100, 1000)}
SHARES = {
    **dict.fromkeys(("tddl", "matched", "tdil"), (1 / 2, 1 / 4, 1 / 8, 1 / 16, 1 / 32)),
    "pinp": (2.0, 1.0, 1 / 2, 1 / 4),
}
RELEASED, NUMBERS = ("tddl", "matched", "tdil"), ("slope", "wave")
TESTS, SPAN, NET, DRAWS = 1_500, 200, 1_000, 2
FAILURE = 0.05


def problems(held_out: bool) -> list[Problem]:
    """Return (kernel, concept, records, features, seed) of every problem."""
    rng = np.random.default_rng(2013 + held_out)
    found: list[Problem] = []
    for kernel, concepts in (
        ("linear", ("plane", "flips", "slope")),
        ("RBF(1)", ("plane", "bent", "slope")),
        ("RBF(4)", ("xor", "wave")),
        ("cubic", ("bent", "wave")),
    ):
        for concept in concepts:
            for count in (4_000, 20_000, 100_000):
                features = int(rng.integers(2, 25 if kernel == "linear" else 8))
                found.append((kernel, concept, count, features, int(rng.integers(10**6))))
    return found


def records(concept: str, count: int, features: int, seed: int) -> tuple[Floats, Floats, Floats]:
    """Return rows of norm at most 1, their labels or numbers, and those without noise."""
    rng = np.random.default_rng(seed)
    rows = rng.normal(size=(count, features)) * np.geomspace(1, rng.uniform(0.2, 1), features)
    rows /= np.linalg.norm(rows, axis=1, keepdims=True)
    if seed % 2:
        rows *= rng.uniform(size=(count, 1)) ** (1 / features)
    first, second = np.linalg.qr(rng.normal(size=(features, 2)))[0].T
    along, across = rows @ first, rows @ second
    scores = {
        "plane": along, "flips": along, "slope": along, "xor": along * across, "bent": along * across + 0.3 * along,
        "wave": np.sin(4 * along),
    }[concept]  # fmt: skip
    if concept in NUMBERS:
        clean = np.clip(1.5 * scores, -1, 1)
        return rows, np.clip(clean + 0.2 * rng.normal(size=count), -1, 1), clean
    clean = np.where(scores > 0, 1.0, -1.0)
    wrong = rng.uniform(size=count) < (0.1 if concept == "flips" else 0.0)
    return rows, np.where(wrong, -clean, clean), clean


def ridge(method: Any, name: str, domain: Domain, count: int, budget: Budget, answers: int, share: float) -> float:
    """Return the ridge at which noise is a share of a unit of the score, or the one with a constant n alpha."""
    if share == 0:
        weight = 2.0 if name == "absolute" else 1.0
        return foresee_noise(name, "auto", domain, count, 1 / gaussian_shift(budget), weight).alpha
    foresee = partial(foresee_noise, name, "auto", domain, count, weight=0.25 / share)
    if method != "pinp":
        return foresee(answer_noise(method, budget, answers)).alpha

    def compared(multiple: float) -> tuple[float, float]:
        noise = foresee(multiple)
        return noise.error, noise.largest

    return foresee(pinp_noise(budget, answers, FAILURE, compared)).alpha


def measure(problem: Problem) -> Scores:
    """Return the mean score of every method at every share, and at the constant n alpha (share 0)."""
    kernel, concept, count, features, seed = problem
    domain = Domain(KERNELS[kernel], 1.0, features)
    rows, labels, clean = records(concept, count + TESTS + SPAN + NET, features, seed)
    points = {number: public_points(number, features, 1.0) for number in (*ANSWERS["tddl"], *ANSWERS["matched"])}
    net: Any = None
    if kernel != "linear":
        span = Landmarks.at(domain, rows[-SPAN:])
        rows, points = span.features(rows), {number: span.features(each) for number, each in points.items()}
        domain, net = span.inner_domain, rows[-SPAN - NET : -SPAN]
    tests, wanted = rows[count : count + TESTS], clean[count : count + TESTS]
    name = "absolute" if concept in NUMBERS else "logistic"
    fits: dict[float, Certified] = {}

    def fitted(alpha: float) -> tuple[Certified, float]:
        # Ridges are rounded to powers of two, so that the methods share their fits.
        rounded = 2.0 ** round(np.log2(alpha * count / domain.square)) * domain.square / count
        if rounded not in fits:
            loss = foresee_noise(name, rounded, domain, count, 1.0).loss
            fits[rounded] = certified_linear(domain, rows[:count], labels[:count], loss, rounded)
        return fits[rounded], rounded

    def score(values: Floats, wanted: Floats) -> float:
        if name == "logistic":
            return float(np.mean((values > 0) == (wanted > 0)))
        return max(-1.0, 1 - float(np.mean((values - wanted) ** 2) / np.var(wanted)))

    def asked(method: str, budget: Budget, answers: int, alpha: float, seed: int) -> float:
        found, ridge = fitted(alpha)
        terms = Terms(None, "rehearsal", seed, ())
        if method == "pinp":
            law = Pinp(
                budget, found.sensitivity, domain.square, found.value_error, found.size, answers, FAILURE
            )  # fmt: skip
            path = law.randomise(found.model, source_for(seed))
            session = AnswerSession(domain, law, path.secret, path.mark, found.size, ProcessMemory())
            return score(session.ask(tests[:answers]).values, wanted[:answers])
        if method == "tdil":
            released = release_tdil(net, found, budget, answers, ridge, terms)
        else:
            mapped = Landmarks.at(domain, points[answers])
            released = release_answers(mapped, found, budget, method, ridge, terms)
        return score(released.model.scores(tests)[:, 0], wanted)

    scores: dict[tuple[str, float], list[float]] = {}
    for method, numbers in ANSWERS.items():
        for budget, answers in itertools.product((Budget(epsilon, DELTA) for epsilon in EPSILONS), numbers):
            for share in (0.0, *SHARES[method]):
                alpha = ridge(method, name, domain, count, budget, answers, share)
                each = [asked(method, budget, answers, alpha, seed + draw) for draw in range(DRAWS)]
                scores.setdefault((method, share), []).extend(each)
    return {key: float(np.mean(each)) for key, each in scores.items()}


def main() -> None:
    """Measure both halves of the problems."""
    halves: Halves = {}
    with Pool(2, threadpool_limits, (1,)) as pool:
        for held_out in (False, True):
            made = problems(held_out)
            halves[held_out] = list(zip(made, pool.map(measure, made, chunksize=1), strict=True))
    write(halves)


def write(halves: Halves) -> None:
    """Choose by the mean of all scores on one half of the problems, and write both halves down."""

    def mean(held_out: bool, methods: tuple[str, ...], share: float, numbers: bool | None = None) -> float:
        """Return the mean score of methods at a share, over problems of classes or of numbers if that is said."""
        return float(
            np.mean(
                [
                    found[method, share]
                    for problem, found in halves[held_out]
                    for method in methods
                    if numbers is None or numbers == (problem[1] in NUMBERS)
                ]
            )
        )

    lines = [
        "# The noise in an answer of a secret kernel model",
        "",
        "Made by `python benchmarks/kernel_ridge.py`; what is compared is said at its head. Mean accuracy on problems",
        "of classes, and mean R^2 on problems of numbers (each no less than -1), at epsilon 0.3, 1 and 3 and delta",
        f"1e-6, {DRAWS} draws each: on the {len(halves[False])} problems that the choice was made by / on as many",
        "others. The share is of a unit of the score for classes, and of a fifth of the targets' range for numbers.",
    ]
    for title, methods in (("released answers", RELEASED), ("PINP's threshold", ("pinp",))):
        shares = SHARES[methods[0]]
        chosen = max(shares, key=lambda share: mean(False, methods, share))
        names = [f"{method}, {what}" for method in methods for what in ("classes", "numbers")]
        lines += ["", f"| {title}: share | " + " | ".join(names) + " |", "|---|" + "---|" * len(names)]
        for share in (0.0, *shares):
            row = [
                " / ".join(f"{mean(held_out, (method,), share, numbers):.3f}" for held_out in (False, True))
                for method in methods
                for numbers in (False, True)
            ]
            label = "constant n alpha" if share == 0 else f"{share:g}"
            lines.append(f"| {label} | " + " | ".join(row) + " |")
        lines += ["", f"Chosen for {title}: {chosen:g} of a unit."]
    RESULTS.write_text("\n".join(lines) + "\n", encoding="utf-8")
    print("\n".join(lines))


if __name__ == "__main__":
    main()
