"""What goes over the wire: requests with a token, retried under one key, and refusals as tacit's own exceptions."""

import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, final
from urllib.parse import quote

from tacit import errors
from tacit.errors import InvalidParameter, ServiceError, TacitError
from tacit.noise import unique_name

if TYPE_CHECKING:
    import httpx

_LOOPBACK = {"localhost", "127.0.0.1", "::1"}
_LONGEST_WAIT = 30.0
_KNOWN = {
    kind.__name__: kind
    for kind in vars(errors).values()
    if isinstance(kind, type) and issubclass(kind, TacitError) and kind is not ServiceError
}
# A proxy or a service that is starting answers with these; whatever was charged is found again under the same key.
_PASSING = {429, 502, 503, 504}
_LONGEST_PAUSE, _PATIENCE = 5.0, 120


@final
@dataclass(frozen=True, eq=False)
class Wire:
    """A connection to a service: where it is, who asks, how long to wait and how often to ask again.

    What spends carries a key, the same at every try: a service that has answered it before gives the same answer again
    and charges nothing.
    """

    http: "httpx.Client"
    tries: int = 4
    pause: float = 0.25
    sleep: Any = field(default=time.sleep, repr=False)

    @classmethod
    def to(cls, url: str, token: str, timeout: float, transport: "httpx.BaseTransport | None") -> "Wire":
        """Open a connection; a token goes over TLS, or stays on this machine."""
        try:
            import httpx
        except ImportError as error:
            raise InvalidParameter(f"a service is reached with {error.name}: pip install 'tacit[service]'.") from error
        try:
            base = httpx.URL(url)
        except (httpx.InvalidURL, TypeError):
            base = httpx.URL("")
        if base.scheme not in ("http", "https") or not base.host:
            raise InvalidParameter(
                f'url must be the address of a service, like "https://learner.example", got {url!r}.'
            )
        if base.scheme == "http" and base.host not in _LOOPBACK:
            raise InvalidParameter(
                f"a token would go to {base.host} in the clear. Use https://, or a tunnel to this machine."
            )
        headers = {"Authorization": f"Bearer {token}", "Accept": "application/json"}
        # Tokens follow no redirection, and no proxy of the environment reads what stays on this machine.
        http = httpx.Client(
            base_url=base, headers=headers, timeout=timeout, transport=transport, trust_env=base.scheme == "https"
        )
        return cls(http)

    def get(self, *steps: str, **query: Any) -> Any:
        """Return what a route says."""
        return self._plain(self._asked("GET", steps, params={k: v for k, v in query.items() if v is not None}))

    def file(self, *steps: str) -> bytes:
        """Return the bytes that a route gives."""
        return self._asked("GET", steps).content

    def post(self, *steps: str, body: Mapping[str, Any], key: str | None = None) -> Any:
        """Send plain values; with a key if they may be charged, so that a retry is one request."""
        headers = {} if key is None else {"Idempotency-Key": key}
        return self._plain(self._asked("POST", steps, json=dict(body), headers=headers))

    @property
    def patient(self) -> "Wire":
        """The same connection, for what is under way: it asks again for about ten minutes."""
        return replace(self, tries=_PATIENCE)

    def _asked(self, method: str, steps: tuple[str, ...], **what: Any) -> "httpx.Response":
        import httpx

        # A name is one step of a path, whatever letters it has.
        path = "/v1/" + "/".join(quote(step, safe="") for step in steps)
        pause = self.pause
        for last in [*[False] * (self.tries - 1), True]:
            try:
                response = self.http.request(method, path, **what)
            except httpx.TransportError as failure:
                if last:
                    raise ServiceError(
                        f"the service at {self.http.base_url.host} does not answer ({type(failure).__name__}), after "
                        f"{self.tries} tries."
                    ) from None
                self.sleep(pause)
            else:
                if response.status_code not in _PASSING or last:
                    break
                self.sleep(_wait(response, pause))
            pause = min(2 * pause, _LONGEST_PAUSE)
        if response.is_success:
            return response
        raise refusal(response)

    @staticmethod
    def _plain(response: "httpx.Response") -> Any:
        if not response.content:
            return None
        try:
            return response.json()
        except ValueError:
            raise ServiceError("what answered is no tacit service: it sent something other than JSON.") from None


def checked_key(key: object) -> str | None:
    """Return a key of the caller's own, if there is one: what goes into a header, and what a service takes."""
    if key is not None and not (isinstance(key, str) and key.isascii() and key.isprintable() and len(key) <= 200):
        raise InvalidParameter("key must be a plain text of at most 200 letters, none of them with an accent.")
    return key


@contextmanager
def charged_once(key: str | None) -> Iterator[str]:
    """Give a key to all that is asked for one charge; of a failure say what was charged, and how to come again.

    Without the key, which the caller may not know, to come again would be another request, and charged again.
    """
    key = key or unique_name()
    again = f"the same call with key={key!r}"
    unknown = f"It is not known whether it was charged: {again} is charged once."
    try:
        yield key
    except TacitError as error:
        words = {
            True: f"It was charged: {again} costs nothing more.",
            False: "" if "othing was charged" in str(error) else "Nothing was charged.",
            None: unknown,
        }[error.charged]
        failure = named(type(error).__name__, f"{error} {words}".strip(), error.charged)
    except BaseException as error:
        # Whoever interrupts a long wait, too, is to come again for what was paid.
        error.add_note(unknown)
        raise
    else:
        return
    raise failure


def refusal(response: "httpx.Response") -> TacitError:
    """Return the exception that a refusal stands for: one of tacit's own, or a ServiceError."""
    try:
        told = response.json()["error"]
        return named(str(told["kind"]), str(told["message"]), told.get("charged"))
    except (ValueError, KeyError, TypeError):
        return ServiceError(f"the service answered {response.status_code} without saying why.")


def named(kind: str, message: str, charged: object) -> TacitError:
    """Return the exception of a kind, one of tacit's own or a ServiceError, with what was charged."""
    error = _KNOWN.get(kind, ServiceError)(message)
    error.charged = charged if isinstance(charged, bool) else None
    return error


def _wait(response: "httpx.Response", usual: float) -> float:
    try:
        return min(_LONGEST_WAIT, max(0.0, float(response.headers.get("Retry-After", usual))))
    except ValueError:
        return usual
