"""`Client`: the data sets of a trusted learner, asked over HTTP."""

import os
from typing import Any, final

from tacit.client.dataset import Dataset
from tacit.client.wire import Wire
from tacit.errors import InvalidParameter


@final
class Client:
    """A service that owns records and answers questions about them, seen by somebody who may ask.

        client = Client("https://learner.example", token)          # or the environment's TACIT_TOKEN
        visits = client.dataset("visits")
        twin = visits.twin()                                       # made-up records, the same interface, no cost
        answer = visits.oracle().ask(StatisticalQuery(lambda t: t.age > 60), epsilon=0.1)
        model = visits.fit(PrivateLogisticRegression(epsilon=1.0))

    What an answer costs, its error and its guarantee come with it. A call that got no answer is tried again with the
    same key, and so charged once; `key=` of each call that spends is yours if you want to try again tomorrow.

    Guarantee: that of the service: all it answers about a data set, to everybody, is within that data set's budget.
    Assumes: the service is trusted with the records, and its operator with the terms that a data set's `public` lists.
    Reference: docs/service.md, docs/deploying.md.

    Parameters
    ----------
    url : where the service is; https, unless it is on this machine.
    token : who is asking; by default what the environment's TACIT_TOKEN says.
    timeout : how many seconds to wait for an answer.
    transport : how requests travel, for tests; httpx's own by default.
    """

    def __init__(self, url: str, token: str | None = None, *, timeout: float = 60.0, transport: Any = None) -> None:
        given = os.environ.get("TACIT_TOKEN") if token is None else token
        if not isinstance(given, str) or not given or not given.isascii() or not given.isprintable():
            raise InvalidParameter(
                "a service asks who you are: give token=, or set TACIT_TOKEN. Its custodian makes tokens."
            )
        self._wire = Wire.to(url, given, timeout, transport)

    @property
    def me(self) -> dict[str, Any]:
        """Who this token stands for, what it may do, and until when."""
        return dict(self._wire.get("me"))

    def datasets(self) -> list[str]:
        """Return the names of the data sets that may be asked about."""
        return [each["name"] for each in self._wire.get("datasets")["datasets"]]

    def dataset(self, name: str) -> Dataset:
        """Return a data set: its public facts are read, and nothing is charged."""
        return Dataset(self._wire, dict(self._wire.get("datasets", name)))

    def history(self, dataset: str | None = None) -> list[dict[str, Any]]:
        """Return what was asked with this token, and what it cost; for custodians and auditors, by all."""
        return list(self._wire.get("history", dataset=dataset)["requests"])

    def close(self) -> None:
        """End the connection."""
        self._wire.http.close()

    def __enter__(self) -> "Client":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"Client({str(self._wire.http.base_url)!r})"
