"""Numbers that people declare: read exactly as they were typed, refused in words."""

import math
from decimal import Decimal
from fractions import Fraction
from numbers import Integral, Rational, Real

import numpy as np

from tacit.errors import InvalidParameter

_LONGEST_EXPONENT = 400


def exact_number(name: str, value: object) -> Fraction:
    """Return the number as it was typed, exactly; refuse what is not a finite real number."""
    if isinstance(value, Decimal) and value.is_finite() and abs(value.adjusted()) <= _LONGEST_EXPONENT:
        return Fraction(value)
    if isinstance(value, Integral | Rational) and not isinstance(value, bool):
        return Fraction(int(value.numerator), int(value.denominator))
    if isinstance(value, Real) and not isinstance(value, bool) and math.isfinite(value):
        # The shortest decimal that reads back as this float is what the user typed.
        return Fraction(repr(float(value)))
    raise InvalidParameter(f"{name} must be a finite real number, got {shown(value)}.")


def finite_number(name: str, value: object) -> float:
    """Return the float nearest to a number; refuse one that is too large for a float."""
    if type(value) is float and math.isfinite(value):
        return value
    try:
        return float(exact_number(name, value))
    except OverflowError:
        raise InvalidParameter(f"{name} is too large, got {shown(value)}.") from None


def shown(value: object) -> str:
    """Print what was typed, unless it is long: a number of ten thousand digits helps nobody."""
    try:
        text = repr(value)
    except ValueError:
        text = "a number too long to print"
    return text if len(text) <= 60 else f"{text[:57]}..."


def positive_number(name: str, value: object) -> float:
    """Return a positive float whose square is one too, from 1e-100 to 1e100; refuse any other number."""
    number = finite_number(name, value)
    if not 1e-100 <= number <= 1e100:
        raise InvalidParameter(f"{name} must be a positive number from 1e-100 to 1e100, got {shown(value)}.")
    return number


def checked_share(name: str, share: float) -> float:
    """Return a share or a chance as a float between 0 and 1."""
    number = finite_number(name, share)
    if not 0 <= number <= 1:
        raise InvalidParameter(f"{name} must lie between 0 and 1, got {share!r}.")
    return number


def checked_confidence(confidence: float, name: str = "confidence") -> float:
    """Return the confidence as a float strictly between 0 and 1."""
    number = finite_number(name, confidence)
    if not 0 < number < 1:
        raise InvalidParameter(f"{name} must lie strictly between 0 and 1, got {confidence!r}.")
    return number


def whole_number(what: str, number: int) -> int:
    """Return a whole number from 1 to 2^32."""
    if not is_whole(number) or not 1 <= number <= 2**32:
        raise InvalidParameter(
            f"{what} must be a whole number from 1 to 2^32, got {type(number).__name__} that is not."
        )
    return int(number)


def is_whole(value: object) -> bool:
    """Whether this is an integer, of Python or numpy, and no truth value."""
    return isinstance(value, int | np.integer) and not isinstance(value, bool)
