"""Photograph the report and the built site in chromium: python tools/screenshots.py REPORT SITE OUTPUT

Each at the width of a desk and of a phone, light and dark; a page that scrolls sideways at either width is an error.
"""

import functools
import http.server
import sys
import threading
from base64 import b64decode
from collections.abc import Iterator
from contextlib import contextmanager
from io import BytesIO
from pathlib import Path
from typing import Any

from PIL import Image
from selenium import webdriver

PAGES = {"home": "", "quick-start": "quick-start/", "models": "reference/models/", "rare-classes": "rare-classes/"}
_COLOURS = 128
WIDTHS, TALLEST = {"desk": 1200, "phone": 390}, 2600


class _Silent(http.server.SimpleHTTPRequestHandler):
    """Files, without a line for each request."""

    def log_message(self, format: str, *args: Any) -> None:
        """Say nothing."""


@contextmanager
def served(folder: Path) -> Iterator[str]:
    """Serve a folder on this machine."""
    handler = functools.partial(_Silent, directory=str(folder))
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}/"
        server.shutdown()


@contextmanager
def browser() -> Iterator[webdriver.Chrome]:
    """Start chromium without a window."""
    options = webdriver.ChromeOptions()
    options.binary_location = "/usr/bin/chromium"
    for word in ("--headless=new", "--no-sandbox", "--hide-scrollbars", "--disable-gpu"):
        options.add_argument(word)
    driver = webdriver.Chrome(options=options, service=webdriver.ChromeService("/usr/bin/chromedriver"))
    try:
        yield driver
    finally:
        driver.quit()


def dressed(driver: webdriver.Chrome, width: int, scheme: str) -> None:
    """Show what the browser shows at a width, light or dark."""
    size = {"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": False}
    driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
    media = {"features": [{"name": "prefers-color-scheme", "value": scheme}]}
    driver.execute_cdp_cmd("Emulation.setEmulatedMedia", media)


def taken(driver: webdriver.Chrome, width: int, most: int, path: Path) -> None:
    """Write a picture of the upper part of what the browser shows; refuse a page that wants to be wider."""
    tall = min(most, driver.execute_script("return document.documentElement.scrollHeight"))
    clip = {"x": 0, "y": 0, "width": width, "height": tall, "scale": 1}
    shot = driver.execute_cdp_cmd("Page.captureScreenshot", {"clip": clip, "captureBeyondViewport": True})
    Image.open(BytesIO(b64decode(shot["data"]))).convert("RGB").quantize(_COLOURS).save(path, optimize=True)
    wanted = driver.execute_script("return document.documentElement.scrollWidth")
    if wanted > width:
        sys.exit(f"{path.stem} is {wanted} wide on a screen of {width}.")


def main(report: Path, site: Path, output: Path) -> None:
    """Write all pictures."""
    output.mkdir(parents=True, exist_ok=True)
    with served(site) as address, browser() as driver:
        pages = {"report": (report.resolve().as_uri(), TALLEST)}
        pages |= {f"site-{name}": (f"{address}{path}", 900) for name, path in PAGES.items()}
        for name, (place, most) in pages.items():
            for kind, width in WIDTHS.items():
                for scheme in ("light", "dark"):
                    dressed(driver, width, scheme)
                    driver.get(place)
                    # The site keeps the scheme that it saw first.
                    driver.execute_script("try { localStorage.clear() } catch (refused) {}")
                    driver.get(place)
                    taken(driver, width, most, output / f"{name}-{kind}{'-dark' if scheme == 'dark' else ''}.png")


if __name__ == "__main__":
    main(*map(Path, sys.argv[1:4]))
