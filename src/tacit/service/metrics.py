"""What a worker has done, as Prometheus reads it: numbers of requests, and how long they took."""

import os
import threading
from collections import defaultdict
from typing import final

_ENDS = (0.01, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 10.0)


@final
class Metrics:
    """Counters of one process; public quantities only: routes, statuses, seconds."""

    def __init__(self) -> None:
        self._turn = threading.Lock()
        self._requests: defaultdict[tuple[str, int], int] = defaultdict(int)
        self._lasted = [0] * (len(_ENDS) + 1)
        self._seconds = 0.0

    def count(self, route: str, status: int, seconds: float) -> None:
        """Count a request, and how long it took."""
        with self._turn:
            self._requests[route, status] += 1
            self._seconds += seconds
            self._lasted[sum(seconds > end for end in _ENDS)] += 1

    def text(self) -> str:
        """Return all counters in the text format of Prometheus."""
        worker = f'worker="{os.getpid()}"'
        with self._turn:
            requests, lasted, seconds = dict(self._requests), list(self._lasted), self._seconds
        lines = ["# TYPE tacit_requests_total counter"]
        for (route, status), number in sorted(requests.items()):
            lines.append(f'tacit_requests_total{{{worker},route="{route}",status="{status}"}} {number}')
        lines.append("# TYPE tacit_request_seconds histogram")
        so_far = 0
        for end, number in zip([*map(str, _ENDS), "+Inf"], lasted, strict=True):
            so_far += number
            lines.append(f'tacit_request_seconds_bucket{{{worker},le="{end}"}} {so_far}')
        lines.append(f"tacit_request_seconds_sum{{{worker}}} {seconds:.6f}")
        lines.append(f"tacit_request_seconds_count{{{worker}}} {so_far}")
        return "\n".join(lines) + "\n"
