"""What jobs would cost, found out without a look at a record: by their budgets and, where accounts want it, events."""

from collections.abc import Mapping
from typing import Any

from tacit.budget import Budget
from tacit.data.records import Records
from tacit.errors import InvalidParameter
from tacit.service.asking import quoted
from tacit.service.datasets import Dataset
from tacit.service.jobs import fits
from tacit.service.jobs.bodies import FitBody, ReportPriceBody, SessionBody
from tacit.service.sessions import opening
from tacit.service.tokens import Caller


def price_of_fit(dataset: Dataset, caller: Caller, body: Mapping[str, Any]) -> Mapping[str, Any]:
    """Say what a fit would cost."""
    return _priced(dataset, caller, *fits.prepared(dataset, FitBody.model_validate(body).model_dump()))


def price_of_session(dataset: Dataset, caller: Caller, body: Mapping[str, Any]) -> Mapping[str, Any]:
    """Say what all answers of a session would cost, and about how far off each will be."""
    predictor, records = opening.prepared(dataset, SessionBody.model_validate(body).model_dump())
    expected = {"error": predictor.expected_error(records), "of": "an answer where K(z, z) is largest"}
    return {**_priced(dataset, caller, predictor, records), "expected_error": expected}


def price_of_report(dataset: Dataset, caller: Caller, body: Mapping[str, Any]) -> Mapping[str, Any]:
    """Say what scores would cost: their budget, whatever the model is."""
    asked = ReportPriceBody.model_validate(body)
    budget = Budget(asked.epsilon, asked.delta)
    if not budget.exact_epsilon:
        raise InvalidParameter("epsilon must be above 0 to learn anything.")
    account = fits.part_of(dataset, {"part": asked.part}).account(dataset.ledger(caller))
    assert account is not None
    affordable = budget <= account.remaining if account.accountant == "basic" else None
    return {**quoted(budget, affordable, account), "expected_error": None, "words": f"scores cost {budget}"}


def _priced(dataset: Dataset, caller: Caller, estimator: Any, records: Records) -> Mapping[str, Any]:
    """Return the price of a fit; an account that adds up events is asked about the event of a made-up one."""
    ledger = dataset.ledger(caller)
    basic = ledger.accountant == "basic"
    estimator.ledger = records.account(ledger) if basic else ledger
    price = estimator.price() if basic else estimator.price(records)
    return {**quoted(price.budget, price.affordable, estimator.ledger), "expected_error": None, "words": str(price)}
