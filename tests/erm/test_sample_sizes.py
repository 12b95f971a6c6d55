"""The numbers of records that sample_sizes.md proves to be enough."""

import math
from functools import cache
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy.special import gammainccinv

from support.objective_value import value_of
from support.statistical import at_least, sample_size
from tacit.budget import Budget
from tacit.erm import Hinge, HuberHinge, Logistic, Objective, Rows, Softmax, Squared
from tacit.erm.perturbations.perturbation import ObjectivePerturbation, OutputPerturbation
from tacit.erm.perturbations.setting import Setting
from tacit.erm.sample_sizes import SampleSize, records_for_training_gap, records_for_true_gap, training_gap, true_gap
from tacit.errors import InvalidParameter
from tacit.releases import release

Floats = NDArray[np.float64]
KINDS: dict[str, Any] = {"output": OutputPerturbation, "objective": ObjectivePerturbation}
PURE = Budget(1.0)
GAUSSIAN = Budget(1.0, 1e-5)
CASE: Any = {"dimension": 5, "norm": 1.0, "gap": 0.1, "failure": 0.1}

kinds = pytest.mark.parametrize("kind", KINDS)


@cache
def calibrated(kind: Any, budget: Budget, count: int, dimension: int, alpha: float) -> Any:
    """Calibrate once for all fits of so many records of norm 1."""
    return KINDS[kind](budget, Setting(count, dimension, 1.0, Logistic()), alpha)


def released(mechanism: Any, objective: Objective, seed: int) -> Floats:
    """Fit once and return the coefficient."""
    return release(mechanism, objective, label="sample sizes", random_state=seed).value


def hardest(kind: Any, count: int) -> tuple[Floats, Floats]:
    """Return records that attain the training bound: flat for objective noise, curved for output noise."""
    labels = np.where(np.arange(count) % 2, 1.0, -1.0)
    return (np.zeros((count, 3)), labels) if kind == "objective" else (np.ones((count, 1)), labels)


def training_successes(kind: Any, budget: Budget, count: int, gap: float, runs: int) -> int:
    """Count the runs in which J comes within the gap of its minimum, which `hardest` puts at zero."""
    X, y = hardest(kind, count)
    mechanism = calibrated(kind, budget, *X.shape, 0.1)
    objective = Objective(Rows.clipped(X, 1.0), y, Logistic(), mechanism.alpha)
    coefficients = (released(mechanism, objective, seed) for seed in range(runs))
    return sum(value_of(objective, coefficient) - math.log(2) <= gap for coefficient in coefficients)


@pytest.mark.stats
@pytest.mark.parametrize("budget", [PURE, GAUSSIAN], ids=["pure", "gaussian"])
@pytest.mark.parametrize(("kind", "dimension", "gap"), [("output", 1, 0.01), ("objective", 3, 0.05)])
def test_training_records_are_enough_and_two_thirds_not(kind: Any, dimension: int, gap: float, budget: Budget) -> None:
    """On the hardest records the promised number keeps its promise, and a third less breaks it."""
    runs = sample_size(500)
    count = records_for_training_gap(kind, budget, dimension=dimension, alpha=0.1, gap=gap, failure=0.2)
    assert at_least(training_successes(kind, budget, count, gap, runs), runs, 0.8)
    assert not at_least(training_successes(kind, budget, 2 * count // 3, gap, runs), runs, 0.8)


NORM, GAP, FAILURE = 2.0, 0.4, 0.1


def true_successes(kind: Any, budget: Budget, plan: SampleSize, count: int, wrong: float, runs: int) -> int:
    """Count the runs whose expected loss is within the gap of the best multiple of the reference.

    Records are +e1, or -e1 with chance `wrong`: the expected loss is a sum of two terms, known exactly.
    """
    chances = np.array([1 - wrong, wrong])

    def expected(slope: float) -> float:
        return float(chances @ np.logaddexp(0, [-slope, slope]))

    best = min(expected(slope) for slope in np.linspace(0, NORM, 401))
    mechanism = calibrated(kind, budget, count, 3, plan.alpha)
    found = 0
    for seed in range(runs):
        drawn = np.random.default_rng([seed, count]).random(count)
        X = np.zeros((count, 3))
        X[:, 0] = np.where(drawn < wrong, -1.0, 1.0)
        objective = Objective(Rows.clipped(X, 1.0), np.ones(count), Logistic(), mechanism.alpha)
        coefficient = released(mechanism, objective, seed)
        found += bool(expected(float(coefficient[0])) - best <= GAP)
    return found


@pytest.mark.stats
@kinds
@pytest.mark.parametrize("wrong", [0.0, 0.12])
def test_records_are_enough_for_the_expected_loss_and_a_thirtieth_is_not(kind: Any, wrong: float) -> None:
    """The promised number of records keeps the gap in expected loss; the promise is not thirty times too careful."""
    runs, budget = sample_size(200), Budget(0.05)
    plan = records_for_true_gap(kind, budget, dimension=3, reference_norm=NORM, gap=GAP, failure=FAILURE)
    assert at_least(true_successes(kind, budget, plan, plan.count, wrong, runs), runs, 1 - FAILURE)
    assert not at_least(true_successes(kind, budget, plan, plan.count // 30, wrong, runs), runs, 1 - FAILURE)


@kinds
def test_counts_are_the_smallest(kind: Any) -> None:
    """The bound is met at the returned count and missed one record below."""
    count = records_for_training_gap(kind, PURE, alpha=0.01, **CASE)
    plan = records_for_true_gap(kind, PURE, reference_norm=3.0, **CASE)

    def mechanism(count: int, alpha: float) -> Any:
        return KINDS[kind](PURE, Setting(count, 5, 1.0, Logistic()), alpha)

    gaps = [training_gap(mechanism(n, 0.01), failure=0.1) for n in (count - 1, count)]
    true = [true_gap(mechanism(n, plan.alpha), reference_norm=3.0, failure=0.1) for n in (plan.count - 1, plan.count)]
    assert gaps[0] > 0.1 >= gaps[1]
    assert true[0] > 0.1 >= true[1]
    assert plan.alpha == 0.1 / 9


@given(
    epsilon=st.floats(0.01, 5), dimension=st.integers(1, 200), gap=st.floats(1e-4, 0.3), alpha=st.floats(1e-4, 1),
    norm=st.floats(0.2, 5),
)  # fmt: skip
@settings(max_examples=50)
def test_training_counts_follow_formulas(epsilon: float, dimension: int, gap: float, alpha: float, norm: float) -> None:
    """Without the solver's share the counts are those of the note's closed form, to a per cent."""
    given = {"dimension": dimension, "alpha": alpha, "gap": gap, "failure": 0.1, "norm": norm}
    output = records_for_training_gap("output", Budget(epsilon), **given)
    objective = records_for_training_gap("objective", Budget(epsilon), **given)
    tail = norm * gammainccinv(dimension, 0.1) / epsilon
    curved = tail / alpha * math.sqrt(2 * (norm**2 / 4 + alpha) / gap)
    assert curved * 0.99 <= output <= curved * 1.01 + 1
    steep = norm * gammainccinv(dimension, 0.098) / (0.99 * epsilon) * math.sqrt(2 / (alpha * gap))
    least = 2 * norm**2 / (0.99 * epsilon * alpha)
    assert (
        max(steep, least) * 0.99 <= objective <= max(steep * (1.01 + 0.01 * norm / math.sqrt(alpha)), least) * 1.01 + 1
    )


@given(
    epsilon=st.floats(0.02, 5), dimension=st.integers(1, 200), gap=st.floats(0.01, 0.5),
    size=st.floats(0.5, 10), norm=st.floats(0.2, 2),
)  # fmt: skip
@settings(max_examples=50)
def test_theorems_keep_their_order(epsilon: float, dimension: int, gap: float, size: float, norm: float) -> None:
    """The explicit maximum of Theorem 4 is enough, and within a factor four of what is counted."""
    plan = records_for_true_gap(
        "objective", Budget(epsilon), dimension=dimension, reference_norm=size, gap=gap, failure=0.1, norm=norm
    )
    tail = gammainccinv(dimension, 0.049) / (0.99 * epsilon)
    reach = norm * size / gap
    explicit = max(
        8 * (2 + math.sqrt(2 * math.log(20))) ** 2 * reach**2, 4 * tail * reach, 2 * reach**2 * gap / (0.99 * epsilon)
    )
    assert explicit / 4.1 <= plan.count <= explicit * 1.05 + 1


@kinds
@settings(max_examples=20)
@given(data=st.data())
def test_harder_requests_need_more_records(kind: Any, data: Any) -> None:
    """Less budget, more features, a smaller gap or failure, longer rows or a longer reference never need fewer."""
    base = {
        "dimension": data.draw(st.integers(1, 100)), "gap": data.draw(st.floats(0.01, 0.5)),
        "failure": data.draw(st.floats(0.01, 0.5)), "norm": data.draw(st.floats(0.2, 3)),
    }  # fmt: skip
    epsilon, size = data.draw(st.floats(0.05, 3)), data.draw(st.floats(0.5, 10))
    factor = {"dimension": 2, "gap": 0.5, "failure": 0.5, "norm": 2}
    harder = [(epsilon / 2, size, base), (epsilon, 2 * size, base)]
    harder += [(epsilon, size, base | {name: base[name] * factor[name]}) for name in base]
    count = records_for_true_gap(kind, Budget(epsilon), reference_norm=size, **base).count
    for other_epsilon, other_size, other in harder:
        assert records_for_true_gap(kind, Budget(other_epsilon), reference_norm=other_size, **other).count >= count


@given(
    epsilon=st.floats(0.02, 5), dimension=st.integers(1, 200), gap=st.floats(0.01, 0.3), size=st.floats(0.5, 10),
)  # fmt: skip
@settings(max_examples=30)
def test_perturbing_the_objective_needs_fewer_records(epsilon: float, dimension: int, gap: float, size: float) -> None:
    """Where the least ridge does not decide, objective perturbation needs fewer records in both senses."""
    size = min(size, 2 * float(gammainccinv(dimension, 0.05)))
    common = {"dimension": dimension, "gap": gap, "failure": 0.1}
    true = [records_for_true_gap(kind, Budget(epsilon), reference_norm=size, **common) for kind in KINDS]
    assert true[1].count <= true[0].count
    trained = [
        records_for_training_gap(kind, Budget(epsilon), alpha=true[0].alpha, **common | {"gap": gap / 4})
        for kind in KINDS
    ]
    assert trained[1] <= trained[0] + 1


@kinds
@pytest.mark.parametrize("budget", [PURE, GAUSSIAN], ids=["pure", "gaussian"])
def test_other_smooth_losses_and_gaussian_budgets_count_too(kind: Any, budget: Budget) -> None:
    """Every smooth loss of one score and either kind of noise has a finite count, larger for sharper corners."""
    counts = [
        records_for_true_gap(kind, budget, reference_norm=3.0, loss=HuberHinge(width), **CASE).count
        for width in (0.5, 0.05)
    ]
    assert counts[0] < counts[1]


@pytest.mark.parametrize("loss", [Hinge(), Softmax(3), Squared(1.0, 1.0)], ids=lambda loss: type(loss).__name__)
def test_losses_without_a_proof_are_refused(loss: Any) -> None:
    """A loss that is not smooth, not Lipschitz or not of one score gets an error instead of a number."""
    with pytest.raises(InvalidParameter, match=r"sample sizes are proved|no bound"):
        records_for_true_gap("output", PURE, reference_norm=1.0, loss=loss, **CASE)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"gap": 0.0}, "gap must be"),
        ({"failure": 1.0}, "failure must lie"),
        ({"failure": 0}, "failure must lie"),
        ({"reference_norm": -1.0}, "reference_norm must be"),
        ({"gap": 1e-12}, "no feasible number"),
    ],
)
def test_impossible_requests_are_refused(change: dict[str, float], message: str) -> None:
    """Gaps, chances and norms out of their range are named in the error."""
    with pytest.raises(InvalidParameter, match=message):
        records_for_true_gap("objective", PURE, **({"reference_norm": 1.0} | CASE | change))


def test_an_unknown_method_is_refused() -> None:
    """Only the two methods of the paper have sample sizes."""
    with pytest.raises(InvalidParameter, match="kind must be one of output, objective"):
        records_for_training_gap("gradient", PURE, alpha=0.1, **CASE)
