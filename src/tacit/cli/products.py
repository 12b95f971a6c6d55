"""What a fit leaves behind: a model file, a report, a card with what people know, and the command that repeats it."""

import json
import shlex
import tomllib
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Self, cast, final

import typer

from tacit.accounting.ledger import Ledger
from tacit.accounting.store import Store
from tacit.cli.answering import Answering
from tacit.cli.paying import carded, write_all
from tacit.cli.places import Inputs
from tacit.data.records import Records
from tacit.data.store.packed_file import is_packed
from tacit.errors import InvalidParameter, TacitError
from tacit.files import check_room, write_whole
from tacit.models.container import MAGIC
from tacit.models.file import load, save
from tacit.releases import Release
from tacit.reports.card import Card, card_of_model
from tacit.reports.page import is_paid, model_page
from tacit.reports.registry import check_answers
from tacit.reports.verdicts import SCORES, MethodVerdict, check_about, variant_of, variant_of_scores

_ROOM = 4 * 2**20

CardFile = Annotated[Path | None, typer.Option("--card", help="Write the privacy card, too: a .yaml or .json file.")]
About = Annotated[Path | None, typer.Option("--about", help="TOML with what only people know, for the card.")]
AuditFile = Annotated[
    Path | None, typer.Option("--audit", help="For the card: what `tacit audit NAME --json` printed of this method.")
]

Overwrite = Annotated[bool, typer.Option("--overwrite", help="Write over a model or report that was paid for.")]


@final
@dataclass(frozen=True)
class Files:
    """Where a report goes, and a model and a card if there are any."""

    report: Path
    model: Path | None = None
    card: Path | None = None
    overwrite: bool = False

    @property
    def all(self) -> list[Path]:
        """The files that will be written."""
        return [path for path in (self.model, self.report, self.card) if path is not None]

    def check(self, inputs: Inputs) -> None:
        """Refuse, before any charge, places where nothing can be written, or where something stands that is read."""
        if len({path.resolve() for path in self.all}) < len(self.all):
            raise InvalidParameter("the model, its report and its card need names of their own.")
        if self.card is not None and self.card.suffix not in (".yaml", ".yml", ".json"):
            raise InvalidParameter("--card must end in .yaml or .json.")
        inputs.spare(self.all)
        if not self.overwrite:
            spare_paid([path for path in (self.model, self.report) if path is not None])
        for path in self.all:
            check_room(path, _ROOM)
        if self.report.suffix.lower() not in (".html", ".htm"):
            raise InvalidParameter(f"--report is an HTML page: its name must end in .html, got {str(self.report)!r}.")

    def write(self, model: Any, card: Card, page: Callable[[], str]) -> None:
        """Write the model with its card, the report, and the card by itself where that was asked for."""
        pieces: dict[Path, Callable[[Path], None]] = {
            self.report: lambda path: write_whole(path, [page().encode("utf-8", "replace")])
        }
        if self.model is not None:
            pieces = {self.model: lambda path: save(model, path, card=card), **pieces}
        if self.card is not None:
            pieces[self.card] = card.save
        write_all(pieces)

    def write_model(self, model: Any, added: "Added", ledger: Ledger | None, again: str, out: Answering) -> Card:
        """Write a model that was fitted, with the card and the report that are made of it; return the card."""
        card: Card = carded(lambda of: card_of_model(model, ledger=of, **vars(added)), ledger, out)
        self.write(model, card, lambda: model_page(model, card, again=again))
        return card


def spare_paid(outputs: Iterable[Path]) -> None:
    """Refuse to write over a model, or a report, that was released: it cannot be had again without paying again."""
    for path in outputs:
        if path.is_file() and _is_paid(path):
            raise InvalidParameter(
                f"{str(path)!r} holds a private model or report, which could only be paid for again. Name another file "
                "(--output or --report), or say --overwrite."
            )


def _is_paid(path: Path) -> bool:
    """Whether a file is a private model or a report on one; a model file that cannot be read may be one."""
    try:
        return bool(load(path).release_.private)
    except TacitError:
        pass
    try:
        found = path.read_bytes()
    except OSError:
        return False
    return found.startswith(MAGIC) or is_paid(found.decode("utf-8", "replace"))


@final
@dataclass(frozen=True)
class Added:
    """What people and the auditor add to a card."""

    answers: Mapping[str, str]
    audit: Mapping[str, Any] | None

    @classmethod
    def read(cls, about: Path | None, audit: Path | None = None) -> Self:
        """Read answers and a verdict; refuse, before any charge, what no card of a model could take."""
        answers = answers_in(about)
        if "domain" in answers:
            # A person could answer it of an account.
            raise InvalidParameter(f"tacit fills in 'domain' by itself. Leave it out of {str(about)!r}.")
        return cls(answers, None if audit is None else _verdict(audit))

    def check_about(self, model: Any, records: Records) -> None:
        """Refuse a verdict that is not about what is to be fitted."""
        if self.audit is not None:
            classes = len(records.schema.classes)
            variant = variant_of(model, records.whom.kind, pure=not model.delta, classes=classes)
            check_about(MethodVerdict.of_json(self.audit), type(model).__name__, variant)

    def check_scores(self, records: Records) -> None:
        """Refuse a verdict that is not about private scores of such records."""
        if self.audit is not None:
            classes = len(records.schema.classes)
            check_about(MethodVerdict.of_json(self.audit), SCORES, variant_of_scores(records.whom.kind, classes))


def answers_in(about: Path | None) -> dict[str, str]:
    """Read what a person answers for the card."""
    if about is None:
        return {}
    try:
        answers = tomllib.loads(about.read_text("utf-8"))
    except (OSError, ValueError):
        raise InvalidParameter(f"there are no answers that can be read as TOML at {str(about)!r}.") from None
    return check_answers(answers)


def _verdict(audit: Path) -> Mapping[str, Any]:
    try:
        found = json.loads(audit.read_text("utf-8"))
    except (OSError, ValueError, RecursionError):
        raise InvalidParameter(f"there is no verdict that can be read as JSON at {str(audit)!r}.") from None
    MethodVerdict.of_json(found)
    return cast("Mapping[str, Any]", found)


def charged(release: Release[Any], card: Card) -> dict[str, Any]:
    """Return whether anything was charged for a model, by which entry, and what that left, as plain values."""
    number = None if release.entry is None else release.entry.number
    return {"charged": number is not None, "entry": number, "left": card.tacit.get("ledger", {}).get("left")}


def shown(plain: Mapping[str, Any]) -> str:
    """Return what a person wants to know of a model that was made and paid for."""
    left = "" if plain["left"] is None else f"left       {plain['left']['words']}\n"
    return (
        f"model      {plain['model']}\nreport     {plain['report']}\nguarantee  {plain['guarantee']}\n"
        f"charged    {'entry ' + str(plain['entry']) if plain['charged'] else 'nothing'}\n{left}"
        f"next       tacit inspect {shlex.quote(plain['model'])}"
    )


def repeated(command: str, *words: str, epsilon: float, options: Iterable[tuple[str, str | None]]) -> str:
    """Return the command that does it again, ready to be pasted, without the places of this machine."""
    given = ["tacit", command, *words, "--epsilon", f"{epsilon:g}"]
    for option, value in options:
        given += [] if value is None else [option, value]
    return shlex.join(given)


def table_in_words(source: str, schema: Path | None) -> list[str]:
    """Return the words that name a table, and its schema unless the table brings one along."""
    return [name_of(source), *([] if schema is None else ["--schema", schema.name])]


def terms_of(
    records: Records, source: str, part: str, ledger: str | None, account: str | None, seed: int | None
) -> list[tuple[str, str | None]]:
    """Return the options that say which records were meant, and who paid, or that it was a rehearsal.

    There is no password in them, and no place of this machine.
    """
    return [
        ("--unit", None if is_packed(source) else records.unit),
        ("--key", None if is_packed(source) or records.unit is not None else records.key),
        ("--part", None if part == "all" else part),
        ("--ledger", None if ledger is None else _address_of(ledger)),
        ("--account", account),
        ("--seed", None if seed is None else str(seed)),
    ]


def _address_of(ledger: str) -> str:
    url = Store.at(ledger).url
    if url.get_backend_name() == "sqlite":
        return f"sqlite:///{Path(str(url.database)).name}"
    return url.set(password=None, query={}).render_as_string()


def name_of(source: str) -> str:
    """Return what a table is called, without where it is."""
    return source.rpartition("#")[2] if "#" in source else Path(source).name
