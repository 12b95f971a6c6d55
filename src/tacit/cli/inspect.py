"""`tacit inspect`: what a model file promises, holds and leaves open."""

from collections.abc import Mapping
from typing import Annotated, Any, Literal

import typer

from tacit.cli.answering import AsJson, Quiet, answering, example, facts
from tacit.cli.predict import ModelFile
from tacit.models.file import load
from tacit.reports.card import Card
from tacit.reports.yaml import to_yaml

EXAMPLE = example("tacit inspect m.tacit", "tacit inspect m.tacit --card yaml")


def inspect(
    model: ModelFile,
    card: Annotated[Literal["yaml", "json"] | None, typer.Option(help="Print the whole card, in this form.")] = None,
    record: Annotated[bool, typer.Option("--record", help="Print the registry's record alone, as YAML.")] = False,
    as_json: AsJson = False,
    quiet: Quiet = False,
) -> None:
    """Show a model file: its guarantee, what it was taken to be public, what was charged, what people must add."""
    with answering(as_json, quiet) as out:
        found = load(model)
        carried: Card = found.card_
        if card is not None or record:
            text = to_yaml(carried.record) if record else carried.to_yaml() if card == "yaml" else carried.to_json()
            typer.echo(text, nl=False)
            return
        plain = {
            "kind": type(found).__name__,
            "features": int(found.n_features_in_),
            "classes": [str(name) for name in getattr(found, "classes_", [])],
            "card": carried.plain(),
            "open": carried.open,
        }
        out.result(plain, facts(_rows(found, carried)))


def _rows(model: Any, card: Card) -> dict[str, str]:
    deployment = card.record["deployment"]
    entry = card.tacit.get("entry")
    return {
        "model": f"{type(model).__name__}, {model.n_features_in_} features"
        + (f", classes {', '.join(map(str, model.classes_))}" if hasattr(model, "classes_") else ""),
        "guarantee": model.release_.guarantee,
        "protects": deployment["privacy_loss"]["privacy_unit"],
        "means": deployment["privacy_loss"].get("privacy_parameters_description", ""),
        "over": deployment["dp_flavor"]["data_domain"],
        "charged": "nothing" if entry is None else f"entry {entry.get('number')}, hash {entry.get('hash')}",
        "composition": deployment["additional_dp_information"]["composition"],
        "audit": _words(card.tacit.get("audit")),
        "written by": f"tacit {card.tacit.get('version', '?')}",
        "open": "\n".join(card.open) or "nothing",
    }


def _words(audit: object) -> str:
    """Return what a card says of an audit, whoever wrote it."""
    return str(audit.get("words", "")) if isinstance(audit, Mapping) else str(audit or "none")
