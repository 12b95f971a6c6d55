"""Labels, targets and cells of a table are read one by one in every linear estimator."""

import math
from collections.abc import Callable
from decimal import Decimal
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy import sparse

from tacit import Ledger, PrivateERM, PrivateLinearRegression, PrivateLinearSVC, PrivateLogisticRegression
from tacit.erm import HuberHinge, HuberRegression
from tacit.errors import InvalidParameter
from tacit.estimators.classes import known_classes
from tacit.estimators.tables import numeric_targets, validated

LARGE = 2**53
RNG = np.random.default_rng(0)
X = RNG.normal(size=(60, 3)) / 3
SIDES = (X[:, 0] > 0).astype(int)


@pytest.mark.parametrize("make", [PrivateLogisticRegression, PrivateLinearSVC, PrivateERM])
@pytest.mark.parametrize("odd", [float(2**54), np.float32(2**54), np.longdouble(2**54)])
def test_one_float_among_large_whole_labels_moves_no_other_record(make: Callable[..., Any], odd: Any) -> None:
    """A neighbour whose first label comes as a float has the very same model, under the same seed."""
    classes = [LARGE + 2, 2**54]
    kind: dict[str, Any] = {"loss": HuberHinge()} if make is PrivateERM else {}
    labels = [classes[side] for side in SIDES]
    labels[0] = 2**54
    fitted = [
        make(epsilon=1.0, data_norm=1.0, classes=classes, random_state=0, **kind).fit(X, [first, *labels[1:]])
        for first in (2**54, odd)
    ]
    assert np.array_equal(fitted[0].coef_, fitted[1].coef_)


@pytest.mark.parametrize("make", [PrivateLogisticRegression, PrivateLinearSVC])
def test_classes_that_a_float_cannot_tell_apart_are_refused(make: Callable[..., Any], ledger: Ledger) -> None:
    """With 2**53 and 2**53 + 1 as classes, one float label would once send every record to the first of them."""
    labels = [LARGE + side for side in SIDES]
    for classes in ([LARGE, LARGE + 1], None):
        with pytest.raises(InvalidParameter, match="double precision"):
            make(1.0, data_norm=1.0, classes=classes, ledger=ledger).fit(X, [float(LARGE), *labels[1:-1], LARGE + 1])
    assert ledger.entries() == []


@pytest.mark.parametrize("odd", ["?", None, math.nan, [1], 2, 0.5, 10**400, Decimal("sNaN"), np.datetime64("NaT"), 1j])
def test_an_undeclared_label_is_refused_in_the_same_words_whatever_it_is(odd: Any, ledger: Ledger) -> None:
    """The refusal does not tell a text from a number or a missing label, and quotes none."""
    model = PrivateLogisticRegression(1.0, data_norm=1.0, classes=[0, 1], ledger=ledger)
    with pytest.raises(InvalidParameter, match="not among the declared classes") as caught:
        model.fit(X, [odd, *SIDES[1:].tolist()])
    # The declared classes are public, and named; the label is not.
    assert str(caught.value) == (
        "y holds a label that is not among the declared classes: 0, 1. Declare all that can occur, spelled as they "
        "occur, texts as texts and numbers as numbers (these are numbers)."
    )
    assert caught.value.__cause__ is caught.value.__context__ is None
    assert ledger.entries() == []


def test_inferred_classes_are_the_labels_themselves() -> None:
    """Without declared classes mixed cells are not turned into texts; True is 1, and an array keeps its type."""
    classes, indices, _ = known_classes(None, [1, True, 0.0, np.int8(0)])
    assert (classes.tolist(), indices.tolist()) == ([0, 1], [1, 1, 0, 0])
    assert known_classes(None, np.array([3, 1], dtype=np.int16))[0].dtype == np.int16
    for mixed in ([1, "1"], [1, None], [0, 0.5], [0, math.nan]):
        with pytest.raises(InvalidParameter):
            known_classes(None, mixed)


@pytest.mark.parametrize("odd", ["0.5", "?", None, math.nan, math.inf, 10**400, [0.5], 1j, np.datetime64(1, "ns")])
def test_a_target_that_is_no_number_is_refused_and_no_other_is_reread(odd: Any, ledger: Ledger) -> None:
    """Text is no number even if all of its letters are digits; the message quotes nothing."""
    for model in (
        PrivateLinearRegression(1.0, target_range=(0, 1), data_norm=1.0, ledger=ledger),
        PrivateERM(HuberRegression(1.0, 1.0), 1.0, data_norm=1.0, ledger=ledger),
    ):
        with pytest.raises(InvalidParameter, match="must be numbers"):
            model.fit(X, [odd, *SIDES[1:].tolist()])
    assert ledger.entries() == []


def test_targets_are_read_each_by_itself() -> None:
    """Whole numbers beyond 2**63, fractions and truth values become the nearest float, beside anything."""
    assert numeric_targets([LARGE + 1, 2**64, True, np.float32(0.1), Decimal("0.1")]).tolist() == [
        float(LARGE), 2.0**64, 1.0, float(np.float32(0.1)), 0.1,
    ]  # fmt: skip


ODD_CELLS: list[Any] = ["0.25", np.float32(0.25), np.longdouble(0.25), True, Decimal("0.25"), np.int8(0), b"0.25"]


@pytest.mark.parametrize("odd", ODD_CELLS, ids=lambda cell: type(cell).__name__)
@pytest.mark.parametrize(
    "others", [0.1, np.float32(0.1), LARGE + 1, 2**63 + 1, np.int64(LARGE + 1), np.longdouble("0.1")]
)
@pytest.mark.parametrize("make", ["list", "objects", "frame", "masked", "rows"])
def test_an_odd_cell_in_a_table_changes_no_other_cell(make: str, odd: Any, others: Any) -> None:
    """Every other cell is the float nearest to it, whatever stands in the first one."""
    rows = [[odd, others], [others, others]]
    tables: dict[str, Callable[[], Any]] = {
        "list": lambda: rows,
        "objects": lambda: np.array(rows, dtype=object),
        "frame": lambda: pd.DataFrame({"a": pd.Series([odd, others], dtype=object), "b": [others, others]}),
        "masked": lambda: np.ma.array(np.array(rows, dtype=object)),
        "rows": lambda: [tuple(row) for row in rows],
    }
    read = validated(PrivateLogisticRegression(), tables[make]())
    assert [read[0, 1], read[1, 0], read[1, 1]] == [float(others)] * 3


def test_masked_cells_are_missing_and_matrices_are_refused(ledger: Ledger) -> None:
    """What lies beneath a mask is never read."""
    for table in (np.ma.array(X, mask=np.eye(60, 3)), X.view(np.matrix)):
        with pytest.raises((InvalidParameter, TypeError)):
            PrivateLogisticRegression(1.0, data_norm=1.0, ledger=ledger).fit(table, SIDES)
    whole = PrivateLogisticRegression(1.0, data_norm=1.0, random_state=0).fit(np.ma.array(X), np.ma.array(SIDES))
    assert np.array_equal(
        whole.coef_, PrivateLogisticRegression(1.0, data_norm=1.0, random_state=0).fit(X, SIDES).coef_
    )
    assert ledger.entries() == []


@pytest.mark.parametrize("make", [np.array, sparse.csr_array])
def test_a_tiny_long_double_is_silent(make: Any) -> None:
    """What is below all floats is 0, for a caller whose numpy raises too; it refuses nobody's table."""
    rows = make(np.array([[np.longdouble("1e-4900")], [np.longdouble(1)]]))
    with np.errstate(all="raise"):
        found = validated(PrivateLogisticRegression(epsilon=1.0), rows)
    assert (found.toarray() if sparse.issparse(found) else found).tolist() == [[0.0], [1.0]]
