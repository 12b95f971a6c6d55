"""Everything of tacit that can be audited, by the name that a user knows it by."""

from collections.abc import Callable
from dataclasses import replace

from tacit.audit.case import Case, Question
from tacit.audit.catalogue.estimators import ESTIMATORS
from tacit.audit.catalogue.hostile import HOSTILE_CASES
from tacit.audit.catalogue.kernels import KERNELS
from tacit.audit.catalogue.mechanisms import MECHANISMS
from tacit.audit.catalogue.queries import QUERIES
from tacit.audit.catalogue.statistics import STATISTICS
from tacit.audit.exhibits import EXHIBITS
from tacit.errors import InvalidParameter

__all__ = ["NAMES", "case"]

_BUILDERS: dict[str, Callable[[Question], Case]] = {
    **MECHANISMS,
    **STATISTICS,
    **ESTIMATORS,
    **KERNELS,
    **QUERIES,
    **HOSTILE_CASES,
    **{exhibit.name: exhibit.build for exhibit in EXHIBITS},
}

NAMES = tuple(_BUILDERS)
"""The names that `tacit audit` knows."""


def case(name: str, question: Question) -> Case:
    """Return the audit of a mechanism, an estimator or an exhibit by its name."""
    if name not in _BUILDERS:
        raise InvalidParameter(f"nothing to audit is called {name!r}. Choose one of: {', '.join(NAMES)}.")
    built = _BUILDERS[name](question)
    if question.delta is None and built.claim.delta:
        said = f"no delta was given: delta={built.claim.delta:g} is audited"
        return replace(built, note=f"{built.note}; {said}" if built.note else said)
    return built
