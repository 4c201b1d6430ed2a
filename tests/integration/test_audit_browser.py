"""Findings in the report and on a row's page, in headless Chromium, around hostile texts."""

from __future__ import annotations

from pathlib import Path

import pytest

from goldpan.audit.audit import audit_dataset
from goldpan.core.terminal import Reporter
from goldpan.datasets.examples import CODE_EDIT
from goldpan.report.page import write_report, write_row_page
from tests.browser import ONE_OUTLINE, OUTLINE, Browser, assert_still, needs_chromium, open_folds
from tests.reporting import DIFF, HOSTILE, PROFILE, REPO, example, make_dataset, make_workspace

pytestmark = needs_chromium
ROW = f"code-edit:{REPO}#1"
FIX = "water = sieve.fill(); return sieve.shake(gravel, times=4)"


@pytest.fixture(scope="module")
def pages(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Return the report, and the page of a row whose issue gives its fix between hostile texts."""
    root = tmp_path_factory.mktemp("pages")
    workspace = make_workspace(root / "ws", title=HOSTILE, body=HOSTILE)
    body = f"{HOSTILE}\n\nI changed `{FIX}` in src/pan.py.\n\n{HOSTILE}\n{'w' * 3000}"
    diff = f"diff --git a/src/pan.py b/src/pan.py\n{DIFF}"
    rows = [example(CODE_EDIT, n, HOSTILE, body=body, diff=diff) for n in (1, 2)]
    dataset = make_dataset(root, CODE_EDIT, rows)
    audited = audit_dataset(workspace, dataset, Reporter(quiet=True))
    assert [count.verdicts["found"] for count in audited.findings] == [2, 2, 0]
    pages = {"report": root / "report.html", "row": root / "row.html"}
    write_report(workspace, [REPO], PROFILE, [dataset], pages["report"])
    write_row_page(workspace, [REPO], PROFILE, [dataset], ROW, pages["row"])
    return pages


@pytest.mark.parametrize("page", ["report", "row"])
def test_hostile_texts_around_evidence_stay_texts(
    browser: Browser, pages: dict[str, Path], page: str
) -> None:
    browser.open(pages[page])
    open_folds(browser)
    assert_still(browser, pages[page])
    marks = browser.ask("[...document.querySelectorAll('.passage mark')].map(one => one.innerText)")
    assert "src/pan.py" in marks
    assert any("sieve.shake(gravel, times=4)" in mark for mark in marks)
    assert all("owned" not in mark for mark in marks)


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [390, 1280])
@pytest.mark.parametrize("page", ["report", "row"])
def test_findings_are_seen_and_nothing_sticks_out(
    browser: Browser, pages: dict[str, Path], page: str, width: int, scheme: str, tmp_path: Path
) -> None:
    browser.open(pages[page], width, 900, scheme)
    assert browser.ask(OUTLINE) == {**ONE_OUTLINE, "nav": 1 if page == "report" else 0}
    open_folds(browser)
    wide = "document.scrollingElement.scrollWidth - document.documentElement.clientWidth"
    assert browser.ask(wide) == 0
    past = """[...document.querySelectorAll('.health, .health *, .findings *')].filter(one => {
      const box = one.getBoundingClientRect();
      return box.width > 1 && box.right > innerWidth + 1 && !one.closest('.scroll');
    }).map(one => one.outerHTML.slice(0, 200))"""
    assert browser.ask(past) == []
    # The mark differs from the paper, and its text from both.
    colors = browser.ask(
        """(() => {
          const style = getComputedStyle(document.querySelector('.passage mark'));
          return [style.backgroundColor, style.color,
                  getComputedStyle(document.body).backgroundColor];
        })()"""
    )
    assert len(set(colors)) == 3
    browser.ask("document.querySelector('.findings').scrollIntoView()")
    browser.shoot(tmp_path / f"{page}-{width}-{scheme}.png")
    assert (tmp_path / f"{page}-{width}-{scheme}.png").stat().st_size > 10_000
