"""What jobs would cost, found out without a look at a record: by their budgets and, where accounts want it, events."""

import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from http import HTTPStatus
from typing import Any

from tacit.accounting.ledger import Ledger
from tacit.data.records import Records
from tacit.evaluation.foreseen import foreseen_sketch
from tacit.service.asking import quoted
from tacit.service.datasets import RegisteredTable, amount
from tacit.service.expected import budget_of_report, epsilon_of_predictor, error_of_predictor, error_of_report
from tacit.service.jobs import fits
from tacit.service.jobs.bodies import FitBody, ReportPriceBody, SessionPriceBody
from tacit.service.refusals import Refusal
from tacit.service.sessions import opening
from tacit.service.tokens import Caller

_TURN, _MOMENT, _WAIT = threading.Lock(), 1.0, 5


@contextmanager
def _in_turn() -> Iterator[None]:
    """Let one price at a time be found on a made-up table: it is as large as the records, and costs nothing."""
    if not _TURN.acquire(timeout=_MOMENT):
        words = f"another price takes long to be found; come again in {_WAIT} s."
        raise Refusal(HTTPStatus.TOO_MANY_REQUESTS, "TooMuch", words, charged=False, wait=_WAIT)
    try:
        yield
    finally:
        _TURN.release()


@_in_turn()
def price_of_fit(dataset: RegisteredTable, caller: Caller, body: Mapping[str, Any]) -> Mapping[str, Any]:
    """Say what a fit would cost."""
    return _priced(dataset, caller, *fits.prepared(dataset, FitBody.model_validate(body).model_dump()))


@_in_turn()
def price_of_session(dataset: RegisteredTable, caller: Caller, body: Mapping[str, Any]) -> Mapping[str, Any]:
    """Say what all answers of a session would cost, and about how far off each will be."""
    asked = SessionPriceBody.model_validate(body)
    plain = asked.model_dump(exclude={"error"})
    if asked.error is not None:
        # Any epsilon: the one that is wanted follows from the predictor.
        plain["parameters"] = {**asked.parameters, "epsilon": 1.0}
    predictor, records = opening.prepared(dataset, plain)
    if asked.error is not None:
        predictor.epsilon = epsilon_of_predictor(predictor, records, asked.error)
    return _priced(dataset, caller, predictor, records, error_of_predictor(predictor, records))


def price_of_report(dataset: RegisteredTable, caller: Caller, body: Mapping[str, Any]) -> Mapping[str, Any]:
    """Say what scores would cost and about how far off they will be, whatever the model is."""
    asked = ReportPriceBody.model_validate(body)
    records = fits.part_of(dataset, {"part": asked.part})
    budget = budget_of_report(records.n, asked.epsilon, asked.delta, asked.error)
    event, expected = foreseen_sketch(records.n, budget).event, error_of_report(records.n, budget)
    account = _account(dataset, caller, records)
    words = f"scores cost {budget}"
    told = quoted(event, budget, account)
    return {**told, "budget": amount(budget), "n": records.n, "expected_error": expected, "words": words}


def _priced(
    dataset: RegisteredTable,
    caller: Caller,
    estimator: Any,
    records: Records,
    expected: Mapping[str, Any] | None = None,
) -> Mapping[str, Any]:
    """Return the price of a fit: that of a made-up one's release, unless what is charged is what is asked for."""
    account = _account(dataset, caller, records)
    if account.accountant == "basic" and not estimator.delta:
        estimator.ledger = account
        price = estimator.price()
        told = {"cost": amount(price.budget), "affordable": price.affordable, "left": amount(account.remaining)}
    else:
        estimator.ledger = dataset.ledger(caller)
        price = estimator.price(records)
        told = quoted(price.event, price.budget, account)
    # The budget is told as well: it is what an epsilon for a wanted error says.
    return {**told, "budget": amount(price.budget), "expected_error": expected, "words": str(price)}


def _account(dataset: RegisteredTable, caller: Caller, records: Records) -> Ledger:
    """Return who pays for a part of the records."""
    account = records.account(dataset.ledger(caller))
    assert account is not None
    return account
