"""What classifiers over features with finitely many values share: declarations, records as codes, and their counts.

Classes are counted by feature, one histogram each. The histograms of all features count the same records, so they must
add up to the same classes; making them do so takes noise away and costs nothing.
"""

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import KW_ONLY, dataclass
from itertools import product
from typing import Any, final

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import issparse
from sklearn.utils.validation import check_is_fitted

from tacit.data.columns import Column
from tacit.data.frames import clean_columns
from tacit.data.levels import Levelled
from tacit.data.records import Records
from tacit.data.schema import Schema
from tacit.errors import InvalidParameter
from tacit.estimators.classes import Declared
from tacit.estimators.exact_scores import warn_if_judged
from tacit.estimators.tables import validated
from tacit.numerics.arrays import Codes, Floats
from tacit.queries.learners.domains import CodeColumn, Feature, Named, declared_features
from tacit.queries.learners.learner import Labels, SQClassifier, cleaned_as
from tacit.queries.oracle.session import Reply
from tacit.sums.language import expression
from tacit.sums.query import Function, Histogram

CodeColumns = Sequence[Feature | CodeColumn]


@dataclass(eq=False, repr=False)
class DiscreteClassifier(SQClassifier):
    """Declared features, `features_`, and records encoded by them before anything else sees them."""

    _: KW_ONLY
    schema: Schema | None = None
    levels: int | Sequence[int] | None = None
    bounds: tuple[float, float] | Sequence[tuple[float, float]] | None = None
    bins: int = 8
    confidence: float = 0.95

    def predict(self, X: Any) -> NDArray[Any]:
        """Return the likeliest class of every record."""
        best = self.predict_proba(X).argmax(axis=1)
        return np.asarray(self.classes_[best])

    @abstractmethod
    def predict_proba(self, X: Any) -> Floats:
        """Return the probability of every class for every record."""

    def _rows(self, X: Any, y: Any) -> tuple[Codes, Any]:
        if self.schema is None:
            rows, y = validated(self, X, y=y)
            names = getattr(self, "feature_names_in_", [f"x{j}" for j in range(rows.shape[1])])
            self._columns(tuple(map(str, names)))
            return self._encoded(rows), y
        self._columns(())
        self.n_features_in_ = len(self.schema.inputs)
        return self._encoded(X), y

    def _row_columns(self, names: tuple[str, ...]) -> CodeColumns:
        return [CodeColumn(name, feature.size) for name, feature in zip(names, self.features_, strict=True)]

    def _encoded(self, X: Any) -> Codes:
        """Return the codes of a matrix, or of a table that the learner's own schema declares."""
        if self.schema is None:
            columns = X.toarray().T if issparse(X) else X.T
            return np.column_stack([each.encode(column) for each, column in zip(self.features_, columns, strict=True)])
        declared = {name: self.schema.columns[name] for name in self.schema.features}
        cleaned = clean_columns(X, declared, self.schema.inputs, self.schema.form)
        return np.column_stack([each.place(cleaned[each.name]) for each in self.features_])

    def _codes(self, X: Any) -> Codes:
        """Return the codes of records to predict; a table needs the columns that were asked about, by their names."""
        check_is_fitted(self)
        warn_if_judged(self)
        known: Mapping[str, Column] | None = getattr(self, "columns_", None)
        if known is None and not isinstance(X, Records):
            return self._encoded(validated(self, X, reset=False) if self.schema is None else X)
        declared = known if self.schema is None or known is not None else self.schema.columns
        if declared is None:
            raise InvalidParameter("this model did not learn from Records: give it rows as it was fitted on.")
        blocks = cleaned_as({feature.name: declared[feature.name] for feature in self.features_}, X)
        return np.concatenate(
            [np.column_stack([each.place(block[each.name]) for each in self.features_]) for block in blocks]
        )

    def _columns(self, names: tuple[str, ...]) -> tuple[Feature, ...]:
        known: Mapping[str, Column] = getattr(self, "columns_", None) or {}
        columns = known if names and all(name in known for name in names) else None
        self.features_ = declared_features(
            names, schema=self.schema, levels=self.levels, bounds=self.bounds, bins=self.bins, columns=columns
        )
        for feature in self.features_ if known else ():
            # The place of a level is its place in the records' own declaration.
            if isinstance(feature, Named) and known.get(feature.name) != feature.column:
                raise InvalidParameter(
                    f"the learner's schema declares column {feature.name!r} differently from the records, or the "
                    "records do not declare it. Leave the learner's schema out."
                )
        return self.features_

    def _declared_classes(self) -> Declared | None:
        column = self.schema.target_column if self.classes is None and isinstance(self.schema, Schema) else None
        return column if isinstance(column, Levelled) else self.classes

    def _named(self, names: tuple[str, ...]) -> tuple[str, ...]:
        return names if self.schema is None else self.schema.features

    def _assumptions(self) -> tuple[str, ...]:
        return ("the declared features",)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.categorical = True
        return tags


@final
@dataclass(frozen=True)
class Groups:
    """Disjoint groups of records, numbered from 0 by an expression; a record with another number is in none."""

    number: Function
    count: int


def everyone(count: int = 1) -> Groups:
    """Return groups of which all records are in the first."""
    return Groups(lambda _: expression.constant(0), count)


@final
@dataclass(frozen=True)
class ClassCounts:
    """Shares of the records: `totals` by group and class, `tables` for each feature by group, code and class."""

    totals: Floats
    tables: tuple[Floats, ...]
    deviation: float

    @classmethod
    def of(cls, reply: Reply, columns: CodeColumns, groups: int) -> "ClassCounts":
        """Make the answers of `count_classes` consistent.

        A feature's codes add up to a class with noise of a variance proportional to their number, so totals are the
        mean over features, weighted by its inverse; what a feature lacks is spread over its codes.
        """
        sizes = [column.size for column in columns]
        tables = [np.reshape(value, (groups, size, -1)) for value, size in zip(reply.values, sizes, strict=True)]
        weights = 1.0 / np.array(sizes, dtype=np.float64)
        sums = np.array([table.sum(axis=1) for table in tables])
        totals = np.tensordot(weights / weights.sum(), sums, axes=1)
        corrected = tuple(
            table + ((totals - own) / size)[:, None, :] for table, own, size in zip(tables, sums, sizes, strict=True)
        )
        return cls(totals, corrected, reply.deviation)


def count_classes(columns: CodeColumns, labels: Labels, groups: Groups) -> list[Histogram]:
    """Ask for every class at every code of every feature, within each of the groups."""
    return [_histogram(groups, labels, (column.code, range(column.size))) for column in columns]


def count_groups(labels: Labels, groups: Groups) -> list[Histogram]:
    """Ask for every class within each of the groups."""
    return [_histogram(groups, labels)]


def _histogram(groups: Groups, labels: Labels, *counted: tuple[Function, Sequence[Any]]) -> Histogram:
    label = (lambda table: table[labels.column], labels.values)
    columns, values = zip((groups.number, range(groups.count)), *counted, label, strict=True)
    return Histogram(lambda table: [column(table) for column in columns], tuple(product(*values)))


def settled(counts: Floats, before: float) -> Floats:
    """Return the classes' shares in every group: none negative, and leaning to those of all groups by `before`."""
    together = np.maximum(counts.sum(axis=0), 0.0) + before
    positive = np.maximum(counts, 0.0) + before * together / together.sum()
    return np.asarray(positive / positive.sum(axis=1, keepdims=True))
