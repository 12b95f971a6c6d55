"""Objectives: gradients, virtual intercepts and clipping, dense and sparse rows."""

from fractions import Fraction

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st

from support.objective_value import value_of
from tacit.erm import HuberRegression, Logistic, Loss, Objective, Rows, Softmax
from tacit.errors import InvalidParameter

RNG = np.random.default_rng(11)
X = RNG.standard_normal((300, 7)) * np.geomspace(1, 3, 7)
SIGNS = np.where(RNG.random(300) < 0.5, -1.0, 1.0)
REALS = RNG.standard_normal(300)
CLASSES = RNG.integers(0, 3, size=300)
LOSSES: list[tuple[Loss, np.ndarray]] = [
    (Logistic(), SIGNS),
    (HuberRegression(0.5, 1.5), REALS),
    (Softmax(3), CLASSES),
]


def _point(objective: Objective) -> np.ndarray:
    return np.random.default_rng(2).standard_normal(objective.shape)


@pytest.mark.parametrize(("loss", "targets"), LOSSES, ids=str)
def test_gradient_is_the_slope_of_the_value(loss: Loss, targets: np.ndarray) -> None:
    """Central differences of J in every coordinate give its gradient."""
    objective = Objective(Rows.clipped(X, 4.0, constant=1.0), targets, loss, alpha=0.1)
    objective = objective.with_linear(np.random.default_rng(3).standard_normal(objective.shape))
    w = _point(objective)
    numeric = np.zeros(objective.shape)
    for index in np.ndindex(*objective.shape):
        step = np.zeros(objective.shape)
        step[index] = 1e-5
        numeric[index] = (value_of(objective, w + step) - value_of(objective, w - step)) / 2e-5
    np.testing.assert_allclose(objective.gradient(w), numeric, atol=1e-8)


@pytest.mark.parametrize(("loss", "targets"), LOSSES, ids=str)
@pytest.mark.parametrize("sparse", [False, True])
def test_virtual_intercept_and_clipping_equal_explicit_columns(loss: Loss, targets: np.ndarray, sparse: bool) -> None:
    """A constant and factors applied on the fly give what an explicit matrix gives."""
    scale = np.minimum(1.0, 4.0 / np.linalg.norm(X, axis=1))
    explicit = Objective(
        Rows.clipped(np.column_stack([X * scale[:, None], np.full(300, 2.5)]), 9.0), targets, loss, 0.1
    )
    data = sp.csr_matrix(X) if sparse else X
    virtual = Objective(Rows.clipped(data, 4.0, constant=2.5), targets, loss, 0.1)
    w = _point(explicit)
    np.testing.assert_allclose(virtual.gradient(w), explicit.gradient(w), rtol=1e-11, atol=1e-14)


@pytest.mark.parametrize(
    "data",
    [X.astype(np.float32), np.asfortranarray(X), X[::-1][::-1], sp.csc_array(X), sp.coo_array(X)],
    ids=["float32", "fortran", "reversed twice", "csc", "coo"],
)
def test_any_layout_gives_the_same_gradient(data: object) -> None:
    """Other number types, orders and sparse formats are the same rows."""
    expected = Objective(Rows.clipped(X, 100.0), SIGNS, Logistic(), 0.1)
    objective = Objective(Rows.clipped(data, 100.0), SIGNS, Logistic(), 0.1)
    w = _point(expected)
    tolerance = 1e-6 if getattr(data, "dtype", None) == np.float32 else 1e-14
    np.testing.assert_allclose(objective.gradient(w), expected.gradient(w), atol=tolerance)


@given(st.integers(0, 10_000), st.sampled_from([1e-3, 1.0, 7.3, 1e100]))
def test_clipped_rows_are_within_the_norm_exactly(seed: int, size: float) -> None:
    """The exact norm of a clipped row, its factor included, never exceeds the declared one."""
    rng = np.random.default_rng(seed)
    data = rng.standard_normal((5, 4)) * size * 10.0 ** rng.integers(-2, 3, size=(5, 1))
    data[0] *= size / np.linalg.norm(data[0])
    rows = Rows.clipped(data, size)
    scale = np.ones(5) if rows.scale is None else rows.scale
    for row, factor in zip(data, scale, strict=True):
        squares = sum((Fraction(float(x)) * Fraction(float(factor))) ** 2 for x in row)
        assert squares <= Fraction(size) ** 2
    short = np.linalg.norm(data, axis=1) < size * (1 - 1e-12)
    assert np.all(scale[short] == 1.0)


@pytest.mark.parametrize(
    "data",
    [
        np.array([[1.0, np.nan]]),
        np.array([[np.inf, 0.0]]),
        np.array([[1e200, 0.0]]),
        sp.csr_array(np.array([[1.0, np.nan]])),
        np.zeros((0, 3)),
        np.zeros((3, 0)),
        np.zeros(3),
        np.zeros((2, 2), dtype=complex),
        np.array([["a", "b"]]),
    ],
    ids=["nan", "inf", "huge", "sparse nan", "no rows", "no features", "vector", "complex", "text"],
)
def test_rows_that_are_no_numbers_are_refused(data: object) -> None:
    """What cannot be clipped is refused up front, in a message without data."""
    with pytest.raises(InvalidParameter, match="X must"):
        Rows.clipped(data, 1.0)


@pytest.mark.parametrize("norm", [0.0, -1.0, np.inf, np.nan])
def test_the_norm_must_be_positive_and_finite(norm: float) -> None:
    """A ball of no size or of every size is refused."""
    with pytest.raises(InvalidParameter, match="norm"):
        Rows.clipped(X, norm)


@pytest.mark.parametrize("alpha", [0.0, -1.0, np.inf, np.nan])
def test_the_ridge_must_be_positive_and_finite(alpha: float) -> None:
    """Without strong convexity there is no certificate, so no objective."""
    with pytest.raises(InvalidParameter, match="alpha"):
        Objective(Rows.clipped(X, 100.0), SIGNS, Logistic(), alpha)


@pytest.mark.parametrize("linear", [np.zeros(6), np.full(7, np.nan), np.zeros((7, 1))])
def test_a_linear_term_must_fit(linear: np.ndarray) -> None:
    """Linear terms of another shape, or not finite, are refused."""
    with pytest.raises(InvalidParameter, match="coefficient"):
        Objective(Rows.clipped(X, 100.0), SIGNS, Logistic(), 0.1, linear)


def test_the_users_sparse_matrix_is_left_alone() -> None:
    """Repeated entries are added up in a copy; the matrix that was passed keeps them."""
    repeated = sp.csr_array((np.ones(3), np.array([1, 1, 0]), np.array([0, 3])), shape=(1, 2))
    rows = Rows.clipped(repeated, 1.0)
    assert repeated.nnz == 3
    assert rows.scale == pytest.approx(1 / np.sqrt(5.0))


def test_a_sample_is_every_so_many_rows() -> None:
    """`every(3)` is the objective over rows 0, 3, 6, ..., with the linear term of the whole."""
    b = np.arange(7.0)
    whole = Objective(Rows.clipped(X, 4.0), SIGNS, Logistic(), 0.1, b)
    sample = whole.every(3)
    direct = Objective(Rows.clipped(X[::3], 4.0), SIGNS[::3], Logistic(), 0.1, b / 3)
    w = _point(whole)
    np.testing.assert_allclose(sample.gradient(w), direct.gradient(w), rtol=1e-13)


def test_threads_do_not_change_the_result() -> None:
    """A pass that is shared by threads gives the same bits every time, and what one thread gives."""
    rng = np.random.default_rng(4)
    data, targets = rng.standard_normal((60_000, 40)), np.where(rng.random(60_000) < 0.5, -1.0, 1.0)
    objective = Objective(Rows.clipped(data, 100.0), targets, Logistic(), 0.1)
    w = rng.standard_normal(40)
    first = objective.gradient(w)
    written = data.T @ (-targets / (1 + np.exp(targets * (data @ w)))) / 60_000 + 0.1 * w
    np.testing.assert_array_equal(objective.gradient(w), first)
    np.testing.assert_allclose(first, written, rtol=1e-12, atol=1e-14)
