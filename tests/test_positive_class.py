"""The positive class is the one that is declared: every sign, column, curve, rate and threshold is about it."""

from typing import Any

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import precision_score, recall_score

from support.served import served
from support.service import running
from tacit import (
    Client,
    InteractiveKernelPredictor,
    Ledger,
    PrivateERM,
    PrivateKernelClassifier,
    PrivateLinearSVC,
    PrivateLogisticRegression,
    Records,
    Schema,
    evaluation,
    load,
    save,
)
from tacit.budget import Budget
from tacit.data import Category, Flag, Number, Ordinal, PublicEncoder
from tacit.erm import Logistic
from tacit.errors import InvalidParameter
from tacit.kernels import RBF
from tacit.model_selection import PrivateSearch
from tacit.queries import ConjunctionClassifier, SQDecisionTree, SQNaiveBayes, SQPerceptron, StatisticalOracle

WORDS = [("healthy", "diabetic"), ("diabetic", "healthy"), ("nein", "ja"), ("ja", "nein"), ("1", "0")]
"""A negative and a positive class, in both orders of the alphabet."""
KINDS = {
    "flag": lambda no, yes: Flag(no, yes),
    "category": lambda no, yes: Category([yes, no], positive=yes),
    "category with other": lambda no, yes: Category([no, yes], other=no, positive=yes),
    "ordinal": lambda no, yes: Ordinal([yes, no], positive=yes),
}
SIZE = 2000


def _cells(start: int = 0) -> dict[str, Any]:
    places = start + np.arange(SIZE)
    return {"sugar": places * 0.7548777 % 1, "age": places * 0.5698403 % 1}


def _ill(no: str, yes: str, start: int = 0) -> Any:
    """Return whether each record is positive, as a fifth are: those with the largest numbers."""
    return np.where(_cells(start)["sugar"] > 0.8, yes, no)


def _records(no: str, yes: str, kind: str = "flag", start: int = 0, **how: Any) -> Records:
    schema = Schema({"sugar": Number(0, 1), "age": Number(0, 1), "ill": KINDS[kind](no, yes)}, target="ill")
    return Records({**_cells(start), "ill": _ill(no, yes, start)}, schema, **how)


ESTIMATORS = {
    "logistic": lambda: PrivateLogisticRegression(np.inf, curves=False),
    "noisy gradients": lambda: PrivateLogisticRegression(50.0, 1e-3, perturbation="gradient", random_state=0),
    "support vectors": lambda: PrivateLinearSVC(np.inf),
    "erm": lambda: PrivateERM(Logistic(), np.inf),
    "predictor": lambda: InteractiveKernelPredictor(RBF(1.0), 50.0, 1e-3, random_state=0),
    "perceptron": lambda: SQPerceptron(np.inf),
    "naive Bayes": lambda: SQNaiveBayes(np.inf),
    "tree": lambda: SQDecisionTree(np.inf),
    "conjunction": lambda: ConjunctionClassifier(np.inf),
    "search": lambda: PrivateSearch(
        PrivateLogisticRegression(), {"alpha": [1e-4]}, epsilon=50.0, runs=1.5, random_state=0
    ),
}


@pytest.mark.parametrize("words", WORDS)
@pytest.mark.parametrize("name", ESTIMATORS)
def test_the_positive_class_is_the_last_of_every_model(name: str, words: tuple[str, str]) -> None:
    """In whatever order the two words stand in the alphabet, and what grows with it has a positive sign."""
    records = _records(*words)
    model = ESTIMATORS[name]().fit(records)
    assert model.classes_.tolist() == list(words)
    if name in ("support vectors", "erm", "perceptron"):
        assert np.ravel(model.coef_)[0] > 0
    if hasattr(model, "predict_proba"):
        chances = model.predict_proba(records)
        assert chances[_cells()["sugar"] > 0.9, 1].mean() > chances[_cells()["sugar"] < 0.5, 1].mean()
    elif hasattr(model, "decision_function"):
        scores = model.decision_function(records)
        assert scores[_cells()["sugar"] > 0.9].mean() > scores[_cells()["sugar"] < 0.5].mean()


@pytest.mark.parametrize("words", WORDS[:2])
def test_kernel_models_end_with_the_positive_class(words: tuple[str, str]) -> None:
    """Over Fourier features, whose scores rise with what makes the class likelier."""
    records = _records(*words)
    model = PrivateKernelClassifier(RBF(2.0), 100.0, method="fourier", random_state=0).fit(records)
    chances = model.predict_proba(records)[:, 1]
    assert model.classes_.tolist() == list(words)
    assert chances[_cells()["sugar"] > 0.9].mean() > chances[_cells()["sugar"] < 0.5].mean()


@pytest.mark.parametrize("words", WORDS)
@pytest.mark.parametrize("kind", KINDS)
def test_reports_are_about_the_positive_class(kind: str, words: tuple[str, str]) -> None:
    """Recall, precision, rates at a threshold and the cheapest threshold are those of exact counts."""
    records, judged = _records(*words, kind), _records(*words, kind, start=SIZE)
    model = PrivateLogisticRegression(np.inf, curves=False).fit(records)
    told = evaluation.report(model, judged, epsilon=1e4, threshold=0.3, random_state=0)
    truth, chances = _ill(0, 1, SIZE), model.predict_proba(judged)[:, 1]
    assert told.classes == words
    assert told.recall.value == pytest.approx(recall_score(truth, chances > 0.3), abs=0.02)
    assert told.precision.value == pytest.approx(precision_score(truth, chances > 0.3), abs=0.02)
    assert told.confusion_matrix().sum(axis=1) == pytest.approx([1600, 400], abs=5)
    assert told.auc.value > 0.95
    assert told.best_threshold(false_negative=20.0) < told.best_threshold(false_positive=20.0)


@pytest.mark.parametrize("words", WORDS[:2])
def test_any_model_is_judged_by_what_the_records_declare(words: tuple[str, str]) -> None:
    """One of scikit-learn's, whose classes are sorted, with probabilities or without, has the figures of its own class.

    The twin: the same model and rows as arrays are judged on the second of the sorted classes.
    """
    records, y = _records(*words), _ill(*words)
    encoder = PublicEncoder(records.schema)
    X = np.asarray(encoder.transform(records))
    fitted = LogisticRegression(C=100.0).fit(X, y)

    class OfScores:
        """The model without probabilities, asked about records."""

        classes_ = fitted.classes_

        def predict(self, rows: Any) -> Any:
            return fitted.predict(encoder.transform(rows))

        def decision_function(self, rows: Any) -> Any:
            return fitted.decision_function(encoder.transform(rows))

    class OfChances(OfScores):
        """The same with them."""

        def predict_proba(self, rows: Any) -> Any:
            return fitted.predict_proba(encoder.transform(rows))

    recall = recall_score(y, fitted.predict(X), pos_label=words[1])
    for model in (OfScores(), OfChances()):
        told = evaluation.report(model, records, epsilon=1e4, random_state=0)
        assert told.recall.value == pytest.approx(recall, abs=0.02)
        assert told.title.startswith(f"{words[1]} (positive)")
    arrays = evaluation.report(fitted, X, y, epsilon=1e4, random_state=0)
    assert arrays.classes == tuple(sorted(words))


@pytest.mark.parametrize("words", WORDS[:2])
def test_a_report_of_two_classes_is_one_of_either(words: tuple[str, str]) -> None:
    """`of` the positive class is the report itself; of the other all roles are exchanged, and twice is none."""
    model, records = PrivateLogisticRegression(np.inf, curves=False).fit(_records(*words)), _records(*words, start=SIZE)
    for budget in ({"epsilon": 1.0}, {"epsilon": 1.0, "delta": 1e-6}):
        told = evaluation.report(model, records, **budget, threshold=0.3, random_state=0)
        other = told.of(words[0])
        assert told.of(words[1]) is told
        assert other.classes == words[::-1]
        assert other.threshold == pytest.approx(0.7)
        assert other.auc.value == pytest.approx(told.auc.value, abs=1e-6)
        assert other.accuracy.value == pytest.approx(told.accuracy.value, abs=1e-6)
        assert other.log_loss.value == pytest.approx(told.log_loss.value, abs=1e-6)
        matrix = told.confusion_matrix()
        assert other.confusion_matrix() == pytest.approx(matrix[::-1, ::-1], abs=1e-6)
        assert other.recall.value == pytest.approx(matrix[0, 0] / matrix[0].sum(), abs=1e-6)
        assert other.of(words[1]).recall.value == pytest.approx(told.recall.value, abs=1e-6)
    with pytest.raises(InvalidParameter, match="classes are"):
        told.of("somebody")


@pytest.mark.parametrize("words", WORDS[:4])
def test_a_model_file_keeps_the_order_of_its_classes(words: tuple[str, str], tmp_path: Any) -> None:
    """Saved and loaded, a model has the same classes, chances, schema and report."""
    records = _records(*words, "category")
    model = PrivateLogisticRegression(5.0, random_state=0).fit(records)
    save(model, tmp_path / "m.tacit")
    again = load(tmp_path / "m.tacit")
    assert again.classes_.tolist() == list(words)
    assert again.encoder_.schema.positive == words[1]
    assert np.array_equal(again.predict_proba(records), model.predict_proba(records))
    judged = _records(*words, "category", start=SIZE)
    told, same = (evaluation.report(each, judged, epsilon=10.0, random_state=0) for each in (model, again))
    assert told.recall == same.recall


@pytest.mark.parametrize("words", WORDS[:2])
def test_rows_in_a_file_learn_the_same_classes(words: tuple[str, str]) -> None:
    """Records that are too many for memory give the coefficients of those that are not."""
    models = [
        PrivateLogisticRegression(np.inf, curves=False).fit(_records(*words, **how)) for how in ({}, {"memory": 20_000})
    ]
    assert models[1].classes_.tolist() == list(words)
    assert models[1].coef_ == pytest.approx(models[0].coef_, rel=1e-6)


def test_a_schema_keeps_what_is_positive() -> None:
    """In TOML and back; a word that is no level is refused, and numbers are read as levels are."""
    for kind in ("category", "category with other", "ordinal"):
        schema = _records("ja", "nein", kind).schema
        assert Schema.from_toml(schema.to_toml()) == schema
        assert schema.positive == "nein"
        assert 'positive = "nein"' in schema.to_toml()
    assert Category([0, 1], positive=1).positive == "1"
    assert Schema({"a": Number(0, 1)}).positive is None
    for make in (Category, Ordinal):
        with pytest.raises(InvalidParameter, match="positive must be one of"):
            make(["a", "b"], positive="c")


def test_a_score_that_needs_a_positive_class_asks_for_it(tmp_path: Any) -> None:
    """Before any charge, in words that say what to declare; what needs none, and arrays, are answered."""
    ledger = Ledger.create(f"sqlite:///{tmp_path}/l.db", name="x", budget=Budget(10))
    table = {**_cells(), "ill": _ill("healthy", "diabetic")}
    schema = Schema({"sugar": Number(0, 1), "age": Number(0, 1), "ill": Category(["healthy", "diabetic"])}, "ill")
    records = Records(table, schema)
    model = PrivateLogisticRegression(1.0, ledger=ledger).fit(records)
    table = {**_cells(SIZE), "ill": _ill("healthy", "diabetic", SIZE)}
    records = Records(table, schema)
    assert model.classes_.tolist() == ["diabetic", "healthy"]
    for ask in (
        lambda: evaluation.report(model, records, epsilon=1.0, ledger=ledger),
        lambda: ConjunctionClassifier(1.0, ledger=ledger).fit(records),
        lambda: ConjunctionClassifier(1.0).learn(StatisticalOracle(records, ledger=ledger)),
    ):
        with pytest.raises(InvalidParameter, match=r'positive = "\.\.\."'):
            ask()
    assert ledger.spent == Budget(1)
    evaluation.accuracy(model, records, epsilon=1.0, ledger=ledger)
    other = Schema({**schema.columns, "ill": Category(["healthy", "diabetic"], positive="diabetic")}, "ill")
    assert evaluation.report(model, Records(table, other), epsilon=1.0, ledger=ledger).classes == (
        "healthy",
        "diabetic",
    )
    assert ledger.spent == Budget(3)


def test_classes_told_beside_records_change_no_order() -> None:
    """They are the schema's levels, in whatever order they are told; others are refused."""
    records = _records("healthy", "diabetic")
    for told in (["diabetic", "healthy"], {"healthy", "diabetic"}, np.array(["healthy", "diabetic"])):
        model = PrivateLogisticRegression(1.0, classes=told, random_state=0).fit(records)
        assert model.classes_.tolist() == ["healthy", "diabetic"]
    with pytest.raises(InvalidParameter, match="must be the levels"):
        PrivateLogisticRegression(1.0, classes=["healthy", "diabetic", "else"]).fit(records)


def test_arrays_have_sorted_classes_as_in_scikit_learn() -> None:
    """However they are declared."""
    X = np.random.default_rng(0).normal(size=(100, 2))
    y = np.where(X[:, 0] > 0, "diabetic", "healthy")
    for declared in (None, ["healthy", "diabetic"]):
        model = PrivateLogisticRegression(5.0, data_norm=3.0, classes=declared, random_state=0).fit(X, y)
        assert model.classes_.tolist() == ["diabetic", "healthy"]


@pytest.mark.parametrize("words", WORDS[:2])
def test_a_service_fits_and_judges_for_the_positive_class(words: tuple[str, str], tmp_path: Any) -> None:
    """Its facts, the model that comes over, the report that is computed again here and the page of the scores."""
    records = _records(*words)
    table = {**_cells(), "ill": _ill(*words)}
    with (
        running(tmp_path, budget=Budget(50.0), table=table, schema=records.schema, key=None) as found,
        served(found.client.app) as url,
        Client(url, found.tokens["alice"]) as client,
    ):
        data = client.dataset("clinic")
        assert data.schema.positive == words[1]
        model = data.fit(PrivateLogisticRegression(epsilon=10.0, curves=False), part="train")
        told = data.report(model, part="test", epsilon=10.0)
        assert model.classes_.tolist() == list(words)
        assert told.classes == words
        matrix = told.confusion_matrix()
        assert matrix[1].sum() < matrix[0].sum() / 2
        assert told.recall.value == pytest.approx(matrix[1, 1] / matrix[1].sum(), abs=0.05)
        assert told.of(words[0]).classes == words[::-1]
