"""What a data set of a service and its twin have in common: the same names, called in the same way.

A script that was written on the twin runs unchanged on the records, since what the service does not offer the twin does
not offer either.
"""

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import Any
from weakref import WeakKeyDictionary

from sklearn.metrics import accuracy_score, r2_score

from tacit.budget import Budget
from tacit.client.answers import ServedPrice, amount
from tacit.client.points import plain_points
from tacit.client.wire import checked_key
from tacit.data.schema import Schema
from tacit.errors import InvalidParameter
from tacit.estimators.exact_scores import exact_score
from tacit.evaluation import Report
from tacit.kernels.interactive.predictor import InteractiveKernelPredictor
from tacit.kernels.interactive.session import PointAnswers
from tacit.queries.oracle.oracle import Answer
from tacit.queries.oracle.plan import Plan, Target
from tacit.releases import Release
from tacit.service.estimators import plain_of
from tacit.sums.query import Query


class AnyOracle(ABC):
    """Answers statistical queries about a part of some records, as `tacit.StatisticalOracle` does."""

    n: int
    columns: tuple[str, ...]

    def preview(self, queries: Sequence[Query], **how: Any) -> Plan:
        """Return how queries would be answered, with the options of `ask_all`, and at what cost; nothing is charged."""
        return self._plan(list(queries), _how(**how))

    def ask(self, query: Query, **how: Any) -> Answer:
        """Answer one query; the options are those of `ask_all`."""
        (answer,) = self.ask_all([query], **how)
        return answer

    def ask_all(
        self,
        queries: Sequence[Query],
        *,
        tolerance: float | None = None,
        epsilon: float | None = None,
        delta: float = 0.0,
        confidence: float = 0.95,
        noise_rate: float = 0.0,
        of: Target = "population",
        key: str | None = None,
    ) -> list[Answer]:
        """Answer queries fixed before any of the answers, for one charge: `tolerance` or `epsilon`, and the options of
        `StatisticalOracle.ask_all`. The same call under the same `key` is charged once.
        """
        how = _how(tolerance, epsilon, delta, confidence, noise_rate, of)
        return self._answers(list(queries), how, checked_key(key))

    @abstractmethod
    def _plan(self, queries: list[Query], how: Mapping[str, Any]) -> Plan:
        """Return the plan for these options."""

    @abstractmethod
    def _answers(self, queries: list[Query], how: Mapping[str, Any], key: str | None) -> list[Answer]:
        """Answer with these options."""


def _how(
    tolerance: float | None = None,
    epsilon: float | None = None,
    delta: float = 0.0,
    confidence: float = 0.95,
    noise_rate: float = 0.0,
    of: Target = "population",
) -> dict[str, Any]:
    """Return the options of a question by their names."""
    return {
        "tolerance": tolerance, "epsilon": epsilon, "delta": delta, "confidence": confidence, "noise_rate": noise_rate,
        "of": of,
    }  # fmt: skip


class AnyPredictor(ABC):
    """A fitted model that keeps to itself and answers points with noise: the same point has the same answer for ever.

    `release_`, `classes_` (None for numbers), `alpha_` and `n_features_in_` are as for `InteractiveKernelPredictor`.
    """

    release_: Release[str]
    classes_: Any
    alpha_: float
    n_features_in_: int

    @property
    def points_left_(self) -> int | None:
        """How many more different points get fresh answers; None where there is no such limit."""
        return self._left("points_left")

    @property
    def updates_left_(self) -> int | None:
        """How many corrections PINP has left; None for the Gaussian process, which needs none."""
        return self._left("updates_left")

    def answer(self, Z: Any) -> PointAnswers:
        """Return noisy values at points, with their error bars; a point asked again keeps its answer."""
        return self._answers(plain_points(Z))

    def predict(self, Z: Any) -> Any:
        """Return the likelier class, or the number, that the answers say; asks like `answer`."""
        values = self.answer(Z).values
        return values if self.classes_ is None else self.classes_[(values > 0).astype(int)]

    def score(self, Z: Any, y: Any) -> float:
        """Return the accuracy of the classes, or R^2 of the numbers, that the answers say, exactly: the labels y, which
        are yours and stay here, are NOT protected.
        """
        return exact_score(self, r2_score if self.classes_ is None else accuracy_score, Z, y, None)

    @abstractmethod
    def _left(self, what: str) -> int | None:
        """Return how many are left of something."""

    @abstractmethod
    def _answers(self, points: list[Any]) -> PointAnswers:
        """Answer points that are plain values."""


class AnyDataset(ABC):
    """What is public of a data set, and everything that may be asked about it."""

    is_twin: bool

    def __init__(self, facts: Mapping[str, Any]) -> None:
        self._facts = facts
        self.name: str = facts["name"]
        self.n: int = facts["n"]
        self.unit: str = facts["unit"]
        self.schema = Schema.from_toml(facts["schema"])
        self.parts: tuple[str, ...] = tuple(facts["parts"])
        self.public: tuple[str, ...] = tuple(facts["public"])
        self.budget: Budget = amount(facts["budget"])
        self.guarantee: str = facts["guarantee"]
        self._served: WeakKeyDictionary[Any, str] = WeakKeyDictionary()

    @property
    @abstractmethod
    def left(self) -> Budget:
        """What can still be spent on the data set, by everybody together."""

    @abstractmethod
    def twin(self, seed: int = 0) -> "AnyDataset":
        """Return made-up records under the same schema: everything here works with them, and nothing costs."""

    def oracle(self, part: str = "all") -> AnyOracle:
        """Return who answers statistical queries about a part of the records."""
        return self._asked(self._checked_part(part))

    def fit(self, estimator: Any, part: str = "train", *, key: str | None = None) -> Any:
        """Return an estimator fitted to a part of the records: as loaded from its model file, with its card.

        Its own parameters say what it costs (`epsilon`, `delta`). `tacit.progress()` shows how far it is.
        """
        name, model = self._fitted(plain_of(estimator), self._checked_part(part), checked_key(key))
        self._served[model] = name
        return model

    def report(
        self, model: Any, part: str = "test", *, epsilon: float, delta: float = 0.0, key: str | None = None
    ) -> Report:
        """Return the report of `tacit.evaluation.report` on a model that `fit` returned, or that an id names."""
        return self._judged(model, self._checked_part(part), epsilon, delta, checked_key(key))

    def predictor(
        self, predictor: InteractiveKernelPredictor, part: str = "all", *, key: str | None = None
    ) -> AnyPredictor:
        """Return a kernel model that stays with the records and answers points with noise, charged once."""
        return self._opened(plain_of(predictor)["parameters"], self._checked_part(part), checked_key(key))

    def price(
        self,
        what: Any,
        part: str | None = None,
        *,
        epsilon: float | None = None,
        delta: float = 0.0,
        error: float | None = None,
        **how: Any,
    ) -> ServedPrice:
        """Return what something would cost and how good it would be; nothing is charged and no record is read.

        Queries are priced with the options of `ask`, an estimator by its own parameters; a model that `fit` returned,
        given `epsilon` and `delta` or an `error` to keep, as its report; a predictor by its own parameters or, without
        an epsilon, by an `error` to keep.
        """
        asked = _how(epsilon=epsilon, delta=delta, **how)
        if isinstance(what, Query | list | tuple):
            queries = [what] if isinstance(what, Query) else list(what)
            return self._price_of_queries(queries, self._checked_part(part or "all"), asked)
        if isinstance(what, InteractiveKernelPredictor):
            return self._price_of_predictor(what, self._checked_part(part or "all"), error)
        if epsilon is not None or error is not None:
            return self._price_of_report(what, self._checked_part(part or "test"), epsilon, delta, error)
        return self._price_of_fit(plain_of(what), self._checked_part(part or "train"))

    @abstractmethod
    def _asked(self, part: str) -> AnyOracle:
        """Return who answers queries."""

    @abstractmethod
    def _fitted(self, estimator: Mapping[str, Any], part: str, key: str | None) -> tuple[str, Any]:
        """Fit, and return what to call the model, and the model as loaded from its file."""

    @abstractmethod
    def _judged(self, model: Any, part: str, epsilon: float, delta: float, key: str | None) -> Report:
        """Return the report on a model."""

    @abstractmethod
    def _opened(self, parameters: Mapping[str, Any], part: str, key: str | None) -> AnyPredictor:
        """Return a predictor with these parameters."""

    @abstractmethod
    def _price_of_queries(self, queries: list[Query], part: str, how: Mapping[str, Any]) -> ServedPrice:
        """Return what queries would cost."""

    @abstractmethod
    def _price_of_predictor(self, predictor: InteractiveKernelPredictor, part: str, error: float | None) -> ServedPrice:
        """Return what all answers of a predictor would cost."""

    @abstractmethod
    def _price_of_report(
        self, model: Any, part: str, epsilon: float | None, delta: float, error: float | None
    ) -> ServedPrice:
        """Return what the report on a model would cost."""

    @abstractmethod
    def _price_of_fit(self, estimator: Mapping[str, Any], part: str) -> ServedPrice:
        """Return what a fit would cost."""

    def _id_of(self, model: Any) -> str:
        """Return the id of a model that was fitted to these records."""
        served = model if isinstance(model, str) else self._served.get(model)
        if served is None:
            raise InvalidParameter("the service scores models that it fitted itself: dataset.fit(...) returns one.")
        return served

    def _checked_part(self, part: str) -> str:
        """Return a part that there is."""
        if part not in self.parts:
            raise InvalidParameter(f"part must be one of {', '.join(self.parts)}, got {part!r}.")
        return part
