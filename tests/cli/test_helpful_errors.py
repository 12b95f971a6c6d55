"""Errors of commands say what was wrong in words of the command line, and what to write instead."""

import socket

import pytest

from tacit import Budget, Ledger, PrivateLogisticRegression, Records, Schema
from tacit.erm.perturbations.calibration import _inside
from tacit.errors import InvalidParameter

QUERY = ("query", "patients.csv")
END = ("--schema", "s.toml", "--epsilon", "1", "--seed", "1")
PYTHON = ("Fraction(", "Budget(", "Ledger.", "Records(", "Schema.", "fixed_by must")


@pytest.mark.parametrize(
    ("question", "words"),
    [
        ("age > 6 & smoker", "(age > 6) & (ward == 'A')"),
        ("mean(age)", "the name of a number alone"),
        ("patients.csv", "it comes first"),
        ("ward-smoker == 'A'", "column('ward-smoker')"),
        ("age ** 2", "'age ** 2' is not possible"),
    ],
)
def test_questions_that_cannot_be_read(clinic, question, words):
    """What is most likely meant is named, in the way it is written."""
    told = clinic.run(*QUERY, question, *END)
    assert told.code == 2
    assert words in told.err


@pytest.mark.parametrize("question", ["(age > 50) & smoker", "~(smoker) | (age > 50)"])
def test_pythons_signs_for_and_or_not_are_read_in_parentheses(clinic, question):
    """They give what the words give."""
    said = question.replace("&", "and").replace("|", "or").replace("~", "not ")
    answers = [clinic.run(*QUERY, each, *END, "--json").plain["value"] for each in (question, said)]
    assert answers[0] == answers[1]


@pytest.mark.parametrize("amount", [("inf",), ("-1",), ("one",), ("0",), ("1", "--delta", "2"), ("1", "--delta", "x")])
def test_amounts_that_are_none_name_their_options(clinic, amount):
    """No Python, and no other way to write a budget than the one that was chosen."""
    told = clinic.run("ledger", "create", f"sqlite:///{clinic.folder}/n.db", "--name", "n", "--epsilon", *amount)
    assert told.code == 2
    assert f"{'--delta' if len(amount) > 1 else '--epsilon'} must be" in told.err
    assert not any(word in told.err for word in PYTHON)


def test_commands_speak_no_python(clinic):
    """An account that is there, persons cut by index, a schema that is not there, and a ledger of records."""
    people = f"sqlite:///{clinic.folder}/p.db"
    create = ("ledger", "create", people, "--name", "p", "--epsilon", "1", "--unit", "person")
    assert clinic.run(*create).code == 0
    cut = ("ledger", "partition", people, "--title", "t", "--part", "a", "--part", "b", "--fixed-by", "index")
    for command in (create, cut, ("schema", "check", "none.toml"), ("schema", "draft", "sqlite:///l.db")):
        told = clinic.run(*command)
        assert told.code == 2
        assert not any(word in told.err for word in PYTHON), told.err
    told = clinic.train("--ledger", people)
    assert "--unit COLUMN" in told.err
    assert not any(word in told.err for word in PYTHON), told.err


def test_a_model_file_that_is_none_is_named(clinic):
    """And if it looks like a table, that the two were swapped."""
    assert "'nope.tacit'" in clinic.run("predict", "nope.tacit", "patients.csv").err
    assert "The model comes first" in clinic.run("predict", "patients.csv", "m.tacit").err


def test_reports_are_pages_and_searches_are_pure(clinic):
    """A name that promises another form, and a delta that no search can keep, are refused with the reason."""
    assert "must end in .html" in clinic.train("--seed", "1", "--report", "r.pdf").err
    assert not (clinic.folder / "r.pdf").exists()
    tune = ("tune", "patients.csv", "--schema", "s.toml", "--epsilon", "1", "--try", "alpha=1", "--delta", "1e-6")
    assert "runs are pure" in clinic.run(*tune).err


def test_a_port_in_use_is_wrong_usage(clinic):
    """Exit code 3 is for budgets; nobody can listen where somebody does."""
    with socket.create_server(("127.0.0.1", 0)) as taken:
        told = clinic.run("serve", "--demo", "--port", str(taken.getsockname()[1]))
    assert told.code == 2
    assert "nobody can listen" in told.err


def test_an_account_as_a_text_is_refused_in_words(clinic):
    """Of all records and of a part: the account has to be opened."""
    records = Records("patients.csv", Schema.load("s.toml"))
    for asked in (records, records.split()[0]):
        with pytest.raises(InvalidParameter, match=r"Use Ledger\.open"):
            PrivateLogisticRegression(1.0, ledger=clinic.address).fit(asked)
    assert Ledger.open(clinic.address).entries() == []


def test_an_epsilon_beyond_what_is_certified_is_told_as_what_is_left():
    """The ridge takes a part of it: what is left is said to be left, as nobody typed it."""
    with pytest.raises(InvalidParameter, match=r"epsilon=99, delta=0\.2 would be left for it"):
        _inside(Budget(99, 0.2), 1e-9)
