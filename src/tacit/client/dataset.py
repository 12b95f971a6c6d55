"""A data set of a service: its records stay there, and everything that may be asked about them goes there."""

import time
from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Any, final

import numpy as np

from tacit.budget import Budget
from tacit.client.answers import ServedPrice, amount, point_answers
from tacit.client.common import AnyDataset, AnyOracle, AnyPredictor
from tacit.client.twin import Twin
from tacit.client.wire import Wire, charged_once, named
from tacit.evaluation import Report
from tacit.kernels.interactive.predictor import InteractiveKernelPredictor
from tacit.kernels.interactive.session import PointAnswers
from tacit.models.file import load_bytes
from tacit.numerics.progress import told
from tacit.queries.oracle.oracle import Answer
from tacit.queries.oracle.plan import Plan
from tacit.service.estimators import plain_of
from tacit.service.plain import plan_of, predictor_facts, report_of
from tacit.sums.plain import plain_query
from tacit.sums.query import Query

_FIRST_LOOK, _SLOWEST_LOOK = 0.1, 5.0


@final
class Dataset(AnyDataset):
    """Records that stay with the service. `twin()` is the same interface over made-up ones."""

    is_twin = False

    def __init__(self, wire: Wire, facts: dict[str, Any]) -> None:
        super().__init__(facts)
        self._wire = wire

    @property
    def left(self) -> Budget:
        """What can still be spent on this data set, by everybody together."""
        return amount(self._wire.get("datasets", self.name)["left"])

    def twin(self, seed: int = 0) -> Twin:
        """Return made-up records under the same schema: everything here works with them, and nothing costs."""
        return Twin(self._facts, seed)

    def _asked(self, part: str) -> AnyOracle:
        return ServedOracle(self._wire, self, part)

    def _fitted(self, estimator: Mapping[str, Any], part: str, key: str | None) -> tuple[str, Any]:
        with charged_once(key) as key:
            model = str(self._job("fits", {**estimator, "part": part}, key)["model"])
            return model, load_bytes(self._wire.patient.file("models", model))

    def _judged(self, model: Any, part: str, epsilon: float, delta: float, key: str | None) -> Report:
        body = {"model": self._id_of(model), "part": part, "epsilon": epsilon, "delta": delta}
        with charged_once(key) as key:
            return report_of(self._job("reports", body, key)["released"])

    def _opened(self, parameters: Mapping[str, Any], part: str, key: str | None) -> AnyPredictor:
        with charged_once(key) as key:
            return ServedPredictor(self._wire, self._job("sessions", {"parameters": parameters, "part": part}, key))

    def _price_of_queries(self, queries: list[Query], part: str, how: Mapping[str, Any]) -> ServedPrice:
        return _price(self._quoted("queries", part, queries=self._plain(queries), **how))

    def _price_of_predictor(self, predictor: InteractiveKernelPredictor, part: str, error: float | None) -> ServedPrice:
        return _price(self._quoted("session", part, parameters=plain_of(predictor)["parameters"], error=error))

    def _price_of_report(
        self, model: Any, part: str, epsilon: float | None, delta: float, error: float | None
    ) -> ServedPrice:
        return _price(self._quoted("report", part, model=self._id_of(model), epsilon=epsilon, delta=delta, error=error))

    def _price_of_fit(self, estimator: Mapping[str, Any], part: str) -> ServedPrice:
        return _price(self._quoted("fit", part, **estimator))

    def _quoted(self, what: str, part: str, **how: Any) -> dict[str, Any]:
        """Return what the service says of a price."""
        return dict(self._wire.post("datasets", self.name, "price", body={"what": what, "part": part, **how}))

    def _plain(self, queries: Sequence[Query]) -> list[dict[str, Any]]:
        return [plain_query(query, self.schema.columns) for query in queries]

    def _job(self, kind: str, body: Mapping[str, Any], key: str) -> dict[str, Any]:
        """Have something done, wait for it, and return its result."""
        job = self._wire.post("datasets", self.name, kind, body=body, key=key)["job"]
        pause = _FIRST_LOOK
        while job["state"] in ("waiting", "running"):
            time.sleep(pause)
            pause = min(2 * pause, _SLOWEST_LOOK)
            job = self._wire.patient.get("jobs", job["id"])["job"]
            if job["total"]:
                told(job["done"], job["total"])
        if job["state"] != "done":
            error = job["error"] or {"kind": "ServiceError", "message": f"it was {job['state']}."}
            raise named(str(error["kind"]), str(error["message"]), job["charged"])
        return dict(job["result"])

    def __repr__(self) -> str:
        return f"<{self.name}: {self.n} {self.unit}s, {self.guarantee}>"


def _price(told_: Mapping[str, Any]) -> ServedPrice:
    return ServedPrice(amount(told_["cost"]), told_["expected_error"], bool(told_["affordable"]), amount(told_["left"]))


@final
class ServedOracle(AnyOracle):
    """Answers statistical queries as `tacit.StatisticalOracle` does, over there."""

    def __init__(self, wire: Wire, dataset: Dataset, part: str) -> None:
        self._wire, self._dataset, self._part = wire, dataset, part
        self.columns = tuple(dataset.schema.columns)

    @cached_property
    def n(self) -> int:  # type: ignore[override]
        """The number of records, or of persons, of the part: every price of scores tells it."""
        if self._part == "all":
            return self._dataset.n
        # With a delta: accounts of every kind price Gaussian noise.
        return int(self._dataset._quoted("report", self._part, epsilon=1.0, delta=1e-9)["n"])

    def _plan(self, queries: list[Query], how: Mapping[str, Any]) -> Plan:
        return plan_of(
            self._dataset._quoted("queries", self._part, queries=self._dataset._plain(queries), **how)["plan"]
        )

    def _answers(self, queries: list[Query], how: Mapping[str, Any], key: str | None) -> list[Answer]:
        body = {"queries": self._dataset._plain(queries), "part": self._part, **how}
        with charged_once(key) as key:
            told_ = self._wire.post("datasets", self._dataset.name, "queries", body=body, key=key)
            cost, plan = amount(told_["cost"]), plan_of(told_["plan"])
            return [
                Answer(
                    each["value"] if np.ndim(each["value"]) == 0 else np.array(each["value"], dtype=np.float64),
                    each["tolerance"], each["confidence"], cost, plan, True, bool(told_["repeated"]),
                )
                for each in told_["answers"]
            ]  # fmt: skip


@final
class ServedPredictor(AnyPredictor):
    """A model that stays with the service: points go there, values with error bars come back, always the same.

    `session` is its name there.
    """

    def __init__(self, wire: Wire, facts: Mapping[str, Any]) -> None:
        self._wire, self.session = wire, str(facts["session"])
        vars(self).update(predictor_facts(facts["released"]))

    def _answers(self, points: list[Any]) -> PointAnswers:
        return point_answers(self._wire.post("sessions", self.session, "answers", body={"points": points}))

    def _left(self, what: str) -> int | None:
        left: int | None = self._wire.get("sessions", self.session)[what]
        return left
