"""Pages on audits, annotation and comparisons in headless Chromium, around hostile texts."""

from __future__ import annotations

from pathlib import Path

import pytest

from goldpan.audit.audit import audit_dataset
from goldpan.core.storage.workspace import WorkspaceLayout
from goldpan.core.terminal import Reporter
from goldpan.datasets.examples import CODE_EDIT
from goldpan.datasets.tasks.registry import find_task, load_tasks
from goldpan.evaluation.compare.methods import compare_by_name
from goldpan.evaluation.compare.scores import score_matrix
from goldpan.report.annotation_page import page_of
from goldpan.report.compared import report_comparison
from goldpan.report.comparison.picture import draw
from goldpan.report.html import write_page
from goldpan.report.page import write_report, write_row_page
from tests.annotated_round import a_round
from tests.browser import ONE_OUTLINE, OUTLINE, Browser, assert_still, needs_chromium, open_folds
from tests.comparing import add_run, compared, six_tasks, split_rows, two_labels, write_rows
from tests.reporting import DIFF, HOSTILE, PROFILE, REPO, example, make_dataset, make_workspace

pytest.importorskip("scipy")
pytestmark = needs_chromium

ROW = f"code-edit:{REPO}#1"
FIX = "water = sieve.fill(); return sieve.shake(gravel, times=4)"
PAGES = ("annotation", "findings", "row", "comparison")
WIDE = "document.scrollingElement.scrollWidth - document.documentElement.clientWidth"
PAPER = {"light": "rgb(251, 250, 246)", "dark": "rgb(23, 22, 18)"}


def findings(root: Path) -> None:
    """Write a report, and the page of a row whose issue gives its fix between hostile texts."""
    workspace = make_workspace(root / "ws", title=HOSTILE, body=HOSTILE)
    body = f"{HOSTILE}\n\nI changed `{FIX}` in src/pan.py.\n\n{HOSTILE}\n{'w' * 3000}"
    diff = f"diff --git a/src/pan.py b/src/pan.py\n{DIFF}"
    rows = [example(CODE_EDIT, n, HOSTILE, body=body, diff=diff) for n in (1, 2)]
    dataset = make_dataset(root, CODE_EDIT, rows)
    audited = audit_dataset(workspace, dataset, Reporter(quiet=True))
    assert [count.verdicts["found"] for count in audited.findings] == [2, 2, 0]
    write_report(workspace, [REPO], PROFILE, [dataset], root / "findings.html")
    write_row_page(workspace, [REPO], PROFILE, [dataset], ROW, root / "row.html")


def comparison(root: Path) -> None:
    """Write a report on four tasks, one of them with hostile texts, models and settings."""
    workspace = WorkspaceLayout(root / "runs")
    six_tasks(workspace, 3)
    task = find_task("question_quality")
    long = HOSTILE + " word" * 900 + "w" * 4000
    data = split_rows(task, [(f"{long} {n}", task.label_names[n % 2]) for n in range(60)], 20)
    write_rows(workspace, data)
    write_rows(workspace, two_labels("bug_issue"))
    for name in ("good", "near", "bad"):
        add_run(workspace, data, name, 0.7, silent=0.1)
    for note in (HOSTILE, "w" * 300):
        add_run(workspace, data, "odd", 0.7, note=note)
    report_comparison(workspace, compared(workspace), load_tasks(), root / "comparison.html")


@pytest.fixture(scope="module")
def pages(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    root = tmp_path_factory.mktemp("pages")
    write_page(page_of([a_round(3)]), root / "annotation.html")
    findings(root)
    comparison(root)
    return {name: root / f"{name}.html" for name in PAGES}


@pytest.mark.parametrize("page", PAGES)
def test_nothing_is_asked_of_the_network_and_nothing_runs(
    browser: Browser, pages: dict[str, Path], page: str
) -> None:
    browser.open(pages[page])
    open_folds(browser)
    assert_still(browser, pages[page])
    if page == "comparison":
        assert browser.ask("document.title") == "Goldpan: 3 models on 4 tasks"
    if page == "annotation":
        assert browser.ask("document.querySelector('details').innerText").count("<script>") == 4


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [390, 1600])
@pytest.mark.parametrize("page", PAGES)
def test_everything_is_seen_and_nothing_sticks_out(
    browser: Browser, pages: dict[str, Path], page: str, width: int, scheme: str
) -> None:
    browser.open(pages[page], width, 844 if width < 800 else 1000, scheme)
    assert browser.ask(OUTLINE) == {**ONE_OUTLINE, "nav": 0 if page == "row" else 1}
    assert browser.ask("getComputedStyle(document.body).backgroundColor") == PAPER[scheme]
    assert browser.ask(WIDE) == 0
    open_folds(browser)
    assert browser.ask(WIDE) == 0
    past = """[...document.querySelectorAll('main *')].filter(one => {
      const box = one.getBoundingClientRect();
      return box.width > 1 && box.right > innerWidth + 1 && !one.closest('.scroll, pre, .sr');
    }).map(one => one.outerHTML.slice(0, 200))"""
    assert browser.ask(past) == []
    small = "[...document.querySelectorAll('.plot img')].filter(one => one.checkVisibility()"
    assert browser.ask(f"{small} && one.getBoundingClientRect().height < 100).length") == 0


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("page", ["findings", "row"])
def test_evidence_is_marked_among_hostile_texts(
    browser: Browser, pages: dict[str, Path], page: str, scheme: str
) -> None:
    browser.open(pages[page], scheme=scheme)
    open_folds(browser)
    marks = browser.ask("[...document.querySelectorAll('.passage mark')].map(one => one.innerText)")
    assert "src/pan.py" in marks
    assert any("sieve.shake(gravel, times=4)" in mark for mark in marks)
    assert all("owned" not in mark for mark in marks)
    # The mark differs from the paper, and its text from both.
    style = "getComputedStyle(document.querySelector('.passage mark'))"
    colors = browser.ask(f"[{style}.backgroundColor, {style}.color]")
    assert len({*colors, PAPER[scheme]}) == 3


CUT = """[...document.querySelectorAll('svg')].flatMap(figure => {
  const box = figure.getBoundingClientRect();
  return [...figure.querySelectorAll('text')].filter(one => {
    const word = one.getBoundingClientRect();
    return word.left < box.left - 1 || word.right > box.right + 1
      || word.top < box.top - 1 || word.bottom > box.bottom + 1;
  }).map(one => one.textContent);
})"""


@pytest.mark.parametrize("shape", [(2, 40), (7, 3), (40, 12)])
def test_no_word_of_the_picture_is_cut_off(
    browser: Browser, tmp_path: Path, shape: tuple[int, int]
) -> None:
    count, length = shape
    word = "tokens-and-more-of-that-kind" * 2
    scores = {
        (f"{word[: length - 2]}{n:02}", f"t{at}"): [0.9 - n / 100 + (at * (n + 3) % 7) / 50]
        for n in range(count)
        for at in range(8)
    }
    picture = draw(compare_by_name(score_matrix(scores, "f1"), "nemenyi")).svg
    page = tmp_path / "picture.html"
    page.write_text(f"<!doctype html><meta charset=utf-8>{picture}", encoding="utf-8")
    browser.open(page)
    assert browser.ask("document.querySelectorAll('svg text').length") > count
    assert browser.ask(CUT) == []


def test_a_report_on_one_task_fits_on_three_screens(browser: Browser, tmp_path: Path) -> None:
    workspace, data = WorkspaceLayout(tmp_path), two_labels()
    for name, share in (("good", 0.9), ("near", 0.895), ("bad", 0.55), ("worst", 0.4)):
        add_run(workspace, data, name, share)
    write_rows(workspace, data)
    page = tmp_path / "report.html"
    report_comparison(workspace, compared(workspace), load_tasks(), page)
    browser.open(page)
    assert browser.ask("document.querySelectorAll('.plot img').length") >= 1
    assert browser.ask("document.documentElement.scrollHeight") <= 3_000


def test_print_shows_what_is_folded(browser: Browser, pages: dict[str, Path]) -> None:
    browser.open(pages["comparison"])
    browser.call("Emulation.setEmulatedMedia", media="print")
    folded = "document.querySelectorAll('.fold:not([open])')"
    assert browser.ask(f"{folded}.length") > 3
    heights = browser.ask(f"[...{folded}].map(one => one.getBoundingClientRect().height)")
    assert min(heights) > 60
