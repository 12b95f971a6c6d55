"""What learners without labels share: the course of `fit`, `learn` and `preview`."""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator

from tacit.accounting.ledger import Ledger
from tacit.data.records import Records
from tacit.estimators.encoded import encoded
from tacit.estimators.fitted import fitted_together
from tacit.estimators.parameters import needed_budget
from tacit.estimators.tables import validated
from tacit.queries.learners.inquiry import Inquiry, Round, planned
from tacit.queries.oracle.oracle import StatisticalOracle
from tacit.queries.oracle.plan import Plan
from tacit.sums.engines.engine import Engine
from tacit.sums.engines.matrix import engine_of_arrays

_CONFIDENCE = 0.95
"""With which tolerances are stated."""


class UnlabelledLearner(BaseEstimator, ABC):  # type: ignore[misc]
    """What is asked, and what is made of it, each learner says."""

    epsilon: float | None
    delta: float
    ledger: Ledger | None
    random_state: object

    @abstractmethod
    def _declare(self, X: object) -> None:
        """Look at what was declared about rows, here or by the rows themselves (None if there are none)."""

    @abstractmethod
    def _rounds(self, n: int, names: tuple[str, ...]) -> list[Round]:
        """Return the most that is asked of n records, round by round, by public facts alone."""

    @abstractmethod
    def _study(self, inquiry: Inquiry, names: tuple[str, ...]) -> None:
        """Ask about the named columns and keep the model."""

    @abstractmethod
    def _assumptions(self) -> tuple[str, ...]:
        """Say what else is assumed public."""

    def fit(self, X: Any, y: object = None) -> Self:
        """Learn from `Records`, encoded, or from arrays in memory, charging the ledger once; y is ignored."""
        return fitted_together(self, lambda fresh: fresh._fit(X))

    def _fit(self, X: Any) -> None:
        budget = needed_budget(self.epsilon, self.delta)
        payer = X.account(self.ledger) if isinstance(X, Records) else self.ledger
        found = encoded(X, "none") if isinstance(X, Records) else None
        rows = X if found is None else found.rows
        self.encoder_ = None if found is None else found.encoder
        self._declare(rows)
        engine = engine_of_arrays(validated(self, rows))
        inquiry = Inquiry.of_records(engine, budget, ledger=payer, random_state=self.random_state, **self._manner())
        self._learned(inquiry, engine.names)

    def learn(self, oracle: StatisticalOracle | Engine, features: Sequence[str] | None = None) -> Self:
        """Learn from an oracle over any table, whose ledger pays; `features` are all columns but a label."""
        return fitted_together(self, lambda fresh: fresh._learn(oracle, features))

    def _learn(self, oracle: StatisticalOracle | Engine, features: Sequence[str] | None) -> None:
        budget = needed_budget(self.epsilon, self.delta)
        self._declare(None)
        inquiry = Inquiry.of_oracle(
            oracle, budget, ledger=self.ledger, random_state=self.random_state, **self._manner()
        )
        label = oracle.engine.label if isinstance(oracle, StatisticalOracle) else oracle.label
        others = tuple(name for name in inquiry.columns if name != label)
        names = others if features is None else tuple(features)
        self.n_features_in_ = len(names)
        self.feature_names_in_ = np.array(names, dtype=object)
        self._learned(inquiry, names)

    def preview(self, n: int, features: int | Sequence[str]) -> tuple[Plan, ...]:
        """Return what `fit` on n records will ask, round by round: how many numbers, how good, at what cost.

        `features` is how many there are, or their names. No record is touched and nothing is charged.
        """
        budget = needed_budget(self.epsilon, self.delta)
        self._declare(None)
        names = tuple(f"x{j}" for j in range(features)) if isinstance(features, int) else tuple(features)
        return planned(self._rounds(n, names), n, budget, _CONFIDENCE)

    def _learned(self, inquiry: Inquiry, names: tuple[str, ...]) -> None:
        rounds = self._rounds(inquiry.n, names)
        inquiry.check(rounds[0].queries)
        inquiry.run(rounds, lambda: self._study(inquiry, names))
        self.release_ = inquiry.learned(*self._assumptions())
        self.plans_ = self.release_.plans

    def _manner(self) -> dict[str, Any]:
        return {"name": type(self).__name__, "confidence": _CONFIDENCE}

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags
