"""A twin of a data set of a service: made-up records here, with the interface of the real ones there."""

import copy
from typing import Any, final

from tacit.data.records import Records
from tacit.data.schema import Schema
from tacit.data.twins import made_up
from tacit.errors import InvalidParameter
from tacit.evaluation.reporting import report
from tacit.queries.oracle.oracle import StatisticalOracle
from tacit.sums.query import Query


@final
class Twin:
    """Made-up records that follow a data set's schema and nothing else: for writing a script before it costs.

    What is asked of them is a rehearsal from a seed, marked as not private and charged nowhere.
    """

    is_twin = True

    def __init__(self, name: str, schema: Schema, n: int, key: str | None, unit: str | None, seed: int) -> None:
        self.name, self.schema, self.n = name, schema, n
        records = made_up(schema, n, seed, key=key if unit is None else None, unit=unit).marked_as_twin(seed)
        self.unit = records.whom
        train, test = records.split(by="index" if records.key is None else "key")
        self._parts: dict[str, Records] = {"all": records, "train": train, "test": test}

    def records(self, part: str = "all") -> Records:
        """Return the made-up records: the real ones never leave their place."""
        if part not in self._parts:
            raise InvalidParameter(f"part must be one of {', '.join(self._parts)}, got {part!r}.")
        return self._parts[part]

    def oracle(self, part: str = "all") -> StatisticalOracle:
        """Return who answers statistical queries about made-up records."""
        return StatisticalOracle(self.records(part))

    def fit(self, estimator: Any, part: str = "train", *, key: str | None = None) -> Any:
        """Return an estimator fitted to made-up records."""
        return copy.copy(estimator).fit(self.records(part))

    def report(self, model: Any, part: str = "test", *, epsilon: float, delta: float = 0.0, key: Any = None) -> Any:
        """Return the scores of a model on made-up records."""
        return report(model, self.records(part), epsilon=epsilon, delta=delta)

    def predictor(self, predictor: Any, part: str = "all", *, key: str | None = None) -> Any:
        """Return the predictor, fitted to made-up records."""
        return copy.copy(predictor).fit(self.records(part))

    def price(self, what: Any, part: str | None = None, **how: Any) -> Any:
        """Return what queries, or the fit of an estimator, would cost about the real records."""
        if isinstance(what, Query):
            what = [what]
        if isinstance(what, list | tuple):
            return self.oracle(part or "all").preview(what, **how)
        return what.price(self.records(part or "train"))

    def twin(self, seed: int = 0) -> "Twin":
        """Return a twin of the twin: a script may ask for one wherever it runs."""
        return self

    def __repr__(self) -> str:
        return f"<{self.name}: a twin, made-up records, NOT real>"
