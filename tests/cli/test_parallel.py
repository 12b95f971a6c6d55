"""Parts of one split cost what the largest does, and commands say what a charge adds to the account."""

from shutil import copyfile

import pytest

from tacit import Budget, PrivateLogisticRegression, Records, Schema
from tacit.errors import InvalidParameter

COMMANDS = {
    "train": ("--schema", "s.toml", "--output", "n.tacit"),
    "tune": ("--schema", "s.toml", "--output", "n.tacit", "--try", "alpha=0.1", "--runs", "2"),
    "evaluate": (),
    "query": ("smoker", "--schema", "s.toml"),
}


def asked(command, table, *more):
    """Return the words of a command about a part of a table."""
    first = ("m.tacit", table) if command == "evaluate" else (table,)
    return (command, *first, *COMMANDS[command], "--part", "test", *more)


@pytest.mark.parametrize("command", COMMANDS)
def test_a_refused_command_writes_nothing_into_an_account(clinic, command):
    """Neither an unaffordable charge, nor one for persons: no split is left behind, and no charge."""
    schema = (clinic.folder / "s.toml").read_text("utf-8") + '\n[columns.note]\nkind = "key"\n'
    (clinic.folder / "s.toml").write_text(schema, "utf-8")
    assert clinic.train("--part", "train", "--seed", "1").code == 0
    before = clinic.ledger.head
    refused = clinic.run(*asked(command, "patients.csv", "--epsilon", "2", "--ledger", clinic.address))
    assert refused.code == 3, refused.err
    assert "Nothing was charged" in refused.err
    for dry in ((), ("--dry-run",)):
        more = ("--epsilon", "0.1", "--ledger", clinic.address, *dry)
        if command != "evaluate":
            assert clinic.run(*asked(command, "patients.csv", "--unit", "note", *more)).code == 2
    assert clinic.ledger.head == before
    assert clinic.run(*asked(command, "patients.csv", "--epsilon", "1", "--ledger", clinic.address)).code == 0


def test_a_refused_fit_leaves_no_split_in_an_account(clinic):
    """In Python, too: records of persons, and an account for records."""
    schema = Schema.from_toml((clinic.folder / "s.toml").read_text("utf-8") + '\n[columns.note]\nkind = "key"\n')
    (clinic.folder / "patients.csv").write_text(
        "age,ward,smoker,ill,note\n" + "".join(f"1,A,no,true,{place}\n2,B,no,false,{place}\n" for place in range(50)),
        "utf-8",
    )
    part, _ = Records("patients.csv", schema, unit="note").split(by="key")
    with pytest.raises(InvalidParameter, match="promises"):
        PrivateLogisticRegression(0.1, ledger=clinic.ledger).fit(part)
    assert clinic.ledger.entries() == []


def test_a_price_says_what_it_adds_to_the_account(clinic):
    """A part beside a dearer one adds nothing, and the same table under another name all of it, with a warning."""
    assert clinic.train("--part", "train", "--ledger", clinic.address).code == 0
    dry = ("--epsilon", "0.25", "--ledger", clinic.address, "--dry-run")
    told = clinic.run(*asked("evaluate", "patients.csv", *dry, "--json"))
    assert told.plain["adds"]["words"] == "epsilon=0, delta=0"
    assert "It adds epsilon=0" in clinic.run(*asked("evaluate", "patients.csv", *dry)).out
    assert "another name" not in told.err
    copyfile("patients.csv", "copy.csv")
    for command in COMMANDS:
        told = clinic.run(*asked(command, "copy.csv", *dry, "--json"))
        assert told.plain["adds"]["words"] == "epsilon=0.25, delta=0"
        assert "because of another name of the table" in told.err
    paid = clinic.run(*asked("query", "copy.csv", "--epsilon", "0.25", "--ledger", clinic.address))
    assert "because of another name of the table" in paid.err
    assert clinic.ledger.spent == Budget(0.75)


@pytest.mark.parametrize("command", COMMANDS)
def test_a_part_of_an_accounts_own_partition_pays(clinic, command):
    """Tables of two sites, divided by hand, cost what the dearer one does; a part that is none is refused."""
    divide = ("ledger", "partition", clinic.address, "--title", "site", "--part", "north", "--part", "south")
    assert clinic.run(*divide).code == 0
    assert clinic.train("--part", "site=south", "--ledger", clinic.address).code == 0
    words = [*asked(command, "patients.csv", "--epsilon", "0.25", "--ledger", clinic.address), "--part"]
    for wrong in ("site=west", "town=north", "north", "site="):
        told = clinic.run(*words, wrong)
        assert told.code == 2, told.err
    assert clinic.run(*words, "site=north", "--dry-run", "--json").plain["adds"]["epsilon"] == 0
    told = clinic.run(*words, "site=north")
    assert told.code == 0, told.err
    assert clinic.ledger.entries()[-1].path == (("site", "north"),)
    assert clinic.ledger.spent == Budget(0.5)
