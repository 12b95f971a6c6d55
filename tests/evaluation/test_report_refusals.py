"""What is public and cannot match is refused before the charge; what depends on records is answered."""

import math
from typing import Any

import numpy as np
import pytest
from sklearn.linear_model import LinearRegression

from tacit import Budget, Ledger, Records, Schema, evaluation
from tacit.data import Category, Number
from tacit.errors import InvalidParameter
from tacit.evaluation import reporting
from tacit.evaluation.foreseen import foreseen_sketch

SIZE = 60
X = np.linspace(0, 1, SIZE)[:, None]
LABELS = np.arange(SIZE) % 2


class Fixed:
    """A model that says what it was made to say."""

    def __init__(self, chances: Any, classes: Any = (0, 1)) -> None:
        self.classes_, self._chances = classes, chances

    def predict_proba(self, rows: Any) -> Any:
        """Return the probabilities, whatever is asked."""
        return self._chances[: len(rows)]

    def predict(self, rows: Any) -> Any:
        """Return the likelier class."""
        return [self.classes_[0]] * len(rows)


class Bare:
    """A model that has classes but no scores."""

    classes_ = (0, 1)

    def predict(self, rows: Any) -> Any:
        """Return the first class."""
        return np.zeros(len(rows), dtype=int)


HALVES = np.full((SIZE, 2), 0.5)
PLAIN = np.column_stack([1 - X[:, 0], X[:, 0]])


@pytest.mark.parametrize(
    ("model", "y", "options", "message"),
    [
        (Bare(), LABELS, {}, "no scores"),
        (Fixed(HALVES, ("a", "b")), LABELS, {}, "none can match"),
        (Fixed(HALVES), np.array(["a", "b"] * 30), {}, "none can match"),
        (Fixed(HALVES), LABELS, {"threshold": 1.5}, "threshold"),
        (Fixed(HALVES), LABELS, {"epsilon": 0}, "epsilon"),
        (Fixed(HALVES), LABELS, {"epsilon": math.nan}, "epsilon"),
        (Fixed(HALVES), LABELS, {"confidence": 1}, "confidence"),
        (Fixed(HALVES), LABELS, {"target_range": (0, 1)}, "target_range"),
        (Fixed(HALVES), None, {}, "y is missing"),
        (Fixed(HALVES), [], {}, "empty"),
        (Fixed(HALVES[:, :1], (0,)), LABELS, {}, "one class"),
        (Fixed(np.full((SIZE, 3), 0.5)), LABELS, {}, "probabilities"),
        (LinearRegression().fit(X, LABELS), LABELS, {}, "target_range is missing"),
        (LinearRegression().fit(X, LABELS), LABELS, {"target_range": (1, 0)}, "low below high"),
        (LinearRegression().fit(X, LABELS), LABELS, {"target_range": (1e300, 2e300)}, "within 1e100"),
        (LinearRegression().fit(X, LABELS), LABELS, {"target_range": (0, 1), "threshold": 0.5}, "threshold"),
        (LinearRegression().fit(X, LABELS), np.array(["a"] * SIZE), {"target_range": (0, 1)}, "texts"),
        (object(), LABELS, {"target_range": (0, 1)}, "predicts nothing"),
    ],
)
def test_what_cannot_match_is_refused_and_not_charged(
    model: Any, y: Any, options: dict[str, Any], message: str, ledger: Ledger
) -> None:
    """Each refusal says what is wrong, and the account stays as it was."""
    with pytest.raises(InvalidParameter, match=message):
        evaluation.report(model, X, y, ledger=ledger, **{"epsilon": 1.0} | options)
    assert ledger.entries() == []


@pytest.mark.parametrize(
    "odd", [5, None, "x", ["x"], [[0.5]], [0.5, 2.0], [math.nan], np.array(0.5), [10**400]], ids=str
)
def test_what_is_asked_of_a_report_is_a_list_of_chances(odd: Any) -> None:
    """Levels of intervals, and probabilities to be placed in groups: anything else is refused in words."""
    found = evaluation.report(Fixed(PLAIN), X, LABELS, epsilon=1.0, random_state=0)
    with pytest.raises(InvalidParameter, match="numbers from 0 to 1"):
        found.calibration.shares(odd)
    model = LinearRegression().fit(X, LABELS)
    found = evaluation.report(model, X, LABELS, epsilon=1.0, target_range=(0, 1), random_state=0)
    with pytest.raises(InvalidParameter, match="level"):
        found.interval_calibration(odd)


def test_records_of_another_task_are_refused(ledger: Ledger) -> None:
    """A classifier needs a target with levels, a regression a number."""
    numbers = Records({"a": X[:, 0], "y": X[:, 0]}, Schema({"a": Number(0, 1), "y": Number(0, 1)}, target="y"))
    levels = Records(
        {"a": X[:, 0], "y": ["u"] * SIZE}, Schema({"a": Number(0, 1), "y": Category(["u", "v"])}, target="y")
    )
    with pytest.raises(InvalidParameter, match="levels"):
        evaluation.report(Fixed(HALVES), numbers, epsilon=1.0, ledger=ledger)
    with pytest.raises(InvalidParameter, match="Number"):
        evaluation.report(LinearRegression().fit(X, LABELS), levels, epsilon=1.0, ledger=ledger)
    assert ledger.entries() == []


ODD: list[Any] = [math.nan, math.inf, -math.inf, -5.0, 1e300, 0.0, 1.0, 5e-324]


@pytest.mark.parametrize(
    "bins", [[-30.0, 30.0], 4, list(np.linspace(0.0, 1.0, 20_000)), "auto"], ids=["edges", "few", "many", "auto"]
)
def test_bins_are_nobodys_choice(bins: Any, ledger: Ledger) -> None:
    """Edges that were given made ranges false, and tens of thousands of them figures that took hours.

    So did fewer bins than public facts ask for; more would add noise alone.
    """
    asked: dict[str, Any] = {"epsilon": 1.0, "bins": bins, "ledger": ledger}
    with pytest.raises(TypeError, match="bins"):
        evaluation.report(Fixed(HALVES), X, LABELS, **asked)
    with pytest.raises(TypeError, match="bins"):
        evaluation.report(LinearRegression().fit(X, LABELS), X, LABELS, target_range=(0, 1), **asked)
    assert ledger.entries() == []


@pytest.mark.parametrize("epsilon", [1e-3, 1.0, 1e6])
@pytest.mark.parametrize("count", [1, 1000, 10**12])
def test_a_report_has_no_more_bins_than_figures_can_be_computed_from(count: int, epsilon: float) -> None:
    """However many records there are and however much is paid, what is released of either class is a few hundred."""
    layout = foreseen_sketch(count, Budget(epsilon)).layout
    assert 8 <= layout.bins <= 64
    assert layout.width < 260


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("odd", ODD)
def test_scores_that_are_no_chances_have_a_place(odd: float, monkeypatch: pytest.MonkeyPatch) -> None:
    """One odd probability moves no more than one record may, without a warning; all of them odd is answered too."""
    monkeypatch.setattr(reporting, "_can_choose", lambda *_: False)
    before = evaluation.report(Fixed(PLAIN), X, LABELS, epsilon=1e6, random_state=0)
    strange = PLAIN.copy()
    strange[7] = odd
    with np.errstate(all="raise"):
        after = evaluation.report(Fixed(strange), X, LABELS, epsilon=1e6, random_state=0)
    moved = sum(
        np.abs(a - b).sum() for a, b in zip(before.release.value.counts, after.release.value.counts, strict=True)
    )
    assert moved <= 2.001
    whole = evaluation.report(Fixed(np.full((SIZE, 2), odd)), X, LABELS, epsilon=1.0, random_state=0)
    assert np.all(np.isfinite([each.value for each in whole.figures().values()]))


@pytest.mark.parametrize("y", [np.zeros(SIZE), np.ones(SIZE), np.full(SIZE, np.nan), [None] * SIZE, ["?"] * SIZE])
@pytest.mark.parametrize("chances", [HALVES, PLAIN])
@pytest.mark.parametrize("epsilon", [0.01, 1.0, 1e4])
def test_one_class_no_class_and_constant_scores_are_answered(y: Any, chances: Any, epsilon: float) -> None:
    """Whatever the records are, every figure, curve and threshold of the report is there and finite."""
    report = evaluation.report(Fixed(chances), X, y, epsilon=epsilon, random_state=1)
    for figure in report.figures().values():
        assert np.all(np.isfinite([figure.value, *figure.noise, *figure.interval]))
    assert 0 <= report.best_threshold() <= 1
    for curve in (report.roc, report.precision_recall):
        assert np.all(np.isfinite(curve.y))
    assert str(report)


@pytest.mark.parametrize("odd", [math.nan, math.inf, 1e300, -1e300])
def test_predictions_and_targets_that_are_no_numbers_have_a_place(odd: float) -> None:
    """Errors are those of clipped numbers; what is none counts as the middle of the range."""

    class Says:
        def predict(self, rows: Any) -> Any:
            """Return something odd for everybody."""
            return np.full(len(rows), odd)

    report = evaluation.report(Says(), X, np.full(SIZE, odd), epsilon=1.0, target_range=(0, 1), random_state=0)
    assert np.all(np.isfinite([each.value for each in report.figures().values()]))


def test_public_data_changes_nothing_here() -> None:
    """A report is refused for what is asked of it, in words: log-loss without probabilities, an unknown class."""

    class Scored(Bare):
        def decision_function(self, rows: Any) -> Any:
            """Return scores."""
            return X[: len(rows), 0]

    report = evaluation.report(Scored(), X, LABELS, epsilon=1.0, random_state=0)
    with pytest.raises(InvalidParameter, match="probabilities"):
        _ = report.log_loss
    several = evaluation.report(Fixed(np.full((SIZE, 3), 1 / 3), (0, 1, 2)), X, LABELS, epsilon=1.0, random_state=0)
    with pytest.raises(InvalidParameter, match="classes are"):
        several.of(9)
