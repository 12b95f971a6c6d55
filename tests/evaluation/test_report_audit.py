"""The auditor refutes reports that have half the noise they claim; with all of it they pass (tests/audit)."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from tacit.audit import LikelihoodRatio, Question, Verdict, case
from tacit.budget import Budget


@pytest.mark.stats
def test_a_report_with_half_the_noise_is_refuted() -> None:
    """Noise made for epsilon 4 is half of what epsilon 2 needs, and the best test there is says so."""
    built = case("evaluation.report", Question(4.0))
    run: Any = built.mechanism
    below, above = (tuple(np.asarray(run.func(ages, epsilon=1e5)).tolist()) for ages in (built.first, built.second))
    attack = LikelihoodRatio.shifted(lambda noise: -np.abs(noise).sum(axis=1) / (2.0 / 4.0), below, above)
    report = replace(built, claim=Budget(2.0), attacks=(attack,)).audit(plays=4500, confidence=1 - 1e-6)
    assert report.verdict is Verdict.REFUTED, report.conclusion
