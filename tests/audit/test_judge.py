"""The judge is right as often as it says, whatever the attack, and finds what is there."""

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

from support.statistical import at_least, at_most, sample_size
from tacit.audit.attacks import Canary, Learned, LikelihoodRatio, LowBits
from tacit.audit.fingerprint import Fingerprint
from tacit.audit.game import Batch, play
from tacit.audit.judge import judge
from tacit.audit.plays import Plays
from tacit.budget import Budget
from tacit.noise import source_for, uniform


@dataclass(frozen=True)
class _RandomizedResponse(Batch):
    """Tells the truth with odds e^epsilon: exactly epsilon-private, and attained by every answer."""

    epsilon: float

    def many(self, data: Any, count: int) -> Any:
        lies = uniform(source_for(None), count) < 1 / (1 + math.exp(self.epsilon))
        return np.where(lies, 1 - data[0], data[0])[:, None].astype(float)


def _refutations(epsilon, claim, audits, plays, attack, confidence):
    bounds = (
        judge(play(_RandomizedResponse(epsilon), [1], [0], plays), attack, Budget(claim), confidence).bound
        for _ in range(audits)
    )
    return sum(bound > claim for bound in bounds)


@pytest.mark.stats
def test_a_true_claim_is_refuted_no_more_often_than_stated():
    """Randomized response at its exact epsilon is refuted in at most a tenth of audits at 90 % (false alarm 1e-9).

    The twins: test_a_false_claim_is_refuted, and test_choosing_the_event_on_the_judged_plays_would_be_wrong.
    """
    audits = sample_size(400)
    assert at_most(_refutations(1.0, 1.0, audits, 400, Canary((1.0,)), 0.9), audits, 0.1)


@pytest.mark.stats
def test_fingerprints_refute_a_true_claim_no_more_often_than_stated():
    """The same with the two answers' exact bits as evidence, learned and judged apart (false alarm 1e-9)."""
    audits = sample_size(400)
    assert at_most(_refutations(1.0, 1.0, audits, 400, Fingerprint(), 0.9), audits, 0.1)


@pytest.mark.stats
def test_fingerprints_refute_a_false_claim():
    """The twin: at a true epsilon of 2.5 they refute a claim of 1 in nine audits of ten with 1000 plays at 99 %."""
    audits = sample_size(100)
    assert at_least(_refutations(2.5, 1.0, audits, 1000, Fingerprint(), 0.99), audits, 0.9)


@pytest.mark.stats
def test_a_false_claim_is_refuted():
    """At a true epsilon of 2 the claim of 1 is refuted in at least nine audits of ten with 1000 plays at 99 %."""
    audits = sample_size(100)
    assert at_least(_refutations(2.0, 1.0, audits, 1000, Canary((1.0,)), 0.99), audits, 0.9)


@pytest.mark.stats
def test_choosing_the_event_on_the_judged_plays_would_be_wrong():
    """The twin that must fail: judged on the plays it was chosen on, the best of many events is refuted too often."""
    audits, too_many = 300, 0
    for _ in range(audits):
        noise = np.random.default_rng().normal(size=(1000, 1))
        coins = uniform(source_for(None), 1000) < 0.5
        twice = Plays.plain(np.concatenate([noise, noise]), np.concatenate([coins, coins]))
        too_many += judge(twice, Canary((1.0,)), Budget(0.001), 0.6).bound > 0.001
    assert not at_most(too_many, audits, 0.4)


@pytest.mark.stats
def test_the_win_rate_is_that_of_the_best_guess():
    """On randomized response Bob's interval at 1 - 1e-9 holds the chance e^epsilon / (1 + e^epsilon)."""
    right, wrong = (
        judge(play(_RandomizedResponse(epsilon), [1], [0], 20_000), Canary((1.0,)), Budget(1), 1 - 1e-9).win_interval
        for epsilon in (1.0, 1.5)
    )
    assert right[0] <= math.e / (1 + math.e) <= right[1]
    assert right[1] - right[0] < 0.06
    # The twin: of another epsilon it does not.
    assert not wrong[0] <= math.e / (1 + math.e) <= wrong[1]


@pytest.mark.stats
def test_a_learned_classifier_finds_what_nobody_told_it():
    """A shift along a diagonal of noise in five dimensions is found: epsilon above 3 (power above 1 - 1e-9)."""

    class Shifted(Batch):
        def many(self, data, count):
            return np.random.default_rng().normal(size=(count, 5)) + 1.5 * data[0]

    found = judge(play(Shifted(), [1.0], [0.0], 12_000), Learned(), Budget(1), 0.999)
    assert found.bound > 3
    assert found.win_rate > 0.9
    # The twin: where nothing is shifted, nothing is found.
    assert judge(play(Shifted(), [0.0], [0.0], 12_000), Learned(), Budget(1), 1 - 1e-9).bound <= 0.1


@pytest.mark.stats
def test_a_useless_attack_finds_nothing():
    """Answers that do not depend on the data give no bound (false alarm 1e-9); the twin is the test above."""

    class Unrelated(Batch):
        def many(self, data, count):
            return np.random.default_rng().normal(size=(count, 2))

    for attack in (Learned(trees=10), Canary((1.0, 0.0)), LowBits((0.0, 0.0), (1.0, 1.0)), Fingerprint()):
        found = judge(play(Unrelated(), [1.0], [0.0], 4_000), attack, Budget(0.1), 1 - 1e-9)
        assert found.bound <= 0.1


def test_impossible_answers_decide_for_certain():
    """Where one density is zero the score is as high as scores go, and never NaN."""
    attack = LikelihoodRatio(lambda x: np.zeros(len(x)), lambda x: np.where(x[:, 0] > 0, -np.inf, 0.0))
    plays = Plays.plain(np.array([[1.0], [-1.0]]), np.array([True, False]))
    assert attack.aim(plays)(plays).tolist() == [1e300, 0.0]


@pytest.mark.parametrize("count", [2, 3, 5, 9])
def test_a_handful_of_plays_proves_nothing(count):
    """With so few plays every attack still answers, and no bound can exceed a claim of 1."""
    plays = Plays.plain(np.arange(float(count))[:, None], np.arange(count) % 2 == 0)
    for attack in (Canary((1.0,)), Learned(trees=5), Fingerprint()):
        found = judge(plays, attack, Budget(1), 0.999)
        assert found.bound <= found.reach < 1
