"""A data set of a service: what is public of it, and everything that may be asked about it."""

import tempfile
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, final
from weakref import WeakKeyDictionary

import numpy as np

from tacit.budget import Budget
from tacit.client.answers import ServedAnswer, ServedPrice, ServedReport, amount, point_answers
from tacit.client.twin import Twin
from tacit.client.wire import Wire, named
from tacit.data.schema import Schema
from tacit.errors import InvalidParameter
from tacit.kernels.interactive.predictor import InteractiveKernelPredictor
from tacit.kernels.interactive.session import PointAnswers
from tacit.models.file import load
from tacit.numerics.progress import told
from tacit.service.estimators import plain_of as plain_estimator
from tacit.sums.plain import plain_query
from tacit.sums.query import Query

_FIRST_LOOK, _SLOWEST_LOOK = 0.1, 5.0


@final
class Dataset:
    """Records that stay with the service. `twin()` is the same interface over made-up ones."""

    is_twin = False

    def __init__(self, wire: Wire, facts: dict[str, Any]) -> None:
        self._wire, self._facts = wire, facts
        self.name: str = facts["name"]
        self.n: int = facts["n"]
        self.unit: str = facts["unit"]
        self.schema = Schema.from_toml(facts["schema"])
        self.parts: tuple[str, ...] = tuple(facts["parts"])
        self.public: tuple[str, ...] = tuple(facts["public"])
        self.guarantee: str = facts["guarantee"]
        self.budget: Budget = amount(facts["budget"])
        self._served: WeakKeyDictionary[Any, str] = WeakKeyDictionary()

    @property
    def left(self) -> Budget:
        """What can still be spent on this data set, by everybody together."""
        return amount(self._wire.get("datasets", self.name)["left"])

    def twin(self, seed: int = 0) -> Twin:
        """Return made-up records under the same schema: everything here works with them, and nothing costs."""
        return Twin(self.name, self.schema, self.n, self._facts["key"], self._facts["unit_column"], seed)

    def oracle(self, part: str = "all") -> "ServedOracle":
        """Return who answers statistical queries about a part of the records."""
        return ServedOracle(self._wire, self, part)

    def fit(self, estimator: Any, part: str = "train", *, key: str | None = None) -> Any:
        """Return an estimator fitted to the records over there: loaded from its model file, with its card.

        Its own parameters say what it costs (`epsilon`, `delta`). `tacit.progress()` shows how far it is.
        """
        body = {**plain_estimator(estimator), "part": part}
        made = self._job("fits", body, key)
        model = self._loaded(str(made["model"]))
        self._served[model] = str(made["model"])
        return model

    def report(
        self, model: Any, part: str = "test", *, epsilon: float, delta: float = 0.0, key: str | None = None
    ) -> ServedReport:
        """Return the scores of a model that `fit` returned, or that an id names, on records it was not fitted to."""
        served = model if isinstance(model, str) else self._served.get(model)
        if served is None:
            raise InvalidParameter("the service scores models that it fitted itself: dataset.fit(...) returns one.")
        body = {"model": served, "part": part, "epsilon": epsilon, "delta": delta}
        return ServedReport(self._job("reports", body, key)["report"])

    def predictor(
        self, predictor: InteractiveKernelPredictor, part: str = "all", *, key: str | None = None
    ) -> "ServedPredictor":
        """Return a kernel model that stays with the service and answers points with noise, charged once."""
        body = {"parameters": plain_estimator(predictor)["parameters"], "part": part}
        return ServedPredictor(self._wire, str(self._job("sessions", body, key)["session"]))

    def price(self, what: Any, part: str | None = None, **how: Any) -> ServedPrice:
        """Return what queries, or the fit of an estimator, would cost; nothing is charged and no record is read."""
        if isinstance(what, Query):
            what = [what]
        if isinstance(what, Sequence):
            body = {"what": "queries", "queries": [plain_query(query, self.schema.columns) for query in what], **how}
        elif isinstance(what, InteractiveKernelPredictor):
            body = {"what": "session", "parameters": plain_estimator(what)["parameters"], **how}
        else:
            body = {"what": "fit", **plain_estimator(what), **how}
        if part is not None:
            body["part"] = part
        told_ = self._wire.post("datasets", self.name, "price", body=body)
        return ServedPrice(
            amount(told_["cost"]), told_["expected_error"], bool(told_["affordable"]), amount(told_["left"])
        )

    def _job(self, kind: str, body: Mapping[str, Any], key: str | None) -> dict[str, Any]:
        """Have something done, wait for it, and return its result."""
        job = self._wire.post("datasets", self.name, kind, body=body, key=key)["job"]
        pause = _FIRST_LOOK
        while job["state"] in ("waiting", "running"):
            time.sleep(pause)
            pause = min(2 * pause, _SLOWEST_LOOK)
            job = self._wire.get("jobs", job["id"])["job"]
            if job["total"]:
                told(job["done"], job["total"])
        if job["state"] != "done":
            error = job["error"] or {"kind": "ServiceError", "message": f"it was {job['state']}."}
            charged = "It was charged." if job["charged"] else "Nothing was charged."
            raise named(str(error["kind"]), f"{error['message'].removesuffix(charged).strip()} {charged}")
        return dict(job["result"])

    def _loaded(self, model: str) -> Any:
        content = self._wire.file("models", model)
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "served.tacit"
            path.write_bytes(content)
            return load(path)

    def __repr__(self) -> str:
        return f"<{self.name}: {self.n} {self.unit}s, {self.guarantee}>"


@final
class ServedOracle:
    """Answers statistical queries as `tacit.StatisticalOracle` does, over there."""

    def __init__(self, wire: Wire, dataset: Dataset, part: str) -> None:
        self._wire, self._dataset, self._part = wire, dataset, part

    @property
    def columns(self) -> tuple[str, ...]:
        """The names of the columns that can be asked about."""
        return tuple(self._dataset.schema.columns)

    def preview(self, queries: Sequence[Query], **how: Any) -> ServedPrice:
        """Return what the queries would cost together, and how far off they may be."""
        return self._dataset.price(list(queries), self._part, **how)

    def ask(self, query: Query, **how: Any) -> ServedAnswer:
        """Answer one query; the options are those of `ask_all`."""
        (answer,) = self.ask_all([query], **how)
        return answer

    def ask_all(self, queries: Sequence[Query], *, key: str | None = None, **how: Any) -> list[ServedAnswer]:
        """Answer queries fixed before any of the answers, for one charge: `tolerance` or `epsilon`, and the options of
        `StatisticalOracle.ask_all`.
        """
        listed = list(queries)
        plain = [plain_query(query, self._dataset.schema.columns) for query in listed]
        body = {"queries": plain, "part": self._part, **how}
        told_ = self._wire.post("datasets", self._dataset.name, "queries", body=body, key=key)
        cost = amount(told_["cost"])
        return [
            ServedAnswer(
                each["value"] if np.ndim(each["value"]) == 0 else np.array(each["value"], dtype=np.float64),
                each["tolerance"], each["confidence"], cost, told_["guarantee"], bool(told_["repeated"]),
            )
            for each in told_["answers"]
        ]  # fmt: skip


@final
class ServedPredictor:
    """A model that stays with the service: points go there, values with error bars come back, always the same."""

    def __init__(self, wire: Wire, session: str) -> None:
        self._wire, self.session = wire, session

    def answer(self, Z: Any) -> PointAnswers:
        """Return noisy values at points, with their error bars; a point asked again keeps its answer."""
        return point_answers(self._answered(Z))

    @property
    def points_left_(self) -> int | None:
        """How many more different points get fresh answers; None where there is no such limit."""
        left: int | None = self._wire.get("sessions", self.session)["points_left"]
        return left

    def _answered(self, Z: Any) -> Mapping[str, Any]:
        body = {"points": _points(Z)}
        found: Mapping[str, Any] = self._wire.post("sessions", self.session, "answers", body=body)
        return found


def _points(Z: Any) -> list[Any]:
    """Return points as plain values: rows of a table by the names of its columns, or rows of numbers."""
    if hasattr(Z, "to_dicts"):
        return [_row(row) for row in Z.to_dicts()]
    if hasattr(Z, "to_dict") and hasattr(Z, "columns"):
        return [_row(row) for row in Z.to_dict("records")]
    if isinstance(Z, Mapping):
        columns = [list(Z[name]) for name in Z]
        return [_row(dict(zip(Z, cells, strict=True))) for cells in zip(*columns, strict=True)]
    if isinstance(Z, list | tuple) and all(isinstance(row, Mapping) for row in Z):
        return [_row(row) for row in Z]
    return [list(map(_cell, row)) for row in np.asarray(Z).tolist()]


def _row(row: Mapping[str, Any]) -> dict[str, Any]:
    return {str(name): _cell(cell) for name, cell in row.items()}


def _cell(cell: Any) -> Any:
    """Return a cell that JSON can hold: what is missing as null, moments as text."""
    plain = cell.item() if isinstance(cell, np.generic) else cell
    if plain is None or (isinstance(plain, float) and plain != plain):
        return None
    return plain if isinstance(plain, bool | int | float | str) else str(plain)
