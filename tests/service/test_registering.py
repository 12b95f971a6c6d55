"""Registering is the custodian's act: what was read once is only answered about, and has one budget for good."""

import csv
import io
import os
import re
import time
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from support.opened import cells_of
from support.service import SCHEMA, Running, made_up_table, running, truth
from tacit import Records, Schema
from tacit.budget import Budget
from tacit.data import Flag, Key, Moment, Number
from tacit.data.levels import Category
from tacit.errors import InvalidParameter
from tacit.service.service import Service
from tacit.service.sources import HOURS, MOST_WAITING

ROUTE = "/v1/datasets"


def _csv(table: dict[str, Any], rows: Any = slice(None)) -> bytes:
    text = io.StringIO()
    writer = csv.writer(text)
    writer.writerow(table)
    writer.writerows(zip(*(np.asarray(column)[rows].tolist() for column in table.values()), strict=True))
    return text.getvalue().encode()


def _body(name: str, source: Any, **changes: Any) -> dict[str, Any]:
    body = {"name": name, "source": source, "schema": SCHEMA.to_toml(), "budget": {"epsilon": 1}, "signed_by": "Carol"}
    return {**body, "key": "id", **changes}


def _sent(served: Running, content: bytes) -> dict[str, str]:
    return served.client.post("/v1/uploads", content=content, headers=served.headers("carol")).json()


def test_a_file_that_was_sent_is_registered_and_asked_about(served: Running) -> None:
    """Cleaned once, kept without the file, answered about by the same numbers as the file itself."""
    table = made_up_table(seed=9)
    body = _body("ward", _sent(served, _csv(table)), public=["the hospital's name"], shares={"alice": 0.5})
    made = served.post(ROUTE, body, "carol")
    assert made.status_code == 201, made.text
    assert "the hospital's name" in made.json()["public"]
    assert made.json()["n"] == len(table["id"])
    assert list(served.settings.uploads.iterdir()) == []
    # An id is a number to numpy and a text in a CSV file.
    names = sorted(set(SCHEMA.columns) - {"id"})
    kept, original = (
        cells_of(each, *names)
        for each in (served.service.datasets.get("ward").part("all"), Records(table, SCHEMA, key="id"))
    )
    assert all(np.array_equal(kept[name], original[name]) for name in names)
    asked = served.post(f"{ROUTE}/ward/queries", {"queries": [{"mean": "age > 60"}], "epsilon": 0.5})
    assert asked.status_code == 200
    assert served.post(f"{ROUTE}/ward/queries", {"queries": [{"mean": "smoker"}], "epsilon": 0.5}).status_code == 402
    notes = [entry.label for entry in served.service.datasets.get("ward").account.entries() if entry.event is None]
    note = "data set 'ward' of records [0-9a-f]{16}(/[0-9a-f]{16})+ registered by 'carol', signed by 'Carol'"
    assert any(re.fullmatch(note, each) for each in notes)


def test_a_file_of_the_inbox_is_registered_and_no_other(tmp_path: Path) -> None:
    """Names of files are within the inbox: no way up, no link out, no absolute path."""
    inbox = tmp_path / "inbox"
    inbox.mkdir()
    (inbox / "ward.csv").write_bytes(_csv(made_up_table(seed=9)))
    (tmp_path / "secret.csv").write_bytes(_csv(made_up_table(seed=8)))
    (inbox / "link.csv").symlink_to(tmp_path / "secret.csv")
    folder = tmp_path / "service"
    folder.mkdir()
    with running(folder, inbox=inbox) as served:
        tricks = ["../secret.csv", str(tmp_path / "secret.csv"), "link.csv", "", ".", "none.csv", "a\0b", "x" * 5000]
        for trick in tricks:
            refused = served.post(ROUTE, _body("ward", {"file": trick}), "carol")
            assert refused.status_code == 404, trick
        assert served.post(ROUTE, _body("ward", {"file": "ward.csv"}), "carol").status_code == 201
        assert (inbox / "ward.csv").exists()


@pytest.mark.parametrize(
    "changed", ["the same file", "another name", "fewer columns", "another order", "other bounds elsewhere", "renamed"]
)
def test_the_same_records_get_no_second_budget(served: Running, changed: str) -> None:
    """Under another name, in another order, in fewer columns: refused, unless one account pays for both."""
    table: dict[str, Any] = dict(made_up_table())
    columns = dict(SCHEMA.columns)
    order = np.random.default_rng(1).permutation(len(table["id"]))
    if changed == "fewer columns":
        table, columns = {name: table[name] for name in ("id", "age")}, {"id": Key(), "age": Number(0, 100)}
    elif changed == "another order":
        table = {name: column[order] for name, column in table.items()}
    elif changed == "other bounds elsewhere":
        columns["age"] = Number(0, 50)
    elif changed == "renamed":
        table["patient"], columns["patient"] = table.pop("id"), columns.pop("id")
    schema = Schema(columns)
    key = "patient" if changed == "renamed" else "id"
    changes = {"schema": schema.to_toml(), "key": key, "budget": {"epsilon": 4, "delta": 1e-5}}
    refused = served.post(ROUTE, _body("again", _sent(served, _csv(table)), **changes), "carol")
    assert refused.status_code == 400
    assert "shares_ledger_with='clinic'" in refused.json()["error"]["message"]
    shared = _body("again", _sent(served, _csv(table)), **changes, shares_ledger_with="clinic")
    assert served.post(ROUTE, shared, "carol").status_code == 201
    served.post(f"{ROUTE}/again/queries", {"queries": [{"mean": "age > 40"}], "epsilon": 1.5})
    assert served.service.datasets.get("clinic").account.spent == Budget(1.5)


def test_other_records_are_no_copy(served: Running) -> None:
    """The twin: another table of the same form, and a table of flags that happen to count alike, are registered."""
    assert served.post(ROUTE, _body("other", _sent(served, _csv(made_up_table(seed=9)))), "carol").status_code == 201
    for name in ("heads", "tails"):
        table = {"flag": np.array([True, False] * 50)}
        if name == "tails":
            table["more"] = np.arange(100)
        columns = {"flag": Flag(), **({"more": Key()} if name == "tails" else {})}
        body = _body(name, _sent(served, _csv(table)), schema=Schema(columns).to_toml(), key=None)
        assert served.post(ROUTE, body, "carol").status_code == 201, name


def test_a_name_is_registered_once(served: Running) -> None:
    """No budget is refreshed by registering again, whatever the records."""
    body = _body("clinic", _sent(served, _csv(made_up_table(seed=9))))
    refused = served.post(ROUTE, body, "carol")
    assert (refused.status_code, "already" in refused.json()["error"]["message"]) == (400, True)


def _block(low: str, high: str, **changes: Any) -> dict[str, Any]:
    return {"block_of": {"series": "visits", "column": "admitted", "low": low, "high": high, **changes}}


def test_blocks_of_time_have_accounts_of_their_own(served: Running) -> None:
    """Each half year pays for itself; a record outside of its block, or blocks that overlap, are refused."""
    table = made_up_table(seed=9)
    middle = np.datetime64("2020-07-01")
    first = table["admitted"] < middle
    halves = {"h1": ("2020-01-01", "2020-07-01", first), "h2": ("2020-07-01", "2021-01-01", ~first)}
    table = {name: column[table["admitted"] < np.datetime64("2021-01-01")] for name, column in table.items()}
    first = table["admitted"] < middle
    halves = {"h1": ("2020-01-01", "2020-07-01", first), "h2": ("2020-07-01", "2021-01-01", ~first)}
    for name, (low, high, rows) in halves.items():
        wrong = served.post(ROUTE, _body(name, _sent(served, _csv(table)), **_block(low, high)), "carol")
        assert (wrong.status_code, "some records have no" in wrong.text) == (400, True)
        made = served.post(ROUTE, _body(name, _sent(served, _csv(table, rows)), **_block(low, high)), "carol")
        assert made.status_code == 201, made.text
        assert made.json()["block_of"]["low"] == low
    for low, high in (("2020-03-01", "2020-04-01"), ("2019-01-01", "2022-01-01")):
        overlapping = served.post(ROUTE, _body("h3", _sent(served, _csv(table)), **_block(low, high)), "carol")
        assert "must not overlap" in overlapping.text
    for name in halves:
        question = {"queries": [{"mean": "age > 60"}], "epsilon": 1}
        assert served.post(f"{ROUTE}/{name}/queries", question).status_code == 200


def test_blocks_may_be_alike_and_a_table_is_no_block_of_two_times(served: Running) -> None:
    """The same patients come again in the next half year; the same file does not, under another series or none."""
    table = made_up_table(seed=9)
    half = np.arange(len(table["id"])) % 182
    table["admitted"] = np.datetime64("2020-01-01") + half.astype("timedelta64[D]")
    again = {**table, "admitted": np.datetime64("2020-07-01") + half.astype("timedelta64[D]")}
    ends = {"h1": ("2020-01-01", "2020-07-01", table), "h2": ("2020-07-01", "2021-01-02", again)}
    schema = {"schema": Schema({**SCHEMA.columns, "admitted": Moment("2020-01-01", "2021-01-02")}).to_toml()}
    for name, (low, high, some) in ends.items():
        made = served.post(ROUTE, _body(name, _sent(served, _csv(some)), **schema, **_block(low, high)), "carol")
        assert made.status_code == 201, made.text
    for series in (_block("2020-01-01", "2020-07-01", series="again"), {}):
        refused = served.post(ROUTE, _body("h3", _sent(served, _csv(table)), **schema, **series), "carol")
        assert "are registered as 'h1'" in refused.text


def test_what_cannot_be_registered_leaves_its_name_free(served: Running) -> None:
    """One record cannot be cut into parts: nothing of it stays, and the name is there for another budget."""
    table = made_up_table(seed=9)
    refused = served.post(ROUTE, _body("ward", _sent(served, _csv(table, slice(1)))), "carol")
    assert refused.status_code == 400, refused.text
    assert not (Path(served.settings.ledgers) / "ward.db").exists()
    body = _body("ward", _sent(served, _csv(table)), budget={"epsilon": 2})
    assert served.post(ROUTE, body, "carol").status_code == 201


def test_files_that_were_sent_do_not_stay(served: Running) -> None:
    """What nobody registered is removed after some hours: when the next file is sent, and when the service starts."""
    uploads = served.settings.uploads
    old, new = (uploads / _sent(served, b"age\n1\n")["upload"] for _ in range(2))
    os.utime(old, (0, time.time() - 3600 * HOURS - 60))
    last = uploads / _sent(served, b"age\n1\n")["upload"]
    assert set(uploads.iterdir()) == {new, last}
    os.utime(new, (0, time.time() + 3600 * HOURS + 60))
    os.utime(last, (0, time.time() - 3600 * HOURS + 60))
    Service(served.settings).close()
    assert list(uploads.iterdir()) == [last]


def test_no_more_than_some_files_wait(served: Running) -> None:
    """One more is refused until one is registered, and nothing of it is kept."""
    table = _csv(made_up_table(seed=9))
    sent = [_sent(served, table) for _ in range(MOST_WAITING)]
    refused = served.client.post("/v1/uploads", content=table, headers=served.headers("carol"))
    assert (refused.status_code, refused.json()["error"]["kind"]) == (429, "TooMany")
    assert len(list(served.settings.uploads.iterdir())) == MOST_WAITING
    assert served.post(ROUTE, _body("ward", sent[0]), "carol").status_code == 201
    assert "upload" in _sent(served, table)


BAD: list[dict[str, Any]] = [
    {"name": "../up"},
    {"name": "A"},
    {"name": "<b>"},
    {"name": ""},
    {"schema": "nonsense ["},
    {"schema": ""},
    {"budget": {"epsilon": 0}},
    {"budget": {"epsilon": -1}},
    {"budget": {"epsilon": "many"}},
    {"budget": {"epsilon": 1, "delta": 1}},
    {"accountant": "renyi"},
    {"unit": "age"},
    {"key": "none"},
    {"shares": {"alice": 2}},
    {"shares": {"a\nb": 0.5}},
    {"signed_by": " "},
    {"public": ["\x1b[31m"]},
    {"shares_ledger_with": "none"},
    {"block_of": {"series": "s", "column": "age", "low": "2020-01-01", "high": "2021-01-01"}},
    {"block_of": {"series": "s", "column": "admitted", "low": "soon", "high": "2021-01-01"}},
    {"source": {}},
    {"source": {"upload": "../state.db"}},
    {"source": {"upload": "0" * 32 + ".csv"}},
    {"source": {"file": "x.csv"}},
    {"source": {"address": "sqlite:///state.db", "table": "tacit_service_token"}},
    {"source": {"address": "postgresql://nobody@127.0.0.1:9/none", "table": "t"}},
    {"source": {"upload": "a", "file": "b"}},
]


@pytest.mark.parametrize("changes", BAD, ids=str)
def test_what_makes_no_sense_is_refused_and_nothing_is_left(shared: Running, changes: dict[str, Any]) -> None:
    """A clear 4xx, no data set, no account."""
    source = changes.get("source") or _sent(shared, _csv(made_up_table(seed=9)))
    refused = shared.post(ROUTE, _body("ward", source) | changes, "carol")
    assert 400 <= refused.status_code < 500, refused.text
    assert "<b>" not in refused.text
    assert shared.service.datasets.names() == ["clinic"]
    assert not (Path(shared.settings.ledgers) / "ward.db").exists()


def test_a_bad_file_is_told_by_its_place_and_not_its_content(served: Running) -> None:
    """A column that is not there, bytes that are no table: refused without a value of it."""
    for content in (b"id,age\n1,Zebra\n", b"\x00\xffZebra", b"", b'id,"age\n1,Zebra'):
        refused = served.post(ROUTE, _body("ward", _sent(served, content)), "carol")
        assert 400 <= refused.status_code < 500, content
        assert "Zebra" not in refused.text


@pytest.mark.parametrize("who", ["alice", "dora"])
def test_only_a_custodian_registers(shared: Running, who: str) -> None:
    """Analysts and auditors may not, and may not send files."""
    assert shared.post(ROUTE, _body("ward", {"file": "x"}), who).status_code == 403
    assert shared.client.post("/v1/uploads", content=b"x", headers=shared.headers(who)).status_code == 403


VISITS = """SELECT chr(65 + mod(h, 3)) AS ward, mod(h / 8, 50) AS age, mod(h / 1024, 7) < 3 AS ill,
mod(h / 65536, 5) < 2 AS smoker FROM (SELECT abs(hashint4(i)) AS h FROM generate_series({}, {}) AS i) AS drawn"""


def test_neither_a_table_of_a_database_nor_a_view_of_it_has_a_second_budget(
    served: Running, postgresql: Any, database: str
) -> None:
    """Another column left out each time, a view of some rows, another way to write the address: refused each time."""
    postgresql.execute(f"CREATE TABLE visits AS {VISITS.format(1, 2000)}", database)
    postgresql.execute("CREATE VIEW young AS SELECT * FROM visits WHERE age < 20", database)
    postgresql.execute(f"CREATE TABLE others AS {VISITS.format(3001, 5000)}", database)
    columns = {"ward": Category(["A", "B", "C"]), "age": Number(0, 100), "ill": Flag(), "smoker": Flag()}
    address = postgresql.address(database)

    def register(name: str, table: str, left_out: str = "", where: str = address) -> Any:
        schema = Schema({each: column for each, column in columns.items() if each != left_out}).to_toml()
        source = {"address": where, "table": table}
        return served.post(ROUTE, _body(name, source, schema=schema, key=None), "carol")

    assert register("visits", "visits").status_code == 201
    for left_out in ("", *columns):
        refused = register("again", "visits", left_out)
        assert (refused.status_code, "shares_ledger_with='visits'" in refused.text) == (400, True), left_out
    for table, where in (("public.visits", address), ("visits", address.replace("postgresql:", "postgresql+psycopg:"))):
        assert register("again", table, "age", where).status_code == 400
    assert register("young", "young").status_code == 400
    # The place alone is enough, whatever records are there now; and others at another place are no copy.
    postgresql.execute(f"DELETE FROM visits; INSERT INTO visits {VISITS.format(6001, 8000)}", database)
    assert register("again", "visits", "ward").status_code == 400
    assert register("others", "others").status_code == 201


def test_a_table_of_a_database_is_read_once(served: Running, postgresql: Any, database: str) -> None:
    """It grows, then it is gone: answers are about the rows that there were; its address is neither told nor kept."""
    statement = "CREATE TABLE visits AS SELECT i AS id, mod(i * 37, 100) AS age FROM generate_series(1, 500) AS i"
    postgresql.execute(statement, database)
    source = {"address": postgresql.address(database), "table": "visits"}
    schema = Schema({"id": Key(), "age": Number(0, 100)}).to_toml()
    made = served.post(ROUTE, _body("visits", source, schema=schema), "carol")
    assert (made.status_code, made.json()["n"]) == (201, 500), made.text
    again = served.post(ROUTE, _body("again", source, schema=schema), "carol")
    assert "shares_ledger_with='visits'" in again.text
    for change in ("INSERT INTO visits VALUES (501, 5)", "DROP TABLE visits"):
        postgresql.execute(change, database)
        body = {"queries": [{"mean": "age > 60"}, {"mean": f"age > {len(change)}"}], "epsilon": 0.1, "part": "train"}
        assert served.post(f"{ROUTE}/visits/queries", body).status_code == 200
        assert served.service.datasets.get("visits").part("all").n == 500
    for path in (path for path in served.settings.folder.rglob("*") if path.is_file()):
        assert database.encode() not in path.read_bytes(), path.name
    assert database not in made.text


def test_a_damaged_file_of_packed_records_answers_nothing(tmp_path: Path) -> None:
    """One byte of a cell that changed, or a file that is gone: 503, no words of its own, and nothing is charged."""
    question = {"queries": [{"mean": "age > 60"}], "epsilon": 0.5}
    with running(tmp_path):
        pass
    packed = next((tmp_path / "tables").iterdir())
    content = packed.read_bytes()
    for damaged in (content[:100] + bytes([content[100] ^ 1]) + content[101:], content[:-9], None):
        packed.unlink()
        if damaged is not None:
            packed.write_bytes(damaged)
        with running(tmp_path) as served:
            refused = served.post(f"{ROUTE}/clinic/queries", question)
            assert (refused.status_code, "cannot be read" in refused.text) == (503, True)
            assert packed.name not in refused.text
            assert served.service.datasets.get("clinic").account.spent == Budget(0)
        packed.touch()


def test_a_service_that_is_started_again_has_the_same_records_and_accounts(tmp_path: Path) -> None:
    """Parts, accounts, answers and tokens are as they were; a question asked before costs nothing."""
    question = {"queries": [{"mean": "age > 60"}], "epsilon": 0.5, "part": "train"}
    with running(tmp_path) as served:
        first = served.post(f"{ROUTE}/clinic/queries", question).json()
        token = served.tokens["alice"]
        before = cells_of(truth(served), "age")["age"].tolist()
    with running(tmp_path) as served:
        served.tokens["alice"] = token
        again = served.post(f"{ROUTE}/clinic/queries", question, key="another").json()
        assert again["answers"] == first["answers"]
        assert again["repeated"]
        assert served.post(f"{ROUTE}/clinic/queries", question, key="key 1").json() == first
        assert cells_of(truth(served), "age")["age"].tolist() == before
        assert served.service.datasets.get("clinic").account.spent == Budget(0.5)


def test_a_block_ends_where_the_next_begins() -> None:
    """Blocks are half open: the end of one is the beginning of the next, and in one of them only."""
    from tacit.service.blocks import TimeBlock

    schema = Schema({"admitted": Moment("2000-01-01", "2030-01-01")})
    days = ("2020-01-01", "2020-07-01", "2021-01-01")
    first, second = (
        TimeBlock.declared({"series": "s", "column": "admitted", "low": low, "high": high}, schema)
        for low, high in pairwise(days)
    )
    second.check_apart({"first": vars(first)}, lambda _: True)
    records = Records({"admitted": ["2020-07-01"]}, schema)
    second.check_records(records)
    with pytest.raises(InvalidParameter):
        first.check_records(records)
    # Beyond the declared bounds a moment could be of any block.
    with pytest.raises(InvalidParameter):
        second.check_records(Records({"admitted": ["2020-07-02"]}, Schema({"admitted": Moment(*days[:2])})))
