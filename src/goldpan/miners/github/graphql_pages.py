"""Fetches the pages of entries' lists that did not fit into the reply with the entry."""

from __future__ import annotations

from collections.abc import Container
from dataclasses import dataclass, field
from typing import Any

from goldpan.core.progress import Task
from goldpan.miners.github import queries
from goldpan.miners.github.batches import BatchSize, Drain
from goldpan.miners.github.connections import CONNECTIONS
from goldpan.miners.github.graphql_lists import PART_OF, More, list_flaw, open_lists, read_problems
from goldpan.miners.github.graphql_run import GraphQLRun
from goldpan.miners.github.request import NoAnswerError
from goldpan.miners.replies import Reply

_CONTINUATIONS = 100
_LONGEST_PAGE = 100


@dataclass(slots=True)
class _Sorted:
    """The pages of a batch, by what their reply is good for."""

    good: list[tuple[int, More]] = field(default_factory=list)
    """With their index in the reply."""
    retries: list[More] = field(default_factory=list)
    following: list[More] = field(default_factory=list)
    """The pages that come after the good ones."""
    unseen: list[tuple[More, str]] = field(default_factory=list)
    """Pages with parts that the token may not see, and why."""
    flawed: dict[More, str] = field(default_factory=dict)
    """What is wrong with pages that are not asked for again."""


class PageFetcher:
    """Fetches further pages into the journal."""

    def __init__(self, run: GraphQLRun) -> None:
        self._run = run

    async def fetch(self, listed: Container[int]) -> None:
        """Fetch what lacks of the newest fetch of each listed entry, to the end of its lists."""
        run = self._run
        owners = run.owners()
        missing = [
            more
            for record in run.journal.archive.records
            if record.meta["part"] in ("entries", "more")
            for more in (More(*row) for row in record.meta["more"])
            if more.number in listed
            and owners.get(more.number) == more.owner
            and not run.journal.find(more.key)
        ]
        if not missing:
            return
        size = BatchSize(_CONTINUATIONS, run.last_batch_size("more", None))
        lengths: dict[More, int] = {}

        async def fetch(batch: list[More]) -> list[More]:
            first = lengths.get(batch[0], _LONGEST_PAGE) if len(batch) == 1 else _LONGEST_PAGE
            document, variables = self._query(batch, first)
            try:
                reply = await run.github.graphql(document, variables)
            except NoAnswerError:
                if len(batch) == 1:
                    lengths[batch[0]] = max(1, first // 8)
                raise
            pages = self._sort(batch, reply)
            if pages.good:
                self._archive(document, variables, reply, pages, size)
            for more, reason in pages.flawed.items():
                self._fail(more, reason, None, task)
            for more, reason in pages.unseen:
                run.record_hidden(more.number, PART_OF[more.parent, more.connection], reason, reply)
            drain.add(pages.following)
            task.extend(len(pages.following))
            task.advance(len(batch) - len(pages.retries) - len(pages.flawed))
            return pages.retries

        with run.reporter.task("Further pages", len(missing)) as task:
            drain = Drain(
                missing,
                size,
                fetch,
                lambda more, error: self._fail(more, error.reason, error.status, task),
                tries=run.github.retries,
                pace=run.pace,
            )
            await drain.run(run.workers)

    def _query(self, batch: list[More], first: int) -> tuple[str, dict[str, object]]:
        document = queries.continuations_document(
            [CONNECTIONS[more.parent, more.connection] for more in batch],
            self._run.dialect,
            first=first,
        )
        variables: dict[str, object] = {}
        for index, more in enumerate(batch):
            variables |= {f"i{index}": more.node, f"a{index}": more.cursor}
        return document, variables

    def _sort(self, batch: list[More], reply: Reply) -> _Sorted:
        pages = _Sorted()
        problems = read_problems(
            reply,
            len(batch),
            lambda path: int(str(path[0])[1:]) if str(path[0])[1:].isdecimal() else None,
        )
        for index, more in enumerate(batch):
            node: dict[str, Any] | None = reply.data["data"].get(f"n{index}")
            page = node.get(more.connection) if node else None
            hidden = problems.hidden.get(index, ())
            reason = (
                problems.nodes.get(index)
                or (problems.loose if not hidden else "")
                or list_flaw(page, more.cursor, len(hidden))
            )
            if reason and self._run.may_retry(more, alone=len(batch) == 1):
                pages.retries.append(more)
                continue
            if reason:
                pages.flawed[more] = reason
            pages.unseen += [(more, text) for _, text in hidden]
            if page or hidden:
                pages.good.append((index, more))
            if node:
                pages.following += open_lists(more.number, more.owner, node, after=more)
        return pages

    def _archive(
        self,
        document: str,
        variables: dict[str, object],
        reply: Reply,
        pages: _Sorted,
        size: BatchSize,
    ) -> None:
        journal = self._run.journal
        journal.keep(
            "more",
            [more.key for _, more in pages.good if more not in pages.flawed],
            {"document": journal.document(document), "variables": variables},
            reply,
            batch=size.current,
            nodes=[
                [index, more.number, more.owner, more.parent, more.connection]
                for index, more in pages.good
            ],
            more=[more.row for more in pages.following],
        )

    def _fail(self, more: More, reason: str, status: int | None, task: Task) -> None:
        task.advance()
        if self._run.is_last:
            part = PART_OF[more.parent, more.connection]
            self._run.journal.fail(more.number, part, reason, status)
        else:
            self._run.forget_tries(more)
