"""Principal components, from the mean and the second moments, asked at once."""

from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass
from typing import Any, ClassVar, final

import numpy as np
from scipy.sparse import issparse
from sklearn.base import ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from tacit.checks import whole_number
from tacit.errors import InvalidParameter
from tacit.estimators.encoded import rows_of
from tacit.estimators.parameters import known_norm
from tacit.estimators.saving.fields import Numbers, Saved, whole
from tacit.estimators.tables import validated
from tacit.numerics.arrays import Floats
from tacit.queries.learners.learner import Labels, SQLearner
from tacit.queries.learners.saved import LEARNER
from tacit.queries.oracle.session import Session
from tacit.sums.query import Query, RowSums, SecondMoments


@final
@dataclass(eq=False, repr=False)
class SQPCA(ClassNamePrefixFeaturesOutMixin, TransformerMixin, SQLearner):  # type: ignore[misc]
    """The directions in which records vary most, from a noisy matrix of second moments.

    Guarantee: all fitted attributes are (epsilon, delta)-private for replace-one neighbours, pure when delta is 0.
    Assumes: public are n, the features' names and `data_norm` (rows count clipped to it).
    Reference: oracle.md; Blum, Dwork, McSherry and Nissim 2005 for principal components from noisy moments.

    Parameters
    ----------
    n_components : how many directions to keep; None keeps all.
    epsilon, delta : the budget of one fit; an infinite epsilon gives the ordinary components, without privacy.
    data_norm : the L2 norm that rows are clipped to; may be left out behind a `PublicEncoder`.
    center : whether variation is about the mean, which is then asked for as well, or about the origin.
    ledger : the account to charge, before anything is released.
    random_state : a seed makes a rehearsal: repeatable, not private, never charged.
    """

    n_components: int | None = None
    epsilon: float | None = None
    delta: float = 0.0
    _: KW_ONLY
    data_norm: float | None = None
    center: bool = True

    saved: ClassVar[Saved] = Saved(
        {
            **LEARNER,
            "mean_": Numbers("features"),
            "components_": Numbers("components", "features"),
            "explained_variance_": Numbers("components"),
            "explained_variance_ratio_": Numbers("components"),
            "n_components_": whole(1, axis="components"),
        }
    )

    @np.errstate(all="ignore")
    def transform(self, X: Any) -> Floats:
        """Return the coordinates of rows along the components."""
        check_is_fitted(self)
        rows = validated(self, rows_of(self, X), reset=False)
        return np.asarray(rows @ self.components_.T - self.mean_ @ self.components_.T)

    def inverse_transform(self, X: Any) -> Floats:
        """Return the rows that have these coordinates, and nothing besides."""
        check_is_fitted(self)
        coordinates = X.toarray() if issparse(X) else np.asarray(X, dtype=np.float64)
        if coordinates.ndim != 2 or coordinates.shape[1] != len(self.components_):
            raise InvalidParameter(
                f"wanted rows of {len(self.components_)} coordinates, got the shape {coordinates.shape}."
            )
        return np.asarray(coordinates @ self.components_ + self.mean_)

    def _declare(self, X: object) -> None:
        self._norm = known_norm(self.data_norm, X)

    def _rounds(self, n: int, columns: Sequence[str], labels: Labels) -> list[list[Query]]:
        self._count(len(columns))
        moments = SecondMoments(tuple(columns), self._norm)
        return [[moments, RowSums(tuple(columns), norm=self._norm)] if self.center else [moments]]

    def _study(self, session: Session, columns: Sequence[str], labels: Labels) -> None:
        moments, *mean = session.ask(0).values
        n, count = session.evaluator.n, self._count(len(columns))
        self.mean_ = np.asarray(mean[0][0]) if mean else np.zeros(len(columns))
        # As the ordinary estimate of a variance has it, if the mean was estimated as well.
        factor = n / max(1, n - 1) if mean else 1.0
        values, vectors = np.linalg.eigh(factor * (moments - np.outer(self.mean_, self.mean_)))
        variances = np.maximum(values[::-1], 0.0)
        self.components_ = _signed(vectors.T[::-1][:count])
        self.explained_variance_ = variances[:count]
        self.explained_variance_ratio_ = variances[:count] / (variances.sum() or 1.0)
        self.n_components_ = count

    def _count(self, width: int) -> int:
        count = width if self.n_components is None else whole_number("n_components", self.n_components)
        if count > width:
            raise InvalidParameter(f"n_components={count} is more than the {width} features there are.")
        return count

    def _assumptions(self) -> tuple[str, ...]:
        return (f"row norm {self._norm:g}",)

    @property
    def _n_features_out(self) -> int:
        return len(self.components_)


def _signed(components: Floats) -> Floats:
    """Turn each direction so that its largest entry is positive: otherwise its sign would mean nothing."""
    largest = np.argmax(np.abs(components), axis=1)
    turned = components * np.where(components[np.arange(len(components)), largest] < 0, -1.0, 1.0)[:, None]
    # Row by row, as a model file has them: products of another layout may end in another bit.
    return np.ascontiguousarray(turned)
