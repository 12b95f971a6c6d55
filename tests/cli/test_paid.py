"""What was paid for is not lost, and whatever ends a command after the charge says that it was charged."""

import os
import subprocess
import sys

import numpy as np
import pytest

import tacit
from tacit import Budget, Ledger, PrivateLogisticRegression, Records, Schema
from tacit.cli import products
from tacit.data import Category, Number
from tacit.erm.perturbations.coding import default_curves
from tacit.errors import InvalidParameter, ModelFileError
from tacit.models.container import MOST_VALUES
from tacit.models.file import USUAL_KNOTS, check_declared
from tacit.reports import card_of_model

PROGRAM = "from tacit.cli import main; main()"


def wide(count):
    """Declare so many numbers beside a target of two classes."""
    numbers = {f"snp_rs{100000000 + place}": Number(0, 2) for place in range(count)}
    return Schema({**numbers, "ill": Category(["a", "b"])}, target="ill")


def test_a_model_of_thousands_of_columns_has_a_card_and_a_file(tmp_path):
    """The card names as many columns as there is room for and counts the others; the model file has them all."""
    schema = wide(4200)
    table = {name: np.zeros(20) for name in schema.features} | {"ill": ["a", "b"] * 10}
    model = PrivateLogisticRegression(1.0, random_state=1).fit(Records(table, schema))
    domain = card_of_model(model).record["deployment"]["dp_flavor"]["data_domain"]
    assert "snp_rs100000000: a number from 0 to 2; " in domain
    assert domain.endswith(f"and {4201 - domain.count('; '):,} more, which the model's schema declares.")
    tacit.save(model, tmp_path / "wide.tacit")
    assert tacit.load(tmp_path / "wide.tacit").encoder_.schema == schema


def test_declarations_that_no_model_file_holds_are_refused_before_the_charge(clinic):
    """What a schema that passes makes is at most what a file holds; one beyond costs nothing: exit code 2."""
    check_declared(wide(4200))
    most = MOST_VALUES // 2
    levels = [f"level {number}" for number in range(most)]
    with pytest.raises(ModelFileError, match="must fit into"):
        check_declared(Schema({"x": Category(levels)}))
    text = (clinic.folder / "s.toml").read_text("utf-8").replace('["A", "B"]', str(levels).replace("'", '"'))
    (clinic.folder / "s.toml").write_text(text, "utf-8")
    ended = clinic.train("--ledger", clinic.address)
    assert (ended.code, "Declare fewer" in ended.err) == (2, True)
    assert clinic.ledger.spent == Budget(0)


def test_a_level_that_no_model_file_holds_is_refused_before_the_charge(clinic):
    """Declarations are read as `load` will read them: a text too long to be read again costs nothing, exit code 2."""
    text = (clinic.folder / "s.toml").read_text("utf-8").replace('["A", "B"]', f'["A", "{"B" * 150_000}"]')
    (clinic.folder / "s.toml").write_text(text, "utf-8")
    for command in (("train",), ("tune", "--try", "alpha=auto,0.1")):
        end = ("patients.csv", "--schema", "s.toml", "--epsilon", "0.5", "--output", "m.tacit", "--ledger")
        ended = clinic.run(*command, *end, clinic.address)
        assert (ended.code, "100,000 letters" in ended.err) == (2, True)
    assert clinic.ledger.spent == Budget(0)


def test_a_schema_that_passes_can_have_the_curves_that_a_fit_chooses():
    """The check allows for more knots than curves of the noise's own choice have."""
    curves = default_curves(None, wide(3), 10**6, 1, False)
    assert curves is not None
    assert curves.knots <= USUAL_KNOTS


def test_answers_that_no_card_takes_are_refused_before_the_charge(clinic):
    """What tacit fills in by itself, and a text without end: exit code 2, and nothing is charged."""
    for answer in ('domain = "all tables"', f'author = "{"x" * 20_000}"', 'nobody = "asked"'):
        (clinic.folder / "about.toml").write_text(answer, "utf-8")
        ended = clinic.train("--ledger", clinic.address, "--about", "about.toml")
        assert ended.code == 2, answer
    assert clinic.ledger.spent == Budget(0)


def test_a_seed_of_any_size_rehearses(clinic):
    """A seed that no file has a place for is left out of it, and the rehearsal is not lost."""
    assert clinic.train("--seed", "9" * 26).code == 0
    assert tacit.load("m.tacit").random_state is None


def test_an_infinite_epsilon_has_to_be_a_rehearsal(clinic):
    """Without a seed it is refused: no word calls it private."""
    infinite = ("train", "patients.csv", "--schema", "s.toml", "--epsilon", "inf", "--output", "m.tacit")
    ended = clinic.run(*infinite)
    assert (ended.code, "NOT private" in ended.err, "the model is private" in ended.err) == (2, True, False)
    assert clinic.run(*infinite, "--seed", "1").code == 0


FAILURES = (
    InvalidParameter("a card's name must be shorter."), ModelFileError("too large"), RuntimeError("a bug"),
    KeyboardInterrupt(),
)  # fmt: skip
PLACES = ("tacit.cli.products.save", "tacit.cli.products.model_page", "tacit.cli.products.card_of_model")


@pytest.mark.parametrize("failure", FAILURES, ids=lambda failure: type(failure).__name__)
@pytest.mark.parametrize("place", PLACES)
def test_whatever_fails_after_the_fit_is_told_to_be_paid_for(clinic, monkeypatch, place, failure):
    """The model, the page or the card fails: exit code 5, never 2, the words say charged, and the rest is kept."""

    def failing(*_, **__):
        raise failure

    monkeypatch.setattr(place, failing)
    ended = clinic.train("--ledger", clinic.address)
    assert ended.code == 5
    assert "The ledger was charged" in ended.err
    assert "Nothing was charged" not in ended.err
    assert clinic.ledger.spent == Budget(0.5)
    assert ("m.tacit" in clinic.names()) == (place == PLACES[1])
    told = clinic.train("--ledger", clinic.address, "--overwrite", "--json").plain["error"]
    assert (told["charged"], told["exit_code"]) == (True, 5)


def test_one_interrupt_while_the_files_are_written_loses_nothing(clinic, monkeypatch):
    """Ctrl-C after the charge: the files are written first, whole, and then the interrupt is told."""
    save, interrupts = products.save, [KeyboardInterrupt()]

    def interrupted(*given, **named):
        if interrupts:
            raise interrupts.pop()
        save(*given, **named)

    monkeypatch.setattr(products, "save", interrupted)
    ended = clinic.train("--ledger", clinic.address)
    assert (ended.code, "The ledger was charged" in ended.err) == (5, True)
    assert tacit.load("m.tacit").release_.entry == clinic.ledger.entries()[-1]
    assert "m.html" in clinic.names()


def test_a_ledger_that_is_gone_after_the_fit_takes_no_model_with_it(clinic, monkeypatch):
    """The account cannot be read for the card: the model is saved with a card that does not speak of what is left."""
    account = "tacit.reports.facts.account"
    monkeypatch.setattr(account, lambda ledger: (_ for _ in ()).throw(RuntimeError("the connection is lost")))
    ended = clinic.train("--ledger", clinic.address)
    assert (ended.code, "does not say what is left" in ended.err) == (0, True)
    assert "ledger" not in tacit.load("m.tacit").card_.tacit


def ended(command, stdout, folder):
    """Run a command as a process whose stdout is full, or whose reader is gone; return its code and its words."""
    process = [sys.executable, "-c", PROGRAM, *command]
    if stdout == "full":
        with open("/dev/full", "w") as full:
            done = subprocess.run(process, stdout=full, stderr=subprocess.PIPE, cwd=folder)
            return done.returncode, done.stderr.decode()
    reader, writer = os.pipe()
    os.close(reader)
    try:
        done = subprocess.run(process, stdout=writer, stderr=subprocess.PIPE, cwd=folder)
    finally:
        os.close(writer)
    return done.returncode, done.stderr.decode()


@pytest.mark.parametrize("stdout", ["full", "gone"])
def test_what_cannot_be_printed_is_no_refutation(trained, stdout):
    """stdout is full or its reader has gone: exit code 5, in every command and with --json; never 1, no traceback."""
    ledger = ("sqlite:///l.db",)
    for command in (
        ("ledger", "verify", *ledger),
        ("ledger", "verify", *ledger, "--json"),
        ("ledger", "show", *ledger),
        ("inspect", "m.tacit", "--card", "yaml"),
        ("predict", "m.tacit", "patients.csv"),
        ("--version",),
        ("--help",),
        ("train", "nowhere.csv", "--json"),
    ):
        code, words = ended(command, stdout, trained.folder)
        assert code in (5, 2 if "nowhere.csv" in command else 5), (command, words)
        assert "Traceback" not in words
        assert "Exception ignored" not in words
        assert stdout == "gone" or words, command


@pytest.mark.parametrize("stdout", ["full", "gone"])
def test_scores_and_answers_that_nobody_hears_are_told_to_be_paid_for(trained, stdout):
    """The report is written before the scores are printed, and the message names it; an answer says it was charged."""
    paid = ("--epsilon", "0.1", "--ledger", "sqlite:///l.db")
    code, words = ended(("evaluate", "m.tacit", "patients.csv", *paid), stdout, trained.folder)
    assert (code, "m.scores.html" in words, "The ledger was charged" in words) == (5, True, True)
    assert "accuracy" in (trained.folder / "m.scores.html").read_text("utf-8")
    code, words = ended(("query", "patients.csv", "smoker", "--schema", "s.toml", *paid), stdout, trained.folder)
    assert (code, "The ledger was charged" in words) == (5, True)
    assert Ledger.open(trained.address).spent == Budget(0.5) + Budget(0.1) + Budget(0.1)


def test_what_is_said_before_anything_is_loaded_is_json_where_that_was_asked_for():
    """A module that is missing, and an interrupt while modules are loaded: one JSON object, or one line."""
    missing = "import sys; sys.modules['sqlalchemy'] = None"
    interrupted = "import builtins; old = builtins.__import__\ndef load(name, *more):\n    if name == 'sqlalchemy':\n"
    interrupted += "        raise KeyboardInterrupt\n    return old(name, *more)\nbuiltins.__import__ = load"
    for before, kind, code in ((missing, "NotInstalled", 2), (interrupted, "Interrupted", 5)):
        for more in ([], ["--json"]):
            argv = ["tacit", "ledger", "list", "sqlite:///l.db", *more]
            program = f"{before}\nimport sys; sys.argv = {argv}\n{PROGRAM}"
            done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
            assert done.returncode == code
            assert (f'"kind": "{kind}"' in done.stdout) == bool(more)
            assert bool(done.stderr) != bool(more), done.stderr
