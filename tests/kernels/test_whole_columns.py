"""Targets and records are read one by one: no cell changes how another one is read."""

from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from scipy import sparse

from tacit.errors import InvalidParameter
from tacit.kernels import (
    RBF,
    FunctionKernel,
    InteractiveKernelPredictor,
    Linear,
    PrivateKernelClassifier,
    PrivateKernelRegressor,
)
from tacit.kernels.fit.reading import read_records, read_targets
from tacit.kernels.kernel.domain import Domain

SAME = FunctionKernel(lambda x, z: float(x == z), 1.0)
VECTORS = np.linspace(-1, 1, 6)[:, None]


def _places(kernel: Any, records: Any, labels: Any) -> Any:
    estimator = PrivateKernelClassifier(kernel)
    _, _, cells = read_records(estimator, kernel, 1.0, records, labels)
    return read_targets(cells, [1, 2], None, regression=False).values


@pytest.mark.parametrize(("kernel", "records"), [(SAME, ["a"] * 6), (RBF(1.0), VECTORS)])
@pytest.mark.parametrize("other", [2, 2.0, np.int8(2), np.float16(2), Fraction(2), Decimal(2)])
def test_no_label_changes_how_others_are_read(kernel: Any, records: Any, other: object) -> None:
    """A label of another type is looked up by itself: before, one text or fraction made texts or objects of all."""
    assert np.array_equal(_places(kernel, records, [1, 2, 1, True, 2, other]), [-1, 1, -1, -1, 1, 1])


@pytest.mark.parametrize("kernel", [SAME, RBF(1.0)])
def test_labels_beyond_2_to_the_53_keep_their_last_digit(kernel: Any) -> None:
    """One float label among whole numbers rounds none of them: 2**53 + 1 is not the class 2**53."""
    records: Any = ["a"] * 3 if kernel is SAME else VECTORS[:3]
    estimator = PrivateKernelClassifier(kernel)
    for last in (1, 1.0, 1.5):
        _, _, cells = read_records(estimator, kernel, 1.0, records, [2**53 + 1, 1, last])
        with pytest.raises(InvalidParameter, match="declared"):
            read_targets(cells, [1, 2**53], None, regression=False)


@pytest.mark.parametrize(("kernel", "records"), [(SAME, ["a"] * 6), (RBF(1.0), VECTORS)])
@pytest.mark.parametrize("other", [0.25, 2**70, -(2**70), Fraction(1, 4), Decimal("0.25"), np.float32(0.25), True])
def test_targets_are_numbers_by_themselves(kernel: Any, records: Any, other: object) -> None:
    """A whole number too large for a machine's, or a fraction: before, all targets were refused with it."""
    _, _, cells = read_records(PrivateKernelRegressor(kernel), kernel, 1.0, records, [0, 1, 0.5, 1, 0, other], True)
    found = read_targets(cells, None, (0.0, 1.0), regression=True).values
    assert np.array_equal(found, [-1, 1, 0, 1, -1, np.clip(2 * float(other) - 1, -1, 1)])  # type: ignore[arg-type]


def test_records_of_a_function_stay_what_they_are() -> None:
    """A list of texts, numbers and nothing reaches the function cell by cell."""
    seen: list[object] = []
    kernel = FunctionKernel(lambda x, z: seen.append(x) or 1.0, 1.0)  # type: ignore[func-returns-value]
    given = ["a", 1, 2.5, None, (1, "b"), 2**70]
    PrivateKernelClassifier(kernel, 1.0, landmarks=["public"], classes=[0, 1]).fit(given, [0, 1] * 3)
    assert {(type(x), x) for x in seen} == {(type(x), x) for x in [*given, "public"]}


def test_a_table_of_targets_is_refused_without_a_word_about_them() -> None:
    """One column is wanted."""
    for wrong in (None, "secret", [["secret"], ["b"]], {"secret"}, 3):
        with pytest.raises(InvalidParameter) as refusal:
            InteractiveKernelPredictor(SAME, 1.0, 1e-6, classes=["x", "y"], landmarks=["a"]).fit(["a", "b"], wrong)
        assert "secret" not in str(refusal.value)


@pytest.mark.parametrize("last", [0.5, 9.0])
def test_entries_of_a_sparse_row_are_added_in_their_order_whatever_the_other_rows_are(last: float) -> None:
    """A long row, which makes all rows be scaled, does not change the last bits of a row with repeated entries."""
    data = np.array([0.1, 0.2, 0.3, 0.1, 0.7, 0.1, last])
    places = np.array([2, 0, 2, 1, 0, 0, 1])
    table = sparse.csr_array((data, places, np.array([0, 6, 7])), shape=(2, 3))
    rows = Domain(Linear(), 1.0, 3).clipped(table)
    ones = np.array([[1 / 3, 1 / 7, 1 / 9]])
    alone = sparse.csr_array((data[:6], places[:6], np.array([0, 6])), shape=(1, 3))
    assert (rows @ ones.T)[0, 0] == (Domain(Linear(), 1.0, 3).clipped(alone) @ ones.T)[0, 0]
    assert rows.has_canonical_format


@pytest.mark.parametrize("span", [(0.0, 5e-324), (0.0, 1e-300), (1.0, 1.0), (1.0, 0.0), (-1.7e308, 1.7e308)])
def test_ranges_too_narrow_or_too_wide_are_refused_whatever_the_targets(span: tuple[float, float]) -> None:
    """Half of the smallest number is 0: dividing by it made NaN of some targets only, and an error of it."""
    for target in (0.0, 5e-324):
        with pytest.raises(InvalidParameter, match="low below high"):
            PrivateKernelRegressor(RBF(1.0), 1.0, target_range=span, data_norm=1.0).fit(VECTORS, np.full(6, target))
