"""What a report costs and how good it will be, found out before it is paid for, by public facts alone."""

import math

from scipy.special import ndtri

from tacit.budget import Budget
from tacit.checks import checked_confidence
from tacit.evaluation.bins import Layout
from tacit.evaluation.reading import SURE
from tacit.evaluation.reporting import _bins, _laid
from tacit.evaluation.sketch import Sketch


def foreseen_sketch(n: int, budget: Budget) -> Sketch:
    """Return the noise of a report on a model of two classes and n records; its event is that of every report."""
    layout = Layout(
        kind="two", classes=2, bins=_bins(budget, n), fixed=(0.0,),
        given=_laid(budget, n, True), low=-SURE, high=SURE, log_odds=True, pure=budget.is_pure,
    )  # fmt: skip
    return Sketch(budget, layout, n)


def expected_error(n: int, budget: Budget, confidence: float = 0.95) -> float:
    """Return about how far off the share will be that a model of two classes answers right, by noise and sampling.

    Noise moves the count at each knot by itself, and about half of them are of right answers; a share of n records
    varies the most where it is one half.
    """
    sketch = foreseen_sketch(n, budget)
    layout, reach = sketch.layout, float(ndtri((1 + checked_confidence(confidence)) / 2))
    deviation = float(sketch.table_deviation / min(layout.group_weights))
    noise = math.sqrt(layout.bins + 1) * deviation / n
    return min(1.0, reach * math.hypot(noise, 0.5 / math.sqrt(n)))
