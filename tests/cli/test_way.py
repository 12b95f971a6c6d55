"""From a table to a private model, its file, its card, its report and its predictions, by commands alone."""

import csv
import io
import json
import re
import shlex
from pathlib import Path

import numpy as np
import pytest
import yaml

import tacit
from cli.conftest import SCHEMA, write_table
from tacit import Budget, Ledger, Records, Schema
from tacit.cli.commands import SUMMARIES, loaded


def test_the_way_in_one_breath(clinic):
    """The commands of the first page, verbatim; in between a person fills in what the draft left open."""
    (clinic.folder / "patients.csv").rename(clinic.folder / "d.csv")
    (clinic.folder / "l.db").unlink()

    def say(command, into=None):
        ended = clinic.run(*shlex.split(command)[1:])
        assert ended.code == 0, ended.err
        if into is not None:
            (clinic.folder / into).write_text(ended.out, "utf-8")
        return ended

    say("tacit schema draft d.csv", into="s.toml")
    draft = (clinic.folder / "s.toml").read_text("utf-8")
    assert "[columns.age]" in draft
    (clinic.folder / "s.toml").write_text(SCHEMA, "utf-8")
    say("tacit ledger create sqlite:///l.db --name d --epsilon 1")
    told = say("tacit train d.csv --schema s.toml --epsilon 0.7 --ledger sqlite:///l.db --output m.tacit --json").plain
    assert told["charged"]
    assert told["left"]["words"] == "epsilon=0.3, delta=0"
    shown = say("tacit inspect m.tacit").out
    assert "epsilon=0.7" in shown
    predicted = say("tacit predict m.tacit d.csv").out.splitlines()
    assert len(predicted) == 301
    assert Ledger.open("sqlite:///l.db").head == tacit.load("m.tacit").card_.tacit["entry"]["hash"]


def test_a_filled_in_draft_is_a_schema(clinic):
    """What `schema draft` prints becomes a schema by filling in what it leaves open, and `schema check` says so."""
    draft = clinic.run("schema", "draft", "patients.csv")
    assert draft.code == 0
    unfilled = clinic.folder / "draft.toml"
    unfilled.write_text(draft.out, "utf-8")
    refused = clinic.run("schema", "check", unfilled)
    assert refused.code == 2
    assert "age" in refused.err
    checked = clinic.run("schema", "check", "s.toml", "--data", "patients.csv", "--json").plain
    assert checked == {
        "columns": {
            "age": "a number from 0 to 120",
            "ward": "one of A, B",
            "smoker": "one of no, yes, of which yes is true",
            "ill": "one of false (or False, 0), true (or True, 1)",
        },
        "target": "ill",
        "classes": ["false", "true"],
        "positive": "true",
        "n": 300,
    }


def test_train_tells_the_same_as_the_library(trained):
    """Model, card, report and ledger agree; keys of the JSON are stable."""
    model = tacit.load("m.tacit")
    assert model.release_.entry == trained.ledger.entries()[-1]
    again = trained.train("--seed", "1", "--overwrite", "--json").plain
    assert list(again) == [
        "kind", "guarantee", "private", "unit", "cost", "charged", "entry", "left", "n", "features", "classes", "open",
        "model", "report",
    ]  # fmt: skip
    assert not again["private"]
    assert not again["charged"]
    page = (trained.folder / "m.html").read_text("utf-8")
    assert "NOT private" in page


def test_predict_gives_what_the_model_predicts(trained, tmp_path):
    """One line a record, in the table's order, with or without the target; probabilities; a file; JSON."""
    model, schema = tacit.load("m.tacit"), Schema.load("s.toml")
    expected = model.predict(Records("patients.csv", schema))
    lines = list(csv.reader(io.StringIO(trained.run("predict", "m.tacit", "patients.csv").out)))
    assert lines[0] == ["prediction"]
    assert [line[0] for line in lines[1:]] == expected.tolist()
    with open("patients.csv", newline="") as file:
        cut = [[row[2], row[0], row[1]] for row in csv.reader(file)]
    with open("fewer.csv", "w", newline="") as file:
        csv.writer(file).writerows(cut)
    plain = trained.run("predict", "m.tacit", "fewer.csv", "--probabilities", "--json").plain
    assert plain["prediction"] == expected.tolist()
    chances = model.predict_proba(Records("patients.csv", schema))
    assert np.array_equal(plain["probability of true"], chances[:, 1])
    written = trained.run("predict", "m.tacit", "fewer.csv", "--output", "p.csv", "--json").plain
    assert written == {"n": 300, "output": "p.csv"}
    assert (tmp_path / "p.csv").read_text().splitlines()[1:] == expected.tolist()


def test_inspect_shows_the_card_in_every_form(trained):
    """Prose, JSON, and the card as YAML, as JSON, or the registry's record alone."""
    card = tacit.load("m.tacit").card_
    assert trained.run("inspect", "m.tacit", "--json").plain["card"] == card.plain()
    assert yaml.safe_load(trained.run("inspect", "m.tacit", "--card", "yaml").out) == card.plain()
    assert json.loads(trained.run("inspect", "m.tacit", "--card", "json").out) == card.plain()
    assert yaml.safe_load(trained.run("inspect", "m.tacit", "--record").out) == card.record
    assert "PrivateLogisticRegression" in trained.run("inspect", "m.tacit").out


def test_what_people_answer_gets_into_the_card(clinic):
    """`--about` closes the card's questions, `--card` writes it; a wrong answer is refused before any charge."""
    (clinic.folder / "about.toml").write_text('author = "A. Person"\nexplored = "nothing"\n', "utf-8")
    done = clinic.train("--ledger", clinic.address, "--about", "about.toml", "--card", "card.yaml", "--json").plain
    card = yaml.safe_load((clinic.folder / "card.yaml").read_text("utf-8"))
    assert card["record"]["registry_author"] == "A. Person"
    assert "registry_author" not in done["open"]
    head = clinic.ledger.head
    (clinic.folder / "about.toml").write_text('colour = "red"\n', "utf-8")
    assert clinic.train("--ledger", clinic.address, "--about", "about.toml").code == 2
    assert clinic.ledger.head == head


@pytest.mark.parametrize(
    ("question", "share"),
    [
        ("age > 60", None),
        ("smoker", 0.5),
        ("not smoker", 0.5),
        ("ward in ['A'] or ward == 'B'", 2 / 3),
        ("ward not in ['A', 'B']", 1 / 3),
        ("20 <= column('age') < 55 and True", None),
        ("age / 120", None),
        ("1 - (-age + 60) * 2", None),
    ],
)
def test_questions_are_answered_for_a_charge(clinic, question, share):
    """A rehearsal at a huge epsilon gives the truth; a private answer is charged to the ledger once."""
    truth = clinic.run(
        "query", "patients.csv", question, "--schema", "s.toml", "--epsilon", "1000", "--seed", "1", "--json"
    )
    assert truth.code == 0, truth.out
    if share is not None:
        assert abs(truth.plain["value"] - share) < 0.02
    asked = ("query", "patients.csv", question, "--schema", "s.toml", "--epsilon", "0.25", "--ledger", clinic.address)
    answer = clinic.run(*asked, "--json").plain
    assert answer["cost"]["epsilon"] == 0.25
    assert str(clinic.ledger.spent) == "epsilon=0.25, delta=0"
    assert abs(answer["value"] - truth.plain["value"]) < 40 * answer["tolerance"]


def test_the_mean_of_a_number_is_over_its_declared_range(clinic):
    """`age` from 0 to 120 is answered in years, not clamped to 1, and its tolerance is in years too."""
    asked = "query", "patients.csv", "--schema", "s.toml", "--epsilon", "1000", "--seed", "1", "--json"
    years, months = (clinic.run(*asked, question).plain for question in ("age", "age * 12"))
    assert 50 < years["value"] < 60
    assert months["value"] == pytest.approx(12 * years["value"], rel=0.01)
    assert months["tolerance"] == pytest.approx(12 * years["tolerance"], rel=0.01)
    lifetimes = clinic.run(*asked[:-1], "age * 1000000").out
    assert re.match(r"5\d,\d{3},\d{3} within [\d,]+ of the population's at confidence 0.95 ", lifetimes)


HOSTILE = [
    "__import__('os').system('x')", "age.real", "(lambda: 1)()", "[age for age in age]", "age if age else 1",
    "age ** 100", "age > ward", "nosuch > 1", "age is None", "ward in age", "", "age >", "x" * 20_000, "(" * 5000,
    "age > 1e999", "age > None", "open('x')", "age and 3", "1", "age := 1", "column(age)", "not " * 3000,
    "age @ 2", "age // 2", "age < ...", "b'x' == ward", "age == 1j", "age[0]", "*age", "\x00",
]  # fmt: skip


@pytest.mark.parametrize("question", HOSTILE, ids=range(len(HOSTILE)))
def test_nothing_but_questions_is_a_question(clinic, question):
    """Code, other columns, nonsense and what is too long or deep is wrong usage; nothing runs, nothing is charged."""
    head = clinic.ledger.head
    ended = clinic.run(
        "query", "patients.csv", question, "--schema", "s.toml", "--epsilon", "0.1", "--ledger", clinic.address
    )
    assert ended.code == 2, (ended.out, ended.err)
    assert clinic.ledger.head == head


def _commands(command, path):
    if hasattr(command, "commands"):
        for name, inner in command.commands.items():
            yield from _commands(inner, (*path, name))
    else:
        yield path


COMMANDS = [path for name in SUMMARIES for path in _commands(loaded(name), (name,))]


@pytest.mark.parametrize("path", [(), ("schema",), ("ledger",), ("records",), *COMMANDS], ids=" ".join)
def test_every_help_fits_80_columns_and_cuts_no_sentence(clinic, path):
    """But for the examples, which are to be pasted; no command's line in a list ends in dots."""
    shown = clinic.run(*path, "--help").out.partition("Example:")[0]
    assert max(map(len, shown.splitlines())) <= 80
    assert "..." not in shown.partition("Commands:")[2]


@pytest.mark.parametrize("path", COMMANDS, ids=" ".join)
def test_the_example_in_every_help_runs(trained, path, monkeypatch):
    """Each `--help` ends with an example; run as it stands beside a table, its schema and an account, it works.

    A service would run for ever: what it serves is prepared, and tests/service let it run on settings of its own.
    """
    if path == ("serve",):
        monkeypatch.setattr("tacit.service.running.serve", lambda settings: None)
    shown = trained.run(*path, "--help").out
    examples = re.findall(r"^ *(tacit .*)$", shown.partition("Example:")[2], re.MULTILINE)
    assert examples
    if path == ("train",):
        (trained.folder / "m.tacit").rename("late.tacit")
        (trained.folder / "m.html").rename("late.html")
    if path[0] == "records" and path != ("records", "pack"):
        trained.run("records", "pack", "patients.csv", "patients.tacit-records", "--schema", "s.toml")
    if "--witness" in shown:
        trained.run("ledger", "witness", "sqlite:///l.db", "--output", "w.json")
    for line in (line for line in examples if "--config" not in line):
        assert shlex.split(line)[1 : 1 + len(path)] == list(path)
        ended = trained.run(*shlex.split(line)[1:])
        assert ended.code == 0, (line, ended.err)


def test_explain_says_and_draws(clinic):
    """Words, JSON with the numbers, a picture under the name given; the game needs a terminal."""
    plain = clinic.run("explain", "1", "--json").plain
    assert plain["best_guess"] == pytest.approx(np.e / (1 + np.e))
    assert "73.1 times" in clinic.run("explain", "1").out
    assert clinic.run("explain", "1", "--delta", "1e-6", "--output", "e.svg").code == 0
    assert (clinic.folder / "e.svg").read_text("utf-8").lstrip().startswith("<?xml")
    assert clinic.run("explain", "1", "--play").code == 2
    assert clinic.run("explain", "-1").code == 2


def test_accounts_are_listed_divided_and_witnessed(clinic):
    """`list`, `partition` and `witness` do what the library does; a history that was cut is refuted with 1."""
    Ledger.create(clinic.address, name="other", budget=tacit.Budget(2, 1e-6), unit="person")
    listed = clinic.run("ledger", "list", clinic.address, "--json").plain["accounts"]
    assert [(each["name"], each["unit"], each["left"]["epsilon"]) for each in listed] == [
        ("clinic", "record", 1.0),
        ("other", "person", 2.0),
    ]
    arguments = "--name", "clinic", "--title", "site", "--part", "n", "--part", "s"
    divided = clinic.run("ledger", "partition", clinic.address, *arguments, "--json").plain
    assert divided["left"].keys() == {"n", "s"}
    assert clinic.run("ledger", "witness", clinic.address, "--name", "clinic", "--output", "w.json").code == 0
    assert clinic.run("ledger", "verify", clinic.address, "--witness", "w.json").code == 0
    shorter = clinic.folder / "fresh.db"
    Ledger.create(f"sqlite:///{shorter}", name="clinic", budget=tacit.Budget(1))
    refuted = clinic.run("ledger", "verify", f"sqlite:///{shorter}", "--witness", "w.json", "--json")
    assert refuted.code == refuted.plain["error"]["exit_code"] == 1
    (clinic.folder / "w.json").write_text("[" * 100_000)
    assert clinic.run("ledger", "verify", clinic.address, "--witness", "w.json").code == 2
    card = yaml.safe_load(clinic.run("ledger", "show", clinic.address, "--name", "clinic", "--card").out)
    assert card["record"]["deployment"]["model"]["release_type"] == "Continual"


def test_training_and_evaluating_on_parts_cost_the_larger(clinic):
    """A model of the one part is scored on the other; the report has every figure; together they cost the larger."""
    assert clinic.train("--part", "train", "--ledger", clinic.address).code == 0
    asked = "evaluate", "m.tacit", "patients.csv", "--part", "test", "--epsilon", "0.4", "--ledger", clinic.address
    before = clinic.ledger.head
    assert clinic.run(*asked, "--dry-run", "--json").plain["charged"] is False
    assert clinic.run(*asked, "--seed", "1").code == 2
    assert clinic.ledger.head == before
    told = clinic.run(*asked, "--json").plain
    assert told["private"]
    assert told["scores"]["auc"].keys() == {"value", "noise", "sampling", "interval", "confidence"}
    assert str(clinic.ledger.spent) == "epsilon=0.5, delta=0"
    page = (clinic.folder / "m.scores.html").read_text("utf-8")
    assert "together, parts cost what the largest does" in page
    assert "<td>epsilon=0.5, delta=0</td>" in page
    assert f"{told['scores']['accuracy']['value']:.4f}" in page
    assert clinic.run(*asked, "--overwrite").code == 0
    assert clinic.run(*asked, "--overwrite").code == 3


def test_tuning_saves_the_model_that_won(clinic):
    """One charge for the whole search; the model file is the winner, its card says that it was searched for."""
    asked = "tune", "patients.csv", "--schema", "s.toml", "--epsilon", "0.8", "--try", "alpha=auto,0.1", "--runs", "2"
    plain = clinic.run(*asked, "--ledger", clinic.address, "--dry-run", "--json").plain
    assert plain["cost"].pop("exact") == {"epsilon": "4/5", "delta": "0"}
    assert plain["cost"] == {"epsilon": 0.8, "delta": 0.0, "words": "epsilon=0.8, delta=0"}
    told = clinic.run(*asked, "--ledger", clinic.address, "--output", "t.tacit", "--json").plain
    assert told["best"].get("alpha", "auto") in ("auto", 0.1)
    assert str(clinic.ledger.spent) == "epsilon=0.8, delta=0"
    card = tacit.load("t.tacit").card_
    assert "private search" in card.record["deployment"]["implementation"]["pre_processing_eda_hyperparameter_tuning"]
    assert card.record["deployment"]["privacy_loss"]["privacy_parameters"]["epsilon"] == 0.8
    for wrong in ("alpha", "alpha=", "=1", "ledger=1", "nosuch=1"):
        assert clinic.run(*asked[:-4], "--try", wrong).code == 2


def test_the_page_on_commands_runs_from_top_to_bottom(clinic):
    """Every command of docs/commands.md, verbatim and in order; its answers for the card are the questions asked."""
    page = (Path(tacit.__file__).parents[2] / "docs" / "commands.md").read_text("utf-8")
    (clinic.folder / "patients.csv").rename(clinic.folder / "d.csv")
    (clinic.folder / "l.db").unlink()
    commands = [line for block in re.findall(r"```console\n(.*?)```", page, re.DOTALL) for line in block.splitlines()]
    assert len(commands) == 8
    for command in commands:
        ended = clinic.run(*shlex.split(command.partition(" > ")[0])[1:])
        assert ended.code == 0, (command, ended.err)
    (clinic.folder / "about.toml").write_text(re.findall(r"```toml\n(.*?)```", page, re.DOTALL)[0], "utf-8")
    told = clinic.run(*shlex.split(commands[3])[1:-1], "--about", "about.toml", "--dry-run", "--json")
    assert told.code == 0
    assert "author" in page
    listed = {path[0] for path in COMMANDS}
    assert all(f"`tacit {name}" in page for name in listed)


def test_a_schema_that_does_not_fit_its_values_is_told_for_an_epsilon(clinic):
    """Yes and no in the file, true and false in the schema: nothing is said for free, and all of it for a charge."""
    write_table(clinic.folder / "patients.csv", count=6000, ill=("yes", "no"))
    asked = ("schema", "check", "s.toml", "--data", "patients.csv")
    free = clinic.run(*asked)
    assert (free.code, "of 'ill'" in free.out) == (0, False)
    assert clinic.ledger.spent == Budget(0)
    paid = clinic.run(*asked, "--epsilon", "0.5", "--ledger", clinic.address)
    assert paid.code == 0
    assert re.search(r"About (9\d|100)% of the values of 'ill' lie beyond the declared bounds", paid.out)
    assert "of 'smoker'" not in paid.out
    assert clinic.ledger.spent == Budget(0.5)
    plain = clinic.run(*asked, "--epsilon", "0.5", "--seed", "1", "--json").plain
    assert plain["mismatches"]["ill"]["undeclared"] > 0.9 > 0.1 > abs(plain["mismatches"]["smoker"]["undeclared"])
    for wrong in (("--ledger", clinic.address), ("--seed", "1"), ("--epsilon", "0.1", "--seed", "1", "--ledger", "x")):
        assert clinic.run(*asked, *wrong).code == 2
    assert clinic.run("schema", "check", "s.toml", "--epsilon", "0.1").code == 2


def test_an_account_for_persons_says_which(clinic):
    """The columns of ids are given at its creation, and shown from then on; records have none."""
    address = f"sqlite:///{clinic.folder / 'people.db'}"
    account = "--name", "p", "--epsilon", "1", "--unit", "person"
    created = clinic.run("ledger", "create", address, *account, "--ids", "patient", "--ids", "patient_no", "--json")
    assert (created.plain["unit"], created.plain["ids"]) == ("person", ["patient", "patient_no"])
    assert "by 'patient' or 'patient_no'" in " ".join(clinic.run("ledger", "show", address).out.split())
    assert clinic.run("ledger", "show", clinic.address, "--json").plain["ids"] == []
    assert clinic.run("ledger", "create", address, "--name", "r", "--epsilon", "1", "--ids", "patient").code == 2
