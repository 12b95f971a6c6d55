"""Decision trees, grown level by level from statistical queries, in the manner of ID3."""

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
from tacit.queries.learners.counts import Counts, Groups, constant, count_classes, count_groups, settled, unasked
from tacit.queries.learners.discrete import Coded, DiscreteClassifier
from tacit.queries.learners.inquiry import Inquiry, Round
from tacit.queries.learners.literals import Candidates, Literal, affordable, allowance

_DEEPEST = 10
"""Where a record is in a deeper tree would be too long an expression to ask about."""


@final
@dataclass(frozen=True)
class Node:
    """A leaf, or a literal and where to go if it is true and if it is not; and the shares of the classes here."""

    shares: Floats
    literal: Literal | None = None
    yes: int = -1
    no: int = -1


@final
class SQDecisionTree(DiscreteClassifier):
    """A decision tree: each level is one round of queries about all open nodes, and the leaves are the last round.

    Nodes of a level are disjoint, so replacing a record moves two counts for each feature, however many nodes there
    are. A node is split by the literal that lowers its Gini impurity most, if that stands out from the noise.

    Guarantee: the tree is (epsilon, delta)-private for replace-one neighbours, pure when delta is 0.
    Assumes: public are n, the declared features and the classes; when `classes` is None (and no schema declares them)
    the set of labels in y is taken to be public knowledge.
    Reference: oracle.md; rounds compose, each with an equal share of the budget.

    Parameters
    ----------
    epsilon, delta : the budget of one fit; an infinite epsilon gives the ordinary tree, without privacy.
    max_depth : how many levels may be split, 10 at most: fewer if, by public quantities alone, the noise would drown
        a good split of the last one. Each level gets an equal share of the budget, and so do the leaves.
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
        max_depth: int = 4,
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
        self.max_depth = max_depth
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
        """Return the commonest class of every record's leaf."""
        best = self.predict_proba(X).argmax(axis=1)
        return np.asarray(self.classes_[best])

    def predict_proba(self, X: Any) -> Floats:
        """Return the shares of the classes in every record's leaf."""
        codes = self._codes(X)
        place = np.zeros(len(codes), dtype=np.intp)
        for number, node in enumerate(self.nodes_):
            if node.literal is not None:
                here = place == number
                true = node.literal.holds(codes[here, node.literal.feature])
                place[here] = np.where(true, node.yes, node.no)
        return np.array([node.shares for node in self.nodes_])[place]

    def rules(self) -> str:
        """Return the tree in words."""
        return "\n".join(self._lines(0, ""))

    def _lines(self, number: int, indent: str) -> list[str]:
        node = self.nodes_[number]
        if node.literal is None:
            return [f"{indent}{self.classes_[node.shares.argmax()]} ({node.shares.max():.2f})"]
        then = self._lines(node.yes, indent + "    ")
        otherwise = self._lines(node.no, indent + "    ")
        return [f"{indent}if {node.literal.says(self.features_)}:", *then, f"{indent}else:", *otherwise]

    def _course(self, n: int, sizes: list[int], labels: tuple[Any, ...]) -> list[Round]:
        most, budget = whole_number("max_depth", self.max_depth), needed_budget(self.epsilon, self.delta)
        if most > _DEEPEST:
            raise InvalidParameter(f"max_depth must be at most {_DEEPEST}, got {self.max_depth!r}.")
        depth = affordable(most, budget, self._level(sizes, labels, 0).queries, n, self.noise_rate)
        levels = [self._level(sizes, labels, level) for level in range(depth)]
        return [*levels, Round([count_groups(unasked, labels, Groups(unasked, 2 ** len(levels)))], of="sample")]

    def _level(self, sizes: list[int], labels: tuple[Any, ...], level: int) -> Round:
        groups = Groups(unasked, 2**level)
        return Round(count_classes([unasked] * len(sizes), sizes, unasked, labels, groups), of="sample")

    def _ask(self, inquiry: Inquiry, columns: Coded) -> None:
        self.nodes_ = [Node(np.full(len(inquiry.labels), 1.0 / len(inquiry.labels)))]
        open_nodes = [0]
        for level in range(inquiry.rounds - 1):
            open_nodes = self._grow(inquiry, columns, open_nodes, level) if open_nodes else []
        leaves = [number for number, node in enumerate(self.nodes_) if node.literal is None]
        query = count_groups(lambda table: table[inquiry.label], inquiry.labels, self._groups(columns, leaves))
        answers = inquiry.ask(inquiry.rounds - 1, [query])
        counted = np.reshape(answers.values[0], (len(leaves), -1))
        for number, shares in zip(leaves, settled(counted, answers.deviation + 1.0 / inquiry.n), strict=True):
            self.nodes_[number] = replace(self.nodes_[number], shares=shares)

    def _grow(self, inquiry: Inquiry, columns: Coded, open_nodes: list[int], level: int) -> list[int]:
        """Ask about the open nodes, split those where it is worth it, and return the new nodes."""
        sizes = [feature.size for feature in self.features_]
        groups = self._groups(columns, open_nodes)
        queries = count_classes(
            [each.code for each in columns], sizes, lambda table: table[inquiry.label], inquiry.labels, groups
        )
        counts = Counts.of(inquiry.ask(level, queries), sizes, len(open_nodes))
        added: list[int] = []
        for place, number in enumerate(open_nodes):
            found = Candidates.of(self.features_, [table[place] for table in counts.tables], counts.totals[place])
            gains = found.gains(counts.deviation, allowance(len(open_nodes) * len(found.literals)))
            best = int(gains.argmax())
            if gains[best] > 1e-12:
                yes, no = len(self.nodes_), len(self.nodes_) + 1
                self.nodes_[number] = replace(self.nodes_[number], literal=found.literals[best], yes=yes, no=no)
                self.nodes_ += [Node(self.nodes_[number].shares)] * 2
                added += [yes, no]
        return added

    def _groups(self, columns: Coded, wanted: list[int]) -> Groups:
        """Return the expression for the place of a record's node among those wanted, -1 if it is in none."""
        numbers = {number: place for place, number in enumerate(wanted)}

        def number(table: Any, at: int = 0) -> Any:
            node = self.nodes_[at]
            if node.literal is None:
                return numbers.get(at, -1)
            return node.literal.test(table, columns).ifelse(number(table, node.yes), number(table, node.no))

        return Groups(number if len(self.nodes_) > 1 else constant(0), len(wanted))
