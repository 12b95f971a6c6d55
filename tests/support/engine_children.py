"""What a process does that is given an engine by a pickle or a fork; in a module of its own, which loads quickly."""

import os
import pickle
from pathlib import Path

from tacit.queries import StatisticalQuery
from tacit.sums.engines.engine import Engine


def count_the_old(path: Path, engine: Engine | None = None) -> None:
    """End with 17 if the engine, read from a file unless it is inherited, counts one old record."""
    found = engine or pickle.loads(path.read_bytes())
    (sums,) = found.sums([found.prepare(StatisticalQuery(lambda t: (t.age > 60) & (t.y == 1)))])
    os._exit(17 if sums.tolist() == [1] else 1)
