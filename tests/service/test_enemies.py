"""What a hostile reviewer found: each test failed before it was mended."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from support.jobs import begun, ended, made
from support.service import SCHEMA, Running, made_up_table, running
from tacit.budget import Budget
from tacit.data import Schema
from tacit.errors import InvalidParameter, LedgerCorrupt, WitnessFailed
from tacit.service import registering
from tacit.service.blocks import TimeBlock
from tacit.service.jobs.table import Jobs
from tacit.service.registering import Declared, register
from tacit.service.service import Service
from tacit.service.settings import Settings
from tacit.service.sources import Place
from tacit.service.state import ANSWER, REQUEST

BAYES = {"estimator": "SQNaiveBayes", "parameters": {"epsilon": 0.1}, "part": "train"}


def _spent(served: Running) -> float:
    return float(served.get("/v1/datasets/clinic").json()["spent"]["epsilon"])


def test_a_token_for_some_data_sets_gives_none_for_others(served: Running) -> None:
    """A custodian of one data set can neither make, see nor end a token that is for more, nor register another's."""
    public, served.tokens["eve"] = served.service.tokens.make("eve", "custodian", datasets=["clinic"])
    others = [each["id"] for each in served.service.tokens.all() if each["id"] != public]
    wider: list[Any] = [["clinic", "other"], ["other"]]
    for datasets in wider:
        body = {"name": "eve", "scope": "custodian", "datasets": datasets}
        assert served.post("/v1/tokens", body, "eve").status_code == 404
    made_now = served.post("/v1/tokens", {"name": "eve", "scope": "custodian"}, "eve")
    served.tokens["eva"] = made_now.json()["token"]
    assert served.get("/v1/me", "eva").json()["datasets"] == ["clinic"]
    assert {each["id"] for each in served.get("/v1/tokens", "eve").json()["tokens"]} == {public, made_now.json()["id"]}
    assert {served.delete(f"/v1/tokens/{other}", "eve").status_code for other in others} == {404}
    assert served.delete(f"/v1/tokens/{made_now.json()['id']}", "eve").status_code == 200
    assert served.get("/v1/me", "alice").status_code == 200


def test_the_same_fit_is_had_again_for_nothing(served: Running) -> None:
    """What the account remembers is told again, to anybody, as a model of its own that cost nothing."""
    first, again = made(served, "fits", BAYES), made(served, "fits", BAYES, "bob")
    assert (first["cost"]["epsilon"], again["cost"]["epsilon"]) == (0.1, 0.0)
    assert first["entry"] is not None
    assert again["entry"] is None
    assert _spent(served) == 0.1


def test_a_fit_whose_answers_were_remembered_before_a_crash_is_still_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An attempt that dies between the account's memory and the job's end is paid once, and says so."""
    keep, attempts = Jobs.keep, []

    def keep_late(self: Jobs, *given: Any) -> bool:
        attempts.append(given)
        if len(attempts) == 1:
            raise OSError
        return keep(self, *given)

    monkeypatch.setattr(Jobs, "keep", keep_late)
    with running(tmp_path, lease=0.2) as served:
        job = ended(served, begun(served, "fits", BAYES))
        assert (job["state"], job["charged"], job["result"]["cost"]["epsilon"]) == ("done", True, 0.1)
        assert len(attempts) == 2
        assert _spent(served) == 0.1


def _declare(served: Running, name: str, table: Any, schema: Schema = SCHEMA, **more: Any) -> None:
    declared = Declared(name, schema, Budget(1), "Carol", **{"key": "id", **more})
    register(declared, table, served.service.state, served.settings)


def _grown(rows: int) -> tuple[dict[str, Any], Schema]:
    """Return the clinic's table with more rows, in another order, its columns renamed and in another order."""
    clinic, more = made_up_table(), made_up_table(rows, seed=6)
    order = np.random.default_rng(1).permutation(len(clinic["id"]) + rows)
    names = sorted(SCHEMA.columns)
    table = {f"my {name}": np.concatenate([clinic[name], more[name]])[order] for name in names}
    return table, Schema({f"my {name}": SCHEMA.columns[name] for name in names}, target="my ill")


@pytest.mark.parametrize("rows", [1, 40])
def test_records_with_some_more_among_them_get_no_second_budget(served: Running, rows: int) -> None:
    """Neither one row more nor a tenth more, shuffled under other names, makes another table of the same records."""
    table, schema = _grown(rows)
    with pytest.raises(InvalidParameter, match="second budget"):
        _declare(served, "other", table, schema, key="my id")
    _declare(served, "other", made_up_table(seed=7))
    # A table all of whose rows are few different ones is like any other of its kind.
    few = {name: values[:, None][:60].repeat(8, axis=1).ravel() for name, values in made_up_table(seed=8).items()}
    _declare(served, "few", few, key=None)


def test_two_registrations_at_once_do_not_both_have_a_budget(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Who registers the same records while another's are still being read is refused, and leaves no copy of them."""
    marks_of, table = registering.marks_of, made_up_table(seed=9)
    with running(tmp_path) as served:

        def meanwhile(*given: Any) -> Any:
            monkeypatch.setattr(registering, "marks_of", marks_of)
            _declare(served, "one", table)
            return marks_of(*given)

        monkeypatch.setattr(registering, "marks_of", meanwhile)
        with pytest.raises(InvalidParameter, match="second budget"):
            _declare(served, "two", table)
        assert served.service.datasets.names() == ["clinic", "one"]
        assert sorted(each.name.partition("-")[0] for each in served.settings.tables.iterdir()) == ["clinic", "one"]


def test_persons_have_no_blocks() -> None:
    """A person may have rows in several blocks, whose budgets would add up unseen."""
    block = TimeBlock("visits", "admitted", "2020-01-01", "2021-01-01")
    with pytest.raises(InvalidParameter, match="several"):
        Declared("name", SCHEMA, Budget(1), "Carol", unit="id", block=block)


def test_an_emptied_witness_is_no_witness(tmp_path: Path) -> None:
    """A service does not start beside a witness that forgot the accounts it was told of."""
    with running(tmp_path) as served:
        witness = Path(served.settings.witness)
        assert served.get("/v1/datasets/clinic/verify", "dora").json()["holds"]
    told = witness.read_bytes()
    for emptied in (b"", b'{"account": "another", "head": "00", "number": 9}\n'):
        witness.write_bytes(emptied)
        with pytest.raises(LedgerCorrupt, match="knows nothing"):
            Service(served.settings)
    witness.unlink()
    with pytest.raises(LedgerCorrupt, match="knows nothing"):
        Service(served.settings)
    witness.write_bytes(told)
    Service(served.settings).close()


def test_a_password_of_a_database_stands_in_the_settings_alone(tmp_path: Path) -> None:
    """A custodian names one of the settings' sources; an address with a password of its own is refused."""
    address = "postgresql://reader:hush@host/people"
    settings = Settings(tmp_path, sources={"people": address})
    place = Place.of({"address": "people", "table": "visits"}, settings)
    assert place.opened == (address, "visits")
    for told in (address, "postgresql://reader@host/people?password=hush"):
        with pytest.raises(InvalidParameter, match="secret"):
            Place.of({"address": told, "table": "visits"}, settings)


def test_another_name_for_the_records_loosens_no_share(served: Running, tmp_path: Path) -> None:
    """Bob may spend half of what there is for these records: under a second name that says nothing of him, too."""
    again = Declared("again", SCHEMA, Budget(4.0, 1e-5), signed_by="Carol", key="id", shares_ledger_with="clinic")
    register(again, made_up_table(), served.service.state, served.settings)
    body = {"queries": [{"mean": "age > 60"}], "epsilon": 3}
    assert served.get("/v1/datasets/again", "bob").json()["share"]["of"] == "1/2"
    assert served.post("/v1/datasets/again/queries", body, "bob").status_code == 402
    assert served.post("/v1/datasets/again/queries", body, "alice").status_code == 200


def test_what_is_remembered_was_closed_before_anybody_is_told(served: Running, monkeypatch: pytest.MonkeyPatch) -> None:
    """Alice's answer is kept and its ticket cannot be closed: Bob gets an answer of his own, not hers.

    Were he told hers, and the state restored to before it was kept, she would be drawn a second answer for one charge.
    """

    def fails(*_: Any) -> None:
        raise WitnessFailed("full")

    route, body = "/v1/datasets/clinic/queries", {"queries": [{"mean": "age > 60"}], "epsilon": 0.1}
    with monkeypatch.context() as patch:
        patch.setattr(type(served.service.datasets.witness), "close", fails)
        assert served.post(route, body, key="k").status_code == 503
    with served.service.state.writing() as connection:
        before = connection.execute(REQUEST.select()).mappings().one()
    told = served.post(route, body, "bob").json()
    with served.service.state.writing() as connection:
        connection.execute(REQUEST.delete())
        connection.execute(ANSWER.delete())
        connection.execute(REQUEST.insert().values({**before, "state": "begun", "answer": None}))
    hers = served.post(route, body, key="k").json()
    assert hers["answers"][0]["value"] != told["answers"][0]["value"]
    assert _spent(served) == 0.2


@pytest.mark.parametrize("name", ["alice ", "<b>bob</b>", "", "Zo\u00eb", " alice", "a" * 65])
def test_a_share_is_of_somebody_who_can_have_a_token(name: str) -> None:
    """A share of nobody would limit nobody: a blank too many, and the custodian's limit was not there."""
    Declared("x", SCHEMA, Budget(1), signed_by="Carol", shares={"alice": 0.5, "a": 0.5, "Dr. A B": 0.5})
    with pytest.raises(InvalidParameter, match="with a token"):
        Declared("x", SCHEMA, Budget(1), signed_by="Carol", shares={name: 0.5})


def test_a_custodian_of_one_data_set_is_told_no_name_of_another(served: Running) -> None:
    """Records that somebody else looks after are refused, and not by the name that they have there."""
    _, served.tokens["eve"] = served.service.tokens.make("eve", "custodian", datasets=["mine"])
    table = made_up_table()
    rows = zip(*(column.tolist() for column in table.values()), strict=True)
    lines = [",".join(table), *(",".join(map(str, row)) for row in rows)]
    form = {"content": "\n".join(lines), "headers": served.headers("eve")}
    upload = served.client.post("/v1/uploads", **form).json()["upload"]
    terms = {"schema": SCHEMA.to_toml(), "budget": {"epsilon": 1}, "signed_by": "Eve", "key": "id"}
    refused = served.post("/v1/datasets", {"name": "mine", "source": {"upload": upload}, **terms}, "eve")
    assert (refused.status_code, "registered by somebody else" in refused.text) == (400, True)
    assert "clinic" not in refused.text
    told = served.post("/v1/datasets", {"name": "mine", "source": {"upload": upload}, **terms}, "carol")
    assert "shares_ledger_with='clinic'" in told.text


def test_a_key_is_for_one_request_about_one_part_of_one_data_set(served: Running) -> None:
    """About other records, or by another token of the same owner: never a second answer for the first charge."""
    again = Declared("again", SCHEMA, Budget(4.0, 1e-5), signed_by="Carol", key="id", shares_ledger_with="clinic")
    register(again, made_up_table(), served.service.state, served.settings)
    body = {"queries": [{"mean": "age > 60"}], "epsilon": 0.5}
    first = served.post("/v1/datasets/clinic/queries", body, key="k")
    _, served.tokens["alice too"] = served.service.tokens.make("alice", "analyst")
    assert served.post("/v1/datasets/clinic/queries", body, "alice too", key="k").json() == first.json()
    others = [
        ("/v1/datasets/again/queries", body),
        ("/v1/datasets/clinic/queries", {**body, "part": "train"}),
        ("/v1/datasets/clinic/queries", {**body, "queries": [{"mean": "age > 61"}]}),
        ("/v1/datasets/clinic/fits", BAYES),
    ]
    assert {served.post(route, other, key="k").status_code for route, other in others} == {409}
    assert _spent(served) == 0.5
    # Bob's key of that name is his own: he is told what is remembered, which costs nothing.
    assert served.post("/v1/datasets/clinic/queries", body, "bob", key="k").json()["repeated"]
    # The same question about records of another name is another question.
    assert served.post("/v1/datasets/again/queries", body, "bob", key="l").json()["cost"]["epsilon"] == 0.5


def test_a_block_of_a_data_set_that_one_does_not_see_is_not_told_of() -> None:
    """That a block is taken must be said; when and by which column is told to those who see it."""
    mine, theirs = (TimeBlock("visits", name, "2024-02-01", "2024-03-01") for name in ("when", "date_of_test"))
    for sees, told in ((True, True), (False, False)):
        with pytest.raises(InvalidParameter, match="must not overlap") as refusal:
            mine.check_apart({"clinic": vars(theirs)}, lambda _, sees=sees: sees)
        assert ("2024-02-01" in str(refusal.value), "date_of_test" in str(refusal.value)) == (told, told)
