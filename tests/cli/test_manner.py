"""The manner of commands: exit codes, JSON, quiet, pipes, narrow terminals, and nothing half-done whatever happens."""

import json
import subprocess
import sys

import pytest

import tacit
from cli.conftest import SCHEMA, SECRET, raising, write_table
from tacit.cli.commands import SUMMARIES
from tacit.cli.console import console
from tacit.errors import LedgerCorrupt


def test_exit_codes_and_errors_as_json(clinic, monkeypatch):
    """0 done, 1 verification failed, 2 wrong, 3 no budget, 5 unexpected: each as a line and as one JSON object."""
    query = ("query", "patients.csv", "smoker", "--schema", "s.toml")
    cases = [
        (0, (*query, "--epsilon", "0.1")),
        (2, (*query, "--epsilon", "-1")),
        (2, ("train", "patients.csv", "--schema", "none.toml", "--epsilon", "1")),
        (2, ("nonsense",)),
        (2, ("train",)),
        (2, ("train", "patients.csv", "--schema", "s.toml", "--epsilon", "many")),
        (3, (*query, "--epsilon", "2", "--ledger", clinic.address)),
    ]
    for code, arguments in cases:
        ended = clinic.run(*arguments)
        assert ended.code == code, arguments
        if code:
            assert ended.out == ""
            assert ended.err
            plain = clinic.run(*arguments, "--json")
            assert plain.code == code
            assert plain.plain["error"]["message"] not in plain.err
            assert plain.plain["error"].keys() == {"kind", "message", "exit_code", "charged"}
            assert plain.plain["error"]["exit_code"] == code
    monkeypatch.setattr("tacit.cli.ledger.Ledger.open", raising(LedgerCorrupt("changed")))
    assert clinic.run("ledger", "verify", clinic.address).code == 1
    monkeypatch.setattr("tacit.cli.ledger.Ledger.open", raising(RuntimeError(f"a bug that quotes {SECRET}")))
    unexpected = clinic.run("ledger", "verify", clinic.address, "--json")
    assert unexpected.code == 5
    assert unexpected.plain["error"]["message"] == "something unexpected failed: RuntimeError."


def test_results_go_to_stdout_and_words_to_stderr(trained):
    """What is piped is the result alone; `--quiet` leaves no word besides; there is no colour and no prompt."""
    loud = trained.train("--json", "--overwrite")
    assert loud.plain["model"] == "m.tacit"
    assert "No ledger was given" in loud.err
    quiet = trained.train("--seed", "1", "--quiet", "--overwrite")
    assert quiet.err == ""
    draft = trained.run("schema", "draft", "patients.csv")
    assert draft.err
    assert trained.run("schema", "draft", "patients.csv", "--quiet").err == ""
    for command in (("ledger", "show", trained.address), ("inspect", "m.tacit"), ("--help",), ("nonsense",)):
        ended = trained.run(*command)
        assert "\x1b" not in ended.out + ended.err


@pytest.mark.parametrize("width", [40, 80])
def test_a_narrow_terminal_cuts_no_word_and_no_command(trained, monkeypatch, width):
    """Tables fit; hashes fold but lose nothing; a command to be pasted stands on one line."""
    monkeypatch.setattr(console, "width", width)
    shown = trained.run("ledger", "show", trained.address).out
    table = shown.partition("budget")[0]
    assert max(map(len, table.splitlines())) <= width
    inspected = trained.run("inspect", "m.tacit").out
    assert max(map(len, inspected.splitlines())) <= width
    assert trained.ledger.head in "".join(inspected.split())
    told = trained.train("--seed", "1", "--overwrite").out
    assert "next       tacit inspect m.tacit\n" in told


def test_a_dry_run_does_nothing(clinic):
    """`--dry-run` says the cost and whether it fits; nothing is charged, nothing is written."""
    before, head = clinic.names(), clinic.ledger.head
    plain = clinic.train("--ledger", clinic.address, "--dry-run", "--json").plain
    assert plain["cost"]["epsilon"] == 0.5
    assert plain["affordable"] is True
    asked = ("query", "patients.csv", "smoker", "--schema", "s.toml", "--tolerance", "0.1", "--dry-run", "--json")
    plain = clinic.run(*asked, "--ledger", clinic.address).plain
    assert not plain["charged"]
    assert plain["tolerance"] <= 0.1
    assert clinic.names() == before
    assert clinic.ledger.head == head


@pytest.mark.parametrize("part", ["train", "test"])
def test_a_dry_run_about_a_part_names_no_part_in_the_ledger(trained, part):
    """Before a part was ever charged, it is priced as the whole is; afterwards, by what its own part has left."""
    head, before = trained.ledger.head, trained.names()
    table = ("patients.csv", "--schema", "s.toml", "--epsilon", "0.3", "--part", part, "--ledger", trained.address)
    commands = (
        ("train", *table),
        ("tune", *table, "--try", "alpha=auto,0.1"),
        ("query", "patients.csv", "smoker", *table[1:]),
        ("evaluate", "m.tacit", "patients.csv", *table[3:]),
    )
    for command in commands:
        plain = trained.run(*command, "--dry-run", "--json").plain
        assert (plain["affordable"], plain["left"]["epsilon"]) == (True, 0.5), command
    assert (trained.ledger.head, trained.names()) == (head, before)
    assert trained.run("train", *table[:-4], "--part", "test", *table[-2:], "--output", "n.tacit").code == 0
    head = trained.ledger.head
    for command in commands:
        left = trained.run(*command, "--dry-run", "--json").plain["left"]
        assert left["epsilon"] == (0.5 if part == "train" else 0.2), command
    assert trained.ledger.head == head


def test_a_seed_is_refused_wherever_a_ledger_is_given(clinic):
    """A rehearsal under a ledger would look private; nothing is charged."""
    head = clinic.ledger.head
    for command in (
        ("train", "patients.csv", "--schema", "s.toml", "--epsilon", "0.1"),
        ("query", "patients.csv", "smoker", "--schema", "s.toml", "--epsilon", "0.1"),
    ):
        ended = clinic.run(*command, "--ledger", clinic.address, "--seed", "1")
        assert ended.code == 2
        assert "--seed or --ledger" in ended.err
    assert clinic.ledger.head == head
    assert "m.tacit" not in clinic.names()


BAD_TABLES = {
    "wrong delimiter": "age;ward;smoker;ill\n" + f"{SECRET};A;yes;true\n" * 10,
    "missing column": "age,ward,ill\n" + f"{SECRET},A,true\n" * 10,
    "empty file": "",
    "not text": b"age,ward,smoker,ill\n\xff\xfe\x00" + SECRET.encode() + b",A,yes,true\n",
    "names twice": "age,age,ward,smoker,ill\n1,2,A,yes,true\n",
    "ragged": "age,ward,smoker,ill\n" + f"1,A,yes,true\n{SECRET},A\n",
}


@pytest.mark.parametrize("name", BAD_TABLES)
def test_a_table_that_cannot_be_read_is_told_without_its_values(clinic, name):
    """The file is refused before any charge, and what stands in it is not shown."""
    content, head = BAD_TABLES[name], clinic.ledger.head
    (clinic.folder / "patients.csv").write_bytes(content if isinstance(content, bytes) else content.encode())
    ended = clinic.train("--ledger", clinic.address)
    assert ended.code == 2, ended.err
    assert clinic.ledger.head == head
    assert "m.tacit" not in clinic.names()


@pytest.mark.parametrize("ill", [("true",), ("?",), ("", SECRET)], ids=["one class", "unknown", "strange"])
def test_a_target_of_one_class_is_answered_like_any_other(clinic, ill):
    """Whichever labels occur, the same things happen: a model, a charge, the same words."""
    write_table(clinic.folder / "patients.csv", ill=ill)
    ended = clinic.train("--ledger", clinic.address, "--json")
    assert ended.code == 0, ended.out
    assert ended.plain["classes"] == ["false", "true"]
    assert str(clinic.ledger.spent) == "epsilon=0.5, delta=0"


def test_a_reader_that_goes_away_is_no_traceback(trained):
    """`tacit predict ... | head -1` ends without a word of Python's."""
    program = "from tacit.cli import main; main()"
    process = subprocess.Popen(
        [sys.executable, "-c", program, "predict", "m.tacit", "patients.csv"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    process.stdout.close()
    assert "Traceback" not in process.stderr.read().decode()
    process.stderr.close()
    process.wait(60)


def test_the_version_and_the_help(clinic):
    """`--version` says the version; the help lists every command and every exit code; completion can be installed."""
    assert clinic.run("--version").out == f"tacit {tacit.__version__}\n"
    shown = clinic.run("--help").out
    words = " ".join(shown.split())
    assert all(f"\n  {name} " in shown and summary in words for name, summary in SUMMARIES.items())
    assert "--install-completion" in shown
    assert all(code in words for code in ("0 done", "1 refuted", "2 wrong", "3 refused", "4 cannot", "5 unexpected"))


@pytest.mark.parametrize("words", [["--help"], ["--version"], ["no-such-command"], ["ledgr", "show"]], ids=" ".join)
def test_a_look_at_the_commands_loads_none_of_them(words):
    """Help, version and typing errors need neither numpy nor any room of the library: they come at once."""
    code = f"""if True:
        import sys
        from tacit.cli import main
        sys.argv = ["tacit", *{words!r}]
        try:
            main()
        finally:
            rooms = {{name.split(".")[1] for name in sys.modules if name.startswith("tacit.")}}
            assert rooms <= {{"cli", "version", "errors"}}, rooms
            assert not {{"numpy", "sklearn", "sqlalchemy", "matplotlib"}} & sys.modules.keys()
    """
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert (done.returncode, "Assertion" in done.stderr) == (0 if words[0].startswith("--") else 2, False)


def test_completion_lists_commands_and_their_options(clinic, monkeypatch):
    """Names come from the list, options from the command that was named."""
    told = []
    for words in ("tacit ", "tacit le", "tacit ledger ", "tacit train --sch"):
        monkeypatch.setenv("COMP_WORDS", words)
        monkeypatch.setenv("COMP_CWORD", str(len(words.split(" ")) - 1))
        monkeypatch.setenv("_TACIT_COMPLETE", "complete_bash")
        program = "from tacit.cli import main; import sys; sys.argv = ['tacit']; main()"
        done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
        told.append(done.stdout.split())
    assert told[0] == list(SUMMARIES)
    assert told[1:] == [["ledger"], ["create", "show", "list", "verify", "witness", "partition"], ["--schema"]]


def test_what_is_not_installed_is_wrong_usage_and_said_in_one_line():
    """A package that a command needs is named with the extra that brings it, not in a traceback: exit code 2."""
    code = "import sys; sys.modules['sqlalchemy'] = None; sys.argv = ['tacit', 'ledger', 'list', 'sqlite:///l.db']"
    done = subprocess.run(
        [sys.executable, "-c", f"{code}; from tacit.cli import main; main()"], capture_output=True, text=True
    )
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == "the command line needs sqlalchemy: pip install 'tacit[cli]'\n"


def test_persons_are_protected_where_a_unit_is_named(clinic):
    """`--unit` counts persons; a ledger for records refuses to pay for persons."""
    text = SCHEMA + '\n[columns.patient]\nkind = "key"\n'
    (clinic.folder / "s.toml").write_text(text, "utf-8")
    lines = (clinic.folder / "patients.csv").read_text("utf-8").splitlines()
    with_ids = [lines[0] + ",patient"] + [f"{line},{row // 3}" for row, line in enumerate(lines[1:])]
    (clinic.folder / "patients.csv").write_text("\n".join(with_ids) + "\n", "utf-8")
    told = clinic.train("--unit", "patient", "--json").plain
    assert told["unit"] == "person"
    assert told["n"] == 100
    assert clinic.train("--unit", "patient", "--ledger", clinic.address).code == 2
    people = f"sqlite:///{clinic.folder}/people.db"
    assert clinic.run("ledger", "create", people, "--name", "p", "--epsilon", "1", "--unit", "person").code == 0
    assert clinic.train("--unit", "patient", "--ledger", people, "--overwrite").code == 0
    assert json.loads(clinic.run("inspect", "m.tacit", "--card", "json").out)["tacit"]["unit"] == "person"
