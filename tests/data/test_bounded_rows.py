import copy
import io
import pickle

import joblib
import numpy as np
import pytest
from sklearn.model_selection import train_test_split

from tacit.data import BoundedRows, stated_filled, stated_norm


@pytest.fixture
def rows() -> BoundedRows:
    """Make four rows of norm at most 1."""
    return BoundedRows(np.arange(12.0).reshape(4, 3) / 20, data_norm=1.0, has_constant=True, filled=2)


def test_only_bounded_rows_state_a_norm(rows: BoundedRows) -> None:
    """A norm is stated by BoundedRows alone; other arrays and objects state none."""
    assert stated_norm(rows) == 1.0
    assert stated_norm(np.asarray(rows)) is stated_norm(None) is stated_norm([[1.0]]) is None
    assert stated_filled(rows) == 2
    assert stated_filled(np.asarray(rows)) is stated_filled(None) is None


@pytest.mark.parametrize(
    "key",
    [slice(1, 3), slice(None, None, -1), [0, 0, 2], np.array([3]), np.array([True, False, True, False]), ...],
    ids=str,
)
def test_a_selection_of_rows_keeps_the_statement(rows: BoundedRows, key: object) -> None:
    """Rows chosen from bounded rows are bounded rows."""
    for chosen in (rows[key], rows[(key, ...)] if key is not ... else rows[...]):
        assert (chosen.data_norm, chosen.has_constant, chosen.filled) == (1.0, True, 2)
        np.testing.assert_array_equal(chosen, np.asarray(rows)[key])
        assert not chosen.flags.writeable


def test_a_train_test_split_keeps_the_statement(rows: BoundedRows) -> None:
    """scikit-learn's way of choosing rows keeps the statement."""
    assert [stated_norm(part) for part in train_test_split(rows, random_state=0)] == [1.0, 1.0]


@pytest.mark.parametrize(
    "change",
    [
        lambda X: X * 2,
        lambda X: 2 + X,
        lambda X: -X,
        lambda X: X @ np.ones((3, 3)),
        lambda X: np.exp(X),
        lambda X: np.hstack([X, X]),
        lambda X: np.vstack([X, X]),
        lambda X: np.concatenate([X, np.ones((1, 3))]),
        lambda X: X.T,
        lambda X: X.reshape(2, 6),
        lambda X: X.ravel(),
        lambda X: X.astype(np.float32),
        lambda X: X.copy(),
        lambda X: copy.deepcopy(X),
        lambda X: X.view(),
        lambda X: X[:, [0, 0, 0]],
        lambda X: X[:, 1:],
        lambda X: X[0],
        lambda X: X[None],
        lambda X: X[X > 0.1],
        lambda X: X[[[0, 1], [2, 3]]],
        lambda X: X.take([0, 0], axis=1),
        lambda X: np.repeat(X, 2, axis=1),
        lambda X: X.sum(axis=0, keepdims=True),
        lambda X: X.T[[0, 1]],
        lambda X: (X * 5)[:2],
        lambda X: np.zeros_like(X),
    ],
)
def test_every_other_operation_drops_the_statement(rows: BoundedRows, change: object) -> None:
    """Whatever could make a row longer leaves no norm stated."""
    assert callable(change)
    changed = change(rows)
    assert stated_norm(changed) is stated_filled(changed) is None
    assert not getattr(changed, "has_constant", False)
    assert rows.data_norm == 1.0


def test_bounded_rows_cannot_be_changed_in_place(rows: BoundedRows) -> None:
    """Writing into the rows is refused, so that a stated norm cannot go stale by accident."""
    with pytest.raises(ValueError, match="read-only"):
        rows[0, 0] = 100.0
    with pytest.raises(ValueError, match="read-only"):
        rows *= 100.0
    with pytest.raises(ValueError, match="read-only"):
        rows[1:][0, 0] = 100.0


@pytest.mark.parametrize("protocol", range(pickle.HIGHEST_PROTOCOL + 1))
def test_pickles_keep_the_statement(rows: BoundedRows, protocol: int) -> None:
    """Pickles, as used between processes and by caching pipelines, keep rows, norm and seal."""
    buffer = io.BytesIO()
    joblib.dump(rows, buffer)
    buffer.seek(0)
    for twin in (pickle.loads(pickle.dumps(rows, protocol)), joblib.load(buffer)):
        np.testing.assert_array_equal(twin, rows)
        assert (twin.data_norm, twin.has_constant, twin.filled, twin.flags.writeable) == (1.0, True, 2, False)
