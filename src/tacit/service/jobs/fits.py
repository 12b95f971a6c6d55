"""Fits: an estimator learns from a part of a data set, and becomes a model file with its card and a page."""

from collections.abc import Mapping
from typing import Any

from tacit.accounting.ledger import Ledger
from tacit.budget import Budget
from tacit.data.curves import checked_pairs
from tacit.data.levels import Levelled
from tacit.data.records import Records
from tacit.errors import InvalidParameter
from tacit.models.file import bytes_of, check_declared
from tacit.releases import Release
from tacit.reports.card import Card, card_of_model
from tacit.reports.page import model_page
from tacit.service.datasets import Dataset, amount
from tacit.service.estimators import estimator_of
from tacit.service.jobs.table import Job, JobProduct
from tacit.service.refusals import missing

MOST_AT_ONCE = 10**8
"""How many numbers a kernel model may hold at once: records or landmarks, times features or landmarks."""

_MOST_FEATURES, _CURVED = 5000, 40
_MOST_IN_A_MODEL = 2 * 10**6


def prepared(dataset: Dataset, body: Mapping[str, Any]) -> tuple[Any, Records]:
    """Return the estimator and the records of a fit that can be done here, by public facts alone."""
    estimator, records = (
        estimator_of({name: body[name] for name in ("estimator", "parameters")}),
        part_of(dataset, body),
    )
    check_work(estimator, records)
    return estimator, records


def part_of(dataset: Dataset, body: Mapping[str, Any]) -> Records:
    """Return the part of the data set that is asked for."""
    part = body.get("part", "all")
    if part not in dataset.document["parts"]:
        raise missing("part")
    return dataset.part(part)


def check_work(estimator: Any, records: Records) -> None:
    """Refuse a fit that would take too much room, by what is declared and by the public number of records."""
    check_declared(records.schema)
    width = _most_features(estimator, records)
    if width > _MOST_FEATURES:
        raise InvalidParameter(
            f"a fit may have {_MOST_FEATURES} features, and this one could have {width}: ask for fewer interactions."
        )
    if not hasattr(estimator, "landmarks"):
        return
    points = estimator.landmarks
    count = records.n if points is None else points if isinstance(points, int) else points.shape[0]
    if count * width > _MOST_IN_A_MODEL and count < records.n:
        raise InvalidParameter(
            f"landmarks may have {_MOST_IN_A_MODEL:,} numbers in all, and these could have {count * width:,}."
        )
    held = max(records.n, count) * max(width, count)
    if held > MOST_AT_ONCE:
        raise InvalidParameter(
            f"a kernel model may hold {MOST_AT_ONCE:,} numbers at once, and this one would hold {held:,}: "
            "give landmarks, or fewer of them."
        )


def _most_features(estimator: Any, records: Records) -> int:
    """Bound how many features records have once they are encoded: each pair of columns has all pairs of theirs."""
    curves, pairs = estimator._coding(records) if hasattr(estimator, "_coding") else (False, None)
    schema, line = records.schema, _CURVED if curves else 2
    sizes = {
        name: max(line, len(column.classes)) if isinstance(column, Levelled) else line
        for name, column in ((each, schema.columns[each]) for each in schema.features)
    }
    named = checked_pairs(pairs, schema.features)
    return sum(sizes.values()) + sum(sizes[one] * sizes[other] for one, other in named)


def fit(dataset: Dataset, job: Job, ledger: Ledger) -> JobProduct:
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
