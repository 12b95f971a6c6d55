"""What a fit would charge, found out before it is made and without a look at a record."""

import copy
import tempfile
import warnings
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, cast, final

import numpy as np
from scipy.sparse import issparse

from tacit.accounting.events import Event
from tacit.accounting.ledger import Ledger
from tacit.accounting.unit import RECORD, Kind, Unit
from tacit.budget import SMALLEST, Budget
from tacit.data.bounded import BoundedRows
from tacit.data.persons import whose
from tacit.data.records import Records
from tacit.data.twins import made_up
from tacit.errors import BudgetExceeded, InvalidParameter, OddTerms
from tacit.estimators.announced import Announced
from tacit.estimators.exact_scores import public_data
from tacit.estimators.parameters import needed_budget
from tacit.estimators.seeds import OwnSeed
from tacit.estimators.shown import Shown


@final
@dataclass(frozen=True)
class Price:
    """What would be charged, and whether the ledger can pay it now.

    `budget` is None for an infinite epsilon, which no ledger may be asked to pay. `event` is what would be charged in
    accounting's terms, None where it depends on the number of records and none was told. `affordable` and `left` are
    None without a ledger; `affordable` also where an account that is not "basic" would have to be told the event. Of a
    part of a split, `left` is the part's own, and `adds` is how much more the whole account would have spent.
    `unit` says for whom the release would be private: "record" or "person"; `whom` also by which ids. `odd` is what a
    fit will warn of (`tacit.errors.OddTerms`), as far as it follows from the form of the rows.
    """

    what: str
    budget: Budget | None
    event: Event | None
    affordable: bool | None
    left: Budget | None
    whom: Unit = RECORD
    odd: tuple[str, ...] = ()
    adds: Budget | None = None

    @property
    def unit(self) -> Kind:
        """Whether the release would be private for each record, or for each person."""
        return self.whom.kind

    def __str__(self) -> str:
        if self.budget is None:
            return f"{self.what}: infinite epsilon, NOT private and never charged."
        cost = f"{self.what} costs {self.budget} ({self.whom.neighbours})."
        if self.left is None:
            return f"{cost} There is no ledger to pay it."
        can = {
            True: "enough",
            False: "NOT enough: it would be refused",
            None: "whether that is enough is not known yet",
        }
        less = self.adds is not None and self.adds != self.budget
        adds = "" if self.adds is None else f" It adds {self.adds} to the account's spending"
        why = " (other parts of the same split have cost more)" if less else ""
        end = f"{adds}{why}." if adds else ""
        return f"{cost} The ledger has {self.left} left{' for it' if less else ''}: {can[self.affordable]}.{end}"


@dataclass(eq=False, repr=False, kw_only=True)
class Paid:
    """The parameters that all estimators have: who pays for a fit, and a seed for one that nobody needs to pay."""

    ledger: Ledger | None = None
    random_state: object = None


class Priced(Announced, OwnSeed, Shown, Paid):
    """Estimators that say what a fit would charge."""

    epsilon: float | None
    delta: float

    def price(self, X: Any = None, *, groups: object = None) -> Price:
        """Return what `fit` would charge, and whether the ledger can pay it; nothing is charged.

        X is the `Records`, or the table, to be fitted: only its shape and what it declares are used, never a record,
        and of `groups`, which say whose its rows are, how many persons they name.
        Without X the budget is told, and the event is not. It is the most that is charged: a question that was asked
        of the same records before, under the same ledger, is answered again for nothing. A seed, or made-up records,
        would charge nothing: told is what the same fit costs when it is meant. A ledger that promises for another unit
        refuses, as it would refuse the fit.
        """
        budget = needed_budget(self.epsilon, self.delta)
        event: Event | None = None
        odd: tuple[str, ...] = ()
        if X is not None and budget is not None:
            # A release may leave delta out that it has no use for.
            event, budget, odd = self._tried(X, groups, budget)
        ledger = X.account(self.ledger) if isinstance(X, Records) and not X.is_twin else self.ledger
        return replace(price_of(type(self).__name__, budget, event, ledger, unit_of(X, groups)), odd=odd)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()  # type: ignore[misc]
        tags.input_tags.sparse = True
        return tags

    def _tried(self, X: Any, groups: object, budget: Budget) -> tuple[Event | None, Budget, tuple[str, ...]]:
        """Return what an empty account refuses to pay when rows of this form are fitted, and what is warned of then."""
        asked = copy.copy(self)
        asked.random_state = None
        with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings(record=True) as heard, public_data():
            warnings.simplefilter("always")
            unit = (unit_of(X, groups) or RECORD).kind
            owned = {} if groups is None else {"groups": groups}
            address = f"sqlite:///{Path(folder) / 'empty.db'}"
            asked.ledger = Ledger.create(address, name="empty", budget=Budget(SMALLEST), unit=unit)
            event: Any = None
            try:
                asked.fit(*stand_in(X, getattr(self, "classes", None)), **owned)  # type: ignore[attr-defined]
            except BudgetExceeded as refusal:
                event, budget = refusal.event, cast("Budget", refusal.at or budget)
        return event, budget, tuple(str(each.message) for each in heard if issubclass(each.category, OddTerms))


def price_of(
    what: str, budget: Budget | None, event: Event | None, ledger: Ledger | None, unit: Unit | None = None
) -> Price:
    """Return a price, and whether a ledger can pay it; a unit that is not told is the ledger's."""
    if ledger is None:
        return Price(what, budget, event, None, None, unit or RECORD)
    if unit is not None:
        ledger.require(unit)
    whom = ledger.whom if unit is None else unit
    if budget is None:
        return Price(what, budget, event, None, None, whom)
    left = ledger.remaining
    if event is not None:
        adds = ledger.price(event, at=budget)
        return Price(what, budget, event, ledger.affords(event, at=budget), left, whom, adds=adds)
    return Price(what, budget, None, budget <= left if ledger.accountant == "basic" else None, left, whom)


def unit_of(X: Any, groups: object = None) -> Unit | None:
    """Return for whom a fit to rows X would be private, as they say themselves; None where no rows are told."""
    if isinstance(X, Records):
        return X.whom
    if groups is not None:
        return whose(groups)
    return None if X is None else RECORD


def stand_in(X: Any, classes: Any) -> tuple[Any, ...]:
    """Return made-up rows and targets of the same public form: number, width, schema, stated norm."""
    if isinstance(X, Records):
        return (made_up(X.schema, X.n, 0, key=X.key, unit=X.unit),)
    shape = X.shape if issparse(X) or hasattr(X, "shape") else np.shape(X)
    if len(shape) != 2 or not shape[0]:
        raise InvalidParameter("X must be Records or a table with rows and columns. Its form is all that is looked at.")
    rows: Any = np.zeros(shape)
    if isinstance(X, BoundedRows) and X.data_norm is not None:
        rows = BoundedRows(rows, data_norm=X.data_norm, has_constant=X.has_constant, filled=X.filled)
    labels = list(classes) if classes is not None else [0, 1]
    return rows, np.array([labels[place % len(labels)] for place in range(shape[0])])
