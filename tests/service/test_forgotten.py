"""What a witness knows and a service forgot gets no second budget: by a state, a ledger or a folder that is lost."""

import json
import shutil
import sqlite3
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from support.service import SCHEMA, Running, made_up_table, running
from tacit.accounting.events import EpsilonDeltaDpEvent
from tacit.accounting.witness import witness_at
from tacit.budget import Budget
from tacit.errors import InvalidParameter, LedgerError
from tacit.service import registering
from tacit.service.fingerprints import bound_to
from tacit.service.forgotten import note_of
from tacit.service.refusals import Refusal
from tacit.service.registering import Declared, register
from tacit.service.service import Service
from tacit.service.settings import Settings

QUESTION = {"queries": [{"mean": "age > 60"}], "epsilon": 1.0}


def _spent(folder: Path, witness: Path, budget: Budget) -> Settings:
    """Register the clinic, and spend all of its budget."""
    with running(folder, budget=budget, witness=str(witness)) as served:
        assert served.post("/v1/datasets/clinic/queries", QUESTION).status_code == 200
        return served.settings


def _register(settings: Settings, name: str, table: Any = None, **more: Any) -> None:
    service = Service(settings)
    try:
        declared = Declared(name, SCHEMA, Budget(1.0, 1e-5), signed_by="Carol", key="id", **more)
        register(declared, made_up_table() if table is None else table, service.state, settings)
    finally:
        service.close()


def _written(folder: Path) -> list[str]:
    """Return the names of all that is kept of tables and accounts."""
    kept = [folder / "tables", folder / "ledgers"]
    return sorted(path.name for each in kept if each.exists() for path in each.iterdir() if path.suffix != ".lock")


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    """Give a service whose clinic has spent its budget, and whose witness is elsewhere."""
    return _spent(tmp_path / "s", tmp_path / "elsewhere.jsonl", Budget(1.0, 1e-5))


@pytest.mark.parametrize("name", ["clinic", "again"])
def test_a_folder_that_is_lost_does_not_begin_anew(settings: Settings, name: str) -> None:
    """Neither under the name that the witness knows nor under another; nothing is written, and the witness stays."""
    told = Path(settings.witness).read_bytes()
    shutil.rmtree(settings.folder)
    for _ in range(2):
        with pytest.raises(InvalidParameter, match="lost it" if name == "clinic" else "forgot .'clinic'."):
            _register(settings, name)
        assert _written(settings.folder) == []
    assert Path(settings.witness).read_bytes() == told


def test_other_records_are_registered_once_an_account_is_given_up(settings: Settings, tmp_path: Path) -> None:
    """The twin: whoever signs in the settings that the ledger is lost for good goes on; that name has no budget."""
    shutil.rmtree(settings.folder)
    given_up = Settings.of({"folder": "s", "witness": settings.witness, "given_up": ["clinic"]}, tmp_path)
    _register(given_up, "other", made_up_table(seed=9))
    with pytest.raises(InvalidParameter, match="lost it"):
        _register(given_up, "clinic")
    with pytest.raises(InvalidParameter, match="given_up must be a list"):
        Settings.of({"folder": "s", "given_up": "clinic"}, tmp_path)


def test_a_data_set_that_is_given_up_is_gone_and_its_records_stay_known(settings: Settings, tmp_path: Path) -> None:
    """Without its ledger no service starts; given up, it starts, and neither that name nor another has a budget."""
    for path in Path(settings.ledgers).glob("clinic.db*"):
        path.unlink()
    with pytest.raises(LedgerError):
        Service(settings)
    given_up = Settings.of({"folder": "s", "witness": settings.witness, "given_up": ["clinic"]}, tmp_path)
    service = Service(given_up)
    assert service.datasets.names() == []
    with pytest.raises(Refusal, match="no such data set"):
        service.datasets.get("clinic")
    service.close()
    for name, more in {"clinic": {}, "again": {}, "more": {"shares_ledger_with": "clinic"}}.items():
        with pytest.raises(InvalidParameter, match=r"already|second budget|lost it"):
            _register(given_up, name, **more)
    _register(given_up, "other", made_up_table(seed=9))


def test_a_state_that_is_lost_is_no_new_budget(settings: Settings) -> None:
    """The ledger is there: the records come back under their name with what they spent, and then others are free."""
    for path in settings.folder.glob("state.db*"):
        path.unlink()
    with pytest.raises(InvalidParameter, match=r"forgot .'clinic'."):
        _register(settings, "other", made_up_table(seed=9))
    _register(settings, "clinic")
    service = Service(settings)
    assert service.datasets.get("clinic").account.remaining == Budget(0, 1e-5)
    service.close()
    _register(settings, "other", made_up_table(seed=9))


def test_a_forgotten_name_is_bound_to_its_records(settings: Settings) -> None:
    """Neither other records come back under it nor, without the secret, its own; what tells it, tells nothing else."""
    for path in settings.folder.glob("state.db*"):
        path.unlink()
    with pytest.raises(InvalidParameter, match="other records under the name 'clinic'"):
        _register(settings, "clinic", made_up_table(seed=9))
    secret = settings.folder / "marks.secret"
    secret.rename(secret.with_suffix(".old"))
    with pytest.raises(InvalidParameter, match="cannot be told"):
        _register(settings, "clinic")
    secret.with_suffix(".old").replace(secret)
    _register(settings, "clinic")


def test_names_of_one_table_are_bound_to_it_apart() -> None:
    """The digests in the notes do not tell that two names are of the same records."""
    marks = {"made_with": "00" * 32, "outright": ["01" * 32], "whole": "02" * 32}
    assert not {*bound_to("one", marks)} & {*bound_to("two", marks)}
    assert bound_to("one", marks) == bound_to("one", marks)


def test_a_folder_that_is_put_back_from_before_a_table_is_no_new_budget(tmp_path: Path) -> None:
    """State and ledgers of last night know nothing of what was registered and spent today; the witness does."""
    folder, witness, night = tmp_path / "s", tmp_path / "elsewhere.jsonl", tmp_path / "night"
    Service(Settings(folder, witness=str(witness))).close()
    shutil.copytree(folder, night)
    settings = _spent(folder, witness, Budget(1.0, 1e-5))
    shutil.rmtree(folder)
    shutil.copytree(night, folder)
    for name in ("again", "clinic"):
        with pytest.raises(InvalidParameter, match="the witness knows"):
            _register(settings, name)
    assert _written(folder) == []


def _put_back(tmp_path: Path, **more: Any) -> Settings:
    """Register a table beside the clinic and ask about it; return the service with its state of before."""
    with running(tmp_path / "s", budget=Budget(1.0, 1e-5)) as served:
        pass
    with sqlite3.connect(tmp_path / "s" / "state.db") as state, sqlite3.connect(tmp_path / "night.db") as night:
        state.backup(night)
    with running(tmp_path / "s") as served:
        _declare(served, "second", **more)
        assert served.post("/v1/datasets/second/queries", QUESTION).status_code == 200
    for path in served.settings.folder.glob("state.db*"):
        path.unlink()
    shutil.copy(tmp_path / "night.db", served.settings.folder / "state.db")
    return served.settings


def _declare(served: Running, name: str, **more: Any) -> None:
    declared = Declared(name, SCHEMA, Budget(1.0, 1e-5), "Carol", key="id", **more)
    register(declared, made_up_table(seed=9), served.service.state, served.settings)


def test_forgotten_records_are_not_paid_by_another_account_either(tmp_path: Path) -> None:
    """While a table is forgotten nothing else is registered, whoever would pay; then its records are known again."""
    settings = _put_back(tmp_path)
    for name, more in {"third": {}, "fourth": {"shares_ledger_with": "clinic"}}.items():
        with pytest.raises(InvalidParameter, match=r"forgot .'second'."):
            _register(settings, name, made_up_table(seed=9), **more)
    _register(settings, "second", made_up_table(seed=9))
    with pytest.raises(InvalidParameter, match="second budget"):
        _register(settings, "fourth", made_up_table(seed=9), shares_ledger_with="clinic")
    _register(settings, "other", made_up_table(seed=10), shares_ledger_with="clinic")


def test_forgotten_records_that_shared_an_account_get_none_of_their_own(tmp_path: Path) -> None:
    """The clinic's account has a note of whom else it paid for: only by it they come back, with what they spent."""
    settings = _put_back(tmp_path, shares_ledger_with="clinic")
    for name, more in {"second": {}, "third": {}, "fourth": {"shares_ledger_with": "clinic"}}.items():
        with pytest.raises(InvalidParameter, match=r"forgot .'second', which the account 'clinic' paid for."):
            _register(settings, name, made_up_table(seed=9), **more)
    _register(settings, "second", made_up_table(seed=9), shares_ledger_with="clinic")
    service = Service(settings)
    assert service.datasets.get("second").account.spent == Budget(1.0)
    service.close()
    _register(settings, "third", made_up_table(seed=10))


def test_forgotten_records_that_are_lost_are_given_up_by_name(tmp_path: Path) -> None:
    """The account that paid for them too goes on, other records are free, and that name never has a budget."""
    settings = replace(_put_back(tmp_path, shares_ledger_with="clinic"), given_up=["second"])
    with pytest.raises(InvalidParameter, match="was given up"):
        _register(settings, "second", made_up_table(seed=9))
    _register(settings, "third", made_up_table(seed=10))
    service = Service(settings)
    assert service.datasets.names() == ["clinic", "third"]
    service.close()


def _meanwhile(monkeypatch: pytest.MonkeyPatch, step: str, act: Callable[[], None]) -> None:
    """Let something happen once, as a whole, after a step of a registration."""
    real = getattr(registering, step)

    def slow(*given: Any) -> Any:
        monkeypatch.setattr(registering, step, real)
        found = real(*given)
        act()
        return found

    monkeypatch.setattr(registering, step, slow)


def test_who_loses_a_race_leaves_no_note_in_the_account(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The same records are registered twice at once, once as another account's: the loser is not forgotten."""
    with running(tmp_path / "s", budget=Budget(1.0, 1e-5)) as served:
        _meanwhile(monkeypatch, "split", lambda: _declare(served, "second"))
        with pytest.raises(InvalidParameter, match="second budget"):
            _declare(served, "third", shares_ledger_with="clinic")
        _register(served.settings, "other", made_up_table(seed=10))


@pytest.mark.parametrize("more", [{}, {"shares_ledger_with": "clinic"}], ids=["its own account", "the clinic's"])
def test_what_is_registered_meanwhile_is_not_forgotten(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, more: dict[str, Any]
) -> None:
    """Another table is registered, and asked about, while a slow one is read: both are registered."""
    with running(tmp_path / "s", budget=Budget(1.0, 1e-5)) as served:

        def act() -> None:
            _declare(served, "second", **more)
            assert served.post("/v1/datasets/second/queries", QUESTION).status_code == 200

        _meanwhile(monkeypatch, "marks_of", act)
        _register(served.settings, "slow", made_up_table(seed=10))


def test_a_label_of_an_analyst_is_no_note_of_a_data_set(tmp_path: Path) -> None:
    """The twin: what an analyst calls a charge hinders nobody."""
    with running(tmp_path / "s") as served:
        account = served.service.datasets.get("clinic").account
        account.spend(EpsilonDeltaDpEvent(1.0), label=note_of("second", ["00"], "carol", "Carol"))
        _declare(served, "other")


def test_a_folder_that_is_lost_or_renamed_does_not_void_the_fingerprints(tmp_path: Path) -> None:
    """State, ledgers and witness are elsewhere: without the secret nothing is registered, with it all is known."""
    addresses = {"state": f"sqlite:///{tmp_path / 'state.db'}", "ledgers": str(tmp_path / "ledgers")}
    settings = Settings(tmp_path / "s", **addresses, witness=str(tmp_path / "witness.jsonl"))
    _register(settings, "clinic")
    settings.folder.rename(tmp_path / "moved")
    for name, seed in {"again": 5, "other": 9}.items():
        with pytest.raises(InvalidParameter, match=r"marks\.secret"):
            _register(settings, name, made_up_table(seed=seed))
    shutil.copy(tmp_path / "moved" / "marks.secret", settings.folder)
    with pytest.raises(InvalidParameter, match="second budget"):
        _register(settings, "again")
    _register(settings, "other", made_up_table(seed=9))


def test_a_running_service_that_lost_a_ledger_registers_no_other_name_for_it(tmp_path: Path) -> None:
    """While it runs, the folder of ledgers is emptied: the same records under the same account are refused."""
    with running(tmp_path / "s") as served:
        for path in Path(served.settings.ledgers).glob("clinic.db*"):
            path.unlink()
        declared = Declared("again", SCHEMA, Budget(4.0, 1e-5), "Carol", key="id", shares_ledger_with="clinic")
        with pytest.raises(InvalidParameter, match="lost it"):
            register(declared, made_up_table(), served.service.state, served.settings)
        assert not list(Path(served.settings.ledgers).glob("clinic.db"))


def test_a_charged_account_of_an_emptied_witness_is_not_opened(settings: Settings) -> None:
    """The state is lost and the witness is emptied; the ledger's own charges tell that it was another's."""
    Path(settings.witness).write_bytes(b"")
    for path in settings.folder.glob("state.db*"):
        path.unlink()
    with pytest.raises(InvalidParameter, match="knows nothing"):
        _register(settings, "clinic")


def test_accounts_that_nobody_was_charged_on_are_no_hindrance(tmp_path: Path) -> None:
    """Somebody's registration that ended in the middle leaves an account without a charge, and sessions have heads."""
    with running(tmp_path / "s") as served:
        witness = witness_at(served.settings.witness)
        witness.append("session/1", 1, "00")
        for path in served.settings.folder.glob("state.db*"):
            assert path.exists()
    for path in served.settings.folder.glob("state.db*"):
        path.unlink()
    _register(served.settings, "other", made_up_table(seed=9))
    assert "clinic" in witness.accounts()


def test_what_is_forgotten_is_named_to_those_who_may_see_it(settings: Settings) -> None:
    """A custodian whose token is for other data sets learns that there is something, not its name."""
    shutil.rmtree(settings.folder)
    service = Service(settings)
    declared = Declared("again", SCHEMA, Budget(1), "Carol", key="id")
    with pytest.raises(InvalidParameter, match="somebody else's") as refused:
        register(declared, made_up_table(), service.state, settings, sees=lambda name: name == "again")
    assert "clinic" not in str(refused.value)
    service.close()


def test_over_http_a_lost_folder_is_told_to_the_custodian(settings: Settings, tmp_path: Path) -> None:
    """A clear 400, and no data set."""
    inbox = tmp_path / "inbox"
    inbox.mkdir()
    (inbox / "t.csv").write_text("age\n" + "\n".join(str(37 * row % 101) for row in range(500)))
    told = Path(settings.witness).read_text("ascii")
    assert json.loads(told.splitlines()[0])["account"] == "clinic"
    with running(tmp_path / "new", inbox=inbox) as served:
        Path(served.settings.witness).write_text(told.replace("clinic", "visits") + _own(served), "ascii")
        schema = "[columns.age]\nkind='number'\nlow=0\nhigh=100\n"
        body = {"source": {"file": "t.csv"}, "schema": schema, "budget": {"epsilon": 1}, "signed_by": "Carol"}
        for name in ("visits", "other"):
            refused = served.post("/v1/datasets", {"name": name, **body}, "carol")
            assert (refused.status_code, "the witness knows" in refused.text) == (400, True), refused.text
        assert served.service.datasets.names() == ["clinic"]


def _own(served: Running) -> str:
    """Return the lines of a service's own witness."""
    return Path(served.settings.witness).read_text("ascii")
