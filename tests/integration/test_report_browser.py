"""The report and `goldpan open DATASET` in headless Chromium: nothing loads, everything fits."""

from __future__ import annotations

import http.client
import signal
import subprocess
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Literal

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from goldpan.core.storage.parquet import write_table
from goldpan.core.storage.sealed import file_digest, read_json, sealed_json
from goldpan.report.page import write_report
from tests.browser import ONE_OUTLINE, OUTLINE, Browser, needs_chromium
from tests.demo_workspace import PROGRAM, attempt, make_demo, offline
from tests.drawing import daily
from tests.reporting import HOSTILE, OTHER, PROFILE, REPO, make_datasets, make_workspace

pytestmark = needs_chromium

SECTIONS = ["overview", "funnel", "data", "examples", "dropped", "about"]


def report(root: Path, text: str) -> Path:
    workspace = make_workspace(root / "ws", title=text, body=text)
    make_workspace(root / "ws", repo=OTHER, issues=5)
    datasets = make_datasets(root / "datasets", text, answer_role=text)
    output = root / "report.html"
    write_report(workspace, [REPO, OTHER], PROFILE, datasets, output)
    return output


@pytest.fixture(scope="module")
def pages(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    long = "A sentence of a plain text, with `code`. " * 400 + "w" * 5000
    fenced = f"Before.\n```c\n{'int x; ' * 200}\n```\nAfter."
    texts = {"hostile": HOSTILE, "long": long, "fenced": fenced}
    return {name: report(tmp_path_factory.mktemp(name), text) for name, text in texts.items()}


Page = Literal["hostile", "long", "fenced"]


@pytest.mark.parametrize("page", daily(["hostile"], ["long", "fenced"]))
def test_nothing_is_asked_of_the_network_and_nothing_runs(
    browser: Browser, pages: dict[str, Path], page: Page
) -> None:
    browser.open(pages[page])
    browser.ask("document.querySelectorAll('details').forEach(one => one.open = true)")
    # Handlers of injected elements would fire on these.
    browser.call("Input.dispatchMouseEvent", type="mouseMoved", x=400, y=500)
    browser.call("Input.dispatchMouseEvent", type="mouseMoved", x=900, y=700)
    browser.settle("Page.loadEventFired")
    urls = [message["request"]["url"] for message in browser.events_of("Network.requestWillBeSent")]
    assert urls == [pages[page].as_uri()]
    unwanted = ("Runtime.consoleAPICalled", "Runtime.exceptionThrown", "Log.entryAdded")
    for event in (*unwanted, "Page.javascriptDialogOpening", "Page.windowOpen"):
        assert browser.events_of(event) == []
    assert browser.ask("document.title") == f"Goldpan report: {REPO}, {OTHER}"
    assert browser.ask("location.href") == pages[page].as_uri()
    loading = (
        "script, img, iframe, object, embed, base, link, form, audio, video, [onload], [style]"
    )
    assert browser.ask(f"document.querySelectorAll({loading!r}).length") == 0
    assert browser.ask("document.querySelectorAll('style').length") == 1


def test_the_policy_stops_what_would_slip_through(
    browser: Browser, pages: dict[str, Path], tmp_path: Path
) -> None:
    """The same page with hostile markup let in on purpose: the policy is the second wall."""
    broken = tmp_path / "broken.html"
    text = pages["fenced"].read_text(encoding="utf-8")
    let_in = HOSTILE.replace("<meta", "<no")  # no policy can forbid a page to send itself away
    broken.write_text(text.replace('<main id="main">', f'<main id="main">{let_in}', 1))
    browser.open(broken)
    assert browser.ask("document.title") == f"Goldpan report: {REPO}, {OTHER}"
    assert browser.events_of("Page.javascriptDialogOpening") == []
    assert browser.events_of("Log.entryAdded"), "the policy did not speak"
    assert browser.ask("getComputedStyle(document.body).display") == "block"


@pytest.mark.parametrize("page", daily(["hostile", "long"], ["fenced"]))
@pytest.mark.parametrize("width", daily([390], [1600]))
def test_everything_is_seen_and_nothing_sticks_out(
    browser: Browser, pages: dict[str, Path], page: Page, width: int
) -> None:
    browser.open(pages[page], width, 844 if width < 800 else 1000)
    seen = "[...document.querySelectorAll('main > section')].filter(one => one.checkVisibility() "
    seen += "&& one.getBoundingClientRect().height > 60).map(one => one.id)"
    assert browser.ask(seen) == SECTIONS
    wide = "document.scrollingElement.scrollWidth - document.documentElement.clientWidth"
    assert browser.ask(wide) == 0
    browser.ask("document.querySelectorAll('details').forEach(one => one.open = true)")
    assert browser.ask(wide) == 0
    assert browser.ask("document.documentElement.clientWidth") <= width
    # Without a box that scrolls around it, nothing may reach past the page's edge.
    past = """[...document.querySelectorAll('main *')].filter(one => {
      const box = one.getBoundingClientRect();
      return box.width > 1 && box.right > innerWidth + 1
        && !one.closest('.scroll, pre, .sr');
    }).map(one => one.outerHTML.slice(0, 200))"""
    assert browser.ask(past) == []


@pytest.mark.parametrize("page", daily(["hostile"], ["long", "fenced"]))
def test_the_outline_is_in_order_and_boxes_show_that_they_scroll(
    browser: Browser, pages: dict[str, Path], page: Page
) -> None:
    browser.open(pages[page], 390, 844)
    assert browser.ask(OUTLINE) == ONE_OUTLINE


def test_the_style_sheet_is_accepted_and_follows_the_scheme(
    browser: Browser, pages: dict[str, Path]
) -> None:
    colors = []
    for scheme in ("light", "dark"):
        browser.open(pages["fenced"], scheme=scheme)
        colors.append(browser.ask("getComputedStyle(document.body).backgroundColor"))
    assert colors == ["rgb(251, 250, 246)", "rgb(23, 22, 18)"]


def test_bars_are_as_long_as_their_counts(browser: Browser, pages: dict[str, Path]) -> None:
    browser.open(pages["fenced"])
    lengths = browser.ask(
        """[...document.querySelectorAll('.funnel')[0].querySelectorAll('li')].map(one =>
          [one.querySelector('.left').textContent.replace(/[^0-9]/g, ''),
           one.querySelector('.kept').getBoundingClientRect().width
           / one.querySelector('svg').getBoundingClientRect().width])"""
    )
    first = int(lengths[0][0])
    assert first == 17
    for count, length in lengths:
        assert length == pytest.approx(int(count) / first, abs=0.01)


@pytest.mark.parametrize(("width", "height"), [(390, 844), (1600, 1000)])
def test_the_demos_report_is_short_and_its_contents_stay_in_sight(
    browser: Browser, tmp_path: Path, width: int, height: int
) -> None:
    browser.open(make_demo(tmp_path) / "report.html", width, height)
    most = 13_500 if width < 800 else 7_500
    assert browser.ask("document.documentElement.scrollHeight") < most
    assert browser.ask("document.querySelectorAll('details[open]').length") == 1
    browser.ask("document.documentElement.style.scrollBehavior = 'auto'; scrollTo(0, 1e6)")
    links = browser.ask(
        """[...document.querySelectorAll('nav a')].map(one => {
          const box = one.getBoundingClientRect();
          return box.top >= 0 && box.bottom < 100 && box.right <= innerWidth;
        })"""
    )
    assert links == [True] * len(SECTIONS)


@pytest.mark.parametrize("width", daily([390, 1024], [768, 1600]))
def test_tiles_leave_no_hole(browser: Browser, tmp_path: Path, width: int) -> None:
    browser.open(make_demo(tmp_path) / "report.html", width)
    ends = browser.ask(
        """(() => {
          const box = one => one.getBoundingClientRect();
          const tiles = [...document.querySelectorAll('.tiles li')];
          const last = tiles.filter((one, at) =>
            at === tiles.length - 1 || box(tiles[at + 1]).top > box(one).top + 1);
          return last.map(one => box(one.parentElement).right - box(one).right);
        })()"""
    )
    assert len(ends) > 1
    assert max(ends) < 2


def test_the_first_example_is_open_and_tiles_lead_to_their_datasets(
    browser: Browser, tmp_path: Path
) -> None:
    browser.open(make_demo(tmp_path) / "report.html")
    opened = browser.ask("[...document.querySelectorAll('.example > details')].map(e => e.open)")
    assert opened[0]
    assert not any(opened[1:])
    assert browser.ask("document.querySelectorAll('.example .diff').length") > 0
    links = browser.ask(
        "[...document.querySelectorAll('.tiles a')].map(e => [e.textContent,"
        " document.querySelector(e.getAttribute('href')).querySelector('h3').textContent])"
    )
    assert len(links) == 5
    assert all(title.endswith(name) for name, title in links)
    assert browser.ask("document.querySelector('.example summary code').textContent")
    labels = browser.ask("document.querySelector('.labeled').innerText").split()
    assert {"bug", "feature", "question"} <= set(labels)
    lines = "[...document.querySelectorAll('tbody:last-child > tr:last-child > td:last-child')]"
    widths = browser.ask(f"{lines}.map(e => getComputedStyle(e).borderBottomWidth)")
    assert set(widths) == {"0px"}


ROWS = 10_000
PICTURES = ("http://192.0.2.1/pixel.png", "![it](http://192.0.2.1/it.png)", HOSTILE)
"""Titles that try to have the browser ask another machine."""
DEEP = """const deep = (root) => [...root.querySelectorAll('*')].flatMap(
  one => one.shadowRoot ? [one, ...deep(one.shadowRoot)] : [one]);"""
"""Finds elements, those of marimo's components too, which hide theirs in shadow trees."""


def seen(expression: str) -> str:
    return f"(() => {{ {DEEP} const all = deep(document); return {expression}; }})()"


CELLS = seen("all.filter(one => one.tagName === 'TD').length")
TEXT = seen("all.filter(one => one.tagName === 'TD').map(one => one.innerText).join('\\n')")


@pytest.fixture(scope="module")
def address(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Serve a dataset of the demo, repeated to many rows, of which some are hostile."""
    workspace = make_demo(tmp_path_factory.mktemp("open"))
    enlarge(workspace / "datasets" / "qa")
    command = [str(PROGRAM), "open", "qa", "--no-browser", "--workspace", str(workspace)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=offline()) as server:
        assert server.stdout is not None
        try:
            yield server.stdout.readline().split()[0]
            server.send_signal(signal.SIGINT)
            assert server.wait(60) == 0
        finally:
            server.kill()


def enlarge(dataset: Path) -> None:
    (path,) = dataset.glob("data/*.parquet")
    rows = pq.read_table(path)
    read = rows.to_pylist()
    many = [{**read[n % len(read)], "id": f"qa:lab/rows#{n}", "issue": n} for n in range(ROWS)]
    for row, title in zip(many, PICTURES, strict=False):
        row["title"] = title
    many[-1]["title"] = "The needle"
    write_table(pa.Table.from_pylist(many, schema=rows.schema), path)
    about = dict(read_json(dataset / "provenance.json"))
    written = {"sha256": file_digest(path), "bytes": path.stat().st_size}
    about["files"] = {**about["files"], f"data/{path.name}": written}
    (dataset / "provenance.json").write_bytes(sealed_json(about))


def visit(browser: Browser, address: str, scheme: str = "light") -> None:
    browser.fresh(1280, 900, scheme)
    browser.events = []
    browser.call("Page.navigate", url=address)


def test_people_see_search_and_sort_many_rows(browser: Browser, address: str) -> None:
    visit(browser, address)
    browser.until(f"{CELLS} > 0")
    text = browser.ask("document.body.innerText") + browser.ask(TEXT)
    assert f"{ROWS:,} rows" in browser.ask(seen("all.map(one => one.innerText).join(' ')"))
    assert "qa:lab/rows#0" in text
    assert "qa:lab/rows#20" not in text  # the next page
    charts = seen("all.filter(one => one.tagName === 'svg' || one.tagName === 'CANVAS').length")
    browser.until(f"{charts} > 5")
    box = seen("all.find(one => one.placeholder === 'Search...').focus()")
    browser.ask(box)
    browser.call("Input.insertText", text="The needle")
    browser.until(f"{TEXT}.includes('qa:lab/rows#{ROWS - 1}')")


def test_hostile_texts_are_texts_and_nothing_outside_is_asked(
    browser: Browser, address: str
) -> None:
    visit(browser, address, "dark")
    browser.until(f"{CELLS} > 0")
    browser.until(f"{TEXT}.includes('pixel.png')")
    assert "<script>" in browser.ask(TEXT)
    pages = [f"{address}/row/{number}" for number in range(len(PICTURES))]
    for page in pages:
        browser.call("Page.navigate", url=page)
        browser.until("document.querySelector('h1') !== null")
        assert browser.ask("document.title").startswith("qa:lab/rows#")
        assert browser.ask("document.querySelectorAll('script, img, iframe').length") == 0
    requests = browser.events_of("Network.requestWillBeSent")
    asked = {request["requestId"]: request["request"]["url"] for request in requests}
    blocked = {
        failed["requestId"]
        for failed in browser.events_of("Network.loadingFailed")
        if failed.get("blockedReason") == "csp"
    }
    outside = [
        url
        for number, url in asked.items()
        if number not in blocked and not url.startswith((address, "data:", "blob:"))
    ]
    assert outside == []
    assert browser.events_of("Page.javascriptDialogOpening") == []


def test_a_row_has_a_page_with_its_columns_and_sources(browser: Browser, address: str) -> None:
    visit(browser, f"{address}/row/5")
    browser.until("document.querySelector('#sources') !== null")
    assert browser.ask("document.querySelector('h1').innerText") == "qa:lab/rows#5"
    names = browser.ask("[...document.querySelectorAll('#row > dl > dt')].map(e => e.innerText)")
    assert {"split", "title", "answer", "dialogue", "raw"} <= set(names)
    assert "Raw replies" in browser.ask("document.querySelector('#sources').innerText")
    wide = "document.scrollingElement.scrollWidth - document.documentElement.clientWidth"
    assert browser.ask(wide) == 0


@pytest.mark.parametrize(
    ("path", "headers", "status"),
    [
        ("/row/5", {}, 200),
        (f"/row/{ROWS}", {}, 404),
        ("/row/5", {"Host": "evil.example"}, 403),
        ("/row/5", {"Origin": "http://evil.example"}, 403),
        ("/", {"Origin": "null"}, 403),
    ],
)
def test_only_its_own_pages_are_answered(
    address: str, path: str, headers: Mapping[str, str], status: int
) -> None:
    connection = http.client.HTTPConnection(address.removeprefix("http://"))
    connection.request("GET", path, headers=dict(headers))
    assert connection.getresponse().status == status
    connection.close()


def test_what_cannot_be_opened_is_told(tmp_path: Path, address: str) -> None:
    workspace = make_demo(tmp_path)
    taken = address.rpartition(":")[2]
    for words, sentence in {
        ("qa", "--port", taken): f"Port {taken} of this machine cannot be used",
        ("qa", "--project", "p"): "A dataset and --project cannot be opened together",
        ("answers",): "There is no dataset",
    }.items():
        done = attempt("open", *words, "--no-browser", "--workspace", str(workspace))
        assert done.code == 2, done.err
        assert sentence in done.err
