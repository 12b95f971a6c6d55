"""`tacit train --audit`: what the auditor printed stands in the card, and nothing else can."""

import tacit
from tacit.reports.verdicts import MethodVerdict


def test_train_takes_the_verdict_that_the_command_printed(clinic):
    """`tacit audit NAME --json > v.json`, then `tacit train --audit v.json`; what is no verdict costs nothing."""
    ended = clinic.run("audit", "PrivateLogisticRegression", "--epsilon", "0.5", "--plays", "10", "--json")
    (clinic.folder / "v.json").write_text(ended.out, "utf-8")
    assert clinic.train("--ledger", clinic.address, "--audit", "v.json").code == 0
    told = tacit.load("m.tacit").card_.tacit["audit"]
    assert told["epsilon"] == 0.5
    assert "cannot tell" in clinic.run("inspect", "m.tacit").out
    head = clinic.ledger.head
    for content in ("[" * 100_000, "{}", ended.out.replace("Logistic", "Linear"), "\x00"):
        (clinic.folder / "v.json").write_text(content, "utf-8")
        assert clinic.train("--ledger", clinic.address, "--audit", "v.json").code == 2
    assert clinic.train("--ledger", clinic.address, "--audit", "nowhere.json").code == 2
    assert clinic.ledger.head == head


def test_train_takes_no_verdict_about_another_variant(clinic):
    """One of another perturbation is refused before the charge; its own command names the perturbation."""
    asked = ("audit", "PrivateLogisticRegression", "--epsilon", "0.5", "--plays", "10", "--json")
    ended = clinic.run(*asked, "--perturbation", "output")
    assert ended.plain["options"] == " --perturbation output"
    (clinic.folder / "v.json").write_text(ended.out, "utf-8")
    refused = clinic.train("--ledger", clinic.address, "--audit", "v.json")
    assert (refused.code, "perturbation output" in refused.err) == (2, True)
    assert not clinic.ledger.spent
    assert "--perturbation output --plays 10" in MethodVerdict.of_json(ended.plain).command
