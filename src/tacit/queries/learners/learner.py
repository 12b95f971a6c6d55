"""What classifiers from statistical queries share: the course of `fit`, `learn` and `preview`."""

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator, ClassifierMixin

from tacit.accounting.ledger import Ledger
from tacit.checks import whole_number
from tacit.data.columns import Column
from tacit.data.frames import read_columns
from tacit.data.labels import checked_classes
from tacit.data.levels import Levelled
from tacit.data.records import Records
from tacit.data.sources.table import Block
from tacit.errors import InvalidParameter
from tacit.estimators.classes import known_classes
from tacit.estimators.encoded import refuse_targets
from tacit.estimators.fitted import fitted_together
from tacit.estimators.parameters import needed_budget
from tacit.queries.learners.inquiry import Inquiry, Round, planned
from tacit.queries.oracle.oracle import StatisticalOracle
from tacit.queries.oracle.plan import Plan, checked_noise_rate
from tacit.sums.engines.engine import Engine
from tacit.sums.engines.matrix import engine_of_arrays
from tacit.sums.engines.opening import engine_for
from tacit.sums.query import Histogram, Query, RowSums


class OracleClassifier(ClassifierMixin, BaseEstimator, ABC):  # type: ignore[misc]
    """The common course of `fit` and `learn`; what is asked, and what is made of it, each learner says."""

    epsilon: float | None
    delta: float
    confidence: float
    noise_rate: float
    classes: ArrayLike | None
    ledger: Ledger | None
    random_state: object

    most_classes: float = np.inf

    @abstractmethod
    def _rows(self, X: Any, **checks: Any) -> Any:
        """Return X (and y, if it is among the checks) as the matrix to ask about."""

    @abstractmethod
    def _rounds(self, n: int, names: tuple[str, ...], labels: tuple[Any, ...]) -> list[Round]:
        """Return the most that is asked of n records, round by round, by public facts alone."""

    @abstractmethod
    def _study(self, inquiry: Inquiry, names: tuple[str, ...], *, encoded: bool) -> None:
        """Ask about the named columns and keep the model; `encoded` says that `_rows` made them."""

    columns_: Mapping[str, Column] | None
    """How the records that were asked declare their columns; None for arrays."""

    def fit(self, X: Any, y: Any = None) -> Self:
        """Learn from `Records`, or from arrays or a data frame in memory, charging the ledger once."""
        if isinstance(X, Records):
            refuse_targets(y)
            return fitted_together(self, lambda fresh: fresh._fit_records(X))
        return fitted_together(self, lambda fresh: fresh._fit_arrays(X, y, self._declared_classes(), self.ledger))

    def _fit_arrays(self, X: Any, y: Any, declared: ArrayLike | None, payer: Ledger | None) -> None:
        """Learn from rows in memory."""
        budget = needed_budget(self.epsilon, self.delta)
        rows, labels = self._rows(X, y=y)
        classes, indices, assumed = known_classes(declared, labels, self.most_classes)
        self._check_rate(len(classes))
        engine = engine_of_arrays(rows, indices, labels=(0, 1))
        inquiry = Inquiry.of_records(
            engine,
            budget,
            ledger=payer,
            random_state=self.random_state,
            labels=tuple(range(len(classes))),
            **self._manner(),
        )
        self.classes_, self.columns_ = classes, None
        self._learned(inquiry, engine.names[:-1], assumed, encoded=True)

    def _fit_records(self, records: Records) -> None:
        """Learn from records, column by column, wherever they are."""
        budget = needed_budget(self.epsilon, self.delta)
        engine = engine_for(records)
        if engine.label is None or not isinstance(engine.columns[engine.label], Levelled):
            raise InvalidParameter(
                "a classifier needs a target with declared levels (Category, Ordinal or Flag), got "
                f"{'none' if engine.label is None else repr(engine.label)}."
            )
        labels = self._labels(engine)
        inquiry = Inquiry.of_records(
            engine,
            budget,
            ledger=records.account(self.ledger),
            random_state=self.random_state,
            labels=labels,
            **self._manner(),
        )
        self._from_columns(inquiry, engine, labels, None)

    def learn(self, oracle: StatisticalOracle | Engine, features: Sequence[str] | None = None) -> Self:
        """Learn from an oracle over any table, whose ledger pays; `features` are all columns but the label.

        `classes` must be declared if they are not the oracle's two labels.
        """
        return fitted_together(self, lambda fresh: fresh._learn(oracle, features))

    def _learn(self, oracle: StatisticalOracle | Engine, features: Sequence[str] | None) -> None:
        budget = needed_budget(self.epsilon, self.delta)
        labels = self._labels(oracle)
        inquiry = Inquiry.of_oracle(
            oracle, budget, ledger=self.ledger, random_state=self.random_state, labels=labels, **self._manner()
        )
        engine = oracle.engine if isinstance(oracle, StatisticalOracle) else oracle
        self._from_columns(inquiry, engine, labels, features)

    def _from_columns(
        self, inquiry: Inquiry, engine: Engine, labels: tuple[Any, ...], features: Sequence[str] | None
    ) -> None:
        others = tuple(name for name in inquiry.columns if name != inquiry.label)
        names = self._columns_of(others) if features is None else tuple(features)
        self.classes_, self.columns_ = np.array(labels), engine.columns
        self.n_features_in_ = len(names)
        self.feature_names_in_ = np.array(names, dtype=object)
        self._learned(inquiry, names, f"{len(labels)} declared classes", encoded=False)

    def preview(self, n: int, features: int | Sequence[str] | None = None) -> tuple[Plan, ...]:
        """Return what `fit` on n records will ask at most, round by round: how many numbers, how good, at what cost.

        `features` is how many there are, or their names; it may be left out where a schema says it. Without declared
        classes two are assumed. No record is touched and nothing is charged.
        """
        n = whole_number("n", n)
        names = tuple(f"x{j}" for j in range(features)) if isinstance(features, int) else tuple(features or ())
        budget = needed_budget(self.epsilon, self.delta)
        declared = self._declared_classes()
        classes = 2 if declared is None else len(np.unique(np.asarray(declared)))
        self._check_rate(classes)
        return planned(self._rounds(n, names, tuple(range(classes))), n, budget, self.confidence, self.noise_rate)

    def _learned(self, inquiry: Inquiry, names: tuple[str, ...], assumed: str, *, encoded: bool) -> None:
        rounds = self._rounds(inquiry.n, names, inquiry.labels)
        inquiry.check([] if encoded else [_label_query(inquiry), *self._probes(names)])
        inquiry.run(rounds, lambda: self._study(inquiry, names, encoded=encoded))
        rate = (f"labels are wrong at rate {self.noise_rate:g}",) if self.noise_rate else ()
        self.release_ = inquiry.learned(assumed, *rate, *self._assumptions())
        self.plans_ = self.release_.plans

    def _labels(self, oracle: Any) -> tuple[Any, ...]:
        """Return the classes as they stand in an oracle's column of labels."""
        engine = oracle.engine if isinstance(oracle, StatisticalOracle) else oracle
        if not isinstance(engine, Engine):
            raise InvalidParameter(f"wanted a StatisticalOracle, got {type(oracle).__name__}.")
        own, declared = engine.labels, self._declared_classes()
        column = None if engine.label is None else engine.columns[engine.label]
        known = column.classes if isinstance(column, Levelled) else own
        if isinstance(column, Levelled) and self.most_classes > 2:
            # Sorted, as scikit-learn has classes; a rule for one of two classes stands for the one declared second.
            known = tuple(sorted(known))
        listed = known if declared is None else checked_classes(declared)
        labels = tuple(each.item() if isinstance(each, np.generic) else each for each in listed)
        self._check_rate(len(labels))
        if not 2 <= len(labels) <= self.most_classes:
            most = "two classes" if self.most_classes == 2 else "at least two classes"
            raise InvalidParameter(f"{type(self).__name__} learns {most}, got {len(labels)}.")
        if self.noise_rate > 0 and set(labels) != set(own):
            raise InvalidParameter("noise_rate exchanges the oracle's two labels: they must be the classes.")
        return labels

    def _declared_classes(self) -> ArrayLike | None:
        """Return the classes that were declared, here or elsewhere."""
        return self.classes

    def _columns_of(self, names: tuple[str, ...]) -> tuple[str, ...]:
        """Return which of an oracle's columns to ask about if none are named."""
        return names

    def _probes(self, names: tuple[str, ...]) -> Sequence[Query]:
        """Return queries that can be asked if all queries can."""
        return [RowSums(names)]

    def _assumptions(self) -> tuple[str, ...]:
        """Say what else is assumed public."""
        return ()

    def _manner(self) -> dict[str, Any]:
        return {"name": type(self).__name__, "confidence": self.confidence, "noise_rate": self.noise_rate}

    def _check_rate(self, classes: int) -> None:
        if checked_noise_rate(self.noise_rate) > 0 and classes != 2:
            raise InvalidParameter(f"a noise_rate is for two classes that are confused, got {classes} classes.")

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.classifier_tags.multi_class = self.most_classes > 2
        return tags


def cleaned_as(columns: Mapping[str, Column], X: Any) -> Iterator[Block]:
    """Yield the cells of some columns, of records or of a table, cleaned as those that a model learned from."""
    names = tuple(columns)
    if not isinstance(X, Records):
        cells = read_columns(X, wanted=names, order=names)
        yield {name: columns[name].clean(column)[0] for name, column in zip(names, cells, strict=True)}
        return
    for name, column in columns.items():
        if X.schema.columns.get(name) != column:
            raise InvalidParameter(
                f"these records declare column {name!r} differently from those that the model learned from, or not at "
                "all. Open them with the same schema."
            )
    yield from X.blocks(names)


def _label_query(inquiry: Inquiry) -> Query:
    label = inquiry.label
    return Histogram(lambda table: table[label], inquiry.labels)
