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

METHODS = (
    "PrivateLogisticRegression", "PrivateLogisticRegression-persons", "PrivateLinearSVC", "PrivateLinearRegression",
    "PrivateERM", "PrivateKernelClassifier", "PrivateKernelRegressor", "StatisticalOracle", "evaluation.report",
)  # fmt: skip
EPSILON, DELTAS, CONFIDENCE = 1.0, (0.0, 1e-6), 0.999
PLACE = Path(verdicts.__file__).with_name(verdicts.PLACE)


def audited() -> Iterator[dict[str, Any]]:
    """Play with every method, pure and with a delta."""
    for name in METHODS:
        for delta in DELTAS:
            chosen = case(name, Question(EPSILON, delta or None, None, None))
            report = chosen.audit(plays=chosen.sufficient(CONFIDENCE), confidence=CONFIDENCE)
            print(report.conclusion, flush=True)
            plain = report.plain()
            yield {key: plain[key] for key in plain if key not in ("rows", "exit_code")}
            if report.verdict is Verdict.REFUTED:
                sys.exit(f"{name} is refuted: nothing was written.")


if __name__ == "__main__":
    PLACE.write_text(json.dumps(list(audited()), indent=1) + "\n", "utf-8")
