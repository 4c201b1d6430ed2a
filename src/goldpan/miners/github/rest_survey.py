"""Finds the entries and lists that a REST run has to fetch, from the repository's own lists.

With a token the GraphQL sweep shows which entries there are and which changed, cross references
from elsewhere included; REST's own lists cannot, since a cross reference does not bump
`updated_at`. Without one the list of issues is walked as a whole, and an entry's timeline is read
again when the entry changed or a text that changed names it.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Any

from goldpan.core.errors import QueryError, RepositoryError
from goldpan.core.storage.run_file import Record
from goldpan.core.terminal import ProgressTask, Reporter
from goldpan.miners.connections import More
from goldpan.miners.github.batches import together
from goldpan.miners.github.graphql_entries import entry_key
from goldpan.miners.github.rest_lists import (
    COMMENTS,
    FEEDS,
    ISSUES,
    PULLS,
    RELATIONS,
    REVIEW_COMMENTS,
    Feed,
    Listing,
    Lists,
)
from goldpan.miners.github.sweep import Sweep, Target
from goldpan.miners.journal import UNSEEN, Journal
from goldpan.miners.journal_state import PART_OF_LIST


@dataclass(slots=True)
class RestSurvey:
    """The findings from the repository's lists, and the entries and lists to be fetched."""

    listed: frozenset[int]
    targets: Mapping[int, Target]
    """Entries as the sweep saw them; empty without one."""
    versions: Mapping[int, str]
    """The state of each entry for which its timeline is read."""
    issues: list[int] = field(default_factory=list)
    """Entries that no list brought as they are now."""
    pulls: list[int] = field(default_factory=list)
    """Likewise pull requests."""
    timelines: list[int] = field(default_factory=list)
    review_comments: list[int] = field(default_factory=list)
    relations: list[tuple[int, str]] = field(default_factory=list)
    heads: dict[int, list[str]] = field(default_factory=dict)
    """Head and base of each pull request whose head is known."""
    files_read: dict[int, list[str]] = field(default_factory=dict)
    """The head and base for which a pull request's files were read last."""

    @property
    def files(self) -> list[int]:
        """The pull requests whose files are to be read, of those whose head is known."""
        return [n for n, head in sorted(self.heads.items()) if self.files_read.get(n) != head]

    @property
    def count(self) -> int:
        """How many lists of entries are to be fetched."""
        lists = (self.issues, self.timelines, self.review_comments, self.relations)
        return 2 * len(self.pulls) + len(self.files) + sum(len(numbers) for numbers in lists)


class RestSurveyor:
    """Reads a repository's lists into the journal, and compares them with its older records.

    `sweep` is None without a token.
    """

    def __init__(
        self,
        lists: Lists,
        reporter: Reporter,
        since: datetime | None,
        sweep: Sweep | None,
        *,
        has_issues: bool,
    ) -> None:
        self.lists = lists
        self.journal = lists.journal
        self.reporter = reporter
        self.sweep = sweep
        self._has_issues = has_issues
        self._limit = stamp(since)
        last_run = _finished_until(lists.journal, self._limit)
        self._changed_since = max(filter(None, (last_run, self._limit)), default=None)

    async def run(self) -> RestSurvey:
        """Read the lists and find the entries and lists to be fetched."""
        targets = await self._swept()
        with self.reporter.task("Lists", len(FEEDS)) as task:
            issues, pulls, comments, reviews = await together(
                *(
                    self._listing(feed, task, swept=bool(targets))
                    for feed in (ISSUES, PULLS, COMMENTS, REVIEW_COMMENTS)
                )
            )
        if issues.is_off or not self._has_issues:
            self._turn_off_issues(comments)
        elif all(listing.refusal for listing in (issues, pulls, comments, reviews)):
            raise RepositoryError(
                f"None of the repository's lists can be read ({issues.refusal})",
                "Check that the token may read issues and pull requests of this repository",
            )
        named = set[int]()
        if not targets and self._changed_since:
            for listing in (issues, pulls, comments, reviews):
                newest = listing.mentions.items()
                named.update(n for n, updated in newest if updated >= self._changed_since)
        if issues.is_whole:
            numbers = sorted({item[0] for item in issues.items})
            self.journal.mark("listed", of="issues", numbers=numbers, begun=issues.begun)
        if self._changed_since and not targets:
            self._note_unseen(self._changed_since)
        entries = self._newest("issues", "issue")
        if not self._has_issues:
            known = self._newest("pulls", "pull").items()
            entries = {number: [number, pull[1], True] for number, pull in known}
            self.journal.mark("listed", of="issues", numbers=sorted(entries), begun=pulls.begun)
        listed = self._listed(targets, issues, entries)
        return self._compare(listed, targets, entries, named)

    def _turn_off_issues(self, comments: Listing) -> None:
        """Do without the list of issues: that of pull requests tells of these what it would."""
        self._has_issues = False
        self.lists.give_up(ISSUES)
        if comments.is_off:  # timelines hold them, too
            self.lists.give_up(COMMENTS)
        self.reporter.note("Issues are turned off in this repository: it has only pull requests")
        if not any(self.journal.of_run("off")):
            self.journal.mark("off", of="issues")

    def _note_unseen(self, since: str) -> None:
        """Note that no list of REST shows a cross reference: it touches no entry."""
        self.reporter.note(
            f"Not seen without a token: {UNSEEN.format(since=since)}, unless the entry that they "
            "lead to changes otherwise. A run with GITHUB_TOKEN set finds them"
        )
        if not any(self.journal.of_run("unseen")):
            self.journal.mark("unseen", since=since)

    async def _swept(self) -> dict[int, Target]:
        """Return all entries by the GraphQL sweep, none where there is no sweep."""
        if self.sweep is None:
            return {}
        try:
            with self.reporter.task("Sweep", 0) as task:
                listed = await together(self.sweep.run("issue", task), self.sweep.run("pull", task))
        except QueryError as error:
            self.reporter.note(f"{error.problem}: using REST's lists instead")
            return {}
        if any(record.meta["number"] is None for record in self.journal.of_run("failed")):
            return {}
        return {target.number: target for targets in listed for target in targets}

    async def _listing(self, feed: Feed, task: ProgressTask, *, swept: bool) -> Listing:
        """Read a list: all of it at first, later its changed items."""
        if feed is ISSUES and not self._has_issues:
            return Listing(feed, len(self.journal.archive.records))
        since = self._changed_since
        if feed is ISSUES and not swept and not self._limit:
            since = None  # the list itself must show which entries there are
        listing = await (self.lists.changed(feed, since) if since else self.lists.whole(feed))
        task.advance()
        return listing

    def _listed(
        self, targets: Mapping[int, Target], issues: Listing, entries: Mapping[int, list[Any]]
    ) -> frozenset[int]:
        if targets:
            return frozenset(targets)
        items = issues.items if issues.is_whole else list(entries.values())
        return frozenset(item[0] for item in items if not self._limit or item[1] >= self._limit)

    def _compare(
        self,
        listed: frozenset[int],
        targets: Mapping[int, Target],
        entries: Mapping[int, list[Any]],
        named: set[int],
    ) -> RestSurvey:
        states = _LastStates(self.journal)
        pulls = self._newest("pulls", "pull")
        versions = {
            number: targets[number].version if number in targets else f"rest|{entries[number][1]}"
            for number in listed
        }
        survey = RestSurvey(listed, targets, versions, files_read=states.files)
        since = self._changed_since
        for number in sorted(listed):
            target, entry = targets.get(number), entries.get(number)
            updated = target.updated if target else ""
            last = states.versions.get((number, "timeline"))
            is_current = last == versions[number]
            # A comment on an entry that was not updated, which counts its comments all the same.
            late_comment = bool(not is_current and last and "|IssueComment " in versions[number])
            if self._has_issues and (
                entry is None
                or entry[1] < updated
                or (number, "entry") in states.failed
                or late_comment
            ):
                survey.issues.append(number)
            fresh = self.journal.find(f"timeline|{self.journal.run}|{number}") is not None
            if (
                not is_current
                or (number, "timeline") in states.failed
                or (number in named and not fresh)
            ):
                survey.timelines.append(number)
            if target.kind == "pull" if target else entry is not None and entry[2]:
                pull = pulls.get(number)
                if pull is None or pull[1] < updated:
                    survey.pulls.append(number)
                else:
                    survey.heads[number] = pull[2:4]
                # The list of review comments shows changes, not deletions.
                later = since is not None and max(updated, entry[1] if entry else "") >= since
                if later or (number, "review_comments") in states.failed:
                    survey.review_comments.append(number)
        survey.relations = self._relations(versions, states)
        return survey

    def _relations(self, versions: Mapping[int, str], states: _LastStates) -> list[tuple[int, str]]:
        """Return the lists of relations that issues have or had and that were not read since."""
        failed = {(number, part) for number, part in states.failed if part in RELATIONS}
        for record in self.journal.archive.records:
            meta = record.meta
            if meta["part"] in RELATIONS:
                failed.add((meta["number"], meta["part"]))
            for number, parts in (meta.get("relations") or {}).items():
                failed.update((int(number), part) for part in parts)
        return sorted(
            (number, part)
            for number, part in failed
            if number in versions and states.versions.get((number, part)) != versions[number]
        )

    def _newest(self, *parts: str) -> dict[int, list[Any]]:
        """Return the newest item of each entry that replies of these parts brought."""
        by_number: dict[int, list[Any]] = {}
        for record in self.journal.archive.records:
            if record.meta["part"] in parts:
                for item in record.meta["items"]:
                    if item[0] not in by_number or item[1] >= by_number[item[0]][1]:
                        by_number[item[0]] = item
        return by_number


class _LastStates:
    """The state of each entry that the archive holds last, by whichever API."""

    def __init__(self, journal: Journal) -> None:
        self.versions: dict[tuple[int, str], str] = {}
        """Versions for which lists of entries were read, by number and part."""
        self.files: dict[int, list[str]] = {}
        self.failed: set[tuple[int, str]] = set()
        """Parts of entries whose last request failed: requested again."""
        for record in journal.archive.records:
            self._read(record, journal)

    def _read(self, record: Record, journal: Journal) -> None:
        meta = record.meta
        match meta["part"]:
            case "entries":
                open_ = {
                    More(*row).number for row in meta["more"] if not journal.find(More(*row).key)
                }
                for _, number, owner in meta["nodes"]:
                    version = owner.rpartition("@")[0]
                    whole = journal.find(entry_key(version)) is not None and number not in open_
                    for part in ("timeline", *RELATIONS):
                        self.versions[number, part] = version if whole else ""
                    self.files.pop(number, None)  # REST sees more of them
            case "timeline" | "files" | "pull_comments" | "sub_issues" | "blocked_by" | "blocking":
                if meta["next"] is None:
                    part = PART_OF_LIST.get(meta["part"], meta["part"])
                    self.failed.discard((meta["number"], part))
                    self.versions[meta["number"], part] = meta["version"]
            case "issue":
                self.failed.discard((meta["number"], "entry"))
            case "complete":
                self.files[meta["number"]] = meta["state"]
            case "failed" if meta["number"] is not None and not meta["withheld"]:
                self.failed.add((meta["number"], meta["of"]))
                if meta["of"] == "files":
                    self.files.pop(meta["number"], None)


def stamp(moment: datetime | None) -> str | None:
    """Write a time as GitHub does, so that texts compare as times do."""
    return moment.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ") if moment else None


def _finished_until(journal: Journal, limit: str | None) -> str | None:
    """Return when the last REST run that read all of these lists began, by GitHub's clock."""
    runs: dict[int, dict[str, Record]] = defaultdict(dict)
    ends = {record.sequence for record in journal.state.ends}
    for record in journal.archive.records:
        part = record.meta["part"]
        if part == "failed" and record.meta["number"] is None:
            part = "broken"
        if part != "end" or record.sequence in ends:
            runs[record.run].setdefault(part, record)
    until = None
    for _, parts in sorted(runs.items()):
        if {"begin", "repository", "end"} <= parts.keys() and "broken" not in parts:
            plan = parts["begin"].meta["plan"]
            narrower = plan.get("since") and (limit is None or plan["since"] > limit)
            date = parts["repository"].meta["headers"].get("date")
            if plan["via"] == "rest" and not narrower and date:
                until = stamp(parsedate_to_datetime(date))
    return until
