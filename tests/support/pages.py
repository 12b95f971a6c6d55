"""Pages of a service, used as a person uses them: signed in, by the forms that are on them."""

import re
from typing import Any

from support.service import Running

GUARD = re.compile(r'name="guard" value="([0-9a-f]+)"')
ASK = {"question": "age > 50 and smoker", "epsilon": "0.2", "part": "all", "of": "sample", "low": "0", "high": "1"}


def sign_in(clinic: Running, who: str) -> None:
    """Sign in as a person would: by the form on the first page."""
    guard = GUARD.search(clinic.client.get("/").text)[1]
    answered = clinic.client.post(
        "/sign-in", data={"guard": guard, "token": clinic.tokens[who]}, follow_redirects=False
    )
    assert answered.status_code == 303


def send(clinic: Running, place: str, form_on: str | None = None, **fields: str) -> Any:
    """Send a form with the guard of the page that it is on."""
    guard = GUARD.search(clinic.client.get(form_on or place).text)[1]
    return clinic.client.post(place, data={"guard": guard, **fields})


def field(text: str, name: str) -> str:
    """Return what a field of a page holds at first."""
    return re.search(rf'name="{name}"(?: type="[a-z]+")? value="([^"]*)"', text)[1]
