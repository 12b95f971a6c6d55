"""A split into records to learn from and records to judge by, made by coins that look at no record."""

from typing import Any

import numpy as np

from tacit.checks import finite_number, whole_number
from tacit.errors import InvalidParameter
from tacit.noise import permutation, source_for


def split_by_index(count: int, test_fraction: float = 0.2, *, random_state: object = None) -> tuple[Any, Any]:
    """Return the indices of two disjoint parts of `count` records, chosen by coins that look at no record.

    Guarantee: with the parts as a partition fixed by index, training on one and evaluating on the other costs the
    larger of both.
    Assumes: the records are in an order that does not depend on their values.
    Reference: parallel composition, tacit/accounting/ledger.md.
    """
    count, share = whole_number("count", count), finite_number("test_fraction", test_fraction)
    tests = round(share * count) if 0 < share < 1 else 0
    if not 0 < tests < count:
        raise InvalidParameter(f"test_fraction must leave records on both sides, got {test_fraction!r} of {count}.")
    order = permutation(source_for(random_state), count)
    return np.sort(order[tests:]), np.sort(order[:tests])
