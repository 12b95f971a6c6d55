"""Kernels and the models over public points as fields of a model file."""

from typing import Any, final

import numpy as np
from scipy.sparse import csr_matrix, issparse

from tacit.errors import InvalidParameter, ModelFileError
from tacit.estimators.saving.fields import Either, Field, Numbers, Plain, Scalar, Struct, choice, whole
from tacit.estimators.saving.packing import Reading, Writing
from tacit.kernels.kernel.domain import Domain
from tacit.kernels.kernel.kernel import Constant, Kernel, Pair, Product, Sum
from tacit.kernels.kernel.standard import RBF, Laplacian, Linear, Polynomial
from tacit.kernels.maps.fourier import FourierFeatures, FourierModel
from tacit.kernels.maps.landmarks import Expansion
from tacit.numerics.arrays import Floats

_DEEPEST = 20
_PAIRS: dict[str, type] = {"sum": Sum, "product": Product}
_SINGLE = choice(
    "a kernel of your own",
    {"constant": Constant, "linear": Linear, "polynomial": Polynomial, "rbf": RBF, "laplacian": Laplacian},
)


@final
class _Kernel(Field):
    """A formula of tacit's own, or a sum or product of two."""

    def write(self, value: Any, writing: Writing) -> object:
        """Write the name of the formula and its parameters."""
        for name, kind in _PAIRS.items():
            if type(value) is kind:
                assert isinstance(value, Pair)
                return {"kind": name, "value": [self.write(part, writing) for part in (value.first, value.second)]}
        return _SINGLE.write(value, writing)

    def read(self, plain: Any, reading: Reading, depth: int = 0) -> Kernel:
        """Build the kernel, which checks its parameters."""
        kind = plain.get("kind") if isinstance(plain, dict) else None
        if not isinstance(kind, str) or kind not in _PAIRS:
            single: Kernel = _SINGLE.read(plain, reading)
            return single
        parts = plain.get("value")
        if depth > _DEEPEST or plain.keys() != {"kind", "value"} or not isinstance(parts, list) or len(parts) != 2:
            raise ModelFileError("should be two kernels")
        try:
            pair: Kernel = _PAIRS[kind](*(self.read(part, reading, depth + 1) for part in parts))
        except InvalidParameter as error:
            raise ModelFileError(f"should be two kernels: {error}") from None
        return pair


@final
class Points(Field):
    """Public points: a dense table, or a sparse one, since the two multiply in another order."""

    def __init__(self, rows: str) -> None:
        self._dense = Numbers(rows, "features")
        self._sparse = {
            "columns": whole(1, 10**9, axis="features"),
            "data": Numbers(f"entries of {rows}"),
            "indices": Numbers(f"entries of {rows}", kind="int64"),
            "starts": Numbers(f"starts of {rows}", kind="int64"),
        }
        self._rows = rows

    def write(self, value: Any, writing: Writing) -> object:
        """Put the arrays among those of the file, and write their places there."""
        if not issparse(value):
            return self._dense.write(value, writing)
        table = csr_matrix(value)
        parts = {"columns": table.shape[1], "data": table.data, "indices": table.indices, "starts": table.indptr}
        return {name: field.write(parts[name], writing) for name, field in self._sparse.items()}

    def read(self, plain: Any, reading: Reading) -> Any:
        """Take them, and check that a sparse table is one."""
        if not isinstance(plain, dict):
            return self._dense.read(plain, reading)
        parts = Struct(dict, self._sparse).read(plain, reading)
        starts, indices, columns = parts["starts"], parts["indices"], parts["columns"]
        ordered = len(starts) > 1 and starts[0] == 0 and starts[-1] == len(indices) and np.all(np.diff(starts) >= 0)
        if not ordered or np.any((indices < 0) | (indices >= columns)):
            raise ModelFileError("should be a sparse table")
        reading.agree(self._rows, len(starts) - 1)
        return csr_matrix((parts["data"], indices, starts), shape=(len(starts) - 1, columns))


@final
class _Landmarks(Field):
    """A parameter: a number of points, or the points."""

    def write(self, value: Any, writing: Writing) -> object:
        """Write the number as it is."""
        if value is None or isinstance(value, int | np.integer):
            return Plain().write(value, writing)
        points = value if issparse(value) else np.asarray(value, dtype=np.float64)
        if points.ndim != 2:
            raise ModelFileError("landmarks that are no table of numbers cannot be saved.")
        return {"points": _GIVEN.write(points, writing)}

    def read(self, plain: Any, reading: Reading) -> Any:
        """Read the number, or the points."""
        if plain is None or type(plain) is int:
            return Plain().read(plain, reading)
        if not isinstance(plain, dict):
            raise ModelFileError("should be a number of points, or a table of them")
        return Struct(lambda points: points, {"points": _GIVEN}).read(plain, reading)


def _fourier(domain: Domain, frequencies: Floats, constant: float, coefficients: Floats) -> FourierModel:
    features = FourierFeatures(domain, frequencies, constant)
    if features.count != coefficients.shape[1]:
        raise ModelFileError("should have a coefficient for each feature")
    return FourierModel(features, coefficients)


@final
class _Fourier(Field):
    """Scores that are linear in Fourier features."""

    def write(self, value: Any, writing: Writing) -> object:
        """Write the frequencies and the coefficients."""
        features = value.features
        parts = {
            "domain": features.domain,
            "frequencies": features.frequencies,
            "constant": features.constant,
            "coefficients": value.coefficients,
        }
        return {name: field.write(parts[name], writing) for name, field in _FOURIER.items()}

    def read(self, plain: Any, reading: Reading) -> Any:
        """Build the features and the model."""
        return Struct(_fourier, _FOURIER).read(plain, reading)


_GIVEN = Points("landmarks")
KERNEL = _Kernel()
LANDMARKS = _Landmarks()
DOMAIN = Struct(Domain, {"kernel": KERNEL, "norm": Scalar(1e-100, 1e100), "width": whole(1, 10**9, axis="features")})
_FOURIER: dict[str, Field] = {
    "domain": DOMAIN,
    "frequencies": Numbers("frequencies", "features"),
    "constant": Scalar(0.0, 1e100),
    "coefficients": Numbers("scores", "Fourier features"),
}
MODEL = Either(
    {
        "expansion": Struct(
            Expansion, {"domain": DOMAIN, "points": Points("points"), "weights": Numbers("scores", "points")}
        ),
        "fourier": _Fourier(),
    },
    lambda model: "fourier" if type(model) is FourierModel else "expansion",
)
