"""Classes counted by feature: one histogram a feature, and what is known about them besides the noise.

The histograms of all features count the same records, so they must add up to the same classes; making them do so
takes noise away and costs nothing.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any, final

import numpy as np

from tacit.numerics.arrays import Floats
from tacit.queries.learners.inquiry import Answers
from tacit.sums.language import expression
from tacit.sums.query import Histogram

Column = Callable[[Any], Any]


@final
@dataclass(frozen=True)
class Groups:
    """Disjoint groups of records, numbered from 0 by an expression; a record with another number is in none."""

    number: Column
    count: int


@final
@dataclass(frozen=True)
class Counts:
    """Shares of the records: `totals` by group and class, `tables` for each feature by group, code and class."""

    totals: Floats
    tables: tuple[Floats, ...]
    deviation: float

    @classmethod
    def of(cls, answers: Answers, sizes: Sequence[int], groups: int) -> "Counts":
        """Make the answers of `count_classes` consistent.

        A feature's codes add up to a class with noise of a variance proportional to their number, so totals are the
        mean over features, weighted by its inverse; what a feature lacks is spread over its codes.
        """
        tables = [np.reshape(value, (groups, size, -1)) for value, size in zip(answers.values, sizes, strict=True)]
        weights = 1.0 / np.array(sizes, dtype=np.float64)
        sums = np.array([table.sum(axis=1) for table in tables])
        totals = np.tensordot(weights / weights.sum(), sums, axes=1)
        corrected = tuple(
            table + ((totals - own) / size)[:, None, :] for table, own, size in zip(tables, sums, sizes, strict=True)
        )
        return cls(totals, corrected, answers.deviation)


def count_classes(
    codes: Sequence[Column], sizes: Sequence[int], label: Column, labels: Sequence[Any], groups: Groups | None = None
) -> list[Histogram]:
    """Ask for every class at every code of every feature, within each of the groups if there are any."""
    return [_histogram([(code, range(size)), (label, labels)], groups) for code, size in zip(codes, sizes, strict=True)]


def count_groups(label: Column, labels: Sequence[Any], groups: Groups) -> Histogram:
    """Ask for every class within each of the groups."""
    return _histogram([(label, labels)], groups)


def constant(number: int) -> Column:
    """Return an expression that is the same number for every record."""
    return lambda _: expression.constant(number)


def unasked(_: Any) -> Any:
    """Stand in for a column where only the number of queries matters."""


def _histogram(counted: Sequence[tuple[Column, Sequence[Any]]], groups: Groups | None) -> Histogram:
    within = [] if groups is None else [(groups.number, range(groups.count))]
    columns, values = zip(*within, *counted, strict=True)
    return Histogram(lambda table: [column(table) for column in columns], tuple(product(*values)))


def settled(counts: Floats, before: float) -> Floats:
    """Return the classes' shares in every group: none negative, and leaning to those of all groups by `before`."""
    everyone = np.maximum(counts.sum(axis=0), 0.0) + before
    positive = np.maximum(counts, 0.0) + before * everyone / everyone.sum()
    return np.asarray(positive / positive.sum(axis=1, keepdims=True))
