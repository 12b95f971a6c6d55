"""Photograph the service over the bundled Adult in chromium: python tools/service_screenshots.py OUTPUT

It is started for that, asked a question, trained on, asked about a point and looked after, and ended.
"""

import re
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from screenshots import browser, dressed, taken
from selenium import webdriver
from selenium.webdriver.common.by import By
from selenium.webdriver.support.wait import WebDriverWait

_TALLEST, _PATIENCE = 3600, 120
QUESTION = "age > 60 and sex == 'Female'"


@contextmanager
def demonstration() -> Iterator[tuple[str, str, str]]:
    """Serve Adult; give the address and the tokens of an analyst and of the custodian."""
    with tempfile.TemporaryDirectory() as folder:
        command = [sys.executable, "-m", "tacit", "serve", "--demo", "--port", "8767"]
        service = subprocess.Popen(command, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        assert service.stdout is not None
        try:
            said = ""
            while "custodian" not in said:
                said += service.stdout.readline()
            (address,), tokens = re.findall(r"http://[\d.:]+", said), re.findall(r"tacit_[\w-]+", said)
            yield address, tokens[0], tokens[1]
        finally:
            service.terminate()
            service.wait(60)


def sign_in(driver: webdriver.Chrome, address: str, token: str) -> None:
    """Begin a visit."""
    driver.delete_all_cookies()
    driver.get(address)
    driver.find_element(By.NAME, "token").send_keys(token)
    press(driver, "Sign in")


def press(driver: webdriver.Chrome, words: str) -> None:
    """Press a button, and wait for the page that it leads to."""
    button = driver.find_element(By.XPATH, f"//button[normalize-space()='{words}']")
    driver.execute_script("window.here = true")
    button.click()
    WebDriverWait(driver, _PATIENCE).until(lambda seen: not seen.execute_script("return window.here || false"))


def main(output: Path) -> None:
    """Write all pictures."""
    with demonstration() as (address, analyst, custodian), browser() as driver:
        dressed(driver, 1200, "light")
        sign_in(driver, address, analyst)
        driver.get(f"{address}/datasets/adult")
        driver.find_element(By.NAME, "question").send_keys(QUESTION)
        press(driver, "Ask, and pay")
        taken(driver, 1200, _TALLEST, output / "service-ask-1200.png")
        dressed(driver, 390, "dark")
        taken(driver, 390, _TALLEST, output / "service-ask-390-dark.png")

        driver.get(f"{address}/datasets/adult/train")
        press(driver, "Train, and pay")
        driver.get(f"{address}/datasets/adult/sessions")
        press(driver, "Open, and pay")
        WebDriverWait(driver, _PATIENCE).until(lambda seen: seen.find_elements(By.LINK_TEXT, "go there"))
        driver.find_element(By.LINK_TEXT, "go there").click()
        dressed(driver, 390, "light")
        press(driver, "Answer")
        taken(driver, 390, _TALLEST, output / "service-session-390.png")

        dressed(driver, 1200, "dark")
        sign_in(driver, address, custodian)
        driver.get(f"{address}/custody")
        taken(driver, 1200, _TALLEST, output / "service-custody-1200-dark.png")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
