"""Statistical questions over HTTP: what they would cost, and their answers."""

import time
from collections.abc import Callable, Mapping, Sequence
from typing import Annotated, Any, Literal

import numpy as np
from pydantic import BaseModel, ConfigDict, Field

from tacit.accounting.events import Event
from tacit.accounting.ledger import Ledger
from tacit.budget import Budget
from tacit.queries.oracle.oracle import Answer, StatisticalOracle
from tacit.service.clock import until_step
from tacit.service.datasets import RegisteredTable, amount
from tacit.service.expected import error_of_plan
from tacit.service.plain import plain_plan
from tacit.service.questions import queries_of
from tacit.service.remembering import Remembering
from tacit.service.requests import Asked, answered
from tacit.service.state import State
from tacit.service.tokens import Caller
from tacit.sums.query import Query

Part = Literal["all", "train", "test"]
Amount = Annotated[float, Field(allow_inf_nan=False)]


class Body(BaseModel):
    """What is sent: these fields and no others, of exactly their types."""

    model_config = ConfigDict(extra="forbid", strict=True)


class Questions(Body):
    """Statistical queries that are asked together, for one charge."""

    model_config = ConfigDict(
        json_schema_extra={"examples": [{"queries": [{"mean": "age > 60"}], "epsilon": 0.1}]},
    )

    queries: list[dict[str, Any]] = Field(min_length=1)
    epsilon: Amount | None = None
    tolerance: Amount | None = None
    delta: Amount = 0.0
    confidence: Amount = 0.95
    of: Literal["population", "sample"] = "population"
    noise_rate: Amount = 0.0
    part: Part = "all"

    @property
    def how(self) -> dict[str, Any]:
        """The options of the library's own call."""
        return self.model_dump(exclude={"queries", "part"})


def ask(state: State, caller: Caller, key: str, dataset: RegisteredTable, questions: Questions) -> Mapping[str, Any]:
    """Answer questions, charged once to the caller however often they come under this key.

    An answer is kept at a public step of time, half of one before it may leave: others see then that it is there.
    """
    began = time.monotonic()
    asked, memory = Asked(caller, key, "queries", dataset, questions.model_dump()), Remembering(state)

    def compute(ledger: Ledger) -> Mapping[str, Any]:
        # Limits of today say nothing of a request that was answered, or charged, under others.
        queries = _queries(questions, dataset)
        oracle = dataset.oracle(questions.part, ledger).remembering(memory)
        raised = None
        if ledger.accountant != "basic":
            # Where charges do not simply add up, one is as large as what came before makes it.
            raised = cost_of(*oracle.event_of(queries, oracle.preview(queries, **questions.how)), paying(oracle))
        found = _told(queries, oracle.ask_all(queries, **questions.how), ledger, raised)
        if dataset.padding:
            time.sleep(until_step(time.monotonic() - began, dataset.padding / 2))
        return found

    return answered(state, asked, compute, also=memory.keep)


def price_of_questions(dataset: RegisteredTable, caller: Caller, questions: Questions) -> Mapping[str, Any]:
    """Say what questions would cost, and how far their answers may be off; no record is read, nothing is charged."""
    queries = _queries(questions, dataset)
    oracle = dataset.oracle(questions.part, dataset.ledger(caller))
    plan = oracle.preview(queries, **questions.how)
    event, at = oracle.event_of(queries, plan)
    told = quoted(event, at, paying(oracle))
    return {**told, "expected_error": error_of_plan(plan), "words": str(plan), "plan": plain_plan(plan)}


def quoted(event: Event, at: Budget, ledger: Ledger) -> dict[str, Any]:
    """Return what every price says: what it is, whether it fits, and what is left, all by what would be charged."""
    cost = cost_of(event, at, ledger)
    return {"cost": amount(cost), "affordable": ledger.affords(event, at=at), "left": amount(ledger.remaining)}


def cost_of(event: Event, at: Budget, ledger: Ledger) -> Budget:
    """Return what an event costs: its own budget where these add up, else what it would raise the account's by."""
    return at if ledger.accountant == "basic" else ledger.price(event, at=at)


def paying(oracle: StatisticalOracle) -> Ledger:
    """Return the account that pays an oracle of a service."""
    assert oracle.ledger is not None
    return oracle.ledger


def _queries(questions: Questions, dataset: RegisteredTable) -> list[Query]:
    return queries_of(questions.queries, dataset.n, dataset.most_work)


def _told(queries: Sequence[Query], answers: Sequence[Answer], ledger: Ledger, raised: Budget | None) -> dict[str, Any]:
    first, ticket = answers[0], ledger.standing.ticket
    # Who asked at once under the same key may have paid for what is remembered: then it was this very request.
    entry = None if ticket is None else ledger.entry_of(ticket.name)
    return {
        "answers": [
            {
                "value": np.asarray(answer.value).tolist(),
                "tolerance": answer.tolerance,
                "confidence": answer.confidence,
                "noise_error": first.plan.noise_error * query.unit / max(each.unit for each in queries),
            }
            for query, answer in zip(queries, answers, strict=True)
        ],
        "cost": amount(first.cost if entry is None else first.plan.budget if raised is None else raised),
        "entry": entry,
        "repeated": first.repeated and entry is None,
        "guarantee": first.guarantee,
        "plan": plain_plan(first.plan),
        # A charge has seen what it left; what cost nothing has to look.
        "left": amount(ledger.balance(as_seen=not first.repeated).remaining),
    }


Pricing = Callable[[RegisteredTable, Caller, Mapping[str, Any]], Mapping[str, Any]]
PRICES: dict[str, Pricing] = {
    "queries": lambda dataset, caller, body: price_of_questions(dataset, caller, Questions.model_validate(body))
}
"""How each kind of request is priced, from its body."""
