"""The client against a service: data sets are what they are there, and twins are what they are here."""

import pytest

from support.served import served
from support.service import SCHEMA, running
from tacit import Client
from tacit.budget import Budget
from tacit.errors import ServiceError


@pytest.fixture(scope="module")
def clinic(tmp_path_factory):
    """A service over a made-up table, at an address, and the tokens for it."""
    with running(tmp_path_factory.mktemp("service")) as found, served(found.client.app) as url:
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
    assert (dataset.n, dataset.unit, dataset.schema, dataset.budget) == (400, "record", SCHEMA, Budget(4.0, 1e-5))
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
    same = dataset.twin(3).records().targets()
    assert twin.records().targets().tolist() == same.tolist()
