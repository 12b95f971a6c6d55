"""A real browser, driven as a person would: at a width, in the light or in the dark."""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from selenium import webdriver
from selenium.webdriver.chrome.service import Service
from selenium.webdriver.common.by import By
from selenium.webdriver.support.expected_conditions import staleness_of
from selenium.webdriver.support.ui import WebDriverWait

from support.needs import needed

_PATIENCE = 60.0


class Browser:
    """Pages of one site, and what is done on them."""

    def __init__(self, driver: Any, site: str) -> None:
        self.driver, self._site = driver, site

    def open(self, place: str) -> None:
        """Go to a page."""
        self.driver.get(self._site + place)

    def write(self, **fields: str) -> None:
        """Write into fields by the words of their labels' names."""
        for name, text in fields.items():
            field = self.driver.find_element(By.NAME, name)
            if field.tag_name != "select" and field.get_attribute("type") != "file":
                field.clear()
            field.send_keys(text)

    def tick(self, name: str) -> None:
        """Tick a box."""
        self.driver.find_element(By.NAME, name).click()

    def press(self, words: str) -> None:
        """Press the button, or follow the link, that says this; wait for the next page."""
        said = f"normalize-space()='{words}'"
        found = self.driver.find_element(By.XPATH, f"//button[{said}] | //a[{said}]")
        before = self.driver.find_element(By.TAG_NAME, "html")
        # Far down a page a press may fall on what lies above it.
        self.driver.execute_script("arguments[0].scrollIntoView({block: 'center'})", found)
        found.click()
        WebDriverWait(self.driver, _PATIENCE).until(staleness_of(before))

    def wait_until(self, words: str) -> None:
        """Wait until the page says something; pages that look again by themselves are looked at again."""
        until = time.monotonic() + _PATIENCE
        while words not in self.text:
            assert time.monotonic() < until, self.text
            time.sleep(0.1)

    @property
    def text(self) -> str:
        """What a person reads on the page."""
        # In one step: the page may be replaced between two.
        text: str = self.driver.execute_script("return document.body ? document.body.innerText : ''")
        return text

    def picture(self, path: Path) -> bytes:
        """Take a picture of the whole page, however long."""
        width = self.driver.execute_script("return innerWidth")
        self._resize(width, 200)
        self._resize(width, self.driver.execute_script("return document.documentElement.scrollHeight"))
        self.driver.save_screenshot(str(path))
        return path.read_bytes()

    def _resize(self, width: int, height: int) -> None:
        size = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": False}
        self.driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)

    @property
    def is_too_wide(self) -> bool:
        """Whether one must scroll sideways."""
        wide: bool = self.driver.execute_script("return document.documentElement.scrollWidth > innerWidth")
        return wide

    @property
    def complaints(self) -> list[str]:
        """What the browser's console says: refused loads, scripts that were stopped. Refused forms are no complaint."""
        said = [each["message"] for each in self.driver.get_log("browser")]
        return [
            each for each in said if "favicon" not in each and "the server responded with a status of 4" not in each
        ]


@contextmanager
def browser(site: str, *, width: int = 1200, dark: bool = False) -> Iterator[Browser]:
    """Open a browser of a width, for somebody who prefers light or dark pages."""
    options = webdriver.ChromeOptions()
    options.binary_location = needed("chromium", "Debian's chromium")
    driver_at = needed("chromedriver", "Debian's chromium-driver")
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    for each in ("headless=new", "no-sandbox", "disable-gpu", "hide-scrollbars", "disable-dev-shm-usage"):
        options.add_argument(f"--{each}")
    driver = webdriver.Chrome(options=options, service=Service(driver_at))
    try:
        size = {"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": False}
        driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
        scheme = [{"name": "prefers-color-scheme", "value": "dark" if dark else "light"}]
        driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": scheme})
        yield Browser(driver, site)
    finally:
        driver.quit()
