"""`tacit inspect`: what people answer later, the same as JSON, and model files from elsewhere."""

import json

import numpy as np
import pytest
import yaml

import tacit
from models.test_hostile import seal, taken_apart
from tacit.errors import ModelFileError

ABOUT = 'author = "A person"\njustification = "decided by the board"\n'


def test_answers_are_added_without_another_fit(trained):
    """`--about` shows the card with them, `--output` keeps them; the model predicts the same and nothing is charged."""
    (trained.folder / "about.toml").write_text(ABOUT, "utf-8")
    head = trained.ledger.head
    before = trained.run("inspect", "m.tacit", "--json").plain["open"]
    told = trained.run("inspect", "m.tacit", "--about", "about.toml", "--output", "m2.tacit", "--json")
    assert (told.code, len(told.plain["open"])) == (0, len(before) - 2)
    kept = tacit.load("m2.tacit")
    assert kept.card_.record["registry_author"] == "A person"
    assert np.array_equal(kept.coef_, tacit.load("m.tacit").coef_)
    assert trained.run("inspect", "m2.tacit", "--json").plain["open"] == told.plain["open"]
    assert trained.ledger.head == head
    for wrong in (("--output", "m3.tacit"), ("--about", "about.toml", "--output", "m.tacit"), ("--about", "none.toml")):
        assert trained.run("inspect", "m.tacit", *wrong).code == 2
    (trained.folder / "about.toml").write_text('domain = "all"', "utf-8")
    assert trained.run("inspect", "m.tacit", "--about", "about.toml").code == 2


def test_json_is_json_of_whatever_is_asked_for(trained):
    """The card, its record and the account's card as one object each; without --json as YAML or as the form asked."""
    whole = trained.run("inspect", "m.tacit", "--json").plain["card"]
    assert trained.run("inspect", "m.tacit", "--card", "yaml", "--json").plain == whole
    assert trained.run("inspect", "m.tacit", "--record", "--json").plain == whole["record"]
    assert json.loads(trained.run("inspect", "m.tacit", "--card", "json").out) == whole
    assert yaml.safe_load(trained.run("inspect", "m.tacit", "--record").out) == whole["record"]
    account = trained.run("ledger", "show", trained.address, "--card", "--json").plain
    assert account == yaml.safe_load(trained.run("ledger", "show", trained.address, "--card").out)


def test_scores_and_searches_take_answers_and_have_cards(trained):
    """`--card` and `--about` of evaluate and tune are those of train; the report of scores says how to repeat it."""
    (trained.folder / "about.toml").write_text(ABOUT, "utf-8")
    more = ("--epsilon", "0.1", "--ledger", trained.address, "--about", "about.toml", "--card")
    assert trained.run("evaluate", "m.tacit", "patients.csv", *more, "scores.json").code == 0
    asked = ("tune", "patients.csv", "--schema", "s.toml", "--try", "alpha=auto,0.1", "--runs", "2", "--output")
    assert trained.run(*asked, "t.tacit", *more, "tuned.yaml").code == 0
    scores = json.loads((trained.folder / "scores.json").read_text("utf-8"))
    tuned = yaml.safe_load((trained.folder / "tuned.yaml").read_text("utf-8"))
    assert scores["record"]["registry_author"] == tuned["record"]["registry_author"] == "A person"
    assert tuned["tacit"]["audit"]["verdict"] == "none"
    page = (trained.folder / "m.scores.html").read_text("utf-8")
    assert "How to repeat it" in page
    assert "tacit evaluate m.tacit patients.csv --epsilon 0.1" in page


CARDS = {
    "entry": {"entry": 5},
    "part of an entry": {"entry": {"number": 1, "time": "t", "part": 5, "hash": "h"}},
    "ledger": {"ledger": {"left": 5}},
    "charged": {"charged": {"words": "w", "epsilon": "1/0", "delta": "0"}},
    "public": {"public": "all"},
    "version": {"version": [1]},
    "audit": {"audit": {"words": {"a": 1}}},
    "event": {"event": {"a": {"b": []}}},
    "unknown": {"more": "x"},
    "surrogate": {"version": "\ud800"},
}


@pytest.mark.parametrize("name", CARDS)
def test_a_card_of_other_types_is_refused(trained, name):
    """Whoever wrote the file, a card that is loaded holds what tacit writes: exit code 2, never a failure."""
    document, numbers = taken_apart((trained.folder / "m.tacit").read_bytes())
    document["card"]["tacit"] = {**document["card"]["tacit"], **CARDS[name]}
    (trained.folder / "h.tacit").write_bytes(seal(document, numbers))
    with pytest.raises(ModelFileError):
        tacit.load("h.tacit")
    assert trained.run("inspect", "h.tacit").code == 2


def test_no_word_of_a_card_is_an_order_to_the_terminal(trained):
    """What cannot be printed is spelled out in every form; what JSON and YAML hold is still the same text."""
    document, numbers = taken_apart((trained.folder / "m.tacit").read_bytes())
    evil = "\u009b2J\u202eevil \U000e0001 naïve"
    document["card"]["tacit"]["guarantee"] = document["card"]["record"]["registry_author"] = evil
    (trained.folder / "h.tacit").write_bytes(seal(document, numbers))
    for form in (("--card", "json"), ("--card", "yaml"), ("--record",), ("--json",), ()):
        out = trained.run("inspect", "h.tacit", *form).out
        assert all(letter == "\n" or letter.isprintable() for letter in out), form
    assert json.loads(trained.run("inspect", "h.tacit", "--card", "json").out)["record"]["registry_author"] == evil
    assert "naïve" in trained.run("inspect", "h.tacit", "--card", "json").out


def test_a_model_of_enormous_numbers_is_scored_for_its_charge(trained):
    """Coefficients near the largest float: the scores are told, the report is made, no warning depends on records."""
    assert trained.train("--part", "train", "--seed", "1", "--overwrite").code == 0
    model = tacit.load("m.tacit")
    model.coef_ = np.full_like(model.coef_, 1.7e308)
    tacit.save(model, "h.tacit")
    told = trained.run("evaluate", "h.tacit", "patients.csv", "--epsilon", "0.1", "--ledger", trained.address)
    assert (told.code, "Warning" in told.err) == (0, False), told.err
    assert "are not drawn" in (trained.folder / "h.scores.html").read_text("utf-8")
    predicted = trained.run("predict", "h.tacit", "patients.csv", "--probabilities")
    assert (predicted.code, predicted.err) == (0, "")
