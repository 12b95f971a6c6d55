"""What commands that charge have in common: whether anything was charged is always said, and what it bought is kept."""

import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeVar

from tacit.accounting.ledger import Ledger
from tacit.cli.answering import Answering, Lost, Paid
from tacit.data.records import Records
from tacit.data.schema import Schema
from tacit.errors import BudgetExceeded, TacitError
from tacit.estimators.price import Price
from tacit.reports.facts import exact_amount

Made = TypeVar("Made")


@contextmanager
def telling(ledger: Ledger | None) -> Iterator[None]:
    """Let whatever ends a command after the charge say that it was charged; a budget that does not suffice never is."""
    before = 0 if ledger is None else len(ledger.entries())
    try:
        yield
    except BudgetExceeded:
        raise
    except BaseException as failure:
        charged = _charged(ledger, before)
        if charged is False:
            raise
        raise Paid(failure, charged) from None


def _charged(ledger: Ledger | None, before: int) -> bool | None:
    """Return whether there are new charges; naming the parts of a split is an entry, too, and no charge."""
    try:
        return ledger is not None and any(entry.partition is None for entry in ledger.entries()[before:])
    except Exception:
        return None


def finish(out: Answering, last: Callable[[], Made]) -> Made:
    """Do what is left to do with what was fitted; if it is interrupted, do it once more before the interrupt counts."""
    try:
        return last()
    except KeyboardInterrupt:
        out.warn("Interrupted after the fit: what was made is written first. Interrupt again, and it is lost.")
        last()
        raise
    except Exception as failure:
        if isinstance(failure, Lost):
            raise
        why = str(failure) if isinstance(failure, TacitError) else f"something failed: {type(failure).__name__}."
        raise Lost(f"what was made is lost: {why}") from None


def write_all(pieces: Mapping[Path, Callable[[Path], None]]) -> None:
    """Write every file, in the temporary folder if not where it should go, and then say what is not where it should."""
    faults = [_fault(path, write) for path, write in pieces.items()]
    said = "; ".join(fault for fault in faults if fault)
    if said:
        raise Lost(f"the fit was made, and not every file could be written: {said}.")


def _fault(path: Path, write: Callable[[Path], None]) -> str:
    """Write a file; return what to say if it is not where it should be, and why, unless that could quote a record."""
    why = ""
    for elsewhere in (False, True):
        try:
            place = Path(tempfile.mkdtemp(prefix="tacit-")) / path.name if elsewhere else path
            write(place)
        except Exception as failure:
            why = str(failure).rstrip(".") if isinstance(failure, TacitError) else type(failure).__name__
        else:
            return f"{path} is at {place}" if elsewhere else ""
    return f"{path} is lost ({why})"


def carded(making: Callable[[Ledger | None], Any], ledger: Ledger | None, out: Answering) -> Any:
    """Return a card; one that says nothing of the account if that cannot be read any more."""
    try:
        return making(ledger)
    except Exception:
        if ledger is None:
            raise
        out.warn("The card does not say what is left: that could not be found out after the fit.")
        return making(None)


def warn_of_classes(schema: Schema, out: Answering) -> None:
    """Warn of two classes of which none is declared positive: scores will ask for it."""
    if len(schema.classes) == 2 and schema.positive is None:
        out.warn(
            f"Warning: which of the two classes of {schema.target!r} is positive is not declared: `tacit evaluate` and "
            f'`tacit predict --threshold` will ask for it. Write positive = "..." beside its levels in the schema.'
        )


def warn_unpaid(out: Answering, ledger: Ledger | None, seed: int | None, what: str, cost: str = "it cost") -> None:
    """Say that what is about to be released is charged to nobody; a rehearsal is not."""
    if ledger is None and seed is None:
        out.warn(f"No ledger was given: {what} private, and nobody remembers what {cost}.")


def names_of(paths: Sequence[Path]) -> str:
    """Return where results are kept besides stdout, in words."""
    return f"It is kept: {', '.join(map(str, paths))}."


def foretell(price: Price, ledger: Ledger | None, records: Records, out: Answering) -> None:
    """Refuse a charge that does not fit before a split is written down for it; say where parallel charges are lost."""
    share = records.facts.share
    if ledger is None or share is None or price.event is None:
        return
    looking = ledger.looking()
    part = records.account(looking)
    if price.affordable is False and part == looking:
        looking.require_room(price.event, label=price.what, at=price.budget)
    splits = {entry.label for entry in ledger.entries() if entry.partition is not None and not entry.path}
    others = sum(each.startswith("split by ") for each in splits - {share.title})
    if others and price.adds == price.budget:
        out.warn(
            f"Warning: this adds {price.adds} to the account, because of another name of the table, or another key: "
            f"the account knows {others} other split{'s' if others > 1 else ''}, and only parts of one split cost what "
            "the largest does. If it is the same table, use its first name and key."
        )


def priced(price: Any) -> dict[str, Any]:
    """Return what something would cost as plain values."""
    return {
        "charged": False,
        "cost": None if price.budget is None else exact_amount(price.budget),
        "affordable": price.affordable,
        "left": None if price.left is None else exact_amount(price.left),
        "adds": None if price.adds is None else exact_amount(price.adds),
    }
