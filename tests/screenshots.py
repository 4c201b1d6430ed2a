"""Pictures of the report and of a row's audit trail: `python -m tests.screenshots` takes them."""

from __future__ import annotations

import tempfile
from html import escape
from pathlib import Path

from PIL import Image
from PIL.PngImagePlugin import PngInfo

from goldpan.report import page
from tests import program
from tests.browser import Browser
from tests.demo_workspace import make_demo, offline
from tests.places import ROOT
from tests.shared_folder import shared_folder

FOLDER = ROOT / "docs" / "images"
NAMES = ("report", "row")
SCHEMES = ("light", "dark")
_ROW = "code-edit:prospector/sluice#63+64"
_WORKSPACE = "demo-workspace"
_WIDTH = {"report": 1280, "row": 980}
_HEIGHT = {"report": 1160}
"""Of the picture where it ends before the page does."""
_SCALE, _COLORS = 2, 64
_STYLES = Path(page.__file__).parent / "templates" / "report.css"
_TERMINAL = """
body { padding: 1.5rem 2rem; }
pre { font: 14px/1.5 var(--mono); margin: 0; }
p { white-space: pre-wrap; padding-left: 4ch; text-indent: -4ch; min-height: 1.5em; }
.title { color: var(--gold-ink); font-weight: 600; }
.holds { color: var(--yes); font-weight: 600; }
"""


def take(browser: Browser, folder: Path) -> None:
    """Take the pictures of the demo's workspace, in light and in dark, into a folder."""
    with tempfile.TemporaryDirectory() as made:
        pages = _pages(Path(made))
        for name in NAMES:
            for scheme in SCHEMES:
                _shoot(browser, pages[name], name, scheme, folder / f"{name}-{scheme}.png")


def text_of(picture: Path) -> str:
    """Return the text of the page that a picture was taken of."""
    with Image.open(picture) as image:
        return str(image.info["Description"])


def _pages(folder: Path) -> dict[str, Path]:
    report = make_demo(folder / _WORKSPACE) / "report.html"
    done = program.goldpan(
        *("trace", _ROW, "--verify", "--workspace", _WORKSPACE),
        folder=folder,
        environment=offline(COLUMNS="200"),
    )
    assert done.code == 0, done.err
    row = folder / "row.html"
    row.write_text(_terminal(f"$ goldpan trace {_ROW} --verify\n{done.out}"), encoding="utf-8")
    return {"report": report, "row": row}


def _terminal(text: str) -> str:
    """Return what a terminal shows as a page in the report's colors and type."""
    lines = text.rstrip().splitlines()
    kinds = ["title" if not before else "" for before in ["", *lines[:-1]]]
    kinds[-1] = "holds"
    shown = (
        f'<p class="{kind}">{escape(line)}</p>' for kind, line in zip(kinds, lines, strict=True)
    )
    styles = _STYLES.read_text(encoding="utf-8") + _TERMINAL
    return f"<!doctype html><style>{styles}</style><pre>{''.join(shown)}</pre>"


def _shoot(browser: Browser, path: Path, name: str, scheme: str, picture: Path) -> None:
    browser.open(path, _WIDTH[name], scheme=scheme)
    browser.ask("document.documentElement.style.scrollbarWidth = 'none'")
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
