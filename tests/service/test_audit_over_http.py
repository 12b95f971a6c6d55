"""The auditor against running services: a canary record is in, or is not, and all that comes over HTTP is looked at."""

import shutil
import tempfile
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from itertools import count
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy import stats

from support.nursery import Nursery, Server, nursery
from support.service import made_up_table, running
from tacit.audit import audit
from tacit.audit.attacks import LikelihoodRatio
from tacit.audit.game import Batch
from tacit.audit.report import Verdict
from tacit.budget import Budget

ROWS, EPSILON = 20, 1.5
ROUTE = "/v1/datasets/clinic/queries"


@pytest.fixture(scope="module")
def born() -> Iterator[Nursery]:
    """Give a place where servers come from."""
    with nursery() as found:
        yield found


@contextmanager
def _service(born: Nursery, canary: bool, **how: Any) -> Iterator[tuple[Server, str]]:
    """Run a service over a table whose first record smokes, or does not, as nobody else does."""
    memory = "/dev/shm" if Path("/dev/shm").is_dir() else None
    folder = Path(tempfile.mkdtemp(dir=memory, prefix="tacit-audit-"))
    table = made_up_table(ROWS)
    table["smoker"] = np.arange(ROWS) == (0 if canary else ROWS)
    try:
        with running(folder, budget=Budget(10**6), table=table) as served:
            token = served.tokens["alice"]
        yield born.server(folder, **how), token
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _play(numbers: "count[int]") -> Callable[[Any], Any]:
    """Return a play: a question that was never asked, a retry of it, one that is refused, and one that makes no sense.

    Of an answer everything is told but how many questions were asked before: the entry's number and what is left.
    """

    def play(world: list[tuple[Server, str]]) -> Any:
        ((server, token),) = world
        key = f"play {next(numbers)}"
        body = {"queries": [{"mean": f"smoker and age >= 0.{next(numbers):09}"}], "epsilon": EPSILON}
        first, again, beyond, senseless = (
            server.ask("POST", ROUTE, token, asked, name)
            for asked, name in (
                (body, key), (body, key), ({**body, "epsilon": 1e7}, f"{key}, beyond"), ({**body, "part": "none"}, key)
            )
        )  # fmt: skip
        assert first.content == again.content
        told = first.json()
        (answer,) = told["answers"]
        refusals = [beyond.status_code, senseless.status_code, len(senseless.content)]
        return [answer["value"], answer["tolerance"], first.status_code, len(told["guarantee"]), *refusals]

    return play


def _attack(epsilon: float) -> LikelihoodRatio:
    """Return the likelihood ratio of a share with Laplace noise for one record of all, at this epsilon."""

    def law(rest: Any) -> Any:
        return stats.laplace.logpdf(rest[:, 0], scale=1 / (ROWS * epsilon))

    return LikelihoodRatio(lambda answers: law(answers - 1 / ROWS), law)


class _Asked(Batch):
    """Answers of a service to questions that were never asked, many at once."""

    def __init__(self) -> None:
        self.numbers = count()

    def many(self, data: Any, count: int) -> Any:
        """Ask so many questions, eight at a time."""
        ((server, token),) = data

        def one(number: int) -> list[float]:
            body = {"queries": [{"mean": f"smoker and age >= 0.{number:09}"}], "epsilon": EPSILON}
            told = server.ask("POST", ROUTE, token, body, f"question {number}").json()
            return [told["answers"][0]["value"]]

        with ThreadPoolExecutor(8) as several:
            return np.array(list(several.map(one, [next(self.numbers) for _ in range(count)])))


def test_a_service_holds_at_its_claim(born: Nursery) -> None:
    """Answers, retries, refusals for budget and errors together tell no more of a record than was paid for."""
    with _service(born, True) as there, _service(born, False) as gone:
        # A world is one service, told from the other as one record is.
        found = audit(_play(count()), [there], [gone], epsilon=EPSILON, plays=600, attacks=[_attack(EPSILON)])
    assert found.verdict is Verdict.HOLDS, found


def test_a_service_with_half_the_noise_is_refuted(born: Nursery) -> None:
    """The same auditor tells a service that draws half of its noise from one that keeps its claim."""
    with _service(born, True, half_noise=True) as there, _service(born, False, half_noise=True) as gone:
        found = audit(_Asked(), [there], [gone], epsilon=EPSILON, plays=2500, attacks=[_attack(EPSILON)])
    assert found.verdict is Verdict.REFUTED, found
