"""`report`: all scores of a model for one charge."""

import math
import warnings
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from tacit.accounting.analytic import gaussian_shift
from tacit.accounting.ledger import Ledger
from tacit.budget import Budget
from tacit.checks import checked_confidence, checked_share, finite_number
from tacit.data.labels import places
from tacit.errors import InvalidParameter
from tacit.estimators.learned_from import FITTED, standing
from tacit.estimators.parameters import known_range
from tacit.evaluation.bins import LARGEST, LEVELS, Layout, outward
from tacit.evaluation.figure import Report
from tacit.evaluation.matching import (
    check_labels,
    listed_classes,
    positive_place,
    refuse_other_tasks,
    refuse_predictor,
    refuse_texts,
    tells_classes,
)
from tacit.evaluation.reading import SURE, asked, held_out, numbers_of, predictions, scores_of
from tacit.evaluation.regression import RegressionReport
from tacit.evaluation.several import ClassesReport
from tacit.evaluation.sketch import RowMarks, Sketch
from tacit.evaluation.table import ScoreTable
from tacit.evaluation.two import TwoClassReport
from tacit.numerics.arrays import Floats

_CLEAR, _WELL_CLEAR, _LOOK = 4.0, 25.0, 1 / 8
"""How far records must stand out from the noise of a tree for it to choose bins: well, if they would be log-odds."""

_USUAL, _NEAR = 3.0, 0.75
"""Where edges are if they cannot be chosen: log-odds or scores, and errors in parts of half the target's range."""

_LEAST = 1e-100
"""A threshold nearer to 0 than this is 0: bins that are narrower have no width in doubles."""

_WIDEST = 1e100
"""How far from 0 a range of targets may reach, as that of a declared number."""

_FEWEST, _MOST = 8, 64
_GROWTH = 0.38
"""Bins grow with the cube root of records times epsilon: made-up scores have then as much of binning as of noise."""


def report(
    model: Any,
    X: Any,
    y: ArrayLike | None = None,
    *,
    epsilon: float,
    delta: float = 0.0,
    groups: object = None,
    ledger: Ledger | None = None,
    threshold: float | None = None,
    target_range: tuple[float, float] | None = None,
    confidence: float = 0.95,
    label: str = "report",
    random_state: object = None,
) -> Report:
    """Return a report on a fitted model: curves, rates at any threshold, calibration, errors, for one charge.

    Guarantee: everything in the report together is (epsilon, delta)-private with respect to the evaluated rows, pure
    when delta is 0; for `Records` with a unit, or with `groups`, with respect to persons.
    Assumes: replace-one neighbours; the number of evaluated rows (or persons) is public; the model is already private
    or public, and answers for each row by itself.
    Reference: tacit/evaluation/sketch.md.

    Parameters
    ----------
    model : any fitted scikit-learn classifier with `predict_proba` or `decision_function`, or a regression.
    X, y : `Records`, or rows and their targets. A report says "held out" of another part of the split that the model
        was fitted to, warns of records that the model was fitted to, and says "judged" of what is not known.
    groups : the ids of the persons whose rows X holds, one for each row, for a ledger of persons.
    epsilon, delta, ledger : what it costs and who pays; a part of a split pays from its own account.
    threshold : above which the positive class is predicted; one half, or 0 for a model without probabilities. What
        lies above it is counted; at other thresholds it is interpolated within a bin. The positive class is the one
        that the schema of `Records` declares, and for arrays the second of `classes_`.
    target_range : for a regression (low, high), to which targets and predictions are clipped; `Records` declare it.
    confidence : of every error bar.
    random_state : a seed makes a rehearsal: repeatable, not private, never charged.
    """
    budget, level = Budget(epsilon, delta), checked_confidence(confidence)
    if not budget.exact_epsilon:
        raise InvalidParameter(f"epsilon must be above 0 to learn anything, got {budget}.")
    refuse_predictor(model)
    refuse_other_tasks(model)
    if not tells_classes(model):
        return _of_numbers(model, X, y, groups, budget, ledger, threshold, target_range, level, label, random_state)
    if target_range is not None:
        raise InvalidParameter("target_range is for a regression, and this model tells classes. Leave it out.")
    classes = listed_classes(model)
    size = len(classes)
    if size < 2:
        raise InvalidParameter("the model knows one class only: there is nothing to score.")
    check_labels(model, X, y)
    positive = positive_place(X, classes)
    held = held_out(X, y, groups, ledger, random_state, classes=True)
    judged = _standing(model, X)
    likely = hasattr(model, "predict_proba")
    cut = _threshold(threshold, likely)
    top = SURE if likely else LARGEST
    fixed, half = (_place(cut, likely),), held.count * 2 // size
    layout = Layout(
        kind="two" if size == 2 else "several",
        classes=size,
        bins=_bins(budget, half),
        fixed=fixed,
        given=_laid(budget, half, likely and size == 2),
        low=-top,
        high=top,
        log_odds=likely,
        pure=budget.is_pure,
    )
    sketch = Sketch(budget, layout, held.count)
    values, _ = scores_of(model, held, size, positive)
    if positive == 0:
        classes = classes[::-1]
    known = places(held.targets, classes)
    right = None
    if size > 2:
        right = (places(predictions(model, held), classes) == known) & (known >= 0)
    marks = RowMarks(values, known, right, held.weights)
    found = held.release(sketch, marks, label, *sketch.public)
    if size > 2:
        return ClassesReport(found, classes, likely, level, cut, held.count, judged)
    table = ScoreTable.of(found.value, [1, 0], 0, held.count)
    return TwoClassReport(found, table, (classes[0], classes[1]), likely, level, cut, judged)


def _of_numbers(
    model: Any,
    X: Any,
    y: ArrayLike | None,
    groups: object,
    budget: Budget,
    ledger: Ledger | None,
    threshold: float | None,
    target_range: tuple[float, float] | None,
    confidence: float,
    label: str,
    random_state: object,
) -> RegressionReport:
    if threshold is not None:
        raise InvalidParameter("threshold is for a classifier, and this model predicts a number. Leave it out.")
    if not hasattr(model, "predict"):
        raise InvalidParameter(f"{type(model).__name__} predicts nothing: wanted a fitted classifier or regression.")
    refuse_texts(y)
    held = held_out(X, y, groups, ledger, random_state, classes=False)
    judged = _standing(model, X)
    low, high = known_range(
        target_range if target_range is not None else held.bounds or getattr(model, "target_range", None)
    )
    if max(-low, high) > _WIDEST:
        raise InvalidParameter("target_range must lie within 1e100 of 0: squared errors of a wider one are no numbers.")
    count, chosen = _bins(budget, held.count), _can_choose(budget, 2, held.count)
    layout = Layout(
        kind="numbers",
        classes=1,
        bins=count,
        fixed=(),
        given=() if chosen else tuple(outward(0.0, _NEAR, count).tolist()),
        low=-2.0,
        high=2.0,
        log_odds=False,
        pure=budget.is_pure,
    )
    sketch = Sketch(budget, layout, held.count)
    targets = numbers_of(held.targets, len(held.targets), low, high)
    said = numbers_of(asked(model.predict, held, "predictions"), len(held.targets), low, high)
    values: Floats = np.column_stack([targets - said, targets])
    marks = RowMarks(values, np.zeros(len(values), dtype=np.intp), None, held.weights)
    found = held.release(sketch, marks, label, *sketch.public)
    errors, own = (ScoreTable.of(found.value, [place], place, held.count) for place in range(2))
    return RegressionReport(found, errors, own, (low, high), confidence, judged)


def _standing(model: Any, X: Any) -> str:
    """Return what is said of the records; warn of those that the model was fitted to, before they are paid for."""
    found = standing(model, X)
    if FITTED in found:
        warnings.warn(
            f"these are records {FITTED}, or some of them are: scores on them flatter it. Judge it on the other part "
            "of the split that it was trained on, by the same key.",
            stacklevel=3,
        )
    return found


def _bins(budget: Budget, count: int) -> int:
    """Return how many bins there are: with fewer binning would do more than ranges say, more would only add noise."""
    worth = budget.epsilon if budget.is_pure else 2 * gaussian_shift(budget)
    return int(np.clip(2 * round(_GROWTH * math.cbrt(count * min(worth, 1e6))), _FEWEST, _MOST))


def _laid(budget: Budget, count: int, usual: bool) -> tuple[float, ...]:
    """Return usual edges where noise would choose, the sooner if they are known to fit; else none."""
    if _can_choose(budget, 1, count, _WELL_CLEAR if usual else _CLEAR):
        return ()
    return tuple(np.linspace(-_USUAL, _USUAL, _bins(budget, count) - 1).tolist())


def _can_choose(budget: Budget, trees: int, count: int, clear: float = _CLEAR) -> bool:
    """Whether what a tree shows stands out from its noise, by public facts."""
    if budget.is_pure:
        noise = trees * math.sqrt(2) * 2 * LEVELS * trees / (budget.epsilon * _LOOK)
    else:
        noise = math.sqrt(2 * LEVELS * trees) / (gaussian_shift(budget) * math.sqrt(_LOOK))
    return clear * noise < count


def _threshold(threshold: float | None, likely: bool) -> float:
    if threshold is None:
        return 0.5 if likely else 0.0
    return checked_share("threshold", threshold) if likely else finite_number("threshold", threshold)


def _place(number: float, likely: bool) -> float:
    """Return where a probability, or a score, is among the scores that are counted."""
    if not likely:
        return float(np.clip(number, -LARGEST, LARGEST)) if abs(number) >= _LEAST else 0.0
    if not 0 < number < 1:
        return math.copysign(SURE, number - 0.5)
    return float(np.clip(math.log(number) - math.log1p(-number), -SURE, SURE))
