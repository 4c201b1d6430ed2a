"""Mines a repository over GraphQL: sweep, fetch what is new or changed, complete the lists.

The sweep reads a light fingerprint of every entry: its `updatedAt` and the count and newest
time of its cross references, which do not bump `updatedAt`. An entry whose fingerprint the
journal knows is not fetched again, so a first run, a resumed run and an update are one and the
same algorithm, and a deleted or unreadable entry is known by name.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from goldpan.errors import RepositoryError
from goldpan.miners.github import queries
from goldpan.miners.github.batches import BatchSize, Drain, together
from goldpan.miners.github.client import GitHub, OverloadError, graphql_errors
from goldpan.miners.github.graphql_lists import (
    PART_OF,
    More,
    entry_flaws,
    list_flaw,
    open_lists,
    problems_by_node,
)
from goldpan.miners.github.limits import Pace
from goldpan.miners.github.queries import CONNECTIONS, Kind
from goldpan.miners.journal import Journal
from goldpan.miners.replies import Reply
from goldpan.progress import Reporter, Task

_SWEEP_PAGE = 100
_CONTINUATIONS = 100
_FLAWED_TRIES = 3


@dataclass(frozen=True, slots=True)
class Target:
    """An entry to fetch; `version` names what the sweep saw of it."""

    kind: Kind
    node: str
    number: int
    version: str


class GraphQLMiner:
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
        pace: Pace,
    ) -> None:
        self._github = github
        self._journal = journal
        self._reporter = reporter
        self._owner, self._name = repo.split("/")
        self._since = since
        self._workers = workers
        self._pace = pace
        self._flawed: dict[object, int] = {}

    async def run(self) -> None:
        """Do all there is to do; raises `MiningError` when GitHub stops answering."""
        with self._reporter.task("Sweep", 0) as task:
            issues, pulls = await together(self._sweep("issue", task), self._sweep("pull", task))
        work = {"issue": issues, "pull": pulls}
        wanted = {target.number for targets in work.values() for target in targets}
        owners = self._owners()
        todo = {
            kind: [target for target in targets if not self._is_known(target, owners)]
            for kind, targets in work.items()
        }
        count = sum(map(len, todo.values()))
        skipped = len(wanted) - count
        self._reporter.note(
            f"{len(wanted):,} entries; {count:,} to fetch"
            + (f", {skipped:,} known" if skipped else "")
        )
        with self._reporter.task("Entries", count) as task:
            await together(
                self._entries("issue", todo["issue"], task),
                self._entries("pull", todo["pull"], task),
            )
        await self._complete(wanted)

    async def _sweep(self, kind: Kind, task: Task) -> list[Target]:
        """Return all entries of a kind (those updated since the limit, if there is one)."""
        document = queries.SWEEP_ISSUES if kind == "issue" else queries.SWEEP_PULLS
        field = "issues" if kind == "issue" else "pullRequests"
        order = ("UPDATED_AT", "DESC") if self._since else ("CREATED_AT", "ASC")
        size = BatchSize(_SWEEP_PAGE)
        found: dict[str, Target] = {}
        cursor: str | None = None
        while True:
            key = f"sweep|{self._journal.run}|{kind}|{cursor or ''}"
            record = self._journal.find(key)
            if record is None:
                variables = {
                    "owner": self._owner,
                    "name": self._name,
                    "first": size.current,
                    "after": cursor,
                    "field": order[0],
                    "direction": order[1],
                }
                reply = await self._page(document, variables, field, size)
                page = _connection(reply, field, f"{self._owner}/{self._name}")
                record = self._journal.keep(
                    "sweep",
                    [key],
                    self._request(document, variables),
                    reply,
                    kind=kind,
                    items=[_fingerprint(node) for node in page["nodes"]],
                    announced=page["totalCount"],
                    next=page["pageInfo"]["endCursor"] if page["pageInfo"]["hasNextPage"] else None,
                    full=self._since is None,
                )
            if cursor is None:
                task.extend(record.meta["announced"])
            task.advance(len(record.meta["items"]))
            late = False
            for node, number, fingerprint in record.meta["items"]:
                if self._since and _moment(fingerprint.split("|")[0]) < self._since:
                    late = True
                    continue
                found[node] = Target(kind, node, number, f"{node}|{fingerprint}")
            cursor = record.meta["next"]
            if cursor is None or late:
                return sorted(found.values(), key=lambda target: target.number)

    async def _page(
        self, document: str, variables: dict[str, Any], field: str, size: BatchSize
    ) -> Reply:
        """Ask for one page of a sweep, smaller and smaller; flawed pages are asked for again."""
        failures = 0
        while True:
            problem = ""
            try:
                reply = await self._github.graphql(document, variables)
                if not graphql_errors(reply):
                    size.worked(variables["first"])
                    problem = list_flaw(_connection(reply, field, f"{self._owner}/{self._name}"))
                    if not problem:
                        return reply
                elif _not_found(reply):
                    raise RepositoryError(
                        f"{self._owner}/{self._name} is not there, or the token may not see it",
                        "Check the spelling, and that the token has access to the repository",
                    )
                else:
                    problem = reply.problem
            except OverloadError as error:
                problem = error.problem
            failures += 1
            if failures >= self._github.retries:
                raise OverloadError(
                    f"The list of {self._owner}/{self._name} cannot be read ({problem})",
                    "Run the same command again later: it goes on where it was",
                )
            size.choked(variables["first"])
            variables["first"] = size.current
            await asyncio.sleep(min(self._pace.backoff * 2 ** (failures - 1), self._pace.longest))

    async def _entries(self, kind: Kind, targets: list[Target], task: Task) -> None:
        document = queries.entries_document(kind)
        size = BatchSize(queries.entries_batch(kind), self._remembered("entries", kind))

        async def fetch(batch: list[Target]) -> list[Target]:
            variables = {"ids": [target.node for target in batch]}
            reply = await self._github.graphql(document, variables)
            nodes = reply.data["data"]["nodes"] or [None] * len(batch)
            problems = problems_by_node(
                reply, lambda path: path[1] if path[0] == "nodes" and len(path) > 1 else None
            )
            good: list[tuple[int, Target]] = []
            again: list[Target] = []
            flaws: list[list[Any]] = []
            for index, (target, node) in enumerate(zip(batch, nodes, strict=True)):
                found = list(entry_flaws(target.number, node, problems.get(index)))
                if found and self._try_again(target, found[0][2], alone=len(batch) == 1):
                    again.append(target)
                elif not node and found[0][2].startswith("NOT_FOUND"):
                    self._journal.mark("gone", [], number=target.number, kind=kind)
                elif not node:
                    self._journal.fail(target.number, "entry", found[0][2])
                else:
                    good.append((index, target))
                    flaws += found
            if good:
                flawed = {flaw[0] for flaw in flaws}  # left without a key: a later run asks again
                fetch_id = len(self._journal.archive.records)
                owners = {target: f"{target.version}@{fetch_id}" for _, target in good}
                self._journal.keep(
                    "entries",
                    [_key(target) for _, target in good if target.number not in flawed],
                    self._request(document, variables),
                    reply,
                    kind=kind,
                    batch=size.current,
                    nodes=[[index, target.number, owners[target]] for index, target in good],
                    more=[
                        more.row
                        for index, target in good
                        for more in open_lists(target.number, owners[target], nodes[index])
                    ],
                )
                for number, part, reason in flaws:
                    self._journal.fail(number, part, reason)
            task.advance(len(batch) - len(again))
            return again

        def give_up(target: Target, reason: str) -> None:
            self._journal.fail(target.number, "entry", reason)
            task.advance()

        await Drain(targets, size, fetch, give_up, tries=self._github.retries, pace=self._pace).run(
            self._workers
        )

    async def _complete(self, wanted: set[int]) -> None:
        """Fetch the pages that first pages did not hold, of the newest fetch of each entry."""
        owners = self._owners()
        todo = [
            more
            for record in self._journal.archive.records
            if record.meta["part"] in ("entries", "more")
            for more in (More(*row) for row in record.meta["more"])
            if more.number in wanted
            and owners.get(more.number) == more.owner
            and not self._journal.find(more.key)
        ]
        size = BatchSize(_CONTINUATIONS, self._remembered("more", None))

        async def fetch(batch: list[More]) -> list[More]:
            document = queries.continuations_document(
                [CONNECTIONS[more.parent, more.connection] for more in batch]
            )
            variables: dict[str, object] = {}
            for index, more in enumerate(batch):
                variables |= {f"i{index}": more.node, f"a{index}": more.cursor}
            reply = await self._github.graphql(document, variables)
            problems = problems_by_node(reply, lambda path: int(str(path[0])[1:]))
            good: list[tuple[int, More]] = []
            again: list[More] = []
            following: list[More] = []
            flaws: list[tuple[More, str]] = []
            for index, more in enumerate(batch):
                node = reply.data["data"][f"n{index}"]
                page = node.get(more.connection) if node else None
                reason = problems.get(index) or list_flaw(page, more.cursor)
                if reason and self._try_again(more, reason, alone=len(batch) == 1):
                    again.append(more)
                    continue
                if reason:
                    flaws.append((more, reason))
                if page:
                    good.append((index, more))
                    following += open_lists(more.number, more.owner, node, after=more)
            flawed = {more for more, _ in flaws}
            if good:
                self._journal.keep(
                    "more",
                    [more.key for _, more in good if more not in flawed],
                    self._request(document, variables),
                    reply,
                    batch=size.current,
                    nodes=[
                        [index, more.number, more.owner, more.parent, more.connection]
                        for index, more in good
                    ],
                    more=[more.row for more in following],
                )
            for more, reason in flaws:
                give_up(more, reason)
            drain.add(following)
            task.extend(len(following))
            task.advance(len(batch) - len(again) - len(flaws))
            return again

        def give_up(more: More, reason: str) -> None:
            self._journal.fail(more.number, PART_OF[more.parent, more.connection], reason)
            task.advance()

        with self._reporter.task("Further pages", len(todo)) as task:
            drain = Drain(todo, size, fetch, give_up, tries=self._github.retries, pace=self._pace)
            while drain.items:
                await drain.run(self._workers)

    def _owners(self) -> dict[int, str]:
        """Return the newest fetch of each entry: its version and, after ``@``, which fetch."""
        return {
            number: owner
            for record in self._journal.archive.records
            if record.meta["part"] == "entries"
            for _, number, owner in record.meta["nodes"]
        }

    def _is_known(self, target: Target, owners: Mapping[int, str]) -> bool:
        """Whether the newest fetch of an entry is of this version and left no flaw.

        A version can come back: a cross reference that was taken back leaves the old one.
        """
        newest = owners.get(target.number, "").rpartition("@")[0]
        return newest == target.version and self._journal.find(_key(target)) is not None

    def _try_again(self, item: object, reason: str, *, alone: bool) -> bool:
        """Whether asking for a flawed item alone may help: not for one that is gone."""
        if reason.startswith("NOT_FOUND"):
            return False
        self._flawed[item] = self._flawed.get(item, 0) + alone
        return self._flawed[item] < _FLAWED_TRIES

    def _remembered(self, part: str, kind: Kind | None) -> int | None:
        """Return the batch size that worked last."""
        sizes = [
            record.meta["batch"]
            for record in self._journal.archive.records
            if record.meta["part"] == part and record.meta.get("kind") == kind
        ]
        return sizes[-1] if sizes else None

    def _request(self, document: str, variables: Mapping[str, object]) -> dict[str, object]:
        return {"document": self._journal.document(document), "variables": dict(variables)}


def _key(target: Target) -> str:
    return f"entry|{target.version}"


def _moment(text: str) -> datetime:
    return datetime.fromisoformat(text).astimezone(UTC)


def _connection(reply: Reply, field: str, repo: str) -> dict[str, Any]:
    repository = reply.data["data"]["repository"]
    if repository is None:
        raise RepositoryError(
            f"{repo} is not there, or the token may not see it",
            "Check the spelling, and that the token has access to the repository",
        )
    connection: dict[str, Any] = repository[field]
    return connection


def _not_found(reply: Reply) -> bool:
    return any(
        error.get("type") == "NOT_FOUND" and error.get("path") == ["repository"]
        for error in graphql_errors(reply)
    )


def _fingerprint(node: dict[str, Any]) -> list[Any]:
    timeline = node["timelineItems"]
    newest = next((item.get("createdAt", "") for item in timeline["nodes"] or () if item), "")
    mark = f"{node['updatedAt']}|{timeline['filteredCount']}|{newest}"
    return [node["id"], node["number"], mark]
