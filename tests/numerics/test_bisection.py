"""Bisections: one place, and many at once."""

import numpy as np
import pytest

from tacit.errors import InvalidParameter
from tacit.numerics.bisection import bisect, bisect_all, fewest


@pytest.mark.parametrize("rises", [False, True])
def test_many_bisections_at_once_find_what_each_finds(rises: bool) -> None:
    """To the last bit, on either side of where the condition ends."""
    ends = np.linspace(-3.1, 5.0, 41)
    inside, outside = (-7.0, 11.0) if rises else (11.0, -7.0)
    found = bisect_all(lambda at: (at < ends) == rises, np.full(41, inside), np.full(41, outside), 200)
    each = [bisect(lambda at, end=end: (at < end) == rises, inside, outside)[0] for end in ends]
    np.testing.assert_array_equal(found, each)


def test_the_fewest_is_the_smallest_that_is_enough() -> None:
    """Found between powers of two; refused in the words given where there is none in reach."""
    assert [fewest(lambda count, least=least: count >= least) for least in range(1, 40)] == list(range(1, 40))
    with pytest.raises(InvalidParameter, match="too many"):
        fewest(lambda count: False, most=100, otherwise="too many")
