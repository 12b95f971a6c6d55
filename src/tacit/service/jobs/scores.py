"""Reports: all scores of a model on a part of a data set that it did not learn from, as figures with their ranges."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from sklearn.base import is_regressor

from tacit.accounting.ledger import Ledger
from tacit.budget import Budget
from tacit.data.records import Records
from tacit.errors import InvalidParameter
from tacit.evaluation import ClassesReport, Report, report
from tacit.evaluation.matching import listed_classes, positive_place, tells_classes
from tacit.models.file import load_bytes
from tacit.reports.card import card_of_scores
from tacit.reports.scores import plain_figure, scores_page
from tacit.service.datasets import RegisteredTable
from tacit.service.jobs.fits import paid, part_of
from tacit.service.jobs.table import Job, JobProduct
from tacit.service.plain import plain_report
from tacit.service.tokens import Caller

if TYPE_CHECKING:
    from tacit.service.service import Service


def prepared(
    dataset: RegisteredTable, body: Mapping[str, Any], caller: Caller, service: "Service"
) -> tuple[Any, Records]:
    """Return a model of the caller's, and records that it can be judged on: its columns, declared in the same way."""
    job = service.jobs.of(caller, body["model"])
    product = service.jobs.product(job)
    if product.model is None:
        raise InvalidParameter("scores are of a model, and this job made none.")
    model, records = load_bytes(product.model), part_of(dataset, body)
    if not (tells_classes(model) or is_regressor(model)):
        raise InvalidParameter(f"a {type(model).__name__} has no scores: wanted a classifier or a regression.")
    if service.datasets.get(job.dataset).schema.to_toml() != records.schema.to_toml():
        raise InvalidParameter("the model learned from columns that are declared otherwise.")
    if tells_classes(model):
        positive_place(records, listed_classes(model))
    if not Budget(body["epsilon"], body["delta"]).exact_epsilon:
        raise InvalidParameter("epsilon must be above 0 to learn anything.")
    return model, records


def judge(dataset: RegisteredTable, job: Job, caller: Caller, ledger: Ledger, service: "Service") -> JobProduct:
    """Score a model, for one charge, and return what is kept."""
    model, records = prepared(dataset, job.body, caller, service)
    told = report(model, records, epsilon=job.body["epsilon"], delta=job.body["delta"], ledger=ledger)
    card = card_of_scores(model, told.release, ledger=ledger)
    facts = {
        **paid(told.release, ledger, job.ticket),
        "model": job.body["model"],
        "part": job.body.get("part", "all"),
        "n": records.n,
        "report": figures_of(told),
        "released": plain_report(told),
    }
    return JobProduct(facts, None, card.to_json(), scores_page(model, card, told))


def figures_of(told: Report) -> dict[str, Any]:
    """Return the figures of a report, and for several classes those of each against the rest, as plain values."""
    each = {str(name): told.of(name) for name in told.classes} if isinstance(told, ClassesReport) else {}
    return {
        "guarantee": told.release.guarantee,
        "figures": {name: plain_figure(figure) for name, figure in told.figures().items()},
        "classes": {name: figures_of(one) for name, one in each.items()},
    }
