"""Decision lists: `if literal then class, else if ...`, one rule a round of statistical queries."""

from dataclasses import KW_ONLY, dataclass, replace
from typing import ClassVar, final

import numpy as np

from tacit.estimators.saving.fields import Saved
from tacit.numerics.arrays import Floats
from tacit.queries.learners.literals import Candidates, FeatureLiteral, allowance
from tacit.queries.learners.saved import GROWN
from tacit.queries.learners.tree import GrownClassifier
from tacit.queries.sample_sizes import checked_error


@final
@dataclass(frozen=True)
class Rule:
    """If the literal is true (None: in any case), these are the shares of the classes."""

    literal: FeatureLiteral | None
    shares: Floats


@final
@dataclass(eq=False, repr=False)
class DecisionListClassifier(GrownClassifier):
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

    _: KW_ONLY
    max_rules: int = 5
    error: float = 0.1

    size_parameter = ("max_rules", 1000)
    saved: ClassVar[Saved] = GROWN

    @property
    def rules_(self) -> list[Rule]:
        """The rules in their order; the last one is for all other records."""
        splits = [node for node in self.nodes_ if node.literal is not None]
        taken = [Rule(node.literal, self.nodes_[node.yes].shares) for node in splits]
        return [*taken, Rule(None, self.nodes_[-1].shares)]

    def rules(self) -> str:
        """Return the list in words."""
        classes = [f"{self.classes_[rule.shares.argmax()]} ({rule.shares.max():.2f})" for rule in self.rules_]
        lines = [
            f"if {rule.literal.says(self.features_)}: {found}"
            for rule, found in zip(self.rules_, classes, strict=True)
            if rule.literal is not None
        ]
        return "\n".join([*lines, f"else: {classes[-1]}"])

    def _widths(self, rounds: int) -> list[int]:
        checked_error(self.error)
        return [1] * rounds + [rounds + 1]

    def _grow(self, number: int, candidates: Candidates, deviation: float, width: int) -> list[int]:
        literal = _best(candidates, deviation, self.error, 0.5 / self.max_rules)
        return [] if literal is None else [self._split(number, literal)[1]]


def _best(candidates: Candidates, deviation: float, error: float, share: float) -> FeatureLiteral | None:
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
