"""The rows of a dataset in the browser: `goldpan open DATASET`, in Chromium."""

from __future__ import annotations

import http.client
import signal
import subprocess
from collections.abc import Iterator, Mapping
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from goldpan.core.storage.parquet import write_table
from goldpan.core.storage.sealed import file_digest, read_json, sealed_json
from tests.browser import Browser, needs_chromium
from tests.demo_workspace import PROGRAM, attempt, make_demo, offline
from tests.reporting import HOSTILE

pytestmark = needs_chromium

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
