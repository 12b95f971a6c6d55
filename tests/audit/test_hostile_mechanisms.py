"""Mechanisms without noise are refuted in whatever form they tell; honest ones of the same form hold.

Every form is played twice: once with the record itself, and once with an answer of randomized response at epsilon 1,
which is exactly what the claim allows. The honest ones are judged at a false-alarm rate of 1e-9 each.
"""

import math
import warnings

import numpy as np
import pytest

from support.hostile_forms import FAILURES, VALUES, Model, hang
from tacit.audit import Batch, Canary, Fingerprint, Patience, Verdict, audit
from tacit.budget import Budget
from tacit.mechanisms import Laplace
from tacit.noise import source_for, uniform
from tacit.releases import release

D, D2 = [1, 0, 0], [0, 0, 0]
PLAYS = 420


def _noise():
    return float(uniform(source_for(None), 1)[0])


def _truth(data):
    return int(data[0])


def _response(data):
    """Return the record, or a lie with chance 1 / (1 + e): private with epsilon 1, and no less."""
    return 1 - int(data[0]) if _noise() < 1 / (1 + math.e) else int(data[0])


def _refuted(mechanism, **options):
    return audit(mechanism, D, D2, epsilon=1.0, plays=PLAYS, attacks=[Fingerprint()], **options)


def _honest(mechanism, **options):
    return audit(mechanism, D, D2, epsilon=1.0, plays=PLAYS, confidence=1 - 1e-9, attacks=[Fingerprint()], **options)


@pytest.mark.parametrize("name", VALUES)
def test_an_answer_that_tells_is_refuted_beside_noise_too(name):
    """The bit is told by the form of the answer alone, beside a number that is pure noise."""
    form = VALUES[name]
    report = _refuted(lambda data: (_noise(), form(_truth(data))))
    assert report.verdict is Verdict.REFUTED, report.conclusion
    assert report.exit_code == 1


@pytest.mark.stats
@pytest.mark.parametrize("name", VALUES)
def test_an_honest_answer_of_the_same_form_holds(name):
    """The twin: randomized response told in the same form is not refuted, and can be judged."""
    form = VALUES[name]
    report = _honest(lambda data: (_noise(), form(_response(data))))
    assert report.verdict is Verdict.HOLDS, report.conclusion


@pytest.mark.parametrize("name", FAILURES)
def test_a_failure_that_tells_is_refuted(name):
    """An exception, an exit, a warning, printed or logged text is an outcome like any other."""
    form = FAILURES[name]
    report = _refuted(lambda data: form(_truth(data)))
    assert report.verdict is Verdict.REFUTED, report.conclusion


@pytest.mark.stats
@pytest.mark.parametrize("name", FAILURES)
def test_a_failure_that_comes_at_random_holds(name):
    """The twin: the same failures by randomized response, beside plays that answer, are not refuted."""
    form = FAILURES[name]
    report = _honest(lambda data: form(_response(data)) if _noise() < 0.9 else 1.0)
    assert report.verdict is Verdict.HOLDS, report.conclusion


def test_a_hang_that_tells_is_refuted():
    """An endless loop on one of two neighbours is seen; the game is cut to what is needed."""
    report = _refuted(lambda data: hang(_truth(data)), patience=Patience(seconds=0.01))
    assert report.verdict is Verdict.REFUTED, report.conclusion
    assert report.plays < PLAYS


def test_a_hang_that_swallows_its_interruption_is_refuted_too():
    """A loop that catches everything is interrupted again outside of what it catches."""

    def stubborn(data):
        try:
            hang(_truth(data))
        except BaseException:
            hang(_truth(data))
        return 1.0

    assert _refuted(stubborn, patience=Patience(seconds=0.01)).verdict is Verdict.REFUTED


@pytest.mark.stats
def test_a_hang_that_comes_at_random_holds():
    """The twin: plays that hang by randomized response at epsilon 1 are not refuted."""
    report = _honest(lambda data: hang(_response(data)), patience=Patience(seconds=0.01))
    assert report.verdict is Verdict.HOLDS, report.conclusion


def test_a_mechanism_that_always_hangs_cannot_be_judged():
    """Where neither data set gets an answer in time there is no verdict."""
    report = _refuted(lambda data: hang(1), patience=Patience(seconds=0.01))
    assert report.verdict is Verdict.CANNOT_TELL
    assert "on neither data set" in report.conclusion


def _last_bit(number, bit):
    return (np.array([number]).view(np.uint64) & ~np.uint64(1) | np.uint64(bit)).view(np.float64)[0]


NOISY = {
    "last bit": lambda bit: _last_bit(_noise(), bit),
    "parity beyond 2^53": lambda bit: 2**60 + 2 * int(_noise() * 1000) + bit,
    "grid": lambda bit: int(_noise() * 1000) / 8 + bit / 16,
    "sometimes exact": lambda bit: 1.0 if bit and _noise() < 0.8 else _noise(),
}


@pytest.mark.parametrize("name", NOISY)
def test_bits_under_noise_are_seen(name):
    """Noise that leaves a low bit, a parity, a grid or an exact value alone hides nothing."""
    form = NOISY[name]
    assert _refuted(lambda data: form(_truth(data))).verdict is Verdict.REFUTED


@pytest.mark.stats
@pytest.mark.parametrize("name", NOISY)
def test_bits_under_noise_that_are_private_hold(name):
    """The twin: the same with a randomized bit is not refuted."""
    form = NOISY[name]
    assert _honest(lambda data: form(_response(data))).verdict is Verdict.HOLDS


PLACES = {
    "an attribute": lambda number: Model(mean_=number),
    "a text": lambda number: f"the mean is {number}",
    "a message": lambda number: warnings.warn(f"the mean is {number}", RuntimeWarning, stacklevel=1),
    "a table": lambda number: {"mean": [number], "n": 3},
}


@pytest.mark.parametrize("place", PLACES)
def test_too_little_noise_is_found_wherever_the_number_stands(place):
    """A number with a tenth of its noise is refuted in any place, by the classifier that is always trained."""
    mechanism = Laplace.for_budget(Budget(10))

    def run(data):
        return PLACES[place](release(mechanism, sum(data), label="test").value)

    report = audit(run, D, D2, epsilon=1.0, plays=600)
    assert report.verdict is Verdict.REFUTED, report.conclusion


@pytest.mark.stats
@pytest.mark.parametrize("place", PLACES)
def test_enough_noise_holds_wherever_the_number_stands(place):
    """The twin: with its noise for epsilon 1 the same is not refuted (false alarm 1e-9)."""
    mechanism = Laplace.for_budget(Budget(1))

    def run(data):
        return PLACES[place](release(mechanism, sum(data), label="test").value)

    report = audit(run, D, D2, epsilon=1.0, plays=600, confidence=1 - 1e-9)
    assert report.verdict is Verdict.HOLDS, report.conclusion


def test_a_chosen_attack_does_not_blind_the_auditor():
    """With a canary that sees nothing, a shape or an exception that tells is refuted all the same."""
    for form in (VALUES["shape"], VALUES["another attribute"], FAILURES["an exception or none"]):
        report = audit(lambda data, form=form: form(data[0]), D, D2, epsilon=1.0, plays=PLAYS, attacks=[Canary((1.0,))])
        assert report.verdict is Verdict.REFUTED


def test_an_exception_in_other_processes_is_an_outcome_too():
    """Played in two processes, raising on one of two neighbours is refuted."""
    report = _refuted(lambda data: 1 / (1 - data[0]), jobs=2)
    assert report.verdict is Verdict.REFUTED


@pytest.mark.parametrize("settings", [{"all": "raise"}, {"all": "ignore"}], ids=str)
def test_the_callers_settings_do_not_blind_the_auditor(settings):
    """With numpy's errors raised or ignored and warnings as errors, a tiny tell beside infinities is refuted."""
    with np.errstate(**settings), warnings.catch_warnings():
        warnings.simplefilter("error")
        report = _refuted(lambda data: np.array([np.inf, -np.inf, np.nan, 5e-324 * data[0], 1e308]))
    assert report.verdict is Verdict.REFUTED


@pytest.mark.parametrize("kind", [np.float32, np.int64, np.uint8, bool, complex], ids=str)
def test_a_batch_of_another_type_on_one_data_set_is_refuted(kind):
    """Batches whose rows have another dtype for one of two neighbours are told apart."""

    class Typed(Batch):
        def many(self, data, count):
            return np.ones((count, 1), dtype=kind if data[0] else float)

    assert _refuted(Typed()).verdict is Verdict.REFUTED
