"""The client against a service: data sets are what they are there, and twins are what they are here."""

import httpx
import numpy as np
import pytest

from support.opened import cells_of
from support.served import served
from support.service import SCHEMA, running
from tacit import Client, InteractiveKernelPredictor, PrivateLogisticRegression, StatisticalQuery, load, save
from tacit.budget import Budget
from tacit.errors import BudgetExceeded, InvalidParameter, ServiceError
from tacit.kernels import RBF
from tacit.queries import Histogram


@pytest.fixture(scope="module")
def clinic(tmp_path_factory):
    """A service over a made-up table, at an address, and the tokens for it."""
    with (
        running(tmp_path_factory.mktemp("service"), budget=Budget(8.0, 1e-5)) as found,
        served(found.client.app) as url,
    ):
        yield found, url


@pytest.fixture
def client(clinic):
    """A client of an analyst."""
    found, url = clinic
    with Client(url, found.tokens["alice"]) as made:
        yield made


def test_a_data_set_tells_what_is_public(client):
    """Its name, size, unit, schema, budget and what is left; nobody is charged for it."""
    assert client.datasets() == ["clinic"]
    assert client.me["scope"] == "analyst"
    dataset = client.dataset("clinic")
    assert (dataset.n, dataset.unit, dataset.schema, dataset.budget) == (400, "record", SCHEMA, Budget(8.0, 1e-5))
    assert dataset.left <= dataset.budget
    assert "clinic" in repr(dataset)


def test_a_token_of_nobody_and_a_data_set_of_nobody_are_refused(clinic):
    """As service errors, in words."""
    found, url = clinic
    with Client(url, "tacit_00000000_" + "a" * 43) as nobody, pytest.raises(ServiceError, match="token"):
        nobody.datasets()
    with Client(url, found.tokens["alice"]) as alice, pytest.raises(ServiceError, match=r"no such|not found"):
        alice.dataset("../tokens")


def test_a_token_may_come_from_the_environment(clinic, monkeypatch):
    """TACIT_TOKEN stands for it; without either nothing is sent."""
    found, url = clinic
    monkeypatch.setenv("TACIT_TOKEN", found.tokens["bob"])
    with Client(url) as bob:
        assert bob.me["name"] == "bob"
    monkeypatch.delenv("TACIT_TOKEN")
    for token in (None, "", "two\nlines", "ümlaut"):
        with pytest.raises(ValueError, match="token"):
            Client(url, token)


def test_a_twin_is_made_here_from_what_is_public(client):
    """As many made-up records under the same schema, the same ones for the same seed; marked as made up everywhere."""
    dataset = client.dataset("clinic")
    twin = dataset.twin(3)
    assert (twin.n, twin.schema, twin.unit, twin.is_twin) == (dataset.n, dataset.schema, dataset.unit, True)
    assert "NOT real" in repr(twin)
    assert twin.records("train").is_twin
    same = cells_of(dataset.twin(3).records())
    assert all((cells == same[name]).all() for name, cells in cells_of(twin.records()).items())


def script(data, tmp_path):
    """What somebody writes on a twin and runs on the records: it knows of no difference."""
    share = StatisticalQuery(lambda t: (t.age > 50) & t.smoker)
    wards = Histogram(lambda t: t.ward, [["A"], ["B"], ["C"]])
    price = data.price(share, epsilon=0.1)
    answer = data.oracle().ask(share, epsilon=0.1, of="sample")
    both = data.oracle("test").ask_all([share, wards], epsilon=0.2, of="sample")
    model = data.fit(PrivateLogisticRegression(epsilon=1.0, curves=False), part="train")
    scores = data.report(model, part="test", epsilon=1.0)
    save(model, tmp_path / "m.tacit")
    predictor = data.predictor(InteractiveKernelPredictor(RBF(1.0), epsilon=1.0, delta=1e-6, landmarks=30))
    points = {
        "age": [20, 61, 20],
        "ward": ["A", "B", "A"],
        "smoker": [True, False, True],
        "admitted": ["2020-05-01"] * 3,
    }
    values = predictor.answer(points).values
    return price, answer, both, model, scores, values, predictor.points_left_


@pytest.mark.parametrize("twin", [True, False])
def test_a_script_written_on_the_twin_runs_unchanged_on_the_records(clinic, tmp_path, twin):
    """Questions, a model, its scores and a predictor: the same lines, the same kinds of answers; twins cost nothing."""
    found, url = clinic
    account = found.service.datasets.get("clinic").account
    with Client(url, found.tokens["alice"]) as client:
        data = client.dataset("clinic")
        before = account.spent
        told = script(data.twin() if twin else data, tmp_path)
        price, answer, both, model, scores, values, left = told
        assert price.budget == Budget(0.1)
        assert 0 < answer.tolerance < 1
        assert [np.shape(each.value) for each in both] == [(), (3,)]
        assert isinstance(load(tmp_path / "m.tacit"), PrivateLogisticRegression)
        assert scores.auc.interval[0] <= scores.auc.value <= scores.auc.interval[1]
        assert values[0] == values[2] != values[1]
        assert left > 0
        assert (account.spent == before) == twin
        assert model.release_.private != twin
        if not twin:
            assert data.left == account.remaining
            assert model.card_.tacit["ledger"]["head"]


def test_a_query_that_lost_its_connection_is_charged_once(clinic):
    """The answer was on its way when the line broke: asked again under its key, it is the same answer for no more."""
    found, url = clinic
    account = found.service.datasets.get("clinic").account
    with Client(url, found.tokens["bob"]) as client:
        oracle = client.dataset("clinic").oracle()
        send, lost = client._wire.http.send, iter([True, True, False, False])

        def losing(request, **how):
            response = send(request, **how)
            if request.method == "POST" and next(lost):
                raise httpx.ReadError("gone")
            return response

        client._wire.http.send = losing
        before = account.spent
        answer = oracle.ask(StatisticalQuery("age > 33"), epsilon=0.05, key="mine")
        assert account.spent == before + Budget(0.05)
        assert oracle.ask(StatisticalQuery("age > 33"), epsilon=0.05, key="mine").value == answer.value
        assert account.spent == before + Budget(0.05)


def test_refusals_are_tacits_own_exceptions(clinic):
    """Nonsense is InvalidParameter, a spent budget BudgetExceeded; a local model cannot be scored over there."""
    found, url = clinic
    with Client(url, found.tokens["bob"]) as client:
        data = client.dataset("clinic")
        with pytest.raises(InvalidParameter):
            data.oracle().ask(StatisticalQuery("nobody > 3"), epsilon=0.1)
        with pytest.raises(BudgetExceeded):
            data.oracle().ask(StatisticalQuery("age > 3"), epsilon=4.5)
        with pytest.raises(BudgetExceeded):
            data.fit(PrivateLogisticRegression(epsilon=4.5))
        with pytest.raises(InvalidParameter, match="fitted itself"):
            data.report(PrivateLogisticRegression(epsilon=1.0), epsilon=0.1)
        with pytest.raises(InvalidParameter, match="random_state"):
            data.fit(PrivateLogisticRegression(epsilon=1.0, random_state=3))
