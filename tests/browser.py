"""Headless Chromium for tests, told what to do over the DevTools protocol.

A module whose other fixtures are costly says `pytestmark = needs_chromium`.
"""

from __future__ import annotations

import base64
import fcntl
import json
import os
import select
import shutil
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

PROGRAM = next(
    filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None
)
OUTLINE = """(() => {
  const headings = [...document.querySelectorAll('h1, h2, h3, h4, h5, h6')];
  const levels = headings.map(one => +one.tagName[1]);
  const landmarks = [...document.querySelectorAll(
    '[role=region], section[aria-label], section[aria-labelledby]')];
  const names = landmarks.map(
    one => one.ariaLabel ?? document.getElementById(one.getAttribute('aria-labelledby')).innerText);
  return {
    main: document.querySelectorAll('main').length,
    nav: document.querySelectorAll('nav').length,
    jumps: levels.filter((level, at) => level > (levels[at - 1] ?? 0) + 1),
    repeated: names.filter((name, at) => names.indexOf(name) !== at),
    unmarked: [...document.querySelectorAll('.scroll')].filter(
      one => getComputedStyle(one).backgroundAttachment !== 'local, local, scroll, scroll').length,
  };
})()"""
"""Landmarks, headings that skip a level, and boxes that do not show that they scroll."""
ONE_OUTLINE = {"main": 1, "nav": 1, "jumps": [], "repeated": [], "unmarked": 0}
needs_chromium = pytest.mark.usefixtures("chromium")
QUIET = (
    *("--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage"),
    *("--disable-background-networking", "--disable-component-update", "--no-first-run"),
    "--remote-debugging-pipe",
)


class Browser:
    """Chromium, told what to do over a pair of pipes (the DevTools protocol)."""

    def __init__(self, profile: Path) -> None:
        pipes = (*os.pipe(), *os.pipe())
        # The browser reads from descriptor 3 and writes to 4; ours must not be those.
        ours_in, theirs_out, theirs_in, ours_out = (
            fcntl.fcntl(end, fcntl.F_DUPFD_CLOEXEC, 10) for end in pipes
        )
        for end in pipes:
            os.close(end)
        link = f'exec "$@" 3<&{theirs_in} 4>&{theirs_out}'
        command = [str(PROGRAM), *QUIET, f"--user-data-dir={profile}", "about:blank"]
        self._process = subprocess.Popen(
            ["bash", "-c", link, "bash", *command],
            pass_fds=(theirs_in, theirs_out),
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        os.close(theirs_in)
        os.close(theirs_out)
        self._reader, self._writer = ours_in, ours_out
        self._buffer = b""
        self._next = 0
        self._session: str | None = None
        self.events: list[dict[str, Any]] = []

    def close(self) -> None:
        """End the browser."""
        os.close(self._writer)
        try:
            self._process.wait(10)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        os.close(self._reader)

    def call(self, method: str, **values: Any) -> dict[str, Any]:
        """Ask the browser for something and wait for its answer; events are kept."""
        self._next += 1
        command = {"id": self._next, "method": method, "params": values}
        if self._session:
            command["sessionId"] = self._session
        os.write(self._writer, json.dumps(command).encode() + b"\0")
        while True:
            message = self._receive(300)
            assert message is not None, f"no answer to {method}"
            if message.get("id") == self._next:
                assert "error" not in message, message
                return dict(message["result"])
            self.events.append(message)

    def settle(self, event: str, seconds: float = 300) -> None:
        """Wait for an event, then a moment longer for what it sets off."""
        until = time.monotonic() + seconds
        while not any(notice["method"] == event for notice in self.events):
            assert time.monotonic() < until, f"no {event}"
            self._keep(0.5)
        while self._keep(0.3):
            pass

    def _keep(self, seconds: float) -> bool:
        message = self._receive(seconds)
        if message is not None:
            self.events.append(message)
        return message is not None

    def fresh(self, width: int = 1600, height: int = 1000, scheme: str = "light") -> None:
        """Begin an empty page of that size."""
        self._session = None
        page = self.call("Target.createTarget", url="about:blank")["targetId"]
        attached = self.call("Target.attachToTarget", targetId=page, flatten=True)
        self._session = attached["sessionId"]
        for domain in ("Page", "Network", "Runtime", "Log"):
            self.call(f"{domain}.enable")
        scale = {"width": width, "height": height, "deviceScaleFactor": 1}
        self.call("Emulation.setDeviceMetricsOverride", mobile=width < 800, **scale)
        feature = {"name": "prefers-color-scheme", "value": scheme}
        self.call("Emulation.setEmulatedMedia", features=[feature])

    def open(
        self, path: Path, width: int = 1600, height: int = 1000, scheme: str = "light"
    ) -> None:
        """Show a file in a fresh page of that size; `events` are those since."""
        self.fresh(width, height, scheme)
        self.events = []
        assert "errorText" not in self.call("Page.navigate", url=path.as_uri())
        self.settle("Page.loadEventFired")

    def ask(self, expression: str) -> Any:
        """Return the value of an expression in the page."""
        answer = self.call("Runtime.evaluate", expression=expression, returnByValue=True)
        assert "exceptionDetails" not in answer, answer
        return answer["result"].get("value")

    def until(self, condition: str, seconds: float = 300) -> None:
        """Wait until a condition holds in the page."""
        end = time.monotonic() + seconds
        while not self.ask(f"document.readyState === 'complete' && ({condition})"):
            assert time.monotonic() < end, (condition, self.ask("document.body.innerText")[:500])
            time.sleep(0.1)

    def press(self, key: str) -> None:
        """Press a digit's key."""
        common = {"key": key, "code": f"Digit{key}", "windowsVirtualKeyCode": ord(key), "text": key}
        self.call("Input.dispatchKeyEvent", type="keyDown", **common)
        self.call("Input.dispatchKeyEvent", type="keyUp", **common)

    def click(self, selector: str) -> None:
        """Click with the mouse where an element is."""
        point = self.ask(
            f"(() => {{ const box = document.querySelector({selector!r}).getBoundingClientRect();"
            " return [box.x + box.width / 2, box.y + box.height / 2]; })()"
        )
        where = {"x": point[0], "y": point[1], "button": "left", "clickCount": 1}
        for kind in ("mousePressed", "mouseReleased"):
            self.call("Input.dispatchMouseEvent", type=kind, **where)

    def shoot(self, path: Path) -> None:
        """Keep a picture of the page."""
        picture = self.call("Page.captureScreenshot", format="png")["data"]
        path.write_bytes(base64.b64decode(picture))

    def events_of(self, method: str) -> list[dict[str, Any]]:
        """Return what came with the events of a kind."""
        return [event["params"] for event in self.events if event["method"] == method]

    def _receive(self, seconds: float) -> dict[str, Any] | None:
        until = time.monotonic() + seconds
        while b"\0" not in self._buffer:
            ready, _, _ = select.select([self._reader], [], [], max(0, until - time.monotonic()))
            read = os.read(self._reader, 2**20) if ready else b""
            if not read:
                return None
            self._buffer += read
        message, _, self._buffer = self._buffer.partition(b"\0")
        return dict(json.loads(message))


def open_folds(browser: Browser) -> None:
    """Open everything that is folded on a page."""
    browser.ask("document.querySelectorAll('details').forEach(one => one.open = true)")


def assert_still(browser: Browser, page: Path) -> None:
    """Check that a page asked for nothing but itself, ran nothing and holds nothing that loads."""
    browser.settle("Page.loadEventFired")
    urls = [message["request"]["url"] for message in browser.events_of("Network.requestWillBeSent")]
    assert [url for url in urls if not url.startswith("data:image/")] == [page.as_uri()]
    for unwanted in (
        "Log.entryAdded",
        "Runtime.consoleAPICalled",
        "Runtime.exceptionThrown",
        "Page.javascriptDialogOpening",
        "Page.windowOpen",
    ):
        assert browser.events_of(unwanted) == []
    loading = (
        "script, img:not([src^='data:image/']), iframe, object, embed, base, link, form, audio"
    )
    loading += ", video, [onload], [style]"
    assert browser.ask(f"document.querySelectorAll({loading!r}).length") == 0


@pytest.fixture(scope="session")
def chromium() -> None:
    """Skip what needs a browser where there is none."""
    if PROGRAM is None:
        pytest.skip("needs Chromium: install the package chromium")


@pytest.fixture(scope="module")
def browser(chromium: None, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    """Give a browser for a module's tests."""
    opened = Browser(tmp_path_factory.mktemp("profile"))
    yield opened
    opened.close()
