"""Whatever can be sent by the OpenAPI document, and what cannot, is answered without a failure of the service."""

from collections.abc import Iterator
from typing import Any

import pytest
import schemathesis
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from schemathesis import GenerationMode

from support.jobs import FIT, SESSION, made
from support.service import Running, running
from tacit.service.settings import Limits

MINE = r"^/v1/(.*/)?(fits|reports|sessions|jobs|models)(/|$)"


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    """Serve a clinic, with limits that let many requests through."""
    limits = Limits(requests_per_minute=10**6, jobs=10**4, queue=10**4)
    with running(tmp_path_factory.mktemp("any"), limits=limits) as found:
        made(found, "fits", FIT)
        made(found, "sessions", SESSION)
        yield found


def test_no_request_fails_the_service(served: Running) -> None:
    """No answer is a 5xx, errors have the one shape, and none has words of another library."""
    document = schemathesis.openapi.from_asgi("/openapi.json", served.client.app).include(path_regex=MINE)
    operations = [found.ok() for found in document.get_all_operations()]
    assert len(operations) >= 14
    for operation in operations:

        @settings(max_examples=20, deadline=None, suppress_health_check=list(HealthCheck))
        @given(st.one_of([operation.as_strategy(generation_mode=mode) for mode in GenerationMode]))
        def send(case: Any) -> None:
            for who in ("alice", "carol"):
                key = f"{case.method} {hash(str(case.body))}"
                found = case.call(headers={**served.headers(who), "Idempotency-Key": key})
                assert found.status_code < 500, found.text
                if found.status_code >= 400:
                    assert set(found.json()) == {"error"}, found.text
                    assert "Traceback" not in found.text

        send()
