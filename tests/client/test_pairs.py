"""What a data set of a service offers and what its twin offers is the same, name by name and call by call."""

import inspect
from pathlib import Path
from typing import Any

import ibis
import numpy as np
import pyarrow as pa
import pytest

from support.served import served
from support.service import SCHEMA, made_up_table, running
from tacit import Client, InteractiveKernelPredictor, PrivateLogisticRegression, StatisticalQuery, public_data
from tacit.budget import Budget
from tacit.errors import InvalidParameter, UnsupportedEvent
from tacit.evaluation import TwoClassReport
from tacit.kernels import RBF
from tacit.queries import Histogram
from tacit.service.registering import Declared, register

OLD = StatisticalQuery(lambda t: t.age > 60)
PREDICTOR = InteractiveKernelPredictor(RBF(1.0), epsilon=0.5, delta=1e-6, landmarks=20)
POINTS = [{"age": 61, "ward": "A"}, {"age": 20, "ward": "B"}]

OTHER = {
    "data set": {"records": "real ones never leave their place"},
    "predictor": {"session": "the name of what is kept over there"},
}
"""What one of a pair has and the other has not, and why."""


def public(thing: Any) -> set[str]:
    """Return the public names of something."""
    return {name for name in dir(thing) if not name.startswith("_")}


def whole(data: Any) -> dict[str, Any]:
    """Return one of everything that a data set gives."""
    model = data.fit(PrivateLogisticRegression(epsilon=1.0, curves=False))
    oracle = data.oracle("test")
    return {
        "data set": data, "oracle": oracle, "model": model, "predictor": data.predictor(PREDICTOR),
        "plan": oracle.preview([OLD], tolerance=0.2), "answer": oracle.ask(OLD, epsilon=0.1),
        "report": data.report(model, epsilon=0.5), "price of a question": data.price(OLD, epsilon=0.1),
        "price of a fit": data.price(PrivateLogisticRegression(epsilon=1.0)),
        "price of a predictor": data.price(PREDICTOR), "price of a report": data.price(model, epsilon=0.5),
    }  # fmt: skip


@pytest.fixture(scope="module")
def pair(tmp_path_factory):
    """Return everything of a data set of a service, and of its twin."""
    folder = tmp_path_factory.mktemp("service")
    with (
        running(folder, budget=Budget(20.0, 1e-3)) as found,
        served(found.client.app) as url,
        Client(url, found.tokens["alice"]) as client,
    ):
        data = client.dataset("clinic")
        yield whole(data), whole(data.twin())


def test_both_have_the_same_names(pair):
    """Of data set, oracle, model, predictor, answer, report and prices: nothing on one alone without a reason."""
    for what, real in pair[0].items():
        assert public(real) ^ public(pair[1][what]) == set(OTHER.get(what, {})), what


def test_both_are_called_in_the_same_way(pair):
    """Every public method takes the same arguments under the same names."""
    for what, real in pair[0].items():
        twin = pair[1][what]
        for name in public(real) & public(twin):
            one, other = getattr(type(real), name, None), getattr(type(twin), name, None)
            if inspect.isfunction(one) and inspect.isfunction(other):
                assert [*inspect.signature(one).parameters] == [*inspect.signature(other).parameters], (what, name)


def test_public_facts_are_the_same(pair):
    """Name, size, parts, budget and what is public; what things cost, how good they will be and whether they fit."""
    real, twin = pair[0]["data set"], pair[1]["data set"]
    for name in ("name", "n", "unit", "schema", "parts", "public", "budget"):
        assert getattr(real, name) == getattr(twin, name), name
    assert real.oracle().n == twin.oracle().n == real.n
    assert pair[0]["plan"] == pair[1]["plan"]
    for what in pair[0]:
        if what.startswith("price"):
            assert (pair[0][what].budget, pair[0][what].affordable) == (pair[1][what].budget, pair[1][what].affordable)
            assert pair[0][what].expected_error == pair[1][what].expected_error


def test_a_report_comes_back_whole(pair):
    """Curves, tables, rates at any threshold and pictures are computed here from the one table that was released."""
    for report in (pair[0]["report"], pair[1]["report"]):
        assert type(report) is TwoClassReport
        assert "auc" in report.figures()
        assert report.roc.x[-1] == 1.0
        assert 0 <= report.calibration.predicted[0] <= 1
        assert report.release.budget == Budget(0.5)
        assert report.at(0.3)
        assert report.confusion_matrix
        assert report.best_threshold
    assert pair[0]["report"].release.entry is not None


def test_a_report_is_that_of_the_page_to_the_last_bit(pair):
    """What the service computed from the table, and what the client computes from it, are the same numbers."""
    report, told = pair[0]["report"], _last_report(pair[0]["data set"])
    for name, figure in report.figures().items():
        assert told["figures"][name]["value"] == figure.value
        assert told["figures"][name]["interval"] == list(figure.interval)


def test_a_report_says_what_its_records_are_to_the_model(pair):
    """Both fit the part for training and judge the part for tests: that part is held out, over there as here."""
    for made in pair:
        assert made["report"].judged == "held out"
        assert "held out" in made["report"].title


def _last_report(data: Any) -> Any:
    jobs = data._wire.get("jobs")["jobs"]
    return next(job["result"]["report"] for job in jobs if job["kind"] == "report")


def test_a_predictor_predicts_and_scores(pair):
    """Its classes are those of the schema, and what is asked twice is told the same; labels stay here."""
    for predictor in (pair[0]["predictor"], pair[1]["predictor"]):
        said = predictor.predict(POINTS)
        assert set(said.tolist()) <= set(predictor.classes_.tolist())
        assert np.array_equal(said, predictor.predict(POINTS))
        with public_data():
            assert predictor.score(POINTS, said) == 1.0
        assert predictor.alpha_ > 0
        assert predictor.updates_left_ is None


def test_what_a_service_does_not_do_its_twin_does_not_do(pair):
    """A label of one's own, a seed, a part that is not there and an estimator of elsewhere are refused by both."""
    for data in (pair[0]["data set"], pair[1]["data set"]):
        with pytest.raises(TypeError):
            data.oracle().ask(OLD, epsilon=0.1, label="mine")
        with pytest.raises(InvalidParameter):
            data.fit(PrivateLogisticRegression(epsilon=1.0, random_state=3))
        with pytest.raises(InvalidParameter, match="part must be"):
            data.fit(PrivateLogisticRegression(epsilon=1.0), part="left over")


MANY = Histogram("age", tuple((float(level),) for level in range(10_001)))
FIT, PURE = PrivateLogisticRegression(epsilon=0.5, delta=1e-6, perturbation="gradient"), {"epsilon": 0.1}
REFUSED: dict[str, Any] = {
    "too many queries": lambda data: data.oracle().ask_all([OLD] * 201, epsilon=0.1, delta=1e-7),
    "too many numbers": lambda data: data.oracle().preview([MANY], epsilon=0.1, delta=1e-7),
    "a key with an accent": lambda data: data.oracle().ask(OLD, epsilon=0.1, delta=1e-7, key="é"),
    "a key that is too long": lambda data: data.fit(FIT, key="k" * 201),
    "a model of elsewhere": lambda data: data.report(_elsewhere(data), epsilon=0.1, delta=1e-7),
    "its price": lambda data: data.price(_elsewhere(data), epsilon=0.1, delta=1e-7),
    "no error at all": lambda data: data.price(data.fit(FIT), error=0, delta=1e-7),
    "an epsilon and an error": lambda data: data.price(data.fit(FIT), error=0.1, epsilon=0.1, delta=1e-7),
}
REFUSED_BY_GAUSSIAN: dict[str, Any] = {
    "a pure question": lambda data: data.oracle().ask(OLD, **PURE),
    "a pure price": lambda data: data.price(OLD, **PURE),
    "a pure fit": lambda data: data.fit(PrivateLogisticRegression(epsilon=0.1)),
    "the price of one": lambda data: data.price(PrivateLogisticRegression(epsilon=0.1)),
    "a pure report": lambda data: data.report(data.fit(FIT), **PURE),
    "a pure predictor": lambda data: data.predictor(InteractiveKernelPredictor(RBF(1.0), 0.5, landmarks=20)),
}


def _elsewhere(data: Any) -> Any:
    twin = data if data.is_twin else data.twin()
    return PrivateLogisticRegression(epsilon=1.0, random_state=1).fit(twin.records("train"))


@pytest.mark.parametrize("accountant", ["basic", "renyi", "gaussian"])
def test_what_the_service_refuses_its_twin_refuses(tmp_path: Path, accountant: str) -> None:
    """In the same way, of whatever kind the account is; what it takes its twin takes; both know how large parts are."""
    with (
        running(tmp_path / "s", budget=Budget(20.0, 1e-4), accountant=accountant) as found,
        served(found.client.app) as url,
        Client(url, found.tokens["alice"]) as client,
    ):
        data = client.dataset("clinic")
        twin = data.twin()
        for what, act in {**REFUSED, **(REFUSED_BY_GAUSSIAN if accountant == "gaussian" else {})}.items():
            said = []
            for each in (data, twin):
                with pytest.raises((InvalidParameter, UnsupportedEvent)) as refused:
                    act(each)
                said.append(type(refused.value))
            assert said[0] is said[1], what
        for each in (data, twin):
            assert len(each.oracle("test").ask_all([OLD] * 200, epsilon=0.1, delta=1e-7)) == 200
            assert each.report(each.fit(FIT), epsilon=0.1, delta=1e-7).figures()
        for part in data.parts:
            assert data.oracle(part).n == twin.oracle(part).n


@pytest.mark.filterwarnings("ignore:these are records that the model was fitted to")
def test_a_data_set_without_parts_has_a_twin_without_parts(tmp_path):
    """Rows without an order and without a key are one part: what cannot be held out there cannot be here."""
    table = ibis.duckdb.connect().create_table("v", pa.table(made_up_table(300, seed=9)))
    with running(tmp_path) as found, served(found.client.app) as url:
        declared = Declared("view", SCHEMA, Budget(4.0, 1e-5), signed_by="C")
        register(declared, table, found.service.state, found.settings)
        data = Client(url, found.tokens["alice"]).dataset("view")
        for each in (data, data.twin()):
            assert each.parts == ("all",)
            with pytest.raises(InvalidParameter, match="part must be"):
                each.fit(PrivateLogisticRegression(epsilon=0.5))
            model = each.fit(PrivateLogisticRegression(epsilon=0.1), part="all")
            assert each.report(model, part="all", epsilon=0.1).roc


def test_an_error_that_is_wanted_has_an_epsilon_on_both(pair):
    """Prices by error: the epsilon keeps it, a smaller one would not, and twins say the same."""
    report, predictor = pair[0]["model"], InteractiveKernelPredictor(RBF(1.0), delta=1e-6, landmarks=20, alpha=0.1)
    for real, twin, error in ((report, pair[1]["model"], 0.2), (predictor, predictor, 0.5)):
        prices = [pair[0]["data set"].price(real, error=error), pair[1]["data set"].price(twin, error=error)]
        assert prices[0].budget == prices[1].budget
        assert 0.9 * error <= prices[0].expected_error["error"] <= error
