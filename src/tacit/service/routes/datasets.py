"""Data sets: what is public of them, made-up records to write an analysis on, and registering a new one."""

import csv
import io
from typing import Annotated, Any, Literal

from fastapi import APIRouter, Query, Request, Response
from pydantic import ConfigDict, Field
from starlette.requests import ClientDisconnect

from tacit.budget import Budget
from tacit.data.schema import Schema
from tacit.data.twins import made_up_table
from tacit.service.access import Anyone, Custodian, TheService
from tacit.service.asking import Body
from tacit.service.blocks import TimeBlock
from tacit.service.refusals import missing
from tacit.service.registering import Accountant, Declared, register
from tacit.service.sources import Place, take_in
from tacit.service.tokens import Caller

router = APIRouter(prefix="/v1", tags=["data sets"])

_MOST_ROWS = 100_000


@router.get("/datasets")
def listed(service: TheService, caller: Anyone) -> dict[str, Any]:
    """List the data sets that the token is for, with what is spent and left of each."""
    return {"datasets": [dataset.summary(caller) for dataset in service.datasets.seen_by(caller)]}


@router.get("/datasets/{name}")
def one(name: str, service: TheService, caller: Anyone) -> dict[str, Any]:
    """Tell all that is public of a data set."""
    return service.datasets.of(caller, name).facts(caller)


@router.get("/datasets/{name}/twin", response_class=Response, responses={200: {"content": {"text/csv": {}}}})
def twin(
    name: str,
    service: TheService,
    caller: Anyone,
    rows: Annotated[int, Query(ge=1, le=_MOST_ROWS)] = 1000,
    seed: Annotated[int, Query(ge=0, lt=2**31)] = 0,
) -> Response:
    """Return made-up records under the data set's schema, to write and try an analysis on: nothing of the real ones."""
    schema = service.datasets.of(caller, name).schema
    cells = made_up_table(schema, rows, seed)
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(cells)
    writer.writerows(zip(*(column.tolist() for column in cells.values()), strict=True))
    return Response(text.getvalue(), media_type="text/csv", headers={"X-Tacit-Twin": "made-up"})


class Amount(Body):
    """An epsilon and a delta, as numbers or as exact texts such as "1/3"."""

    epsilon: float | str
    delta: float | str = 0.0

    @property
    def budget(self) -> Budget:
        """The same as the library has it."""
        return Budget.parse(f"epsilon={self.epsilon}, delta={self.delta}")


class BlockOf(Body):
    """A block of growing data: the records of a series whose moment lies from `low` on and before `high`."""

    series: str = Field(pattern="^[a-z0-9][a-z0-9_-]{0,62}$")
    column: str = Field(max_length=1000)
    low: str = Field(max_length=40)
    high: str = Field(max_length=40)


class Registered(Body):
    """What a custodian declares about a table, and signs."""

    model_config = ConfigDict(
        json_schema_extra={
            "examples": [
                {
                    "name": "visits",
                    "source": {"file": "visits.csv"},
                    "schema": "[columns.age]\nkind = 'number'\nlow = 0\nhigh = 120\n",
                    "budget": {"epsilon": 1, "delta": 1e-6},
                    "signed_by": "Carol",
                }
            ]
        },
    )

    name: str = Field(max_length=63)
    source: dict[str, str] = Field(max_length=2)
    schema_text: str = Field(alias="schema", max_length=500_000)
    budget: Amount
    signed_by: str = Field(max_length=1000)
    unit: str | None = Field(default=None, max_length=1000)
    key: str | None = Field(default=None, max_length=1000)
    accountant: Accountant = "basic"
    shares: dict[str, Annotated[float, Field(allow_inf_nan=False)]] = Field(default_factory=dict, max_length=10_000)
    public: list[str] = Field(default_factory=list, max_length=100)
    block_of: BlockOf | None = None
    shares_ledger_with: str | None = Field(default=None, max_length=63)

    @property
    def declared(self) -> Declared:
        """The same as the library has it."""
        schema = Schema.from_toml(self.schema_text)
        block = None if self.block_of is None else TimeBlock.declared(self.block_of.model_dump(), schema)
        named = ("name", "signed_by", "unit", "key", "accountant", "shares", "public", "shares_ledger_with")
        given = {each: getattr(self, each) for each in named}
        return Declared(schema=schema, budget=self.budget.budget, block=block, **given)


@router.post("/datasets", status_code=201)
def registered(body: Registered, service: TheService, caller: Custodian) -> dict[str, Any]:
    """Read, clean and keep a table, and open its account: from then on it is only answered about."""
    place = Place.of(body.source, service.settings)
    declared = named_by(caller, body).declared
    register(declared, place, service.state, service.settings, by=caller.name, sees=caller.sees)
    return service.datasets.get(body.name).facts(caller)


def named_by(caller: Caller, body: Registered) -> Registered:
    """Return what is declared if it names only data sets that a custodian's token is for."""
    shared = body.shares_ledger_with
    if not caller.sees(body.name) or not (shared is None or caller.sees(shared)):
        raise missing("data set")
    return body


_FILE = {"text/csv": {"schema": {"type": "string"}, "example": "age,ill\n61,yes\n34,no\n"}}


@router.post("/uploads", status_code=201, openapi_extra={"requestBody": {"content": _FILE}})
async def upload(
    request: Request, service: TheService, caller: Custodian, form: Literal["csv", "parquet"] = "csv"
) -> dict[str, str]:
    """Take in a file to register, as the body of the request; it is removed when it was."""
    try:
        return {"upload": await take_in(request.stream(), form, service.settings)}
    except ClientDisconnect:
        raise missing("end to this file: it broke off, or is larger than it said. There is no such file") from None
