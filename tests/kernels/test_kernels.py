"""Kernels: their formulas, the bounds they know of themselves, and what is refused."""

import pickle

import mpmath as mp
import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st

from tacit import noise
from tacit.errors import InvalidParameter
from tacit.kernels import RBF, Constant, FunctionKernel, Laplacian, Linear, Polynomial
from tacit.kernels.kernel.domain import Domain
from tacit.kernels.released.ball import Slices, draw_point

GENERATOR = np.random.default_rng(1)
KERNELS = {
    "linear": Linear(),
    "cubic": Polynomial(3, constant=1.0),
    "seventh": Polynomial(7, constant=0.25),
    "homogeneous": Polynomial(2, constant=0.0),
    "rbf": RBF(1.7),
    "laplacian": Laplacian(0.6),
    "intercept": RBF(0.5) + 2.0,
    "sum": Linear() + Polynomial(2),
    "product": RBF(0.3) * Polynomial(2) * 0.5,
    "function": FunctionKernel(lambda x, z: float(np.dot(x, z)) ** 2 + 0.1, 20.0, vectors=True),
}
EVERY = pytest.mark.parametrize("name", KERNELS)


def _exact(kernel, x, z):
    """Return K(x, z) in multiprecision arithmetic."""
    dot = mp.fsum(mp.mpf(float(a)) * mp.mpf(float(b)) for a, b in zip(x, z, strict=True))
    if isinstance(kernel, Linear):
        return dot
    if isinstance(kernel, Polynomial):
        return (dot + mp.mpf(kernel.constant)) ** kernel.degree
    if isinstance(kernel, RBF):
        square = mp.fsum((mp.mpf(float(a)) - mp.mpf(float(b))) ** 2 for a, b in zip(x, z, strict=True))
        return mp.exp(-mp.mpf(kernel.gamma) * square)
    if isinstance(kernel, Laplacian):
        return mp.exp(
            -mp.mpf(kernel.gamma) * mp.fsum(abs(mp.mpf(float(a)) - float(b)) for a, b in zip(x, z, strict=True))
        )
    if isinstance(kernel, Constant):
        return mp.mpf(kernel.value)
    if isinstance(kernel, FunctionKernel):
        return dot**2 + mp.mpf(0.1)
    one, two = _exact(kernel.first, x, z), _exact(kernel.second, x, z)
    return one + two if type(kernel).__name__ == "Sum" else one * two


@EVERY
@pytest.mark.parametrize("norm", [0.3, 1.0, 2.0])
def test_computed_values_are_as_accurate_as_declared(name, norm):
    """Every computed value is within `accuracy` of multiprecision arithmetic, and K(x, x) within `bound`."""
    kernel = KERNELS[name]
    rows = GENERATOR.normal(size=(12, 6))
    rows *= norm / np.linalg.norm(rows, axis=1, keepdims=True)
    found = kernel.block(rows, rows[:5])
    with mp.workdps(40):
        worst = max(abs(_exact(kernel, x, z) - found[i, j]) for i, x in enumerate(rows) for j, z in enumerate(rows[:5]))
        assert worst <= kernel.accuracy(norm, 6)
        assert max(_exact(kernel, x, x) for x in rows * (1 - 1e-15)) <= kernel.bound(norm)
    assert np.allclose(kernel.diagonal(rows), np.diagonal(kernel.block(rows, rows)), rtol=1e-12)


@EVERY
def test_public_points_have_the_values_of_records(name):
    """Where nothing is refused, public points have the same numbers, bit for bit."""
    kernel = KERNELS[name]
    rows = GENERATOR.normal(size=(7, 4)) / 4
    assert np.array_equal(kernel.public_block(rows, rows[:3]), kernel.block(rows, rows[:3]))
    assert np.array_equal(kernel.public_diagonal(rows), kernel.diagonal(rows))


@EVERY
def test_matrices_are_symmetric_and_positive_semi_definite(name):
    """The matrix of all pairs is exactly symmetric and has no clearly negative eigenvalue."""
    domain = Domain(KERNELS[name], 1.0, 4)
    gram = domain.gram(domain.clipped(GENERATOR.normal(size=(60, 4))))
    assert np.array_equal(gram, gram.T)
    assert np.linalg.eigvalsh(gram).min() >= -1e-10 * domain.square
    assert gram.max() <= domain.square * (1 + 1e-12)


@given(st.floats(0.1, 10), st.integers(1, 5), st.floats(0.01, 3))
def test_bounds_grow_with_the_norm(norm, degree, constant):
    """A larger norm never has a smaller bound, and the bound is reached at full norm."""
    kernel = Polynomial(degree, constant)
    assert kernel.bound(2 * norm) >= kernel.bound(norm) >= (norm**2 + constant) ** degree


def test_the_cubic_kernel_has_bound_eight():
    """(x.z + 1)^3 over the unit ball: R^2 = 8."""
    assert Polynomial(3, constant=1.0).bound(1.0) == pytest.approx(8)


@pytest.mark.parametrize("name", ["linear", "cubic", "rbf", "laplacian", "intercept"])
def test_sparse_records_give_the_same_values(name):
    """Compressed rows have the values of dense ones, clipped or not."""
    rows = GENERATOR.normal(size=(20, 5)) * (GENERATOR.random((20, 5)) < 0.5)
    domain = Domain(KERNELS[name], 1.0, 5)
    dense, sparse = domain.clipped(rows), domain.clipped(sp.csr_array(rows))
    assert np.allclose(domain.kernel.block(sparse, dense), domain.kernel.block(dense, dense), atol=1e-14)
    assert np.linalg.norm(dense, axis=1).max() <= 1


def test_a_violated_bound_is_clipped_in_the_feature_space():
    """A function that returns more than it declared has its features scaled down, so K(x, x) is within the bound."""
    kernel = FunctionKernel(lambda x, z: float(len(x) * len(z)), 4.0)
    texts = ["a", "bb", "cccc"]
    block = kernel.block(texts, texts)
    assert np.all(np.diagonal(block) <= 4.0 * (1 + 1e-12))
    assert np.allclose(block, np.outer([1, 2, 2], [1, 2, 2]))
    assert np.array_equal(kernel.diagonal(texts), [1, 4, 4])


def test_values_between_different_records_are_within_the_bound():
    """A function that is no kernel, K(x, z)^2 > K(x, x) K(z, z), is cut to the bound off the diagonal too."""
    kernel = FunctionKernel(lambda x, z: 1.0 if x == z else 1e6 * (-1) ** len(x), 2.0)
    block = kernel.block(["a", "bb"], ["a", "bb", "q"])
    assert np.array_equal(block, [[1.0, -2.0, -2.0], [2.0, 1.0, 2.0]])


def test_the_last_uniform_number_gives_a_point_of_the_ball(monkeypatch):
    """Where a uniform number is the largest one below 1, its normal quantile is finite, and so is the point."""
    monkeypatch.setattr(noise, "uniform", lambda source, count: np.full(count, 1 - 2.0**-53))
    monkeypatch.setattr(Slices, "draw", lambda self, source: 0.5)
    point = draw_point(np.array([1.0, 0.0, 0.0]), 1.0, noise.Rehearsal(1))
    assert np.linalg.norm(point) <= 1 + 1e-12


@pytest.mark.parametrize(
    "build",
    [lambda: Polynomial(0), lambda: Polynomial(2.5), lambda: Polynomial(True), lambda: Polynomial(2, -1.0),
     lambda: RBF(0.0), lambda: RBF(np.nan), lambda: Laplacian(-1.0), lambda: Linear() + 0.0, lambda: Linear() * -1.0,
     lambda: FunctionKernel(3, 1.0), lambda: FunctionKernel(len, 0.0), lambda: FunctionKernel(len, 1.0, error=0.5),
     lambda: FunctionKernel(len, 1.0, accepts=3), lambda: Linear() + FunctionKernel(len, 1.0), lambda: Constant("x")],
)  # fmt: skip
def test_parameters_that_make_no_kernel_are_refused(build):
    """Degrees below one, negative constants and rates, and mixed kinds of records are refused."""
    with pytest.raises(InvalidParameter):
        build()


def test_kernels_that_overflow_their_norm_are_refused():
    """A bound beyond floats is refused instead of being infinite."""
    with pytest.raises(InvalidParameter, match="finite bound"):
        Polynomial(100).bound(1e10)


def test_kernels_are_values():
    """Equal kernels are equal, hash alike and survive a pickle."""
    kernel = RBF(0.5) + 2.0
    assert pickle.loads(pickle.dumps(kernel)) == kernel
    assert hash(kernel) == hash(RBF(0.5) + 2.0)
    assert kernel != RBF(0.5) + 1.0
