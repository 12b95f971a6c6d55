"""The auditor notices kernel learners that add too little noise, and leaves honest ones alone."""

import pytest

from tacit.audit import Question, Verdict, audit, case
from tacit.budget import Budget
from tacit.kernels.interactive.pinp import Pinp
from tacit.kernels.released.non_interactive import BudgetShares

pytestmark = pytest.mark.stats


def test_a_process_with_too_little_noise_is_refuted():
    """Noise made for epsilon 30 does not keep a claim of 1 (power above 1 - 1e-6)."""
    weak = case("InteractiveKernelPredictor", Question(30.0, 1e-5))
    report = audit(
        weak.mechanism, weak.first, weak.second, epsilon=1.0, delta=1e-5, plays=300, attacks=weak.attacks[:1]
    )
    assert report.verdict is Verdict.REFUTED


def test_pinp_with_too_little_noise_is_refuted(monkeypatch):
    """Comparisons at 150 times their epsilon show in the transcripts (power above 1 - 1e-6)."""
    honest = Pinp.each.func

    def weak(self):
        return 150 * honest(self)

    monkeypatch.setattr(Pinp, "each", property(weak))
    broken = case("InteractiveKernelPredictor-pinp", Question(1.0, 1e-5))
    report = broken.audit(plays=400)
    assert report.verdict is Verdict.REFUTED


@pytest.mark.parametrize("factor", [1.0, 1.5])
def test_pinp_is_judged_by_its_exact_delta(monkeypatch, factor):
    """Comparisons at half as much epsilon again are refuted by exact chances, without luck at plays."""
    monkeypatch.setattr(Pinp, "each", property(lambda self, honest=Pinp.each.func: factor * honest(self)))
    exact = case("InteractiveKernelPredictor-pinp", Question(1.0, 1e-5)).exact
    assert exact is not None
    assert exact.refutes(Budget(1.0, 1e-5)) == (factor > 1)


@pytest.mark.parametrize("way", ["", "-fourier", "-tddl", "-tdil"])
def test_released_models_with_too_little_noise_are_refuted(way):
    """Models made for epsilon 20 do not keep a claim of 1 (power above 1 - 1e-6)."""
    weak = case(f"PrivateKernelClassifier{way}", Question(20.0))
    report = audit(weak.mechanism, weak.first, weak.second, epsilon=1.0, plays=300, attacks=weak.attacks)
    assert report.verdict is Verdict.REFUTED


def test_a_ball_with_too_little_noise_is_refuted(monkeypatch):
    """Measurements with a hundredth of their noise show in the model (power above 1 - 1e-6)."""
    monkeypatch.setattr(
        BudgetShares, "multiplier", property(lambda self, honest=BudgetShares.multiplier.fget: honest(self) / 100)
    )
    report = case("PrivateKernelClassifier-ball", Question(1.0, 1e-5)).audit(plays=300)
    assert report.verdict is Verdict.REFUTED


def test_matched_noise_that_is_too_small_is_refuted():
    """A model made for epsilon 60 does not keep a claim of (1, 1e-5) (power above 1 - 1e-6)."""
    weak = case("PrivateKernelClassifier-matched", Question(60.0, 1e-5))
    report = audit(weak.mechanism, weak.first, weak.second, epsilon=1.0, delta=1e-5, plays=300, attacks=weak.attacks)
    assert report.verdict is Verdict.REFUTED


def test_the_exact_delta_of_the_audited_process_is_nearly_the_claimed_one():
    """The audited pair uses all of the sensitivity: a few hundredths less noise would exceed delta."""
    exact = case("InteractiveKernelPredictor", Question(1.0, 1e-5)).exact
    assert exact is not None
    assert 0.5e-5 < exact.delta <= 1e-5
