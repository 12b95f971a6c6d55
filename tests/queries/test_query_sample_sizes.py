"""Numbers of records: the formulas, and that so many records do what is said of them."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from support.statistical import at_most, sample_size
from tacit.accounting.analytic import gaussian_shift
from tacit.budget import Budget
from tacit.errors import InvalidParameter
from tacit.queries import StatisticalOracle, StatisticalQuery
from tacit.queries.sample_sizes import conjunction_error, records_for_conjunction, records_for_queries

QUERIES = st.integers(1, 1000)
TOLERANCES = st.sampled_from([0.2, 0.05, 0.01])
RATES = st.sampled_from([0.0, 0.1, 0.4])
EPSILONS = st.sampled_from([0.1, 1.0, 10.0])


@given(QUERIES, TOLERANCES, RATES, st.booleans())
def test_without_privacy_the_number_is_hoeffding_s(queries: int, tolerance: float, rate: float, adaptive: bool) -> None:
    """Theorems 6 and 8: k^2 ln(2M/beta) / 2 tau^2 records, for each query if they depend on each other."""
    exact = math.log(2 * queries / 0.05) / (2 * (tolerance * (1 - 2 * rate)) ** 2)
    each = records_for_queries(queries, tolerance=tolerance, noise_rate=rate, adaptive=adaptive)
    assert each / (queries if adaptive else 1) == pytest.approx(exact, abs=1 + 1e-6 * exact)


@given(QUERIES, TOLERANCES, RATES, EPSILONS)
def test_with_privacy_the_number_is_the_theory_s(queries: int, tolerance: float, rate: float, epsilon: float) -> None:
    """Theorem 7, with and without wrong labels: so many records keep the tolerance, and one less does not."""
    n = records_for_queries(queries, tolerance=tolerance, epsilon=epsilon, noise_rate=rate)

    def bound(n: int) -> float:
        noise = queries * math.log(2 * queries / 0.05) / (epsilon * n)
        return (math.sqrt(math.log(4 * queries / 0.05) / (2 * n)) + noise) / (1 - 2 * rate)

    assert bound(n) <= tolerance
    assert bound(n - 1) > tolerance * (1 - 1e-5)


def test_gaussian_noise_is_taken_where_it_is_better() -> None:
    """With a delta and many queries the number falls to that of the Gaussian formula; with one query it stays."""
    n = records_for_queries(1000, tolerance=0.01, epsilon=1.0, delta=1e-6)
    quantile = stats.norm.isf(0.05 / 4000)
    noise = math.sqrt(1000) * quantile / gaussian_shift(Budget(1.0, 1e-6)) / n
    assert math.sqrt(math.log(4000 / 0.05) / (2 * n)) + noise == pytest.approx(0.01, rel=1e-3)
    assert n < records_for_queries(1000, tolerance=0.01, epsilon=1.0) / 3
    assert records_for_queries(1, tolerance=0.01, epsilon=1.0, delta=1e-6) <= records_for_queries(
        1, tolerance=0.01, epsilon=1.0
    )


@pytest.mark.parametrize("delta", [0.0, 1e-6])
@pytest.mark.parametrize("rate", [0.0, 0.2])
def test_an_oracle_over_so_many_records_keeps_the_tolerance(delta: float, rate: float) -> None:
    """The oracle's own plan agrees to the last record."""
    n = records_for_queries(7, tolerance=0.05, epsilon=0.5, delta=delta, noise_rate=rate)
    queries = [StatisticalQuery(lambda t, j=j: t[f"x{j}"] > 0) for j in range(7)]
    for count, kept in ((n, True), (n - 1, False)):
        oracle = StatisticalOracle((np.zeros((count, 7), dtype=np.int8), np.ones(count)), bounds=(0, 1))
        plan = oracle.preview(queries, epsilon=0.5, delta=delta, noise_rate=rate)
        assert (plan.tolerance <= 0.05) is kept


def test_a_conversation_over_so_many_records_keeps_the_tolerance() -> None:
    """Adaptive queries: the split into parts agrees."""
    n = records_for_queries(6, tolerance=0.05, epsilon=1.0, adaptive=True)
    oracle = StatisticalOracle((np.zeros((n, 1), dtype=np.int8), None), bounds=(0, 1))
    assert oracle.conversation(6, epsilon=1.0, plan="split").plan.tolerance <= 0.05
    fewer = StatisticalOracle((np.zeros((n - 6, 1), dtype=np.int8), None), bounds=(0, 1))
    assert fewer.conversation(6, epsilon=1.0, plan="split").plan.tolerance > 0.05


@pytest.mark.stats
@pytest.mark.parametrize(("rate", "epsilon"), [(0.0, math.inf), (0.0, 1.0), (0.2, 1.0)])
def test_answers_are_within_the_tolerance_as_often_as_said(rate: float, epsilon: float) -> None:
    """More than 5 % of the repetitions with a miss would be noticed (1e-9); with a tenth of the records (the twin) are.

    The population is the worst for Hoeffding's bound, fair coins, and the label is wrong at the rate.
    """
    tolerance, repetitions = 0.03, sample_size(60)
    n = records_for_queries(5, tolerance=tolerance, epsilon=epsilon, noise_rate=rate)
    misses = {
        count: sum(_misses(count, epsilon, rate, seed, tolerance) for seed in range(repetitions))
        for count in (n, n // 10)
    }
    assert at_most(misses[n], repetitions, 0.05)
    assert not at_most(misses[n // 10], repetitions, 0.05)


def _misses(n: int, epsilon: float, rate: float, seed: int, tolerance: float) -> bool:
    """Whether one of five averages over n records, of the true labels, is off by more than the tolerance."""
    rng = np.random.default_rng(seed)
    rows, true = rng.integers(0, 2, (n, 5), dtype=np.int8), rng.integers(0, 2, n)
    labels = np.where(rng.random(n) < rate, 1 - true, true)
    oracle = StatisticalOracle((rows, labels), labels=(0, 1), bounds=(0, 1), random_state=seed)
    queries = [StatisticalQuery(lambda t, j=j: (t[f"x{j}"] + t.y).between(1, 1)) for j in range(5)]
    spend = 1e4 if math.isinf(epsilon) else epsilon
    values = [answer.value for answer in oracle.ask_all(queries, epsilon=spend, noise_rate=rate)]
    return bool(np.abs(np.array(values) - 0.5).max() > tolerance)


@given(
    st.integers(1, 60), st.sampled_from([0.05, 0.1, 0.5]), RATES, st.sampled_from([0.5, 2.0, math.inf]), st.booleans()
)
def test_a_conjunction_s_number_and_its_error_are_inverse(
    features: int, error: float, rate: float, epsilon: float, monotone: bool
) -> None:
    """So many records keep the error, one less does not; and the smallest error that they keep is it."""
    how = {"epsilon": epsilon, "noise_rate": rate, "monotone": monotone}
    n = records_for_conjunction(features, error=error, **how)
    assert conjunction_error(n, features, asked=error, **how) == error
    assert 0.8 * error <= conjunction_error(n, features, **how) <= 1.002 * error
    if n > 1:
        assert conjunction_error(n - 1, features, asked=error, **how) > error


@pytest.mark.parametrize("rate", [0.0, 0.2])
@pytest.mark.parametrize("epsilon", [1.0, math.inf])
def test_a_literal_is_decided_rightly_in_the_worst_case(rate: float, epsilon: float) -> None:
    """By exact binomial tails and the law of the noise, each of the two mistakes has a chance of at most beta/d.

    With a fifth of the records (the twin) one of them has a larger chance.
    """
    features, error = 20, 0.1
    n = records_for_conjunction(features, error=error, epsilon=epsilon, noise_rate=rate)
    assert max(_mistakes(n, features, error, epsilon, rate)) <= 0.05 / features
    assert max(_mistakes(n // 5, features, error, epsilon, rate)) > 0.05 / features


def _mistakes(n: int, features: int, error: float, epsilon: float, rate: float) -> tuple[float, float]:
    """Return the chance to drop a literal of the conjunction, and to keep one that costs error/features."""
    middle = n * (rate + (1 - 2 * rate) * error / (2 * features))
    high = rate + (1 - 2 * rate) * error / features
    scale = features / epsilon
    noise = np.array([0.0]) if math.isinf(epsilon) else stats.laplace.ppf((np.arange(4000) + 0.5) / 4000, scale=scale)
    dropped = stats.binom.sf(np.floor(middle - noise), n, rate).mean()
    kept = stats.binom.cdf(np.floor(middle - noise), n, high).mean()
    return float(dropped), float(kept)


def test_conjunctions_need_less_than_their_tolerance_says() -> None:
    """The figures of sample_sizes.md: a tenth of the records where no label is wrong."""
    for features, rate, own, general in [
        (20, 0.0, 75_353, 693_049),
        (20, 0.2, 1_113_744, 1_813_378),
        (50, 0.0, 461_124, 4_877_504),
        (50, 0.2, 7_891_322, 12_754_877),
    ]:
        assert records_for_conjunction(features, error=0.1, epsilon=1.0, noise_rate=rate) == own
        tolerance = 0.1 / (2 * features)
        assert records_for_queries(features, tolerance=tolerance, epsilon=1.0, noise_rate=rate) == pytest.approx(
            general, rel=1e-4
        )


def test_what_makes_no_sense_is_refused() -> None:
    """Each message names its parameter."""
    for words, wrong in [
        ("queries", lambda: records_for_queries(0, tolerance=0.1)),
        ("tolerance", lambda: records_for_queries(1, tolerance=0.0)),
        ("confidence", lambda: records_for_queries(1, tolerance=0.1, confidence=1.0)),
        ("noise_rate", lambda: records_for_queries(1, tolerance=0.1, noise_rate=0.5)),
        ("epsilon", lambda: records_for_queries(1, tolerance=0.1, epsilon=-1.0)),
        ("delta=0", lambda: records_for_queries(2, tolerance=0.1, epsilon=1.0, delta=1e-6, adaptive=True)),
        ("no feasible", lambda: records_for_queries(1, tolerance=1e-9)),
        ("error", lambda: records_for_conjunction(3, error=0.0)),
        ("features", lambda: records_for_conjunction(0)),
        ("n must", lambda: conjunction_error(0, 3)),
    ]:
        with pytest.raises(InvalidParameter, match=words):
            wrong()
