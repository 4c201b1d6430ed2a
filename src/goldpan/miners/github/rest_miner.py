"""Mines a repository over REST: repo-level lists first, then what only exists per entry.

Lists are walked by following ``Link`` headers. A list that is longer than the wall at which
GitHub stops paging is walked in windows: sorted by update time, and begun anew with `since`.
An update asks for what changed since the last run, and re-checks every timeline with its ETag,
because cross references do not bump `updated_at`; an unchanged timeline costs nothing.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterator, Mapping
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Any
from urllib.parse import urlencode

from goldpan.miners.archive import Record
from goldpan.miners.github.batches import together
from goldpan.miners.github.client import GitHub
from goldpan.miners.github.rest_lists import (
    FEEDS,
    PART_OF_LIST,
    PULLS,
    Count,
    Feed,
    links_of,
    read_list,
)
from goldpan.miners.journal import Journal
from goldpan.miners.replies import Reply, parse_json
from goldpan.progress import Reporter, Task

_PAGES_PER_WINDOW = 95  # GitHub stops paging at about 10,000 issues, comments later
_MOST_FILES = 3_000


class RestMiner:
    """Fetches one repository's new and changed entries into its journal."""

    def __init__(
        self,
        github: GitHub,
        journal: Journal,
        reporter: Reporter,
        *,
        repo: str,
        since: datetime | None,
        workers: int,
        counts: Mapping[str, Count],
        identity: int | None,
    ) -> None:
        self._counts = counts
        self._identity = identity
        self._github = github
        self._journal = journal
        self._reporter = reporter
        self._root = f"/repos/{repo}"
        self._limit = stamp(since)
        self._changed_since = _latest(_finished_until(journal, self._limit), self._limit)
        self._workers = workers

    async def run(self) -> None:
        """Do all there is to do; raises `MiningError` when GitHub stops answering."""
        self._keep_counts()
        with self._reporter.task("Lists", 4) as task:
            found = await together(
                *(self._feed(feed, self._counts[feed.part].announced, task) for feed in FEEDS)
            )
        entries = {item[0]: item for item in found[0]}
        pulls = {item[0]: item for item in found[1]}
        await self._single_pulls(entries, pulls)
        numbers = sorted(self._known_numbers() | set(entries))
        heads = self._known_pulls() | pulls
        wanted = [number for number in numbers if number in heads]
        # The list of review comments tells only what changed; a changed pull is asked for all.
        since = self._changed_since
        again = sorted(n for n, item in pulls.items() if since and item[1] >= since)
        count = len(numbers) + len(wanted) + len(again)
        with self._reporter.task("Timelines and files", count) as task:
            await self._each(numbers, self._timeline, task)
            await self._each(wanted, lambda number: self._files(number, *heads[number][2:4]), task)
            await self._each(again, self._review_comments, task)

    def _keep_counts(self) -> None:
        if any(self._journal.of_run("count")):
            return
        for part, count in self._counts.items():
            self._journal.keep(
                "count",
                [],
                {"url": count.url},
                count.reply,
                list=part,
                announced=count.announced,
            )

    async def _feed(self, feed: Feed, announced: int, task: Task) -> list[list[Any]]:
        """Walk one list and return its items as `feed.item` knows them."""
        if self._changed_since:
            found = await self._changed(feed, self._changed_since)
        elif announced <= _PAGES_PER_WINDOW * 100:
            found, _ = await self._walk_list(feed, {"sort": "created", "direction": "asc"})
        elif feed.takes_since:
            found = await self._windows(feed, {"sort": "updated", "direction": "asc"})
        else:  # from both ends; what lies between comes one by one
            found, _ = await self._walk_list(feed, {"sort": "created", "direction": "asc"})
            last, _ = await self._walk_list(feed, {"sort": "created", "direction": "desc"})
            found += last
        task.advance()
        return [item for item in found if not self._limit or item[1] >= self._limit]

    async def _changed(self, feed: Feed, since: str) -> list[list[Any]]:
        """Return the items that were updated since a time."""
        if feed.takes_since:
            return await self._windows(
                feed, {"sort": "updated", "direction": "asc", "since": since}
            )
        newest_first = {"sort": "updated", "direction": "desc"}
        found, _ = await self._walk_list(feed, newest_first, since)
        return found

    async def _windows(self, feed: Feed, order: dict[str, str]) -> list[list[Any]]:
        """Walk a list by update time, beginning anew before GitHub stops paging."""
        found: list[list[Any]] = []
        while True:
            items, ended = await self._walk_list(feed, order)
            found += items
            if ended or items[-1][1] == order.get("since"):
                return found
            order = {**order, "since": items[-1][1]}

    async def _walk_list(
        self, feed: Feed, order: dict[str, str], until: str = ""
    ) -> tuple[list[list[Any]], bool]:
        """Follow a list to the wall, or to items older than `until`; tell whether it ended."""
        found: list[list[Any]] = []
        query = urlencode({**feed.fixed, "per_page": "100", **order})
        url: str | None = f"{self._root}/{feed.path}?{query}"
        pages = 0
        while url and pages < _PAGES_PER_WINDOW:
            record = await self._page(feed, url)
            found += record.meta["items"]
            url = record.meta["next"]
            pages += 1
            if found and found[-1][1] < until:
                url = None  # newest first: the rest is older still
        return found, url is None

    async def _page(self, feed: Feed, url: str) -> Record:
        """Return one page of a list, from the journal if this run has it."""
        key = f"{feed.part}|{self._journal.run}|{url}"
        record = self._journal.find(key)
        if record is None:
            reply = await read_list(self._github, url)
            record = self._journal.keep(
                feed.part,
                [key],
                {"url": url},
                reply,
                items=[feed.item(entry) for entry in reply.data],
                next=links_of(reply).get("next"),
            )
        return record

    async def _single_pulls(
        self, entries: dict[int, list[Any]], pulls: dict[int, list[Any]]
    ) -> None:
        """Fetch the pull requests that the issue list names and the pull list does not."""
        for number in sorted(n for n, item in entries.items() if item[2] and n not in pulls):
            record = await self._pull(number)
            if record is not None:
                pulls[number] = record.meta["items"][0]

    async def _pull(self, number: int) -> Record | None:
        key = f"pull|{self._journal.run}|{number}"
        record = self._journal.find(key)
        if record is None:
            url = f"{self._root}/pulls/{number}"
            reply = await self._github.get(url)
            if reply.status != 200:
                self._journal.fail(number, "entry", reply.problem)
                return None
            record = self._journal.keep(
                "pull", [key], {"url": url}, reply, number=number, items=[PULLS.item(reply.data)]
            )
        return record

    async def _timeline(self, number: int) -> None:
        """Fetch an entry's timeline unless all of its pages are as they were."""
        done = f"timeline-done|{self._journal.run}|{number}"
        if self._journal.find(done) or self._is_gone(number):
            return
        first = f"{self._root}/issues/{number}/timeline?per_page=100"
        old = self._journal.find(f"timeline-live|{number}")
        if old is not None and await self._unchanged(first, old.run, "timeline"):
            self._journal.mark("unchanged", [done], number=number, of="timeline")
            return
        await self._walk(number, "timeline", first, [done, f"timeline-live|{number}"])

    async def _files(self, number: int, head: str, base: str) -> None:
        """Fetch a pull request's files unless they are known for this head and base."""
        done = f"files|{number}|{head}|{base}"
        if self._journal.find(done) or self._is_gone(number):
            return
        first = f"{self._root}/pulls/{number}/files?per_page=100"
        count = await self._walk(number, "files", first, [])
        if count in (0, _MOST_FILES):  # what GitHub answers for a diff that it finds too large
            record = await self._pull(number)
            changed = int(_parsed(record)["changed_files"]) if record else 0
            if changed != count:
                self._journal.fail(number, "files", f"GitHub lists {count:,} of {changed:,} files")
                return
        self._journal.mark("complete", [done], number=number, of="files")

    async def _review_comments(self, number: int) -> None:
        if not self._is_gone(number):
            url = f"{self._root}/pulls/{number}/comments?per_page=100"
            await self._walk(number, "pull_comments", url, [])

    def _is_gone(self, number: int) -> bool:
        return self._journal.find(f"gone|{self._journal.run}|{number}") is not None

    def _is_elsewhere(self, reply: Reply) -> bool:
        """Tell a transferred entry, whose address leads into another repository."""
        ours = (f"{self._root}/", f"/repositories/{self._identity}/")
        return bool(reply.moved) and not any(place in reply.moved for place in ours)

    async def _walk(self, number: int, part: str, url: str, done: list[str]) -> int:
        """Fetch all pages of one entry's list; the last page's record bears the `done` keys."""
        count = 0
        following: str | None = url
        while following:
            key = f"{part}|{self._journal.run}|{following}"
            record = self._journal.find(key)
            if record is None:
                reply = await self._github.get(following)
                if part == "timeline" and (reply.status in (404, 410) or self._is_elsewhere(reply)):
                    gone = f"gone|{self._journal.run}|{number}"
                    self._journal.mark("gone", [gone], number=number)
                    return count
                if reply.status != 200:
                    self._journal.fail(number, PART_OF_LIST.get(part, part), reply.problem)
                    return count
                after = links_of(reply).get("next")
                record = self._journal.keep(
                    part,
                    [key] if after else [key, *done],
                    {"url": following},
                    reply,
                    number=number,
                    items=len(reply.data),
                    first=following == url,
                    next=after,
                )
            count += int(record.meta["items"])
            following = record.meta["next"]
        return count

    async def _unchanged(self, url: str, run: int, part: str) -> bool:
        following: str | None = url
        while following:
            old = self._journal.find(f"{part}|{run}|{following}")
            if old is None or "etag" not in old.meta["headers"]:
                return False
            reply = await self._github.get(following, old.meta["headers"]["etag"])
            if reply.status != 304:
                return False
            following = old.meta["next"]
        return True

    async def _each(
        self, numbers: list[int], fetch: Callable[[int], Awaitable[None]], task: Task
    ) -> None:
        waiting = iter(numbers)

        async def work() -> None:
            for number in waiting:
                await fetch(number)
                task.advance()

        await together(*(work() for _ in range(self._workers)))

    def _known_numbers(self) -> set[int]:
        """Return the entries of earlier runs, whose timelines may have grown silently."""
        return {item[0] for item in self._items("issues")}

    def _known_pulls(self) -> dict[int, list[Any]]:
        return {item[0]: item for part in ("pulls", "pull") for item in self._items(part)}

    def _items(self, part: str) -> Iterator[list[Any]]:
        for record in self._journal.archive.records:
            if record.meta["part"] == part:
                for item in record.meta["items"]:
                    if not self._limit or item[1] >= self._limit:
                        yield item


def _parsed(record: Record) -> dict[str, Any]:
    data: dict[str, Any] = parse_json(record.read())
    return data


def stamp(moment: datetime | None) -> str | None:
    """Write a time as GitHub does, so that texts compare as times do."""
    return moment.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ") if moment else None


def _latest(*stamps: str | None) -> str | None:
    return max((stamp for stamp in stamps if stamp), default=None)


def _finished_until(journal: Journal, limit: str | None) -> str | None:
    """Return when the last REST run that saw all of this began, by GitHub's clock."""
    begun: dict[int, Record] = {}
    narrower: set[int] = set()
    until = None
    for record in journal.archive.records:
        part = record.meta["part"]
        if part == "begin":
            since = record.meta["plan"].get("since")
            if since and (limit is None or since > limit):
                narrower.add(record.run)
        if part == "count" and record.run not in narrower:
            begun.setdefault(record.run, record)
        if part == "end" and record.run in begun:
            date = begun[record.run].meta["headers"].get("date")
            until = stamp(parsedate_to_datetime(date)) if date else until
    return until
