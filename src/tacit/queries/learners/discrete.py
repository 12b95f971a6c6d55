"""What classifiers over features with finitely many values share: declarations, and records as codes."""

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import ArrayLike
from scipy.sparse import issparse
from sklearn.utils.validation import check_is_fitted

from tacit.data.columns import Column
from tacit.data.frames import read_columns
from tacit.data.records import Records
from tacit.data.schema import Schema
from tacit.errors import InvalidParameter
from tacit.estimators.tables import validated
from tacit.numerics.arrays import Codes
from tacit.queries.learners.domains import Encoded, Feature, Named, declared_features
from tacit.queries.learners.inquiry import Inquiry, Round
from tacit.queries.learners.learner import OracleClassifier, cleaned_as
from tacit.sums.query import Histogram, Query

Coded: TypeAlias = Sequence[Feature | Encoded]


class DiscreteClassifier(OracleClassifier):
    """Declared features, and records encoded by them before anything else sees them."""

    schema: Schema | None
    levels: int | Sequence[int] | None
    bounds: tuple[float, float] | Sequence[tuple[float, float]] | None
    bins: int

    @abstractmethod
    def _course(self, n: int, sizes: list[int], labels: tuple[Any, ...]) -> list[Round]:
        """Return the most that is asked of n records, round by round, about features with so many codes."""

    @abstractmethod
    def _ask(self, inquiry: Inquiry, columns: Coded) -> None:
        """Ask about `features_`, whose codes the columns give, and keep the model."""

    def _rows(self, X: Any, **checks: Any) -> Any:
        if not checks.get("reset", True) and (self.columns_ is not None or isinstance(X, Records)):
            return self._own_codes(X)
        if self.schema is None:
            found = validated(self, X, **checks)
            rows, *labels = found if "y" in checks else (found,)
            columns = list(rows.toarray().T if issparse(rows) else rows.T)
        else:
            self._declared(())
            columns = read_columns(X, wanted=self.schema.features, order=self.schema.inputs)
            labels = [checks["y"]] if "y" in checks else []
            if checks.get("reset", True):
                self.n_features_in_ = len(self.schema.inputs)
        features = self._declared(tuple(f"x{j}" for j in range(len(columns))))
        codes = np.column_stack([each.encode(column) for each, column in zip(features, columns, strict=True)])
        return (codes, *labels) if labels else codes

    def _own_codes(self, X: Any) -> Codes:
        """Return the codes of records, or of a table that has the columns which were asked about."""
        declared = self.columns_ if self.schema is None or self.columns_ is not None else self.schema.columns
        if declared is None:
            raise InvalidParameter("this model did not learn from Records: give it rows as it was fitted on.")
        blocks = cleaned_as({feature.name: declared[feature.name] for feature in self.features_}, X)
        return np.concatenate(
            [np.column_stack([each.place(block[each.name]) for each in self.features_]) for block in blocks]
        )

    def _codes(self, X: Any) -> Codes:
        """Return the codes of records to predict."""
        check_is_fitted(self)
        return np.asarray(self._rows(X, reset=False))

    def _rounds(self, n: int, names: tuple[str, ...], labels: tuple[Any, ...]) -> list[Round]:
        return self._course(n, [feature.size for feature in self._declared(names)], labels)

    def _study(self, inquiry: Inquiry, names: tuple[str, ...], *, encoded: bool) -> None:
        self.features_ = self._declared(self._own_names(names) if encoded else names)
        self._ask(inquiry, [Encoded(name) for name in names] if encoded else self.features_)

    def _probes(self, names: tuple[str, ...]) -> Sequence[Query]:
        return [Histogram(feature.code, tuple(range(feature.size))) for feature in self._declared(names)]  # type: ignore[arg-type]

    def _declared(self, names: tuple[str, ...]) -> tuple[Feature, ...]:
        known: Mapping[str, Column] = getattr(self, "columns_", None) or {}
        columns = known if names and all(name in known for name in names) else None
        features = declared_features(
            names, schema=self.schema, levels=self.levels, bounds=self.bounds, bins=self.bins, columns=columns
        )
        for feature in features if known else ():
            # The place of a level is its place in the records' own declaration.
            if isinstance(feature, Named) and known.get(feature.name) != feature.column:
                raise InvalidParameter(
                    f"the learner's schema declares column {feature.name!r} differently from the records, or the "
                    "records do not declare it. Leave the learner's schema out."
                )
        return features

    def _declared_classes(self) -> ArrayLike | None:
        known = self.schema.classes if self.classes is None and isinstance(self.schema, Schema) else ()
        return known or self.classes

    def _columns_of(self, names: tuple[str, ...]) -> tuple[str, ...]:
        return names if self.schema is None else self.schema.features

    def _own_names(self, names: tuple[str, ...]) -> tuple[str, ...]:
        """Return the names of columns in a data frame, if that is what X was."""
        return tuple(map(str, getattr(self, "feature_names_in_", names)))

    def _assumptions(self) -> tuple[str, ...]:
        return ("the declared features",)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.categorical = True
        return tags
