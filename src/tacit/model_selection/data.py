"""Data that can be cut into parts by public coins: records, or rows with their targets.

A *slot* is what is protected: a record, or a person with all their rows. Which part a slot is in depends on its number
alone, and its number on nothing that is in any slot, so that replacing what is in one moves nothing else: training on
one part and judging on another compose in parallel.
"""

import inspect
import sys
from dataclasses import dataclass, replace
from typing import Any, final

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import issparse
from sklearn.base import is_classifier, is_regressor

from tacit.accounting.unit import RECORD, Unit
from tacit.data.persons import Persons
from tacit.data.records import Records, subset
from tacit.errors import InvalidParameter
from tacit.estimators.classes import known_classes
from tacit.estimators.encoded import refuse_targets, target_of
from tacit.estimators.price import Price, Priced
from tacit.estimators.tables import validated
from tacit.noise import public_stream
from tacit.numerics.arrays import Codes, Floats, Truths
from tacit.secret import open_secret

_COINS = 7
"""The seed of the public coins: they may be known to all, and are the same for every search of the same data."""


@final
@dataclass(frozen=True)
class Data:
    """Records or rows, how many slots they have, and what was declared about their targets."""

    X: Any
    y: Any
    slots: int
    classes: NDArray[Any] | None
    target_range: tuple[float, float] | None
    assumed: str
    persons: Persons | None = None

    @classmethod
    def of(cls, estimator: Any, X: Any, y: Any, groups: object = None) -> "Data":
        """Read what is public about the data of an estimator; refuse what its fit would refuse."""
        if isinstance(X, Records):
            if groups is not None:
                raise InvalidParameter('Records bring their own persons: Records(..., unit="the column of ids").')
            return cls._of_records(estimator, X, y)
        rows = cls._of_rows(estimator, X, y)
        persons = Persons.given(groups)
        if persons is None:
            return rows
        if len(persons.owners) != rows.slots:
            raise InvalidParameter("groups must have one entry for each row of X.")
        if "groups" not in inspect.signature(estimator.fit).parameters:
            raise InvalidParameter(f"{type(estimator).__name__} takes no groups: give Records(..., unit=...) instead.")
        return replace(rows, slots=persons.n, persons=persons)

    @classmethod
    def _of_rows(cls, estimator: Any, X: Any, y: Any) -> "Data":
        if not (isinstance(X, np.ndarray) or issparse(X) or hasattr(X, "iloc")):
            raise InvalidParameter(
                f"wanted Records, an array, a sparse matrix or a pandas frame, got {type(X).__name__}. Open other "
                "tables as Records(table, schema)."
            )
        classification = is_classifier(estimator)
        _, targets = validated(estimator, X, y=y, y_numeric=not classification)
        rows = X.tocsr() if issparse(X) else X
        if not classification:
            declared = getattr(estimator, "target_range", None)
            if declared is None:
                raise InvalidParameter(
                    "target_range is missing: errors are judged within (low, high), which is declared."
                )
            return cls(rows, targets, len(targets), None, declared, f"targets within {declared}")
        classes, _, assumed = known_classes(getattr(estimator, "classes", None), targets)
        return cls(rows, targets, len(targets), classes, None, assumed)

    @classmethod
    def _of_records(cls, estimator: Any, records: Records, y: Any) -> "Data":
        refuse_targets(y)
        if not records.facts.ordered and records.unit is None:
            raise InvalidParameter(
                "rows of a database have no fixed place, so that no part of them is fixed in advance. Declare the "
                "persons or ids that rows belong to: Records(..., unit=...), or read the table into memory."
            )
        schema = records.schema
        target_of(schema, "classification" if is_classifier(estimator) else "regression")
        classes = np.array(schema.classes) if schema.classes else None
        return cls(records, None, records.n, classes, schema.target_range, "the schema")

    @property
    def unit(self) -> Unit:
        """Whom a release about the data protects."""
        if isinstance(self.X, Records):
            return self.X.whom
        return RECORD if self.persons is None else self.persons.whom

    @property
    def named(self) -> int:
        """How many slots can be told apart: all records, and the persons with an id."""
        if isinstance(self.X, Records):
            persons = open_secret(self.X.secret).persons
            return self.slots if persons is None else persons.named
        return self.slots if self.persons is None else self.persons.named

    @property
    def cuts(self) -> int:
        """How many slots parts are made of: rows without an id are one together, whatever their number and order."""
        return self.named + (self.named < self.slots)

    def part(self, chosen: Truths) -> "Data":
        """Return the slots where `chosen`, one truth value for each of `cuts`, is true."""
        count = int(chosen[: self.named].sum()) + (self.slots - self.named) * bool(chosen[self.named :].any())
        if isinstance(self.X, Records):
            slots = np.append(chosen, False) if len(chosen) == self.named else chosen
            return Data(subset(self.X, slots), None, count, self.classes, self.target_range, self.assumed)
        persons = self.persons
        rows = np.flatnonzero(chosen if persons is None else chosen[np.minimum(persons.owners, persons.named)])
        return replace(
            self, X=self.X.iloc[rows] if hasattr(self.X, "iloc") else self.X[rows], y=self.y[rows], slots=count,
            persons=None if persons is None else persons.of_rows(rows),
        )  # fmt: skip

    def fit(self, model: Any) -> None:
        """Fit a model to this."""
        if isinstance(self.X, Records):
            model.fit(self.X)
        else:
            model.fit(self.X, self.y, **self._owned)

    def price(self, model: Any) -> Price:
        """Return what fitting a model to this costs."""
        price: Price = model.price(self.X, **self._owned)
        return price

    def folds(self, count: int) -> Codes:
        """Return the fold of each of the slots that parts are made of, by public coins."""
        if self.cuts < count:
            raise InvalidParameter(
                f"{count} folds need as many records, or persons with an id: rows without an id are in one fold "
                f"together. Got {self.cuts}."
            )
        fold = np.empty(self.cuts, dtype=np.intp)
        fold[places(self.cuts)] = np.arange(self.cuts) % count
        return fold

    @property
    def _owned(self) -> dict[str, Any]:
        return {} if self.persons is None else {"groups": self.persons}

    def targets(self) -> NDArray[Any]:
        """Return the target of every row: a class, None for one that is not declared, or a number."""
        if isinstance(self.X, Records):
            return open_secret(self.X.secret).labels(self.X.schema)
        return np.asarray(self.y)

    def weights(self) -> Floats:
        """Return how much each row counts, at most 1 together for what one slot holds."""
        if isinstance(self.X, Records):
            own = open_secret(self.X.secret).weights()
        else:
            own = None if self.persons is None else self.persons.weights
        return np.ones(len(self.targets())) if own is None else own


def places(slots: int) -> Codes:
    """Return a public order of the slots."""
    return np.argsort(public_stream(_COINS, slots), kind="stable")


def checked_estimator(estimator: Any, budget_here: str) -> Any:
    """Return an estimator of tacit's that learns a target, or refuse."""
    kind = type(estimator)
    if not _is_own(kind) or not hasattr(estimator, "predict") or kind.__name__ == "InteractiveKernelPredictor":
        raise InvalidParameter(
            f"estimator must be a classifier or regression of tacit, got {kind.__name__}: what others do "
            "with records, this cannot promise. Rows that need an encoder come as Records(table, schema)."
        )
    if not (is_classifier(estimator) or is_regressor(estimator)):
        raise InvalidParameter(f"{type(estimator).__name__} learns no target, so that it has no score to compare.")
    if estimator.ledger is not None or estimator.random_state is not None:
        raise InvalidParameter(f"the ledger and the seed are {budget_here}'s: leave them out of the estimator.")
    return estimator


def _is_own(kind: type) -> bool:
    """Whether a class is an estimator of tacit's itself: what stands under its name there, and no subclass of it."""
    at_home = kind.__module__.startswith("tacit.") and kind.__module__ in sys.modules
    return at_home and issubclass(kind, Priced) and getattr(sys.modules[kind.__module__], kind.__name__, None) is kind
