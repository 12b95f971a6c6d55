"""Where places are not public a row's score and features depend on that row alone, to the last bit.

They are not among persons' rows, and not in a table without an order. A model that keeps rows is refused.
"""

from pathlib import Path
from typing import Any

import ibis
import numpy as np
import pyarrow as pa
import pytest
from scipy.sparse import csr_array
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer

from tacit import (
    Budget,
    InteractiveKernelPredictor,
    Ledger,
    PrivateKernelClassifier,
    PrivateLinearRegression,
    PrivateLogisticRegression,
    Records,
    Schema,
    evaluation,
)
from tacit.data import Flag, Key, Number
from tacit.erm.rows.matrix import DenseMatrix
from tacit.errors import InvalidParameter
from tacit.kernels import RBF, Laplacian
from tacit.kernels.kernel.domain import Domain
from tacit.kernels.kernel.standard import squares
from tacit.kernels.maps import landmarks
from tacit.kernels.maps.fourier import FourierFeatures
from tacit.kernels.maps.landmarks import Landmarks
from tacit.model_selection.data import Data
from tacit.model_selection.judging import goodness
from tacit.numerics.products import products_alone
from tacit.queries import SQPerceptron

WIDTH = 24
NAMES = [f"x{place}" for place in range(WIDTH)]
FLAGS = Schema({"id": Key(), **{name: Number(-1, 1) for name in NAMES}, "y": Flag()}, target="y")
NUMBERS = Schema({"id": Key(), **{name: Number(-1, 1) for name in NAMES}, "y": Number(0, 1)}, target="y")
GENERATOR = np.random.default_rng(3)
ROW = GENERATOR.uniform(-1, 1, WIDTH)
OTHERS = GENERATOR.uniform(-1, 1, (62, WIDTH))
PLACES = (0, 20, 40, 60, 61, 62)


def _records(schema: Schema, first: int) -> Records:
    """Return one person with some rows, and others with one row each, which are always the same."""
    rows = np.vstack([np.tile(ROW, (first, 1)), OTHERS])
    ids = [0] * first + list(range(1, len(OTHERS) + 1))
    cells = {"id": ids, **dict(zip(NAMES, rows.T, strict=True)), "y": np.resize([0, 1], len(rows))}
    return Records(cells, schema, unit="id")


def _table(schema: Schema, place: int, memory: int | None = None) -> Records:
    """Return a table of a database: one record wherever it was written last, and others, which are always the same."""
    rows = np.insert(OTHERS, place, ROW, axis=0)
    labels = np.insert(np.resize([0, 1], len(OTHERS)), place, 1)
    cells = {"id": np.arange(len(rows)), **dict(zip(NAMES, rows.T, strict=True)), "y": labels}
    return Records(ibis.duckdb.connect().create_table("t", pa.table(cells)), schema, memory=memory)


def _train(schema: Schema) -> Records:
    rows = GENERATOR.uniform(-1, 1, (200, WIDTH))
    cells = {"id": range(200), **dict(zip(NAMES, rows.T, strict=True)), "y": (rows[:, 0] > 0).astype(int)}
    return Records(cells, schema)


MODELS: list[tuple[Any, Schema, str]] = [
    (PrivateLogisticRegression(1.0, random_state=0), FLAGS, "decision_function"),
    (PrivateLogisticRegression(1.0, random_state=0), FLAGS, "predict_proba"),
    (PrivateLinearRegression(1.0, random_state=0), NUMBERS, "predict"),
    (SQPerceptron(1.0, random_state=0), FLAGS, "decision_function"),
    (PrivateKernelClassifier(RBF(1.0), 1.0, random_state=0, landmarks=20), FLAGS, "decision_function"),
    (
        PrivateKernelClassifier(RBF(1.0), 1.0, random_state=0, method="fourier", landmarks=20),
        FLAGS,
        "decision_function",
    ),
]


@pytest.mark.parametrize(
    ("model", "schema", "method"), MODELS, ids=lambda each: getattr(each, "__class__", each).__name__
)
def test_a_person_moves_no_bit_of_the_scores_of_others(model: Any, schema: Schema, method: str) -> None:
    """However many rows a person has, others have the same scores: a threshold on one would count all of them."""
    model = model.fit(_train(schema))
    asked = (getattr(model, method)(_records(schema, first)) for first in range(1, 10))
    found = {np.asarray(scores)[-len(OTHERS) :].tobytes() for scores in asked}
    assert len(found) == 1


@pytest.mark.parametrize(
    ("model", "schema", "method"), MODELS, ids=lambda each: getattr(each, "__class__", each).__name__
)
@pytest.mark.parametrize("memory", [1, 2**29])
def test_a_record_that_moves_within_a_table_moves_no_bit_of_the_scores_of_others(
    model: Any, schema: Schema, method: str, memory: int
) -> None:
    """A database writes a replaced record to another place, which moves others: their scores stay as they are."""
    model = model.fit(_train(schema))
    found = set()
    for place in PLACES:
        records = _table(schema, place, memory)
        assert not records.facts.ordered
        scores = getattr(model, method)(records)
        found.add(np.delete(np.asarray(scores), place, axis=0).tobytes())
    assert len(found) == 1


@pytest.mark.parametrize("memory", [1, 2**29])
def test_a_record_that_moves_within_a_table_moves_no_feature_of_others(
    memory: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A steep kernel made other features of every record that another one had moved, in memory and in a file."""
    seen: list[Any] = []

    def watched(mapped: Any, features: Any, *rest: Any) -> Any:
        seen.append(np.asarray(features[:]))
        raise InvalidParameter("seen")

    monkeypatch.setattr("tacit.kernels.estimator.release_linear", watched)
    model = PrivateKernelClassifier(RBF(1e32), 1.0, random_state=0, method="fourier", landmarks=40)
    for place in PLACES:
        with pytest.raises(InvalidParameter, match="seen"):
            model.fit(_table(FLAGS, place, memory))
    assert (
        len({np.delete(features, place, axis=0).tobytes() for place, features in zip(PLACES, seen, strict=True)}) == 1
    )


@pytest.mark.parametrize("memory", [1, 2**29])
@pytest.mark.parametrize("method", ["landmarks", "fourier"])
def test_a_kernel_fit_of_a_table_computes_rows_by_themselves(
    method: Any, memory: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where rows have no fixed place the fit asks for features of so many of them, each alone, whenever it asks."""
    asked = _asked_alone(monkeypatch)
    PrivateKernelClassifier(RBF(1.0), 1.0, random_state=0, method=method, landmarks=10).fit(_table(FLAGS, 0, memory))
    assert set(asked) == {len(OTHERS) + 1}


def test_an_interactive_predictor_of_a_table_computes_rows_by_themselves(monkeypatch: pytest.MonkeyPatch) -> None:
    """With landmarks it asks for features of so many records that have no place."""
    asked = _asked_alone(monkeypatch)
    model = InteractiveKernelPredictor(RBF(1.0), 2.0, 1e-6, landmarks=10, random_state=0)
    model.fit(_table(FLAGS, 0))
    model.fit(_train(FLAGS))
    assert asked == [len(OTHERS) + 1, None]


@pytest.mark.parametrize("gamma", [1.0, 1e15])
def test_features_of_persons_rows_stand_alone(gamma: float) -> None:
    """A kernel that tells the last bits of a row apart has the same features for equal rows, wherever they stand."""
    domain = Domain(RBF(gamma), 1.0, WIDTH)
    row = 0.999 * ROW / np.linalg.norm(ROW)
    points = np.vstack([row + 1e-9 * GENERATOR.normal(size=WIDTH), 0.2 * GENERATOR.normal(size=(30, WIDTH))])
    for mapped in (Landmarks.at(domain, points), FourierFeatures.of(domain, 40)):
        found = [mapped.features(np.tile(row, (count, 1)), 3) for count in (1, 2, 3, 7, 1025, 1030, 2047)]
        assert len(np.unique(np.vstack(found), axis=0)) == 1
        if gamma == 1.0:
            assert np.allclose(mapped.features(np.tile(row, (7, 1))), found[3], rtol=0, atol=1e-6)


def test_precision_follows_the_number_of_persons(monkeypatch: pytest.MonkeyPatch) -> None:
    """Single precision, which moves all features, is chosen by how many persons there are, not by their rows."""
    monkeypatch.setattr(landmarks, "_MANY_NUMBERS", 100)
    mapped = Landmarks.at(Domain(Laplacian(1.0), 1.0, 2), GENERATOR.uniform(-0.5, 0.5, (5, 2)))
    rows = GENERATOR.uniform(-0.5, 0.5, (50, 2))
    assert mapped.features(rows).dtype == np.float32
    assert mapped.features(rows, 10).dtype == np.float64
    assert mapped.features(rows[:10], 30).dtype == np.float32


@pytest.mark.parametrize("method", ["landmarks", "fourier"])
def test_a_kernel_fit_of_persons_computes_rows_by_themselves(method: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """With groups the fit asks for features of persons."""
    asked = _asked_alone(monkeypatch)
    rows = GENERATOR.uniform(-0.5, 0.5, (40, 3))
    model = PrivateKernelClassifier(RBF(1.0), 1.0, data_norm=1.0, classes=[0, 1], method=method, landmarks=10)
    model.fit(rows, np.resize([0, 1], 40), groups=np.arange(40) // 2)
    model.fit(rows, np.resize([0, 1], 40))
    assert asked == [20, None]


def _asked_alone(monkeypatch: pytest.MonkeyPatch) -> list[int | None]:
    """Return a list of what is asked of maps from now on: of how many rows without a place they make features."""
    asked: list[int | None] = []
    for kind in (Landmarks, FourierFeatures):
        own = kind.features

        def seen(self: Any, records: Any, alone: int | None = None, own: Any = own) -> Any:
            asked.append(alone)
            return own(self, records, alone)

        monkeypatch.setattr(kind, "features", seen)
    return asked


@pytest.mark.parametrize("width", [3, 8_193, 20_011])
def test_a_row_has_one_length_whatever_stands_beside_it(width: int) -> None:
    """The last row of a table may be a block of its own: numpy added up a long single row in another order."""
    row = GENERATOR.normal(size=width)
    found = [DenseMatrix(np.tile(row, (count, 1))).square_lengths() for count in (1, 2, 3, 40)]
    found += [squares(np.tile(row, (count, 1))) for count in (1, 3)]
    assert len(np.unique(np.concatenate(found))) == 1
    assert found[0][0] == pytest.approx(float(row @ row), rel=1e-12)


def test_products_of_rows_alone_are_the_products() -> None:
    """Row by row the sums are those of the library of linear algebra, up to rounding."""
    rows, models = GENERATOR.normal(size=(5000, 30)), GENERATOR.normal(size=(3, 30))
    assert np.allclose(products_alone(rows, models), rows @ models.T, rtol=0, atol=1e-12)
    assert np.array_equal(products_alone(rows, models[0]), products_alone(rows, models)[:, 0])


@pytest.mark.parametrize("method", ["gaussian-process", "pinp"])
@pytest.mark.parametrize("score", [evaluation.report, evaluation.accuracy, evaluation.confusion_matrix])
@pytest.mark.parametrize("piped", [False, True])
def test_a_predictor_that_keeps_what_it_is_asked_is_refused(
    method: Any, score: Any, piped: bool, tmp_path: Path
) -> None:
    """`points_left_` would tell how many different rows were judged, and PINP's corrections move all later answers.

    It is one within a pipeline, too.
    """
    rows, labels = GENERATOR.uniform(-0.5, 0.5, (30, 2)), np.resize([0, 1], 30)
    model = InteractiveKernelPredictor(RBF(1.0), 2.0, 1e-6, data_norm=1.0, alpha=1.0, classes=[0, 1], method=method)
    model.fit(rows, labels)
    left = model.points_left_
    ledger = Ledger.create(f"sqlite:///{tmp_path}/x.db", name="x", budget=Budget(1.0))
    with pytest.raises(InvalidParameter, match="keeps every row"):
        score(make_pipeline(FunctionTransformer(), model) if piped else model, rows, labels, epsilon=1.0, ledger=ledger)
    assert model.points_left_ == left
    assert not ledger.entries()


@pytest.mark.parametrize("make", [np.asarray, csr_array])
def test_a_person_of_arrays_moves_no_bit_of_what_others_are_judged_by(make: Any) -> None:
    """Searches and cross-validation judge rows with groups by scores that are each row's own, to the last bit."""
    model = PrivateLinearRegression(1.0, data_norm=5.0, target_range=(-9, 9), random_state=0)
    model.fit(GENERATOR.normal(size=(200, WIDTH)), GENERATOR.uniform(-1, 1, 200))
    found = set()
    for first in range(1, 10):
        rows, ids = np.vstack([np.tile(ROW, (first, 1)), OTHERS]), [0] * first + list(range(1, len(OTHERS) + 1))
        data = Data.of(model, make(rows), np.zeros(len(rows)), ids)
        seen: list[Any] = []
        goodness(_Spy(model, seen), data, "error")
        found.add(seen[0][-len(OTHERS) :].tobytes())
    assert len(found) == 1


class _Spy:
    """Hands on what a model predicts, and keeps it."""

    def __init__(self, model: Any, seen: list[Any]) -> None:
        self.model, self.seen = model, seen

    def predict(self, rows: Any) -> Any:
        """Predict as the model does."""
        self.seen.append(self.model.predict(rows))
        return self.seen[-1]
