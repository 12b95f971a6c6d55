"""`tacit inspect`: what a model file promises, holds and leaves open."""

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, Literal

import typer

from tacit.cli.answering import AsJson, Quiet, answering, example, facts
from tacit.cli.places import Inputs
from tacit.cli.predict import ModelFile, loaded
from tacit.cli.products import About, Overwrite, answers_in, spare_paid
from tacit.errors import InvalidParameter
from tacit.estimators.learned_from import learned_from
from tacit.models.file import save
from tacit.reports.card import Card
from tacit.reports.yaml import to_yaml

EXAMPLE = example("tacit inspect m.tacit", "tacit inspect m.tacit --card yaml")
Output = Annotated[Path | None, typer.Option(help="Write the model with the --about answers in its card to this file.")]


def inspect(
    model: ModelFile,
    card: Annotated[Literal["yaml", "json"] | None, typer.Option(help="Print the whole card, in this form.")] = None,
    record: Annotated[bool, typer.Option("--record", help="Print the registry's record alone, as YAML.")] = False,
    about: About = None,
    output: Output = None,
    overwrite: Overwrite = False,
    as_json: AsJson = False,
    quiet: Quiet = False,
) -> None:
    """Show a model file: its guarantee, what it was taken to be public, what was charged, what people must add.

    What only people know can be added later: --about about.toml --output m2.tacit. Nothing is fitted or charged again.
    """
    with answering(as_json, quiet) as out:
        found, answers = loaded(model), answers_in(about)
        carried: Card = found.card_.answered(**answers) if answers else found.card_
        if output is not None:
            if about is None:
                raise InvalidParameter("--output writes the model with answers in its card: give --about as well.")
            Inputs(files=(model, about)).spare([output])
            spare_paid([] if overwrite else [output])
            save(found, output, card=carried)
        if record:
            out.document(dict(carried.record), to_yaml(carried.record))
            return
        if card is not None:
            out.document(carried.plain(), carried.to_yaml() if card == "yaml" else carried.to_json())
            return
        plain = {
            "kind": type(found).__name__,
            "features": int(found.n_features_in_),
            "classes": [str(name) for name in getattr(found, "classes_", [])],
            "positive": _positive(found),
            "card": carried.plain(),
            "open": carried.open,
        }
        out.result(plain, facts(_rows(found, carried)))


def _positive(model: Any) -> str | None:
    """Return the class that scores are about, where there are two: what was declared; for arrays the second."""
    classes: Any = getattr(model, "classes_", ())
    encoder = getattr(model, "encoder_", None)
    positive = encoder.schema.positive if encoder is not None else classes[1] if len(classes) == 2 else None
    return None if positive is None else str(positive)


def _rows(model: Any, card: Card) -> dict[str, str]:
    deployment = card.record["deployment"]
    entry, audit = card.tacit.get("entry"), card.tacit.get("audit")
    return {
        "model": f"{type(model).__name__}, {model.n_features_in_} features"
        + (f", classes {', '.join(map(str, model.classes_))}" if hasattr(model, "classes_") else "")
        + (f" (positive: {_positive(model)})" if _positive(model) is not None else ""),
        "learned from": str(learned_from(model) or "records that were not told"),
        "guarantee": model.release_.guarantee,
        "protects": deployment["privacy_loss"]["privacy_unit"],
        "means": deployment["privacy_loss"].get("privacy_parameters_description", ""),
        "charged": "nothing" if entry is None else f"entry {entry.get('number')}, hash {entry.get('hash')}",
        "composition": deployment["additional_dp_information"]["composition"],
        "audit": str(audit.get("words", "")) if isinstance(audit, Mapping) else str(audit or "none"),
        "written by": f"tacit {card.tacit.get('version', '?')}",
        "open": "\n".join(card.open) or "nothing",
        "over": deployment["dp_flavor"]["data_domain"],
    }
