"""A model file gives back the estimator that was saved, and nothing that is not in it."""

import dataclasses
import json
import os
import pickle
import struct
import sys

import numpy as np
import pytest
from sklearn.base import clone

import tacit
from support.fitted_models import NAMES as MODELS
from support.fitted_models import fitted_model, rows
from tacit import Budget, InteractiveKernelPredictor, Ledger, PrivateERM, PrivateKernelClassifier, Records
from tacit import PrivateLogisticRegression as Logistic
from tacit.accounting.history import Entry
from tacit.data import Flag, Number
from tacit.data.columns import Column
from tacit.erm import HuberHinge
from tacit.errors import FileNotWritten, ModelFileError
from tacit.estimators.saving.declared import _ENTRY, RELEASE
from tacit.estimators.saving.fields import Saved, Struct
from tacit.kernels import RBF, FunctionKernel
from tacit.models.kinds import NAMES, class_of
from tacit.queries import DecisionListClassifier, SQDecisionTree, SQNaiveBayes
from tacit.releases import Release

EVERY = pytest.mark.parametrize("name", MODELS)
WAYS = ("predict", "decision_function", "predict_proba", "predict_log_proba", "transform")


def shown(model):
    """Return parameters and fitted attributes: what a class keeps for its own course begins with an underscore."""
    return {name: value for name, value in vars(model).items() if not name.startswith("_")}


@pytest.fixture
def path(tmp_path):
    """Where a model may be saved."""
    return tmp_path / "model.tacit"


@EVERY
def test_a_loaded_model_predicts_the_same_bits(name, path):
    """Every way to predict gives the same bytes and type, from an estimator of the same class."""
    model, X = fitted_model(name)
    tacit.save(model, path)
    loaded = tacit.load(path)
    assert type(loaded) is type(model)
    ways = [way for way in WAYS if hasattr(model, way)]
    assert {"predict", "transform"} & set(ways)
    for way in ways:
        before, after = getattr(model, way)(X), getattr(loaded, way)(X)
        assert before.dtype == after.dtype
        assert before.tolist() == after.tolist() if before.dtype == object else before.tobytes() == after.tobytes()
    if hasattr(model, "rules"):
        assert loaded.rules() == model.rules()
    if hasattr(model, "encoder_") and hasattr(model, "centres"):
        assert loaded.centres() == model.centres()


@EVERY
def test_a_loaded_model_is_an_estimator_with_its_parameters_and_attributes(name, path):
    """Parameters, fitted attributes and the release come back; it can be cloned, pickled, saved and fitted again."""
    model, X = fitted_model(name)
    tacit.save(model, path)
    loaded = tacit.load(path)
    assert shown(loaded).keys() - {"card_"} == shown(model).keys()
    given, found = model.get_params(deep=False), loaded.get_params(deep=False)
    for parameter in given.keys() - {"landmarks"}:
        assert np.array_equal(found[parameter], given[parameter]), parameter
    assert loaded.release_.guarantee == model.release_.guarantee
    assert loaded.release_.event == model.release_.event
    assert loaded.release_.budget == model.release_.budget
    clone(loaded)
    way = "predict" if hasattr(model, "predict") else "transform"
    assert np.array_equal(getattr(pickle.loads(pickle.dumps(loaded)), way)(X), getattr(model, way)(X))
    again = path.with_name("again.tacit")
    tacit.save(loaded, again)
    assert again.read_bytes() == path.read_bytes()


def test_the_ledgers_entry_is_kept_and_its_handle_is_not(path, tmp_path):
    """The release says what was charged where; nothing in the file leads to the ledger, and a seed that is no number
    is left out.
    """
    X, number = rows()
    ledger = Ledger.create(f"sqlite:///{tmp_path}/secret.db", name="clinic", budget=Budget(1))
    part = ledger.partition("use", ["train", "test"], fixed_by="index")["train"]
    model = Logistic(0.5, data_norm=1.0, ledger=part).fit(X, number > 0)
    tacit.save(model, path)
    loaded = tacit.load(path)
    assert loaded.release_.entry == model.release_.entry == ledger.entries()[-1]
    assert loaded.ledger is None
    assert b"secret.db" not in path.read_bytes()
    seeded = Logistic(0.5, data_norm=1.0, random_state=np.random.RandomState(0)).fit(X, number > 0)
    tacit.save(seeded, path)
    assert tacit.load(path).random_state is None
    assert not tacit.load(path).release_.private


@pytest.mark.parametrize("kind", NAMES)
def test_every_attribute_of_every_kind_is_declared(kind):
    """A fitted attribute without a place in the file makes saving fail, and every kind has a model in these tests."""
    known = class_of(kind)
    models = [model for model, _ in map(fitted_model, MODELS) if type(model) is known]
    assert models
    assert isinstance(known.saved, Saved)
    for model in models:
        assert {name for name in vars(model) if name.endswith("_")} <= known.saved.fitted.keys()


def test_records_of_values_are_declared_whole():
    """`Release` and `Entry` are written with all their fields."""
    for field, kind in ((RELEASE, Release), (_ENTRY, Entry)):
        assert isinstance(field, Struct)
        assert field.fields.keys() == {each.name for each in dataclasses.fields(kind)}


def test_an_attribute_that_no_file_has_a_place_for_is_refused(path):
    """Saving never drops what somebody fitted."""
    X, number = rows()
    model = Logistic(0.5, data_norm=1.0).fit(X, number > 0)
    model.further_ = 1
    with pytest.raises(ModelFileError, match="further_"):
        tacit.save(model, path)
    assert not path.exists()


class _Scaled(HuberHinge.__mro__[1]):
    """A loss of somebody's own, convex and bounded."""

    lipschitz = smoothness = 1.0
    kind = "margin"

    def value(self, t):
        return np.logaddexp(0.0, -t)

    def derivative(self, t):
        return -1 / (1 + np.exp(t))

    def curvature(self, t):
        return 1 / (2 + np.exp(t) + np.exp(-t))

    def one_sided(self, t):
        return self.derivative(t), self.derivative(t)


def test_code_and_records_are_refused(path):
    """Subclasses, functions, losses of one's own, secret models, unfitted ones: each is named, and no file is left."""
    X, number = rows(40)
    function = FunctionKernel(lambda x, z: float(x @ z), 4.0, vectors=True)
    secret = InteractiveKernelPredictor(RBF(1.0), epsilon=1.0, delta=1e-6, data_norm=1.0, random_state=0)
    refused = [
        PrivateKernelClassifier(function, 1.0, data_norm=2.0, landmarks=X[:5].copy()).fit(X, number > 0),
        PrivateERM(_Scaled(), 1.0, data_norm=2.0).fit(X, number > 0),
        secret.fit(X, number > 0),
        {"coef_": 1},
    ]
    for model in refused:
        with pytest.raises(ModelFileError, match="cannot be saved"):
            tacit.save(model, path)
    with pytest.raises(Exception, match="not fitted"):
        tacit.save(Logistic(1.0), path)
    assert os.listdir(path.parent) == []


@pytest.mark.parametrize(
    "classes",
    [
        [-(2**63), 5], np.array([1, 2**64 - 1], dtype=np.uint64), [10**30, 1], np.array([0.1, 0.2], dtype=np.float16),
        np.array([2.5, 10**30, True], dtype=object), [5e-324, 1e300], ["", " a", "\x1b"],
    ],
    ids=str,
)  # fmt: skip
def test_classes_of_every_kind_come_back(classes, path):
    """Both ends of every type of whole numbers, those of no type, halves of floats: what is a class can be saved."""
    X, _ = rows()
    labels = np.array([classes[place % len(classes)] for place in range(len(X))], dtype=object)
    model = Logistic(1.0, data_norm=2.0, classes=classes, random_state=0).fit(X, labels)
    tacit.save(model, path)
    loaded = tacit.load(path)
    assert loaded.classes_.dtype == model.classes_.dtype
    assert loaded.predict(X).tolist() == model.predict(X).tolist()


def test_large_whole_numbers_among_parameters_come_back(path):
    """As many digits as a float can be near to."""
    X, number = rows()
    given = {"class_weight": {False: 10**60, True: 1}, "data_norm": 10**50}
    tacit.save(Logistic(1.0, **given, random_state=0).fit(X, number > 0), path)
    assert tacit.load(path).get_params().items() >= given.items()


@pytest.mark.parametrize("learner", [SQDecisionTree, SQNaiveBayes, DecisionListClassifier])
@pytest.mark.parametrize("column", [Number(-1e100, 1e100, log=True), Number(1.0, 1.0 + 2**-51)], ids=str)
def test_edges_that_fall_together_are_one(learner, column, path):
    """Bins narrower than floats are apart: the model that was paid for is saved, and predicts the same."""
    _, number = rows()
    records = Records({"a": number, "y": number > 0}, tacit.Schema({"a": column, "y": Flag()}, target="y"))
    model = learner(epsilon=5.0, random_state=0).fit(records)
    tacit.save(model, path)
    assert tacit.load(path).predict(records).tolist() == model.predict(records).tolist()


def test_what_could_not_be_read_again_is_not_written(path):
    """Saving reads what it would write: texts too long or that UTF-8 cannot spell, and attributes that make no sense
    together, are refused in words, and no file is left.
    """
    X, number = rows()
    for name in ("x\ud800", "x" * 100_001):
        model = Logistic(1.0, data_norm=2.0, classes=[name, "y"], random_state=0)
        with pytest.raises(ModelFileError, match=r"cannot be saved.*UTF-8 can spell"):
            tacit.save(model.fit(X, np.where(number > 0, name, "y")), path)
    model = Logistic(1.0, data_norm=2.0, random_state=0).fit(X, number > 0)
    model.coef_ = np.zeros((1, 5))
    with pytest.raises(ModelFileError, match=r"cannot be saved.*as many features"):
        tacit.save(model, path)
    assert not path.exists()


def test_a_model_of_very_many_arrays_comes_back(path):
    """A table for each of ten thousand features is an array each."""
    X = np.random.default_rng(0).normal(size=(20, 10_001))
    model = SQNaiveBayes(1.0, random_state=0).fit(X, X[:, 0] > 0)
    tacit.save(model, path)
    assert tacit.load(path).predict(X).tolist() == model.predict(X).tolist()


def test_the_file_is_as_the_format_says(path):
    """Magic, version, lengths, numbers and checksum are where container.py says; numbers are little-endian."""
    X, number = rows()
    model = Logistic(0.5, data_norm=1.0).fit(X, number > 0)
    tacit.save(model, path)
    found = path.read_bytes()
    magic, version, length = struct.unpack("<8sII", found[:16])
    assert (magic, version) == (b"\x89TACIT\r\n", 1)
    document = json.loads(found[16 : 16 + length])
    assert document["kind"] == "logistic-regression"
    shapes = [each["shape"] for each in document["arrays"]]
    assert shapes[document["fitted"]["coef_"]] == [1, 4]
    start = 16 + length + 8 * sum(int(np.prod(shape)) for shape in shapes[: document["fitted"]["coef_"]])
    assert found[start : start + 32] == model.coef_.astype("<f8").tobytes()
    assert len(found) == 16 + length + 8 * sum(int(np.prod(shape)) for shape in shapes) + 32
    words = json.dumps([document["kind"], document["parameters"], document["fitted"]])
    assert "numpy" not in words
    assert "tacit." not in words


def test_a_file_is_written_whole_or_not_at_all(path, monkeypatch):
    """What fails on the way leaves the former file and no other."""
    X, number = rows()
    model = Logistic(0.5, data_norm=1.0).fit(X, number > 0)
    tacit.save(model, path)
    former = path.read_bytes()
    for failure, expected in ((OSError(28, "No space left on device"), FileNotWritten), (KeyboardInterrupt(), None)):

        def failing(*_, failure=failure):
            raise failure

        monkeypatch.setattr(os, "fsync", failing)
        with pytest.raises(expected or KeyboardInterrupt):
            tacit.save(model, path)
        assert path.read_bytes() == former
        assert os.listdir(path.parent) == [path.name]


def test_a_place_where_nothing_can_be_written_is_refused(path, tmp_path):
    """A folder that is not there, and one of that name: one line, and nothing is left."""
    model, _ = fitted_model("two classes")
    (tmp_path / "folder").mkdir()
    for place in (tmp_path / "none" / "m.tacit", tmp_path / "folder"):
        with pytest.raises(FileNotWritten):
            tacit.save(model, place)
    assert os.listdir(tmp_path) == ["folder"]


def test_big_and_little_machines_read_the_same_numbers():
    """Types are fixed in their byte order, whatever the machine's own is."""
    from tacit.estimators.saving.packing import TYPES

    assert {kind.str for kind in TYPES.values()} == {"<f8", "<i8", "|b1"} or sys.byteorder == "little"


def test_every_kind_of_column_comes_back():
    """Schemas are rebuilt exactly, each kind of column with all it declares."""
    from support.fitted_models import SCHEMA
    from tacit.data import Ignored, Key
    from tacit.estimators.saving.declared import SCHEMA as FIELD
    from tacit.estimators.saving.packing import ReadingAside, WritingAside

    declared = tacit.Schema({**SCHEMA.columns, "id": Key(), "note": Ignored()}, target="ill")
    plain = json.loads(json.dumps(FIELD.write(declared, WritingAside())))
    assert FIELD.read(plain, ReadingAside([])) == declared
    kinds = {type(column) for column in declared.columns.values()}
    assert kinds == set(_final(Column))


def _final(kind):
    # Other tests' own kinds are no part of a schema.
    below = [each for each in kind.__subclasses__() if each.__module__.startswith("tacit.")]
    return {kind} if not below else set().union(*map(_final, below))
