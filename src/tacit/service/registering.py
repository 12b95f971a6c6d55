"""Registering a table: the custodian's act, and the only moment at which its defects are seen.

The table, a file or one of a database, is read and cleaned once, packed, given an account of its own, and from then on
only answered about. Its source is not looked at again.
"""

import json
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any, Literal, final

import sqlalchemy as sa

from tacit.accounting.ledger import Ledger
from tacit.accounting.terms import check_text
from tacit.accounting.unit import PUBLIC
from tacit.accounting.witness import witness_at
from tacit.budget import Budget
from tacit.checks import exact_number
from tacit.data.records import Records
from tacit.data.schema import Schema
from tacit.data.store.packed_file import ENDING
from tacit.errors import InvalidParameter, LedgerExists
from tacit.files import private_folder
from tacit.noise import unique_name
from tacit.reports.facts import DECLARED
from tacit.service.blocks import TimeBlock
from tacit.service.clock import now
from tacit.service.datasets import NAME
from tacit.service.fingerprints import bound_to, known, marks_of
from tacit.service.forgotten import head_of, note_of
from tacit.service.opening import PARTS, split
from tacit.service.secrets import kept_secret
from tacit.service.settings import Settings
from tacit.service.sources import Place
from tacit.service.state import DATASET, State
from tacit.service.tokens import OWNER, OWNER_WORDS

Accountant = Literal["basic", "renyi", "gaussian"]
Others = Mapping[str, tuple[dict[str, Any], dict[str, Any]]]
"""What is declared of each data set there is, and the marks of its table."""


@final
@dataclass(frozen=True)
class Declared:
    """What a custodian declares about a table, all of it public, and signs."""

    name: str
    schema: Schema
    budget: Budget
    signed_by: str
    unit: str | None = None
    key: str | None = None
    accountant: Accountant = "basic"
    shares: Mapping[str, float] = field(default_factory=dict)
    public: Sequence[str] = ()
    block: TimeBlock | None = None
    shares_ledger_with: str | None = None

    def __post_init__(self) -> None:
        if not isinstance(self.name, str) or not NAME.fullmatch(self.name):
            raise InvalidParameter(
                "a data set's name has up to 63 small letters, digits, _ and -, and begins with a letter or a digit."
            )
        check_text("signed_by", self.signed_by)
        if self.block is not None and self.unit is not None:
            raise InvalidParameter(
                "blocks are of records: a person may have rows in several, and each block's budget would be spent on "
                "them. Leave unit out, or register all rows as one table."
            )
        for text in self.public:
            check_text("what is public", text)
        for name, share in self.shares.items():
            if not OWNER.fullmatch(name):
                raise InvalidParameter(f"a share is of somebody with a token, whose name is {OWNER_WORDS}.")
            _share(name, share)


def register(
    declared: Declared,
    source: Any,
    state: State,
    settings: Settings,
    *,
    by: str = "the service",
    sees: Callable[[str], bool] = lambda _: True,
) -> None:
    """Read, clean and keep a table, open its account, and write down what is public of it.

    `sees` says which other data sets may be named to whoever registers this one.
    """
    place = source if isinstance(source, Place) else None
    with state.reading() as connection:
        _check_free(declared, _others(connection), sees)
    opened = source if place is None else place.opened
    records = Records(opened, declared.schema, unit=declared.unit, key=declared.key)
    if declared.block is not None:
        declared.block.check_records(records)
    outright = [] if place is None else place.outright
    marks = marks_of(records, outright, kept_secret(private_folder(settings.folder) / "marks.secret"))
    bound, witness = bound_to(declared.name, marks), witness_at(settings.witness)
    with state.writing() as connection:
        # Reading took its time: nobody registers while what there is now is compared with what the accounts say.
        state.alone(connection)
        others = _others(connection)
        _check_free(declared, others, sees)
        account = _account(declared, others, marks, sees)
        registered = {name: str(each["account"]) for name, (each, _) in others.items()}
        head = head_of(declared.name, bound, account, registered, witness, settings, sees)
    document = {**_document(declared, records), "account": account, "shares": _shares(declared, others, account)}
    packed = private_folder(settings.tables) / f"{declared.name}-{unique_name()}{ENDING}"
    records = records.pack(packed)
    try:
        # Cut before the account is opened: what cannot be cut leaves no account behind.
        parts = split(records) if len(document["parts"]) > 1 else ()
        ledger = _open_account(declared, document, records, settings, head).acting(witness=witness)
        for part in parts[:1]:
            # All parts are declared in the account before anybody asks about one.
            part.account(ledger)
        values = {
            "name": declared.name,
            "document": json.dumps(document),
            "file": packed.name,
            "marks": json.dumps(marks),
            "created": now(),
        }
        with state.writing() as connection:
            # Somebody may have registered these records meanwhile.
            state.alone(connection)
            others = _others(connection)
            _check_free(declared, others, sees)
            _account(declared, others, marks, sees)
            # The account says for good that it pays, so only of what is not refused any more.
            ledger.note(note_of(declared.name, bound, by, declared.signed_by))
            connection.execute(sa.insert(DATASET).values(**values))
    except BaseException:
        packed.unlink(missing_ok=True)
        raise
    if place is not None:
        place.take_away()


def _others(connection: sa.Connection) -> Others:
    rows = connection.execute(sa.select(DATASET.c.name, DATASET.c.document, DATASET.c.marks)).all()
    return {row.name: (json.loads(row.document), json.loads(row.marks)) for row in rows}


def _check_free(declared: Declared, others: Others, sees: Callable[[str], bool]) -> None:
    """Refuse a name, or a block of a series, that there is already."""
    if declared.name in others:
        raise InvalidParameter(f"there is a data set {declared.name!r} already: its records cannot be changed.")
    if declared.block is not None:
        blocks = {name: each["block_of"] for name, (each, _) in others.items() if each["block_of"] is not None}
        declared.block.check_apart(blocks, sees)


def _account(
    declared: Declared,
    others: Others,
    marks: Mapping[str, Any],
    sees: Callable[[str], bool],
) -> str:
    """Return the name of the account that pays; the same records have one account, whatever they are called."""
    wanted = declared.shares_ledger_with
    if wanted is not None and wanted not in others:
        raise InvalidParameter("shares_ledger_with must name a data set that is registered.")
    account = declared.name if wanted is None else str(others[wanted][0]["account"])
    same = known(marks, {name: _compared(declared, document, theirs) for name, (document, theirs) in others.items()})
    apart = [name for name in same if others[name][0]["account"] != account]
    if apart:
        known_as = next(filter(sees, apart), None)
        where_else = "by somebody else" if known_as is None else f"as {known_as!r}"
        way_out = "" if known_as is None else f"Register them with shares_ledger_with={known_as!r}, or not at all."
        raise InvalidParameter(
            f"these records, or columns of them, are registered {where_else}: a second budget for them would break "
            f"the promise of the first. {way_out}".strip()
        )
    return account


def _compared(declared: Declared, document: Mapping[str, Any], marks: dict[str, Any]) -> Mapping[str, Any]:
    """Return what to compare of another table: blocks of one series have no record in common, and may be alike."""
    block, other = declared.block, document["block_of"]
    apart = block is not None and other is not None and other["series"] == block.series
    return {**marks, "sets": []} if apart else marks


def _document(declared: Declared, records: Records) -> dict[str, Any]:
    block = declared.block
    public = [PUBLIC[records.whom.kind], DECLARED, *declared.public]
    if block is not None:
        public.append(f"which block of the series {block.series!r} a record is in, fixed for good by {block.column!r}")
    return {
        "name": declared.name,
        "n": records.n,
        "unit": declared.unit,
        "key": declared.key,
        "schema": declared.schema.to_toml(),
        "public": public,
        "signed_by": declared.signed_by,
        "parts": list(PARTS) if records.key is not None or records.facts.ordered else ["all"],
        "block_of": None if block is None else vars(block),
    }


def _open_account(
    declared: Declared, document: Mapping[str, Any], records: Records, settings: Settings, head: str | None
) -> Ledger:
    """Open the account of these terms; one that has a head already is not made anew."""
    if "://" not in settings.ledgers:
        private_folder(settings.ledgers)
    name = document["account"]
    ids = () if declared.unit is None else (declared.unit,)
    whose = {"unit": records.whom.kind, "ids": ids}
    terms: Any = {"budget": declared.budget, "accountant": declared.accountant, **whose}
    if head is None:
        with suppress(LedgerExists):
            return Ledger.create(settings.account(name), name=name, **terms)
    else:
        Ledger.open(settings.account(name), name=name, head=head)
    return Ledger.open_or_create(settings.account(name), name=name, **terms)


def _shares(declared: Declared, others: Others, account: str) -> dict[str, str]:
    """Return the shares of those who have one: another name for the records loosens none that the account has."""
    found = {name: _share(name, share) for name, share in declared.shares.items()}
    for document, _ in others.values():
        for name, share in document["shares"].items() if document["account"] == account else ():
            found[name] = min(Fraction(share), found.get(name, Fraction(1)))
    return {name: str(share) for name, share in found.items()}


def _share(name: str, share: object) -> Fraction:
    found = exact_number(f"the share of {name!r}", share)
    if not 0 < found <= 1:
        raise InvalidParameter(f"a share of the budget lies above 0 and is at most 1, got another for {name!r}.")
    return found
