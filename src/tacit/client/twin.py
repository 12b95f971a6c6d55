"""A twin of a data set of a service: made-up records here, with the interface of the real ones there."""

import copy
from collections.abc import Mapping
from typing import Any, final

from tacit.accounting.accounts import account_for
from tacit.budget import Budget
from tacit.client.answers import ServedPrice, amount
from tacit.client.common import AnyDataset, AnyOracle, AnyPredictor
from tacit.data.records import Records
from tacit.data.twins import made_up
from tacit.errors import InvalidParameter
from tacit.evaluation import Report, report
from tacit.evaluation.foreseen import foreseen_sketch
from tacit.kernels.interactive.predictor import InteractiveKernelPredictor
from tacit.kernels.interactive.session import PointAnswers
from tacit.models.file import bytes_of, load_bytes
from tacit.queries.oracle.oracle import Answer, StatisticalOracle
from tacit.queries.oracle.plan import Plan
from tacit.service.estimators import estimator_of, predictor_of
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

    def _asked(self, part: str) -> AnyOracle:
        return TwinOracle(StatisticalOracle(self._records[part]), self)

    def _fitted(self, estimator: Mapping[str, Any], part: str, key: str | None) -> tuple[str, Any]:
        fresh, records = self._prepared(estimator_of(estimator), part)
        return "twin", load_bytes(b"".join(bytes_of(fresh.fit(records))))

    def _judged(self, model: Any, part: str, epsilon: float, delta: float, key: str | None) -> Report:
        self._price_of_report(model, part, epsilon, delta, None)
        return report(model, self._records[part], epsilon=epsilon, delta=delta)

    def _opened(self, parameters: Mapping[str, Any], part: str, key: str | None) -> AnyPredictor:
        fresh, records = self._prepared(predictor_of(parameters), part)
        return TwinPredictor(fresh.fit(records))

    def _price_of_queries(self, queries: list[Query], part: str, how: Mapping[str, Any]) -> ServedPrice:
        plan = self._asked(part)._plan(queries, how)
        return self._priced(plan.budget, error_of_plan(plan))

    def _price_of_predictor(self, predictor: InteractiveKernelPredictor, part: str, error: float | None) -> ServedPrice:
        asked, records = copy.copy(predictor), self._records[part]
        if error is not None:
            asked.epsilon = epsilon_of_predictor(asked, records, error)
        price = self._prepared(asked, part)[0].price(records)
        return self._priced(price.budget, error_of_predictor(asked, records))

    def _price_of_report(
        self, model: Any, part: str, epsilon: float | None, delta: float, error: float | None
    ) -> ServedPrice:
        self._id_of(model)
        n = self._records[part].n
        budget = budget_of_report(n, epsilon, delta, error)
        self._account.charge(foreseen_sketch(n, budget).event, budget)
        return self._priced(budget, error_of_report(n, budget))

    def _price_of_fit(self, estimator: Mapping[str, Any], part: str) -> ServedPrice:
        fresh, records = self._prepared(estimator_of(estimator), part)
        return self._priced(fresh.price(records).budget, None)

    def _prepared(self, estimator: Any, part: str) -> tuple[Any, Records]:
        """Return what may be fitted, and to what: it is not too large, and the account pays for such releases."""
        records = self._records[part]
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

    def _answers(self, points: list[Any]) -> PointAnswers:
        encoder: Any = self._predictor.encoder_
        return self._predictor.answer(table_of(points, encoder.schema))

    def _left(self, what: str) -> int | None:
        left: int | None = getattr(self._predictor, f"{what}_")
        return left
