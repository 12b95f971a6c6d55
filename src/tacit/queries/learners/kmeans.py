"""k-means, from statistical queries: how many records are nearest to each centre, and what is their mean?"""

import math
from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass
from typing import Any, ClassVar, Literal, final

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import issparse
from sklearn.base import ClassNamePrefixFeaturesOutMixin, ClusterMixin, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from tacit.checks import whole_number
from tacit.errors import InvalidParameter
from tacit.estimators.encoded import rows_of
from tacit.estimators.saving.fields import Numbers, Optional, Saved, whole
from tacit.estimators.tables import validated
from tacit.numerics.arrays import Floats
from tacit.queries.learners.geometry import Region, features_of, nearest, region_for
from tacit.queries.learners.learner import Labels, SQLearner
from tacit.queries.learners.saved import LEARNER
from tacit.queries.learners.units import in_units
from tacit.queries.oracle.session import Reply, Session
from tacit.sums.query import Histogram, Query

_NOISE = 0.2
"""How far noise may move the centre of an average cluster, as a part of the region, to spend on one more round."""
_FEWEST_ROUNDS, _MOST_ROUNDS = 2, 10
_CERTAIN = 3.0
"""How many standard deviations of noise a cluster must have to count; as many records stay at the old centre."""


@final
@dataclass(eq=False, repr=False)
class SQKMeans(ClassNamePrefixFeaturesOutMixin, ClusterMixin, TransformerMixin, SQLearner):  # type: ignore[misc]
    """Lloyd's k-means over a declared region, for a fixed number of rounds.

    Each round asks how many records are nearest to each centre, and for the mean of these. Centres start spread over
    the region, by no record. A centre that no records are near, as far as the noise lets see, is put beside that of the
    largest cluster, which it then shares.

    Guarantee: the centres are (epsilon, delta)-private for replace-one neighbours, pure when delta is 0.
    Assumes: public are n, the features' names, the region and the first centres. What `predict` says of a record is
    a function of the centres and that record: labels of the training records are not private, and are not kept.
    Reference: oracle.md for each round; Blum, Dwork, McSherry and Nissim 2005 for k-means from noisy sums.

    Parameters
    ----------
    n_clusters : how many centres.
    epsilon, delta : the budget of one fit; an infinite epsilon gives Lloyd's algorithm, without privacy.
    bounds : features count clamped to these, a pair (low, high) for all, or one for each feature; or
    data_norm : rows count clipped to this L2 norm; may be left out behind a `PublicEncoder`.
    rounds : how often to ask; "auto" goes by n, the numbers of features and clusters, epsilon and delta: 2 to 10.
    init : the first centres, if not spread over the region; they must not be taken from the records.
    ledger : the account to charge, before anything is released.
    random_state : a seed makes a rehearsal: repeatable, not private, never charged.
    """

    n_clusters: int = 8
    epsilon: float | None = None
    delta: float = 0.0
    _: KW_ONLY
    bounds: tuple[float, float] | Sequence[tuple[float, float]] | None = None
    data_norm: float | None = None
    rounds: int | Literal["auto"] = "auto"
    init: ArrayLike | None = None

    saved: ClassVar[Saved] = Saved(
        {**LEARNER, "cluster_centers_": Numbers("clusters", "features"), "n_iter_": whole()},
        {"init": Optional(Numbers("clusters", "features"))},
    )

    def fit_predict(self, X: Any, y: object = None) -> NDArray[np.int32]:
        """Fit, and return the nearest centre of each row: labels that are no more private than the rows are."""
        return self.fit(X).predict(X)

    def predict(self, X: Any) -> NDArray[np.int32]:
        """Return the number of the centre that is nearest to each row."""
        return np.asarray(np.argmin(self._squares(X), axis=1), dtype=np.int32)

    def transform(self, X: Any) -> Floats:
        """Return the distance of each row to each centre."""
        return np.asarray(np.sqrt(np.maximum(self._squares(X), 0.0)))

    def centres(self) -> list[dict[str, Any]]:
        """Return each centre in the units of the columns, for models that learned from `Records`.

        A number or a moment stands as such, a Category as the share of each level, a Flag as the share that is true.
        """
        check_is_fitted(self)
        encoder = getattr(self, "encoder_", None)
        if encoder is None:
            raise InvalidParameter("rows in arrays have no other units: their centres are cluster_centers_.")
        return in_units(encoder, self.cluster_centers_)

    @np.errstate(all="ignore")
    def _squares(self, X: Any) -> Floats:
        check_is_fitted(self)
        rows, centres = validated(self, rows_of(self, X), reset=False), self.cluster_centers_
        lengths = (rows.multiply(rows) if issparse(rows) else rows * rows).sum(axis=1)
        own = np.asarray(lengths).reshape(-1, 1)
        return np.asarray(own - 2.0 * (rows @ centres.T) + np.square(centres).sum(axis=1))

    def _declare(self, X: object) -> None:
        self._stated = region_for(self.bounds, self.data_norm, X)

    def _rounds(self, n: int, columns: Sequence[str], labels: Labels) -> list[list[Query]]:
        region = self._stated.over(len(columns))
        queries = _queries(region, tuple(columns), self._first(region))
        if self.rounds != "auto":
            return [queries] * whole_number("rounds", self.rounds)
        small = _NOISE / (whole_number("n_clusters", self.n_clusters) * math.sqrt(len(columns)))
        return [queries] * self._affordable(queries, n, lambda _: small, _FEWEST_ROUNDS, _MOST_ROUNDS)

    def _study(self, session: Session, columns: Sequence[str], labels: Labels) -> None:
        region = self._stated.over(len(columns))
        centres, self.n_iter_ = self._first(region), len(session.rounds)
        for number in range(self.n_iter_):
            reply, left = session.ask(number, _queries(region, tuple(columns), centres)), self.n_iter_ - 1 - number
            centres, shares = _moved(region, centres, reply)
            if left:
                centres = _shared(region, centres, shares, left)
        self.cluster_centers_ = centres

    def _first(self, region: Region) -> Floats:
        count = whole_number("n_clusters", self.n_clusters)
        if self.init is None:
            return region.spread(count)
        try:
            centres = np.asarray(self.init, dtype=np.float64)
        except (TypeError, ValueError, OverflowError):
            centres = np.empty(0)
        if centres.shape != (count, region.width) or not np.isfinite(centres).all():
            raise InvalidParameter(f"init must be {count} centres of {region.width} finite numbers each.")
        return region.inside(centres)

    def _assumptions(self) -> tuple[str, ...]:
        return (self._stated.words, "the first centres")

    @property
    def _n_features_out(self) -> int:
        return len(self.cluster_centers_)


def _queries(region: Region, names: tuple[str, ...], centres: Floats) -> list[Query]:
    """Ask for the share of the records that are nearest to each centre, and for their sums."""

    def code(table: Any) -> Any:
        return nearest(features_of(table, names), centres)

    levels = tuple((float(number),) for number in range(len(centres)))
    return [Histogram(code, levels), *region.row_sums(names, code, levels)]


def _moved(region: Region, centres: Floats, reply: Reply) -> tuple[Floats, Floats]:
    """Return the means of the clusters, and which shares of the records they have for certain, 0 for none.

    A few records, as many as noise may pretend, are thought to be at the old centre: a mean of few is mostly noise.
    """
    counts, sums = np.asarray(reply.values[0]), region.joined(reply.values[1:])
    doubt = _CERTAIN * reply.deviation
    shares = np.where(counts > doubt, counts, 0.0)
    kept = shares[:, None] > 0
    weight = np.where(kept, shares[:, None] + doubt, 1.0)
    means = region.origin + (sums + doubt * (centres - region.origin)) / weight
    return np.where(kept, region.inside(means), centres), shares


def _shared(region: Region, centres: Floats, shares: Floats, turn: int) -> Floats:
    """Put each centre without records beside one with many."""
    empty, found = np.flatnonzero(shares <= 0), np.argsort(-shares, kind="stable")[: np.count_nonzero(shares > 0)]
    if not len(empty) or not len(found):
        return centres
    beside = centres[found[np.arange(len(empty)) % len(found)]]
    moved = centres.copy()
    moved[empty] = region.inside(beside + region.nudges(len(empty), turn))
    return moved
