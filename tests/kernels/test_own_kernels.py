"""A user's class of kernels: whatever it returns, values are bounded, and it is no kernel that tacit has proved."""

import math
from typing import Any

import numpy as np
import pytest

from tacit.errors import InvalidParameter
from tacit.kernels import (
    Kernel,
    Linear,
    Polynomial,
    PrivateKernelClassifier,
)
from tacit.kernels.kernel.custom import is_proven, is_total
from tacit.kernels.kernel.domain import Domain
from tacit.kernels.maps.landmarks import Landmarks


class _Own(Kernel):
    """A class of a user's own that fails, or returns nonsense, for blocks that hold the number 7."""

    def __init__(self, nonsense: Any) -> None:
        self.nonsense = nonsense

    def bound(self, norm: float) -> float:
        return 1.0

    def block(self, left: Any, right: Any) -> Any:
        found = Linear().block(left, right)
        if callable(self.nonsense) and (left == 7).any():
            return self.nonsense()
        return np.where((left == 7).any(axis=1)[:, None], 0.0 if callable(self.nonsense) else self.nonsense, found)

    def diagonal(self, records: Any) -> Any:
        return np.diagonal(self.block(records, records))

    def accuracy(self, norm: float, width: int) -> float:
        return 1e-15


def _raise() -> None:
    raise RuntimeError("a record")


@pytest.mark.parametrize(
    ("nonsense", "counted"),
    [(math.nan, 0.0), (math.inf, 0.0), (-math.inf, 0.0), (1e300, 1.0), (_raise, 0.0), (lambda: np.zeros(3), 0.0),
     (lambda: [["x"]], 0.0)],
)  # fmt: skip
def test_values_are_finite_and_bounded_whatever_a_class_of_kernels_does(nonsense, counted):
    """A record that it fails for has no features, and the others have theirs."""
    records, points = np.array([[0.5], [7.0], [0.25]]), np.array([[1.0], [0.5]])
    found = Domain(_Own(nonsense), 1.0, 1).block(records, points)
    assert np.array_equal(found, [[0.5, 0.25], [counted, counted], [0.25, 0.125]])


def test_a_class_of_kernels_sees_one_record_at_a_time():
    """What it makes of a record cannot depend on the others: a class that scales by its block's largest entry."""

    class Relative(_Own):
        def block(self, left: Any, right: Any) -> Any:
            return Linear().block(left / np.abs(left).max(), right)

    mapped = Landmarks.at(Domain(Relative(0.0), 1.0, 1), np.array([[1.0]]))
    one, other = (mapped.features(np.array([[0.25], [last]])) for last in (0.5, 1.0))
    assert one[0] == other[0]


class _Small(Linear):
    """The linear kernel with a bound that its values do not keep."""

    def bound(self, norm: float) -> float:
        return 1e-12


@pytest.mark.parametrize("method", ["tddl", "matched", "tdil"])
def test_a_subclass_is_not_the_kernel_that_it_is_made_of(method):
    """A subclass of Linear that overrides the bound chose the ball's sampler, with a millionth of the noise."""
    rows, labels = np.random.default_rng(1).normal(size=(40, 2)), np.arange(40) % 2
    for kernel in (_Small(), _Small() + 1.0, 2.0 * _Small()):
        assert not is_proven(kernel)
        assert not is_total(kernel)
        with pytest.raises(InvalidParameter, match="known to be positive semi-definite"):
            PrivateKernelClassifier(kernel, 1.0, 1e-6, landmarks=5, data_norm=1.0, method=method).fit(rows, labels)
    small = Landmarks.at(Domain(_Small(), 1.0, 2), np.eye(2) * 1e-3).features(rows)
    assert np.all(np.abs(small) <= 1.1e-6)


def test_fourier_features_are_for_the_kernels_themselves():
    """A subclass of a Gaussian kernel is another function."""

    class Narrow(Polynomial):
        pass

    with pytest.raises(InvalidParameter, match="fourier"):
        PrivateKernelClassifier(Narrow(2), 1.0, landmarks=6, data_norm=1.0, method="fourier").fit(np.eye(4), [0, 1] * 2)


def test_a_bound_is_asked_for_once():
    """A class that answers otherwise each time cannot have values cut to one bound and noise made for another."""

    class Shrinking(_Own):
        def __init__(self) -> None:
            super().__init__(0.0)
            self.bounds = iter([4.0, 2.0, 1.0, 0.5])

        def bound(self, norm: float) -> Any:
            return np.float32(next(self.bounds))

    domain = Domain(Shrinking(), 1.0, 1)
    assert [domain.square, domain.square, domain.radius**2] == pytest.approx([4.0, 4.0, 4.0])
    assert type(domain.square) is float


@pytest.mark.parametrize("bound", [math.nan, math.inf, -1.0, 0.0, 1e-300, 1e300, "1", None, True])
def test_bounds_that_are_none_are_refused(bound):
    """Before any record is looked at."""

    class Odd(_Own):
        def bound(self, norm: float) -> Any:
            return bound

    with pytest.raises(InvalidParameter):
        Domain(Odd(0.0), 1.0, 1)


@pytest.mark.parametrize("nonsense", [math.nan, math.inf])
def test_points_at_which_a_class_of_kernels_is_not_finite_are_refused(nonsense):
    """The public side of any kernel is refused by default where the secret side counts as 0."""
    kernel, points = _Own(nonsense), np.array([[0.5], [7.0]])
    for refused in (lambda: kernel.public_block(points, points), lambda: kernel.public_diagonal(points)):
        with pytest.raises(InvalidParameter, match="finite numbers at all points"):
            refused()
    assert np.array_equal(kernel.public_block(points[:1], points[:1]), [[0.25]])


def test_a_sum_leaves_its_parts_alone():
    """A kernel that keeps its blocks gets them back unchanged."""
    kept = np.ones((1, 1))

    class Keeping(Linear):
        def block(self, left, right):
            return kept

    for made in (Keeping() + 1.0, Keeping() * 3.0):
        first = made.block(np.ones((1, 1)), np.ones((1, 1)))
        assert np.array_equal(made.block(np.ones((1, 1)), np.ones((1, 1))), first)
    assert kept[0, 0] == 1.0
