"""What a service answers, as values: prices, amounts, answers to points."""

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, final

import numpy as np

from tacit.budget import Budget
from tacit.errors import ServiceError
from tacit.kernels.interactive.session import PointAnswers
from tacit.numerics.arrays import Floats


@final
@dataclass(frozen=True)
class ServedPrice:
    """What something would cost, how good it would be where that is known, and whether it can be paid now."""

    budget: Budget
    expected_error: Mapping[str, Any] | None
    affordable: bool
    left: Budget

    def __str__(self) -> str:
        can = "enough" if self.affordable else "NOT enough: it would be refused"
        about = "" if self.expected_error is None else f" ({_in_words(self.expected_error)})"
        return f"costs {self.budget}{about}. {self.left} is left: {can}."


def amount(plain: Mapping[str, Any]) -> Budget:
    """Return the exact amount that was written as two fractions."""
    try:
        return Budget.amount(Fraction(plain["exact"]["epsilon"]), Fraction(plain["exact"]["delta"]))
    except (KeyError, TypeError, ValueError, ZeroDivisionError):
        raise ServiceError("the service named an amount that is none. Does it run another tacit?") from None


def point_answers(plain: Mapping[str, Any]) -> PointAnswers:
    """Return answers of a predictor; what is no number came as null."""
    values, deviation, error = (_floats(plain[name]) for name in ("values", "standard_deviation", "error"))
    return PointAnswers(values, deviation, error, np.array(plain["guaranteed"], dtype=bool))


def _in_words(expected: Mapping[str, Any]) -> str:
    said = (f"{each:.3g}" if isinstance(each, float) else str(each) for each in expected.values())
    return ", ".join(f"{name.replace('_', ' ')}: {each}" for name, each in zip(expected, said, strict=True))


def _floats(numbers: Any) -> Floats:
    return np.array([np.nan if number is None else number for number in numbers], dtype=np.float64)
