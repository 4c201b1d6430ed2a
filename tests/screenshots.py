"""Pictures of the report and of a row in it: `python -m tests.screenshots` takes them."""

from __future__ import annotations

import tempfile
from pathlib import Path

from PIL import Image
from PIL.PngImagePlugin import PngInfo

from tests.browser import Browser
from tests.demo_workspace import make_demo
from tests.places import ROOT
from tests.shared_folder import shared_folder

FOLDER = ROOT / "docs" / "images"
NAMES = ("report", "row")
SCHEMES = ("light", "dark")
_WIDTH = {"report": 1280, "row": 1100}
_HEIGHT = {"report": 1160}
"""Of the picture where it ends before the page does."""
_SCALE, _COLORS = 2, 64


def take(browser: Browser, folder: Path) -> None:
    """Take the pictures of the demo's workspace, in light and in dark, into a folder."""
    with tempfile.TemporaryDirectory() as made:
        report = make_demo(Path(made) / "demo-workspace") / "report.html"
        for name in NAMES:
            for scheme in SCHEMES:
                _shoot(browser, report, name, scheme, folder / f"{name}-{scheme}.png")


def text_of(picture: Path) -> str:
    """Return the text of the page that a picture was taken of."""
    with Image.open(picture) as image:
        return str(image.info["Description"])


def _shoot(browser: Browser, path: Path, name: str, scheme: str, picture: Path) -> None:
    browser.open(path, _WIDTH[name], scheme=scheme)
    browser.ask("document.documentElement.style.scrollbarWidth = 'none'")
    if name == "row":
        browser.ask("document.body.replaceChildren(document.querySelector('.example'))")
    height = _HEIGHT.get(name) or browser.ask("document.documentElement.offsetHeight")
    size = {"width": _WIDTH[name], "height": height, "deviceScaleFactor": _SCALE}
    browser.call("Emulation.setDeviceMetricsOverride", mobile=False, **size)
    browser.shoot(picture)
    about = PngInfo()
    about.add_itxt("Description", browser.ask("document.body.innerText"), zip=True)
    with Image.open(picture) as image:
        image.convert("RGB").quantize(_COLORS).save(picture, optimize=True, pnginfo=about)


if __name__ == "__main__":
    FOLDER.mkdir(exist_ok=True)
    with shared_folder(), tempfile.TemporaryDirectory() as profile:
        opened = Browser(Path(profile))
        take(opened, FOLDER)
        opened.close()
