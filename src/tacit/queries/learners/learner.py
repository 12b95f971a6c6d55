"""What learners from statistical queries share: the course of `fit`, `learn` and `preview`.

A fit finds whom to ask about which columns, opens a `Session` for the rounds that the learner wants, and lets it ask.
"""

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from copy import copy
from dataclasses import KW_ONLY, dataclass
from typing import Any, ClassVar, Self, final

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator

from tacit.budget import Budget
from tacit.checks import whole_number
from tacit.data.columns import Column
from tacit.data.frames import clean_columns
from tacit.data.levels import Levelled, needed_positive
from tacit.data.persons import OwnedRows
from tacit.data.records import Records, payer
from tacit.data.store.store import Block
from tacit.errors import InvalidParameter
from tacit.estimators.classes import Declared, known_classes, ordered_classes
from tacit.estimators.encoded import encoded, refuse_targets, target_of
from tacit.estimators.exact_scores import ExactAccuracy
from tacit.estimators.fitted import fitted_together
from tacit.estimators.learned_from import LearnedFrom, remember
from tacit.estimators.odd_terms import warn_of_noise, warn_of_terms
from tacit.estimators.parameters import needed_budget, refuse_ledger
from tacit.estimators.price import Priced
from tacit.estimators.tables import validated
from tacit.queries.oracle.oracle import StatisticalOracle
from tacit.queries.oracle.plan import Demand, Plan, Target, checked_noise_rate
from tacit.queries.oracle.rounds import Rounds
from tacit.queries.oracle.session import Session, planned
from tacit.secret import open_secret
from tacit.sums.array_evaluator import evaluator_of_arrays
from tacit.sums.evaluator import Evaluator
from tacit.sums.query import Query
from tacit.sums.record_evaluator import evaluator_for


@final
@dataclass(frozen=True)
class Labels:
    """The column that labels are in, and the values of the classes there; both are empty if there are none."""

    column: str = ""
    values: tuple[Any, ...] = ()


class SQLearner(Priced, BaseEstimator, ABC):  # type: ignore[misc]
    """The common course; what is asked, and what is made of the answers, each learner says."""

    confidence: float = 0.95
    noise_rate: float = 0.0

    of: Target = "sample"
    """What the tolerances in `plans_` are about."""

    @abstractmethod
    def _rounds(self, n: int, columns: Sequence[Any], labels: Labels) -> Sequence[Sequence[Query]]:
        """Return the most that is asked of n records, round by round, by public facts alone."""

    @abstractmethod
    def _study(self, session: Session, columns: Sequence[Any], labels: Labels) -> None:
        """Ask about the columns and keep the model."""

    def _declare(self, X: object) -> None:
        """Look at what was declared about rows, here or by the rows themselves (None if there are none)."""

    def _assumptions(self) -> tuple[str, ...]:
        """Say what else is assumed public."""
        return ()

    def fit(self, X: Any, y: Any = None) -> Self:
        """Learn from `Records`, or from arrays or a data frame in memory, charging the ledger once.

        Without a target to learn y is ignored.
        """
        warn_of_terms(self, X)
        if isinstance(X, Records):
            _refuse_weights(X)
        return fitted_together(self, lambda fresh: fresh._fit(X, y))

    def learn(self, oracle: StatisticalOracle | Evaluator, features: Sequence[str] | None = None) -> Self:
        """Learn from an oracle over any table, whose ledger pays; `features` are all columns but the label.

        `classes` must be declared if they are not the oracle's two labels.
        """
        if isinstance(oracle, StatisticalOracle):
            if self._budget() is None:
                raise InvalidParameter("an oracle answers privately: give a finite epsilon, or fit records themselves.")
            if self.random_state is not None or self.ledger not in (None, oracle.ledger):
                raise InvalidParameter("the oracle's own ledger and coins are used: set ledger and random_state there.")
        elif not isinstance(oracle, Evaluator) or self._budget() is not None:
            raise InvalidParameter(f"wanted a StatisticalOracle, got {type(oracle).__name__}.")
        return fitted_together(self, lambda fresh: fresh._from_oracle(oracle, features))

    def preview(self, n: int, features: int | Sequence[str] | None = None) -> tuple[Plan, ...]:
        """Return what `fit` on n records will ask at most, round by round: how many numbers, how good, at what cost.

        `features` is how many there are, or their names; it may be left out where a schema says it. Without declared
        classes two are assumed. No record is touched and nothing is charged.
        """
        count, fresh = whole_number("n", n), copy(self)
        fresh._declare(None)
        names = tuple(f"x{j}" for j in range(features)) if isinstance(features, int) else tuple(features or ())
        rounds = fresh._rounds(count, fresh._columns(names), self._likely_labels())
        return planned(rounds, count, self._budget(), payer=self.ledger, **self._manner())

    def _budget(self) -> Budget | None:
        return needed_budget(self.epsilon, self.delta)

    def _affordable(
        self, queries: Sequence[Query], n: int, small: Callable[[int], float], fewest: int, most: int, besides: int = 0
    ) -> int:
        """Return the largest number of rounds of such queries at which the noise is small, by public facts alone.

        More rounds learn more, each from a noisier answer. `small` says how large the standard deviation of the noise
        in one share of an answer may be if there are so many rounds and some `besides`. Without a budget there is no
        noise, and `most` rounds are right.
        """
        budget = self._budget()
        if budget is None:
            return most
        demand = Demand.of_queries(queries, n, noise_rate=self.noise_rate, of="sample")

        def deviation(count: int) -> float:
            try:
                return demand.factor * Rounds.for_demands(budget, [demand], count).deviation(demand) / n
            except InvalidParameter:
                return math.inf

        return next((count for count in range(most, fewest, -1) if deviation(count + besides) <= small(count)), fewest)

    def _manner(self) -> dict[str, Any]:
        return {"confidence": self.confidence, "noise_rate": self.noise_rate, "of": self.of}

    def _fit(self, X: Any, y: Any) -> None:
        """Learn from rows in memory, or from records that are encoded as such."""
        rows, persons = X, None
        if isinstance(X, Records):
            found = encoded(X, "none")
            rows, self.encoder_, persons = found.rows, found.encoder, found.persons
        self._declare(rows)
        evaluator = evaluator_of_arrays(validated(self, rows), persons=persons)
        self._ask(self._source(evaluator, X), evaluator.names, Labels())

    def _source(self, evaluator: Evaluator, owned: Any) -> StatisticalOracle | Evaluator:
        """Return whom to ask about records of one's own: for an infinite epsilon the evaluator itself."""
        if isinstance(owned, Records):
            remember(self, LearnedFrom.of(owned, evaluator.n))
        ledger, coins = payer(owned, self.ledger, self.random_state)
        if self._budget() is not None:
            return StatisticalOracle(evaluator, ledger=ledger, random_state=coins)
        refuse_ledger(ledger)
        return evaluator

    def _from_oracle(self, oracle: StatisticalOracle | Evaluator, features: Sequence[str] | None) -> None:
        remember(self, oracle.origin if isinstance(oracle, StatisticalOracle) else None)
        self._from_columns(oracle, features)

    def _from_columns(self, source: StatisticalOracle | Evaluator, features: Sequence[str] | None = None) -> None:
        """Learn from a table column by column, wherever it is."""
        evaluator = source.evaluator if isinstance(source, StatisticalOracle) else source
        self._declare(None)
        labels = self._labels(evaluator)
        others = tuple(name for name in evaluator.names if name != evaluator.label)
        names = self._named(others) if features is None else tuple(features)
        self.n_features_in_ = len(names)
        self.feature_names_in_ = np.array(names, dtype=object)
        assumed = [f"{len(labels.values)} declared classes"] if labels.values else []
        self._ask(source, self._columns(names), labels, *assumed)

    def _ask(
        self, source: StatisticalOracle | Evaluator, columns: Sequence[Any], labels: Labels, *assumed: str
    ) -> None:
        """Open a session for all rounds, learn in it, and keep what is promised."""
        rounds = self._rounds(source.n, columns, labels)
        if isinstance(source, StatisticalOracle) and not source.rehearses:
            self._warn_of_noise(rounds, source.n, len(columns))
        wrong = checked_noise_rate(self.noise_rate)
        rate = [f"labels are wrong at rate {wrong:g}"] if wrong else []
        # Said before anything is paid for: what cannot be said costs nothing.
        facts = (*assumed, *rate, *self._assumptions())
        with Session(source, self._budget(), rounds, label=type(self).__name__, **self._manner()) as session:
            self._study(session, columns, labels)
        self.release_ = session.release(*facts)
        self.plans_ = self.release_.value

    def _warn_of_noise(self, rounds: Sequence[Sequence[Query]], n: int, columns: int) -> None:
        """Warn if in every round the noise in a share of the records is above all of them."""
        budget = self._budget()
        demands = [Demand.of_queries(queries, n, noise_rate=self.noise_rate, of="sample") for queries in rounds]
        if budget is not None and demands:
            noise = Rounds.for_demands(budget, demands, len(demands))
            least = min(demand.factor * noise.deviation(demand) / n for demand in demands)
            warn_of_noise(least, 1.0, budget, n, columns, "a share of the records")

    def _labels(self, evaluator: Evaluator) -> Labels:
        """Return the classes as they stand in the evaluator's column of labels, and keep them."""
        return Labels()

    def _likely_labels(self) -> Labels:
        """Return as many classes as there will be, as far as that is known."""
        return Labels()

    def _named(self, names: tuple[str, ...]) -> tuple[str, ...]:
        """Return which of a table's columns to ask about if none are named."""
        return names

    def _columns(self, names: tuple[str, ...]) -> Sequence[Any]:
        """Return the columns of a table as this learner asks about them."""
        return names


@dataclass(eq=False, repr=False)
class SQClassifier(ExactAccuracy, SQLearner):
    """The common course of classifiers, whose parameters these are."""

    epsilon: float | None = None
    delta: float = 0.0
    _: KW_ONLY
    noise_rate: float = 0.0
    classes: ArrayLike | None = None

    most_classes: ClassVar[float] = np.inf
    needs_positive: ClassVar[bool] = False

    def _fit(self, X: Any, y: Any) -> None:
        if not isinstance(X, Records):
            self._fit_rows(X, y, self._declared_classes(), X)
            return
        refuse_targets(y)
        self._fit_records(X)

    def _fit_rows(
        self, X: Any, y: Any, declared: Declared | None, owned: Any, persons: OwnedRows | None = None
    ) -> None:
        """Learn from rows in memory, which `owned` pays for: they themselves, or the records that became them."""
        self._declare(X)
        rows, cells = self._rows(X, y)
        self.classes_, indices, assumed = known_classes(declared, cells, self.most_classes)
        self._check_rate(len(self.classes_))
        evaluator = evaluator_of_arrays(rows, indices, labels=(0, 1), persons=persons)
        labels = Labels("y", tuple(range(len(self.classes_))))
        self._ask(self._source(evaluator, owned), self._row_columns(evaluator.names[:-1]), labels, assumed)

    def _fit_records(self, records: Records) -> None:
        """Learn from records column by column; `columns_` keeps how they declare these."""
        target_of(records.schema, "classification")
        self._from_columns(self._source(evaluator_for(records), records))

    def _rows(self, X: Any, y: Any) -> tuple[Any, Any]:
        """Return X as the matrix to ask about, and the cells of y."""
        rows, cells = validated(self, X, y=y)
        return rows, cells

    def _row_columns(self, names: tuple[str, ...]) -> Sequence[Any]:
        """Return the columns of that matrix as this learner asks about them."""
        return names

    def _labels(self, evaluator: Evaluator) -> Labels:
        if evaluator.label is None:
            raise InvalidParameter("say which column labels are in: StatisticalOracle(..., label='y').")
        own, declared, column = evaluator.labels, self._declared_classes(), evaluator.columns[evaluator.label]
        if self.needs_positive and isinstance(column, Levelled):
            needed_positive(column, evaluator.label)
        known, positive = (column.classes, column.positive) if isinstance(column, Levelled) else (None, None)
        names = declared.classes if isinstance(declared, Levelled) else known if declared is None else declared
        listed = own if names is None else ordered_classes(names, positive)
        values = tuple(each.item() if isinstance(each, np.generic) else each for each in listed)
        self._check_rate(len(values))
        if not 2 <= len(values) <= self.most_classes:
            most = "two classes" if self.most_classes == 2 else "at least two classes"
            raise InvalidParameter(f"{type(self).__name__} learns {most}, got {len(values)}.")
        if self.noise_rate > 0 and set(values) != set(own):
            raise InvalidParameter("noise_rate exchanges the oracle's two labels: they must be the classes.")
        self.classes_ = np.array(values)
        self.columns_: Mapping[str, Column] = evaluator.columns
        return Labels(evaluator.label, values)

    def _likely_labels(self) -> Labels:
        declared = self._declared_classes()
        names = declared.classes if isinstance(declared, Levelled) else declared
        count = 2 if names is None else len(np.unique(np.asarray(names)))
        self._check_rate(count)
        return Labels("y", tuple(range(count)))

    def _declared_classes(self) -> Declared | None:
        """Return the classes that were declared, here or elsewhere."""
        return self.classes

    def _check_rate(self, classes: int) -> None:
        if checked_noise_rate(self.noise_rate) > 0 and classes != 2:
            raise InvalidParameter(f"a noise_rate is for two classes that are confused, got {classes} classes.")

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_class = self.most_classes > 2
        return tags


def _refuse_weights(records: Records) -> None:
    """Refuse records that weigh differently: a learner counts each of them once."""
    if records.schema.weight is not None:
        raise InvalidParameter(
            f"learners count all records alike, and the schema weighs them by {records.schema.weight!r}. Declare a "
            "schema without a weight, or use a linear model."
        )


def cleaned_as(columns: Mapping[str, Column], X: Any) -> Iterator[Block]:
    """Yield the cells of some columns, of records or of a table, cleaned as those that a model learned from."""
    names = tuple(columns)
    if not isinstance(X, Records):
        yield clean_columns(X, columns, order=names)
        return
    for name, column in columns.items():
        if X.schema.columns.get(name) != column:
            raise InvalidParameter(
                f"these records declare column {name!r} differently from those that the model learned from, or not at "
                "all. Open them with the same schema."
            )
    yield from open_secret(X.secret).blocks(names)
