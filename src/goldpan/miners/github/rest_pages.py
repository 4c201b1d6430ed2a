"""Reads one page of a repository's list into the journal, once a run.

GitHub pages some lists by cursors that expire and some by numbers up to a wall; which of the two
ended a list, or that it is refused, is the error that a page raises.
"""

from __future__ import annotations

import re
from dataclasses import replace
from urllib.parse import parse_qsl, urlencode, urlsplit, urlunsplit

from goldpan.core.archive import Record
from goldpan.miners.github.client import GitHub
from goldpan.miners.github.request import NoAnswerError, Tag
from goldpan.miners.github.rest_feeds import ISSUES, Feed, mentions_of, relations_of
from goldpan.miners.journal import Journal
from goldpan.miners.replies import Reply, links_of

_SMALLER = (100, 25, 5, 1)


class StaleCursorError(Exception):
    """GitHub does not take a cursor that it gave."""


class RefusedError(NoAnswerError):
    """GitHub does not serve a list, as where issues are turned off, or not to this token."""

    def __init__(self, path: str, reply: Reply) -> None:
        problem = reply.problem or f"HTTP {reply.status}: no list came"
        super().__init__(path, replace(reply, problem=problem))


class WallError(Exception):
    """GitHub pages no further."""


class Pages:
    """The pages of a repository's lists."""

    def __init__(self, github: GitHub, journal: Journal, repo: str) -> None:
        self._github = github
        self._journal = journal
        self._repo = repo

    def first_url(self, feed: Feed, order: dict[str, str]) -> str:
        """Return the address of a list's first page, in this order."""
        query = urlencode({**feed.fixed, "per_page": "100", **order})
        return f"/repos/{self._repo}/{feed.path}?{query}"

    async def read(self, feed: Feed, url: str, attempt: int) -> Record:
        """Return one page of a list, from the journal if this run has it.

        Raises `NoAnswerError` where it is not answered, `RefusedError` where GitHub does not serve
        the list, `StaleCursorError` and `WallError` where it does not serve this page.
        """
        key = f"{feed.part}|{self._journal.run}|{attempt}|{url}"
        record = self._journal.find(key)
        if record is not None:
            return record
        old = self._journal.find(f"{feed.part}|{url}")
        tag = tag_of(old) if old is not None else None
        reply = await self._ask(feed, url, tag)
        if reply.status == 304 and old is not None:
            return self._journal.mark(
                "unchanged",
                [key],
                of=feed.part,
                items=old.meta["items"],
                refers=[],
                next=old.meta["next"],
            )
        return self._journal.keep(
            feed.part,
            [key, f"{feed.part}|{url}"],
            {"url": url},
            reply,
            token=reply.token,
            items=[feed.item(item) for item in reply.data if feed.can_list(item)],
            refers=sorted(mentions_of(reply.data, self._repo).items()),
            relations=relations_of(reply.data) if feed is ISSUES else {},
            next=links_of(reply).get("next"),
        )

    async def _ask(self, feed: Feed, url: str, tag: Tag | None) -> Reply:
        """Ask for a page, for less of it where that fails and its place is named by a cursor."""
        query = dict(parse_qsl(urlsplit(url).query))
        is_numbered = "page" in query and "after" not in query
        lengths = (int(query["per_page"]),) if is_numbered else _SMALLER
        for length in lengths:
            try:
                reply = await self._github.get(_with_length(url, length), tag)
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


def tag_of(record: Record) -> Tag | None:
    """Return the ETag of an archived reply, if it has one and its token is known."""
    etag, owner = record.meta["headers"].get("etag"), record.meta.get("token")
    return Tag(etag, owner) if etag and owner is not None else None


def describe_failure(url: str, error: Exception) -> str:
    """Say which page failed, and why."""
    page = dict(parse_qsl(urlsplit(url).query)).get("page", "1")
    return f"page {page}: {error.reason if isinstance(error, NoAnswerError) else error}"


def next_page_url(url: str) -> str | None:
    """Return the address of the page after one that failed, where pages have numbers."""
    parts = urlsplit(url)
    query = dict(parse_qsl(parts.query))
    if "after" in query:
        return None
    query["page"] = str(int(query.get("page", "1")) + 1)
    return urlunsplit(parts._replace(query=urlencode(query)))


def _with_length(url: str, length: int) -> str:
    return re.sub(r"([?&]per_page=)\d+", rf"\g<1>{length}", url)
