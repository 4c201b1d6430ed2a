"""The browser of an annotator in Label Studio."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.browser import Browser
from tests.studio import Annotators

CHECKED = (
    "[...document.querySelectorAll('.gp-answer input:checked')]"
    ".map(one => one.closest('label').innerText.replace(/\\[.\\]$/, '').trim())"
)
"""The labels that are chosen on the page."""


class Desk(Browser):
    """A browser in which an annotator works."""

    def sit_down(self, page: str, address: str, password: str) -> None:
        """Log in, or sign up, on a fresh page of 1600 x 1000."""
        self.fresh()
        self.call("Page.navigate", url=page)
        self.until("!!document.querySelector('[name=password]')")
        for name, value in (("email", address), ("password", password)):
            self.ask(f"document.querySelector('[name={name}]').value = {value!r}")
        self.ask("document.querySelector('[name=password]').form.submit()")
        self.until("!location.pathname.startsWith('/user/')")

    def label(self, page: str) -> None:
        """Open a project's labeling page."""
        self.events = []
        self.call("Page.navigate", url=page)
        self.until("!!document.querySelector('.gp-page p, .gp-page td')")

    def answer(self, key: str, *, doubt: str = "", reason: str = "") -> None:
        """Answer the task on the page by its hotkey, and send it."""
        self.press(key)
        self.until("!!document.querySelector('.gp-answer input:checked')")
        if doubt:
            self.press(doubt)
            self.until(f"{CHECKED}.includes('I am in doubt')")
        if reason:
            self.click(".gp-rest input[name=reason]")
            self.call("Input.insertText", text=reason)
        self.submit()

    def submit(self) -> None:
        """Send what the form holds, and wait for what comes next."""
        self.until("!document.querySelector('button[aria-label*=ubmit]').disabled")
        before = self.ask("document.querySelector('.gp-note').innerText")
        self.click("button[aria-label*=ubmit]")
        self.until(f"document.querySelector('.gp-note')?.innerText !== {before!r}")


@contextmanager
def desk(root: Path, studio: Annotators, person: int) -> Iterator[Desk]:
    """Give the browser of a person who is logged in."""
    account = studio.accounts[person]
    page = f"{studio.server.url}/user/login/"
    with seated(root / f"profile-{person}", page, account.address, account.password) as desk_:
        yield desk_


@contextmanager
def seated(profile: Path, page: str, address: str, password: str) -> Iterator[Desk]:
    """Give the browser of a person who logs in, or signs up, at a page."""
    desk_ = Desk(profile)
    try:
        desk_.sit_down(page, address, password)
        yield desk_
    finally:
        desk_.close()
