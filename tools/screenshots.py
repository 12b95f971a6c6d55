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
_COLOURS = 48
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


def photograph(driver: webdriver.Chrome, address: str, width: int, scheme: str, most: int) -> tuple[bytes, int]:
    """Return a picture of a page's upper part, and how wide the page wants to be."""
    size = {"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": False}
    driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
    media = {"features": [{"name": "prefers-color-scheme", "value": scheme}]}
    driver.execute_cdp_cmd("Emulation.setEmulatedMedia", media)
    driver.get(address)
    # The site keeps the scheme that it saw first.
    driver.execute_script("try { localStorage.clear() } catch (refused) {}")
    driver.get(address)
    tall = min(most, driver.execute_script("return document.documentElement.scrollHeight"))
    clip = {"x": 0, "y": 0, "width": width, "height": tall, "scale": 1}
    shot = driver.execute_cdp_cmd("Page.captureScreenshot", {"clip": clip, "captureBeyondViewport": True})
    return b64decode(shot["data"]), driver.execute_script("return document.documentElement.scrollWidth")


def main(report: Path, site: Path, output: Path) -> None:
    """Write all pictures."""
    output.mkdir(parents=True, exist_ok=True)
    with served(site) as address, browser() as driver:
        pages = {"report": (report.resolve().as_uri(), TALLEST)}
        pages |= {f"site-{name}": (f"{address}{path}", 900) for name, path in PAGES.items()}
        for name, (place, most) in pages.items():
            for kind, width in WIDTHS.items():
                for scheme in ("light", "dark"):
                    picture, wanted = photograph(driver, place, width, scheme, most)
                    path = output / f"{name}-{kind}{'-dark' if scheme == 'dark' else ''}.png"
                    Image.open(BytesIO(picture)).convert("RGB").quantize(_COLOURS).save(path, optimize=True)
                    if wanted > width:
                        sys.exit(f"{name} is {wanted} wide on a screen of {width}.")


if __name__ == "__main__":
    main(*map(Path, sys.argv[1:4]))
