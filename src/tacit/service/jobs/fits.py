"""Fits: an estimator learns from a part of a data set, and becomes a model file with its card and a page."""

from collections.abc import Mapping
from typing import Any

from tacit.accounting.ledger import Ledger
from tacit.budget import Budget
from tacit.data.records import Records
from tacit.errors import InvalidParameter
from tacit.models.file import bytes_of
from tacit.releases import Release
from tacit.reports.card import Card, card_of_model
from tacit.reports.page import model_page
from tacit.service.datasets import RegisteredTable, amount
from tacit.service.estimators import estimator_of
from tacit.service.jobs.sizes import check_work
from tacit.service.jobs.table import Job, JobProduct


def prepared(dataset: RegisteredTable, body: Mapping[str, Any]) -> tuple[Any, Records]:
    """Return the estimator and the records of a fit that can be done here, by public facts alone."""
    estimator = estimator_of({name: body[name] for name in ("estimator", "parameters")})
    records = part_of(dataset, body)
    check_work(estimator, records)
    return estimator, records


def part_of(dataset: RegisteredTable, body: Mapping[str, Any]) -> Records:
    """Return the part of the data set that is asked for."""
    return dataset.part(body.get("part", "all"))


def fit(dataset: RegisteredTable, job: Job, ledger: Ledger) -> JobProduct:
    """Fit, and return what is kept: nothing leaves before that."""
    estimator, records = prepared(dataset, job.body)
    estimator.ledger = ledger
    estimator.fit(records)
    card = card_of_model(estimator, ledger=ledger)
    facts = {
        **paid(estimator.release_, ledger, job.ticket),
        "model": job.id,
        "estimator": type(estimator).__name__,
        "part": job.body.get("part", "all"),
        "n": records.n,
        "features": int(estimator.n_features_in_),
        "classes": classes_of(estimator),
        "open": card.open,
    }
    return JobProduct(facts, file_of(estimator, card), card.to_json(), model_page(estimator, card))


def classes_of(model: Any) -> list[str]:
    """Return the names of the classes that a model tells, none for one that predicts numbers."""
    known = getattr(model, "classes_", None)
    return [] if known is None else [str(name) for name in known.tolist()]


def paid(release: Release[Any], ledger: Ledger, ticket: str) -> dict[str, Any]:
    """Return what a release cost its job; refuse one that nobody paid for.

    Answers that the account remembers cost nothing again. What this job was charged stands under its ticket, although
    an attempt before this one may have died after it.
    """
    if not release.private or release.budget is None:
        raise InvalidParameter("nothing is kept that is not private and paid for.")
    entry = ledger.entry_of(ticket)
    cost = Budget(0) if entry is None else release.budget
    if entry is not None and ledger.accountant != "basic":
        cost = _raised(ledger, ticket)
    return {"guarantee": release.guarantee, "cost": amount(cost), "entry": entry}


def _raised(ledger: Ledger, ticket: str) -> Budget:
    """Return by how much the charges of a ticket raised what the account had spent, where amounts are no budgets."""
    entries = ledger.entries()
    course = [Budget(0), *ledger.course(entries)]
    steps = zip(entries, course, course[1:], strict=False)
    raised = [after - before for entry, before, after in steps if entry.ticket and entry.ticket[0] == ticket]
    return sum(raised, start=Budget(0))


def file_of(model: Any, card: Card) -> bytes:
    """Return the bytes of a model file: what was drawn is on no disk before it is kept."""
    return b"".join(bytes_of(model, card=card))
