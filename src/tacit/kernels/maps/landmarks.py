"""Public points as coordinates: the features of a record within the span of the landmarks' features.

u(x) = E^(-1/2) V^T k_Z(x) for K_ZZ = V E V^T are the coordinates of phi(x) projected on span phi(Z), so |u(x)| <= R and
a kernel model restricted to the span is a linear model of u. The map depends on public points alone; what is computed
of u(x) is clipped to R besides, so privacy needs no accuracy of the map, nor that a user's function is a kernel.
"""

from copy import deepcopy
from dataclasses import dataclass
from typing import Any, ClassVar, final

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import eigh
from scipy.sparse import issparse
from scipy.special import ndtri

from tacit.checks import is_whole
from tacit.errors import InvalidParameter
from tacit.kernels.kernel.custom import is_proven
from tacit.kernels.kernel.domain import Domain
from tacit.kernels.kernel.kernel import size_of
from tacit.kernels.kernel.standard import Linear
from tacit.numerics.arrays import Floats
from tacit.numerics.products import pieces
from tacit.numerics.threads import threads

_CUTOFF = 1e-10
_BLOCK = 1024
_MANY_NUMBERS = 10**8


@final
@dataclass(frozen=True, eq=False)
class Expansion:
    """Scores sum_j weight_j K(z_j, .) over public points, one model a row of weights."""

    domain: Domain
    points: Any
    weights: Floats

    def scores(self, records: Any, *, alone: bool = False) -> Floats:
        """Return the scores of every record, with `alone` each computed by itself."""
        parts = pieces(self.domain.clipped(records), size_of(records), alone)
        return np.concatenate([self.domain.block(part, self.points) @ self.weights.T for part in parts])


@final
@dataclass(frozen=True, eq=False)
class Landmarks:
    """The map from records to their coordinates with respect to public points."""

    domain: Domain
    points: Any
    map: Floats

    source: ClassVar[str] = "landmarks"

    @classmethod
    def at(cls, domain: Domain, points: Any) -> "Landmarks":
        """Build the map from landmarks, which are clipped like records."""
        clipped = _sealed(domain.clipped(points))
        values, vectors = eigh(domain.public_gram(clipped))
        if values[0] < -1e-8 * values[-1] or values[-1] <= 0:
            raise InvalidParameter("the kernel's matrix at the landmarks is not positive semi-definite.")
        kept = values > _CUTOFF * values[-1]
        return cls(domain, clipped, np.ascontiguousarray(vectors[:, kept] / np.sqrt(values[kept])))

    @property
    def count(self) -> int:
        """How many coordinates a record has: at most one for each landmark."""
        return int(self.map.shape[1])

    @property
    def inner_domain(self) -> Domain:
        """The linear kernel on coordinates, which are clipped to the radius of the features they stand for."""
        return Domain(Linear(), self.domain.radius, self.count)

    def features(self, records: Any, alone: int | None = None) -> NDArray[np.floating[Any]]:
        """Return the coordinates of records, block by block; in single precision where they are very many.

        Each row is a total function of its record: every coordinate is a number within the radius. Where the places of
        rows are not public, `alone` is the public number of records or persons, and each row is computed by itself:
        where it stands, and so what others there are, moves no bit of it.
        """
        total = size_of(records)
        many = (alone or total) * self.count > _MANY_NUMBERS and 1e-30 < self.domain.radius < 1e30
        kind = np.float32 if many else np.float64
        found = np.empty((total, self.count), dtype=kind)

        def work(bounds: tuple[int, int]) -> None:
            part = _sealed(self.domain.clipped(records[slice(*bounds)]))
            each = pieces(part, bounds[1] - bounds[0], alone is not None)
            coordinates = np.concatenate([self.domain.block(piece, self.points) @ self.map for piece in each])
            coordinates = np.nan_to_num(coordinates, nan=0.0)
            found[slice(*bounds)] = np.clip(coordinates, -self.domain.radius, self.domain.radius)

        blocks = [(start, min(start + _BLOCK, total)) for start in range(0, total, _BLOCK)]
        # A user's function may not be fit for several threads.
        with threads(total * self.count if is_proven(self.domain.kernel) else 0) as workers:
            workers.each(work, blocks)
        return found

    def model(self, coefficients: Floats) -> Expansion:
        """Return the kernel model that coordinates' coefficients, one model a row, stand for."""
        return Expansion(self.domain, self.points, coefficients @ self.map.T)


def public_points(count: int, width: int, norm: float) -> Floats:
    """Return so many fixed points spread over the ball of this norm: the same for everyone."""
    normal = ndtri(public_uniform(count * width)).reshape(count, width)
    lengths = np.maximum(np.linalg.norm(normal, axis=1), 1e-300)
    reach = public_uniform(count * (width + 1))[-count:] ** (1 / width)
    return np.asarray(normal * (norm * reach / lengths)[:, None])


def public_uniform(count: int) -> Floats:
    """Return fixed numbers in (0, 1) that look random, the same for everyone: no secret, and no noise.

    Steele, Lea and Flood 2014 (SplitMix), counted from zero.
    """
    with np.errstate(over="ignore"):
        state = np.arange(1, count + 1, dtype=np.uint64) * np.uint64(0x9E3779B97F4A7C15)
        state = (state ^ (state >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        state = (state ^ (state >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    mixed = state ^ (state >> np.uint64(31))
    return np.asarray((mixed >> np.uint64(12)).astype(np.float64) * 2.0**-52 + 2.0**-53)


def landmarks_given(landmarks: Any, records: Any, domain: Domain) -> Any:
    """Return the landmarks that a user gave; refuse the training records themselves.

    Only what shows without a look at values is refused: that rows coincide is a secret of the training set.
    """
    if is_whole(landmarks):
        if not domain.vectors:
            raise InvalidParameter("landmarks must be a list of public records that the kernel's function takes.")
        if not 1 <= landmarks <= 10**5:
            raise InvalidParameter("landmarks must be public points, or a number of them from 1 to 100000.")
        return public_points(int(landmarks), domain.width, domain.norm)
    if landmarks is None or isinstance(landmarks, bool | float | str):
        raise InvalidParameter("landmarks must be public points like the records, or a number of points to spread.")
    if landmarks is records or _share_memory(landmarks, records):
        raise InvalidParameter("landmarks must be public points, got the training records themselves.")
    if not domain.vectors:
        return deepcopy(listed(landmarks))
    named = hasattr(landmarks, "columns") and hasattr(records, "columns")
    if named and list(landmarks.columns) != list(records.columns):
        raise InvalidParameter("landmarks must have the columns of the records, in their order.")
    points: Any = landmarks if issparse(landmarks) else np.asarray(landmarks)
    if points.ndim != 2 or points.shape[0] == 0 or points.dtype.kind not in "fiub":
        raise InvalidParameter("landmarks must be a table of numbers with at least one row.")
    if points.shape[1] != domain.width:
        raise InvalidParameter(f"landmarks must have {domain.width} columns like the records, got {points.shape[1]}.")
    entries = points.data if issparse(points) else points
    if not np.all(np.isfinite(entries)):
        raise InvalidParameter("landmarks must be finite numbers.")
    # In one order of memory: products of other orders may round differently.
    return points.astype(np.float64) if issparse(points) else points.astype(np.float64, order="C")


def listed(records: Any) -> list[Any]:
    """Return what a user's function takes as a list, one record each; tables are refused."""
    if hasattr(records, "columns") or issparse(records) or isinstance(records, str | bytes):
        raise InvalidParameter("records of a user's function must be a list or one column, such as X['text'].")
    plain = isinstance(records, np.ndarray) and records.ndim == 1 and records.dtype.kind in "USiufb"
    return records.tolist() if plain and records.dtype != np.longdouble else list(records)


def _sealed(records: Any) -> Any:
    """Return arrays that cannot be written to, and lists of them; anything else as it is.

    A user's function that subtracts in place would move a landmark by one record, and so all records after it.
    """
    if isinstance(records, list):
        return [_sealed(record) for record in records]
    if not isinstance(records, np.ndarray):
        return records
    view = records.view()
    view.flags.writeable = False
    return view


def _share_memory(first: object, second: object) -> bool:
    ours, theirs = _buffer(first), _buffer(second)
    return ours is not None and theirs is not None and ours.size > 0 and bool(np.may_share_memory(ours, theirs))


def _buffer(table: Any) -> NDArray[Any] | None:
    """Return the memory of a table's numbers, if it has just one."""
    found = table.data if issparse(table) else table.to_numpy() if hasattr(table, "to_numpy") else table
    return found if isinstance(found, np.ndarray) else None
