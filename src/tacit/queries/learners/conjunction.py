"""Conjunctions: `x1 and x4 and not x5`, from one statistical query for each literal (the lecture's Theorem 5)."""

from collections.abc import Callable
from typing import Any, final

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils.validation import check_is_fitted

from tacit.accounting.ledger import Ledger
from tacit.estimators.encoded import rows_of
from tacit.estimators.tables import validated
from tacit.queries.learners.inquiry import Inquiry, Round
from tacit.queries.learners.learner import OracleClassifier, cleaned_as
from tacit.queries.sample_sizes import conjunction_error
from tacit.sums.language.expression import number
from tacit.sums.query import StatisticalQuery


@final
class ConjunctionClassifier(OracleClassifier):
    """Learn which features must be true (or false) for a record to be in the second class.

    For each literal it is asked how often the literal is false in a record of that class, and the literals for which
    this is at most error/2d are kept, d being their number. A feature is true where it is above 0.

    Guarantee: the literals are (epsilon, delta)-private for replace-one neighbours, pure when delta is 0.
    Assumes: public are n, the features' names and the classes; when `classes` is None the set of labels in y is
    taken to be public knowledge.
    Reference: oracle.md; for the error sample_sizes.md, "Conjunctions".

    If the records are an independent sample labelled by a conjunction, the model errs on at most the share `error_`
    of the population, with the `confidence`. That is the `error` asked for if n is large enough for it
    (`records_for_conjunction` says which n is); otherwise the smallest that n can keep, and 1.0 promises nothing.

    Parameters
    ----------
    epsilon, delta : the budget of one fit; an infinite epsilon gives the ordinary learner, without privacy.
    error, confidence : how good the model is to be, and with which probability.
    noise_rate : how often labels are wrong, at random; the model is then about the true ones.
    monotone : whether literals are features only, or their negations as well.
    classes : the two labels that can occur, the second of which the conjunction stands for; declare them.
    ledger : the account to charge, before anything is released.
    random_state : a seed makes a rehearsal: repeatable, not private, never charged.
    """

    most_classes = 2

    def __init__(
        self,
        epsilon: float | None = None,
        delta: float = 0.0,
        *,
        error: float = 0.1,
        confidence: float = 0.95,
        noise_rate: float = 0.0,
        monotone: bool = True,
        classes: ArrayLike | None = None,
        ledger: Ledger | None = None,
        random_state: object = None,
    ) -> None:
        self.epsilon = epsilon
        self.delta = delta
        self.error = error
        self.confidence = confidence
        self.noise_rate = noise_rate
        self.monotone = monotone
        self.classes = classes
        self.ledger = ledger
        self.random_state = random_state

    def predict(self, X: Any) -> NDArray[Any]:
        """Return the second class where no literal is false."""
        check_is_fitted(self)
        true = self._true(X)
        broken = (~true & self.needed_[:, 0]) | (true & self.needed_[:, 1])
        return np.asarray(self.classes_[(~broken.any(axis=1)).astype(np.intp)])

    def _true(self, X: Any) -> NDArray[np.bool_]:
        """Return which features of each record are true: numbers above 0, and flags with their word for true."""
        if self.columns_ is None:
            rows = validated(self, rows_of(self, X), reset=False)
            return np.asarray((rows > 0).toarray() if hasattr(rows, "toarray") else rows > 0)
        columns = {name: self.columns_[name] for name in self.feature_names_in_}
        blocks = cleaned_as(columns, X)
        return np.concatenate([np.column_stack([block[name] > 0 for name in columns]) for block in blocks])

    def _rows(self, X: Any, **checks: Any) -> Any:
        return validated(self, X, **checks)

    def _rounds(self, n: int, names: tuple[str, ...], labels: tuple[Any, ...]) -> list[Round]:
        return [Round(_queries(self._literals(names), "", labels[1]))]

    def _study(self, inquiry: Inquiry, names: tuple[str, ...], *, encoded: bool) -> None:
        literals, label, positive = self._literals(names), inquiry.label, inquiry.labels[1]
        self.error_ = self._kept_error(inquiry.n, len(names))
        self.threshold_ = self.error_ / (2 * len(literals))
        queries = _queries(literals, label, positive)
        values = np.array(inquiry.ask(0, queries).values)
        kept = (values <= self.threshold_).tolist()
        words = self._literals(tuple(map(str, getattr(self, "feature_names_in_", names))))
        self.literals_ = [
            name if sign > 0 else f"not {name}" for (name, sign), keep in zip(words, kept, strict=True) if keep
        ]
        self.needed_ = np.zeros((len(names), 2), dtype=bool)
        self.needed_[:, : len(literals) // len(names)] = np.reshape(kept, (len(names), -1))

    def _literals(self, names: tuple[str, ...]) -> list[tuple[str, int]]:
        return [(name, sign) for name in names for sign in ((1,) if self.monotone else (1, -1))]

    def _kept_error(self, n: int, features: int) -> float:
        return conjunction_error(
            n,
            features,
            asked=self.error,
            confidence=self.confidence,
            epsilon=self.epsilon,  # type: ignore[arg-type]
            delta=self.delta,
            noise_rate=self.noise_rate,
            monotone=self.monotone,
        )

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.poor_score = True
        return tags


def _queries(literals: list[tuple[str, int]], label: str, positive: Any) -> list[StatisticalQuery]:
    return [StatisticalQuery(_falsified(name, sign, label, positive)) for name, sign in literals]


def _falsified(name: str, sign: int, label: str, positive: Any) -> Callable[[Any], Any]:
    """Return the query whether a record of the second class has a false literal."""

    def asked(table: Any) -> Any:
        feature = number(table[name])
        return (feature <= 0 if sign > 0 else feature > 0) & (table[label] == positive)

    return asked
