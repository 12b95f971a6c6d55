"""Only neighbours are audited: as many records, exactly one of them different."""

import numpy as np
import pytest
from scipy.sparse import csr_array

from tacit.audit.neighbours import check_neighbours
from tacit.errors import InvalidParameter

ROWS = np.arange(12.0).reshape(6, 2)
LABELS = np.array([0, 1, 0, 1, 0, 1])


def _changed(array, index, value):
    copy = array.copy()
    copy[index] = value
    return copy


@pytest.mark.parametrize(
    ("first", "second", "index"),
    [
        ([1, 2, 3], [1, 5, 3], 1),
        (["a", "b"], ["a", "c"], 1),
        ([{"age": 1}, {"age": 2}], [{"age": 9}, {"age": 2}], 0),
        ([[1, 2], [3, 4]], [[1, 2], [3, 5]], 1),
        (ROWS, _changed(ROWS, 4, 0.0), 4),
        ((ROWS, LABELS), (ROWS, _changed(LABELS, 2, 1)), 2),
        ((ROWS, LABELS), (_changed(ROWS, 2, 7.0), _changed(LABELS, 2, 1)), 2),
        (csr_array(ROWS), csr_array(_changed(ROWS, 5, 0.0)), 5),
        (np.array([np.nan, 1.0]), np.array([np.nan, 2.0]), 1),
        ([1.0, 0.0], [1.0, -0.0], 1),
        ([1.0, 1.0], [True, 1.0], 0),
        (np.array([0.0, 0.0]), np.array([0.0, -0.0]), 1),
        ([1.0, 2.0], ["?", 2.0], 0),
        ([1.0, None], [1.0, 2.0], 1),
    ],
)
def test_the_one_record_that_differs_is_found(first, second, index):
    """Lists, arrays, sparse matrices and tuples of columns are compared record by record; NaN equals NaN."""
    assert check_neighbours(first, second) == index


@pytest.mark.parametrize(
    ("first", "second", "message"),
    [
        ([1, 2], [1, 2], "exactly one record, got 0"),
        ([1, 2, 3], [1, 5, 6], "exactly one record, got 2"),
        ([1, 2], [1, 2, 3], "as many records"),
        ((ROWS, LABELS), (_changed(ROWS, 1, 7.0), _changed(LABELS, 2, 1)), "got 2"),
        ((ROWS, LABELS), (ROWS,), "columns"),
        ((ROWS, LABELS[:3]), (ROWS, LABELS[:3]), "as many records"),
        (1.0, 2.0, "must be a list"),
        ("ab", "ac", "must be a list"),
    ],
)
def test_what_are_not_neighbours_is_refused(first, second, message):
    """No, several or unequal numbers of different records, and what is no data set, are refused with the reason."""
    with pytest.raises(InvalidParameter, match=message):
        check_neighbours(first, second)
