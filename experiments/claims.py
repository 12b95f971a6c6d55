"""What tacit says of each experiment, as functions of the table that it writes: `tacit reproduce` and the tests ask.

A claim about means with noise is refuted only where they lie on the wrong side by more than four standard errors, or
where they do so on average: few draws can leave a claim standing that more would refute, and never the other way.
"""

import itertools
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from scipy.stats import chi2

Table = Sequence[dict[str, str]]
_FAR = 4.0


@dataclass(frozen=True)
class Claim:
    """A sentence, and whether a table bears it out."""

    name: str
    words: str
    holds: Callable[[Table], bool]


def _rows(table: Table, **wanted: object) -> list[dict[str, str]]:
    found = [row for row in table if all(row[name] == str(value) for name, value in wanted.items())]
    if not found:
        raise ValueError(f"the table has no row with {wanted}")
    return found


def mean(table: Table, column: str, **wanted: object) -> float:
    """Return the mean of a column over the rows with these entries."""
    return float(np.mean([float(row[column]) for row in _rows(table, **wanted)]))


def _below(pairs: Sequence[tuple[float, float, float]]) -> bool:
    """Whether the first numbers are below the second ones, on average, and nowhere far above them for their errors."""
    gaps = np.array([first - second for first, second, _ in pairs])
    return bool(len(gaps) and gaps.mean() < 0 and np.all(gaps <= _FAR * np.array([error for *_, error in pairs])))


def _private(table: Table, scenario: str) -> list[dict[str, str]]:
    return [row for row in _rows(table, scenario=scenario) if row["method"] != "standard"]


def _half_as_wrong(table: Table) -> bool:
    rows = _private(table, "as described")
    return _below(
        [(float(row["error"]), float(row["published_error"]) / 2, float(row["standard_error"])) for row in rows]
    )


def _a_fifth(table: Table) -> bool:
    rows = _private(table, "epsilon 0.02")
    gaps = [abs(float(row["error"]) - float(row["published_error"])) for row in rows]
    room = [0.03 + _FAR * float(row["standard_error"]) for row in rows]
    return all(gap < most for gap, most in zip(gaps, room, strict=True))


def _ahead(table: Table) -> bool:
    key = "data", "curve" if "curve" in table[0] else "scenario", "epsilon", "training_rows"
    other = {tuple(row[name] for name in key): row for row in table if row["method"] == "sensitivity"}
    measured = [row for row in table if row["method"] == "new" and row["standard_error"]]
    chosen = [row for row in measured if float(row["epsilon"]) >= 0.02]
    pairs = []
    for row in chosen:
        beside = other[tuple(row[name] for name in key)]
        error = np.hypot(float(row["standard_error"]), float(beside["standard_error"]))
        if int(row["training_rows"]) >= 2000:
            pairs.append((float(row["error"]), float(beside["error"]), float(error)))
    return _below(pairs)


def _above_published(table: Table) -> bool:
    return all(mean(table, "accuracy", epsilon=epsilon) > 0.723 for epsilon in ("0.1", "0.2", "0.5", "1", "2"))


def _grows(table: Table) -> bool:
    means = [mean(table, "accuracy", epsilon=epsilon) for epsilon in ("0.01", "0.1", "0.5", "2", "inf")]
    return all(later > earlier - 0.005 for earlier, later in itertools.pairwise(means)) and means[-1] > means[0]


def _pure_guesses(table: Table) -> bool:
    many = {"panel": "epsilon", "method": "objective, pure"}
    return all(mean(table, "accuracy", epsilon=epsilon, **many) < 0.6 for epsilon in ("0.3", "1", "3"))


def _landmarks_do_not_mind(table: Table) -> bool:
    few, many = (mean(table, "accuracy", panel="columns", method="landmarks", columns=each) for each in (100, 62061))
    return many > few


def _gaussian_does_not_mind(table: Table) -> bool:
    asked = {"panel": "columns", "method": "objective, Gaussian"}
    few, many = (mean(table, "accuracy", columns=each, **asked) for each in (100, 62061))
    return many > few


def _right_noise(table: Table) -> bool:
    return all(float(row["chi_square_tail"]) > 1e-9 for row in table)


def _tells_less_noise(table: Table) -> bool:
    last = table[-1]
    return bool(chi2.cdf(0.81 * float(last["sum_of_squares"]), int(last["answered"])) < 1e-2)


CLAIMS = {
    "nips2008-figure1": (
        Claim("half", "at epsilon 0.1 both private methods err less than half as often as printed", _half_as_wrong),
        Claim("fifth", "the printed errors are those of a fifth of that epsilon, to within 0.03", _a_fifth),
        Claim("ahead", "the paper's conclusion stands: noise in the objective errs less than in the output", _ahead),
    ),
    "nips2008-figure2": (
        Claim("ahead", "the paper's conclusion stands: noise in the objective errs less, from 2,000 rows on", _ahead),
    ),
    "icml2013-figure2a": (
        Claim(
            "above",
            "from epsilon 0.1 on the private model is above the paper's 72.3 % without privacy",
            _above_published,
        ),
        Claim("grows", "accuracy grows with epsilon, to within half a point", _grows),
    ),
    "icml2013-figure2b": (
        Claim(
            "guesses",
            "the paper's claim holds: pure noise in the objective guesses in 62,061 dimensions",
            _pure_guesses,
        ),
        Claim(
            "landmarks", "the paper's claim holds: a model on public points does not mind them", _landmarks_do_not_mind
        ),
        Claim(
            "gaussian",
            "it does not hold for Gaussian noise in the objective, which minds them no more",
            _gaussian_does_not_mind,
        ),
    ),
    "icml2013-interactive": (
        Claim("noise", "the noise of all answers has the size and covariance that it should", _right_noise),
        Claim("power", "were it 10 % smaller, this would be seen", _tells_less_noise),
    ),
}
"""By the names that `tacit reproduce` knows."""
