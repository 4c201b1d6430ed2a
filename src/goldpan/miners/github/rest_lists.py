"""Reads the lists that REST has for a whole repository, to their end.

A list is complete when its walk reached a page without a next one, never because a count fits.
GitHub pages some lists by cursors that expire and some by numbers up to a wall; a walk that loses
its cursor starts again, and a list behind a wall is read in windows by time of update.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any
from urllib.parse import urlencode, urlsplit

import httpx

from goldpan.core.storage.run_file import Record
from goldpan.miners.github.client import GitHub
from goldpan.miners.journal import Journal
from goldpan.miners.replies import (
    HttpReply,
    NoAnswerError,
    StaleCursorError,
    Tag,
    names_pull,
    next_page,
)
from goldpan.text.keywords import find_mentions

RELATIONS = {
    "sub_issues": "sub_issues",
    "blocked_by": "dependencies/blocked_by",
    "blocking": "dependencies/blocking",
}
"""Lists of an issue that are asked for only where the issue says that they hold something."""


@dataclass(frozen=True, slots=True)
class Feed:
    """A repo-level list: its part name, path, fixed parameters and how to summarize an item."""

    part: str
    path: str
    fixed: dict[str, str]
    item: Callable[[dict[str, Any]], list[Any]]
    takes_since: bool = True

    def can_list(self, item: Any) -> bool:
        """Tell whether an item can be listed; the archive keeps others as they came."""
        try:
            identity, updated, *_ = self.item(item)
        except (KeyError, TypeError):
            return False
        return isinstance(identity, int) and isinstance(updated, str)


ISSUES = Feed(
    "issues",
    "issues",
    {"state": "all"},
    lambda item: [item["number"], item["updated_at"], names_pull(item)],
)
PULLS = Feed(
    "pulls",
    "pulls",
    {"state": "all"},
    lambda item: [item["number"], item["updated_at"], item["head"]["sha"], item["base"]["sha"]],
    takes_since=False,
)
COMMENTS = Feed("comments", "issues/comments", {}, lambda item: [item["id"], item["updated_at"]])
REVIEW_COMMENTS = Feed(
    "review_comments", "pulls/comments", {}, lambda item: [item["id"], item["updated_at"]]
)
FEEDS = (ISSUES, PULLS, COMMENTS, REVIEW_COMMENTS)


def relations_of(items: list[Any]) -> dict[str, list[str]]:
    """Return, by entry number, the lists of relations that issues say hold something."""
    relations: dict[str, list[str]] = {}
    for item in items:
        if not isinstance(item, dict):
            continue
        dependencies = item.get("issue_dependencies_summary") or {}
        counts = {
            "sub_issues": (item.get("sub_issues_summary") or {}).get("total"),
            "blocked_by": dependencies.get("total_blocked_by") or dependencies.get("blocked_by"),
            "blocking": dependencies.get("total_blocking") or dependencies.get("blocking"),
        }
        parts = [part for part, count in counts.items() if count]
        if parts and isinstance(item.get("number"), int):
            relations[str(item["number"])] = parts
    return relations


def mentions_of(items: list[Any], repo: str) -> dict[int, str]:
    """Return the entries of this repository that items name, with the time of the newest item."""
    updated_at: dict[int, str] = {}
    for item in items:
        if not isinstance(item, dict):
            continue
        updated = str(item.get("updated_at") or "")
        for text in (item.get("title"), item.get("body")):
            for mention in find_mentions(text) if isinstance(text, str) else ():
                if mention.repo is None or mention.repo.lower() == repo.lower():
                    updated_at[mention.number] = max(updated, updated_at.get(mention.number, ""))
    return updated_at


_SMALLER = (100, 25, 5, 1)


class RefusedError(NoAnswerError):
    """GitHub does not serve a list or an entry, as where issues are turned off, or not to a token.

    A smaller page would not help.
    """

    def __init__(self, path: str, reply: HttpReply) -> None:
        problem = reply.problem or f"HTTP {reply.status}: nothing of the kind came"
        super().__init__(path, replace(reply, problem=problem))


class WallError(Exception):
    """GitHub pages no further."""


def tag_of(record: Record) -> Tag | None:
    """Return the ETag of an archived reply, if it has one and its token is known."""
    etag, owner = record.meta["headers"].get("etag"), record.meta.get("token")
    return Tag(etag, owner) if etag and owner is not None else None


def next_page_url(url: str) -> str | None:
    """Return the address of the page after one that failed, where pages have numbers."""
    address = httpx.URL(url)
    if "after" in address.params:
        return None
    return str(address.copy_set_param("page", int(address.params.get("page", "1")) + 1))


_RESTARTS = 3
_FAILED_IN_A_ROW = 3  # pages after which it is the list that fails
Order = dict[str, str]
_OLDEST_FIRST = {"sort": "created", "direction": "asc"}
_NEWEST_FIRST = {"sort": "created", "direction": "desc"}
_BY_UPDATE = {"sort": "updated", "direction": "asc"}
_LAST_UPDATED_FIRST = {"sort": "updated", "direction": "desc"}


@dataclass(slots=True)
class Listing:
    """The result of walking a list."""

    feed: Feed
    begun: int
    """The sequence number of the archive at which the walk began."""
    items: list[list[Any]] = field(default_factory=list)
    mentions: dict[int, str] = field(default_factory=dict)
    """When the newest text was updated that names an entry of this repository, by number."""
    is_whole: bool = False
    """True where the items are the whole list."""
    refusal: str = ""
    """Why GitHub refuses the list from its first page on, if it does."""

    @property
    def is_off(self) -> bool:
        """True where GitHub says that the repository has no such list: issues are turned off."""
        return self.refusal.startswith("HTTP 410")

    def take(self, record: Record) -> None:
        """Take a page's items."""
        self.items += record.meta["items"]
        for number, updated in record.meta["refers"]:
            self.mentions[number] = max(updated, self.mentions.get(number, ""))


@dataclass(frozen=True, slots=True)
class _FailedPage:
    """A page that failed; with `goes_on`, the pages that follow it were not read either."""

    feed: Feed
    url: str
    attempt: int
    goes_on: bool


@dataclass(slots=True)
class Lists:
    """Walks a repository's lists into the journal; a page that fails costs that page.

    Such pages are asked for once more at the end of the run, and then recorded as failed.
    """

    github: GitHub
    journal: Journal
    repo: str
    _failed: list[_FailedPage] = field(default_factory=list)

    async def whole(self, feed: Feed) -> Listing:
        """Read all of a list."""
        listing = Listing(feed, len(self.journal.archive.records))
        try:
            listing.is_whole = await self._walk_retrying(listing, _OLDEST_FIRST)
        except WallError:
            if feed.takes_since:
                listing.is_whole = await self._windows(listing, "")
            else:  # from both ends; what lies between comes one by one
                await self._walk_retrying(listing, _NEWEST_FIRST, to_wall=True)
        return listing

    async def changed(self, feed: Feed, since: str) -> Listing:
        """Read the items that were updated since a time."""
        listing = Listing(feed, len(self.journal.archive.records))
        if feed.takes_since:
            await self._windows(listing, since)
        else:
            await self._walk_retrying(listing, _LAST_UPDATED_FIRST, until=since, to_wall=True)
        return listing

    async def retry_failed(self) -> None:
        """Ask once more for failed pages and those that follow; record those that still fail."""
        failed, self._failed = self._failed, []
        for page in failed:
            url: str | None = page.url
            while url is not None:
                try:
                    record = await self._read(page.feed, url, page.attempt)
                except (NoAnswerError, StaleCursorError, WallError) as error:
                    why = error.reason if isinstance(error, NoAnswerError) else error
                    number = httpx.URL(url).params.get("page", "1")
                    self.journal.fail(None, page.feed.part, f"page {number}: {why}")
                    break
                url = record.meta["next"] if page.goes_on else None

    def give_up(self, feed: Feed) -> None:
        """Ask for a list no more, which the repository does not have."""
        self._failed = [page for page in self._failed if page.feed is not feed]

    async def names(self, number: int) -> bool:
        """Ask whether the list of issues still names an entry that it named in this run.

        A list that cannot be read to its end may name it.
        """
        for record in self.journal.of_run("issues"):
            if any(item[0] == number for item in record.meta["items"]):
                reply = await self.github.get(record.meta["request"]["url"])
                if reply.status == 200 and isinstance(reply.data, list):
                    return any(item.get("number") == number for item in reply.data)
        listing = Listing(ISSUES, 0)
        is_whole = await self._walk_retrying(listing, _OLDEST_FIRST, first=_RESTARTS)
        return not is_whole or any(item[0] == number for item in listing.items)

    async def _walk_retrying(
        self,
        listing: Listing,
        order: Order,
        until: str = "",
        *,
        to_wall: bool = False,
        first: int = 0,
    ) -> bool:
        """Walk a list, again from its beginning where a cursor is lost; tell if all was read."""
        for attempt in range(first, first + _RESTARTS):
            try:
                return await self._walk(listing, order, attempt, until, to_wall=to_wall)
            except StaleCursorError as error:
                reason = str(error)
        self.journal.fail(None, listing.feed.part, f"its cursors stopped working ({reason})")
        return False

    async def _windows(self, listing: Listing, since: str) -> bool:
        """Read a list by time of update, each page beginning where the one before ended.

        An entry that is updated meanwhile moves to the end; pages by number would skip another.
        """
        while True:
            order = {**_BY_UPDATE, **({"since": since} if since else {})}
            url: str | None = self._first_url(listing.feed, order)
            newest = since
            while url is not None and newest == since:
                # More than a page may have been updated in one second: then links are followed.
                try:
                    record = await self._read(listing.feed, url, 0)
                except (NoAnswerError, StaleCursorError, WallError) as error:
                    self._failed.append(_FailedPage(listing.feed, url, 0, goes_on=True))
                    if isinstance(error, RefusedError) and not listing.items:
                        listing.refusal = error.reason
                    return False
                listing.take(record)
                url = record.meta["next"]
                newest = max((item[1] for item in record.meta["items"]), default=since)
            if url is None:
                return True
            since = newest

    async def _walk(
        self, listing: Listing, order: Order, attempt: int, until: str, *, to_wall: bool
    ) -> bool:
        """Follow a list to its end, to items older than `until`, or to the wall.

        Pages that fail are passed over where pages have numbers, and asked for once more at the
        end. Returns whether all pages were read.
        """

        async def follow(url: str | None) -> list[str]:
            """Take pages; return those that failed, the last one where the walk ended, or ""."""
            failed: list[str] = []
            in_a_row = 0
            while url is not None:
                try:
                    record = await self._read(listing.feed, url, attempt)
                except NoAnswerError as error:
                    failed.append(url)
                    in_a_row += 1
                    goes_on = in_a_row < _FAILED_IN_A_ROW and not isinstance(error, RefusedError)
                    url = next_page_url(url) if goes_on else None
                    continue
                except WallError:
                    if to_wall:
                        break
                    raise
                in_a_row = 0
                listing.take(record)
                url = record.meta["next"]
                if until and record.meta["items"] and record.meta["items"][-1][1] < until:
                    break  # the following items are older still
            return [*failed, ""] if not in_a_row else failed

        *failed, last = await follow(self._first_url(listing.feed, order))
        later: list[tuple[str, bool]] = []
        for url in [*failed, *filter(None, [last])]:
            try:
                record = await self._read(listing.feed, url, attempt)
            except (NoAnswerError, WallError) as error:
                later.append((url, url == last))
                if isinstance(error, RefusedError) and not listing.items:
                    listing.refusal = error.reason
                continue
            listing.take(record)
            if url == last:
                *passed_over, end = await follow(record.meta["next"])
                later += [(failed_url, False) for failed_url in passed_over]
                later += [(end, True)] if end else []
        self._failed += [_FailedPage(listing.feed, url, attempt, goes_on) for url, goes_on in later]
        return not later

    def _first_url(self, feed: Feed, order: Order) -> str:
        query = urlencode({**feed.fixed, "per_page": "100", **order})
        return f"/repos/{self.repo}/{feed.path}?{query}"

    async def _read(self, feed: Feed, url: str, attempt: int) -> Record:
        """Return one page of a list, from the journal if this run has it.

        Raises `NoAnswerError` where it is not answered, `RefusedError` where GitHub does not serve
        the list, `StaleCursorError` and `WallError` where it does not serve this page.
        """
        key = f"{feed.part}|{self.journal.run}|{attempt}|{url}"
        record = self.journal.find(key)
        if record is not None:
            return record
        old = self.journal.find(f"{feed.part}|{url}")
        tag = tag_of(old) if old is not None else None
        reply = await self._ask(url, tag)
        if reply.status == 304 and old is not None:
            return self.journal.mark(
                "unchanged",
                [key],
                of=feed.part,
                items=old.meta["items"],
                refers=[],
                next=old.meta["next"],
            )
        return self.journal.keep(
            feed.part,
            [key, f"{feed.part}|{url}"],
            {"url": url},
            reply,
            token=reply.token,
            items=[feed.item(item) for item in reply.data if feed.can_list(item)],
            refers=sorted(mentions_of(reply.data, self.repo).items()),
            relations=relations_of(reply.data) if feed is ISSUES else {},
            next=next_page(url, reply),
        )

    async def _ask(self, url: str, tag: Tag | None) -> HttpReply:
        """Ask for a page, for less of it where that fails and its place is named by a cursor."""
        query = httpx.URL(url).params
        is_numbered = "page" in query and "after" not in query
        lengths = (int(query["per_page"]),) if is_numbered else _SMALLER
        for length in lengths:
            try:
                reply = await self.github.get(re.sub(r"(?<=per_page=)\d+", str(length), url), tag)
                break
            except NoAnswerError:
                if length == lengths[-1]:
                    raise
        if reply.status == 304 or (reply.status == 200 and isinstance(reply.data, list)):
            return reply
        if "after" in query and reply.status in (400, 404, 422):
            raise StaleCursorError(reply.problem)
        if is_numbered and reply.status == 422:
            raise WallError(reply.problem)
        raise RefusedError(urlsplit(url).path, reply)
