"""Privacy budgets as exact amounts.

A `Budget` is the pair (epsilon, delta), kept as two exact fractions of the numbers as they were typed:
`0.1` means one tenth, so three times `0.1` fits into `0.3`. Floats come out only for display and for
calibration, which rounds outward by itself.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from decimal import ROUND_CEILING, Context, Decimal
from fractions import Fraction
from numbers import Rational
from typing import Self, final

from tacit.checks import exact_number, shown
from tacit.errors import InvalidParameter
from tacit.notebook import card

LARGEST_EPSILON = 10**6
"""Beyond this a typed epsilon is taken for a mistake: e^epsilon promises nothing long before."""

SMALLEST = Fraction(1, 10**100)
"""Below this a typed epsilon or delta that is not zero is taken for a mistake."""

_DISPLAY = Context(prec=10, rounding=ROUND_CEILING)
_PATTERN = re.compile(r"\s*(?:(epsilon|delta)\s*=?\s*)?([0-9]*\.?[0-9]*(?:[eE][+-]?[0-9]{1,3})?(?:/[0-9]+)?)\s*")


def _display(value: Fraction) -> str:
    """Round a fraction up to ten significant digits and print it without trailing zeros."""
    if value == 0:
        return "0"
    rounded = _DISPLAY.divide(Decimal(value.numerator), Decimal(value.denominator))
    if -300 < rounded.adjusted() < 300:
        return format(float(rounded), ".10g")
    return format(rounded.normalize(_DISPLAY), "g")


@final
@dataclass(frozen=True, slots=True, init=False, repr=False)
class Budget:
    """An amount of differential privacy: epsilon, and delta when it is not pure.

    Amounts compare componentwise (`a <= b` when a's epsilon and delta are both at most b's), add up as
    sequential composition does, and divide into exact shares. Zero is an amount (nothing spent, nothing
    left), but nothing can be calibrated to it.
    """

    exact_epsilon: Fraction
    exact_delta: Fraction

    def __init__(self, epsilon: float | Rational | Decimal, delta: float | Rational | Decimal = 0) -> None:
        exact_epsilon = exact_number("epsilon", epsilon)
        exact_delta = exact_number("delta", delta)
        if exact_epsilon and not SMALLEST <= exact_epsilon <= LARGEST_EPSILON:
            raise InvalidParameter(
                f"epsilon must lie between 0 and {LARGEST_EPSILON}, got {shown(epsilon)}. "
                "Usual values lie between 0.01 and 10."
            )
        if exact_delta and not SMALLEST <= exact_delta < 1:
            raise InvalidParameter(
                f"delta must be at least 0 and below 1, got {shown(delta)}. It is the probability with which the "
                "promise may fail: keep it well below 1/n, or 0 for pure differential privacy."
            )
        object.__setattr__(self, "exact_epsilon", exact_epsilon)
        object.__setattr__(self, "exact_delta", exact_delta)

    @classmethod
    def amount(cls, epsilon: Fraction, delta: Fraction = Fraction(0)) -> Self:
        """Build an amount without the limits on typed budgets: sums may exceed them."""
        if epsilon < 0 or delta < 0:
            raise InvalidParameter("an amount of privacy is never negative.")
        budget = object.__new__(cls)
        object.__setattr__(budget, "exact_epsilon", epsilon)
        object.__setattr__(budget, "exact_delta", delta)
        return budget

    @classmethod
    def parse(cls, text: str) -> Self:
        """Read a budget from text: "1", "1, 1e-6", "epsilon=1/3 delta=1e-6"; `str(budget)` reads back."""
        amounts: dict[str, Fraction] = {}
        if not isinstance(text, str):
            raise InvalidParameter(f"a budget is read from text, got {type(text).__name__}.")
        for position, part in enumerate(re.split(r",\s*|\s+(?=delta)", text.strip())):
            match = _PATTERN.fullmatch(part)
            name = (match and match[1]) or ("epsilon", "delta", "")[min(position, 2)]
            try:
                amount = Fraction(match[2]) if match else None
            except (ValueError, ZeroDivisionError):
                amount = None
            if amount is None or not name or name in amounts:
                break
            amounts[name] = amount
        else:
            if "epsilon" in amounts:
                return cls(**amounts)
        raise InvalidParameter(f'a budget is written like "epsilon=1, delta=1e-6" or "1, 1e-6", got {shown(text)}.')

    @property
    def epsilon(self) -> float:
        """The float nearest to epsilon."""
        return float(self.exact_epsilon)

    @property
    def delta(self) -> float:
        """The float nearest to delta."""
        return float(self.exact_delta)

    @property
    def is_pure(self) -> bool:
        """Whether delta is zero."""
        return self.exact_delta == 0

    def __bool__(self) -> bool:
        return bool(self.exact_epsilon or self.exact_delta)

    def __add__(self, other: "Budget") -> "Budget":
        if not isinstance(other, Budget):
            return NotImplemented
        return Budget.amount(self.exact_epsilon + other.exact_epsilon, self.exact_delta + other.exact_delta)

    def __sub__(self, other: "Budget") -> "Budget":
        if not isinstance(other, Budget):
            return NotImplemented
        if not other <= self:
            raise InvalidParameter(f"{other} cannot be taken from {self}: a budget is never negative.")
        return Budget.amount(self.exact_epsilon - other.exact_epsilon, self.exact_delta - other.exact_delta)

    def __mul__(self, factor: float | Rational | Decimal) -> "Budget":
        exact = exact_number("the factor of a budget", factor)
        if exact < 0:
            raise InvalidParameter(f"the factor of a budget must not be negative, got {shown(factor)}.")
        return Budget.amount(self.exact_epsilon * exact, self.exact_delta * exact)

    __rmul__ = __mul__

    def __truediv__(self, divisor: float | Rational | Decimal) -> "Budget":
        exact = exact_number("the divisor of a budget", divisor)
        if exact <= 0:
            raise InvalidParameter(f"the divisor of a budget must be positive, got {shown(divisor)}.")
        return self * (1 / exact)

    def shares(self, *weights: float | Rational | Decimal) -> "tuple[Budget, ...]":
        """Divide into parts proportional to the weights; the parts add up to the whole exactly."""
        exact = [exact_number("a weight", weight) for weight in weights]
        if not exact or min(exact) < 0 or sum(exact) == 0:
            raise InvalidParameter(f"shares need non-negative weights that are not all zero, got {weights!r}.")
        return tuple(self * (weight / sum(exact)) for weight in exact)

    def __le__(self, other: "Budget") -> bool:
        if not isinstance(other, Budget):
            return NotImplemented
        return self.exact_epsilon <= other.exact_epsilon and self.exact_delta <= other.exact_delta

    @staticmethod
    def largest(budgets: "Sequence[Budget]") -> "Budget":
        """Return the componentwise maximum: what parallel composition over disjoint parts costs."""
        return Budget.amount(
            max((budget.exact_epsilon for budget in budgets), default=Fraction(0)),
            max((budget.exact_delta for budget in budgets), default=Fraction(0)),
        )

    @staticmethod
    def smallest(budgets: "Sequence[Budget]") -> "Budget":
        """Return the componentwise minimum of at least one amount: what fits into each of them."""
        return Budget.amount(
            min(budget.exact_epsilon for budget in budgets), min(budget.exact_delta for budget in budgets)
        )

    def __str__(self) -> str:
        return f"epsilon={_display(self.exact_epsilon)}, delta={_display(self.exact_delta)}"

    def _repr_html_(self) -> str:
        return card("Budget", {"epsilon": _display(self.exact_epsilon), "delta": _display(self.exact_delta)})

    def __repr__(self) -> str:
        delta = "" if self.is_pure else f", {_display(self.exact_delta)}"
        return f"Budget({_display(self.exact_epsilon)}{delta})"


def plain_budget(what: str, budget: object) -> Budget:
    """Return a budget; a subclass of one's own, which could change its mind about its amounts, is none."""
    if type(budget) is not Budget:
        raise InvalidParameter(f"{what} must be a Budget such as Budget(1.0, 1e-6), got {type(budget).__name__}.")
    return budget
