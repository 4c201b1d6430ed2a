"""Lists all entries of a repository with a light fingerprint each, over GraphQL.

The fingerprint is an entry's `updatedAt` with the count and newest time of its cross references
and links, which do not bump `updatedAt`. Entries that the archive read at the same fingerprint are
not read again; entries that no complete sweep lists are gone. With a token, both GraphQL and REST
runs learn from it which entries changed.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Any

from goldpan.core.errors import QueryError, RepositoryError
from goldpan.core.storage.run_file import Record
from goldpan.core.terminal import ProgressTask
from goldpan.miners.github.batches import BatchSize
from goldpan.miners.github.client import GitHub
from goldpan.miners.github.dialect import Dialect
from goldpan.miners.github.graphql_lists import list_flaw
from goldpan.miners.github.queries import Kind, list_field, sweep_document, sweep_page
from goldpan.miners.journal import Journal
from goldpan.miners.replies import HttpReply, NoAnswerError, StaleCursorError, errors_of

_RESTARTS = 3


@dataclass(frozen=True, slots=True)
class Target:
    """An entry to fetch; `version` is its fingerprint in the sweep."""

    kind: Kind
    node: str
    number: int
    version: str

    @property
    def updated(self) -> str:
        """When GitHub says that the entry was updated last."""
        return self.version.partition("|")[2].partition("|")[0]

    @property
    def length(self) -> int:
        """How many comments a discussion had when it was listed."""
        count = self.version.split("|")[2]
        return int(count) if count.isdecimal() else 0


@dataclass(frozen=True, slots=True)
class Sweep:
    """Reads a repository's lists of issues, pull requests and discussions into the journal."""

    github: GitHub
    journal: Journal
    repo: str
    since: datetime | None
    dialect: Dialect

    async def run(self, kind: Kind, task: ProgressTask) -> list[Target]:
        """Return all entries of a kind (those updated since the limit, if there is one).

        A cursor that GitHub no longer takes starts the list again. A page that fails for good is
        recorded as failed, and the entries listed before it are returned.
        """
        targets: dict[str, Target] = {}
        for attempt in range(_RESTARTS):
            try:
                async for record in self._pages(kind, attempt):
                    self._take(record, kind, targets, task)
                break
            except StaleCursorError as error:
                reason = str(error)
            except NoAnswerError as error:
                self.journal.fail(None, f"{kind}s", error.reason, error.status)
                break
        else:
            self.journal.fail(None, f"{kind}s", f"its cursors stopped working ({reason})")
        return sorted(targets.values(), key=lambda target: target.number)

    async def lists(self, target: Target) -> bool:
        """Ask the page that listed an entry again, and tell whether it still lists it."""
        for record in self.journal.of_run("sweep"):
            if record.meta["kind"] == target.kind and any(
                item[0] == target.node for item in record.meta["items"]
            ):
                variables = dict(record.meta["request"]["variables"])
                reply = await self._page(target.kind, variables, BatchSize(variables["first"]))
                nodes = self._connection(reply, target.kind)["nodes"]
                return any(node and node["id"] == target.node for node in nodes)
        return False

    async def _pages(self, kind: Kind, attempt: int) -> AsyncIterator[Record]:
        """Yield the pages of a list in order; those that this run has are not asked for."""
        size, cursor = BatchSize(sweep_page(kind)), ""
        while True:
            key = f"sweep|{self.journal.run}|{kind}|{attempt}|{cursor}"
            record = self.journal.find(key) or await self._read(kind, key, cursor, size)
            yield record
            if record.meta["next"] is None or self._is_late(record):
                return
            cursor = record.meta["next"]

    async def _read(self, kind: Kind, key: str, cursor: str, size: BatchSize) -> Record:
        owner, name = self.repo.split("/")
        field, direction = ("UPDATED_AT", "DESC") if self.since else ("CREATED_AT", "ASC")
        bounds = {"first": size.current, "after": cursor or None}
        order = {"field": field, "direction": direction}
        variables = {"owner": owner, "name": name, **bounds, **order}
        reply = await self._page(kind, variables, size)
        page = self._connection(reply, kind)
        info = page["pageInfo"]
        off: dict[str, Any] = {"off": True} if _is_off(reply) else {}
        return self.journal.keep(
            "sweep",
            [key],
            {"query": "Sweep", "variables": variables},
            reply,
            kind=kind,
            items=[_fingerprint(node) for node in page["nodes"]],
            announced=page["totalCount"],
            next=info["endCursor"] if info["hasNextPage"] else None,
            full=self.since is None,
            **off,
        )

    def _take(
        self, record: Record, kind: Kind, targets: dict[str, Target], task: ProgressTask
    ) -> None:
        if record.meta["request"]["variables"]["after"] is None:
            task.extend(max(0, record.meta["announced"] - len(targets)))
        for node, number, fingerprint in record.meta["items"]:
            if not self.since or moment(fingerprint.split("|")[0]) >= self.since:
                task.advance(node not in targets)
                targets[node] = Target(kind, node, number, f"{node}|{fingerprint}")

    def _is_late(self, record: Record) -> bool:
        """Tell whether a page, newest first, reached the entries that are not wanted."""
        return self.since is not None and any(
            moment(fingerprint.split("|")[0]) < self.since
            for _, _, fingerprint in record.meta["items"]
        )

    async def _page(self, kind: Kind, variables: dict[str, Any], size: BatchSize) -> HttpReply:
        """Ask for one page, smaller and smaller, at last without the timelines."""
        failures, light = 0, False
        while True:
            try:
                reply = await self._ask(kind, variables, light=light)
                size.worked(variables["first"])
                return reply
            except NoAnswerError as error:
                failures += 1
                if variables["first"] == 1 and failures >= self.github.retries:
                    if light and "NOT_FOUND" in error.reason:
                        raise self._absent(error.reason) from None
                    if light:
                        raise
                    light, failures = True, 0
            size.choked(variables["first"])
            variables["first"] = size.current
            await asyncio.sleep(self.github.pace.pause(failures + 1))

    async def _ask(self, kind: Kind, variables: dict[str, Any], *, light: bool) -> HttpReply:
        """Ask once; raises `NoAnswerError` for a page that lacks anything."""
        document = sweep_document(kind, self.dialect, light=light)
        self.journal.document(document)
        try:
            reply = await self.github.graphql(document, variables)
        except (QueryError, NoAnswerError) as error:
            if "cursor" in error.problem.lower():
                raise StaleCursorError(error.problem) from None
            raise
        if _is_stale(reply):
            raise StaleCursorError(reply.problem)
        if _is_off(reply):
            return reply
        problem = reply.problem or list_flaw(self._connection(reply, kind))
        if problem:
            raise NoAnswerError("The list", replace(reply, problem=problem))
        return reply

    def _connection(self, reply: HttpReply, kind: Kind) -> dict[str, Any]:
        repository = reply.data["data"].get("repository")
        connection: dict[str, Any] = (repository or {}).get(list_field(kind)) or {}
        return _NOTHING if _is_off(reply) else connection

    def _absent(self, reason: str) -> RepositoryError:
        return RepositoryError(
            f"{self.repo} no longer exists, or the token may not see it ({reason})",
            "Check that the token has access to the repository, and run the same command again",
        )


_NOTHING = {"totalCount": 0, "nodes": [], "pageInfo": {"hasNextPage": False, "endCursor": None}}


def moment(text: str) -> datetime:
    """Read a time as GitHub writes it."""
    return datetime.fromisoformat(text).astimezone(UTC)


def _is_stale(reply: HttpReply) -> bool:
    return any(
        error.get("type") == "INVALID_CURSOR_ARGUMENTS"
        or "valid cursor" in str(error.get("message", ""))
        for error in errors_of(reply.data)
    )


def _is_off(reply: HttpReply) -> bool:
    """Tell that a repository has discussions turned off, whatever its list says."""
    repository = reply.data["data"].get("repository") or {}
    return repository.get("hasDiscussionsEnabled") is False


def _fingerprint(node: dict[str, Any]) -> list[Any]:
    if "comments" in node:  # a discussion
        comments = (node["comments"] or {}).get("totalCount", "")
        mark = f"{node['updatedAt']}|{comments}|{node.get('answerChosenAt') or ''}|"
        return [node["id"], node["number"], mark]
    timeline = node.get("timelineItems") or {"filteredCount": "", "nodes": ()}
    last: dict[str, Any] = next((item for item in timeline["nodes"] or () if item), {})
    newest = f"{last.get('__typename', '')} {last.get('createdAt', '')}".strip()
    reviews = (node.get("reviews") or {}).get("totalCount", "")
    mark = f"{node['updatedAt']}|{timeline['filteredCount']}|{newest}|{reviews}"
    return [node["id"], node["number"], mark]
