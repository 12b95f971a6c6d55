"""The keys that `--json` prints are stable: whoever reads them in a program finds the same ones tomorrow."""

import shlex

import pytest

from tacit.cli.commands import SUMMARIES

ACCOUNT = ["name", "accountant", "budget", "spent", "left", "head", "unit", "ids"]
RECORDS = ["file", "n", "protects", "unit", "key", "target", "schema", "columns"]
PRICE = ["charged", "cost", "affordable", "left", "adds"]
TABLE = "patients.csv --schema s.toml --epsilon 0.1"
PAID = "--ledger sqlite:///l.db"
KEYS = {
    "schema draft patients.csv": ["columns", "schema"],
    "schema check s.toml": ["columns", "target", "classes", "positive", "n"],
    f"schema check s.toml --data patients.csv --epsilon 0.1 {PAID}": [
        "columns", "target", "classes", "positive", "n", "mismatches", "words", "noise", "guarantee",
    ],
    "records pack patients.csv n.tacit-records --schema s.toml": RECORDS,
    "records show p.tacit-records": RECORDS,
    "records remove p.tacit-records": ["removed"],
    "ledger create sqlite:///n.db --name n --epsilon 1": ACCOUNT,
    "ledger show sqlite:///l.db": [*ACCOUNT, "entries"],
    "ledger list sqlite:///l.db": ["accounts"],
    "ledger verify sqlite:///l.db": ["name", "holds", "count", "head"],
    "ledger witness sqlite:///l.db": ["name", "count", "head"],
    "ledger witness sqlite:///l.db --output w.json": ["name", "count", "head", "output"],
    "ledger partition sqlite:///l.db --title site --part a --part b": ["partition", "fixed_by", "left"],
    f"train {TABLE} {PAID} --output n.tacit": [
        "kind", "guarantee", "private", "unit", "cost", "charged", "entry", "left", "n", "features", "classes", "open",
        "model", "report",
    ],
    f"train {TABLE} --dry-run": PRICE,
    "predict m.tacit patients.csv": ["n", "prediction"],
    "predict m.tacit patients.csv --probabilities": [
        "n", "prediction", "probability of false", "probability of true",
    ],
    "predict m.tacit patients.csv --output p.csv": ["n", "output"],
    f"evaluate m.tacit patients.csv --epsilon 0.1 {PAID}": [
        "guarantee", "private", "charged", "n", "part", "judged", "positive", "scores", "thresholds", "report",
    ],
    "evaluate m.tacit patients.csv --epsilon 0.1 --dry-run": PRICE,
    f"tune {TABLE} {PAID} --try alpha=auto,0.1 --runs 2 --output t.tacit": [
        "guarantee", "private", "charged", "entry", "left", "best", "scoring", "score", "score_noise", "model",
        "report",
    ],
    f"tune {TABLE} --try alpha=auto,0.1 --dry-run": PRICE,
    f"query {TABLE} smoker {PAID}": [
        "question", "value", "tolerance", "confidence", "cost", "private", "repeated", "n",
    ],
    f"query {TABLE} smoker --dry-run": [*PRICE, "tolerance"],
    "explain 1": ["budget", "words", "best_guess", "belief_from_a_tenth"],
    "explain 1 --output e.png": ["budget", "words", "best_guess", "belief_from_a_tenth", "picture"],
    "inspect m.tacit": ["kind", "features", "classes", "positive", "card", "open"],
    "audit Laplace --epsilon 1 --plays 10": [
        "name", "variant", "options", "verdict", "exit_code", "conclusion", "claim", "confidence", "plays", "version",
        "code", "date", "rows", "picture",
    ],
    "reproduce noise": ["table", "delta", "rows", "holds"],
    "demo --output demo": [
        "n", "guarantee", "accuracy", "accuracy_without_privacy", "larger_class", "spent", "left", "ledger", "account",
        "model", "card", "report",
    ],
}  # fmt: skip


@pytest.mark.parametrize("command", KEYS)
def test_the_keys_of_a_command_are_stable(trained, command):
    """Of every command that prints a result, in every form that it has; two amounts are always written alike."""
    if "p.tacit-records" in command:
        trained.run("records", "pack", "patients.csv", "p.tacit-records", "--schema", "s.toml")
    plain = trained.run(*shlex.split(command), "--json").plain
    assert list(plain) == KEYS[command]
    amounts = [plain[name] for name in ("budget", "spent", "left", "cost") if isinstance(plain.get(name), dict)]
    for amount in (each for each in amounts if "words" in each or "epsilon" in each):
        assert amount.keys() == {"words", "epsilon", "delta", "exact"}


def test_no_command_is_left_out():
    """All but the service, which prints nothing of the kind."""
    assert {command.split()[0] for command in KEYS} == SUMMARIES.keys() - {"serve"}
