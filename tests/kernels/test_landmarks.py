"""Landmarks and Fourier features: public maps of bounded norm."""

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st

from tacit.errors import InvalidParameter
from tacit.kernels import RBF, FunctionKernel, Landmarks, Laplacian, Linear, Polynomial
from tacit.kernels.kernel.domain import Domain
from tacit.kernels.maps.fourier import FourierFeatures
from tacit.kernels.maps.landmarks import landmarks_given, public_points, public_uniform

GENERATOR = np.random.default_rng(23)
POINTS = GENERATOR.normal(size=(80, 4))


@pytest.mark.parametrize("kernel", [Linear(), Polynomial(3), RBF(1.0), Laplacian(0.5), RBF(0.2) + 1.0])
def test_coordinates_have_the_inner_products_of_features_in_the_span(kernel):
    """Landmarks' own coordinates give back their kernel matrix, and no coordinate vector is longer than R."""
    domain = Domain(kernel, 1.0, 4)
    mapped = Landmarks.at(domain, POINTS)
    own = mapped.features(POINTS)
    assert np.allclose(own @ own.T, domain.gram(domain.clipped(POINTS)), atol=1e-6 * domain.square)
    others = mapped.features(3 * GENERATOR.normal(size=(500, 4)))
    assert np.linalg.norm(others, axis=1).max() <= domain.radius * (1 + 1e-9)
    assert mapped.count <= 80


def test_a_record_is_mapped_by_itself():
    """What else is in the table does not change a record's coordinates."""
    mapped = Landmarks.at(Domain(RBF(1.0), 1.0, 4), POINTS)
    records = GENERATOR.normal(size=(50, 4))
    whole = mapped.features(records)
    assert np.allclose(whole[13], mapped.features(records[13:14])[0], atol=1e-10)
    changed = records.copy()
    changed[0] = 100.0
    assert np.array_equal(mapped.features(changed)[1:], whole[1:])


def test_coordinates_and_weights_of_the_kernel_say_the_same():
    """A model of coordinates is the expansion over landmarks that `span` returns."""
    domain = Domain(Polynomial(2), 1.0, 4)
    mapped = Landmarks.at(domain, POINTS)
    coefficients = GENERATOR.normal(size=(3, mapped.count))
    records = domain.clipped(GENERATOR.normal(size=(20, 4)))
    by_kernel = domain.kernel.block(records, mapped.points) @ mapped.model(coefficients).weights.T
    assert np.allclose(by_kernel, mapped.features(records) @ coefficients.T, atol=1e-5)


def test_repeated_landmarks_do_no_harm():
    """Equal landmarks count once."""
    mapped = Landmarks.at(Domain(RBF(1.0), 1.0, 4), np.repeat(POINTS[:10], 5, axis=0))
    assert mapped.count == 10


@given(st.integers(1, 40), st.integers(1, 6), st.floats(0.1, 10))
def test_public_points_lie_in_the_ball_and_are_the_same_for_everyone(count, width, norm):
    """Fixed points: inside the ball, different from each other, equal every time."""
    points = public_points(count, width, norm)
    assert points.shape == (count, width)
    assert np.linalg.norm(points, axis=1).max() <= norm * (1 + 1e-12)
    assert len(np.unique(points, axis=0)) == count
    assert np.array_equal(points, public_points(count, width, norm))


def test_public_numbers_spread_evenly():
    """They fill the interval: each twentieth has its share to within a tenth."""
    numbers = public_uniform(100_000)
    assert numbers.min() > 0
    assert numbers.max() < 1
    counts = np.histogram(numbers, 20, (0, 1))[0]
    assert np.all(np.abs(counts / 5_000 - 1) < 0.1)


@pytest.mark.parametrize("kernel", [RBF(0.7), Laplacian(0.4), RBF(0.7) + 2.0])
def test_fourier_features_approach_the_kernel_and_have_its_norm(kernel):
    """With many features inner products come near the kernel; norms are R exactly, whatever the record."""
    domain = Domain(kernel, 1.0, 3)
    mapped = FourierFeatures.of(domain, 20_000)
    records = GENERATOR.normal(size=(30, 3))
    features = mapped.features(records)
    assert np.allclose(features @ features.T, domain.gram(domain.clipped(records)), atol=0.06)
    assert np.allclose(np.linalg.norm(features, axis=1), domain.radius)
    assert features.shape[1] == mapped.count


@pytest.mark.parametrize("kernel", [Linear(), Polynomial(2), Linear() + 1.0, RBF(1.0) * 2.0])
def test_fourier_features_are_for_translation_invariant_kernels(kernel):
    """Other kernels are refused."""
    with pytest.raises(InvalidParameter, match="fourier"):
        FourierFeatures.of(Domain(kernel, 1.0, 2), 100)


@pytest.mark.parametrize("count", [1, 0, 2.5, True, None, np.ones((3, 2))])
def test_a_number_of_fourier_features_is_a_number(count):
    """Anything but a whole number from 2 on is refused."""
    with pytest.raises(InvalidParameter, match="number of features"):
        FourierFeatures.of(Domain(RBF(1.0), 1.0, 2), count)


@pytest.mark.parametrize(
    ("landmarks", "message"),
    [(None, "public points"), (0, "from 1"), (True, "public points"), (2.5, "public points"), ("all", "public points"),
     (np.ones((2, 3)), "4 columns"), (np.ones((0, 4)), "at least one row"), (np.ones(4), "table of numbers"),
     ([["a", "b", "c", "d"]], "table of numbers"), (np.full((2, 4), np.nan), "finite"), (POINTS, "training records"),
     (POINTS[3:9], "training records")],
)  # fmt: skip
def test_landmarks_that_cannot_be_are_refused(landmarks, message):
    """Wrong widths, empty or undefined tables, and the training records themselves or a view of them."""
    with pytest.raises(InvalidParameter, match=message):
        landmarks_given(landmarks, POINTS, Domain(RBF(1.0), 1.0, 4))


def test_a_copy_of_training_rows_is_not_noticed_because_that_would_tell():
    """Equal values are not compared: the refusal would depend on records."""
    domain = Domain(RBF(1.0), 1.0, 4)
    assert np.array_equal(landmarks_given(POINTS.copy(), POINTS, domain), POINTS)
    assert landmarks_given(sp.csr_array(POINTS), POINTS, domain).shape == POINTS.shape


def test_landmarks_of_a_function_that_is_no_kernel_are_refused():
    """Indefinite matrices show at the landmarks, which are public."""
    kernel = FunctionKernel(lambda x, z: 1.0 - float(np.sum((x - z) ** 2)), 1.0, vectors=True)
    with pytest.raises(InvalidParameter, match="positive semi-definite"):
        Landmarks.at(Domain(kernel, 1.0, 4), POINTS)
