"""The privacy card: what was promised about whom, at which cost, and what is left for people to answer.

A card has two parts. `record` is a record of the OpenDP/NIST registry of deployments, with exactly its fields. `tacit`
is what that record has no place for: the exact amounts, the ledger's entry, the event, the version, the audit. What
software knows is filled in; what only people know begins with `OPEN` until they answer.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Self, final

from tacit.accounting.events import event_to_json
from tacit.accounting.ledger import Ledger
from tacit.accounting.meaning import explain
from tacit.errors import InvalidParameter
from tacit.estimators.learned_from import learned_from
from tacit.files import write_whole
from tacit.releases import Release
from tacit.reports import facts
from tacit.reports.own import check_own
from tacit.reports.registry import ASKED, OPEN, checked_record, flat, open_fields, record_of, shortened
from tacit.reports.verdicts import (
    SCORES,
    MethodVerdict,
    check_about,
    variant_of,
    variant_of_scores,
    verdict_for,
    without_verdict,
)
from tacit.reports.yaml import to_yaml
from tacit.version import VERSION

_TUNED = "Parameters were chosen by a private search whose whole cost is the epsilon stated here. "


@final
@dataclass(frozen=True)
class Card:
    """A registry record, and tacit's own section beside it."""

    record: Mapping[str, Any]
    tacit: Mapping[str, Any]

    def __post_init__(self) -> None:
        object.__setattr__(self, "record", checked_record(self.record))
        check_own(self.tacit)

    @property
    def open(self) -> list[str]:
        """Where a person still has to fill something in."""
        return open_fields(self.record)

    def answered(self, **answers: str) -> "Card":
        """Return the card with what a person answered: see `tacit.reports.registry.ASKED` for the questions."""
        return Card(record_of(dict(flat(self.record)), answers), self.tacit)

    def plain(self) -> dict[str, Any]:
        """Return the card as one object of plain values."""
        return {"record": dict(self.record), "tacit": dict(self.tacit)}

    def to_json(self) -> str:
        """Write the card as JSON; what cannot be printed is spelled out as JSON does."""
        text = json.dumps(self.plain(), indent=2, ensure_ascii=False) + "\n"
        return "".join(each if each == "\n" or each.isprintable() else json.dumps(each)[1:-1] for each in text)

    def to_yaml(self) -> str:
        """Write the card as YAML."""
        return to_yaml(self.plain())

    def save(self, path: str | Path) -> None:
        """Write the card as a whole, as YAML or as JSON by the end of the name."""
        ways = {".yaml": self.to_yaml, ".yml": self.to_yaml, ".json": self.to_json}
        if Path(path).suffix.lower() not in ways:
            raise InvalidParameter(f"a card is written to a name ending in {', '.join(ways)}, got {str(path)!r}.")
        write_whole(path, [ways[Path(path).suffix.lower()]().encode("utf-8", "replace")])

    @classmethod
    def of_plain(cls, plain: object) -> Self:
        """Read what `plain` returned; refuse any other object."""
        if not isinstance(plain, Mapping) or plain.keys() != {"record", "tacit"}:
            raise InvalidParameter("a card has two parts, record and tacit.")
        return cls(plain["record"], plain["tacit"])


def card_of_model(
    model: Any,
    *,
    ledger: Ledger | None = None,
    answers: Mapping[str, str] | None = None,
    audit: Mapping[str, Any] | None = None,
) -> Card:
    """Return the card of a fitted model; `ledger` says what is left besides, `audit` is what an audit found.

    `audit` is the object that `tacit audit NAME --json` prints, or `Report.plain()`, of this method; without it the
    card has the verdict that comes with tacit, and says whether the code has changed since.

    Nothing is released: all that is told is public, or was released with the model.
    """
    release, ledger, name = _release_of(model), _whole(ledger), type(model).__name__
    chosen = ", ".join(f"{key}={value!r}" for key, value in _choices(model))
    known = {
        **_common(release, ledger),
        **_once(model, release),
        "deployment.data_product_type": "machine learning model",
        "deployment.model.release_type_description": "The model is released once and holds no record.",
        "deployment.model.interactivity_description": "Whoever has the model predicts as often as they like.",
        "deployment.implementation.mechanisms": f"{name}({chosen}). {facts.DRAWING}",
    }
    own = {**_own(release, ledger), "audit": _audited(name, _variant(model, release), release, audit), "model": name}
    origin = learned_from(model)
    if origin is not None:
        own["learned from"] = origin.plain
    return Card(record_of(shortened(known), answers or {}), own)


def card_of_scores(
    model: Any,
    release: Release[Any],
    *,
    ledger: Ledger | None = None,
    answers: Mapping[str, str] | None = None,
    audit: Mapping[str, Any] | None = None,
) -> Card:
    """Return the card of private scores of a model."""
    name, ledger = type(model).__name__, _whole(ledger)
    known = {
        **_common(release, ledger),
        **_once(model, release),
        "deployment.data_product_type": "summary statistics",
        "deployment.model.release_type_description": "All scores are computed from one released table.",
        "deployment.implementation.mechanisms": f"A noisy table of how {name} scores records. {facts.DRAWING}",
    }
    told = _audited(SCORES, variant_of_scores(release.unit, _classes(model)), release, audit)
    own = {**_own(release, ledger), "audit": told, "scores of": name}
    return Card(record_of(shortened(known), answers or {}), own)


def card_of_ledger(ledger: Ledger, *, answers: Mapping[str, str] | None = None) -> Card:
    """Return the card of everything that is charged to a ledger, as far as its history goes."""
    budget, count = ledger.spent, len(ledger.entries())
    release: Release[None] = Release(None, budget, None, (), True, None, ledger.whom)
    known = {
        **_common(release, ledger),
        "deployment.data_product_type": "all releases under one privacy budget",
        "deployment.model.release_type": "Continual",
        "deployment.model.release_type_description": f"{count} entries so far; the account ends at {ledger.budget}.",
        "deployment.model.interactivity": "Interactive",
        "deployment.model.interactivity_description": "All releases share one budget, whoever asks: analysts may "
        "collude.",
        "deployment.implementation.mechanisms": f"What each entry of the ledger names. {facts.DRAWING}",
    }
    return Card(record_of(shortened(known), answers or {}), _own(release, ledger))


def _once(model: Any, release: Release[Any]) -> dict[str, str]:
    """Return what is said of one release about a model, over the tables that it could have learned from."""
    schema = getattr(getattr(model, "encoder_", None), "schema", None)
    domain = facts.domain_in_words(schema, getattr(model, "n_features_in_", 0), release.unit)
    return {
        "deployment.dp_flavor.data_domain": domain,
        "deployment.model.release_type": "One-shot",
        "deployment.model.interactivity": "Non-interactive",
    }


def _whole(ledger: Ledger | None) -> Ledger | None:
    """Return the account of all records, whichever part of it a handle is for."""
    return None if ledger is None else replace(ledger, path=())


def _common(release: Release[Any], ledger: Ledger | None) -> dict[str, Any]:
    """Return what every card says, by paths of the record."""
    budget = release.budget if release.private else None
    when = datetime.now(UTC) if release.entry is None else datetime.fromisoformat(release.entry.time)
    loss, additional = "deployment.privacy_loss", "deployment.additional_dp_information"
    return {
        "approved": False,
        "deployment.publication_date": when.date().isoformat(),
        "deployment.dp_flavor.name": facts.flavor(budget),
        "deployment.dp_flavor.unprotected_quantities": facts.public_in_words(release.unit, release.public),
        f"{loss}.privacy_unit": facts.unit_in_words(release.whom),
        f"{loss}.privacy_unit_description": facts.adjacency_in_words(release.whom),
        **{f"{loss}.privacy_parameters.{name}": value for name, value in facts.parameters(budget).items()},
        f"{loss}.privacy_parameters_description": _spoken(release, ledger),
        "deployment.model.model_type": "Central",
        "deployment.model.model_type_description": "Whoever fits the model sees the records; who gets the release "
        "does not.",
        f"{additional}.post_processing": facts.POST,
        f"{additional}.composition": _composition(release, ledger),
        "deployment.implementation.pre_processing_eda_hyperparameter_tuning": f"{facts.CLEANING} "
        f"{_TUNED if _is_tuned(release) else ''}{OPEN}{ASKED['explored'].question}.",
    }


def _is_tuned(release: Release[Any]) -> bool:
    return type(release.event).__name__ == "RepeatAndSelectDpEvent"


def _spoken(release: Release[Any], ledger: Ledger | None) -> str:
    if not release.private or release.budget is None:
        return f"{release.guarantee}. No promise is made."
    total = "" if ledger is None else f" All releases under the ledger together have cost {ledger.spent}."
    return f"This release: {release.budget}, {release.whom.neighbours}. {explain(release.budget, release.unit)}{total}"


def _composition(release: Release[Any], ledger: Ledger | None) -> str:
    if ledger is None and release.entry is None:
        return "Not charged to a ledger: what other releases about the same records cost must be added by hand."
    words = "Sequential composition in a ledger that is charged before noise is drawn"
    if release.entry is not None and release.entry.path:
        words += ", and parallel composition over parts that are fixed by place or key"
    if ledger is None:
        return f"{words}."
    return f"{words}: a {ledger.accountant} account of {ledger.budget}, of which {ledger.remaining} is left."


def _own(release: Release[Any], ledger: Ledger | None) -> dict[str, Any]:
    """Return what the registry has no field for."""
    found: dict[str, Any] = {
        "version": VERSION,
        "private": release.private,
        "unit": release.unit,
        "ids": list(release.whom.ids or ()),
        "guarantee": release.guarantee,
        "public": list(release.public),
    }
    if release.budget is not None:
        found["charged"] = facts.exact_amount(release.budget)
    if release.event is not None:
        found["event"] = json.loads(event_to_json(release.event))
    if release.entry is not None:
        entry = release.entry
        where = [f"{partition}={part}" for partition, part in entry.path]
        found["entry"] = {"number": entry.number, "time": entry.time, "part": where, "hash": entry.hash}
    if ledger is not None:
        found["ledger"] = facts.account(ledger)
    return found


def _variant(model: Any, release: Release[Any]) -> dict[str, str]:
    """Return which variant of its class a fitted model is; one that a private search chose is another mechanism."""
    pure = release.budget is None or release.budget.is_pure
    found = variant_of(model, release.unit, pure=pure, classes=_classes(model))
    return {**found, "tuned": "yes"} if _is_tuned(release) else found


def _classes(model: Any) -> int:
    known = getattr(model, "classes_", None)
    return 0 if known is None else len(known)


def _audited(
    name: str, variant: Mapping[str, str], release: Release[Any], audit: Mapping[str, Any] | None
) -> dict[str, Any]:
    """Return the verdict that was given, if it is about this, or else the one that comes along, if there is one."""
    if audit is not None:
        given = MethodVerdict.of_json(audit)
        check_about(given, name, variant)
        return given.plain()
    if release.budget is None:
        return {"verdict": "none", "words": "none: there is no claim to attack"}
    found = verdict_for(name, variant, pure=release.budget.is_pure)
    return without_verdict(variant) if found is None else found.plain()


def _release_of(model: Any) -> Release[Any]:
    release = getattr(model, "release_", None)
    if not isinstance(release, Release):
        raise InvalidParameter(f"a card is about a fitted model with a release_, got {type(model).__name__}. Fit it.")
    return release


def _choices(model: Any) -> list[tuple[str, object]]:
    """Return the parameters that a person chose, as far as they fit on a line."""
    kept = {name: value for name, value in model.get_params(deep=False).items() if name not in ("ledger", "classes")}
    return [(name, value) for name, value in kept.items() if isinstance(value, str | int | float | None)]
