"""Hostile questions to the oracle: what fails because of a record is refuted; what is refused alike tells nothing.

That tacit's own oracle holds against all of them is among the audits of tests/audit/test_catalogue.py.
"""

import warnings

import numpy as np
import pytest

from tacit.audit import Verdict
from tacit.audit.catalogue.hostile import HOSTILE, asking
from tacit.budget import Budget
from tacit.errors import InvalidParameter, QueryFailed

FIRST, SECOND = np.array([[100.0], [1.0]]), np.array([[0.0], [1.0]])


class _Oracle:
    """Evaluates a question on bare numbers; `lazily` makes it as careless as a database."""

    def __init__(self, rows, lazily):
        self.rows, self.lazily = rows, lazily

    def ask(self, query, *, epsilon, delta):
        if not self.lazily:
            raise InvalidParameter("there is no such word")
        return query.function(self.rows)


def _fails(rows):
    if np.any(rows > 50):
        raise QueryFailed("an engine failed")
    return "an answer"


def _warns(rows):
    if np.any(rows > 50):
        warnings.warn("overflow", RuntimeWarning, stacklevel=1)
    return "an answer"


def _audit(questions, lazily):
    case = asking(Budget(1), lambda rows: _Oracle(rows, lazily), questions, FIRST, SECOND)
    return case.audit(plays=200)


@pytest.mark.parametrize("tell", [_fails, _warns, lambda rows: float(rows[0, 0])], ids=["fails", "warns", "answers"])
def test_one_telling_question_among_many_is_refuted(tell):
    """An oracle that fails, warns or answers exactly because of one record is caught among harmless questions."""
    report = _audit({"harmless": lambda rows: "an answer", "hostile": tell, "refused": lambda rows: 1 / 0}, True)
    assert report.verdict is Verdict.REFUTED
    assert any("what told" in question for question, _ in report.rows())


def test_what_is_refused_alike_holds():
    """The twin: an oracle that refuses every question in the same words tells nothing."""
    assert _audit({"hostile": _fails, "other": _warns}, False).verdict is Verdict.HOLDS


def test_the_list_names_the_known_attacks():
    """Every question is a function of columns; that the list loads no Ibis is seen to in test_exhibits.py."""
    assert len(HOSTILE) >= 40
    assert all(callable(ask) for ask in HOSTILE.values())
