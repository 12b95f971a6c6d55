"""Everything of tacit that can be audited, by the name that a user knows it by."""

from tacit.audit.case import Case, Question
from tacit.audit.catalogue.estimators import ESTIMATORS
from tacit.audit.catalogue.hostile import HOSTILE_CASES
from tacit.audit.catalogue.kernels import KERNELS
from tacit.audit.catalogue.mechanisms import MECHANISMS
from tacit.audit.catalogue.statistics import STATISTICS
from tacit.audit.exhibits import EXHIBITS
from tacit.errors import InvalidParameter

__all__ = ["NAMES", "case"]

_AUDITED = {
    audited.name: audited
    for audited in (
        *MECHANISMS, *STATISTICS, *ESTIMATORS, *KERNELS, *HOSTILE_CASES, *(exhibit.audited for exhibit in EXHIBITS),
    )
}  # fmt: skip

NAMES = tuple(_AUDITED)
"""The names that `tacit audit` knows."""


def case(name: str, question: Question) -> Case:
    """Return the audit of a mechanism, an estimator or an exhibit by its name."""
    if name not in _AUDITED:
        raise InvalidParameter(f"nothing to audit is called {name!r}. Choose one of: {', '.join(NAMES)}.")
    return _AUDITED[name].case(question)
