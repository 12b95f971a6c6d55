"""A user's function of two records: what is public is refused, and what is secret never shows."""

import math
import threading
import warnings
from typing import Any

import numpy as np
import pytest

from tacit.accounting import Ledger
from tacit.budget import Budget
from tacit.erm.rows.rows import Rows
from tacit.errors import InvalidParameter, OddTerms
from tacit.kernels import (
    FunctionKernel,
    InteractiveKernelPredictor,
    PrivateKernelClassifier,
)
from tacit.kernels.kernel.domain import Domain
from tacit.kernels.maps.landmarks import Landmarks
from tacit.numerics import threads

METHODS = pytest.mark.parametrize("method", ["gaussian-process", "pinp"])


ERRORS = pytest.mark.parametrize(
    "error", [KeyError, ZeroDivisionError, RecursionError, MemoryError, OSError, SystemExit, GeneratorExit]
)


BAGS = [frozenset({("flu", 1)}), frozenset({("cold", 2)})]


def _counts(x, z):
    """Compare bags of (word, count) by the smaller counts: a kernel if counts are numbers."""
    ours, theirs = dict(x), dict(z)
    return sum(float(min(ours[word], theirs[word])) for word in ours.keys() & theirs.keys())


def _bag(x):
    return isinstance(x, frozenset) and all(isinstance(count, int) and count >= 0 for _, count in x)


def _fitted(kernel, records, landmarks, method="gaussian-process"):
    labels = np.arange(len(records)) % 2
    return InteractiveKernelPredictor(
        kernel, 1.0, 1e-6, classes=[0, 1], alpha=0.1, method=method, landmarks=landmarks
    ).fit(records, labels)  # fmt: skip


def _counting(called):
    """Compare by equality, and note what is compared."""

    def function(x, z):
        called.append((x, z))
        return 1.0 if x == z else 0.1

    return function


@METHODS
def test_no_answer_compares_a_point_with_a_record(method):
    """Points are compared with themselves and with landmarks: no answer can fail, or not, because of a record."""
    called: list[Any] = []
    predictor = _fitted(FunctionKernel(_counting(called), 1.0), ["r", "s", "t"] * 5, ["a", "b"], method)
    called.clear()
    predictor.answer(["p", "a"])
    assert {"p", "a"} <= {x for x, _ in called}
    assert not {"r", "s", "t"} & {each for pair in called for each in pair}


@METHODS
def test_a_point_that_fails_with_itself_is_refused(method):
    """Malformed points get one message, whatever the records are, which quotes nothing."""
    kernel = FunctionKernel(lambda x, z: float(x[0] * z[0]), 1.0)
    found = []
    for last in (1, 0):
        with pytest.raises(InvalidParameter, match="finite number") as caught:
            _fitted(kernel, [(1,), (1,), (last,)], [(1,)], method).answer([("1",)])
        assert caught.value.__context__ is None
        found.append(str(caught.value))
    assert found[0] == found[1]
    assert "TypeError" not in found[0]


@ERRORS
def test_no_record_makes_a_fit_fail(error):
    """A record for which the function raises, whatever it is, is fitted as one without features."""

    def function(x, z):
        if "odd" in (x, z):
            raise error
        return 1.0 if x == z else 0.1

    for last in ("a", "odd"):
        predictor = _fitted(FunctionKernel(function, 1.0), ["a", "b", last], ["a", "b"])
        assert predictor.answer(["a"]).guaranteed.all()


def _telling(x, z):
    """A function that is a kernel until "odd" comes: then it is neither symmetric nor positive semi-definite."""
    if "odd" in (x, z):
        return -1.0 if x == z else 1.0 if x == "odd" else -1.0
    return 1.0 if x == z else 0.1


@pytest.mark.parametrize("record", ["a", "odd"])
def test_no_record_is_refused_for_showing_that_a_function_is_no_kernel(record):
    """Asymmetric and indefinite at one record: before, one of two neighbours was fitted and the other refused."""
    kernel, labels = FunctionKernel(_telling, 1.0), np.arange(12) % 2
    records = ["a", "b", record] * 4
    assert _fitted(kernel, records, ["a", "b"]).answer(["a", "b"]).guaranteed.all()
    model = PrivateKernelClassifier(kernel, 1.0, landmarks=["a", "b"], classes=[0, 1]).fit(records, labels)
    assert np.all(np.isfinite(model.decision_function(["a", "odd"])))


@pytest.mark.parametrize("record", ["a", "odd"])
@METHODS
def test_what_rests_on_a_kernel_is_refused_whatever_the_records(record, method):
    """Without landmarks a function is sent to them, before it is called with any record."""
    called: list[Any] = []
    with pytest.raises(InvalidParameter, match="known to be positive semi-definite"):
        _fitted(FunctionKernel(_counting(called), 1.0), ["a", "b", record], None, method)
    assert called == []


@pytest.mark.parametrize("value", [1e100, -1e100, 1e-320, -0.0, 1.0])
@pytest.mark.parametrize("public", [1e-90, 1.0])
def test_coordinates_stay_within_the_radius_whatever_a_function_returns(value, public):
    """Tiny values among landmarks and huge ones at a record: before, the fit refused lengths beyond 1e150."""
    kernel = FunctionKernel(lambda x, z: value if "odd" in (x, z) else public if x == z else 0.0, 1e100)
    mapped = Landmarks.at(Domain(kernel, 1.0, 0), ["a", "b"])
    features = mapped.features(["a", "odd", "b"])
    assert np.all(np.abs(features) <= mapped.domain.radius)
    Rows.clipped(features, mapped.inner_domain.norm)


def test_warnings_of_a_function_are_not_shown():
    """Which record makes one is secret; where warnings are errors no record makes the fit fail."""

    def function(x, z):
        if "odd" in (x, z):
            warnings.warn("odd", stacklevel=1)
            np.log(np.zeros(1))
        return 1.0 if x == z else 0.1

    for action in ("always", "error"):
        with warnings.catch_warnings(record=True) as shown:
            warnings.simplefilter(action)
            warnings.simplefilter("ignore", OddTerms)
            _fitted(FunctionKernel(function, 1.0), ["a", "b", "odd"], ["a", "b"])
        assert shown == []


def test_an_interrupt_passes():
    """Pressing Ctrl-C, or ending the program, is no failure of a pair."""

    def function(x, z):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        FunctionKernel(function, 1.0).block(["a"], ["b"])


@pytest.mark.parametrize("value", [math.nan, math.inf, 1e101, "x", None])
def test_what_is_no_number_counts_as_nothing_for_records_and_is_refused_for_points(value):
    """A record with such a K(x, x) has no features; a point is refused, and neither message nor context quotes it."""
    kernel = FunctionKernel(lambda x, z: value if "odd" in (x, z) else 1.0, 1.0)
    assert np.array_equal(kernel.block(["odd", "a"], ["a", "odd"]), [[0, 0], [1, 0]])
    assert np.array_equal(kernel.diagonal(["odd", "a"]), [0, 1])
    for refused in (lambda: kernel.public_diagonal(["a", "odd"]), lambda: kernel.public_block(["a"], ["odd"])):
        with pytest.raises(InvalidParameter, match="finite number") as caught:
            refused()
        assert "odd" not in str(caught.value)
        assert caught.value.__context__ is None


def test_a_record_without_features_does_not_move_the_others():
    """It is mapped by itself: the others have the coordinates that they have without it."""
    mapped = Landmarks.at(Domain(FunctionKernel(_counts, 50.0, accepts=_bag), 1.0, 0), BAGS)
    bags = [frozenset({("flu", 1)}), frozenset({("flu", 3), ("cold", 2)})]
    found = mapped.features([*bags, frozenset({("flu", "3")})])
    assert np.array_equal(found[:2], mapped.features(bags))
    assert np.array_equal(found[2], [0, 0])


@METHODS
def test_points_that_are_not_accepted_are_refused(method):
    """A point outside of what the function was declared for is refused though the function would take it."""
    predictor = _fitted(FunctionKernel(_counts, 5.0, accepts=_bag), BAGS * 2, BAGS, method)
    with pytest.raises(InvalidParameter, match="must accept the points"):
        predictor.answer([frozenset({("hiv", "5")})])


def test_a_function_is_never_given_what_it_does_not_accept():
    """Neither by records nor by points, and an `accepts` that raises says no."""
    seen = set()
    kernel = FunctionKernel(lambda x, z: seen.update((x, z)) or 1.0, 1.0, accepts=lambda x: 1 / x > 0)
    assert np.array_equal(kernel.block([0, 1, -1], [2, 0]), [[0, 0], [1, 0], [0, 0]])
    assert seen == {1, 2}


def _taylor(x, z):
    """exp(x.z) - 1 - x.z, a kernel whose rounding makes it negative for tiny x."""
    dot = sum(a * b for a, b in zip(x, z, strict=True))
    return math.exp(dot) - 1 - dot


def test_roundings_of_squares_are_no_refusal():
    """A kernel within its declared error is fitted and asked at records where the computed K(x, x) is negative."""
    tiny = (1e-8, 2e-8)
    assert -1e-15 < _taylor(tiny, tiny) < 0
    public = [(0.4, 0.1), (0.1, 0.8)]
    predictor = _fitted(FunctionKernel(_taylor, 1.0), [(0.5, 0.1), (0.2, 0.9), tiny], public)
    answers = predictor.answer([tiny])
    assert np.isfinite(answers.values).all()
    assert np.isfinite(answers.standard_deviation).all()
    assert np.array_equal(FunctionKernel(_taylor, 1.0).public_diagonal([tiny]), [0.0])


def test_squares_below_the_error_are_refused_at_points():
    """The limit is eight times the declared error, as for the accuracy of all values."""
    for size, refused in ((7e-13, False), (9e-13, True)):
        kernel = FunctionKernel(lambda x, z, size=size: -2 * size, 2.0)
        if refused:
            with pytest.raises(InvalidParameter, match="positive semi-definite"):
                kernel.public_diagonal(["a"])
        else:
            assert np.array_equal(kernel.public_diagonal(["a"]), [0.0])


def test_sums_and_products_refuse_what_their_parts_refuse():
    """An intercept does not hide a point that the function fails for, and records still have it."""
    kernel = 2.0 * (FunctionKernel(lambda x, z: math.nan if "odd" in (x, z) else 0.5, 1.0) + 1.0)
    assert np.array_equal(kernel.block(["a", "odd"], ["a"]), [[3], [2]])
    assert np.array_equal(kernel.public_block(["a"], ["b"]), [[3]])
    assert np.array_equal(kernel.public_diagonal(["a"]), [3])
    for refused in (lambda: kernel.public_block(["a"], ["odd"]), lambda: kernel.public_diagonal(["odd"])):
        with pytest.raises(InvalidParameter, match="finite number"):
            refused()


def test_classifiers_over_landmarks_take_any_record():
    """A record that the function fails for does not stop a released model either."""
    kernel = FunctionKernel(_counts, 5.0)
    records = [frozenset({("flu", 1)}), frozenset({("flu", "x")}), frozenset({("cold", 2)})] * 10
    fitted = PrivateKernelClassifier(
        kernel, 1.0, 1e-6, landmarks=[frozenset({("flu", 1)}), frozenset({("cold", 1)})], classes=[0, 1]
    ).fit(records, np.arange(30) % 2)
    assert len(fitted.predict(records[:3])) == 3


def test_a_function_is_called_in_one_thread():
    """However many records there are: it may keep a buffer of its own."""
    seen = set()

    def product(x, z):
        seen.add(threading.get_ident())
        return float(x[0] * z[0])

    mapped = Landmarks.at(Domain(FunctionKernel(product, 1.0, vectors=True), 1.0, 1), np.array([[1.0]]))
    monkey = np.random.default_rng(0).uniform(size=(3_000, 1))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(threads, "_WORTH_ARRANGING", 1)
        patch.setattr(threads, "_WORTH_SHARING", 1)
        mapped.features(monkey)
    assert seen == {threading.get_ident()}


def test_landmarks_that_are_not_accepted_are_refused():
    """By a classifier and a predictor alike."""
    kernel = FunctionKernel(_counts, 5.0, accepts=_bag)
    with pytest.raises(InvalidParameter, match="accept"):
        PrivateKernelClassifier(kernel, 1.0, 1e-6, landmarks=[*BAGS, "bad"]).fit(BAGS * 3, [0, 1] * 3)
    with pytest.raises(InvalidParameter, match="accept"):
        _fitted(kernel, BAGS * 3, [*BAGS, "bad"])


@pytest.mark.parametrize(
    ("function", "message"),
    [(lambda x, z: 1.0 if x == z else 0.5 if x < z else -0.5, "symmetric"),
     (lambda x, z: 0.1 if x == z else 1.0, "positive semi-definite")],
)  # fmt: skip
def test_a_function_that_landmarks_show_to_be_no_kernel_is_refused_before_the_charge(function, message, tmp_path):
    """Landmarks are public, so that what they show can be said."""
    ledger = Ledger.create(f"sqlite:///{tmp_path}/l.db", name="l", budget=Budget(5.0, 1e-3))
    with pytest.raises(InvalidParameter, match=message):
        PrivateKernelClassifier(FunctionKernel(function, 1.0), 1.0, 1e-6, landmarks=["a", "b", "c"], ledger=ledger).fit(
            ["r", "s", "r"], [0, 1, 0]
        )
    assert ledger.spent.epsilon == 0


def test_points_may_come_from_numpy():
    """Texts and numbers of numpy's types are the points that they stand for."""
    predictor = _fitted(FunctionKernel(lambda x, z: float(x == z), 1.0), np.array(["a", "b", "c"]), ["a", "b"])
    values = predictor.answer(["a", "b"]).values
    assert np.array_equal(predictor.answer(np.array(["a", "b"])).values, values)
    assert np.array_equal(predictor.answer([np.str_("a"), np.str_("b")]).values, values)
