"""What a hostile reviewer found: each test failed before it was mended."""

import json
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from support.jobs import begun, ended, made
from support.service import SCHEMA, Running, made_up_table, running
from tacit.budget import Budget
from tacit.data import Schema
from tacit.errors import InvalidParameter, LedgerCorrupt
from tacit.service import registering
from tacit.service.blocks import TimeBlock
from tacit.service.jobs.table import Jobs
from tacit.service.registering import Declared, register
from tacit.service.service import Service
from tacit.service.settings import Settings
from tacit.service.sources import Place, where

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
        assert sorted(each.name.rpartition("-")[0] for each in served.settings.tables.iterdir()) == ["clinic", "one"]


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


def test_a_password_of_a_database_is_not_in_the_state(tmp_path: Path) -> None:
    """An address is kept by its name among the settings' sources; one with a password of its own is refused."""
    address = "postgresql://reader:hush@host/people"
    settings = Settings(tmp_path, sources={"people": address})
    place = Place.of({"address": "people", "table": "visits"}, settings)
    kept = registering._kept(Declared("name", SCHEMA, Budget(1), "Carol"), None, place, settings)  # type: ignore[arg-type]
    assert place.opened == (address, "visits")
    assert "hush" not in json.dumps(kept)
    assert where(kept, settings) == {"address": address, "table": "visits"}
    for told in (address, "postgresql://reader@host/people?password=hush"):
        with pytest.raises(InvalidParameter, match="secret"):
            Place.of({"address": told, "table": "visits"}, settings)


def test_the_first_pages_of_a_service_may_be_asked_for_at_once(tmp_path: Path) -> None:
    """Threads that all come first agree on one secret for forms."""
    with running(tmp_path) as served:
        (tmp_path / "pages.secret").unlink(missing_ok=True)

        def first(_: int) -> int:
            served.client.app.state.__dict__["_state"].pop("signing", None)  # type: ignore[attr-defined]
            return int(served.client.get("/").status_code)

        with ThreadPoolExecutor(8) as threads:
            assert set(threads.map(first, range(64))) == {200}
        assert [each.name for each in tmp_path.glob("pages.secret*")] == ["pages.secret"]
