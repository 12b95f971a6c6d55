"""The perceptron, from statistical queries: which way do the rows lie that are on the wrong side?"""

import math
from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass
from typing import Any, ClassVar, Literal, final

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from tacit.checks import whole_number
from tacit.data.records import Records
from tacit.errors import InvalidParameter
from tacit.estimators.encoded import encoded, rows_of, scored, stand_alone
from tacit.estimators.parameters import INTERCEPT, known_norm
from tacit.estimators.saving.fields import Numbers, Saved, whole
from tacit.estimators.tables import validated
from tacit.numerics.arrays import Floats
from tacit.queries.learners.geometry import affine, features_of
from tacit.queries.learners.learner import Labels, SQClassifier
from tacit.queries.learners.saved import CLASSIFIER
from tacit.queries.oracle.session import Session
from tacit.sums.query import Query, RowSums, StatisticalQuery

_STEP = 32.0
"""How far one round moves the weights, by the mean of the rows it is about, in units of 1/data_norm."""
_NOISE = 0.06
"""How long the noise in one round's mean row may be, as a part of data_norm, to spend budget on one more round."""
_MOST_ROUNDS, _MOST_FEATURES = 32, 4_000
_LONGEST_MEAN = 0.95
"""How long the mean of the rows is taken to be at most, as a part of data_norm."""


@final
@dataclass(eq=False, repr=False)
class SQPerceptron(SQClassifier):
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

    _: KW_ONLY
    data_norm: float | None = None
    rounds: int | Literal["auto"] = "auto"
    fit_intercept: bool = True

    most_classes = 2
    saved: ClassVar[Saved] = Saved(
        {
            **CLASSIFIER,
            "coef_": Numbers("halfspaces", "features"),
            "intercept_": Numbers("halfspaces"),
            "n_iter_": whole(),
        },
        sizes={"classes": 2, "halfspaces": 1},
    )

    @np.errstate(all="ignore")
    def decision_function(self, X: Any) -> Floats:
        """Return the score of every row; it is positive on the side of the second class."""
        check_is_fitted(self)
        rows = validated(self, rows_of(self, X), reset=False)
        return np.asarray(scored(rows, self.coef_[0], stand_alone(X)) + self.intercept_[0])

    def predict(self, X: Any) -> NDArray[Any]:
        """Return the class of the side that each row is on."""
        positive = self.decision_function(X) > 0
        return np.asarray(self.classes_[positive.astype(np.intp)])

    def _declare(self, X: object) -> None:
        self._norm = known_norm(self.data_norm, X)

    def _fit_records(self, records: Records) -> None:
        found = encoded(records, "classification")
        self._fit_rows(found.rows, found.targets, found.declared, records, found.persons)
        self.encoder_ = found.encoder

    def _rounds(self, n: int, columns: Sequence[str], labels: Labels) -> list[list[Query]]:
        if len(labels.values) != 2:
            raise InvalidParameter(f"Only binary classification is supported, got {len(labels.values)} classes.")
        if len(columns) > _MOST_FEATURES:
            raise InvalidParameter(
                f"a perceptron over {len(columns)} features is too much for one query; 4,000 will do."
            )
        # The largest constants there can be, so that nothing is found too large after the charge.
        queries = self._queries(columns, labels, np.full(len(columns), np.inf), np.inf)
        if self.rounds != "auto":
            return [queries] * whole_number("rounds", self.rounds)
        return [queries] * self._affordable(queries, n, lambda _: _NOISE / math.sqrt(2 * len(columns)), 1, _MOST_ROUNDS)

    def _study(self, session: Session, columns: Sequence[str], labels: Labels) -> None:
        weights, offset, around = np.zeros(len(columns)), 0.0, np.zeros(len(columns))
        self.n_iter_, later = len(session.rounds), []
        for number in range(self.n_iter_):
            sums, *balance = session.ask(number, self._queries(columns, labels, weights, offset)).values
            rows = np.asarray(sums) / self._norm
            if number == 0 and balance:
                around = _inside(rows.sum(axis=0))
            step, shift = _step(rows[1] - rows[0], float(balance[0]) if balance else 0.0, around)
            weights, offset = weights + step, offset + shift
            later += [(weights, offset)] if number >= self.n_iter_ // 2 else []
        self.coef_ = np.mean([each for each, _ in later], axis=0)[None] / self._norm
        self.intercept_ = np.array([np.mean([each for _, each in later])])

    def _queries(self, columns: Sequence[str], labels: Labels, weights: Floats, offset: float) -> list[Query]:
        """Ask for the rows that the halfspace has not well inside their side, judged as `predict` judges.

        For each class they are added up; with an intercept it is also asked which class has more of them. Weights are
        for rows in units of data_norm.
        """
        negative, positive = labels.values
        scaled = weights / self._norm

        def judged(table: Any) -> tuple[Any, Any]:
            label = table[labels.column]
            side = (label == positive).ifelse(1.0, (label == negative).ifelse(-1.0, 0.0))
            return side, side * affine(features_of(table, columns), scaled, offset) < 1.0

        def which(table: Any) -> list[Any]:
            return [table[labels.column], judged(table)[1]]

        def balance(table: Any) -> Any:
            side, wrong = judged(table)
            return wrong.ifelse(side, 0.0)

        rows = RowSums(tuple(columns), which, ((negative, True), (positive, True)), norm=self._norm)
        return [rows, StatisticalQuery(balance, -1.0, 1.0)] if self.fit_intercept else [rows]

    def _assumptions(self) -> tuple[str, ...]:
        return (f"row norm {self._norm:g}",)


def _step(pull: Floats, balance: float, around: Floats) -> tuple[Floats, float]:
    """Return how far to move weights and offset, for rows x - around and a constant that stands for the offset.

    The mean of y (x - around) is the mean of y x less the mean of y times `around`. Rows of norm at most 1 lie
    within 1 - |around|^2 of their mean in the mean square: the step and the constant are in these units.
    """
    spread = 1.0 - float(around @ around)
    step, centred = _STEP / spread, pull - balance * around
    return step * centred, step * (INTERCEPT**2 * spread * balance - float(centred @ around))


def _inside(mean: Floats) -> Floats:
    """Bring a mean of rows, which noise may have moved anywhere, well inside the unit ball."""
    return mean * min(1.0, _LONGEST_MEAN / max(float(np.linalg.norm(mean)), 1e-300))
