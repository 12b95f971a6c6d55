"""Conjunctions: `x1 and x4 and not x5`, from one statistical query for each literal (the lecture's Theorem 5)."""

from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass
from typing import Any, ClassVar, cast, final

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from tacit.estimators.encoded import rows_of
from tacit.estimators.exact_scores import warn_if_judged
from tacit.estimators.saving.fields import TEXT, Listed, Numbers, Saved, Scalar
from tacit.estimators.tables import validated
from tacit.numerics.arrays import Truths
from tacit.queries.learners.learner import Labels, SQClassifier, cleaned_as
from tacit.queries.learners.saved import CLASSIFIER, known_columns
from tacit.queries.oracle.session import Session
from tacit.queries.sample_sizes import conjunction_error
from tacit.sums.language.expression import number
from tacit.sums.query import Function, Query, RowSums, StatisticalQuery


@final
@dataclass(eq=False, repr=False)
class ConjunctionClassifier(SQClassifier):
    """Learn which features must be true (or false) for a record to be in the positive class, the second of `classes_`.

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
    classes : the two labels that can occur, the second of which, sorted, the conjunction stands for; declare them.
        `Records` bring theirs, of which it stands for the one that the schema declares as positive.
    ledger : the account to charge, before anything is released.
    random_state : a seed makes a rehearsal: repeatable, not private, never charged.

    Attributes
    ----------
    literals_ : the literals that were kept.
    needed_ : the same as a table of truth values: features, and whether a literal or its negation is kept.
    error_, threshold_ : the error that is promised, and how often a kept literal may be false.
    plans_ : what each round of queries was asked with: noise, tolerance, cost.
    columns_ : the columns asked about, where it learned from `Records`.
    classes_, release_, n_features_in_ : as for `PrivateLogisticRegression`.
    """

    _: KW_ONLY
    error: float = 0.1
    confidence: float = 0.95
    monotone: bool = True

    most_classes = 2
    needs_positive = True
    of = "population"
    saved: ClassVar[Saved] = Saved(
        {
            **CLASSIFIER,
            "literals_": Listed(TEXT, list),
            "needed_": Numbers("features", "signs", kind="bool"),
            "error_": Scalar(0.0, 1.0),
            "threshold_": Scalar(0.0, 1.0),
        },
        sizes={"classes": 2, "signs": 2},
        check=known_columns,
    )

    def predict(self, X: Any) -> NDArray[Any]:
        """Return the second class where no literal is false."""
        check_is_fitted(self)
        true = self._true(X)
        broken = (~true & self.needed_[:, 0]) | (true & self.needed_[:, 1])
        return np.asarray(self.classes_[(~broken.any(axis=1)).astype(np.intp)])

    def _true(self, X: Any) -> Truths:
        """Return which features of each record are true: numbers above 0, and flags with their word for true."""
        if not hasattr(self, "columns_"):
            rows = validated(self, rows_of(self, X), reset=False)
            return np.asarray((rows > 0).toarray() if hasattr(rows, "toarray") else rows > 0)
        warn_if_judged(self)
        columns = {name: self.columns_[name] for name in self.feature_names_in_}
        blocks = cleaned_as(columns, X)
        return np.concatenate([np.column_stack([block[name] > 0 for name in columns]) for block in blocks])

    def _rounds(self, n: int, columns: Sequence[str], labels: Labels) -> list[list[Query]]:
        return [[StatisticalQuery(_falsified(name, sign, labels)) for name, sign in self._literals(columns)]]

    def _study(self, session: Session, columns: Sequence[str], labels: Labels) -> None:
        self.error_ = conjunction_error(
            session.evaluator.n, len(columns), asked=self.error, confidence=self.confidence,
            epsilon=cast(float, self.epsilon), delta=self.delta, noise_rate=self.noise_rate, monotone=self.monotone,
        )  # fmt: skip
        self.threshold_ = self.error_ / (2 * len(session.rounds[0]))
        # Columns that are no numbers are refused by their names, before the charge.
        session.evaluator.prepare(RowSums(tuple(columns)))
        kept = (np.array(session.ask(0).values) <= self.threshold_).tolist()
        words = self._literals(getattr(self, "feature_names_in_", columns))
        self.literals_ = [
            str(name) if sign > 0 else f"not {name}" for (name, sign), keep in zip(words, kept, strict=True) if keep
        ]
        self.needed_ = np.zeros((len(columns), 2), dtype=bool)
        self.needed_[:, : len(kept) // len(columns)] = np.reshape(kept, (len(columns), -1))

    def _literals(self, names: Sequence[str]) -> list[tuple[str, int]]:
        return [(name, sign) for name in names for sign in ((1,) if self.monotone else (1, -1))]

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.poor_score = True
        return tags


def _falsified(name: str, sign: int, labels: Labels) -> Function:
    """Return the query whether a record of the second class has a false literal."""

    def asked(table: Any) -> Any:
        feature = number(table[name])
        return (feature <= 0 if sign > 0 else feature > 0) & (table[labels.column] == labels.values[1])

    return asked
