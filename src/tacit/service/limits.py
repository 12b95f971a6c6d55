"""How much one token may ask for at once and by the minute, in each worker; refusals say when to come again."""

import threading
import time
from collections.abc import Callable
from http import HTTPStatus
from typing import final

from tacit.service.refusals import Refusal
from tacit.service.settings import Limits

_MOST_TOKENS = 10_000


@final
class Meter:
    """Counts the requests of each token: a bucket that fills evenly, and those under way."""

    def __init__(self, limits: Limits) -> None:
        self._room, self._at_once = limits.requests_per_minute, limits.at_once
        self._rate = self._room / 60
        self._turn = threading.Lock()
        self._buckets: dict[str, tuple[float, float]] = {}
        self._under_way: dict[str, int] = {}

    def enter(self, token: str) -> Callable[[], None]:
        """Count a request; return what is called when it is over. Refuse one that is too many."""
        with self._turn:
            moment = time.monotonic()
            left, then = self._buckets.get(token, (float(self._room), moment))
            left = min(float(self._room), left + (moment - then) * self._rate)
            if left < 1 or self._under_way.get(token, 0) >= self._at_once:
                wait = max(1, round((1 - left) / self._rate + 0.5)) if left < 1 else 1
                raise Refusal(
                    HTTPStatus.TOO_MANY_REQUESTS,
                    "TooMuch",
                    f"this token asks for too much at once: {self._room} requests a minute, {self._at_once} at once. "
                    f"Come again in {wait} s.",
                    wait=wait,
                )
            if token not in self._buckets and len(self._buckets) >= _MOST_TOKENS:
                # Buckets that are full again say nothing.
                full = self._room / self._rate
                self._buckets = {name: each for name, each in self._buckets.items() if moment - each[1] < full}
            self._buckets[token] = left - 1, moment
            self._under_way[token] = self._under_way.get(token, 0) + 1
        return lambda: self._leave(token)

    def _leave(self, token: str) -> None:
        with self._turn:
            left = self._under_way[token] - 1
            if left:
                self._under_way[token] = left
            else:
                del self._under_way[token]
