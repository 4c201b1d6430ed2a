"""The page on a workspace with all its repositories, and the status that writes it."""

from __future__ import annotations

import os
import re
from pathlib import Path

import pytest

from goldpan.core.storage.workspace import WorkspaceLayout
from goldpan.report.workspace_page import write_workspace_page
from tests.browser import ONE_OUTLINE, OUTLINE, Browser, needs_chromium
from tests.demo_workspace import make_demo
from tests.program import goldpan
from tests.reporting import OTHER, REPO, make_workspace


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a page on two repositories without datasets."""
    root = tmp_path_factory.mktemp("overview")
    make_workspace(root / "ws")
    workspace = make_workspace(root / "ws", repo=OTHER, issues=5)
    write_workspace_page(workspace, root / "page.html")
    return root / "page.html"


def test_all_repositories_are_on_the_page(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    assert REPO in text
    assert OTHER in text
    assert "<script>" not in text
    assert "No dataset was built." in text


def test_the_same_workspace_gives_the_same_page(page: Path, tmp_path: Path) -> None:
    workspace = WorkspaceLayout(page.parent / "ws")
    for name in ("one.html", "two.html"):
        write_workspace_page(workspace, tmp_path / name)
    assert (tmp_path / "one.html").read_bytes() == (tmp_path / "two.html").read_bytes()


def test_status_writes_the_page(tmp_path: Path) -> None:
    make_demo(tmp_path / "lab")
    words = ("status", "--workspace", "lab", "--html", "overview.html")
    done = goldpan(*words, folder=tmp_path, environment=dict(os.environ))
    assert done.code == 0, done.err
    text = (tmp_path / "overview.html").read_text(encoding="utf-8")
    assert "prospector/sluice" in text
    for link in re.findall(r'<a href="([^"#]+)">', text):
        assert (tmp_path / link).is_file(), link
    assert '<a href="lab/datasets/fault-localization/README.md">' in text
    wrong = goldpan(*words[:-1], "page.txt", folder=tmp_path, environment=dict(os.environ))
    assert wrong.code == 2
    assert "page.txt does not end in .html" in wrong.err


@needs_chromium
@pytest.mark.parametrize("width", [390, 1600])
def test_nothing_sticks_out(browser: Browser, page: Path, width: int) -> None:
    browser.open(page, width, 844 if width < 800 else 1000)
    browser.ask("document.querySelectorAll('details').forEach(one => one.open = true)")
    wide = "document.scrollingElement.scrollWidth - document.documentElement.clientWidth"
    assert browser.ask(wide) == 0
    assert browser.events_of("Page.javascriptDialogOpening") == []
    assert [
        message["request"]["url"] for message in browser.events_of("Network.requestWillBeSent")
    ] == [page.as_uri()]
    assert browser.ask(OUTLINE) == ONE_OUTLINE
