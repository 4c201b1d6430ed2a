"""The report on rounds of annotation in headless Chromium: it fits, and nothing in it runs."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

import pytest

from goldpan.report.annotation_page import page_of
from goldpan.report.html import write_page
from tests.annotated_round import a_round
from tests.browser import ONE_OUTLINE, OUTLINE, Browser, needs_chromium

pytestmark = needs_chromium


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [390, 1280])
def test_the_page_fits_and_texts_stay_texts(
    browser: Browser, tmp_path: Path, width: int, scheme: Literal["light", "dark"]
) -> None:
    page = tmp_path / "annotation.html"
    write_page(page_of([a_round(3)]), page)
    browser.open(page, width, 844, scheme=scheme)
    assert browser.ask(OUTLINE) == ONE_OUTLINE
    browser.ask("document.querySelectorAll('details').forEach(one => one.open = true)")
    wide = "document.scrollingElement.scrollWidth - document.documentElement.clientWidth"
    assert browser.ask(wide) == 0
    table = "document.querySelector('[aria-label^=\"Agreement\"]')"
    assert browser.ask(f"{table}.scrollWidth - {table}.clientWidth") == 0
    assert browser.ask("document.querySelectorAll('script, img, iframe').length") == 0
    assert browser.events_of("Page.javascriptDialogOpening") == []
    assert browser.events_of("Log.entryAdded") == []
    colors = "getComputedStyle(document.body).backgroundColor"
    expected = {"light": "rgb(251, 250, 246)", "dark": "rgb(23, 22, 18)"}
    assert browser.ask(colors) == expected[scheme]
    assert browser.ask("document.querySelector('details').innerText").count("<script>") == 4
    browser.shoot(tmp_path / f"annotation-{width}-{scheme}.png")
