"""The interactive predictor: charged once, consistent for ever, and never drawing twice for one question."""

import copy
import multiprocessing
import os
import pickle
import sys
import threading
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.exceptions import NotFittedError

from support.statistical import FALSE_ALARM
from tacit.accounting import Ledger
from tacit.budget import Budget
from tacit.errors import BudgetExceeded, InvalidParameter, LedgerBusy, LedgerCorrupt
from tacit.kernels import RBF, FunctionKernel, InteractiveKernelPredictor, Linear, Polynomial
from tacit.kernels.fit.problem import KernelModel

GENERATOR = np.random.default_rng(17)
COUNT = 400
X = GENERATOR.normal(size=(COUNT, 3))
X /= np.maximum(1, np.linalg.norm(X, axis=1, keepdims=True))
Y = np.where(X[:, 0] + X[:, 1] ** 2 > 0.2, "yes", "no")
Z = GENERATOR.normal(size=(40, 3))


def _predictor(**changes: Any) -> InteractiveKernelPredictor:
    given = {"kernel": RBF(1.0) + 0.5, "epsilon": 1.0, "delta": 1e-6, "data_norm": 1.0, **changes}
    return InteractiveKernelPredictor(**given)


@pytest.fixture
def ledger(tmp_path: Path) -> Ledger:
    """Give an account with room for one fit and a half."""
    return Ledger.create(f"sqlite:///{tmp_path}/ledger.db", name="test", budget=Budget(1.5, 1e-5))


@pytest.mark.parametrize(
    "changes",
    [{}, {"loss": "huber"}, {"loss": "hinge", "alpha": 0.1}, {"kernel": Polynomial(3)}, {"landmarks": 30},
     {"method": "pinp", "alpha": 0.1}, {"method": "pinp", "alpha": 0.1, "constants": "published"},
     {"kernel": Linear()}],
)  # fmt: skip
def test_one_fit_is_charged_once_for_all_answers(changes: dict[str, Any], ledger: Ledger) -> None:
    """The fit spends the budget; no answer spends anything more."""
    predictor = _predictor(ledger=ledger, **changes).fit(X, Y)
    assert ledger.spent == Budget(1, 1e-6)
    for _ in range(3):
        answers = predictor.answer(Z)
        assert np.all(answers.guaranteed)
        assert np.all(answers.error > 0)
        assert len(answers) == len(Z)
    assert set(predictor.predict(Z)) <= {"yes", "no"}
    assert len(ledger.entries()) == 1
    assert predictor.release_.private
    assert "replace-one" in predictor.release_.guarantee


def test_the_same_point_gets_the_same_answer() -> None:
    """In batches, one by one, repeated within a batch, before and after clipping, and as minus zero."""
    predictor = _predictor().fit(X, Y)
    first = predictor.answer(Z).values
    assert np.array_equal(predictor.answer(Z[::-1]).values, first[::-1])
    assert np.array_equal([predictor.answer(z[None]).values[0] for z in Z], first)
    doubled = predictor.answer(np.repeat([[0.1, 0.0, 0.2]], 5, axis=0)).values
    assert len(set(doubled)) == 1
    assert predictor.answer([[0.1, -0.0, 0.2]]).values[0] == doubled[0]
    far = np.array([[3.0, 4.0, 0.0]])
    assert predictor.answer(far).values[0] == predictor.answer(2 * far).values[0]


@pytest.mark.stats
def test_answers_deviate_as_their_error_bar_says() -> None:
    """Over fits of one data set, answers at one point have the stated standard deviation (chi-square, alarm 1e-9)."""
    from scipy import stats

    exact = _predictor(epsilon=1e5, alpha=0.1).fit(X[:60], Y[:60]).answer(Z[:1]).values[0]
    total, runs = 0.0, 150
    for _ in range(runs):
        found = _predictor(alpha=0.1).fit(X[:60], Y[:60]).answer(Z[:1])
        total += ((found.values[0] - exact) / found.standard_deviation[0]) ** 2
    low, high = stats.chi2.ppf(FALSE_ALARM / 2, runs), stats.chi2.isf(FALSE_ALARM / 2, runs)
    assert low <= total <= high
    # The twins: half of the deviation, and twice as much, would be noticed.
    assert not low <= total / 4 <= high
    assert not low <= total * 4 <= high


def test_a_pickle_in_memory_repeats_and_extrapolates_without_the_secret() -> None:
    """A copy without a file gives old answers, marks new ones, and holds neither a training record nor the noise."""
    predictor = _predictor().fit(X, Y)
    first = predictor.answer(Z[:20])
    text = pickle.dumps(predictor)
    assert not any(row.tobytes() in text for row in X)
    normals = np.array(predictor._session.answerer.path._normals)
    assert len(normals) == 20
    # With a normal number anyone could take the noise off its answer.
    assert not any(normal.tobytes() in text for normal in normals)
    other = pickle.loads(text)
    again = other.answer(Z)
    assert np.array_equal(again.values[:20], first.values)
    assert np.array_equal(again.guaranteed, [True] * 20 + [False] * 20)
    assert np.array_equal(other.answer(Z).values, again.values)
    assert np.all(again.error[20:] >= 0)
    # The original goes on, and its new answers are not the copy's.
    later = predictor.answer(Z)
    assert np.all(later.guaranteed)
    assert not np.any(later.values[20:] == again.values[20:])


def test_copies_in_one_process_are_one_conversation() -> None:
    """Shallow and deep copies give the answers of the original, old and new."""
    predictor = _predictor().fit(X, Y)
    for other in (copy.copy(predictor), copy.deepcopy(predictor)):
        assert np.array_equal(other.answer(Z[:7]).values, predictor.answer(Z[:7]).values)
        assert np.all(other.answer(GENERATOR.normal(size=(2, 3))).guaranteed)


def test_a_fork_does_not_draw() -> None:
    """In a child process new points are extrapolated, not drawn."""
    predictor = _predictor().fit(X, Y)
    known = predictor.answer(Z[:3]).values
    child = os.fork()
    if child == 0:
        answers = predictor.answer(Z[:5])
        os._exit(
            0 if list(answers.guaranteed) == [True] * 3 + [False] * 2 and list(answers.values[:3]) == list(known) else 1
        )
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    assert np.all(predictor.answer(Z[:5]).guaranteed)


@pytest.mark.parametrize("method", ["gaussian-process", "pinp"])
def test_a_state_file_survives_restarts(method: str, tmp_path: Path) -> None:
    """Copies with a file go on together: no answer changes, and new ones are the same for all."""
    predictor = _predictor(state=tmp_path / "state.db", method=method, alpha=0.1).fit(X, Y)
    text = pickle.dumps(predictor)
    first = predictor.answer(Z[:10])
    restarted = pickle.loads(text)
    second = restarted.answer(Z)
    assert np.array_equal(second.values[:10], first.values)
    assert np.all(second.guaranteed)
    assert np.array_equal(predictor.answer(Z[::-1]).values, second.values[::-1])
    assert predictor.updates_left_ == restarted.updates_left_


def _ask(text: bytes, points: np.ndarray) -> np.ndarray:
    return pickle.loads(text).answer(points).values


def test_processes_that_share_a_file_agree(tmp_path: Path) -> None:
    """Four processes that ask the same points at once, in other orders, get the same answers."""
    predictor = _predictor(state=tmp_path / "state.db").fit(X, Y)
    text = pickle.dumps(predictor)
    orders = [np.roll(np.arange(len(Z)), shift) for shift in (0, 7, 19, 33)]
    with multiprocessing.get_context("fork").Pool(4) as pool:
        found = pool.starmap(_ask, [(text, Z[order]) for order in orders])
    for order, values in zip(orders, found, strict=True):
        assert np.array_equal(values, predictor.answer(Z).values[order])


def test_a_failure_while_answering_draws_anew_and_keeps_old_answers(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """If answers cannot be kept for good they are not given, and the next attempt starts from what was kept."""
    from tacit.kernels.interactive.state_file import FileTurn

    predictor = _predictor(state=tmp_path / "state.db").fit(X, Y)
    first = predictor.answer(Z[:5]).values

    def full(self: object, entries: object) -> None:
        raise OSError("no space")

    with monkeypatch.context() as patch:
        patch.setattr(FileTurn, "keep", full)
        with pytest.raises(OSError, match="no space"):
            predictor.answer(Z[:9])
    assert np.array_equal(predictor.answer(Z[:9]).values[:5], first)


BAD = np.array([[0.125, 0.0, 0.0]])


class _Gate:
    """Values of a model that let nobody past the point BAD before they are opened, and then fail."""

    def __init__(self, patch: pytest.MonkeyPatch) -> None:
        self.reached, self.opened = threading.Event(), threading.Event()
        usual = KernelModel.values

        def values(model: KernelModel, points: Any) -> Any:
            if np.any(np.all(points == BAD, axis=1)):
                self.reached.set()
                self.opened.wait(20)
                raise OSError("gate")
            return usual(model, points)

        patch.setattr(KernelModel, "values", values)


def test_draws_that_were_dropped_are_seen_by_nobody(monkeypatch: pytest.MonkeyPatch) -> None:
    """Neither a child forked in the middle of a turn that fails, nor a thread that waits for it, sees its draws."""
    gate = _Gate(monkeypatch)
    predictor = _predictor().fit(X, Y)
    asked = GENERATOR.normal(size=(256, 3)) / 9
    old = predictor.answer(Z[:1]).values[0]
    found: list[float] = []

    def fail() -> None:
        with pytest.raises(OSError, match="gate"):
            predictor.answer(np.vstack([asked, BAD]))

    threads = [threading.Thread(target=fail)]
    threads[0].start()
    assert gate.reached.wait(20)
    child = os.fork()
    if child == 0:
        answers = predictor.answer(np.vstack([Z[:1], asked[:1]]))
        os._exit(0 if list(answers.guaranteed) == [True, False] and answers.values[0] == old else 1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    threads += [threading.Thread(target=lambda: found.append(predictor.answer(asked[:1]).values[0])) for _ in range(3)]
    for thread in threads[1:]:
        thread.start()
    gate.opened.set()
    for thread in threads:
        thread.join()
    assert set(found) == {predictor.answer(asked[:1]).values[0]}
    assert len(found) == 3


@pytest.mark.parametrize("filed", [False, True])
def test_failures_of_one_thread_do_not_change_answers_of_another(
    filed: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """While one thread fails again and again, another gets what it always got."""
    _Gate(monkeypatch).opened.set()
    predictor = _predictor(state=tmp_path / "state.db" if filed else None).fit(X, Y)
    first = predictor.answer(Z[:5]).values
    done = threading.Event()

    def fail() -> None:
        while not done.is_set():
            with pytest.raises(OSError, match="gate"):
                predictor.answer(BAD)

    thread = threading.Thread(target=fail)
    usual = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    thread.start()
    try:
        for _ in range(200):
            answers = predictor.answer(Z[:5])
            assert np.array_equal(answers.values, first)
            assert np.all(answers.guaranteed)
    finally:
        sys.setswitchinterval(usual)
        done.set()
        thread.join()


@pytest.mark.parametrize("method", ["gaussian-process", "pinp"])
@pytest.mark.parametrize("filed", [False, True])
def test_asking_from_within_an_answer_is_refused(
    method: str, filed: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A signal handler that asks the predictor in the middle of its answer gets an error, once."""
    asked: list[InteractiveKernelPredictor] = []
    refused: list[str] = []
    usual = KernelModel.values

    def nosy(model: KernelModel, points: Any) -> Any:
        while asked:
            try:
                asked.pop().answer(Z[:1])
            except LedgerBusy as refusal:
                refused.append(str(refusal))
        return usual(model, points)

    monkeypatch.setattr(KernelModel, "values", nosy)
    predictor = _predictor(method=method, alpha=0.1, state=tmp_path / "state.db" if filed else None).fit(X, Y)
    asked.append(predictor)
    first = predictor.answer(Z[:1]).values
    assert len(refused) == 1
    assert "within its own answer" in refused[0]
    assert np.array_equal(predictor.answer(Z[:1]).values, first)


def test_a_state_file_that_was_put_back_is_refused(tmp_path: Path) -> None:
    """Neither the running predictor nor an old pickle of it draws again what the old file has not."""
    predictor = _predictor(state=tmp_path / "state.db").fit(X, Y)
    text, old = pickle.dumps(predictor), (tmp_path / "state.db").read_bytes()
    predictor.answer(Z[:3])
    (tmp_path / "state.db").write_bytes(old)
    for copied in (predictor, pickle.loads(text), pickle.loads(pickle.dumps(predictor))):
        with pytest.raises(LedgerCorrupt, match="shorter or replaced"):
            copied.answer(Z[:3])


def test_a_lost_state_file_is_refused(tmp_path: Path) -> None:
    """Without its file a predictor answers nothing rather than drawing again."""
    predictor = _predictor(state=tmp_path / "state.db").fit(X, Y)
    predictor.answer(Z[:2])
    (tmp_path / "state.db").unlink()
    with pytest.raises(LedgerCorrupt):
        predictor.answer(Z[:2])


def test_after_its_last_update_pinp_answers_publicly() -> None:
    """Flagged answers come from the public model, which stays as it is."""
    predictor = _predictor(method="pinp", epsilon=50.0, delta=1e-3, alpha=3e-3, queries=10, failure=0.9).fit(X, Y)
    session = predictor._session
    assert predictor.updates_left_ == session.answerer.path.law.updates
    session.answerer.path.law.__dict__["updates"] = 0
    answers = predictor.answer(Z)
    assert not np.any(answers.guaranteed)
    assert np.array_equal(predictor.answer(Z).values, answers.values)


def test_texts_and_sets_are_asked_like_vectors(tmp_path: Path) -> None:
    """A kernel on sets through a user's function and public sets: the same answers to equal sets, also from a file."""
    words = [frozenset(GENERATOR.choice(list("abcdefgh"), 3, replace=False).tolist()) for _ in range(60)]
    labels = ["a" in each for each in words]
    kernel, public = FunctionKernel(_common, 3.0), [frozenset("abc"), frozenset("cde"), frozenset("fgh")]
    for state in (None, tmp_path / "sets.db"):
        predictor = InteractiveKernelPredictor(kernel, 1.0, 1e-6, state=state, landmarks=public).fit(words, labels)
        first = predictor.answer(words[:5]).values
        assert np.array_equal(predictor.answer([set(each) for each in words[:5]]).values, first)
        if state:
            assert np.array_equal(pickle.loads(pickle.dumps(predictor)).answer(words[:5]).values, first)
    with pytest.raises(InvalidParameter, match="accept the points"):
        predictor.answer([object()])


def _common(x: frozenset[str], z: frozenset[str]) -> float:
    return float(len(x & z))


def test_regression_answers_in_the_units_of_the_target() -> None:
    """Targets are clipped to their range, and answers and error bars come back in it."""
    targets = 50 + 30 * X[:, 0]
    for loss in ("squared", "absolute"):
        predictor = _predictor(kernel=Linear() + 1.0, loss=loss, target_range=(0, 100), epsilon=100.0).fit(X, targets)
        answers = predictor.answer(X[:50])
        assert np.mean(np.abs(answers.values - targets[:50])) < 20
        assert np.all(answers.standard_deviation < 20)


@pytest.mark.parametrize(
    ("changes", "message"),
    [({"kernel": None}, "kernel must be"), ({"kernel": "rbf"}, "kernel must be"),
     ({"epsilon": None}, "epsilon is missing"), ({"delta": 0.0}, "delta > 0"),
     ({"epsilon": float("inf")}, "finite epsilon"), ({"data_norm": None}, "data_norm is missing"),
     ({"method": "magic"}, "method must be"), ({"constants": "best"}, "constants must be"),
     ({"loss": "zero-one"}, "loss must be"), ({"loss": "squared"}, "must be numbers|target_range"),
     ({"alpha": -1.0}, "alpha"), ({"landmarks": np.ones((3, 2))}, "3 columns"),
     ({"landmarks": np.ones((0, 3))}, "at least one row"), ({"landmarks": "x"}, "landmarks must be"),
     ({"landmarks": X}, "training records"), ({"state": 3}, "state must be"),
     ({"classes": ["yes", "maybe"]}, "declared classes"),
     ({"kernel": FunctionKernel(lambda x, z: -float(x @ z), 1.0, vectors=True)}, "positive semi-definite")],
)  # fmt: skip
def test_what_makes_no_sense_is_refused_before_the_charge(
    changes: dict[str, Any], message: str, ledger: Ledger
) -> None:
    """A clear message, and nothing charged."""
    with pytest.raises(InvalidParameter, match=message):
        _predictor(ledger=ledger, **changes).fit(X, Y)
    assert ledger.entries() == []


def test_a_refused_charge_leaves_nothing_to_ask(ledger: Ledger, tmp_path: Path) -> None:
    """When the budget does not suffice there is no predictor and no state file."""
    _predictor(ledger=ledger).fit(X, Y)
    second = _predictor(ledger=ledger, state=tmp_path / "state.db")
    with pytest.raises(BudgetExceeded):
        second.fit(X, Y)
    with pytest.raises(NotFittedError):
        second.answer(Z)
    assert not (tmp_path / "state.db").exists()


@pytest.mark.filterwarnings("ignore:.*a ledger and a seed:tacit.PrivacyWarning")
def test_a_rehearsal_repeats_and_costs_nothing(ledger: Ledger) -> None:
    """With a seed the same answers come again, marked as not private."""
    found = [_predictor(ledger=ledger, random_state=5).fit(X, Y) for _ in range(2)]
    assert np.array_equal(found[0].answer(Z).values, found[1].answer(Z).values)
    assert not found[0].release_.private
    assert ledger.entries() == []


def test_narrow_kernels_and_tiny_budgets_answer_fewer_points() -> None:
    """Where 10,000 points cannot be certified, fewer are, and the rest is extrapolated."""
    predictor = _predictor(kernel=RBF(1e6)).fit(X, Y)
    assert "10000 points" not in predictor.release_.guarantee
    assert np.all(predictor.answer(Z).guaranteed)
    assert "3000 points" in _predictor(epsilon=1e-4, alpha=1e3).fit(X, Y).release_.guarantee
