"""By the exact law of the table, reports with half the noise they claim lose more than they promise; others do not."""

import math

import numpy as np
import pytest

from tacit.budget import Budget
from tacit.evaluation.bins import Layout
from tacit.evaluation.sketch import RowMarks, Sketch, in_steps, tabulated


@pytest.mark.parametrize("kind", ["two", "several", "numbers"])
@pytest.mark.parametrize(("share", "kept"), [(1.0, True), (0.9, False), (0.5, False)])
def test_the_worst_replacement_loses_what_is_promised_and_with_less_noise_more(
    kind: str, share: float, kept: bool
) -> None:
    """Laplace noise in all entries loses their L1 distance over its scale: at most epsilon, and nearly that.

    The two records lie at the far ends, in different classes; the loss is exact, no sample of plays.
    """
    size = {"two": 2, "several": 4, "numbers": 1}[kind]
    layout = Layout(kind, size, 6, () if kind == "numbers" else (0.0,), (-1.0, 0.5, 2.0), -36.0, 36.0, True, True)  # type: ignore[arg-type]
    sketch = Sketch(Budget(2.0), layout, 1)
    tables = []
    for place in (0, 1):
        values = np.full((1, layout.columns), (-30.0, 30.0)[place])
        marks = RowMarks(values, np.full(1, min(place, layout.classes - 1)), np.array([bool(place)]), None)
        tables.append(tabulated(layout, marks, in_steps(marks.weights, len(marks.values)), layout.given_knots))
    scale = share * sketch.table_deviation / math.sqrt(2)
    loss = float(np.abs(tables[0] - tables[1]).sum()) / scale
    assert (loss <= 2.0) is kept
    assert loss >= 0.99 * 2.0
