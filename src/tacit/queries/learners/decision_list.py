"""Decision lists: `if literal then class, else if ...`, one rule a round of statistical queries."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, final

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tacit.accounting.ledger import Ledger
from tacit.checks import whole_number
from tacit.data.schema import Schema
from tacit.errors import InvalidParameter
from tacit.estimators.parameters import needed_budget
from tacit.numerics.arrays import Floats
from tacit.queries.learners.counts import (
    Column,
    Counts,
    Groups,
    constant,
    count_classes,
    count_groups,
    settled,
    unasked,
)
from tacit.queries.learners.discrete import Coded, DiscreteClassifier
from tacit.queries.learners.inquiry import Inquiry, Round
from tacit.queries.learners.literals import Candidates, Literal, affordable, allowance
from tacit.queries.sample_sizes import checked_error

_LONGEST = 1000
"""Which rule applies to a record would be too long an expression to ask about in a longer list."""


@final
@dataclass(frozen=True)
class Rule:
    """If the literal is true (None: in any case), these are the shares of the classes."""

    literal: Literal | None
    shares: Floats


@final
class DecisionListClassifier(DiscreteClassifier):
    """A list of rules, found one by one among the records that no earlier rule takes.

    In each round every class is counted at every code of every feature, within the records that are left. Taken is
    the literal that lowers their Gini impurity most, among those that are wrong at most at the rate `error` (or half
    as often as a guess, if that is less) and true of enough records, 1/(2 max_rules) of those left; or, if there is
    none, among all. It must stand out from the noise, or the list ends. A last round counts the classes under every
    rule.

    Guarantee: the list is (epsilon, delta)-private for replace-one neighbours, pure when delta is 0.
    Assumes: public are n, the declared features and the classes; when `classes` is None (and no schema declares them)
    the set of labels in y is taken to be public knowledge.
    Reference: oracle.md; rounds compose, each with an equal share of the budget.

    Parameters
    ----------
    epsilon, delta : the budget of one fit; an infinite epsilon gives the ordinary list, without privacy.
    max_rules : how many rules there may be, at most: fewer if, by public quantities alone, the noise would drown a good
        rule among the records that are left in the end.
    error : how often a rule may be wrong if possible.
    schema, levels, bounds, bins : declare the features, as for `SQNaiveBayes`.
    confidence : with which the tolerances in `plans_` are stated, round by round, for averages over the records.
    noise_rate : how often labels are wrong, at random (two classes only); the model is then about the true ones.
    classes : the labels that can occur; declare them.
    ledger : the account to charge, before anything is released.
    random_state : a seed makes a rehearsal: repeatable, not private, never charged.
    """

    def __init__(
        self,
        epsilon: float | None = None,
        delta: float = 0.0,
        *,
        max_rules: int = 5,
        error: float = 0.1,
        schema: Schema | None = None,
        levels: int | Sequence[int] | None = None,
        bounds: tuple[float, float] | Sequence[tuple[float, float]] | None = None,
        bins: int = 8,
        confidence: float = 0.95,
        noise_rate: float = 0.0,
        classes: ArrayLike | None = None,
        ledger: Ledger | None = None,
        random_state: object = None,
    ) -> None:
        self.epsilon = epsilon
        self.delta = delta
        self.max_rules = max_rules
        self.error = error
        self.schema = schema
        self.levels = levels
        self.bounds = bounds
        self.bins = bins
        self.confidence = confidence
        self.noise_rate = noise_rate
        self.classes = classes
        self.ledger = ledger
        self.random_state = random_state

    def predict(self, X: Any) -> NDArray[Any]:
        """Return the class of the first rule that applies to every record."""
        best = self.predict_proba(X).argmax(axis=1)
        return np.asarray(self.classes_[best])

    def predict_proba(self, X: Any) -> Floats:
        """Return the shares of the classes under the first rule that applies to every record."""
        codes = self._codes(X)
        place = np.full(len(codes), len(self.rules_) - 1)
        for number, rule in reversed(list(enumerate(self.rules_[:-1]))):
            assert rule.literal is not None
            place[rule.literal.holds(codes[:, rule.literal.feature])] = number
        return np.asarray(np.array([rule.shares for rule in self.rules_])[place])

    def rules(self) -> str:
        """Return the list in words."""
        classes = [f"{self.classes_[rule.shares.argmax()]} ({rule.shares.max():.2f})" for rule in self.rules_]
        lines = [
            f"if {rule.literal.says(self.features_)}: {found}"
            for rule, found in zip(self.rules_, classes, strict=True)
            if rule.literal is not None
        ]
        return "\n".join([*lines, f"else: {classes[-1]}"])

    def _course(self, n: int, sizes: list[int], labels: tuple[Any, ...]) -> list[Round]:
        counted = count_classes([unasked] * len(sizes), sizes, unasked, labels, Groups(unasked, 1))
        checked_error(self.error)
        if isinstance(self.max_rules, int) and self.max_rules > _LONGEST:
            raise InvalidParameter(f"max_rules must be at most {_LONGEST}, got {self.max_rules!r}.")
        most, budget = whole_number("max_rules", self.max_rules), needed_budget(self.epsilon, self.delta)
        rules = affordable(most, budget, counted, n, self.noise_rate)
        last = count_groups(unasked, labels, Groups(unasked, rules + 1))
        return [*[Round(counted, of="sample")] * rules, Round([last], of="sample")]

    def _ask(self, inquiry: Inquiry, columns: Coded) -> None:
        sizes = [feature.size for feature in self.features_]
        found: list[Literal] = []
        for number in range(inquiry.rounds - 1):
            left = Groups(_rest(columns, found), 1)
            queries = count_classes(
                [each.code for each in columns], sizes, lambda table: table[inquiry.label], inquiry.labels, left
            )
            counts = Counts.of(inquiry.ask(number, queries), sizes, 1)
            candidates = Candidates.of(self.features_, [table[0] for table in counts.tables], counts.totals[0])
            literal = _best(candidates, counts.deviation, self.error, 0.5 / self.max_rules)
            if literal is None:
                break
            found.append(literal)
        groups = Groups(_first(columns, found), len(found) + 1)
        query = count_groups(lambda table: table[inquiry.label], inquiry.labels, groups)
        answers = inquiry.ask(inquiry.rounds - 1, [query])
        counted = np.reshape(answers.values[0], (len(found) + 1, -1))
        shares = settled(counted, answers.deviation + 1.0 / inquiry.n)
        self.rules_ = [Rule(literal, own) for literal, own in zip([*found, None], shares, strict=True)]


def _best(candidates: Candidates, deviation: float, error: float, share: float) -> Literal | None:
    """Return the literal to take next, or None if none stands out from the noise."""
    luck = allowance(len(candidates.literals))
    gains, noise = candidates.gains(deviation, luck), candidates.allowance(deviation, luck)
    sides = np.stack([candidates.inside, candidates.totals - candidates.inside])
    taken, right = sides.sum(axis=2), sides.max(axis=2)
    whole = candidates.totals.sum()
    limit = min(error, (1.0 - candidates.totals.max() / whole) / 2.0) if whole > 0 else 0.0
    good = (limit * right - (1.0 - limit) * (taken - right) > noise) & (taken >= share * whole)
    for eligible in (good, np.ones_like(good)):
        worth = np.where(eligible.any(axis=0), gains, -np.inf)
        best = int(worth.argmax())
        if worth[best] > 1e-12:
            purity = np.where(eligible[:, best], right[:, best] / taken[:, best], -np.inf)
            return replace(candidates.literals[best], contrary=bool(purity.argmax()))
    return None


def _rest(columns: Coded, found: list[Literal]) -> Column:
    """Return an expression that is 0 for the records that no rule takes, and -1 for the others."""

    def number(table: Any) -> Any:
        code = constant(0)(table)
        for literal in found:
            code = literal.test(table, columns).ifelse(-1, code)
        return code

    return number


def _first(columns: Coded, found: list[Literal]) -> Column:
    """Return an expression for the number of the first rule that takes a record."""

    def number(table: Any) -> Any:
        code = constant(len(found))(table)
        for place, literal in reversed(list(enumerate(found))):
            code = literal.test(table, columns).ifelse(place, code)
        return code

    return number
