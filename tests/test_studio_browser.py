"""Two annotators at real labelling pages in headless Chromium, and what comes home of it."""

from __future__ import annotations

import base64
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from goldpan.annotation.agreement import agree
from goldpan.annotation.studio.adjudicate import adjudicate
from goldpan.annotation.studio.decisions import decide
from goldpan.annotation.studio.forms import find_form, make_task
from goldpan.annotation.studio.project import open_project
from goldpan.annotation.studio.pull import pull, read_table
from goldpan.annotation.studio.push import push
from goldpan.annotation.studio.ratings import read_ratings
from goldpan.workspace import Workspace
from tests.reporting import HOSTILE
from tests.studio import QUIET, REPO, Annotators, fix_pairs, installed, prepared, studio
from tests.test_report_browser import PROGRAM, Browser

__all__ = ["installed", "prepared", "studio"]

pytestmark = [
    pytest.mark.skipif(PROGRAM is None, reason="needs Chromium, which is not installed"),
    pytest.mark.timeout(1200),
]

LATIN = {"1": "Digit1", "2": "Digit2", "3": "Digit3", "5": "Digit5"}


class Desk(Browser):
    """A browser in which an annotator works."""

    def sit_down(self, url: str, address: str, password: str) -> None:
        """Log in on a fresh page of 1600 x 1000."""
        self._session = None
        page = self.call("Target.createTarget", url="about:blank")["targetId"]
        attached = self.call("Target.attachToTarget", targetId=page, flatten=True)
        self._session = attached["sessionId"]
        for domain in ("Page", "Network", "Runtime", "Log"):
            self.call(f"{domain}.enable")
        scale = {"width": 1600, "height": 1000, "deviceScaleFactor": 1}
        self.call("Emulation.setDeviceMetricsOverride", mobile=False, **scale)
        self.call("Page.navigate", url=f"{url}/user/login/")
        self.until("!!document.querySelector('#login-form')")
        for name, value in (("email", address), ("password", password)):
            self.ask(f"document.querySelector('[name={name}]').value = {value!r}")
        self.ask("document.querySelector('#login-form').submit()")
        self.until("!location.pathname.startsWith('/user/login')")

    def label(self, page: str) -> None:
        """Open a project's labelling page."""
        self.events = []
        self.call("Page.navigate", url=page)
        self.until("!!document.querySelector('.gp-page p, .gp-page td')")

    def until(self, condition: str, seconds: float = 30) -> None:
        """Wait until a condition holds in the page."""
        end = time.monotonic() + seconds
        while not self.ask(f"document.readyState === 'complete' && ({condition})"):
            assert time.monotonic() < end, (condition, self.ask("document.body.innerText")[:500])
            time.sleep(0.1)

    def press(self, key: str) -> None:
        common = {"key": key, "code": LATIN[key], "windowsVirtualKeyCode": ord(key), "text": key}
        self.call("Input.dispatchKeyEvent", type="keyDown", **common)
        self.call("Input.dispatchKeyEvent", type="keyUp", **common)

    def click(self, selector: str) -> None:
        """Click with the mouse where an element is."""
        place = self.ask(
            f"(() => {{ const box = document.querySelector({selector!r}).getBoundingClientRect();"
            " return [box.x + box.width / 2, box.y + box.height / 2]; })()"
        )
        for kind in ("mousePressed", "mouseReleased"):
            self.call(
                "Input.dispatchMouseEvent",
                type=kind,
                x=place[0],
                y=place[1],
                button="left",
                clickCount=1,
            )

    def answer(self, key: str, *, reason: str = "") -> None:
        """Answer the task on the page by its hotkey, and send it."""
        before = self.ask("document.querySelector('.gp-note').innerText")
        self.press(key)
        self.until("!!document.querySelector('.gp-answer input:checked')")
        if reason:
            self.click(".gp-rest input[name=reason]")
            self.call("Input.insertText", text=reason)
        self.until("!document.querySelector('button[aria-label*=ubmit]').disabled")
        self.click("button[aria-label*=ubmit]")
        self.until(f"document.querySelector('.gp-note')?.innerText !== {before!r}")

    def shoot(self, path: Path) -> None:
        image = self.call("Page.captureScreenshot", format="png")["data"]
        path.write_bytes(base64.b64decode(image))


@contextmanager
def desk(root: Path, studio: Annotators, person: int) -> Iterator[Desk]:
    """Give the browser of a person who is logged in."""
    found = Desk(root / f"profile-{person}")
    try:
        account = studio.accounts[person]
        found.sit_down(studio.server.url, account.address, account.password)
        yield found
    finally:
        found.close()


def test_two_annotators_and_a_third(tmp_path: Path, studio: Annotators) -> None:
    place = Workspace(tmp_path)
    push(place, studio.server, "browser", find_form("fix-pair"), fix_pairs(3), QUIET)
    page = open_project(place, "browser").page
    for person, keys in ((1, "112"), (2, "132")):
        with desk(tmp_path, studio, person) as annotator:
            annotator.label(page)
            for at, key in enumerate(keys):
                annotator.until(
                    f"document.querySelector('.gp-note')?.innerText.includes('#{at + 1},')"
                )
                annotator.shoot(tmp_path / f"browser-{person}-{at}.png")
                annotator.answer(key, reason="One leak of two" if key == "3" else "")
    pulled = pull(place, studio.server, "browser", QUIET)
    assert (pulled.answers, pulled.done, pulled.problems) == (6, 3, {})
    rows = read_table(place, "browser").to_pylist()
    assert [row["values"] for row in rows if row["field"] == "reason" and row["values"]] == [
        ["One leak of two"]
    ]
    assert all(row["seconds"] > 0 for row in rows)
    found = agree("verdict", read_ratings(place, "browser")["verdict"])
    assert found.pairs[0].raw == pytest.approx(2 / 3)

    adjudicate(place, studio.server, "browser", QUIET)
    with desk(tmp_path, studio, 3) as third:
        third.label(open_project(place, "browser-adjudication").page)
        told = third.ask("document.querySelector('.gp-answers').innerText")
        assert "Does not fix it" in told
        assert "One leak of two" in told
        third.shoot(tmp_path / "browser-3.png")
        assert overflow(third) <= 0
        third.answer("3")
    pull(place, studio.server, "browser-adjudication", QUIET)
    assert [(one.how, one.values) for one in decide(place, "browser")] == [
        ("agreed", ("fixes",)),
        ("adjudicated", ("unrelated",)),
        ("agreed", ("partly",)),
    ]


def overflow(annotator: Desk) -> int:
    """Return by how many pixels the page is higher than the screen."""
    return int(
        annotator.ask(
            "(() => { const one = document.querySelector('.lsf-main-content');"
            " return one.scrollHeight - one.clientHeight; })()"
        )
    )


def row(text: str) -> dict[str, object]:
    diff = f"--- a/x\n+++ b/x\n@@ -1,2 +1,2 @@\n-{text}\n+{text}!\n same\n"
    turn = {"role": "member", "content": text, "comment_id": 1}
    return {
        "id": "text:1",
        "repo": REPO,
        "issue": 1,
        "pull": 2,
        "title": text,
        "body": text,
        "pull_title": text,
        "pull_body": text,
        "path": text,
        "diff": diff,
        "dialogue": [turn, {**turn, "comment_id": 2}],
        "answer_comment_id": 1,
        "sentence": text,
        "code": text,
    }


@pytest.fixture(scope="module")
def ann(tmp_path_factory: pytest.TempPathFactory, studio: Annotators) -> Iterator[Desk]:
    with desk(tmp_path_factory.mktemp("ann"), studio, 1) as annotator:
        yield annotator


@pytest.mark.parametrize("name", ["fix-pair", "question-answer", "issue-type", "code-comment-java"])
@pytest.mark.parametrize("kind", ["hostile", "long"])
def test_every_form_fits_the_screen_and_texts_stay_texts(
    tmp_path: Path, studio: Annotators, ann: Desk, name: str, kind: str
) -> None:
    place = Workspace(tmp_path)
    form = find_form(name)
    text = HOSTILE if kind == "hostile" else "A plain sentence, w" + "w" * 300 + ". " * 4000
    project = f"{kind}-{name}"
    push(place, studio.server, project, form, [make_task(form, row(text))], QUIET)
    ann.label(open_project(place, project).page)
    time.sleep(0.5)
    ann.shoot(tmp_path / f"{project}.png")
    assert overflow(ann) <= 0
    assert ann.told("Page.javascriptDialogOpening") == []
    asked = [one["request"]["url"] for one in ann.told("Network.requestWillBeSent")]
    assert [url for url in asked if "evil" in url] == []
    inside = ".gp-page :is(img, script, style, iframe, svg, a, form, base, meta, [onmouseover])"
    assert ann.ask(f"document.querySelectorAll({inside!r}).length") == 0
    assert ann.ask("document.title") != "owned"
    monospace = "getComputedStyle(document.querySelector('.gp-page :is(td, pre)')).fontFamily"
    if form.subject != "issue":
        assert "monospace" in ann.ask(monospace)
    wide = "[...document.querySelectorAll('.gp-left, .gp-right')].map(one => "
    wide += "one.scrollWidth - one.clientWidth)"
    assert max(ann.ask(wide)) <= 0
