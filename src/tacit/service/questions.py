"""Questions as plain values: how many, how long and for how many numbers one request may have."""

import json
from collections.abc import Mapping, Sequence
from typing import Any

from tacit.errors import InvalidParameter
from tacit.sums.plain import query_of
from tacit.sums.query import Query

_MOST_QUERIES, _MOST_NUMBERS = 200, 10_000


def queries_of(plain: Sequence[Mapping[str, Any]], n: int, most_work: int) -> list[Query]:
    """Return the queries, if answering them takes no longer than may be: by public facts, before anything is read."""
    if len(plain) > _MOST_QUERIES:
        raise InvalidParameter(f"one request may have {_MOST_QUERIES} queries, got {len(plain)}: ask in several.")
    letters = len(json.dumps(plain))
    if letters * n > most_work:
        raise InvalidParameter(
            f"the questions of one request may have {most_work // n:,} letters where there are {n:,} records, and "
            f"these have {letters:,}: ask in several."
        )
    found = [query_of(each) for each in plain]
    size = sum(query.size for query in found)
    if size > _MOST_NUMBERS:
        raise InvalidParameter(f"one request may ask for {_MOST_NUMBERS} numbers, got {size}: ask in several.")
    return found
