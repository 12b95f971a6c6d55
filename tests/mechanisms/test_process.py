"""A Gaussian process release: its covariance, its privacy against adversarial points, and its grid."""

import math

import numpy as np
import pytest
from scipy import stats
from scipy.linalg import solve_triangular

from support.statistical import FALSE_ALARM, sample_size
from tacit.accounting import gaussian_delta, satisfies
from tacit.budget import Budget
from tacit.errors import InvalidParameter
from tacit.kernels import RBF, Linear
from tacit.mechanisms.process import GaussianProcess, SamplePath
from tacit.noise import SystemEntropy
from tacit.releases import release

GENERATOR = np.random.default_rng(11)
LAW = GaussianProcess(Budget(1, 1e-6), 1.0, 1.0, 1e-14, 1e-13, 100.0, most=2_000)


class Secret:
    """A function of points that counts how often it is asked."""

    def __init__(self, scale=3.0):
        self.asked, self.scale = 0, scale

    def values(self, points):
        """Return a wave."""
        self.asked += len(points)
        return self.scale * np.sin(7 * points[:, 0])


def _points(count, width=3):
    rows = GENERATOR.normal(size=(count, width))
    return rows / np.linalg.norm(rows, axis=1, keepdims=True)


def _answers(law, kernel, points, batch, source=None):
    """Ask one path all points in batches; return the noise and the path."""
    secret = Secret()
    path = law.randomise(secret, source or SystemEntropy())
    for start in range(0, len(points), batch):
        part = points[start : start + batch]
        for drawn in path.draw(part, kernel.block(part, points[:start]), kernel.block(part, part)):
            path.adopt(drawn)
    return np.array(path._answers) - Secret().values(points), path


def _squared_normals(noise, gram, sigma):
    """Return the sum of squares of the noise, whitened by an independent factorisation."""
    factor = np.linalg.cholesky(gram)
    return float(np.sum((solve_triangular(factor, noise, lower=True) / sigma) ** 2))


def _chi_square_fits(total, count):
    """Whether a sum of squares may come from so many standard normals (exact, false alarm 1e-9)."""
    low, high = stats.chi2.ppf(FALSE_ALARM / 2, count), stats.chi2.isf(FALSE_ALARM / 2, count)
    return low <= total <= high


@pytest.mark.stats
@pytest.mark.parametrize(("kernel", "batch"), [(RBF(3.0), 250), (RBF(3.0), 1), (Linear(), 100)])
def test_noise_has_the_covariance_of_the_kernel(kernel, batch):
    """Whitened by sigma^2 (K + jitter I) the noise is standard normal (exact chi-square, false alarm 1e-9).

    The twin: noise 10 % too small is rejected. The linear kernel is singular from the fourth point on.
    """
    total, count = 0.0, 0
    # A few long paths, which grow beyond one chunk of the triangle, and many short ones, which are quicker.
    for length in sample_size(1) * ([500] * 2 + [100] * 60 if batch > 1 else [400] * 3):
        points = _points(length)
        noise, path = _answers(LAW, kernel, points, batch)
        gram = kernel.block(points, points) + LAW.jitter * np.eye(len(points))
        total += _squared_normals(noise, gram, LAW.sigma)
        count += len(path)
    assert _chi_square_fits(total, count)
    if count >= 6_000:
        assert not _chi_square_fits(0.81 * total, count)


@pytest.mark.stats
def test_directions_of_little_kernel_have_little_noise():
    """The three coordinates that answers of a linear kernel determine have variance sigma^2 each (false alarm 1e-9)."""
    total, points = 0.0, _points(20)
    runs = sample_size(150)
    for _ in range(runs):
        noise, _ = _answers(LAW, Linear(), points, 20)
        fitted = np.linalg.lstsq(points, noise, rcond=None)[0]
        total += float(np.sum((fitted / LAW.sigma) ** 2))
    # Least squares adds the jitter's part, a millionth over seven.
    assert _chi_square_fits(total, 3 * runs)
    assert not _chi_square_fits(0.5 * total, 3 * runs)


def _largest_shift(law, kernel, points):
    """Return the largest shift that replacing a record can cause in answers at these points."""
    _, path = _answers(law, kernel, points, 100)
    best = 0.0
    for place in range(0, len(points), 7):
        moved = law.sensitivity * kernel.block(points, points[place : place + 1])[:, 0]
        moved /= math.sqrt(kernel.diagonal(points)[place])
        best = max(best, float(np.linalg.norm(path.triangle.solved(moved[None]))) / law.sigma)
    return best


@pytest.mark.parametrize("epsilon", [0.1, 1.0, 4.0])
@pytest.mark.parametrize("repeated", [False, True])
def test_no_sequence_of_points_shifts_answers_beyond_the_budget(epsilon, repeated):
    """The worst record's shift keeps (epsilon, delta) exactly, and with 1 % less noise it would not."""
    law = GaussianProcess(Budget(epsilon, 1e-6), 0.5, 1.0, 1e-14, 1e-13, 10.0, most=500)
    points = _points(300)
    points = np.repeat(points[:60], 5, axis=0) if repeated else points
    shift = _largest_shift(law, RBF(2.0), points)
    assert shift <= 1 / law.multipliers.drawn
    assert gaussian_delta(epsilon, shift) <= 1e-6
    assert gaussian_delta(epsilon, shift * 1.01) > 1e-6


def test_jitter_left_out_of_the_draw_would_lose_more():
    """Repeated points keep the bound; with the jitter inside the solve only they would exceed it."""
    law, count = LAW, 200
    points = np.repeat(_points(1), count, axis=0)
    assert _largest_shift(law, RBF(2.0), points) <= 1 / law.multipliers.drawn
    # Each further answer then has variance sigma^2 (1 - 1/(1 + j/t)) instead of that plus sigma^2 j.
    sizes = np.arange(1, count)
    wrong = 1 + law.jitter * float(np.sum(1 / (sizes + law.jitter)))
    assert wrong > 1 + 5 * law.jitter


def test_the_event_keeps_the_budget_and_errors_are_paid_for():
    """The event satisfies the budget; worse accuracy of values or kernel means more noise, never less."""
    assert satisfies(LAW.event, LAW.budget)
    ideal = LAW.sensitivity * LAW.multipliers.drawn
    assert ideal < LAW.sigma < 1.001 * ideal
    worse = GaussianProcess(Budget(1, 1e-6), 1.0, 1.0, 1e-14, 1e-9, 100.0, most=2_000)
    assert worse.sigma > LAW.sigma
    assert LAW.units(math.sqrt(LAW.jitter)) >= 2**26
    assert math.log2(LAW.grid) == int(math.log2(LAW.grid))


def test_answers_lie_on_the_grid():
    """Every answer is a multiple of a public power of two, so that low bits tell nothing."""
    noise, path = _answers(LAW, RBF(1.0), _points(50), 10)
    assert len(noise) == 50
    for answer in path._answers:
        assert (answer / LAW.grid) % 1 == 0


def test_a_rehearsal_repeats_and_a_release_does_not():
    """The same seed gives the same path; without one every path has its own noise."""
    points, kernel = _points(5), RBF(1.0)
    cross, corner = np.zeros((5, 0)), kernel.block(points, points)
    first, again = (
        [drawn.answer for drawn in release(LAW, Secret(), label="x", random_state=3).value.draw(points, cross, corner)]
        for _ in range(2)
    )
    assert first == again
    private = release(LAW, Secret(), label="x")
    assert private.private
    assert [drawn.answer for drawn in private.value.draw(points, cross, corner)] != first


def test_a_path_stops_at_its_limit_and_extrapolates():
    """Beyond `most` points nothing is drawn; what answers say elsewhere touches no function."""
    law = GaussianProcess(Budget(1, 1e-6), 1.0, 1.0, 1e-14, 1e-13, 100.0, most=20)
    points, kernel = _points(21), RBF(0.2)
    _, path = _answers(law, kernel, points[:20], 7)
    with pytest.raises(InvalidParameter, match="20 points"):
        path.draw(points[20:], kernel.block(points[20:], points[:20]), kernel.block(points[20:], points[20:]))
    values, rest = path.extrapolated(kernel.block(points, points[:20]), np.ones(21))
    assert values[:20] == pytest.approx(np.array(path._answers), rel=0.05, abs=0.3 * law.sigma)
    assert np.all(rest >= 0)
    empty = SamplePath(law, None, "x")
    assert np.array_equal(empty.extrapolated(np.zeros((2, 0)), np.ones(2))[0], [0, 0])
    with pytest.raises(InvalidParameter, match="repeat"):
        empty.draw(points[:1], np.zeros((1, 0)), np.ones((1, 1)))


@pytest.mark.parametrize(
    ("field", "value"),
    [("sensitivity", 0.0), ("sensitivity", math.inf), ("square", 0.0), ("square", math.nan), ("most", 0), ("most", 2.5),
     ("value_error", -1.0), ("value_error", 1e10), ("kernel_error", 1e-8), ("budget", Budget(1)),
     ("budget", Budget(1e-7, 1e-9)), ("most", 10**6)],
)  # fmt: skip
def test_what_cannot_be_certified_is_refused_at_calibration(field, value):
    """No delta, too little epsilon, inaccurate kernels and impossible bounds are refused before any release."""
    fields = {"budget": Budget(1, 1e-6), "sensitivity": 1.0, "square": 1.0, "kernel_error": 1e-14,
              "value_error": 1e-13, "reach": 1.0, "most": 1000}  # fmt: skip
    if (field, value) == ("value_error", 1e10):
        assert GaussianProcess(**{**fields, field: value}).sigma > 1e10
        return
    with pytest.raises(InvalidParameter):
        GaussianProcess(**{**fields, field: value})


def test_only_functions_of_points_are_released():
    """What has no values is refused before the charge."""
    with pytest.raises(InvalidParameter, match=r"values\(points\)"):
        release(LAW, 3.0, label="x")


def test_a_path_of_a_function_that_fails_to_be_a_number_goes_on():
    """NaN and infinity, which no value within its error is, are answered like numbers within reach, unwarned."""

    class Broken:
        def values(self, points):
            return np.array([math.nan, math.inf, -math.inf, 5e-324])[: len(points)]

    points = _points(4)
    with np.errstate(all="raise"):
        path = LAW.randomise(Broken(), SystemEntropy())
        answers = [drawn.answer for drawn in path.draw(points, np.empty((4, 0)), np.eye(4))]
    assert np.all(np.isfinite(answers))
    assert np.all(np.abs(np.array(answers) - [0, 100, -100, 0]) < 100 * LAW.sigma)


def test_public_constants_in_single_precision_become_floats_where_they_enter():
    """Whatever kind of number they are given as, the process calibrates in double precision."""
    single = GaussianProcess(Budget(1, 1e-6), *map(np.float32, (0.1, 1.0, 1e-14, 1e-13, 100.0)), most=np.int64(2_000))
    for name in ("sensitivity", "square", "kernel_error", "value_error", "reach", "jitter", "sigma", "grid"):
        assert type(getattr(single, name)) is float
    assert type(single.most) is int
    double = GaussianProcess(
        Budget(1, 1e-6), *(float(np.float32(each)) for each in (0.1, 1.0, 1e-14, 1e-13, 100.0)), most=2_000
    )
    assert single == double
    assert single.sigma == double.sigma
