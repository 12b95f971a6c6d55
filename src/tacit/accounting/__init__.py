"""From events to budgets: what a list of releases costs, and the ledger that makes them pay."""

from tacit.accounting.analytic import gaussian_delta, gaussian_shift
from tacit.accounting.compose import cost, parallel, satisfies
from tacit.accounting.events import (
    BoundedRangeDpEvent,
    EpsilonDeltaDpEvent,
    Event,
    PoissonSampledGaussianDpEvent,
    event_from_json,
    event_to_json,
    from_add_or_remove_one,
)
from tacit.accounting.history import Entry
from tacit.accounting.ledger import Ledger
from tacit.accounting.unit import Unit
from tacit.accounting.witness import witness_at

__all__ = [
    "BoundedRangeDpEvent",
    "Entry",
    "EpsilonDeltaDpEvent",
    "Event",
    "Ledger",
    "PoissonSampledGaussianDpEvent",
    "Unit",
    "cost",
    "event_from_json",
    "event_to_json",
    "from_add_or_remove_one",
    "gaussian_delta",
    "gaussian_shift",
    "parallel",
    "satisfies",
    "witness_at",
]
