"""Everything in tacit that makes a promise passes its audit.

Each audit below runs at confidence 1 - 1e-8, so all of them together raise a false alarm with probability below
FALSE_ALARMS = 1e-6, with about as many plays as it takes to refute an epsilon of 1 at that confidence. The twins, which
must be refuted, are tests/audit/test_exhibits.py and, for kernels, tests/kernels/test_audit.py.
"""

import dataclasses
import inspect

import numpy as np
import pytest

import tacit
from tacit import evaluation, mechanisms, statistics
from tacit.audit import NAMES, Question, Verdict, case
from tacit.mechanisms import AdditiveNoise, Mechanism

pytestmark = pytest.mark.stats

FALSE_ALARMS = 1e-6
EACH = 1e-8
PURE, GAUSSIAN = Question(1.0), Question(1.0, 1e-5)

AUDITS = [
    *(
        (name, PURE, 500)
        for name in ("Laplace", "Gaussian", "SphericalLaplace", "Exponential", "SparseVector", "Repetition")
    ),
    *((f"statistics.{name}", PURE, 500) for name in ("count", "sum", "mean", "histogram", "quantile")),
    *((f"statistics.{name}", GAUSSIAN, 500) for name in ("mean", "histogram")),
    ("evaluation.accuracy", PURE, 500),
    *((f"evaluation.report{kind}", PURE, 400) for kind in ("", "-chosen", "-several", "-persons", "-regression")),
    ("evaluation.log_loss", PURE, 400),
    ("evaluation.confusion_matrix", PURE, 400),
    ("evaluation.report", GAUSSIAN, 400),
    ("PrivateLogisticRegression", PURE, 400),
    ("PrivateLogisticRegression", Question(1.0, n_lambda=0.01), 400),
    ("PrivateLogisticRegression", Question(1.0, perturbation="output"), 400),
    ("PrivateLogisticRegression", GAUSSIAN, 400),
    ("PrivateLogisticRegression", Question(1.0, 1e-5, perturbation="objective"), 400),
    ("PrivateLogisticRegression", Question(1.0, 1e-5, perturbation="output"), 400),
    ("PrivateLogisticRegression-softmax", PURE, 400),
    ("PrivateLogisticRegression-softmax", GAUSSIAN, 400),
    ("PrivateLogisticRegression-persons", PURE, 400),
    ("PrivateLogisticRegression-persons", GAUSSIAN, 400),
    ("PrivateLinearSVC", PURE, 400),
    ("PrivateLinearSVC", Question(1.0, perturbation="output"), 400),
    ("PrivateLinearSVC", Question(1.0, 1e-5, perturbation="objective"), 400),
    ("PrivateLinearRegression", PURE, 400),
    ("PrivateLinearRegression", GAUSSIAN, 400),
    ("PrivateLinearRegression", Question(1.0, perturbation="output"), 400),
    ("PrivateERM", PURE, 400),
    ("InteractiveKernelPredictor", GAUSSIAN, 400),
    ("InteractiveKernelPredictor-pinp", GAUSSIAN, 400),
    *((f"PrivateKernelClassifier{way}", GAUSSIAN, 400) for way in ("", "-fourier", "-tddl", "-matched")),
    *((f"PrivateKernelClassifier{way}", GAUSSIAN, 400) for way in ("-tdil", "-ball")),
    ("PrivateKernelClassifier-tdil", PURE, 400),
    ("PrivateKernelRegressor", PURE, 400),
    ("StatisticalOracle", PURE, 400),
    ("StatisticalOracle", GAUSSIAN, 400),
    ("StatisticalOracle-hostile", PURE, 420),
]


@pytest.mark.parametrize(("name", "question", "plays"), AUDITS, ids=lambda value: str(value) if value else "-")
def test_the_claim_holds(name, question, plays):
    """The audit could have refuted an epsilon of 1 and did not; exact densities agree (false alarm 1e-8 each)."""
    report = case(name, question).audit(plays=plays, confidence=1 - EACH)
    assert report.verdict is Verdict.HOLDS, report.conclusion
    assert report.epsilon_bound <= 1 < report.reach


def test_rows_that_pass_for_persons_are_refuted():
    """The same game without groups: noise for each of 23 rows does not hide the patient who owns twenty."""
    honest = case("PrivateLogisticRegression-persons", PURE)

    def careless(data):
        owners = np.repeat(np.arange(2), data[1])
        model = tacit.PrivateLogisticRegression(1.0, data_norm=1.0, fit_intercept=False, classes=[-1.0, 1.0])
        return model.fit(np.ones((len(owners), 1)), data[0][owners])

    report = dataclasses.replace(honest, mechanism=careless).audit(plays=400, confidence=1 - EACH)
    assert report.verdict is Verdict.REFUTED, report.conclusion


def test_the_audits_together_raise_a_false_alarm_less_than_once_in_a_million():
    """The risks of all audits above add up to less than FALSE_ALARMS."""
    assert len(AUDITS) * EACH < FALSE_ALARMS


def test_everything_that_promises_something_is_audited():
    """Every public mechanism, estimator, oracle, statistic and score has a name here, and every name is audited above.

    Learners from statistical queries hold no mechanism of their own: tests/test_releases.py sees to that.
    """
    wanted = {name for name in tacit.__all__ if name.startswith("Private")} | {"StatisticalOracle"}
    wanted |= {name for name in mechanisms.__all__ if getattr(mechanisms, name) not in (Mechanism, AdditiveNoise)}
    wanted |= {f"statistics.{name}" for name in statistics.__all__ if "epsilon" in _parameters(statistics, name)}
    wanted |= {f"evaluation.{name}" for name in evaluation.__all__ if "epsilon" in _parameters(evaluation, name)}
    # The first is calls of `quantile`, and `mean_error` touches no record.
    wanted -= {"statistics.bounds", "statistics.mean_error"}
    assert wanted <= set(NAMES)
    assert {name for name in NAMES if not name.startswith("exhibit-")} == {name for name, _, _ in AUDITS}


def _parameters(module, name):
    found = getattr(module, name)
    return inspect.signature(found).parameters if callable(found) else ()
