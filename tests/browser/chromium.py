"""Headless Chromium with the network cut off: only 127.0.0.1 is reachable."""

from __future__ import annotations

import contextlib
import functools
import http.server
import json
import shutil
import tempfile
import threading
import time
from pathlib import Path
from urllib.parse import urlsplit

from selenium import webdriver
from selenium.webdriver.chrome.service import Service

BOOK = Path(__file__).resolve().parents[2] / "build/html"
BROWSERS = ("chromium", "chromium-browser", "google-chrome")
DRIVERS = ("chromedriver", "/usr/lib/chromium/chromedriver", "/usr/lib/chromium-browser/chromedriver")
FLAGS = (
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--disable-dev-shm-usage",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--disable-features=BackForwardCache",  # keeping a page that is left takes a third of the time of opening the next
    "--disable-ipc-flooding-protection",  # which takes no more than 20 addresses a second from a page
    "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1",
)

# True once the document has loaded and fonts are in.
SETTLED = """
const done = arguments[0];
const wait = () => document.readyState === 'complete' ? document.fonts.ready.then(() => done(true)) : setTimeout(wait, 20);
wait();
"""

# After what a change of the window set off.
DRAWN = "const done = arguments[0]; requestAnimationFrame(() => setTimeout(() => requestAnimationFrame(() => setTimeout(done))));"


def found(names) -> str | None:
    """Return the path of the first of `names` that is installed, or None."""
    return next(filter(None, map(shutil.which, names)), None)


class Chromium:
    """A browser to open pages with, and what it logged about each (`open` starts a new log)."""

    def __init__(self, driver):
        self.driver = driver
        self.requests: list[str] = []
        self.failures: list[str] = []
        self.console: list[str] = []

    def open(self, url: str, *, width: int = 1280, height: int = 900, dark: bool = False) -> None:
        """Load `url` at that width (CSS pixels), in light or dark mode, and wait until it has settled."""
        self.driver.get("about:blank")  # first: the page that was open would be laid out again for what follows
        self._look(width, height, dark)
        # As on a first visit: no mode that an earlier page stored. What it loaded may stay: scripts are compiled once.
        origin = "{0.scheme}://{0.netloc}".format(urlsplit(url))
        self.command("Storage.clearDataForOrigin", origin=origin, storageTypes="local_storage")
        self._logged()
        self.requests, self.failures, self.console = [], [], []
        self.driver.get(url)
        self.driver.execute_async_script(SETTLED)
        self._read_logs()

    def turn(self, *, width: int = 1280, height: int = 900, dark: bool = False) -> None:
        """Show the open page at another width or in another mode, as when a telephone is turned and night falls."""
        self._look(width, height, dark)
        self.driver.execute_async_script(DRAWN)

    def _look(self, width: int, height: int, dark: bool) -> None:
        self.command(
            "Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=False
        )
        self.command(
            "Emulation.setEmulatedMedia",
            features=[
                {"name": "prefers-color-scheme", "value": "dark" if dark else "light"},
                {"name": "prefers-reduced-motion", "value": "reduce"},
            ],
        )

    def script(self, javascript: str, *arguments):
        return self.driver.execute_script(javascript, *arguments)

    def screenshot(self, path, *, full: bool = False) -> None:
        """Write the window as a PNG, or with `full` the whole page."""
        if full:
            size = self.command("Page.getLayoutMetrics")["cssContentSize"]
            width = self.script("return window.innerWidth")
            height = min(int(size["height"]), 12000)
            self.command(
                "Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=False
            )
            time.sleep(0.2)
        self.driver.save_screenshot(str(path))

    def command(self, name: str, **parameters):
        return self.driver.execute_cdp_cmd(name, parameters)

    def _logged(self) -> list[dict]:
        self.driver.get_log("browser")
        return [json.loads(entry["message"])["message"] for entry in self.driver.get_log("performance")]

    def _read_logs(self) -> None:
        self.console = [entry["message"] for entry in self.driver.get_log("browser") if entry["level"] == "SEVERE"]
        for message in self._logged():
            method, parameters = message["method"], message["params"]
            if method == "Network.requestWillBeSent":
                self.requests.append(parameters["request"]["url"])
            elif method == "Network.loadingFailed" and not parameters.get("canceled"):
                self.failures.append(f"{parameters['type']}: {parameters['errorText']}")
            elif method == "Network.responseReceived" and parameters["response"]["status"] >= 400:
                self.failures.append(f"{parameters['response']['status']} {parameters['response']['url']}")


@contextlib.contextmanager
def chromium():
    """Provide a `Chromium`, closed at the end; its profile is a fresh folder."""
    options = webdriver.ChromeOptions()
    options.binary_location = found(BROWSERS)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as profile:
        for flag in (*FLAGS, f"--user-data-dir={profile}"):
            options.add_argument(flag)
        driver = webdriver.Chrome(options=options, service=Service(found(DRIVERS)))
        try:
            driver.set_page_load_timeout(300)  # a loaded machine may take one for the longest page
            driver.set_script_timeout(300)
            driver.execute_cdp_cmd("Emulation.setFocusEmulationEnabled", {"enabled": True})  # no other window has it
            yield Chromium(driver)
        finally:
            driver.quit()


class _Quiet(http.server.SimpleHTTPRequestHandler):
    protocol_version = "HTTP/1.1"  # one connection for many files

    def end_headers(self):
        """Pages may not be answered from the browser's cache, since a test rewrites its own; what they load may."""
        self.send_header("Cache-Control", "no-store" if self.path.partition("?")[0].endswith("html") else "max-age=600")
        super().end_headers()

    def log_message(self, *arguments):
        """Say nothing: the tests read the browser's log instead."""


@contextlib.contextmanager
def served(folder):
    """Provide the address under which `folder` is served on this machine."""
    handler = functools.partial(_Quiet, directory=str(folder))
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        thread = threading.Thread(target=server.serve_forever, daemon=True)
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_port}"
        finally:
            server.shutdown()
            thread.join()
