"""Budgets are exact amounts: the laws of addition, division, comparison, parsing and printing."""

import copy
import dataclasses
import math
import pickle
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tacit.budget import LARGEST_EPSILON, SMALLEST, Budget
from tacit.checks import exact_number
from tacit.errors import InvalidParameter

EPSILONS = st.one_of(
    st.fractions(min_value=0, max_value=1000),
    st.floats(min_value=1e-100, max_value=1e6),
    st.integers(0, LARGEST_EPSILON),
    st.decimals(min_value=0, max_value=1000, places=6),
)
DELTAS = st.one_of(
    st.just(0),
    st.fractions(min_value=0, max_value=Fraction(999, 1000)),
    st.floats(min_value=1e-100, max_value=0.999),
)
BUDGETS = st.builds(Budget, EPSILONS, DELTAS)
WEIGHTS = st.lists(st.one_of(st.integers(0, 100), st.floats(min_value=0, max_value=100)), min_size=1, max_size=6)


def test_numbers_mean_what_was_typed() -> None:
    """Three times 0.1 is 0.3 exactly, and ten shares of 1.0 fit into it."""
    assert 3 * Budget(0.1) == Budget(0.3)
    assert Budget(0.1) + Budget(0.1) + Budget(0.1) <= Budget(0.3)
    assert Budget(0.1) + Budget(0.7) == Budget(0.8)
    assert sum([Budget(1) / 3] * 3, Budget(0)) == Budget(1)
    assert Budget(0.1).exact_epsilon == Fraction(1, 10)
    assert Budget(np.float64(0.1)) == Budget(Decimal("0.1")) == Budget(Fraction(1, 10)) == Budget(0.1)
    assert Budget(np.int64(3)) == Budget(3) == Budget(3.0)


@given(BUDGETS, BUDGETS, BUDGETS)
def test_addition_is_exact(a: Budget, b: Budget, c: Budget) -> None:
    """Addition is associative and commutative, zero is neutral, and subtraction undoes it."""
    assert (a + b) + c == a + (b + c)
    assert a + b == b + a
    assert a + Budget(0) == a
    assert (a + b) - b == a


@given(BUDGETS, WEIGHTS)
def test_shares_add_up_to_the_whole(budget: Budget, weights: list[float]) -> None:
    """Parts proportional to any weights add up exactly, and a zero weight gets nothing."""
    if not any(weights):
        weights[0] = 1
    shares = budget.shares(*weights)
    assert sum(shares, Budget(0)) == budget
    assert all(not share for share, weight in zip(shares, weights, strict=True) if weight == 0)


@given(BUDGETS, st.integers(1, 1000))
def test_division_undoes_multiplication(budget: Budget, count: int) -> None:
    """A count of equal parts is the whole, and multiplying by a fraction is dividing by its inverse."""
    assert budget / count * count == budget == count * (budget / count)
    assert budget * Fraction(1, count) == budget / count
    assert budget * 0 == Budget(0)


@given(BUDGETS, BUDGETS, BUDGETS)
def test_comparison_is_a_partial_order_that_addition_respects(a: Budget, b: Budget, c: Budget) -> None:
    """Comparing goes by both components: reflexive, antisymmetric, transitive, and kept by adding the same."""
    assert a <= a
    assert a <= a + b
    assert (a <= b) == (b >= a) == (a.exact_epsilon <= b.exact_epsilon and a.exact_delta <= b.exact_delta)
    if a <= b:
        assert a + c <= b + c
        assert b + (c - c) >= a
    if a <= b and b <= a:
        assert a == b


def test_budgets_may_be_incomparable() -> None:
    """More epsilon with less delta is neither more nor less."""
    assert not Budget(1, 1e-6) <= Budget(2)
    assert not Budget(2) <= Budget(1, 1e-6)


@given(st.lists(BUDGETS, max_size=5))
def test_the_largest_is_the_least_upper_bound(budgets: list[Budget]) -> None:
    """Nothing exceeds the largest, its components occur among the budgets, and of none it is zero."""
    largest = Budget.largest(budgets)
    assert all(budget <= largest for budget in budgets)
    assert largest.exact_epsilon in {0, *(budget.exact_epsilon for budget in budgets)}
    assert largest <= sum(budgets, Budget(0))
    if not budgets:
        assert largest == Budget(0)


@given(BUDGETS)
def test_copies_are_equal_and_hash_alike(budget: Budget) -> None:
    """Pickles and copies are the same amount to `==`, to sets and to arithmetic."""
    for twin in (pickle.loads(pickle.dumps(budget)), copy.copy(budget), copy.deepcopy(budget)):
        assert twin == budget
        assert hash(twin) == hash(budget)
        assert twin + budget == 2 * budget
    assert len({budget, copy.deepcopy(budget), budget + Budget(1)}) == 2


def test_budgets_cannot_be_changed() -> None:
    """No attribute can be assigned, deleted or added, and arithmetic leaves its operands alone."""
    budget = Budget(1, 1e-6)
    for name in ("exact_epsilon", "exact_delta"):
        with pytest.raises(dataclasses.FrozenInstanceError):
            setattr(budget, name, Fraction(2))
        with pytest.raises(dataclasses.FrozenInstanceError):
            delattr(budget, name)
    with pytest.raises((AttributeError, TypeError)):
        budget.note = "more"
    total = budget
    total += budget
    assert budget == Budget(1, 1e-6)
    assert total == Budget(2, 2e-6)


def test_a_budget_of_nothing_is_false() -> None:
    """Zero is falsy, and either component makes a budget true; only delta decides whether it is pure."""
    assert not Budget(0)
    assert Budget(0.1)
    assert Budget(0, 1e-9)
    assert Budget(0.1).is_pure
    assert not Budget(0.1, 1e-9).is_pure


@given(BUDGETS)
def test_printing_rounds_up_to_ten_digits_and_reads_back(budget: Budget) -> None:
    """What is printed is never less than the amount, at most a billionth more, and stays as it is when read."""
    shown = Budget.parse(str(budget))
    assert str(shown) == str(budget)
    for exact, read in ((budget.exact_epsilon, shown.exact_epsilon), (budget.exact_delta, shown.exact_delta)):
        assert exact <= read <= exact * (1 + Fraction(2, 10**9))


@given(
    st.decimals(min_value=0, max_value=1000, places=5),
    st.integers(0, 99_999).map(lambda digits: Decimal(digits).scaleb(-9)),
)
def test_typed_decimals_survive_printing_exactly(epsilon: Decimal, delta: Decimal) -> None:
    """Numbers of up to ten digits come back from `str` and from `repr` as the same amounts."""
    budget = Budget(epsilon, delta)
    assert Budget.parse(str(budget)) == budget
    assert eval(repr(budget), {"Budget": Budget}) == budget


@pytest.mark.parametrize(
    ("text", "budget"),
    [
        ("1", Budget(1)),
        (" 0.5 ", Budget(0.5)),
        ("1, 1e-6", Budget(1, 1e-6)),
        ("1,1e-6", Budget(1, 1e-6)),
        ("epsilon=1, delta=1e-6", Budget(1, 1e-6)),
        ("epsilon = 1/3 delta = 1e-6", Budget(Fraction(1, 3), 1e-6)),
        ("delta=1e-6, epsilon=2", Budget(2, 1e-6)),
        ("0", Budget(0)),
    ],
)
def test_budgets_are_read_from_text(text: str, budget: Budget) -> None:
    """Numbers by position or by name, with a comma or a space before delta, are read exactly."""
    assert Budget.parse(text) == budget


@pytest.mark.parametrize(
    "text",
    [
        "", " ", ",", "one", "1,2,3", "1,,1e-6", "delta=1e-6", "epsilon=1, epsilon=2", "1, epsilon=1", "1/0", "1e",
        "nan", "inf", "-1", "1, 1", "1; 2", "1 2", "1_000", "epsilon", "epsilon=", "0x1", "1e400", "1e7", "1e-101",
        "1, 1e-101", "1e999999999", "1, 1e-999999999",
    ],
)  # fmt: skip
def test_other_text_is_refused(text: str) -> None:
    """Text that is not one or two amounts in range is refused at once, however long its exponent."""
    with pytest.raises(InvalidParameter):
        Budget.parse(text)


@pytest.mark.parametrize("text", [None, 5, 1.0, b"1", ["1"], Budget(1)])
def test_only_text_is_parsed(text: object) -> None:
    """What is not text is refused with the same error."""
    with pytest.raises(InvalidParameter):
        Budget.parse(text)


NOT_NUMBERS = [
    None, "1", "", b"1", True, False, np.bool_(True), 1j, [1], (1,), {}, object(), np.array([1.0]),
    math.nan, math.inf, -math.inf, np.float64("nan"), Decimal("NaN"), Decimal("sNaN"), Decimal("Infinity"),
]  # fmt: skip
ABSURD = [
    -1,
    -1e-300,
    1e-101,
    Fraction(1, 10**400),
    Decimal("1e-999999999"),
    10**400,
    10**5000,
    Decimal("1e400"),
    Decimal("1e999999999"),
    Fraction(10**400, 3),
    1e308,
]


@pytest.mark.parametrize("value", NOT_NUMBERS + ABSURD, ids=lambda value: type(value).__name__)
def test_what_is_no_amount_is_refused(value: object) -> None:
    """Epsilon and delta must be finite, real, in range numbers; truth values and text are not numbers."""
    with pytest.raises(InvalidParameter, match="epsilon"):
        Budget(value)
    with pytest.raises(InvalidParameter, match="delta"):
        Budget(1, value)


def test_limits_are_where_they_are_said_to_be() -> None:
    """Epsilon may be 0 and a million, delta may be 0 but not 1; sums may pass the limits of what is typed."""
    assert Budget(0) == Budget(0, 0)
    assert Budget(LARGEST_EPSILON).epsilon == 1e6
    assert Budget(1, 0.999_999).delta == 0.999_999
    assert Budget(SMALLEST, SMALLEST).epsilon == 1e-100
    for epsilon, delta in (
        (LARGEST_EPSILON + 1, 0),
        (1, 1),
        (1, 1.5),
        (Fraction(-1, 10**30), 0),
        (1, -1e-30),
        (SMALLEST / 2, 0),
        (1, SMALLEST / 2),
    ):
        with pytest.raises(InvalidParameter):
            Budget(epsilon, delta)
    assert (Budget(LARGEST_EPSILON) + Budget(LARGEST_EPSILON)).epsilon == 2e6
    assert (Budget(1, 0.9) + Budget(1, 0.9)).delta == 1.8


@pytest.mark.parametrize(
    "factor", [*NOT_NUMBERS, -1, Fraction(-1, 3), Budget(1)], ids=lambda value: type(value).__name__
)
def test_factors_and_divisors_are_numbers(factor: object) -> None:
    """A budget is multiplied and divided by non-negative numbers only."""
    with pytest.raises(InvalidParameter):
        Budget(1) * factor
    with pytest.raises(InvalidParameter):
        Budget(1) / factor


def test_nothing_is_divided_by_zero_or_taken_from_too_little() -> None:
    """Division by zero and a negative difference are refused."""
    with pytest.raises(InvalidParameter, match="positive"):
        Budget(1) / 0
    with pytest.raises(InvalidParameter, match="never negative"):
        Budget(1) - Budget(0.5, 1e-9)


@pytest.mark.parametrize(("epsilon", "delta"), [(-1, 0), (0, -1), (Fraction(-1, 10**30), Fraction(1, 2))])
def test_no_arithmetic_makes_a_negative_amount(epsilon: Fraction, delta: Fraction) -> None:
    """Amounts built inside the library are checked too, so that nothing can be refunded by a negative charge."""
    with pytest.raises(InvalidParameter, match="never negative"):
        Budget.amount(Fraction(epsilon), Fraction(delta))


@pytest.mark.parametrize("weights", [(), (0,), (0, 0), (-1, 2), ("1",), (math.nan, 1), (None,), (True,)])
def test_shares_need_weights(weights: tuple[object, ...]) -> None:
    """No weights, all-zero weights, negative weights and what is no number are refused."""
    with pytest.raises(InvalidParameter):
        Budget(1).shares(*weights)


def test_budgets_mix_with_nothing_else() -> None:
    """Adding, subtracting or comparing with a bare number is a type error, and equality with it is false."""
    for operate in (
        lambda: Budget(1) + 1,
        lambda: 1 + Budget(1),
        lambda: Budget(1) - 1,
        lambda: Budget(1) <= 1,
        lambda: Budget(1) >= 1,
    ):
        with pytest.raises(TypeError):
            operate()
    assert Budget(1) != 1


def test_exact_numbers_of_floats_are_their_shortest_decimals() -> None:
    """A float is the shortest decimal that reads back as it, so that 0.1 is a tenth and 1e22 is ten to the 22."""
    assert exact_number("x", 0.1) == Fraction(1, 10)
    assert exact_number("x", 1e22) == 10**22
    assert exact_number("x", 5e-324) == Fraction(5, 10**324)
    assert exact_number("x", np.float32(0.5)) == Fraction(1, 2)
    assert exact_number("x", -2) == -2


def test_amounts_beyond_floats_print_as_what_they_are() -> None:
    """A positive amount never shows as 0, nor a finite one as infinite."""
    for amount, power in ((Budget(1) / 10**400, -400), (Budget(1) * 10**400, 400)):
        shown = str(amount).removeprefix("epsilon=").removesuffix(", delta=0")
        assert Decimal(shown) == Decimal(10) ** power
