"""A table as people have them: names that are no words, a file name with a blank, dates, several rows of a person."""

import csv
import html
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from tacit import Budget, Ledger
from tacit.accounting import EpsilonDeltaDpEvent

TABLE = "all stays.csv"
COLUMNS = ["Pat #", "Admitted on", "LOS [days]", '"free" text', "again?"]
DECLARED = """target = "again?"
[columns."Pat #"]
kind = "key"
[columns."Admitted on"]
kind = "moment"
low = "2019-01-01"
high = "2019-12-31"
[columns."LOS [days]"]
kind = "number"
low = 1
high = 14
[columns."\\"free\\" text"]
kind = "ignored"
[columns."again?"]
kind = "category"
levels = ["never", "soon", "later"]
"""


@pytest.fixture
def stays(clinic):
    """The clinic with stays of patients in the place of its table, and an account that promises for persons."""
    with (clinic.folder / TABLE).open("w", newline="", encoding="utf-8") as file:
        lines = csv.writer(file)
        lines.writerow(COLUMNS)
        for row in range(600):
            day = f"2019-{1 + row % 12:02}-1{row % 10}" if row % 9 else "n/a"
            lines.writerow(
                [row // 2, day, "" if row % 11 == 0 else 1 + row % 20, "ok, a", ["never", "soon", "?"][row % 3]]
            )
    (clinic.folder / "s.toml").write_text(DECLARED, "utf-8")
    (clinic.folder / "l.db").unlink()
    Ledger.create(clinic.address, name="stays", budget=Budget(4), unit="person")
    return clinic


def asked(command, *more):
    """Return the words of a command about the stays, of patients."""
    return [command, TABLE, *more, "--schema", "s.toml", "--unit", "Pat #", "--epsilon", "0.5"]


def test_a_draft_that_was_not_filled_in_says_where_to_write_what(stays):
    """How many columns wait, and the heading of the first as it stands in the draft, quotes and all."""
    draft = stays.run("schema", "draft", TABLE).out
    (stays.folder / "draft.toml").write_text(draft, "utf-8")
    refused = stays.run("schema", "check", "draft.toml")
    assert refused.code == 2
    assert "nor have 4 more columns" in refused.err
    heading = re.search(r"Below (\[.*\]) write", refused.err)[1]
    assert f"\n{heading} " in draft
    (stays.folder / "draft.toml").write_text(draft.replace("#kind =", 'kind = "ignored"', 4), "utf-8")
    last = stays.run("schema", "check", "draft.toml").err
    assert "column 'again?' has no kind yet. Below" in last


@pytest.mark.parametrize(
    "question", ["column('LOS [days]') > 5", "column('again?') == 'soon' and column('Admitted on') >= '2019-06-01'"]
)
def test_columns_whose_names_are_no_words_can_be_asked_about(stays, question):
    """A question names them by column('...')."""
    assert stays.run(*asked("query", question), "--ledger", stays.address).code == 0


@pytest.mark.parametrize(
    "question", ['"LOS [days]" > 5', "`LOS [days]` > 5", "LOS > 5", "again = 'soon'", "'LOS [days]' == 'soon'"]
)
def test_who_writes_such_a_name_otherwise_is_told_how(stays, question):
    """Quotes, backticks, half of a name and a single = are refused with the way to write it."""
    refused = stays.run(*asked("query", question), "--ledger", stays.address)
    assert refused.code == 2
    assert "column('" in refused.err
    assert stays.ledger.spent == Budget(0)


@pytest.mark.parametrize("name", ["Pat #", '"free" text'])
def test_ids_and_ignored_columns_cannot_be_asked_about(stays, name):
    """They are no columns of a question, and it is said which are."""
    refused = stays.run(*asked("query", f"column({name!r}) == 'a'"))
    assert refused.code == 2
    assert "the records have Admitted on, LOS [days], again?." in refused.err


@pytest.mark.parametrize("command", ["train", "tune"])
def test_the_command_on_the_report_can_be_pasted(stays, command):
    """ "How to repeat it" is the same fit: of the same part of the same persons, in words that a shell reads."""
    more = ["--try", "alpha=auto,0.1", "--runs", "2"] if command == "tune" else ["--method", "logistic"]
    made = [*asked(command, *more), "--part", "train", "--ledger", stays.address, "--output", "a model.tacit"]
    told = stays.run(*made)
    assert told.code == 0, told.err
    page = html.unescape((stays.folder / "a model.html").read_text("utf-8"))
    again = shlex.split(re.search(r"<pre>(tacit .*)</pre>", page)[1])
    assert again[again.index("--ledger") + 1] == f"sqlite:///{Path(stays.address).name}"
    assert again[again.index("--output") + 1] == "a model.tacit"
    repeated = stays.run(*again[1:], "--overwrite")
    assert repeated.code == 0, repeated.err
    first, second = (entry for entry in stays.ledger.entries() if entry.amount != Budget(0))
    assert (first.path, first.event, first.label) == (second.path, second.event, second.label)
    following = shlex.split(re.search(r"^next +(tacit .*)$", told.out, re.MULTILINE)[1])
    assert stays.run(*following[1:]).code == 0
    assert "report     a model.html" in told.out
    assert "left       epsilon=3.5, delta=0" in told.out
    assert "<li>who is in the table and how many persons that are</li>" in page


def test_every_dry_run_tells_whom_it_protects_and_whether_it_can_be_paid(stays):
    """The same keys and the same words for a model, a search, scores and an answer."""
    assert stays.run(*asked("train"), "--ledger", stays.address, "--output", "m.tacit").code == 0
    scores = ["evaluate", "m.tacit", TABLE, "--unit", "Pat #", "--epsilon", "0.5"]
    commands = [
        asked("train"),
        asked("tune", "--try", "alpha=auto,0.1"),
        scores,
        asked("query", "column('again?') == 'soon'"),
    ]
    head = stays.ledger.head
    for command in commands:
        dry = [*command, "--ledger", stays.address, "--dry-run"]
        plain, words = stays.run(*dry, "--json").plain, stays.run(*dry).out
        assert plain["cost"]["epsilon"] == 0.5, command
        assert (plain["affordable"], plain["left"]["epsilon"], plain["charged"]) == (True, 3.5, False)
        assert "replace-one person neighbours" in words
        assert "left: enough" in words
    stays.ledger.spend(EpsilonDeltaDpEvent(3.25), label="somebody else's", unit=stays.ledger.whom)
    assert stays.ledger.head != head
    for command in commands:
        plain = stays.run(*command, "--ledger", stays.address, "--dry-run", "--json").plain
        assert plain["affordable"] is False, command


@pytest.mark.parametrize("command", ["train", "tune"])
def test_a_dry_run_is_refused_where_the_command_would_be(stays, command):
    """An account for persons does not pay for records, and the price says so as the fit does."""
    made = [command, TABLE, "--schema", "s.toml", "--epsilon", "0.5", "--ledger", stays.address]
    made += ["--try", "alpha=0.1"] if command == "tune" else []
    dry, meant = stays.run(*made, "--dry-run"), stays.run(*made)
    assert (dry.code, meant.code) == (2, 2)
    assert dry.err == meant.err
    assert "Give --unit COLUMN." in dry.err


def test_a_model_predicts_wherever_it_and_the_table_are(stays, monkeypatch):
    """The model file is moved away from table, schema and ledger; the table of new people has neither target nor id."""
    assert stays.run(*asked("train"), "--ledger", stays.address, "--output", "m.tacit").code == 0
    expected = stays.run("predict", "m.tacit", TABLE).out
    elsewhere = stays.folder / "else where"
    elsewhere.mkdir()
    (stays.folder / "m.tacit").rename(elsewhere / "moved.tacit")
    with (stays.folder / TABLE).open(encoding="utf-8", newline="") as file:
        rows = [row[1:3] for row in csv.reader(file)]
    with (elsewhere / "new.csv").open("w", encoding="utf-8", newline="") as file:
        csv.writer(file).writerows(rows)
    for path in (stays.folder / TABLE, stays.folder / "s.toml", stays.folder / "l.db"):
        path.unlink()
    monkeypatch.chdir(elsewhere)
    assert stays.run("predict", "moved.tacit", "new.csv").out == expected


def test_an_account_shows_no_column_that_is_empty(stays):
    """Parts and payers have a column where there are some."""
    stays.run(*asked("query", "column('LOS [days]') > 5"), "--ledger", stays.address)
    shown = stays.run("ledger", "show", stays.address).out
    assert "payer" not in shown
    assert "part" not in shown
    stays.run(*asked("train"), "--part", "train", "--ledger", stays.address)
    assert "part" in stays.run("ledger", "show", stays.address).out


def test_python_runs_the_package_as_the_command():
    """`python -m tacit` is `tacit`."""
    done = subprocess.run([sys.executable, "-m", "tacit", "explain", "1"], capture_output=True, text=True, check=True)
    assert "73.1 times in 100" in done.stdout
