"""Hostile questions to the oracle: each tries to make it fail, warn or answer exactly, depending on one record.

A question is a function of the oracle's columns, as in `StatisticalQuery`. It imports what it needs when it is asked,
so that nothing here needs a database. One play asks all questions; what comes back for each, an answer or a refusal
with its words, is the outcome. A refusal that is the same for both data sets tells nothing; one that is not refutes.

To add an attack, add a line to `HOSTILE`; to play the questions against another source (a file, a database), build the
case with `asking`.
"""

import math
from collections.abc import Callable, Mapping
from datetime import datetime
from decimal import Decimal
from functools import reduce
from typing import Any

import numpy as np

from tacit.audit.case import Audited, Case, Question
from tacit.audit.fingerprint import Fingerprint
from tacit.budget import Budget
from tacit.queries import StatisticalOracle, StatisticalQuery

Ask = Callable[[Any], Any]
"""What a query computes from the columns of one record, or tries to."""

_PLAYS = 500
_VALUES = [10.0, 20.0, 30.0]


def _ibis() -> Any:
    import ibis

    return ibis


def _lazy_timestamp(t: Any) -> Any:
    """DuckDB casts the constant only for records that satisfy the condition, and then fails."""
    ibis = _ibis()
    late = ibis.literal(datetime(3000, 1, 1), type="timestamp(9)")
    return (t.x0 > 50).ifelse(late, ibis.null("timestamp(9)")).isnull()


def _clip_at_null(t: Any) -> Any:
    """PostgreSQL ignores a bound that is null, and the promised range is exceeded."""
    return (t.x0 * 2**40).clip(_ibis().null("int64"), 5) * 2**40


HOSTILE: dict[str, Ask] = {
    "a timestamp that overflows only where it is needed": _lazy_timestamp,
    "a clip whose bound is null": _clip_at_null,
    "modulus by 0": lambda t: t.x0 % 0,
    "modulus by a column": lambda t: t.x0 % (t.x0 - 100),
    "a substring under a collation": lambda t: t.x0.cast("string").contains("1"),
    "a cast that overflows": lambda t: (t.x0 * 1e30).cast("int8") > 0,
    "a cast to a date": lambda t: t.x0.cast("int64").cast("date") > datetime(2000, 1, 1),
    "division by a column": lambda t: 1 / (t.x0 - 100),
    "division by 0": lambda t: t.x0 / 0,
    "division by a tiny constant": lambda t: t.x0 / 5e-324,
    "a power that overflows": lambda t: t.x0**400,
    "a power of a column": lambda t: 10.0**t.x0,
    "the logarithm of 0": lambda t: (t.x0 - 100).log(),
    "the root of a negative number": lambda t: (t.x0 - 50).sqrt(),
    "a product beyond doubles": lambda t: (t.x0 * 1e200 * 1e200) > 0,
    "infinity less infinity": lambda t: (t.x0 * 1e308 * 10) - (t.x0 * 1e308 * 10),
    "a constant that is no number": lambda t: t.x0 > math.nan,
    "an infinite constant": lambda t: t.x0 * math.inf,
    "a whole constant beyond doubles": lambda t: t.x0 > 10**400,
    "a whole constant beyond 64 bits": lambda t: t.x0 * 2**64 > 2**69,
    "a constant in single precision": lambda t: t.x0 * np.float32(0.1) > 5,
    "a decimal constant": lambda t: t.x0 > Decimal("50.5"),
    "a text where a number is": lambda t: t.x0 == "100",
    "text after a comparison": lambda t: (t.x0 > 50).ifelse("a", 1.0),
    "a Python condition": lambda t: 1.0 if t.x0 > 50 else 1 / 0,
    "a Python number": lambda t: 1 / (float(t.x0) - 100),
    "a Python text": lambda t: 1.0 if "100" in f"{t.x0!r}{t.x0}" else 1 / 0,
    "going through the records": lambda t: [1 / (value - 100) for value in t.x0],
    "the records by their place": lambda t: t.x0[0] > 50,
    "a function of numpy": lambda t: np.log(t.x0 - 100),
    "a comparison with an array": lambda t: np.array([50.0, 60.0]) < t.x0,
    "a function of one's own": lambda t: t.x0.map(lambda value: 1 / (value - 100)),
    "the largest value": lambda t: t.x0 == t.x0.max(),
    "the mean of all records": lambda t: t.x0 > t.x0.mean(),
    "a window over records": lambda t: t.x0 > t.x0.lag(),
    "membership in a column": lambda t: t.x0.isin([t.x1]),
    "membership in a long list": lambda t: t.x0.isin([float(number) for number in range(30)]),
    "a column that is not there": lambda t: t.name > 50,
    "the table's own parts": lambda t: t._engine,
    "running a query by hand": lambda t: t.x0.execute(),
    "SQL": lambda t: t.sql("SELECT 1 / 0"),
    "nothing": lambda t: None,
    "another query": lambda t: StatisticalQuery(lambda inner: inner.x0),
    "a deep expression": lambda t: reduce(lambda inner, _: abs(inner - 1.0), range(30), t.x0) > 50,
    "a wide expression": lambda t: reduce(lambda sum_, factor: sum_ + factor * t.x0, range(30), t.x0 * 0) > 50,
    "a choice between ranges": lambda t: (t.x0 > 50).ifelse(t.x0 * 1e90, -t.x0),
    "a negative zero": lambda t: ((t.x0 - 100) * 0.0) * -1.0,
    "an honest question": lambda t: t.x0 > 50,
}
"""Attacks by what they try; the columns are x0 and x1, numbers from 0 to 100, and one record's x0 is 100 or 0."""


def asking(
    claim: Budget, open_oracle: Callable[[Any], Any], questions: Mapping[str, Ask], first: Any, second: Any
) -> Case:
    """Return the audit of an oracle under all of these questions at once.

    `open_oracle` makes a new oracle of a data set for every play: one that remembers its answers would not draw new
    ones. Every question may spend its share of epsilon and delta, whether it is answered or not.
    """
    each = claim.epsilon / max(1, len(questions))
    share = claim.delta / max(1, len(questions))

    def asked(data: Any) -> dict[str, Any]:
        oracle = open_oracle(data)
        return {title: _answer_or_refusal(oracle, ask, each, share) for title, ask in questions.items()}

    return Case(claim, asked, first, second, (Fingerprint(),), _PLAYS)


def _answer_or_refusal(oracle: Any, ask: Ask, epsilon: float, delta: float) -> Any:
    try:
        return oracle.ask(StatisticalQuery(ask), epsilon=epsilon, delta=delta)
    except Exception as refusal:
        return refusal


def hostile(question: Question) -> Case:
    """All hostile questions to an oracle over arrays."""
    first, second = (np.column_stack([[value, *_VALUES], [1.0, 2.0, 3.0, 4.0]]) for value in (100.0, 0.0))

    def open_oracle(rows: Any) -> StatisticalOracle:
        return StatisticalOracle((rows, np.ones(len(rows))), bounds=(0.0, 100.0))

    return asking(question.claim, open_oracle, HOSTILE, first, second)


HOSTILE_CASES = (Audited("StatisticalOracle-hostile", hostile),)
