"""The command line is a thin skin: it does what the library does, and errors are one line."""

import json

import pytest
from typer.testing import CliRunner

from tacit import Budget, Ledger
from tacit.accounting import EpsilonDeltaDpEvent
from tacit.cli.app import app
from tacit.cli.console import console


@pytest.fixture
def address(tmp_path):
    """Where a ledger may be created."""
    return f"sqlite:///{tmp_path}/ledger.db"


def _run(*arguments):
    return CliRunner().invoke(app, list(arguments))


def test_an_account_can_be_created_shown_and_verified(address):
    """`ledger create`, `show` and `verify` agree with the library about the same account."""
    created = _run("ledger", "create", address, "--name", "clinic", "--budget", "epsilon=1, delta=1e-6")
    assert created.exit_code == 0
    ledger = Ledger.open(address)
    assert ledger.budget == Budget(1, 1e-6)
    ledger.spend(EpsilonDeltaDpEvent(0.25), label="a question")
    ledger.partition("site", ["north", "south"], fixed_by="key")["north"].spend(EpsilonDeltaDpEvent(0.1), label="b")
    shown = _run("ledger", "show", address)
    assert shown.exit_code == 0
    assert "spent   epsilon=0.35, delta=0" in shown.output
    assert "left    epsilon=0.65, delta=1e-06" in shown.output
    assert "replace-one" in shown.output
    verified = _run("ledger", "verify", address, "--head", ledger.head)
    assert verified.exit_code == 0
    assert ledger.head in verified.output.replace("\n", "")


def test_who_paid_is_shown(address, monkeypatch):
    """`ledger show` has a column of payers, and JSON says their share and the ticket; nobody is an empty cell."""
    monkeypatch.setattr(console, "width", 200)
    ledger = Ledger.create(address, name="clinic", budget=Budget(1))
    ledger.acting(payer="alice", share=0.5, ticket="t").spend(EpsilonDeltaDpEvent(0.25), label="a question")
    ledger.spend(EpsilonDeltaDpEvent(0.25), label="of nobody")
    shown = _run("ledger", "show", address)
    assert "payer" in shown.output
    assert "alice" in shown.output
    entries = json.loads(_run("ledger", "show", address, "--json").output)["entries"]
    found = [(entry["payer"], entry["share"], entry["ticket"]) for entry in entries]
    assert found == [("alice", "1/2", ["t", 1]), (None, None, None)]


HOSTILE = ["x[/]", "[bold]x[/bold]", "[link=file:///etc/passwd]here[/link]", ":skull:", "a\\[b]", "[/", "100 % {x}"]


@pytest.mark.parametrize("word", HOSTILE)
def test_words_of_others_are_shown_as_they_are(address, word, monkeypatch):
    """Labels, names and parts that look like markup or an emoji's name break nothing and are shown letter by letter."""
    assert _run("ledger", "create", address, "--name", word, "--budget", "1").exit_code == 0
    ledger = Ledger.open(address)
    ledger.spend(EpsilonDeltaDpEvent(0.25), label=word)
    ledger.partition(word, [word, "other"], fixed_by="key")[word].spend(EpsilonDeltaDpEvent(0.1), label=word)
    monkeypatch.setattr(console, "width", 400)
    shown = _run("ledger", "show", address)
    assert (shown.exit_code, shown.exception) == (0, None)
    assert shown.output.count(word) >= 6
    assert f"{word}={word}" in shown.output
    verified = _run("ledger", "verify", address)
    assert verified.exit_code == 0
    assert f"{word}: 3 entries" in verified.output
    missing = _run("ledger", "show", address, "--name", f"{word}?")
    assert missing.exit_code == 2
    assert repr(f"{word}?") in missing.output
    assert missing.output.rstrip().endswith(f"it has: {word}.")


@pytest.mark.parametrize("orders", ["\x1b[2J\x1b]0;owned\x07", "\r\b\x9b31m", "\u202egnirts", "\n\n#1 forged"])
def test_no_word_of_others_gives_orders_to_the_terminal(address, orders, monkeypatch):
    """Control characters that somebody wrote into a ledger behind its back are spelled out."""
    for module in ("ledger", "terms"):
        monkeypatch.setattr(f"tacit.accounting.{module}.check_text", lambda *_: None)
    ledger = Ledger.create(address, name="clinic", budget=Budget(1))
    ledger.partition(f"p{orders}", [f"q{orders}"], fixed_by="key")[f"q{orders}"].spend(
        EpsilonDeltaDpEvent(0.1), label=f"r{orders}"
    )
    monkeypatch.setattr(console, "width", 400)
    shown = _run("ledger", "show", address)
    assert shown.exit_code == 0
    assert all(letter == "\n" or letter.isprintable() for letter in shown.output)
    assert f"r{orders}".encode("unicode_escape").decode() in shown.output
    Ledger.create(address, name=f"other{orders}", budget=Budget(1))
    refused = _run("ledger", "show", address)
    assert refused.exit_code == 2
    assert all(letter == "\n" or letter.isprintable() for letter in refused.output)


def test_a_missing_ledger_is_one_line_and_exit_code_2(address):
    """An error on purpose is no traceback."""
    result = _run("ledger", "show", address)
    assert result.exit_code == 2
    assert "LedgerMissing" in result.output
    assert "Traceback" not in result.output


def test_a_wrong_head_is_refused(address):
    """`verify --head` fails for a hash that the history does not contain."""
    Ledger.create(address, name="clinic", budget=Budget(1))
    assert _run("ledger", "verify", address, "--head", "0" * 64).exit_code == 1


def test_a_budget_that_is_none_is_refused(address):
    """Nonsense for a budget creates nothing."""
    assert _run("ledger", "create", address, "--name", "clinic", "--budget", "plenty").exit_code == 2
    assert _run("ledger", "show", address).exit_code == 2


def test_help_names_every_command():
    """`tacit --help` lists the commands that exist."""
    result = _run("--help")
    assert result.exit_code == 0
    assert all(name in result.output for name in ("demo", "ledger", "audit"))
