"""Decision trees, grown level by level from statistical queries in the manner of ID3; lists share the growing."""

import math
from abc import abstractmethod
from dataclasses import KW_ONLY, dataclass, replace
from typing import Any, ClassVar, final

import numpy as np

from tacit.checks import whole_number
from tacit.errors import InvalidParameter
from tacit.estimators.saving.fields import Saved
from tacit.numerics.arrays import Floats
from tacit.queries.learners.discrete import (
    ClassCounts,
    CodeColumns,
    DiscreteClassifier,
    Groups,
    count_classes,
    count_groups,
    everyone,
    settled,
)
from tacit.queries.learners.learner import Labels
from tacit.queries.learners.literals import Candidates, FeatureLiteral, Node, allowance
from tacit.queries.learners.saved import GROWN
from tacit.queries.oracle.session import Session
from tacit.sums.language.expression import constant
from tacit.sums.query import Histogram

_GOOD = 0.1


@dataclass(eq=False, repr=False)
class GrownClassifier(DiscreteClassifier):
    """Nodes that are grown in rounds of queries about those still open; a last round counts the classes in leaves.

    Nodes of a round are disjoint, so replacing a record moves two counts for each feature, however many there are.
    """

    size_parameter: ClassVar[tuple[str, int]]
    """The parameter that says how many rounds may be grown, and the most it may be: queries must not be too long."""

    @abstractmethod
    def _widths(self, rounds: int) -> list[int]:
        """Return how many nodes may be open in each round, and how many leaves there may be in the end."""

    @abstractmethod
    def _grow(self, number: int, candidates: Candidates, deviation: float, width: int) -> list[int]:
        """Split an open node, one of so many, if that stands out from the noise; return the new nodes to go on with."""

    def predict_proba(self, X: Any) -> Floats:
        """Return the shares of the classes in every record's leaf."""
        codes = self._codes(X)
        place = np.zeros(len(codes), dtype=np.intp)
        for number, node in enumerate(self.nodes_):
            if node.literal is not None:
                here = place == number
                place[here] = np.where(node.literal.holds(codes[here]), node.yes, node.no)
        return np.array([node.shares for node in self.nodes_])[place]

    def _rounds(self, n: int, columns: CodeColumns, labels: Labels) -> list[list[Histogram]]:
        """Grow as long as a good literal in the last round but one stands out from the noise.

        Each round is thought to halve the records that the next is about, and a good literal to halve those into parts
        whose classes differ by `_GOOD` in mean square. Of T = 2^(1 - rounds) of the records it gains (T/4) _GOOD, and
        the allowance is that of `Candidates.gains`, luck (4/T) deviation^2. Only public quantities are looked at.
        """
        name, largest = self.size_parameter
        most = whole_number(name, getattr(self, name))
        if most > largest:
            raise InvalidParameter(f"{name} must be at most {largest}, got {most}.")
        first = count_classes(columns, labels, everyone())
        scale = 4.0 * math.sqrt(allowance(sum(query.size for query in first)) / _GOOD)
        rounds = self._affordable(first, n, lambda count: 2.0 ** (1 - count) / scale, 1, most, besides=1)
        *widths, leaves = self._widths(rounds)
        counted = {width: count_classes(columns, labels, everyone(width)) for width in widths}
        return [*(counted[width] for width in widths), count_groups(labels, everyone(leaves))]

    def _study(self, session: Session, columns: CodeColumns, labels: Labels) -> None:
        self.nodes_ = [Node(np.full(len(labels.values), 1.0 / len(labels.values)))]
        last, open_nodes = len(session.rounds) - 1, [0]
        for number in range(last):
            if open_nodes:
                queries = count_classes(columns, labels, self._groups(columns, open_nodes))
                counts = ClassCounts.of(session.ask(number, queries), columns, len(open_nodes))
                added = []
                for place, at in enumerate(open_nodes):
                    tables, totals = [table[place] for table in counts.tables], counts.totals[place]
                    candidates = Candidates.of(self.features_, tables, totals)
                    added += self._grow(at, candidates, counts.deviation, len(open_nodes))
                open_nodes = added
        leaves = [number for number, node in enumerate(self.nodes_) if node.literal is None]
        reply = session.ask(last, count_groups(labels, self._groups(columns, leaves)))
        counted = np.reshape(reply.values[0], (len(leaves), -1))
        for number, shares in zip(leaves, settled(counted, reply.deviation + 1.0 / session.evaluator.n), strict=True):
            self.nodes_[number] = replace(self.nodes_[number], shares=shares)

    def _split(self, number: int, literal: FeatureLiteral) -> tuple[int, int]:
        """Split a node by a literal; return the nodes where that is true and where it is not."""
        yes, no = len(self.nodes_), len(self.nodes_) + 1
        self.nodes_[number] = replace(self.nodes_[number], literal=literal, yes=yes, no=no)
        self.nodes_ += [Node(self.nodes_[number].shares)] * 2
        return yes, no

    def _groups(self, columns: CodeColumns, wanted: list[int]) -> Groups:
        """Return the expression for the place of a record's node among those wanted, -1 if it is in none."""
        numbers, nodes = {number: place for place, number in enumerate(wanted)}, tuple(self.nodes_)

        def place(table: Any) -> Any:
            found: dict[int, Any] = {}
            for number in reversed(range(len(nodes))):
                node, found[number] = nodes[number], constant(numbers.get(number, -1))
                if node.literal is not None:
                    found[number] = node.literal.test(table, columns).ifelse(found[node.yes], found[node.no])
            return found[0]

        return Groups(place, len(wanted))


@final
@dataclass(eq=False, repr=False)
class SQDecisionTree(GrownClassifier):
    """A decision tree: each level is one round of queries about all open nodes, and the leaves are the last round.

    A node is split by the literal that lowers its Gini impurity most, if that stands out from the noise.

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

    _: KW_ONLY
    max_depth: int = 4

    size_parameter = ("max_depth", 10)
    saved: ClassVar[Saved] = GROWN

    def rules(self) -> str:
        """Return the tree in words."""
        return "\n".join(self._lines(0, ""))

    def export_text(self, *, show_weights: bool = False) -> str:
        """Return the tree laid out as by scikit-learn's `export_text`, in the units of the columns.

        `show_weights` adds the shares of the classes in every leaf.
        """
        return "\n".join(self._branches(0, "|", show_weights))

    def plot(self, axes: Any = None) -> Any:
        """Draw the tree with matplotlib, what is true to the left; return the axes."""
        leaves = sum(node.literal is None for node in self.nodes_)
        if axes is None:
            from matplotlib.figure import Figure

            axes = Figure(figsize=(max(4.0, 1.9 * leaves), 4.8)).add_axes((0.0, 0.0, 1.0, 1.0))
        axes.set_axis_off()
        axes.margins(0.1)
        axes.set_xlim(-0.6, leaves - 0.4)
        self._draw(axes, 0, 0, 0)
        return axes

    def _draw(self, axes: Any, number: int, level: int, left: int) -> tuple[float, int]:
        """Draw what hangs on a node, its leaves beginning at `left`; return where it is and where the next begins."""
        node = self.nodes_[number]
        if node.literal is None:
            middle, after, words = float(left), left + 1, self._lines(number, "")[0]
        else:
            (yes, split), words = self._draw(axes, node.yes, level + 1, left), node.literal.says(self.features_)
            no, after = self._draw(axes, node.no, level + 1, split)
            middle = (yes + no) / 2
            axes.plot([yes, middle, no], [-level - 1, -level, -level - 1], color="gray", zorder=0)
        box = {"boxstyle": "round", "facecolor": "white", "edgecolor": "gray"}
        axes.text(middle, -level, words, ha="center", va="center", fontsize=8, bbox=box)
        return middle, after

    def _lines(self, number: int, indent: str) -> list[str]:
        node = self.nodes_[number]
        if node.literal is None:
            return [f"{indent}{self.classes_[node.shares.argmax()]} ({node.shares.max():.2f})"]
        then = self._lines(node.yes, indent + "    ")
        otherwise = self._lines(node.no, indent + "    ")
        return [f"{indent}if {node.literal.says(self.features_)}:", *then, f"{indent}else:", *otherwise]

    def _branches(self, number: int, indent: str, show_weights: bool) -> list[str]:
        node = self.nodes_[number]
        if node.literal is None:
            shares = ", ".join(f"{share:.2f}" for share in node.shares.tolist())
            weights = f"weights: [{shares}] " if show_weights else ""
            return [f"{indent}--- {weights}class: {self.classes_[node.shares.argmax()]}"]
        contrary = replace(node.literal, contrary=not node.literal.contrary)
        found = []
        for literal, below in ((node.literal, node.yes), (contrary, node.no)):
            found.append(f"{indent}--- {literal.says(self.features_)}")
            found += self._branches(below, f"{indent}   |", show_weights)
        return found

    def _widths(self, rounds: int) -> list[int]:
        return [2**level for level in range(rounds + 1)]

    def _grow(self, number: int, candidates: Candidates, deviation: float, width: int) -> list[int]:
        gains = candidates.gains(deviation, allowance(width * len(candidates.literals)))
        best = int(gains.argmax())
        return [*self._split(number, candidates.literals[best])] if gains[best] > 1e-12 else []
