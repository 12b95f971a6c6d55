"""People at a real browser: an analyst who asks until the budget is spent; nothing is loaded, nothing is too wide."""

import pytest

from support.browser import browser
from support.served import served
from support.service import running
from tacit.budget import Budget


@pytest.fixture(scope="module")
def clinic(tmp_path_factory):
    """A service over a made-up table, at an address."""
    folder = tmp_path_factory.mktemp("service")
    with running(folder, budget=Budget(3.0, 1e-5)) as found, served(found.client.app) as url:
        yield found, url


def look(page):
    """Look at a page: it fits, and the browser has nothing to complain of."""
    assert not page.is_too_wide
    assert page.complaints == []


def test_an_analyst_asks_trains_and_sends_points_until_the_budget_says_so(clinic):
    """On a phone in the dark: price before paying, an answer with its error, a model, its scores, points, the end."""
    found, url = clinic
    with browser(url, width=390, dark=True) as page:
        page.open("/")
        look(page)
        page.write(token=found.tokens["alice"])
        page.press("Sign in")
        page.wait_until("Data sets")
        page.press("clinic")
        page.write(question="age > 50 and smoker", epsilon="0.2")
        page.press("What would it cost?")
        page.wait_until("It costs epsilon=0.2")
        page.press("Ask, and pay")
        page.wait_until("95 times in 100")
        look(page)
        page.press("Train")
        page.press("Train, and pay")
        page.wait_until("Fetch the model")
        look(page)
        page.press("Score it, and pay")
        page.wait_until("balanced accuracy")
        look(page)
        page.open("/datasets/clinic/sessions")
        page.write(epsilon="0.5")
        page.press("Open, and pay")
        page.wait_until("It answers points")
        page.press("go there")
        page.press("Answer")
        page.wait_until("give or take")
        look(page)
        page.open("/datasets/clinic")
        page.write(question="age > 51", epsilon="2.5")
        page.press("Ask, and pay")
        page.wait_until("does not fit")
        page.wait_until("Nothing was charged.")
        look(page)


HEARTS = "patient,age,pressure,sick\n" + "".join(
    f"{row // 2},{30 + row * 7 % 50},{100 + row * 13 % 80},{'yes' if row * 7 % 50 > 25 else 'no'}\n"
    for row in range(800)
)
SCHEMA = """target = "sick"
[columns]
patient = {kind = "key"}
age = {kind = "number", low = 18, high = 100}
pressure = {kind = "number", low = 60, high = 220}
sick = {kind = "flag"}
"""


def test_a_custodian_registers_a_table_and_gives_out_a_token(clinic, tmp_path):
    """On a desk in the light: a file, its schema, the terms, a signature; a token for an analyst who then asks."""
    found, url = clinic
    file = tmp_path / "hearts.csv"
    file.write_text(HEARTS, "utf-8")
    with browser(url) as page:
        page.open("/")
        page.write(token=found.tokens["carol"])
        page.press("Sign in")
        page.press("Custody")
        look(page)
        page.press("Register a table")
        page.write(file=str(file))
        look(page)
        page.press("Draft a schema")
        page.wait_until("Step 2 of 3")
        page.write(schema=SCHEMA)
        look(page)
        page.press("Check it")
        page.wait_until("Step 3 of 3")
        page.write(name="hearts", unit="each person, by patient", epsilon="2", signed_by="Carol")
        page.tick("agreed")
        look(page)
        page.press("Register")
        page.wait_until("400 persons")
        page.write(name="alan", days="30")
        page.press("Make it")
        page.wait_until("shown this once")
        token = next(word for word in page.text.split() if word.startswith("tacit_"))
        look(page)
        page.press("Sign out")
        page.write(token=token)
        page.press("Sign in")
        page.press("hearts")
        page.write(question="pressure > 140", epsilon="0.5")
        page.press("Ask, and pay")
        page.wait_until("95 times in 100")
        look(page)
