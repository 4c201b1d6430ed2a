"""Two annotators at real labeling pages in headless Chromium, and what comes home of it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from goldpan.annotation.studio.forms import FORMS, find_form, make_task
from goldpan.annotation.studio.project import open_project
from goldpan.annotation.studio.pull import pull
from goldpan.annotation.studio.push import push
from goldpan.core.storage.workspace import WorkspaceLayout
from tests.browser import needs_chromium
from tests.desk import CHECKED, Desk, desk
from tests.drawing import daily
from tests.reporting import HOSTILE
from tests.studio import QUIET, REPO, Annotators, annotated_rows

pytestmark = needs_chromium

USUAL = ("fix-pair", "question-answer")
EVERY_FORM = daily(USUAL, [name for name in FORMS.names() if name not in USUAL])


def overflow(annotator: Desk) -> int:
    """Return by how many pixels the page is higher than the screen."""
    content = "document.querySelector('.lsf-main-content')"
    return int(annotator.ask(f"{content}.scrollHeight - {content}.clientHeight"))


def row(text: str) -> dict[str, object]:
    diff = f"--- a/x\n+++ b/x\n@@ -1,2 +1,2 @@\n-{text}\n+{text}!\n same\n"
    turn = {"role": "member", "content": text, "comment_id": 1}
    texts = ("title", "body", "pull_title", "pull_body", "path", "changed_path", "sentence", "code")
    place = {"id": "text:1", "repo": REPO, "issue": 1, "pull": 2, "answer_comment_id": 1}
    dialogue = [turn, {**turn, "comment_id": 2}]
    return {**dict.fromkeys(texts, text), **place, "diff": diff, "dialogue": dialogue}


def project_of(name: str) -> str:
    return f"try-{name}"


def open_form(root: Path, studio: Annotators, ann: Desk, name: str, text: str) -> WorkspaceLayout:
    """Push one row whose every text is `text`, open its page and keep a picture."""
    workspace, form = WorkspaceLayout(root), find_form(name)
    push(workspace, studio.server, project_of(name), form, [make_task(form, row(text))], QUIET)
    ann.label(open_project(workspace, project_of(name)).page)
    ann.until("!!document.querySelector('.gp-answer input')")
    ann.shoot(root / f"{name}.png")
    return workspace


@pytest.fixture(scope="module")
def ann(tmp_path_factory: pytest.TempPathFactory, studio: Annotators) -> Iterator[Desk]:
    with desk(tmp_path_factory.mktemp("ann"), studio, 1) as annotator:
        yield annotator


def assert_stacked_where_narrow(ann: Desk) -> None:
    """Find the parts of a form below each other on a phone, and beside each other again."""
    lefts = (
        "[...document.querySelector('.gp-page').children]"
        ".map(one => Math.round(one.getBoundingClientRect().x))"
    )
    parts = ann.ask("document.querySelector('.gp-page').children.length")
    for width, columns in ((390, 1), (1600, parts)):
        scale = {"width": width, "height": 1000, "deviceScaleFactor": 1}
        ann.call("Emulation.setDeviceMetricsOverride", mobile=width < 800, **scale)
        ann.until(f"new Set({lefts}).size === {columns}", 60)
        sides = (
            "['.gp-d', '.gp-i'].map(one => document.querySelector(one)?.getBoundingClientRect().x)"
        )
        assert len(set(ann.ask(sides))) == (1 if columns == 1 or not ann.ask(f"{sides}[0]") else 2)


@pytest.mark.parametrize("name", EVERY_FORM)
def test_every_form_fits_the_screen_and_texts_stay_texts(
    tmp_path: Path, studio: Annotators, ann: Desk, name: str
) -> None:
    open_form(tmp_path, studio, ann, name, HOSTILE)
    assert overflow(ann) <= 0
    assert ann.events_of("Page.javascriptDialogOpening") == []
    urls = [message["request"]["url"] for message in ann.events_of("Network.requestWillBeSent")]
    assert [url for url in urls if "evil" in url] == []
    inside = ".gp-page :is(img, script, style, iframe, svg, a, form, base, meta, [onmouseover])"
    assert ann.ask(f"document.querySelectorAll({inside!r}).length") == 0
    assert ann.ask("document.title") != "owned"
    assert_stacked_where_narrow(ann)


@pytest.mark.parametrize("name", EVERY_FORM)
def test_every_form_is_answered_by_keys_however_long_its_texts_are(
    tmp_path: Path, studio: Annotators, ann: Desk, name: str
) -> None:
    long = "A plain sentence, w" + "w" * 300 + ". " * 4000
    workspace = open_form(tmp_path, studio, ann, name, long)
    assert overflow(ann) <= 0
    wide = "[...document.querySelectorAll('.gp-left, .gp-right')].map(one => "
    assert max(ann.ask(wide + "one.scrollWidth - one.clientWidth)")) <= 0
    if name != "issue-type" and name != "question-answer":
        monospace = "getComputedStyle(document.querySelector('.gp-page :is(td, pre)')).fontFamily"
        assert "monospace" in ann.ask(monospace)
    field = find_form(name).configuration.question(find_form(name).decides)
    keys = {
        "0" if alias == "cannot-tell" else str(at): label
        for at, (alias, label) in enumerate(field.labels.items(), 1)
    }
    for key, label in keys.items():
        ann.press(key)
        ann.until(f"{CHECKED}.includes({label!r})")
        assert ann.ask(CHECKED) == [label]
        if field.multiple:
            ann.press(key)
            ann.until(f"!{CHECKED}.length")
    for key in "12" if field.multiple else "1":
        ann.press(key)
    doubt = "0" if field.multiple else str(len(keys.keys() - {"0"}) + 1)
    ann.press(doubt)
    ann.until(f"{CHECKED}.includes('I am in doubt')")
    ann.submit()
    assert pull(workspace, studio.server, project_of(name), QUIET).progress.answers == 1
    rows = annotated_rows(workspace, project_of(name))
    assert all(entry["seconds"] > 0 for entry in rows)
    values = {entry["field"]: entry["values"] for entry in rows}
    expected = sorted([*field.labels][: 2 if field.multiple else 1])
    assert sorted(values[find_form(name).decides]) == expected
    assert values["doubt"] == ["doubt"]
