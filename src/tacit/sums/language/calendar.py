"""The calendar of a cleaned moment: year, month and day of the week from its number of days, by whole divisions.

The formulas are those of the civil calendar counted from March (Hinnant, "chrono-compatible low-level date
algorithms", 2013): with the leap day last, years of a 400-year cycle and months of a year follow by division.
"""

import math

from tacit.sums.language.expression import Expression, choose, constant, number, refuse

_MOST_DAYS = 1e9
_DIVISORS = (4, 7, 100, 153, 365, 1_460, 36_524, 146_096, 146_097)


def year(moment: Expression) -> Expression:
    """Return the year of a moment."""
    cycle, years, month_from_march = _parts(moment)
    return years + cycle * 400 + choose(month_from_march >= 10, 1, 0)


def month(moment: Expression) -> Expression:
    """Return the month, from 1 to 12."""
    _, _, month_from_march = _parts(moment)
    return choose(month_from_march >= 10, month_from_march - 9, month_from_march + 3).clip(1, 12)


def weekday(moment: Expression) -> Expression:
    """Return the day of the week, 0 for Monday: 1970 began on a Thursday."""
    day = floor(moment) + 3
    return (day - quotient(day, 7) * 7).clip(0, 6)


def _parts(moment: Expression) -> tuple[Expression, Expression, Expression]:
    """Return the 400-year cycle, the year in it, and the month, all counted from March."""
    day = floor(moment) + 719_468
    cycle = quotient(day, 146_097)
    of_cycle = (day - cycle * 146_097).clip(0, 146_096)
    leaps = quotient(of_cycle, 36_524) - quotient(of_cycle, 1_460) - quotient(of_cycle, 146_096)
    years = quotient(of_cycle + leaps, 365).clip(0, 399)
    of_year = (of_cycle - (years * 365 + quotient(years, 4) - quotient(years, 100))).clip(0, 365)
    return cycle, years, quotient(of_year * 5 + 2, 153).clip(0, 11)


def floor(value: Expression) -> Expression:
    """Return the whole number below a number of days."""
    days = number(value)
    if max(-days.low, days.high) > _MOST_DAYS:
        refuse("the whole part of a number that large")
    return Expression("floor", (days,), "number", float(math.floor(days.low)), float(math.floor(days.high)), 1.0)


def quotient(value: Expression, divisor: float) -> Expression:
    """Return the whole part of a quotient of whole numbers far below 2^53 / divisor, where division cannot round up."""
    days, by = number(value), constant(divisor).low
    if by not in _DIVISORS or max(-days.low, days.high) > _MOST_DAYS:
        refuse("a quotient other than the calendar's")
    low, high = float(math.floor(days.low / by)), float(math.floor(days.high / by))
    return Expression("quotient", (days, by), "number", low, high, 1.0)
