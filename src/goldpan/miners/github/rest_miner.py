"""Mines a repository over REST: repo-level lists first, then the lists of single entries.

A list that fails is asked for in smaller pages, then postponed, asked for once more at the end, and
then recorded as failed: no entry ends a run.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable

from goldpan.core.storage.run_file import Record
from goldpan.core.terminal import ProgressTask
from goldpan.miners.github.batches import together
from goldpan.miners.github.cost import MOST_FILES, LengthSample
from goldpan.miners.github.rest_lists import (
    ISSUES,
    PULLS,
    RELATIONS,
    Feed,
    RefusedError,
    relations_of,
)
from goldpan.miners.github.rest_survey import RestSurvey, RestSurveyor
from goldpan.miners.replies import HttpReply, NoAnswerError, next_page, parse_json

_LENGTHS = (100, 30, 10, 1)

Fetch = Callable[[int], Awaitable[None]]


class RestMiner:
    """Fetches one repository's new and changed entries into its journal."""

    def __init__(self, surveyor: RestSurveyor, identity: int | None) -> None:
        self._surveyor = surveyor
        self._lists = surveyor.lists
        self._github = self._lists.github
        self._journal = self._lists.journal
        self._root = f"/repos/{self._lists.repo}"
        self._identity = identity
        self._survey = RestSurvey(frozenset(), {}, {})
        self._later: list[tuple[int, str, Fetch]] = []
        self._lost: dict[int, str] = {}
        self._is_last = False
        self._timeline = self._list("timeline", "issues/{}/timeline")

    @property
    def fresh(self) -> list[int]:
        """The entries that are to be fetched, known after the survey."""
        survey = self._survey
        return sorted({*survey.issues, *survey.pulls, *survey.timelines, *survey.files})

    def remaining(self, sampled: LengthSample) -> int:
        """Return how many requests the run will still take after the survey."""
        survey = self._survey
        timelines = len(survey.timelines) * sampled.pages("timelineItems")
        pulls = len(survey.files) + len(survey.pulls)
        files = pulls * (sampled.pages("files") + sampled.unlisted())
        single = (survey.issues, survey.pulls, survey.review_comments, survey.relations)
        return round(timelines) + round(files) + sum(len(numbers) for numbers in single)

    async def survey(self) -> None:
        """Read the repository's lists, and find the lists of entries that the journal lacks."""
        self._survey = await self._surveyor.run()

    async def run(self) -> None:
        """Fetch the lists that the survey found, and those that failed once more at the end."""
        survey = self._survey
        self._surveyor.reporter.note(
            f"{len(survey.listed):,} entries; {survey.count:,} lists of entries to fetch"
        )
        with self._surveyor.reporter.task("Timelines and files", survey.count) as task:
            await self._fetch_each(survey.issues, "entry", self._issue, task)
            await self._fetch_each(survey.pulls, "entry", self._pull, task)
            await self._fetch_each(survey.timelines, "timeline", self._timeline, task)
            await self._fetch_each(survey.files, "files", self._files, task)
            fetch = self._list("pull_comments", "pulls/{}/comments")
            await self._fetch_each(survey.review_comments, "review_comments", fetch, task)
            for part in RELATIONS:
                numbers = [number for number, kind in survey.relations if kind == part]
                fetch = self._list(part, f"issues/{{}}/{RELATIONS[part]}")
                await self._fetch_each(numbers, part, fetch, task)
        self._is_last = True
        if self._later:
            self._surveyor.reporter.note(
                f"{len(self._later):,} lists failed: asking for them once more"
            )
        for number, part, fetch in self._later:
            await self._guarded(number, part, fetch)
        for number, reason in sorted(self._lost.items()):
            await self._find_lost(number, reason)
        await self._lists.retry_failed()

    async def _issue(self, number: int) -> None:
        await self._single(number, "issue", ISSUES)

    async def _pull(self, number: int) -> None:
        if record := await self._single(number, "pull", PULLS):
            self._survey.heads[number] = record.meta["items"][0][2:4]

    async def _single(self, number: int, part: str, feed: Feed) -> Record | None:
        """Fetch an entry or a pull request that no list brought as it is now; null where gone."""
        key = f"{part}|{self._journal.run}|{number}"
        record = self._journal.find(key)
        if record is not None:
            return record
        url = f"{self._root}/{feed.path}/{number}"
        reply = await self._github.get(url)
        if feed is ISSUES and self._is_gone_by(number, reply):
            return None
        if reply.status != 200 or not isinstance(reply.data, dict):
            raise RefusedError(url, reply)
        items, relations = [feed.item(reply.data)], relations_of([reply.data])
        return self._journal.keep(
            part, [key], {"url": url}, reply, number=number, items=items, relations=relations
        )

    async def _files(self, number: int) -> None:
        key = f"files|{self._journal.run}|{number}"
        if self._journal.find(key) or self._is_gone(number):
            return
        count = await self._walk(number, "files", f"{self._root}/pulls/{number}/files", [])
        if count is None:
            return
        if count in (0, MOST_FILES):  # what GitHub answers for a diff that it finds too large
            await self._pull(number)
            record = self._journal.find(f"pull|{self._journal.run}|{number}")
            changed = int(parse_json(record.read()).get("changed_files") or 0) if record else 0
            if changed != count:
                reason = f"GitHub lists {count:,} of {changed:,} files"
                self._journal.fail(number, "files", reason, withheld=True)
        state = self._survey.heads[number]
        self._journal.mark("complete", [key], number=number, of="files", state=state)

    def _list(self, part: str, path: str) -> Fetch:
        """Return a function that fetches a list of one entry, once a run."""

        async def fetch(number: int) -> None:
            key = f"{part}|{self._journal.run}|{number}"
            if not self._journal.find(key) and not self._is_gone(number):
                await self._walk(number, part, f"{self._root}/{path.format(number)}", [key])

        return fetch

    async def _walk(self, number: int, part: str, url: str, end_keys: list[str]) -> int | None:
        """Fetch all pages of one entry's list; the last page's record bears the `end_keys` keys.

        Returns how many items came, null where the list could not be read. Where a page fails
        the list is read in smaller ones; raises `NoAnswerError` where the smallest fails.
        """
        *longer, shortest = _LENGTHS
        for length in longer:
            try:
                return await self._pages(number, part, f"{url}?per_page={length}", end_keys)
            except RefusedError:
                raise
            except NoAnswerError:
                continue
        return await self._pages(number, part, f"{url}?per_page={shortest}", end_keys)

    async def _pages(self, number: int, part: str, url: str, end_keys: list[str]) -> int | None:
        count = 0
        following: str | None = url
        while following:
            key = f"{part}|{self._journal.run}|{number}|{following}"
            record = self._journal.find(key)
            if record is None:
                reply = await self._github.get(following, tries=1)
                if part == "timeline" and self._is_gone_by(number, reply):
                    return None
                if reply.status != 200 or not isinstance(reply.data, list):
                    raise RefusedError(following, reply)
                after = next_page(following, reply)
                record = self._journal.keep(
                    part,
                    [key] if after else [key, *end_keys],
                    {"url": following},
                    reply,
                    number=number,
                    items=len(reply.data),
                    first=following == url,
                    next=after,
                    version=self._survey.versions.get(number, ""),
                )
            count += int(record.meta["items"])
            following = record.meta["next"]
        return count

    def _is_gone(self, number: int) -> bool:
        record = self._journal.find(f"gone|{self._journal.run}|{number}")
        return record is not None or number in self._lost

    def _is_gone_by(self, number: int, reply: HttpReply) -> bool:
        """Tell by a reply whether an entry is no longer there; 404 and 410 are hints, no proof."""
        if reply.status in (404, 410):
            self._lost[number] = reply.problem
        elif self._is_elsewhere(reply):
            self._mark_gone(number)
        else:
            return False
        return True

    def _is_elsewhere(self, reply: HttpReply) -> bool:
        """Tell a transferred entry, whose address leads into another repository."""
        ours = (f"{self._root}/".lower(), f"/repositories/{self._identity}/")
        return bool(reply.moved) and not any(start in reply.moved.lower() for start in ours)

    def _mark_gone(self, number: int) -> None:
        key = f"gone|{self._journal.run}|{number}"
        if self._journal.find(key) is None:
            self._journal.mark("gone", [key], number=number)

    async def _find_lost(self, number: int, reason: str) -> None:
        """Ask again for an entry that was not found; it is gone once the listing lacks it, too."""
        del self._lost[number]
        await self._guarded(number, "entry", self._issue)
        await self._guarded(number, "timeline", self._timeline)
        if number in self._survey.heads:
            await self._guarded(number, "files", self._files)
        if self._lost.pop(number, None) is None:
            return
        try:
            sweep, target = self._surveyor.sweep, self._survey.targets.get(number)
            listed = await (sweep.lists(target) if sweep and target else self._lists.names(number))
        except NoAnswerError as error:
            listed, reason = True, error.reason
        if listed:
            self._journal.fail(number, "entry", f"{reason} (and GitHub lists it)")
        else:
            self._mark_gone(number)

    async def _fetch_each(
        self, numbers: Iterable[int], part: str, fetch: Fetch, task: ProgressTask
    ) -> None:
        queue = iter(numbers)

        async def work() -> None:
            for number in queue:
                await self._guarded(number, part, fetch)
                task.advance()

        await together(*(work() for _ in range(self._github.flow.most)))

    async def _guarded(self, number: int, part: str, fetch: Fetch) -> None:
        """Fetch, and postpone a failure; at the end of the run record it."""
        try:
            await fetch(number)
        except NoAnswerError as error:
            if self._is_last:
                self._journal.fail(number, part, error.reason, error.status)
            else:
                self._later.append((number, part, fetch))
