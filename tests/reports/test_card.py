"""Every card is a registry record with exactly its fields, and says what software knows and people must."""

import json
import re

import pytest
import yaml

import tacit
from support.fitted_models import NAMES, SCHEMA, fitted_model, rows, table
from tacit import Budget, Ledger, PrivateLogisticRegression, Records
from tacit.accounting.meaning import explain
from tacit.data import Category, Flag, Number, Ordinal
from tacit.data.column_words import column_in_words
from tacit.errors import InvalidParameter
from tacit.evaluation import report
from tacit.model_selection import PrivateSearch
from tacit.reports import Card, card_of_ledger, card_of_model
from tacit.reports.card import card_of_scores
from tacit.reports.registry import ASKED, OPEN

TEXT, TRUTH, NUMBER = ("text",), ("truth",), ("number",)
# Written from the registry's table, not from the code: (needed, what it holds), or (needed, its fields).
REGISTRY = (True, {
    "approved": (True, TRUTH),
    "registry_author": (True, TEXT),
    "deployment": (True, {
        "short_name": (True, TEXT),
        "data_curator": (True, TEXT),
        "intended_use": (True, TEXT),
        "data_product_type": (True, TEXT),
        "data_product_description": (True, TEXT),
        "publication_date": (True, ("date",)),
        "additional_information_url": (False, TEXT),
        "dp_flavor": (False, {
            "name": (True, ("Pure DP", "Approximate DP", "Zero Concentrated DP", "other")),
            "data_domain": (True, TEXT),
            "unprotected_quantities": (True, TEXT),
        }),
        "privacy_loss": (False, {
            "privacy_unit": (True, TEXT),
            "privacy_unit_description": (False, TEXT),
            "privacy_parameters": (True, {
                "epsilon": (False, NUMBER), "rho": (False, NUMBER), "delta": (False, NUMBER),
            }),
            "privacy_parameters_description": (False, TEXT),
        }),
        "model": (False, {
            "model_type": (True, ("Local", "Central", "Shuffle", "Federated")),
            "actors": (False, TEXT),
            "model_type_description": (False, TEXT),
            "release_type": (True, ("One-shot", "Continual")),
            "release_type_description": (False, TEXT),
            "interactivity": (True, ("Interactive", "Non-interactive")),
            "interactivity_description": (False, TEXT),
        }),
        "additional_dp_information": (False, {"post_processing": (True, TEXT), "composition": (True, TEXT)}),
        "implementation": (False, {
            "pre_processing_eda_hyperparameter_tuning": (True, TEXT),
            "mechanisms": (True, TEXT),
            "justification": (True, TEXT),
        }),
    }),
})  # fmt: skip


def faults(plain, known=REGISTRY, where="record"):
    """Return where a plain value differs from the registry's schema."""
    _, inner = known
    if isinstance(inner, dict):
        if not isinstance(plain, dict):
            return [f"{where} is no object"]
        found = [f"{where}.{name} is not the registry's" for name in plain.keys() - inner.keys()]
        found += [f"{where}.{name} is missing" for name, (needed, _) in inner.items() if needed and name not in plain]
        return found + [
            fault
            for name in plain.keys() & inner.keys()
            for fault in faults(plain[name], inner[name], f"{where}.{name}")
        ]
    right = {
        TEXT: isinstance(plain, str) and bool(plain),
        TRUTH: isinstance(plain, bool),
        NUMBER: isinstance(plain, int | float) and not isinstance(plain, bool),
        ("date",): isinstance(plain, str) and re.fullmatch(r"\d{4}-\d{2}-\d{2}", plain) is not None,
    }.get(inner, plain in inner)
    return [] if right else [f"{where} does not hold {inner}"]


def test_the_check_itself_notices_what_is_wrong():
    """A missing, a strange and a wrong value are faults: the schema of this test refuses."""
    card = card_of_model(fitted_model("two classes")[0]).plain()["record"]
    assert faults(card) == []
    for change in (
        lambda record: record.pop("approved"),
        lambda record: record.update(approved="no"),
        lambda record: record["deployment"].update(further=1),
        lambda record: record["deployment"]["dp_flavor"].update(name="Pure"),
        lambda record: record["deployment"]["privacy_loss"]["privacy_parameters"].update(epsilon="1"),
        lambda record: record["deployment"].update(publication_date="today"),
    ):
        changed = json.loads(json.dumps(card))
        change(changed)
        assert len(faults(changed)) == 1


@pytest.mark.parametrize("name", NAMES)
def test_every_card_is_a_registry_record(name, tmp_path):
    """YAML and JSON load as the same record, with the registry's fields and no other, for every kind of model."""
    card = card_of_model(fitted_model(name)[0])
    for path, load in ((tmp_path / "card.yaml", yaml.safe_load), (tmp_path / "card.json", json.loads)):
        card.save(path)
        plain = load(path.read_text("utf-8"))
        assert plain.keys() == {"record", "tacit"}
        assert faults(plain["record"]) == []
        assert plain == card.plain()
        assert Card.of_plain(plain) == card


def test_the_cards_of_scores_and_of_a_search_are_registry_records_too(tmp_path):
    """What `tacit evaluate` and `tacit tune` write, under a ledger and under none."""
    model, table = fitted_model("records")
    records = Records(table, model.encoder_.schema)
    ledger = Ledger.create(f"sqlite:///{tmp_path}/l.db", name="clinic", budget=Budget(3))
    search = PrivateSearch(PrivateLogisticRegression(), {"alpha": [0.1]}, epsilon=1.0, runs=2, ledger=ledger)
    cards = [card_of_model(search.fit(records).best_estimator_, ledger=ledger), card_of_ledger(ledger)]
    for paying in (ledger, None):
        told = report(model, records, epsilon=1.0, ledger=paying)
        cards.append(card_of_scores(model, told.release, ledger=paying))
    assert [faults(card.plain()["record"]) for card in cards] == [[]] * 4


def test_a_card_says_what_was_promised_and_charged(tmp_path):
    """Epsilon, delta, unit, columns, what is public, entry and head are those of the release and its ledger."""
    ledger = Ledger.create(f"sqlite:///{tmp_path}/l.db", name="clinic", budget=Budget(1, 1e-5))
    model = PrivateLogisticRegression(0.3, 1e-6, ledger=ledger).fit(Records(table(), SCHEMA))
    card = card_of_model(model, ledger=ledger)
    deployment = card.record["deployment"]
    assert deployment["dp_flavor"]["name"] == "Approximate DP"
    assert deployment["privacy_loss"]["privacy_parameters"] == {"epsilon": 0.3, "delta": 1e-6}
    assert "ward: one of A, B ü, C" in deployment["dp_flavor"]["data_domain"]
    assert "a number from 0 to 120" in deployment["dp_flavor"]["data_domain"]
    assert all(fact in deployment["dp_flavor"]["unprotected_quantities"] for fact in model.release_.public)
    assert deployment["privacy_loss"]["privacy_unit"] == "one record"
    assert explain(Budget(0.3, 1e-6)) in deployment["privacy_loss"]["privacy_parameters_description"]
    assert "epsilon=0.7" in deployment["additional_dp_information"]["composition"]
    assert card.tacit["charged"] == {"words": "epsilon=0.3, delta=1e-06", "epsilon": "3/10", "delta": "1/1000000"}
    assert card.tacit["entry"]["hash"] == ledger.entries()[-1].hash == ledger.head == card.tacit["ledger"]["head"]
    assert card.tacit["audit"]["variant"] == {"unit": "record", "perturbation": "objective", "classes": "two"}
    assert card.tacit["version"] == tacit.__version__


def test_pure_persons_and_rehearsals_are_told_apart(tmp_path):
    """Pure is "Pure DP" without a delta, persons are the unit when they are, and what is not private says so."""
    X, number = rows()
    pure = card_of_model(PrivateLogisticRegression(1.0, data_norm=1.0).fit(X, number > 0))
    assert pure.record["deployment"]["dp_flavor"]["name"] == "Pure DP"
    assert pure.record["deployment"]["privacy_loss"]["privacy_parameters"] == {"epsilon": 1.0}
    seeded = card_of_model(PrivateLogisticRegression(1.0, data_norm=1.0, random_state=1).fit(X, number > 0))
    assert seeded.record["deployment"]["dp_flavor"]["name"] == "other"
    assert seeded.record["deployment"]["privacy_loss"]["privacy_parameters"] == {}
    assert "NOT private" in seeded.record["deployment"]["privacy_loss"]["privacy_parameters_description"]
    assert not seeded.tacit["private"]
    people = Ledger.create(f"sqlite:///{tmp_path}/l.db", name="clinic", budget=Budget(1), unit="person")
    account = card_of_ledger(people)
    assert account.record["deployment"]["privacy_loss"]["privacy_unit"].startswith("one person")
    assert faults(account.plain()["record"]) == []
    assert account.record["deployment"]["model"]["release_type"] == "Continual"


def test_what_only_people_know_is_open_until_they_answer():
    """Each question is marked, an answer closes it, and tacit's own fields are not for answering."""
    card = card_of_model(fitted_model("records")[0])
    needed = {field.path for name, field in ASKED.items() if field.needed and name != "domain"}
    assert set(card.open) == needed
    answered = card.answered(**{name: f"my {name}" for name, field in ASKED.items() if field.path in needed})
    assert answered.open == []
    assert faults(answered.plain()["record"]) == []
    implementation = answered.record["deployment"]["implementation"]
    explored = implementation["pre_processing_eda_hyperparameter_tuning"]
    assert explored.endswith("my explored")
    assert explored.startswith("Every cell is read")
    assert OPEN not in answered.to_yaml()
    for wrong in ({"domain": "all"}, {"colour": "red"}, {"author": ""}, {"author": 1}):
        with pytest.raises(InvalidParameter):
            card.answered(**wrong)


def test_a_model_file_carries_its_card(tmp_path):
    """The card given to `save` comes back, is kept when saved again, and is there when none was given."""
    model, _ = fitted_model("records")
    card = card_of_model(model, answers={"author": "A. Person"})
    for given in (card, None):
        tacit.save(model, tmp_path / "m.tacit", card=given)
        loaded = tacit.load(tmp_path / "m.tacit")
        assert (
            loaded.card_.plain()
            == card_of_model(model, answers={} if given is None else {"author": "A. Person"}).plain()
        )
        tacit.save(loaded, tmp_path / "again.tacit")
        assert tacit.load(tmp_path / "again.tacit").card_ == loaded.card_


@pytest.mark.parametrize("wrong", [None, {}, {"record": {}, "tacit": {}}, {"record": 1, "tacit": {}}, []])
def test_what_is_no_card_is_refused(wrong, tmp_path):
    """Another object, or a name that is neither YAML's nor JSON's."""
    with pytest.raises(InvalidParameter):
        Card.of_plain(wrong)
    with pytest.raises(InvalidParameter, match="yaml"):
        card_of_model(fitted_model("records")[0]).save(tmp_path / "card.txt")


@pytest.mark.parametrize(
    "word",
    [
        "yes",
        "1e3",
        "'",
        '"',
        "a: b",
        "#x",
        "\n- y",
        "ü\u2028",
        "\x00",
        "~",
        "!!python/object",
        "\U0001f600",
        "\\ud83d\\ude00",
    ],
)
def test_hostile_words_stay_words(word):
    """Names that look like YAML are quoted: the card reads back as it was."""
    card = card_of_model(fitted_model("records")[0], answers={"author": word or "-"})
    assert yaml.safe_load(card.to_yaml()) == card.plain()
    assert json.loads(card.to_json()) == card.plain()


@pytest.mark.parametrize(
    ("column", "words"),
    [
        (
            Number(0, 9, log=True, missing=2),
            "a number from 0 to 9, on a logarithmic scale; what is missing counts as 2",
        ),
        (Category(["a", "b"], other="b"), "one of a, b; all else counts as b"),
        (Ordinal(["low", "high"], missing="low"), "one of low, high, in this order; what is missing counts as low"),
        (Flag("no", "yes"), "one of no, yes, of which yes is true"),
        (Category([f"c{place}" for place in range(40)]), f"one of {', '.join(f'c{place}' for place in range(40))}"),
    ],
)
def test_all_that_is_declared_of_a_column_is_told(column, words):
    """Levels are not cut off, and neither is what becomes of the rest."""
    assert column_in_words(column) == words
