"""The evaluation report in headless Chromium: nothing loads, nothing runs, everything fits."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path

import pytest

from goldpan.core.storage.workspace import WorkspaceLayout
from goldpan.datasets.tasks.registry import find_task, load_tasks
from goldpan.evaluation.comparison.question import ComparisonQuestion
from goldpan.evaluation.comparison.stored_runs import compare_runs
from goldpan.evaluation.metrics.curves import roc_curve
from goldpan.evaluation.runs import read_runs
from goldpan.evaluation.statistics.comparison import Approach
from goldpan.evaluation.statistics.decide import compare
from goldpan.evaluation.statistics.scores import RunScore, score_matrix
from goldpan.report.compared import EvaluationFiles, report_comparison
from goldpan.report.comparison.plots import (
    critical_difference_plot,
    decision_plot,
    interval_plot,
    posterior_plot,
    pr_plot,
    roc_plot,
)
from goldpan.report.html import inline_figure
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
    report_comparison(workspace, result, load_tasks(), EvaluationFiles(page=output))
    return output


def test_nothing_is_asked_of_the_network_and_nothing_runs(browser: Browser, page: Path) -> None:
    browser.open(page)
    open_folds(browser)
    assert_still(browser, page)
    assert browser.ask("document.title") == "Goldpan evaluation: 5 models on 4 tasks"
    assert browser.ask("document.querySelectorAll('image').length") == 0
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
    seen = "[...document.querySelectorAll('.plot svg')].filter(one => one.checkVisibility()"
    seen += " && one.getBoundingClientRect().height < 100).length"
    assert browser.ask(seen) == 0


def test_the_outline_is_in_order_and_boxes_show_that_they_scroll(
    browser: Browser, page: Path
) -> None:
    browser.open(page, 390, 844)
    assert browser.ask(OUTLINE) == ONE_OUTLINE
    edges = "[...document.querySelectorAll('.matrix .scroll')].map(one =>"
    edges += " getComputedStyle(one).borderRightWidth)"
    assert set(browser.ask(edges)) == {"1px"}


CUT = """[...document.querySelectorAll('svg')].flatMap(figure => {
  const box = figure.getBoundingClientRect();
  return [...figure.querySelectorAll('text')].filter(one => {
    const word = one.getBoundingClientRect();
    return word.left < box.left - 1 || word.right > box.right + 1
      || word.top < box.top - 1 || word.bottom > box.bottom + 1;
  }).map(one => figure.getAttribute('aria-label') + ': ' + one.textContent);
})"""


def figures(count: int, length: int, approach: Approach) -> dict[str, str]:
    """Return every kind of figure for so many models, whose names are so long."""
    names = [
        f"{'tokens-and-more-of-that-kind' * 2}"[: length - 2] + f"{n:02}" for n in range(count)
    ]
    comparison = compare(
        score_matrix(
            [
                RunScore(model, f"t{at}", 0, 0.9 - index / 100 + (at * (index + 3) % 7) / 50)
                for index, model in enumerate(names)
                for at in range(8)
            ],
            "f1",
        ),
        approach=approach,
    )
    fragile = replace(
        comparison, pairs=tuple(replace(pair, fragile=True) for pair in comparison.pairs)
    )
    drawn = {"decisions": decision_plot(fragile), "intervals": interval_plot(fragile)}
    if approach == "bayesian":
        drawn["posterior"] = posterior_plot(fragile)
    elif comparison.test.critical_difference is not None:
        drawn["critical difference"] = critical_difference_plot(fragile)
    lines = [roc_curve(name, "t", [True, False, True], [0.9, 0.5, 0.4]) for name in names]
    return {**drawn, "roc": roc_plot((), lines), "pr": pr_plot((), lines)}


def assert_nothing_cut_off(
    browser: Browser, shapes: Iterable[tuple[int, int]], directory: Path
) -> None:
    """Draw every kind of figure for numbers of models with lengths of their names, and look."""
    approaches: tuple[Approach, ...] = ("bayesian", "frequentist")
    drawn = [
        inline_figure(svg, f"{name} of {shape}, {approach}", f"{name}-{at}-{approach}")
        for at, shape in enumerate(shapes)
        for approach in approaches
        for name, svg in figures(*shape, approach).items()
    ]
    path = directory / "figures.html"
    head = "<!doctype html><meta charset=utf-8><style>svg text { font-family: sans-serif }</style>"
    path.write_text(head + "".join(drawn), encoding="utf-8")
    browser.open(path, 1600, 1000)
    assert browser.ask("document.querySelectorAll('svg').length") == len(drawn)
    assert "\n".join(browser.ask(CUT)) == ""


def test_no_word_of_a_figure_is_cut_off(browser: Browser, page: Path, tmp_path: Path) -> None:
    """In `tests/scale` with more models, of names of any length."""
    browser.open(page, 1600, 1000)
    open_folds(browser)
    assert browser.ask("document.querySelectorAll('.plot svg text').length") > 50
    assert browser.ask(CUT) == []
    assert_nothing_cut_off(browser, [(2, 40), (7, 3)], tmp_path)


def test_figures_follow_the_scheme(browser: Browser, page: Path) -> None:
    colors = []
    for scheme in ("light", "dark"):
        browser.open(page, scheme=scheme)
        colors.append(
            browser.ask("getComputedStyle(document.querySelector('.plot svg text')).fill")
        )
    assert colors[0] != colors[1]
    assert browser.ask("getComputedStyle(document.querySelector('.plot svg path')).fill") == (
        "rgb(31, 29, 25)"
    )


def test_print_shows_what_is_folded(browser: Browser, page: Path) -> None:
    browser.open(page)
    browser.call("Emulation.setEmulatedMedia", media="print")
    folded = "document.querySelectorAll('.fold:not([open])')"
    assert browser.ask(f"{folded}.length") > 3
    heights = browser.ask(f"[...{folded}].map(one => one.getBoundingClientRect().height)")
    assert min(heights) > 60
