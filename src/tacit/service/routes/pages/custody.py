"""What a custodian looks after, on a page: accounts, who spent what, tokens; auditors see the accounts."""

from collections import defaultdict
from collections.abc import Sequence
from typing import Any

from fastapi import APIRouter, Request, Response

from tacit.accounting.history import Entry
from tacit.budget import Budget
from tacit.errors import InvalidParameter
from tacit.service.access import TheService
from tacit.service.clock import now
from tacit.service.datasets import RegisteredTable
from tacit.service.jobs.table import UNFINISHED
from tacit.service.jobs.telling import overseen
from tacit.service.pages.forms import CustodianHere, Fields, InspectorHere, PageRoute, number_of, text_of
from tacit.service.pages.pictures import course_picture
from tacit.service.pages.rendering import go, metered, page
from tacit.service.routes import accounts, jobs
from tacit.service.service import Service
from tacit.service.tokens import Caller

router = APIRouter(prefix="/custody", route_class=PageRoute)

_LAST = 30
_MOST_DRAWN = 2000


@router.get("")
def shown(request: Request, service: TheService, caller: InspectorHere) -> Response:
    """Show all accounts, and to the custodian the tokens."""
    return _page(request, service, caller)


@router.post("/{name}/verify")
def verified(name: str, request: Request, service: TheService, caller: InspectorHere, _: Fields) -> Response:
    """Verify a ledger again from its first entry, and against its witness."""
    told = accounts.verify(name, service, caller)
    words = (
        f"The ledger holds: {told['count']} entries, each as it was written, and all that the witness knows of. "
        f"Its head is {told['head']}."
        if told["holds"]
        else "The ledger does NOT hold: its history was damaged, shortened or replaced. Stop the service."
    )
    return _page(request, service, caller, verified={"name": name, "words": words})


@router.get("/{name}/bundle")
def bundle(name: str, service: TheService, caller: InspectorHere) -> Response:
    """Give the audit bundle of an account."""
    return accounts.bundle(name, service, caller)


@router.post("/tokens")
def made(request: Request, service: TheService, caller: CustodianHere, fields: Fields) -> Response:
    """Make a token, and show it this once."""
    days = number_of(fields, "days", 90.0)
    if days is None:
        raise InvalidParameter("days must be a number.")
    name = text_of(fields, "name")
    which = [each.strip() for each in text_of(fields, "datasets").split(",") if each.strip()]
    _, token = service.tokens.give(caller, name, text_of(fields, "scope"), days, which or None)
    return _page(request, service, caller, made={"name": name, "token": token})


@router.post("/tokens/{token}/revoke")
def revoked(token: str, service: TheService, caller: CustodianHere, _: Fields) -> Response:
    """End a token at once."""
    service.tokens.take(caller, token)
    return go("/custody")


@router.post("/{name}/jobs/{job}/cancel")
def cancelled(name: str, job: str, service: TheService, caller: CustodianHere, _: Fields) -> Response:
    """Cancel anybody's job about a data set: what was charged stays charged."""
    jobs.ended_by(service, caller, name, job)
    return go("/custody")


def _page(request: Request, service: Service, caller: Caller, **more: Any) -> Response:
    datasets = [{**_told(each, caller), "jobs": _jobs(service, each.name)} for each in service.datasets.seen_by(caller)]
    known = service.tokens.known_to(caller) if caller.scope == "custodian" else None
    tokens = None if known is None else [_given_out(each, caller) for each in known]
    usual: dict[str, Any] = {"verified": None, "made": None}
    return page(request, "custody", "Custody", datasets=datasets, tokens=tokens, **{**usual, **more})


def _jobs(service: Service, dataset: str) -> list[dict[str, Any]]:
    """Return the jobs about a data set that are not over, whoever's they are."""
    entry_of = service.entry_finder()
    found = service.jobs.of_dataset(dataset)
    return [overseen(service, job, entry_of) for job in found if job.state in UNFINISHED]


def _given_out(token: dict[str, Any], caller: Caller) -> dict[str, Any]:
    """Return what a page says of a token: one's own is not revoked here, which would shut oneself out."""
    state = "revoked" if token["revoked"] else "in use" if now() < token["expires"] else "ended"
    which = "all" if token["datasets"] is None else ", ".join(token["datasets"])
    return {**token, "state": state, "which": which, "mine": token["id"] == caller.token}


def _told(dataset: RegisteredTable, caller: Caller) -> dict[str, Any]:
    """Return what a page says of an account."""
    account, facts = dataset.account, dataset.facts(caller)
    entries = account.entries()
    spent = zip(account.course(entries), entries, strict=True)
    course = [each.epsilon for each, entry in spent if entry.amount][-_MOST_DRAWN:]
    last = [_line(dataset, entry) for entry in entries[: -_LAST - 1 : -1]]
    picture = course_picture(course, account.budget.epsilon)
    return {**metered(facts), "entries": last, "payers": _payers(dataset, entries), "burn": picture}


def _line(dataset: RegisteredTable, entry: Entry) -> dict[str, Any]:
    return {
        "number": entry.number, "time": entry.time, "payer": entry.payer or "the service", "label": entry.label,
        "amount": dataset.account.said(entry.amount) if entry.amount else "nothing",
    }  # fmt: skip


def _payers(dataset: RegisteredTable, entries: Sequence[Entry]) -> list[dict[str, Any]]:
    """Return for everybody who paid how much, out of which share, in how many charges."""
    paid: dict[str, list[Entry]] = defaultdict(list)
    for entry in entries:
        if entry.amount:
            paid[entry.payer or "the service"].append(entry)
    shares = dataset.document["shares"]
    return [
        {
            "name": name,
            "spent": dataset.account.said(sum((each.amount for each in paid[name]), start=Budget(0))),
            "share": f"{shares[name]} of the budget" if name in shares else "what is left",
            "count": len(paid[name]),
        }
        for name in sorted({*paid, *shares})
    ]
