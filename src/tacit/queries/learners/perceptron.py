"""The perceptron, from statistical queries: which way do the rows lie that are on the wrong side?"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal, final

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils.validation import check_is_fitted

from tacit.accounting.ledger import Ledger
from tacit.data.records import Records
from tacit.errors import InvalidParameter
from tacit.estimators.encoded import encoded, rows_of
from tacit.estimators.parameters import INTERCEPT, known_norm, needed_budget
from tacit.estimators.tables import validated
from tacit.numerics.arrays import Floats
from tacit.queries.learners.affine import LARGEST, affine, features_of
from tacit.queries.learners.affordable import affordable_rounds
from tacit.queries.learners.inquiry import Inquiry, Round
from tacit.queries.learners.learner import OracleClassifier
from tacit.queries.oracle.oracle import StatisticalOracle
from tacit.queries.oracle.plan import Plan
from tacit.sums.engines.engine import Engine
from tacit.sums.query import Query, RowSums, StatisticalQuery

_STEP = 32.0
"""How far one round moves the weights, by the mean of the rows it is about, in units of 1/data_norm."""
_NOISE = 0.06
"""How long the noise in one round's mean row may be, as a part of data_norm, to spend budget on one more round."""
_MOST_ROUNDS, _MOST_FEATURES, _MORE = 32, 4_000, 20
_LONGEST_MEAN = 0.95
"""How long the mean of the rows is taken to be at most, as a part of data_norm."""


@final
class SQPerceptron(OracleClassifier):
    """A halfspace with a margin, for two classes, by a perceptron that sees averages only.

    Each round asks for the mean of y x over the rows within the margin or on the wrong side, y (w.x + b) < 1, and
    moves the halfspace by it; the model is the mean of the later half of the rounds. The first round is about all rows
    and so tells their mean as well: from then on the descent is in coordinates around that mean, for nothing.

    Guarantee: the halfspace is (epsilon, delta)-private for replace-one neighbours, pure when delta is 0.
    Assumes: public are n, the features' names, `data_norm` (rows count clipped to it) and the classes; when `classes`
    is None the set of labels in y is taken to be public knowledge.
    Reference: oracle.md for each round; Blum, Dwork, McSherry and Nissim 2005 for the perceptron among SuLQ queries.

    Parameters
    ----------
    epsilon, delta : the budget of one fit; an infinite epsilon gives the ordinary batch perceptron, without privacy.
    data_norm : the L2 norm that rows are clipped to; may be left out behind a `PublicEncoder`.
    rounds : how often to ask; "auto" asks as often as the noise in one round stays small, by n, the number of
        features, epsilon, delta and noise_rate, at most 32 times.
    noise_rate : how often labels are wrong, at random; the model is then about the true ones.
    fit_intercept : whether the halfspace may miss the origin.
    classes : the two labels that can occur; declare them.
    ledger : the account to charge, before anything is released.
    random_state : a seed makes a rehearsal: repeatable, not private, never charged.
    """

    most_classes = 2
    confidence = 0.95

    def __init__(
        self,
        epsilon: float | None = None,
        delta: float = 0.0,
        *,
        data_norm: float | None = None,
        rounds: int | Literal["auto"] = "auto",
        noise_rate: float = 0.0,
        fit_intercept: bool = True,
        classes: ArrayLike | None = None,
        ledger: Ledger | None = None,
        random_state: object = None,
    ) -> None:
        self.epsilon = epsilon
        self.delta = delta
        self.data_norm = data_norm
        self.rounds = rounds
        self.noise_rate = noise_rate
        self.fit_intercept = fit_intercept
        self.classes = classes
        self.ledger = ledger
        self.random_state = random_state

    def decision_function(self, X: Any) -> Floats:
        """Return the score of every row; it is positive on the side of the second class."""
        check_is_fitted(self)
        return np.asarray(validated(self, rows_of(self, X), reset=False) @ self.coef_[0] + self.intercept_[0])

    def predict(self, X: Any) -> NDArray[Any]:
        """Return the class of the side that each row is on."""
        positive = self.decision_function(X) > 0
        return np.asarray(self.classes_[positive.astype(np.intp)])

    def _learn(self, oracle: StatisticalOracle | Engine, features: Sequence[str] | None) -> None:
        self._norm = known_norm(self.data_norm, None)
        super()._learn(oracle, features)

    def preview(self, n: int, features: int | Sequence[str] | None = None) -> tuple[Plan, ...]:
        """Return what `fit` on n records with so many features will ask, round by round, and at what cost."""
        self._norm = known_norm(self.data_norm, None)
        return super().preview(n, features)

    def _fit_records(self, records: Records) -> None:
        found = encoded(records, "classification")
        declared = self.classes if self.classes is not None else found.classes
        self._fit_arrays(found.rows, found.targets, declared, records.account(self.ledger))
        self.encoder_ = found.encoder

    def _rows(self, X: Any, **checks: Any) -> Any:
        if "y" in checks:
            self._norm = known_norm(self.data_norm, X)
        return validated(self, X, **checks)

    def _rounds(self, n: int, names: tuple[str, ...], labels: tuple[Any, ...]) -> list[Round]:
        queries = self._question(names, "", labels).queries(_Halfspace.flat(len(names)))
        count = affordable_rounds(
            self.rounds,
            queries,
            n,
            needed_budget(self.epsilon, self.delta),
            small=_NOISE / math.sqrt(2 * len(names)),
            fewest=1,
            most=_MOST_ROUNDS,
            noise_rate=self.noise_rate,
        )
        return [Round(queries, of="sample")] * count

    def _probes(self, names: tuple[str, ...]) -> list[Query]:
        # A little larger than what will be asked, so that nothing is found too large after the charge.
        larger = (*names, *names[:1] * _MORE)

        def probe(table: Any) -> Any:
            return affine(features_of(table, larger), np.full(len(larger), LARGEST), 1.0) < 1.0

        return [RowSums(names), StatisticalQuery(probe)]

    def _study(self, inquiry: Inquiry, names: tuple[str, ...], *, encoded: bool) -> None:
        question = self._question(names, inquiry.label, inquiry.labels)
        here, around = _Halfspace.flat(len(names)), np.zeros(len(names))
        later = []
        for number in range(inquiry.rounds):
            rows, balance = question.read(inquiry.ask(number, question.queries(here)).values)
            if number == 0 and question.offset:
                around = _inside(rows.sum(axis=0))
            here = here.moved(rows[1] - rows[0], balance, around)
            later += [here] if number >= inquiry.rounds // 2 else []
        self.coef_ = np.mean([each.weights for each in later], axis=0)[None] / self._norm
        self.intercept_ = np.array([np.mean([each.offset for each in later])])
        self.n_iter_ = inquiry.rounds

    def _question(self, names: tuple[str, ...], label: str, labels: tuple[Any, ...]) -> "_Question":
        if len(labels) != 2:
            raise InvalidParameter(f"Only binary classification is supported, got {len(labels)} classes.")
        if len(names) > _MOST_FEATURES:
            raise InvalidParameter(f"a perceptron over {len(names)} features is too much for one query; 4,000 will do.")
        return _Question(names, self._norm, label, labels, bool(self.fit_intercept))

    def _assumptions(self) -> tuple[str, ...]:
        return (f"row norm {self._norm:g}",)


@final
@dataclass(frozen=True)
class _Halfspace:
    """Weights of rows counted in units of data_norm, and an offset."""

    weights: Floats
    offset: float

    @classmethod
    def flat(cls, width: int) -> "_Halfspace":
        return cls(np.zeros(width), 0.0)

    def moved(self, pull: Floats, balance: float, around: Floats) -> "_Halfspace":
        """Take a step for rows x - around and a constant that stands for the offset.

        The mean of y (x - around) is the mean of y x less the mean of y times `around`. Rows of norm at most 1 lie
        within 1 - |around|^2 of their mean in the mean square: the step and the constant are in these units.
        """
        spread = 1.0 - float(around @ around)
        step, centred = _STEP / spread, pull - balance * around
        constant = INTERCEPT**2 * spread
        return _Halfspace(
            self.weights + step * centred, self.offset + step * (constant * balance - float(centred @ around))
        )


@final
@dataclass(frozen=True)
class _Question:
    """What is asked in a round: the rows to move by, for each class, and which class has more of them."""

    names: tuple[str, ...]
    norm: float
    label: str
    labels: tuple[Any, ...]
    offset: bool

    def queries(self, halfspace: _Halfspace) -> list[Query]:
        """Ask about the rows that the halfspace has not well inside their side, judged as `predict` judges."""
        negative, positive = self.labels
        weights = halfspace.weights / self.norm

        def judged(table: Any) -> tuple[Any, Any]:
            label = table[self.label]
            side = (label == positive).ifelse(1.0, (label == negative).ifelse(-1.0, 0.0))
            score = affine(features_of(table, self.names), weights, halfspace.offset)
            return side, side * score < 1.0

        def which(table: Any) -> list[Any]:
            return [table[self.label], judged(table)[1]]

        def balance(table: Any) -> Any:
            side, wrong = judged(table)
            return wrong.ifelse(side, 0.0)

        rows = RowSums(self.names, which, ((negative, True), (positive, True)), norm=self.norm)
        return [rows, StatisticalQuery(balance, -1.0, 1.0)] if self.offset else [rows]

    def read(self, values: Sequence[Any]) -> tuple[Floats, float]:
        """Return the mean rows of the two classes in units of the norm, and the balance."""
        return np.asarray(values[0]) / self.norm, float(values[1]) if self.offset else 0.0


def _inside(mean: Floats) -> Floats:
    """Bring a mean of rows, which noise may have moved anywhere, well inside the unit ball."""
    return mean * min(1.0, _LONGEST_MEAN / max(float(np.linalg.norm(mean)), 1e-300))
