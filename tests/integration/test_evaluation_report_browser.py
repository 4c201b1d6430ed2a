"""The evaluation report in headless Chromium: nothing loads, nothing runs, everything fits."""

from __future__ import annotations

from pathlib import Path

import pytest

from goldpan.core.storage.workspace import WorkspaceLayout
from goldpan.datasets.tasks.registry import find_task, load_tasks
from goldpan.evaluation.compare.compare import compare_runs
from goldpan.evaluation.compare.methods import compare_by_name
from goldpan.evaluation.compare.question import ComparisonQuestion
from goldpan.evaluation.compare.scores import score_matrix
from goldpan.evaluation.record import read_runs
from goldpan.report.compared import report_comparison
from goldpan.report.comparison.picture import draw
from tests.browser import ONE_OUTLINE, OUTLINE, Browser, assert_still, needs_chromium, open_folds
from tests.comparing import add_run, six_tasks, split_rows, two_labels, write_rows
from tests.reporting import HOSTILE

pytest.importorskip("scipy")
pytestmark = needs_chromium

WIDE = "document.scrollingElement.scrollWidth - document.documentElement.clientWidth"


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A report on four tasks, one of them with hostile texts, models and settings."""
    root = tmp_path_factory.mktemp("page")
    workspace = WorkspaceLayout(root / "ws")
    six_tasks(workspace, 3)
    task = find_task("question_quality")
    long = HOSTILE + " word" * 900 + "w" * 4000
    pairs = [(f"{long} {n}", task.label_names[n % 2]) for n in range(60)]
    data = split_rows(task, pairs, 20)
    write_rows(workspace, data)
    write_rows(workspace, two_labels("bug_issue"))
    for name in ("good", "near", "bad"):
        add_run(workspace, data, name, 0.7, silent=0.1)
    add_run(workspace, data, "odd", 0.7, note=HOSTILE)
    add_run(workspace, data, "odd", 0.7, note="w" * 300)
    runs = read_runs(workspace)
    result = compare_runs(runs, runs, load_tasks(), ComparisonQuestion())
    output = root / "report.html"
    report_comparison(workspace, result, load_tasks(), output)
    return output


def test_nothing_is_asked_of_the_network_and_nothing_runs(browser: Browser, page: Path) -> None:
    browser.open(page)
    open_folds(browser)
    assert_still(browser, page)
    assert browser.ask("document.title") == "Goldpan: 3 models on 4 tasks"
    links = browser.ask("[...document.querySelectorAll('a')].map(one => one.getAttribute('href'))")
    assert all(browser.ask(f"!!document.querySelector({link!r})") for link in links)


@pytest.mark.parametrize("width", [390, 1600])
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_everything_is_seen_and_nothing_sticks_out(
    browser: Browser, page: Path, width: int, scheme: str
) -> None:
    browser.open(page, width, 844 if width < 800 else 1000, scheme)
    assert browser.ask(WIDE) == 0
    open_folds(browser)
    assert browser.ask(WIDE) == 0
    past = """[...document.querySelectorAll('main *')].filter(one => {
      const box = one.getBoundingClientRect();
      return box.width > 1 && box.right > innerWidth + 1
        && !one.closest('.scroll, pre, .sr');
    }).map(one => one.outerHTML.slice(0, 200))"""
    assert browser.ask(past) == []
    seen = "[...document.querySelectorAll('.plot img')].filter(one => one.checkVisibility()"
    seen += " && one.getBoundingClientRect().height < 100).length"
    assert browser.ask(seen) == 0


def test_the_outline_is_in_order_and_boxes_show_that_they_scroll(
    browser: Browser, page: Path
) -> None:
    browser.open(page, 390, 844)
    assert browser.ask(OUTLINE) == ONE_OUTLINE


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
    names = [
        f"{'tokens-and-more-of-that-kind' * 2}"[: length - 2] + f"{n:02}" for n in range(count)
    ]
    scores = {
        (model, f"t{at}"): [0.9 - index / 100 + (at * (index + 3) % 7) / 50]
        for index, model in enumerate(names)
        for at in range(8)
    }
    comparison = compare_by_name(score_matrix(scores, "f1"), "nemenyi")
    page = tmp_path / "picture.html"
    page.write_text(f"<!doctype html><meta charset=utf-8>{draw(comparison).svg}", encoding="utf-8")
    browser.open(page, 1600, 1000)
    assert browser.ask("document.querySelectorAll('svg text').length") > count
    assert browser.ask(CUT) == []


def test_a_report_on_one_task_fits_on_three_screens(browser: Browser, tmp_path: Path) -> None:
    workspace = WorkspaceLayout(tmp_path)
    data = two_labels()
    for name, share in (("good", 0.9), ("near", 0.895), ("bad", 0.55), ("worst", 0.4)):
        add_run(workspace, data, name, share)
    write_rows(workspace, data)
    runs = read_runs(workspace)
    result = compare_runs(runs, runs, load_tasks(), ComparisonQuestion())
    output = tmp_path / "report.html"
    report_comparison(workspace, result, load_tasks(), output)
    browser.open(output, 1600, 1000)
    assert browser.ask("document.querySelectorAll('.plot img').length") >= 1
    assert browser.ask("document.documentElement.scrollHeight") <= 3_000


def test_print_shows_what_is_folded(browser: Browser, page: Path) -> None:
    browser.open(page)
    browser.call("Emulation.setEmulatedMedia", media="print")
    folded = "document.querySelectorAll('.fold:not([open])')"
    assert browser.ask(f"{folded}.length") > 3
    heights = browser.ask(f"[...{folded}].map(one => one.getBoundingClientRect().height)")
    assert min(heights) > 60
