"""A twin of a data set of a service: made-up records here, with the interface of the real ones there."""

import copy
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any, final

from tacit.budget import Budget
from tacit.client.answers import ServedPrice, amount
from tacit.client.common import AnyDataset, AnyOracle, AnyPredictor
from tacit.client.points import plain_points
from tacit.data.records import Records
from tacit.data.twins import made_up
from tacit.evaluation import Report, report
from tacit.kernels.interactive.predictor import InteractiveKernelPredictor
from tacit.kernels.interactive.session import PointAnswers
from tacit.models.file import load, save
from tacit.queries.oracle.oracle import Answer, StatisticalOracle
from tacit.queries.oracle.plan import Plan
from tacit.service.estimators import estimator_of, plain_of, predictor_of
from tacit.service.expected import (
    epsilon_of_predictor,
    epsilon_of_report,
    error_of_plan,
    error_of_predictor,
    error_of_report,
)
from tacit.service.jobs.fits import check_work
from tacit.service.sessions.points import table_of
from tacit.sums.query import Query


@final
class Twin(AnyDataset):
    """Made-up records that follow a data set's schema and nothing else: for writing a script before it costs.

    What is asked of them is a rehearsal from a seed, marked as not private and charged nowhere; what the service would
    not take is refused here, too. `left` is what was left of the real budget when the twin was made.
    """

    is_twin = True

    def __init__(self, facts: Mapping[str, Any], seed: int) -> None:
        super().__init__(facts)
        self.guarantee = "made-up records: nothing that is asked of them is private, and nothing is charged"
        key, unit = facts["key"], facts["unit_column"]
        records = made_up(self.schema, self.n, seed, key=key if unit is None else None, unit=unit).marked_as_twin(seed)
        split = records.split(by="index" if records.key is None else "key") if len(self.parts) > 1 else ()
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
        return TwinOracle(StatisticalOracle(self.records(part)))

    def fit(self, estimator: Any, part: str = "train", *, key: str | None = None) -> Any:
        """Return an estimator fitted to made-up records, by way of a model file as the real one comes."""
        fresh, records = estimator_of(plain_of(estimator)), self.records(part)
        check_work(fresh, records)
        fresh.fit(records)
        with tempfile.TemporaryDirectory() as folder:
            save(fresh, Path(folder) / "twin.tacit")
            return load(Path(folder) / "twin.tacit")

    def report(
        self, model: Any, part: str = "test", *, epsilon: float, delta: float = 0.0, key: str | None = None
    ) -> Report:
        """Return the report on a model, from made-up records."""
        return report(model, self.records(part), epsilon=epsilon, delta=delta)

    def predictor(
        self, predictor: InteractiveKernelPredictor, part: str = "all", *, key: str | None = None
    ) -> "TwinPredictor":
        """Return the predictor, fitted to made-up records."""
        fresh, records = predictor_of(plain_of(predictor)["parameters"]), self.records(part)
        check_work(fresh, records)
        return TwinPredictor(fresh.fit(records))

    def _price_of_queries(self, queries: list[Query], part: str, how: Mapping[str, Any]) -> ServedPrice:
        plan = self.oracle(part)._plan(queries, how)
        return self._priced(plan.budget, error_of_plan(plan))

    def _price_of_predictor(self, predictor: InteractiveKernelPredictor, part: str, error: float | None) -> ServedPrice:
        asked, records = copy.copy(predictor), self.records(part)
        if error is not None:
            asked.epsilon = epsilon_of_predictor(asked, records, error)
        return self._priced(Budget(asked.epsilon or 0, asked.delta), error_of_predictor(asked, records))

    def _price_of_report(
        self, model: Any, part: str, epsilon: float | None, delta: float, error: float | None
    ) -> ServedPrice:
        n = self.records(part).n
        budget = Budget(epsilon_of_report(n, delta, error) if epsilon is None and error else epsilon or 0, delta)
        return self._priced(budget, error_of_report(n, budget))

    def _price_of_fit(self, estimator: Any, part: str) -> ServedPrice:
        fresh, records = estimator_of(plain_of(estimator)), self.records(part)
        check_work(fresh, records)
        return self._priced(fresh.price().budget, None)

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

    def __init__(self, oracle: StatisticalOracle) -> None:
        self._oracle, self.n, self.columns = oracle, oracle.n, oracle.columns

    def _plan(self, queries: list[Query], how: Mapping[str, Any]) -> Plan:
        return self._oracle.preview(queries, **how)

    def _answers(self, queries: list[Query], how: Mapping[str, Any], key: str | None) -> list[Answer]:
        return self._oracle.ask_all(queries, **how)


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
