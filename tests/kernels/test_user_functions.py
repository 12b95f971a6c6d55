"""A user's function that fails: what is public is refused, and what is secret never shows in an error."""

import math
import threading
from typing import Any

import numpy as np
import pytest

from tacit.accounting import Ledger
from tacit.budget import Budget
from tacit.erm import crew
from tacit.errors import InvalidParameter
from tacit.kernels import FunctionKernel, InteractiveKernelPredictor, Kernel, Linear, PrivateKernelClassifier
from tacit.kernels.domain import Domain
from tacit.kernels.landmarks import Landmarks
from tacit.kernels.model import KernelModel

METHODS = pytest.mark.parametrize("method", ["gaussian-process", "pinp"])
ERRORS = pytest.mark.parametrize(
    "error", [KeyError, ZeroDivisionError, RecursionError, MemoryError, OSError, SystemExit, GeneratorExit]
)


def _counts(x, z):
    """Compare bags of (word, count) by the smaller counts: a kernel if counts are numbers."""
    ours, theirs = dict(x), dict(z)
    return sum(float(min(ours[word], theirs[word])) for word in ours.keys() & theirs.keys())


def _bag(x):
    return isinstance(x, frozenset) and all(isinstance(count, int) and count >= 0 for _, count in x)


def _fitted(kernel, records, method="gaussian-process", landmarks=None):
    labels = np.arange(len(records)) % 2
    return InteractiveKernelPredictor(
        kernel, 1.0, 1e-6, classes=[0, 1], alpha=0.1, method=method, landmarks=landmarks
    ).fit(records, labels)  # fmt: skip


def _sure(kernel, record, method):
    """Fit many copies of one record with one label, with so little noise that PINP corrects itself at once."""
    return InteractiveKernelPredictor(
        kernel, 1e3, 1e-2, classes=[0, 1], alpha=0.5, method=method, queries=10, failure=0.9
    ).fit([record] * 300, np.ones(300, dtype=int))  # fmt: skip


def _outcome(kernel, records, points, method="gaussian-process"):
    """Return what an answer shows without its noise: which points have one, or the error and what it carries."""
    predictor = _fitted(kernel, records, method)
    try:
        return predictor.answer(points).guaranteed.tolist()
    except InvalidParameter as error:
        return str(error), error.__context__


@METHODS
def test_a_point_that_fails_for_one_record_is_answered_like_any_other(method):
    """Neighbours that differ in the one record for which the asked point makes the function raise: both answer."""
    usual = [frozenset({("flu", 1)}), frozenset({("cold", 2)})]
    point = [frozenset({("hiv", "5")})]
    found = [
        _outcome(FunctionKernel(_counts, 5.0), [*usual, frozenset({(w, 1)})], point, method) for w in ("flu", "hiv")
    ]
    assert found == [[True], [True]]


@METHODS
def test_a_point_that_fails_with_itself_is_refused_before_records_are_looked_at(method):
    """Malformed points get one message, whatever the records, and the function is not called with a record."""
    called: list[Any] = []

    def product(x, z):
        called.append((x, z))
        return float(x[0] * z[0])

    kernel = FunctionKernel(product, 1.0)
    found = [_outcome(kernel, [(1,), (1,), (last,)], [("1",)], method) for last in (1, 0)]
    assert found[0] == found[1]
    assert "TypeError" not in found[0][0]
    assert found[0][1] is None
    predictor = _fitted(kernel, [(1,), (1,)], method)
    called.clear()
    with pytest.raises(InvalidParameter, match="finite number"):
        predictor.answer([("1",)])
    assert all(("1",) in pair and pair[0] == pair[1] for pair in called)


def test_a_point_that_fails_with_an_earlier_point_is_refused():
    """Points are public, so a pair of them may be refused: the covariance of answers must be known."""
    predictor = _fitted(FunctionKernel(_counts, 5.0), [frozenset({("flu", 5)})] * 4)
    predictor.answer([frozenset({("hiv", 5), ("flu", 5)})])
    with pytest.raises(InvalidParameter, match="each pair"):
        predictor.answer([frozenset({("hiv", "5")})])


@pytest.mark.parametrize("corrected", [True, False])
def test_no_error_tells_whether_a_point_was_corrected(corrected):
    """PINP answers a point that fails with one asked before it, in the same question, whether that was corrected."""
    predictor = _sure(FunctionKernel(_counts, 5.0), frozenset({("flu" if corrected else "cold", 5)}), "pinp")
    left = predictor.updates_left_
    points = [frozenset({("hiv", 5), ("flu", 5)}), frozenset({("hiv", "5")})]
    assert predictor.answer(points).guaranteed.all()
    assert predictor.updates_left_ == left - corrected


@METHODS
@ERRORS
def test_no_kind_of_error_at_a_record_shows(method, error):
    """Whatever the function raises for a pair of a point and a record, also for lack of stack or memory."""

    def function(x, z):
        if {x, z} == {"secret", "point"}:
            raise error("secret")
        return 1.0 if x == z else 0.1

    kernel = FunctionKernel(function, 1.0)
    assert _outcome(kernel, ["a", "b", "secret"], ["point", "b"], method) == [True, True]


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


@pytest.mark.parametrize("landmarks", [None, ["a", "b"]])
@ERRORS
def test_no_record_makes_a_fit_fail(landmarks, error):
    """A record for which the function raises is fitted as one without features, with and without landmarks."""

    def function(x, z):
        if "odd" in (x, z):
            raise error
        return 1.0 if x == z else 0.1

    for last in ("a", "odd"):
        predictor = _fitted(FunctionKernel(function, 1.0), ["a", "b", last], landmarks=landmarks)
        assert predictor.answer(["a"]).guaranteed.all()


def test_a_record_without_features_does_not_move_the_others():
    """It is mapped by itself: the matrix of the other records is what it is without it."""
    kernel = FunctionKernel(_counts, 50.0, accepts=_bag)
    bags = [frozenset({("flu", 1)}), frozenset({("flu", 3), ("cold", 2)})]
    found = Domain(kernel, 1.0, 0).gram([*bags, frozenset({("flu", "3")})])
    assert np.array_equal(found, [[1, 1, 0], [1, 5, 0], [0, 0, 0]])


@METHODS
def test_points_that_are_not_accepted_are_refused(method):
    """A point outside of what the function was declared for is refused though the function would take it."""
    point = [frozenset({("hiv", "5")})]
    records = [frozenset({("flu", 1)}), frozenset({("hiv", 2)})]
    found = _outcome(FunctionKernel(_counts, 5.0, accepts=_bag), records, point, method)
    assert "must accept the points" in found[0]


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
    predictor = _fitted(FunctionKernel(_taylor, 1.0), [(0.5, 0.1), (0.2, 0.9), tiny])
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


class _Own(Kernel):
    """A class of a user's own that fails, or returns nonsense, for blocks that hold the number 7."""

    def __init__(self, nonsense: Any) -> None:
        self.nonsense = nonsense

    def bound(self, norm: float) -> float:
        return 1.0

    def block(self, left: Any, right: Any) -> Any:
        found = Linear().block(left, right)
        if callable(self.nonsense) and (right == 7).any():
            return self.nonsense()
        return np.where((right == 7).any(axis=1)[None, :], 0.0 if callable(self.nonsense) else self.nonsense, found)

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
def test_values_of_a_model_are_finite_whatever_a_kernel_does(nonsense, counted):
    """For a class of kernels too, a pair that fails counts as 0 and the other pairs as they are."""
    records = np.array([[0.5], [7.0], [0.25]])
    model = KernelModel(Domain(_Own(nonsense), 1.0, 1), records, np.array([1.0, 10.0, 2.0]))
    assert np.array_equal(model.values(np.array([[1.0], [0.5]])), np.array([1.0, 0.5]) + 10 * counted)


@pytest.mark.parametrize("nonsense", [math.nan, math.inf])
def test_points_at_which_a_class_of_kernels_is_not_finite_are_refused(nonsense):
    """The public side of any kernel is refused by default where the secret side counts as 0."""
    kernel, points = _Own(nonsense), np.array([[0.5], [7.0]])
    for refused in (lambda: kernel.public_block(points, points), lambda: kernel.public_diagonal(points)):
        with pytest.raises(InvalidParameter, match="finite numbers at all points"):
            refused()
    assert np.array_equal(kernel.public_block(points[:1], points[:1]), [[0.25]])


@METHODS
def test_what_is_answered_is_the_point_that_is_remembered(method):
    """A list is the same point as a tuple, so the function sees the tuple, though it can tell them apart."""
    kernel = FunctionKernel(lambda x, z: float(type(x) is type(z)), 1.0)
    predictor = _sure(kernel, ("a",), method)
    listed, tuples = predictor.answer([["a"]]).values, predictor.answer([("a",)]).values
    assert np.array_equal(listed, tuples)
    assert listed[0] > 0.3


def test_classifiers_over_landmarks_take_any_record():
    """A record that the function fails for does not stop a released model either."""
    kernel = FunctionKernel(_counts, 5.0)
    records = [frozenset({("flu", 1)}), frozenset({("flu", "x")}), frozenset({("cold", 2)})] * 10
    fitted = PrivateKernelClassifier(
        kernel, 1.0, 1e-6, landmarks=[frozenset({("flu", 1)}), frozenset({("cold", 1)})], classes=[0, 1]
    ).fit(records, np.arange(30) % 2)
    assert len(fitted.predict(records[:3])) == 3


def _letters(x, z):
    """Compare texts by the bytes they share: a kernel on texts that can be encoded."""
    return float(len(set(x.encode()) & set(z.encode())))


def test_no_error_tells_whether_the_last_correction_was_used():
    """A point that cannot be compared is refused with the question, whether or not noise left corrections for it."""
    bags = FunctionKernel(_counts, 5.0, accepts=_bag)
    texts = FunctionKernel(_letters, 9.0)
    for kernel, record, odd in ((bags, frozenset({("a", 1)}), {("a", 1)}), (texts, "abc", "\ud83d\ude00")):
        predictor = InteractiveKernelPredictor(
            kernel, 1e3, 1e-2, classes=[0, 1], alpha=0.5, method="pinp", queries=10, failure=0.9
        ).fit([record] * 300, np.ones(300, dtype=int))  # fmt: skip
        while predictor.updates_left_ > 1:
            before = predictor.updates_left_
            predictor.answer([record] if before == predictor._session.law.updates else [_other(record, before)])
            if predictor.updates_left_ == before:
                break
        # What is asked comes back from memory in a form that is accepted: it is answered, not refused.
        assert len(predictor.answer([record, odd])) == 2
    with pytest.raises(InvalidParameter, match="accept"):
        predictor.answer(["abc", "\ud800"])


def _other(record, number):
    return record + "xyz"[: number % 3] if isinstance(record, str) else frozenset({("a", 1), (f"b{number}", 1)})


@pytest.mark.parametrize("odd", ["deep", "memory", "own"])
def test_a_record_that_cannot_be_copied_has_no_features(odd):
    """It is fitted and answered around, and what its copying raises is not seen."""

    class Own:
        def __deepcopy__(self, _):
            raise ValueError("secret diagnosis")

    deep = ()
    for _ in range(400):
        deep = (deep,)
    record = {"deep": deep, "memory": memoryview(b"abc"), "own": Own()}[odd]
    predictor = _fitted(FunctionKernel(lambda x, z: float(x == z), 1.0), ["a", "b", "c", record])
    assert len(predictor.answer(["a", "q"])) == 2


def test_a_function_is_called_in_one_thread():
    """However many records there are: it may keep a buffer of its own."""
    threads = set()

    def product(x, z):
        threads.add(threading.get_ident())
        return float(x[0] * z[0])

    mapped = Landmarks.at(Domain(FunctionKernel(product, 1.0, vectors=True), 1.0, 1), np.array([[1.0]]))
    monkey = np.random.default_rng(0).uniform(size=(3_000, 1))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(crew, "_WORTH_ARRANGING", 1)
        patch.setattr(crew, "_WORTH_SHARING", 1)
        mapped.features(monkey)
    assert threads == {threading.get_ident()}


@pytest.mark.parametrize("method", ["landmarks", "tddl", "matched", "tdil"])
def test_landmarks_that_are_not_accepted_are_refused(method):
    """And nothing is charged."""
    kernel = FunctionKernel(_counts, 5.0, accepts=_bag)
    bags = [frozenset({("a", 1)}), frozenset({("b", 2)})]
    with pytest.raises(InvalidParameter, match="accept"):
        PrivateKernelClassifier(kernel, 1.0, 1e-6, landmarks=[*bags, "bad"], method=method).fit(bags * 3, [0, 1] * 3)
    with pytest.raises(InvalidParameter, match="accept"):
        _fitted(kernel, bags * 3, landmarks=bags).answer(["bad"])


@pytest.mark.parametrize("method", ["matched", "tdil"])
def test_a_function_that_landmarks_show_to_be_no_kernel_is_refused_before_the_charge(method, tmp_path):
    """Asymmetric, or not positive semi-definite, at the landmarks."""
    ledger = Ledger.create(f"sqlite:///{tmp_path}/l.db", name="l", budget=Budget(5.0, 1e-3))
    kernel = FunctionKernel(lambda x, z: 1.0 if x == z or {x, z} == {"r", "s"} else 0.5 if x < z else -0.5, 1.0)
    with pytest.raises(InvalidParameter):
        PrivateKernelClassifier(
            kernel, 1.0, 1e-6, landmarks=["a", "b", "c"], method=method, rounds=2, ledger=ledger
        ).fit(["r", "s", "r"], [0, 1, 0])
    assert ledger.spent.epsilon == 0


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


def test_points_may_come_from_numpy():
    """Texts and numbers of numpy's types are the points that they stand for."""
    predictor = _fitted(FunctionKernel(lambda x, z: float(x == z), 1.0), np.array(["a", "b", "c"]))
    values = predictor.answer(["a", "b"]).values
    assert np.array_equal(predictor.answer(np.array(["a", "b"])).values, values)
    assert np.array_equal(predictor.answer([np.str_("a"), np.str_("b")]).values, values)
    bags = _fitted(FunctionKernel(lambda x, z: float(len(x & z)), 9.0), [frozenset({1, 2}), frozenset({3})])
    numbers = frozenset(np.array([1, 2]))
    assert np.array_equal(bags.answer([numbers]).values, bags.answer([frozenset({1, 2})]).values)
