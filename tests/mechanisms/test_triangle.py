"""A growing triangle: what it multiplies back to, and what it refuses."""

import numpy as np
import pytest

from tacit.errors import InvalidParameter
from tacit.mechanisms.triangle import Triangle, triangle_error

GENERATOR = np.random.default_rng(5)


def _grown(gram, jitter, batches):
    """Grow a triangle in batches; return it and all its rows, padded."""
    triangle, rows, start = Triangle(jitter), np.zeros_like(gram), 0
    for size in batches:
        stop = start + size
        for row in triangle.next_rows(gram[start:stop, :start], gram[start:stop, start:stop]):
            triangle.append(row)
            rows[triangle.size - 1, : triangle.size] = row
        start = stop
    return triangle, rows


@pytest.mark.parametrize("rank", [1, 3, 600])
@pytest.mark.parametrize("batches", [[1] * 40 + [560], [600], [256, 256, 88], [7, 300, 1, 292]])
def test_rows_multiply_back_to_the_kernel_and_its_jitter(rank, batches):
    """M M^T - K - jitter I is a diagonal of at least 0 plus an error within its bound, singular K or not."""
    points = GENERATOR.normal(size=(600, rank))
    points /= np.linalg.norm(points, axis=1, keepdims=True)
    gram, jitter = points @ points.T, 1e-6
    triangle, rows = _grown(gram, jitter, batches)
    rest = rows @ rows.T - gram - jitter * np.eye(600)
    error = rest - np.diag(np.diagonal(rest))
    # The product and the kernel here are rounded themselves.
    bound = triangle_error(600, 1 + 2 * jitter, 0.0)
    assert np.linalg.norm(error, 2) <= 3 * bound
    assert np.diagonal(rest).min() >= -3 * bound
    assert np.linalg.eigvalsh(rows @ rows.T - gram).min() >= jitter / 2
    assert triangle.size == 600


def test_substitution_and_whitening_solve_their_systems():
    """`solved`, `whitened` and `residuals` agree with the whole matrix."""
    points = GENERATOR.normal(size=(300, 5))
    gram = points @ points.T + np.eye(300)
    triangle, rows = _grown(gram, 1e-6, [300])
    cross = GENERATOR.normal(size=(4, 300))
    assert np.allclose(triangle.solved(cross) @ rows.T, cross, atol=1e-9)
    values = GENERATOR.normal(size=300)
    assert np.allclose(rows @ triangle.solved(values[None])[0], values, atol=1e-9)
    explained = np.einsum("ij,ij->i", triangle.solved(gram[:4]), triangle.solved(gram[:4]))
    assert np.allclose(explained, np.diagonal(gram)[:4], atol=1e-5)


def test_the_same_point_again_leaves_a_pivot_of_the_jitter():
    """Repeated points have pivots near the jitter, never below it."""
    triangle, rows = _grown(np.ones((5, 5)), 1e-6, [1, 1, 3])
    assert np.all(np.diagonal(rows)[1:] >= np.sqrt(1e-6))
    assert np.diagonal(rows)[1] == pytest.approx(np.sqrt(2e-6), rel=1e-3)
    assert triangle.size == 5


@pytest.mark.parametrize("gram", [np.array([[1.0, 2.0], [2.0, 1.0]]), -np.eye(2), np.full((2, 2), np.nan)])
def test_a_matrix_that_is_no_kernels_is_refused_and_nothing_is_appended(gram):
    """Indefinite, negative and undefined matrices are noticed at their pivot."""
    triangle = Triangle(1e-6)
    with pytest.raises(InvalidParameter, match="positive semi-definite"):
        triangle.next_rows(np.zeros((2, 0)), gram)
    assert triangle.size == 0
