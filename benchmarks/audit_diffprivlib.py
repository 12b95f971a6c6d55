"""An audit of diffprivlib's LogisticRegression at data_norm=100, through tacit's generic entry.

Usage: python benchmarks/audit_diffprivlib.py [--plays 24000] [--epsilon 1]

diffprivlib runs in an environment of its own (benchmarks/peers-requirements.txt, .venv-peers): the mechanism that is
audited sends a data set to a process there and gets fitted coefficients back. One record of norm 100 becomes 0. The
same data sets and attack are then used on tacit's own estimator.
"""

import argparse
import json
import subprocess
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import numpy as np
from speed_peers import peer_python

from tacit import PrivateLogisticRegression
from tacit.audit import AuditReport, LikelihoodRatio, audit, picture
from tacit.audit.laws import LOGISTIC, CountedRows, NoiseLaw, ObjectiveLaw

RESULTS = Path(__file__).resolve().parent / "results"
NORM = 100.0
ROWS = np.array([[NORM], [0.0]])
OTHER = np.array([[0.0], [0.0]])
LABELS = np.array([1.0, -1.0])

PEER = """
import json, sys, warnings
import numpy as np
from diffprivlib.models import LogisticRegression
warnings.simplefilter("ignore")
for line in sys.stdin:
    X, y, epsilon, norm = json.loads(line)
    model = LogisticRegression(epsilon=epsilon, data_norm=norm, fit_intercept=False, tol=1e-8, max_iter=1000)
    print(json.dumps(model.fit(np.array(X), np.array(y)).coef_.ravel().tolist()), flush=True)
"""


class Peer:
    """diffprivlib's estimator as a function of a data set."""

    def __init__(self, epsilon: float) -> None:
        self._epsilon = epsilon

    def __enter__(self) -> Self:
        command = [str(peer_python()), "-c", PEER]
        self._process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        assert self._process.stdin is not None
        self._process.stdin.close()
        self._process.wait()

    def __call__(self, data: tuple[Any, Any]) -> list[float]:
        """Return the coefficients of one fit."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        rows, labels = data
        self._process.stdin.write(json.dumps([rows.tolist(), labels.tolist(), self._epsilon, NORM]) + "\n")
        self._process.stdin.flush()
        answer: list[float] = json.loads(self._process.stdout.readline())
        return answer


def attack(epsilon: float) -> LikelihoodRatio:
    """Return the exact likelihood ratio of what diffprivlib's source code draws at its default C = 1.

    Its epsilon' = epsilon - 2 log(1 + R/4) is negative here, so it takes epsilon/2 and raises n lambda to
    R/4 / (e^(epsilon/4) - 1); the constant should have had R^2.
    """
    law = ObjectiveLaw(LOGISTIC, 0.25 * NORM / np.expm1(epsilon / 4), NoiseLaw(2 * NORM / (epsilon / 2)))
    first, second = CountedRows.of(ROWS, LABELS), CountedRows.of(OTHER, LABELS)
    return LikelihoodRatio(lambda w: law.log_density(w[:, :1], first), lambda w: law.log_density(w[:, :1], second))


def audited(name: str, mechanism: Any, epsilon: float, plays: int) -> AuditReport:
    """Audit one estimator on the pair."""
    return audit(
        mechanism, (ROWS, LABELS), (OTHER, LABELS), epsilon=epsilon, plays=plays, attacks=[attack(epsilon)], name=name
    )


def main() -> None:
    """Audit both and write the table and the pictures."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--plays", type=int, default=24_000)
    parser.add_argument("--epsilon", type=float, default=1.0)
    given = parser.parse_args()

    def ours(data: tuple[Any, Any]) -> Any:
        return PrivateLogisticRegression(
            given.epsilon, data_norm=NORM, alpha=1 / len(LABELS), fit_intercept=False, classes=[-1.0, 1.0]
        ).fit(*data)

    with Peer(given.epsilon) as peer:
        reports = [audited("diffprivlib 0.6.6 LogisticRegression", peer, given.epsilon, given.plays)]
    reports.append(audited("tacit PrivateLogisticRegression", ours, given.epsilon, max(2, given.plays // 8)))
    lines = [
        "# Audit of diffprivlib's LogisticRegression at data_norm=100",
        "",
        f"`python benchmarks/audit_diffprivlib.py --plays {given.plays} --epsilon {given.epsilon:g}`: two records, no "
        f"intercept, C=1; the record x={NORM:g} becomes 0. Lower bounds on epsilon hold at 99.9 % confidence.",
        "",
        "| estimator | claimed epsilon | plays | Bob won | epsilon is above | verdict |",
        "|---|---|---|---|---|---|",
    ]
    for report in reports:
        print(report, flush=True)
        won = report.findings[0].win_rate if report.findings else float("nan")
        lines.append(
            f"| {report.name} | {given.epsilon:g} | {report.plays:,} | {won:.3f} | {report.epsilon_bound:.3f} | "
            f"{report.verdict} |"
        )
    RESULTS.mkdir(exist_ok=True)
    (RESULTS / "audit_diffprivlib.md").write_text("\n".join(lines) + "\n", encoding="utf-8")
    picture(reports[0], RESULTS / "audit_diffprivlib.svg")


if __name__ == "__main__":
    main()
