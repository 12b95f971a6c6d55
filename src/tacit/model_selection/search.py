"""The best of several candidates, chosen privately by random repetition."""

from collections.abc import Mapping
from dataclasses import KW_ONLY, dataclass
from fractions import Fraction
from typing import Any, Self, final

from sklearn.base import BaseEstimator, MetaEstimatorMixin, clone
from sklearn.model_selection import ParameterGrid
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from tacit.accounting.ledger import Ledger
from tacit.budget import Budget
from tacit.checks import shown
from tacit.data.records import Records, payer
from tacit.errors import InvalidParameter, QueryFailed
from tacit.estimators.announced import Announced
from tacit.estimators.fitted import fitted_together
from tacit.estimators.learned_from import LearnedFrom, remember
from tacit.estimators.odd_terms import warn_of_foreseen, warn_of_terms
from tacit.estimators.parameters import needed_budget
from tacit.estimators.price import Price, price_of, unit_of
from tacit.estimators.seeds import OwnSeed
from tacit.mechanisms.laplace import Laplace
from tacit.mechanisms.mechanism import typed_below
from tacit.mechanisms.repetition import Repetition, Run
from tacit.model_selection.data import Data, checked_estimator
from tacit.model_selection.judging import Scoring, checked_scoring, in_words, judged
from tacit.noise import Source
from tacit.releases import Release, release

_TOLD = ("epsilon", "delta", "ledger", "random_state", "classes", "target_range")
"""Parameters that are the search's own, or the same for all candidates."""

_JUDGING = Fraction(1, 20)
"""The part of a run that its score costs."""


def _has(name: str) -> Any:
    return available_if(lambda search: hasattr(getattr(search, "best_estimator_", search.estimator), name))


@final
@dataclass(eq=False, repr=False)
class PrivateSearch(Announced, OwnSeed, MetaEstimatorMixin, BaseEstimator):  # type: ignore[misc]
    """Fits candidates drawn at random, a secret number of times, judges each with noise, and keeps the best.

    Two thirds of epsilon are the budget of one run: a model fitted to all records, and, for a twentieth of that, a
    noisy score on the same records. The best run, model and all, costs half as much again however many runs there were.
    The model is not fitted again: `best_estimator_` is the one that won, paid for. The estimator as it was given is a
    candidate too, and is drawn half of the time; the others share the rest.

    Guarantee: best_estimator_, best_params_ and best_score_ together are epsilon-private, for replace-one neighbours.
    Assumes: what the estimator assumes; the candidates are public. **The time that `fit` takes stays secret**: it tells
    the number of runs, for which the guarantee does not hold.
    Reference: search.md.

    The running time has no limit: half of all searches make a single run, and one in twenty more than five times the
    average.

    Parameters
    ----------
    estimator : a classifier or regression of tacit's, without ledger, seed or delta.
    candidates : a list of parameters to try besides the estimator's own, [{"alpha": 0.1}, ...], or lists of values to
        combine, {"alpha": [...]}.
    epsilon : the price of everything. Runs are pure: with a delta no such price is proved, and it is refused.
    runs : how many fits there are on average; by default five for each candidate, and 50 at least.
    scoring : "accuracy" or "log_loss" of classifiers, "error" (the mean absolute one) of regressions.
    ledger : the account to charge, before the first run.
    random_state : a seed makes a rehearsal: repeatable, not private, never charged.

    Attributes
    ----------
    best_estimator_, best_params_, best_index_ : the model that won, its parameters among those that were searched, and
        its place among the candidates: -1 for the estimator as it was given.
    best_score_, score_noise_, scoring_ : its score, how far noise alone may move that in 95 of 100 cases, and of what.
    """

    estimator: Any = None
    candidates: Any = None
    _: KW_ONLY
    epsilon: float | None = None
    runs: float | None = None
    scoring: Scoring = "auto"
    ledger: Ledger | None = None
    random_state: object = None

    def price(self, X: Any = None) -> Price:
        """Return what `fit` would charge, and whether the ledger can pay it; nothing is charged, no record touched."""
        mechanism = self._mechanism()
        ledger, _ = payer(X, self.ledger, None)
        return price_of(type(self).__name__, mechanism.budget, mechanism.event, ledger, unit_of(X))

    def fit(self, X: Any, y: Any = None, groups: object = None) -> Self:
        """Charge for the whole search, then run it on `Records`, or on rows X and their targets y.

        With `groups`, the ids of the persons whose rows they are, it is private for persons, as for `Records` with a
        unit.
        """
        mechanism, scoring = self._mechanism(), checked_scoring(self.scoring, self.estimator)
        fitting, judging = _shared(mechanism.inner)
        settings = [clone(self.estimator).set_params(**each, epsilon=fitting.epsilon) for each in ({}, *self._listed())]
        data = Data.of(clone(self.estimator), X, y, groups)
        prices = [data.price(told(each, data)) for each in settings]
        warn_of_terms(self, X, data.persons)
        if self.random_state is None:
            warn_of_foreseen(prices, X)
        ledger, coins = payer(X, self.ledger, self.random_state)
        law = Laplace.for_budget(judging)

        def run(candidate: int, source: Source) -> Run:
            # A run that fails is an outcome below all others, and says nothing of why.
            return Run(candidate, *(judged(settings[candidate], data, data, scoring, law, source) or ()))

        found = release(
            mechanism, run, label=f"{type(self).__name__}: {type(self.estimator).__name__}", ledger=ledger,
            random_state=coins, public=(*mechanism.public, data.assumed), unit=data.unit,
        )  # fmt: skip
        if found.value.found is None:
            raise QueryFailed("no run of the search succeeded; why is not told, as it may depend on records.")
        remember(found.value.found, LearnedFrom.of(X, data.slots) if isinstance(X, Records) else None)
        return fitted_together(self, lambda fresh: fresh._keep(found, data, scoring, law))

    def _keep(self, found: Release[Run], data: Data, scoring: str, law: Laplace) -> None:
        best: Any = found.value.found
        best.ledger = self.ledger
        best.release_ = found.map(lambda _: best.release_.value)
        self.best_estimator_ = best
        self.best_index_ = found.value.candidate - 1
        listed, given = self._listed(), self.estimator.get_params()
        own = {name: given[name] for each in listed for name in each}
        self.best_params_ = own if self.best_index_ < 0 else dict(listed[self.best_index_])
        self.scoring_ = scoring
        self.best_score_ = in_words(scoring, found.value.score, data.target_range)
        reach = law.error(0.95) / data.slots
        self.score_noise_ = abs(in_words(scoring, reach, data.target_range) - in_words(scoring, 0.0, data.target_range))
        self.release_ = found.map(lambda _: self.best_params_)
        for name in ("classes_", "n_features_in_", "feature_names_in_"):
            if hasattr(best, name):
                setattr(self, name, getattr(best, name))

    def _mechanism(self) -> Repetition:
        """Check the parameters; return the repetition that they ask for."""
        estimator = checked_estimator(self.estimator, "search")
        budget = needed_budget(self.epsilon, 0.0)
        if budget is None:
            raise InvalidParameter("a search needs a finite epsilon. Without privacy GridSearchCV does.")
        if estimator.delta:
            raise InvalidParameter(
                f"the runs of a search are pure, got an estimator with delta={estimator.delta!r}: how often it is run "
                "has no limit, and no bound on what that makes of a delta is proved here. Set delta=0."
            )
        listed = self._listed()
        runs = max(50, 5 * len(listed)) if self.runs is None else self.runs
        return Repetition(Budget(budget.exact_epsilon), 1 + len(listed), runs)

    def _listed(self) -> list[Mapping[str, Any]]:
        """Return the parameters of every candidate."""
        given = self.candidates
        try:
            listed: Any = list(ParameterGrid(dict(given))) if isinstance(given, Mapping) else given
        except (TypeError, ValueError):  # what stands for a parameter is no list of values
            listed = None
        if not isinstance(listed, list | tuple) or not listed or not all(isinstance(each, Mapping) for each in listed):
            raise InvalidParameter(
                'candidates must be a list of parameters such as [{"alpha": 0.1}, {"alpha": 1.0}], or lists of values '
                f'to combine such as {{"alpha": [0.1, 1.0]}}, got {shown(given)}.'
            )
        names = {str(name) for each in listed for name in each}
        if told := names & set(_TOLD):
            raise InvalidParameter(f"{', '.join(sorted(told))} cannot be searched: it is the same for all candidates.")
        if unknown := names - set(self.estimator.get_params()):
            raise InvalidParameter(f"{type(self.estimator).__name__} has no parameter {', '.join(sorted(unknown))}.")
        return list(listed)

    def predict(self, X: Any) -> Any:
        """Return what the best model predicts."""
        return self._best().predict(X)

    @_has("predict_proba")  # type: ignore[untyped-decorator]
    def predict_proba(self, X: Any) -> Any:
        """Return the best model's probabilities."""
        return self._best().predict_proba(X)

    @_has("decision_function")  # type: ignore[untyped-decorator]
    def decision_function(self, X: Any) -> Any:
        """Return the best model's scores."""
        return self._best().decision_function(X)

    def score(self, X: Any, y: Any) -> float:
        """Return the best model's exact score: NOT private, not charged. `best_score_` is the private one."""
        return float(self._best().score(X, y))

    def _best(self) -> Any:
        check_is_fitted(self, "best_estimator_")
        return self.best_estimator_

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        if isinstance(self.estimator, BaseEstimator):
            inner = self.estimator.__sklearn_tags__()
            tags.estimator_type, tags.classifier_tags = inner.estimator_type, inner.classifier_tags
            tags.regressor_tags, tags.input_tags = inner.regressor_tags, inner.input_tags
        return tags


def told(estimator: Any, data: Data) -> Any:
    """Tell an estimator the classes of rows in arrays, which are the same for all candidates; records bring theirs."""
    if data.y is not None and data.classes is not None and "classes" in estimator.get_params():
        estimator.set_params(classes=data.classes)
    return estimator


def _shared(whole: Budget) -> tuple[Budget, Budget]:
    """Return what a run's fit and its score cost: together no more than the run."""
    judging = Budget(typed_below(whole.exact_epsilon * _JUDGING))
    return Budget(typed_below(whole.exact_epsilon - judging.exact_epsilon)), judging
