"""Audit every method that a model file can hold, for the cards: `make verdicts`, a few minutes of one core.

The verdicts are written with the hash of the code that was attacked; a card says whether that is still the code.
"""

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from tacit.audit import Question, Verdict, case
from tacit.reports import verdicts

BOTH, PURE, WITH_DELTA = (0.0, 1e-6), (0.0,), (1e-6,)
METHODS = (
    ("PrivateLogisticRegression", "objective", BOTH),
    ("PrivateLogisticRegression", "output", BOTH),
    ("PrivateLogisticRegression", "gradient", WITH_DELTA),
    ("PrivateLogisticRegression-softmax", "objective", PURE),
    ("PrivateLogisticRegression-softmax", "gradient", WITH_DELTA),
    ("PrivateLogisticRegression-persons", "objective", BOTH),
    ("PrivateLogisticRegression-persons", "gradient", WITH_DELTA),
    ("PrivateLinearSVC", "objective", BOTH),
    ("PrivateLinearSVC", "output", BOTH),
    ("PrivateLinearSVC", "gradient", WITH_DELTA),
    ("PrivateLinearRegression", "objective", BOTH),
    ("PrivateLinearRegression", "statistics", WITH_DELTA),
    ("PrivateLinearRegression", "gradient", WITH_DELTA),
    ("PrivateERM", "objective", BOTH),
    ("PrivateERM", "gradient", WITH_DELTA),
    ("PrivateKernelClassifier", None, BOTH),
    ("PrivateKernelClassifier-fourier", None, BOTH),
    ("PrivateKernelClassifier-tddl", None, BOTH),
    ("PrivateKernelClassifier-matched", None, WITH_DELTA),
    ("PrivateKernelClassifier-tdil", None, BOTH),
    ("PrivateKernelRegressor", None, BOTH),
    ("StatisticalOracle", None, BOTH),
    ("evaluation.report", None, BOTH),
    ("evaluation.report-regression", None, BOTH),
)
"""What is attacked, by which perturbation, and with which deltas."""
EPSILON, CONFIDENCE = 1.0, 0.999
PLACE = Path(verdicts.__file__).with_name(verdicts.PLACE)


def audited() -> Iterator[dict[str, Any]]:
    """Play with every method."""
    for name, perturbation, deltas in METHODS:
        for delta in deltas:
            chosen = case(name, Question(EPSILON, delta or None, None, perturbation))
            report = chosen.audit(plays=chosen.sufficient(CONFIDENCE), confidence=CONFIDENCE)
            print(report.conclusion, flush=True)
            plain = report.plain()
            yield {key: plain[key] for key in plain if key not in ("rows", "exit_code")}
            if report.verdict is Verdict.REFUTED:
                sys.exit(f"{name} is refuted: nothing was written.")


if __name__ == "__main__":
    PLACE.write_text(json.dumps(list(audited()), indent=1) + "\n", "utf-8")
