"""Processes that race for one oracle's budget, or die while it answers; run as a script by the tests."""

import json
import os
import pickle
import sys
from pathlib import Path

from tacit.errors import BudgetExceeded
from tacit.queries import StatisticalOracle, StatisticalQuery


def _query(number: int) -> StatisticalQuery:
    return StatisticalQuery(lambda t: t.x0 > number)


def race(pickled: str, folder: str) -> object:
    """Let four processes ask one oracle 20 different questions each; return how many each was answered."""
    oracle: StatisticalOracle = pickle.loads(Path(pickled).read_bytes())
    children = []
    for process in range(4):
        child = os.fork()
        if child == 0:
            answered = 0
            for attempt in range(20):
                try:
                    oracle.ask(_query(100 * process + attempt), epsilon=0.02)
                    answered += 1
                except BudgetExceeded:
                    pass
            Path(folder, str(process)).write_text(str(answered))
            os._exit(0)
        children.append(child)
    for child in children:
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    return [int(Path(folder, str(process)).read_text()) for process in range(4)]


def die(pickled: str, folder: str) -> object:
    """Ask, and be killed between the charge and the answer."""
    oracle: StatisticalOracle = pickle.loads(Path(pickled).read_bytes())
    oracle.evaluator.sums = lambda *_, **__: os.kill(os.getpid(), 9)  # type: ignore[method-assign]
    oracle.ask(_query(0), epsilon=0.25)
    return "answered"


if __name__ == "__main__":
    print(json.dumps({"race": race, "die": die}[sys.argv[1]](*sys.argv[2:])))
