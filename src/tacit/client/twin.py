"""A twin of a data set of a service: made-up records here, with the interface of the real ones there."""

import copy
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any, final

from tacit.accounting.accounts import account_for
from tacit.budget import Budget
from tacit.client.answers import ServedPrice, amount
from tacit.client.common import AnyDataset, AnyOracle, AnyPredictor
from tacit.client.points import plain_points
from tacit.client.wire import checked_key
from tacit.data.records import Records
from tacit.data.twins import made_up
from tacit.errors import InvalidParameter
from tacit.evaluation import Report, report
from tacit.evaluation.foreseen import foreseen_sketch
from tacit.kernels.interactive.predictor import InteractiveKernelPredictor
from tacit.kernels.interactive.session import PointAnswers
from tacit.models.file import load, save
from tacit.queries.oracle.oracle import Answer, StatisticalOracle
from tacit.queries.oracle.plan import Plan
from tacit.service.estimators import estimator_of, plain_of, predictor_of
from tacit.service.expected import (
    budget_of_report,
    epsilon_of_predictor,
    error_of_plan,
    error_of_predictor,
    error_of_report,
)
from tacit.service.jobs.sizes import check_work
from tacit.service.questions import queries_of
from tacit.service.sessions.points import table_of
from tacit.service.settings import Limits
from tacit.sums.plain import plain_query
from tacit.sums.query import Query


@final
class Twin(AnyDataset):
    """Made-up records that follow a data set's schema and nothing else: for writing a script before it costs.

    What is asked of them is a rehearsal from a seed, marked as not private and charged nowhere; what the service would
    not take, whatever is left, is refused here, too. `left` is what was left of the real budget when the twin was made.
    Prices are what something costs by itself: what it raises an account by that is not "basic" is known over there.
    """

    is_twin = True

    def __init__(self, facts: Mapping[str, Any], seed: int) -> None:
        super().__init__(facts)
        self.guarantee = "made-up records: nothing that is asked of them is private, and nothing is charged"
        key, unit = facts["key"], facts["unit_column"]
        records = made_up(self.schema, self.n, seed, key=key if unit is None else None, unit=unit).marked_as_twin(seed)
        split = records.split(by="index" if records.key is None else "key") if len(self.parts) > 1 else ()
        accountant, *order = facts["accountant"].split()
        self._account = account_for(self.budget, accountant, *map(float, order))
        self._records: dict[str, Records] = dict(zip(self.parts, (records, *split), strict=True))

    @property
    def left(self) -> Budget:
        """What was left of the data set's budget when this twin was made."""
        return amount(self._facts["left"])

    def records(self, part: str = "all") -> Records:
        """Return the made-up records: the real ones never leave their place."""
        return self._records[self._checked_part(part)]

    def oracle(self, part: str = "all") -> "TwinOracle":
        """Return who answers statistical queries about made-up records."""
        return TwinOracle(StatisticalOracle(self.records(part)), self)

    def fit(self, estimator: Any, part: str = "train", *, key: str | None = None) -> Any:
        """Return an estimator fitted to made-up records, by way of a model file as the real one comes."""
        checked_key(key)
        fresh, records = self._prepared(estimator_of(plain_of(estimator)), part)
        fresh.fit(records)
        with tempfile.TemporaryDirectory() as folder:
            save(fresh, Path(folder) / "twin.tacit")
            model = load(Path(folder) / "twin.tacit")
        self._served[model] = "twin"
        return model

    def report(
        self, model: Any, part: str = "test", *, epsilon: float, delta: float = 0.0, key: str | None = None
    ) -> Report:
        """Return the report on a model that `fit` returned, from made-up records."""
        checked_key(key)
        self._price_of_report(model, part, epsilon, delta, None)
        return report(model, self.records(part), epsilon=epsilon, delta=delta)

    def predictor(
        self, predictor: InteractiveKernelPredictor, part: str = "all", *, key: str | None = None
    ) -> "TwinPredictor":
        """Return the predictor, fitted to made-up records."""
        checked_key(key)
        fresh, records = self._prepared(predictor_of(plain_of(predictor)["parameters"]), part)
        return TwinPredictor(fresh.fit(records))

    def _price_of_queries(self, queries: list[Query], part: str, how: Mapping[str, Any]) -> ServedPrice:
        plan = self.oracle(part)._plan(queries, how)
        return self._priced(plan.budget, error_of_plan(plan))

    def _price_of_predictor(self, predictor: InteractiveKernelPredictor, part: str, error: float | None) -> ServedPrice:
        asked, records = copy.copy(predictor), self.records(part)
        if error is not None:
            asked.epsilon = epsilon_of_predictor(asked, records, error)
        price = self._prepared(asked, part)[0].price(records)
        return self._priced(price.budget, error_of_predictor(asked, records))

    def _price_of_report(
        self, model: Any, part: str, epsilon: float | None, delta: float, error: float | None
    ) -> ServedPrice:
        self._id_of(model)
        n = self.records(part).n
        budget = budget_of_report(n, epsilon, delta, error)
        self._account.charge(foreseen_sketch(n, budget).event, budget)
        return self._priced(budget, error_of_report(n, budget))

    def _price_of_fit(self, estimator: Any, part: str) -> ServedPrice:
        fresh, records = self._prepared(estimator_of(plain_of(estimator)), part)
        return self._priced(fresh.price(records).budget, None)

    def _prepared(self, estimator: Any, part: str) -> tuple[Any, Records]:
        """Return what may be fitted, and to what: it is not too large, and the account pays for such releases."""
        records = self.records(part)
        check_work(estimator, records)
        if self._account.kind != "basic":
            price = estimator.price(records)
            self._account.charge(price.event, price.budget)
        return estimator, records

    def _priced(self, budget: Budget, expected: Mapping[str, Any] | None) -> ServedPrice:
        return ServedPrice(budget, expected, budget <= self.left, self.left)

    def twin(self, seed: int = 0) -> "Twin":
        """Return a twin of the twin: a script may ask for one wherever it runs."""
        return self

    def __repr__(self) -> str:
        return f"<{self.name}: a twin, made-up records, NOT real>"


@final
class TwinOracle(AnyOracle):
    """Answers statistical queries about made-up records: what a service answers, and nothing else."""

    def __init__(self, oracle: StatisticalOracle, twin: Twin) -> None:
        self._oracle, self.n, self.columns = oracle, oracle.n, oracle.columns
        self._schema, self._most, self._account = twin.schema, twin.n, twin._account

    def _plan(self, queries: list[Query], how: Mapping[str, Any]) -> Plan:
        return self._oracle.preview(self._checked(queries, how), **how)

    def _answers(self, queries: list[Query], how: Mapping[str, Any], key: str | None) -> list[Answer]:
        checked_key(key)
        return self._oracle.ask_all(self._checked(queries, how), **how)

    def _checked(self, queries: list[Query], how: Mapping[str, Any]) -> list[Query]:
        """Return the queries as they come over to a service, which refuses too many and too long ones."""
        if self._account.kind == "gaussian" and not how["delta"]:
            raise InvalidParameter(
                "a 'gaussian' account pays for Gaussian noise alone, which needs delta > 0, got 0. Give a delta."
            )
        plain = [plain_query(query, self._schema.columns) for query in queries]
        return queries_of(plain, self._most, Limits().work)


@final
class TwinPredictor(AnyPredictor):
    """A predictor of made-up records: it reads points as the service does."""

    def __init__(self, predictor: InteractiveKernelPredictor) -> None:
        self._predictor = predictor
        self.release_, self.classes_, self.alpha_ = predictor.release_, predictor.classes_, predictor.alpha_
        self.n_features_in_ = predictor.n_features_in_

    def answer(self, Z: Any) -> PointAnswers:
        """Return noisy values at points, with their error bars; a point asked again keeps its answer."""
        encoder: Any = self._predictor.encoder_
        return self._predictor.answer(table_of(plain_points(Z), encoder.schema))

    @property
    def points_left_(self) -> int | None:
        """How many more different points get fresh answers; None where there is no such limit."""
        return self._predictor.points_left_

    @property
    def updates_left_(self) -> int | None:
        """How many corrections PINP has left; None for the Gaussian process, which needs none."""
        return self._predictor.updates_left_
