"""Bad parameters and shapes are refused with a clear error before anything is charged; values never are."""

import math
from collections.abc import Callable
from decimal import Decimal
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest

from tacit.accounting import Ledger
from tacit.budget import Budget
from tacit.errors import InvalidParameter
from tacit.mechanisms import Exponential, Gaussian, Laplace, Mechanism, SparseVector, SphericalLaplace
from tacit.releases import release

BUILD: dict[str, Callable[..., Mechanism]] = {
    "laplace": Laplace.for_budget,
    "gaussian": Gaussian.for_budget,
    "spherical": SphericalLaplace.for_budget,
    "exponential": lambda *args, **named: Exponential.for_budget(*args, **{"candidates": 2, **named}),
    "sparse vector": lambda *args, **named: SparseVector.for_budget(*args, **{"threshold": 0.0, **named}),
}
GOOD_VALUE: dict[str, object] = {
    "laplace": 1.0, "gaussian": 1.0, "spherical": 1.0, "exponential": [0.0, 1.0], "sparse vector": [0.0],
}  # fmt: skip
ADDITIVE = ["laplace", "gaussian", "spherical"]
BUDGET = Budget(1, 1e-6)

NOT_REAL = [None, "1", b"1", True, 1j, [1], (1,), {}, object(), math.nan, math.inf, -math.inf, Decimal("NaN")]
HUGE = [10**400, 10**5000, Decimal("1e390"), Fraction(10**400, 3)]


def _id(value: object) -> str:
    """Name a case the same way in every process: no addresses, no numbers of thousands of digits."""
    plain = isinstance(value, float | str | bytes | bool | complex | list | tuple | dict | Budget | np.ndarray)
    small = isinstance(value, int) and abs(value) < 2**33
    return f"{value!r:.30}" if plain or small else type(value).__name__


@pytest.fixture(scope="module")
def ledger(tmp_path_factory: pytest.TempPathFactory) -> Ledger:
    """Give a real account that nothing may be charged to."""
    return _account(tmp_path_factory.mktemp("refusals"))


@pytest.fixture
def open_ledger(tmp_path: Path) -> Ledger:
    """Give a real account that may be charged."""
    return _account(tmp_path)


def _account(folder: Path) -> Ledger:
    return Ledger.create(f"sqlite:///{folder}/ledger.db", name="test", budget=Budget(2, 1e-5))


def _refused(ledger: Ledger, attempt: Callable[[], object]) -> str:
    """Check that an attempt is refused and charges nothing; return what was said."""
    with pytest.raises(InvalidParameter) as caught:
        attempt()
    assert ledger.entries() == []
    return str(caught.value)


@pytest.mark.parametrize("name", BUILD)
@pytest.mark.parametrize("bad", [*NOT_REAL, *HUGE, 0, 0.0, -1, -1e-9, 9.9e-101, 1.1e100, 1e308, 5e-324], ids=_id)
def test_bad_sensitivities_are_refused(name: str, bad: object, ledger: Ledger) -> None:
    """A sensitivity must be a positive, finite, sane number."""
    said = _refused(ledger, lambda: release(BUILD[name](BUDGET, bad), GOOD_VALUE[name], label="x", ledger=ledger))
    assert "sensitivity" in said


@pytest.mark.parametrize("name", BUILD)
@pytest.mark.parametrize("bad", [*NOT_REAL, 1.0, 1, Budget(0)], ids=_id)
def test_bad_budgets_are_refused(name: str, bad: object, ledger: Ledger) -> None:
    """A budget must be a `Budget` above zero; a bare number is not one."""
    _refused(ledger, lambda: release(BUILD[name](bad), GOOD_VALUE[name], label="x", ledger=ledger))


@pytest.mark.parametrize("name", [name for name in BUILD if name != "gaussian"])
def test_pure_mechanisms_need_epsilon(name: str, ledger: Ledger) -> None:
    """A budget that has only a delta is refused where a delta cannot be used."""
    _refused(ledger, lambda: release(BUILD[name](Budget(0, 1e-6)), GOOD_VALUE[name], label="x", ledger=ledger))


@pytest.mark.parametrize("kind", [Laplace, Gaussian, SphericalLaplace])
@pytest.mark.parametrize("budget", [Budget(0), Budget(1e-16, 1e-6), "1", None, 1.0], ids=_id)
def test_the_constructor_is_no_way_round(kind: type, budget: object, ledger: Ledger) -> None:
    """Building a mechanism directly refuses what `for_budget` refuses, before a release could charge."""
    _refused(ledger, lambda: release(kind(budget, 1.0, ()), 1.0, label="x", ledger=ledger))


BAD_WHOLE = [*NOT_REAL, 10**400, 10**5000, 0, -1, 1.0, 1.5, 2**32 + 1, np.float64(3)]


@pytest.mark.parametrize("name", ADDITIVE)
@pytest.mark.parametrize(
    "bad", [*(b for b in BAD_WHOLE if b not in ((1,), [1])), (0,), (2, -1), (2.0,), ("3",), (2**20, 2**20)], ids=_id
)
def test_bad_shapes_are_refused(name: str, bad: object, ledger: Ledger) -> None:
    """A shape is one positive whole number or several, of a size that one release can have."""
    _refused(ledger, lambda: release(BUILD[name](BUDGET, 1.0, bad), 1.0, label="x", ledger=ledger))


@pytest.mark.parametrize("bad", BAD_WHOLE, ids=_id)
def test_bad_counts_are_refused(bad: object, ledger: Ledger) -> None:
    """Candidates and hits are whole numbers from one."""
    _refused(ledger, lambda: BUILD["exponential"](BUDGET, candidates=bad))
    _refused(ledger, lambda: BUILD["sparse vector"](BUDGET, hits=bad))


@pytest.mark.parametrize("bad", [*NOT_REAL, *HUGE], ids=_id)
def test_bad_thresholds_are_refused(bad: object, ledger: Ledger) -> None:
    """A threshold is a finite number."""
    _refused(ledger, lambda: BUILD["sparse vector"](BUDGET, threshold=bad))


@pytest.mark.parametrize(
    "bad",
    ["ab", [1, None], [1, "x"], [1], [1, 2, 3], [0, 1], [-1, 1], [1, math.inf], [1, math.nan], 5, {}, [1j, 1],
     [10**400, 1], object(), []],
    ids=_id,
)  # fmt: skip
def test_bad_weights_are_refused(bad: object, ledger: Ledger) -> None:
    """Weights are positive finite numbers, one for each candidate, by either way of building."""
    _refused(ledger, lambda: Exponential.for_budget(BUDGET, candidates=2, weights=bad))
    _refused(ledger, lambda: Exponential(BUDGET, 1.0, 2, bad))


@pytest.mark.parametrize("name", ["laplace", "gaussian"])
@pytest.mark.parametrize("bad", [*NOT_REAL, 10**400, 0, 1, -0.5, 1.5], ids=_id)
def test_bad_confidences_are_refused(name: str, bad: object, ledger: Ledger) -> None:
    """A confidence lies strictly between 0 and 1."""
    assert "confidence" in _refused(ledger, lambda: BUILD[name](BUDGET).error(bad))


BAD_SHAPES = [{}, [1.0], [[1.0]], np.ones(2), [1.0, [2.0, 3.0]], (1.0,), iter([1.0]), len]


@pytest.mark.parametrize("name", ADDITIVE)
@pytest.mark.parametrize("bad", BAD_SHAPES, ids=_id)
def test_other_shapes_are_refused_before_charging(name: str, bad: object, ledger: Ledger) -> None:
    """A value of another shape than the calibrated one, which is public, is refused, and nothing is charged."""
    _refused(ledger, lambda: release(BUILD[name](BUDGET), bad, label="x", ledger=ledger))


@pytest.mark.parametrize("name", ADDITIVE)
@pytest.mark.parametrize("bad", [1.0, None, [1.0], np.ones((2, 1)), ["secret"], [1.0, [2.0]], "ab", b"ab"], ids=_id)
def test_other_shapes_of_vectors_are_refused_before_charging(name: str, bad: object, ledger: Ledger) -> None:
    """The shape must be the calibrated one; what is no list or array has none."""
    said = _refused(ledger, lambda: release(BUILD[name](BUDGET, 1.0, 2), bad, label="x", ledger=ledger))
    assert "secret" not in said


@pytest.mark.parametrize("bad", [None, "ab", 1.0, [1.0], [1, 2, 3], [[1, 2]], {}, [1, [2]]], ids=_id)
def test_other_numbers_of_scores_are_refused_before_charging(bad: object, ledger: Ledger) -> None:
    """There is one score for each candidate."""
    _refused(ledger, lambda: release(BUILD["exponential"](BUDGET), bad, label="x", ledger=ledger))


@pytest.mark.parametrize(
    "bad", [None, "12", b"12", 1.0, np.ones((2, 2)), np.array(1.0), object(), {1.0: 2.0}, {1.0, 2.0}], ids=_id
)
def test_what_is_no_list_of_queries_is_refused_before_charging(bad: object, ledger: Ledger) -> None:
    """Queries come as a list, a column or a generator, in an order."""
    _refused(ledger, lambda: release(BUILD["sparse vector"](BUDGET), bad, label="x", ledger=ledger))


@pytest.mark.parametrize("name", BUILD)
def test_good_input_is_charged(name: str, open_ledger: Ledger) -> None:
    """The same calls with good input do charge: the refusals above are not for want of trying."""
    mechanism = BUILD[name](BUDGET)
    release(mechanism, GOOD_VALUE[name], label="x", ledger=open_ledger)
    assert open_ledger.spent == mechanism.budget


def test_numbers_of_many_kinds_are_values() -> None:
    """Integers, truth values, fractions, decimals, nested lists and narrow floats are numbers to release."""
    for value in (1, True, Fraction(1, 3), Decimal("0.1"), np.float32(1.5), np.int8(3), np.array(2)):
        assert isinstance(release(Laplace.for_budget(Budget(1)), value, label="x").value, float)
    matrix = Laplace.for_budget(Budget(1), 1.0, [2, 2])
    assert release(matrix, [[1, 2], [3, 4]], label="x").value.shape == (2, 2)
