"""A data set on a page: what is public of it, a question, its price, its answer."""

from collections.abc import Mapping, Sequence
from typing import Any

from fastapi import APIRouter, Request, Response
from pydantic import ValidationError

from tacit.data.column_words import column_in_words
from tacit.data.columns import Ignored, Key, Moment, Number
from tacit.data.levels import Flag, Levelled
from tacit.data.schema import Schema
from tacit.errors import InvalidParameter, TacitError
from tacit.noise import unique_name
from tacit.service.access import TheService
from tacit.service.asking import Questions, ask, price_of_questions
from tacit.service.datasets import RegisteredTable
from tacit.service.pages.forms import Fields, PageRoute, SignedIn, beside, number_of, text_of
from tacit.service.pages.pictures import answer_picture
from tacit.service.pages.rendering import metered, page
from tacit.service.refusals import forbidden
from tacit.service.requests import checked_key
from tacit.service.routes import datasets
from tacit.service.tokens import Caller
from tacit.sums.language.text import written

router = APIRouter(prefix="/datasets/{name}", route_class=PageRoute)

_USUAL = {
    "question": "", "epsilon": "0.1", "tolerance": "", "low": "", "high": "", "delta": "0", "part": "all",
    "of": "population", "kind": "mean",
}  # fmt: skip
_KINDS = [("mean", "shares, or means of numbers"), ("histogram", "the share of each level of columns")]
_PARTS = {"all": "all of them", "train": "the part for training", "test": "the part for tests"}


@router.get("")
def shown(name: str, request: Request, service: TheService, caller: SignedIn) -> Response:
    """Show what may be asked."""
    dataset = service.datasets.of(caller, name)
    return _page(request, dataset, caller, usual_of(dataset, _USUAL))


@router.get("/twin")
def twin(name: str, service: TheService, caller: SignedIn) -> Response:
    """Give made-up records under the data set's schema, as a file."""
    found = datasets.twin(name, service, caller)
    found.headers["Content-Disposition"] = f'attachment; filename="{name}-twin.csv"'
    return found


@router.post("")
def asked(name: str, request: Request, service: TheService, caller: SignedIn, fields: Fields) -> Response:
    """Tell what a question would cost, or answer it."""
    dataset = service.datasets.of(caller, name)
    given = {each: text_of(fields, each, usual) for each, usual in usual_of(dataset, _USUAL).items()}
    key, is_price = text_of(fields, "key"), text_of(fields, "action") == "price"
    more: dict[str, Any]
    try:
        questions = _questions(given, dataset.schema)
        if is_price:
            more = {"price": price_of_questions(dataset, caller, questions), "key": key}
        elif caller.scope != "analyst":
            raise forbidden(caller.scope)
        else:
            told = ask(service.state, caller, checked_key(key), dataset, questions)
            more = {"answer": _answer(told, questions.queries)}
    except TacitError as error:
        more = beside(error, key, priced=is_price)
    return _page(request, dataset, caller, given, **more)


def parts_of(dataset: RegisteredTable) -> list[tuple[str, str]]:
    """Return the parts of a data set, in words."""
    return [(part, _PARTS.get(part, part)) for part in dataset.document["parts"]]


def usual_of(dataset: RegisteredTable, usual: Mapping[str, str]) -> dict[str, str]:
    """Return what a form holds at first: where the account pays for Gaussian noise alone, the delta that it needs."""
    account = dataset.account
    return {**usual, "delta": f"{account.budget.delta:g}"} if account.accountant == "gaussian" else dict(usual)


def _questions(given: Mapping[str, str], schema: Schema) -> Questions:
    lines = [line.strip() for line in given["question"].splitlines() if line.strip()]
    ask_one = _histogram if given["kind"] == "histogram" else _mean
    tolerance = number_of(given, "tolerance")
    body = {
        "queries": [ask_one(line, given, schema) for line in lines],
        "tolerance": tolerance,
        "epsilon": number_of(given, "epsilon") if tolerance is None else None,
        "delta": number_of(given, "delta", 0.0),
        "part": given["part"],
        "of": given["of"],
    }
    try:
        return Questions.model_validate(body)
    except ValidationError:
        raise InvalidParameter("this form has another form than a question's. Reload the page.") from None


def _mean(question: str, given: Mapping[str, str], schema: Schema) -> dict[str, Any]:
    low, high = _declared_range(question, schema)
    return {"mean": question, "low": number_of(given, "low", low), "high": number_of(given, "high", high)}


def _histogram(name: str, given: Mapping[str, str], schema: Schema) -> dict[str, Any]:
    """Return the question for the share of each declared level of a column."""
    column = schema.columns.get(name)
    if not isinstance(column, Levelled) or isinstance(column, Moment):
        raise InvalidParameter("the share of each level is of columns that declare levels or are flags: one on a line.")
    levels = [True, False] if isinstance(column, Flag) else list(column.classes)
    return {"histogram": written(name), "levels": levels}


def _declared_range(question: str, schema: Schema) -> tuple[float, float]:
    """Return between which values a question's numbers lie if nothing else is said: what was declared of a column."""
    column = schema.columns.get(question)
    return (column.low, column.high) if isinstance(column, Number) else (0.0, 1.0)


def _answer(told: Mapping[str, Any], queries: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    numbers = [
        {
            "name": name,
            "shown": f"{value:.4g}",
            "near": f"{near:.2g}",
            "picture": answer_picture(value, near, low, high),
        }
        for query, answer in zip(queries, told["answers"], strict=True)
        for name, value, near, low, high in _numbers(query, answer)
    ]
    return {**told, "numbers": numbers, "sure": f"{100 * told['answers'][0]['confidence']:g} times in 100"}


def _numbers(query: Mapping[str, Any], answer: Mapping[str, Any]) -> list[tuple[str, float, float, float, float]]:
    """Return every number of an answer: what it is, its value and error, and the range that it can have."""
    near = float(answer["tolerance"])
    if "mean" in query:
        return [(query["mean"], float(answer["value"]), near, float(query["low"]), float(query["high"]))]
    pairs = zip(query["levels"], answer["value"], strict=True)
    return [(f"{query['histogram']}: {_level(level)}", float(share), near, 0.0, 1.0) for level, share in pairs]


def _level(level: Any) -> str:
    return {True: "yes", False: "no"}[level] if isinstance(level, bool) else str(level)


def dataset_page(
    request: Request, template: str, dataset: RegisteredTable, caller: Caller, *, key: str = "", **more: Any
) -> Response:
    """Return a page about a data set, with a form that asks under a key of its own."""
    facts = metered(dataset.facts(caller))
    usual = {"facts": facts, "parts": parts_of(dataset), "key": key or unique_name(), "price": None}
    return page(request, template, dataset.name, **{**usual, **more})


def _page(
    request: Request, dataset: RegisteredTable, caller: Caller, given: Mapping[str, str], **more: Any
) -> Response:
    columns = [
        (name, column_in_words(column))
        for name, column in dataset.schema.columns.items()
        if not isinstance(column, (Key, Ignored))
    ]
    return dataset_page(
        request, "ask", dataset, caller, given=given, columns=columns, kinds=_KINDS, script=_script(dataset),
        example=_example(dataset.schema), **{"answer": None, **more},
    )  # fmt: skip


def _example(schema: Schema) -> str:
    """Return a question about the first columns: a middle of what was declared, which says nothing of records."""
    found = []
    for name, column in schema.columns.items():
        if isinstance(column, Number):
            found.append(f"{written(name)} > {(column.low + column.high) / 2:g}")
        elif isinstance(column, Flag):
            found.append(written(name))
        elif isinstance(column, Levelled) and not isinstance(column, Moment):
            found.append(f"{written(name)} == {column.classes[0]!r}")
    return " and ".join(found[:2])


def _script(dataset: RegisteredTable) -> str:
    question = _example(dataset.schema)
    return (
        "from tacit import Client, PrivateLogisticRegression, StatisticalQuery\n\n"
        f'data = Client("https://this-address").dataset("{dataset.name}")  # the token: TACIT_TOKEN\n'
        "data = data.twin()  # made-up records; leave this line out when the script is ready\n"
        f"print(data.oracle().ask(StatisticalQuery({question!r}), epsilon=0.1))\n"
        "print(data.fit(PrivateLogisticRegression(epsilon=0.5)).release_.guarantee)\n"
    )
