"""Mines a repository over GraphQL: sweep, fetch what is new or changed, complete the lists.

An entry whose fingerprint the journal knows is not fetched again, so a first run, a resumed run
and an update are one and the same algorithm. Entries that fail in a batch are asked for in smaller
ones, down to one entry, then to one of its lists; those that still fail are asked for once more
when all else is done, and then recorded as failed: no entry ends a run.
"""

from __future__ import annotations

from collections.abc import Container, Mapping, Sequence
from typing import Any

from goldpan.core.result import count
from goldpan.miners.connections import CONNECTIONS, PART_OF, More
from goldpan.miners.github import queries
from goldpan.miners.github.batches import BatchSize, Drain, together
from goldpan.miners.github.cost import LengthSample, discussion_requests, graphql_requests
from goldpan.miners.github.graphql_entries import EntryFetcher, GraphQLRun, by_kind, entry_key
from goldpan.miners.github.graphql_lists import list_flaw, open_lists, read_problems
from goldpan.miners.github.queries import Kind
from goldpan.miners.github.sweep import Sweep, Target
from goldpan.miners.replies import NoAnswerError

_CONTINUATIONS: Mapping[Kind | None, int] = {None: queries.FURTHER, "discussion": 1}
"""How many pages a request asks for: those of a discussion cost a point each."""
_LONGEST_PAGE = 100


def _page_kind(more: More) -> Kind | None:
    return "discussion" if CONNECTIONS[more.parent, more.connection].per_item else None


def _node_index(path: list[Any]) -> int | None:
    index = str(path[0])[1:]
    return int(index) if index.isdecimal() else None


async def _fetch_pages(run: GraphQLRun, listed: Container[int]) -> None:
    """Fetch the missing pages of the newest fetch of each listed entry into the journal."""
    state = run.journal.state
    missing = [
        more
        for key, more in ((key, More(*row)) for key, row in state.open_pages.items())
        if more.number in listed
        and state.fetched.get(more.number) == more.owner
        and key not in state.keys
    ]
    for kind, largest in _CONTINUATIONS.items():
        pages = [more for more in missing if _page_kind(more) == kind]
        if pages:
            await _fetch_pages_of(run, kind, pages, largest)


async def _fetch_pages_of(
    run: GraphQLRun, kind: Kind | None, missing: list[More], largest: int
) -> None:
    size = BatchSize(largest, run.journal.state.batches.get(("more", kind)))
    lengths: dict[More, int] = {}
    of_kind: dict[str, Any] = {} if kind is None else {"kind": kind}

    def fail(more: More, reason: str, status: int | None = None) -> None:
        task.advance()
        if run.is_last:
            part = PART_OF[more.parent, more.connection]
            run.journal.fail(more.number, part, reason, status)
        else:
            run.forget_tries(more)

    async def fetch(batch: list[More]) -> list[More]:
        first = lengths.get(batch[0], _LONGEST_PAGE) if len(batch) == 1 else _LONGEST_PAGE
        document = queries.continuations_document(
            [CONNECTIONS[more.parent, more.connection] for more in batch], run.dialect, first=first
        )
        variables: dict[str, object] = {}
        for index, more in enumerate(batch):
            variables |= {f"i{index}": more.node, f"a{index}": more.cursor}
        try:
            reply = await run.github.graphql(document, variables)
        except NoAnswerError:
            if len(batch) == 1:
                lengths[batch[0]] = max(1, first // 8)
            raise
        problems = read_problems(reply, len(batch), _node_index)
        good: list[tuple[int, More]] = []
        retries: list[More] = []
        following: list[More] = []
        flawed: dict[More, str] = {}
        for index, more in enumerate(batch):
            node: dict[str, Any] | None = reply.data["data"].get(f"n{index}")
            page = node.get(more.connection) if node else None
            hidden = problems.hidden.get(index, ())
            reason = (
                problems.nodes.get(index)
                or (problems.loose if not hidden else "")
                or list_flaw(page, more.cursor, len(hidden))
            )
            if reason and run.may_retry(more, alone=len(batch) == 1):
                retries.append(more)
                continue
            if reason:
                flawed[more] = reason
            if page or hidden:
                good.append((index, more))
            if node:
                following += open_lists(more.number, more.owner, node, after=more)
        if good:
            run.journal.keep(
                "more",
                [more.key for _, more in good if more not in flawed],
                {"document": run.journal.document(document), "variables": variables},
                reply,
                batch=size.current,
                nodes=[
                    [index, more.number, more.owner, more.parent, more.connection]
                    for index, more in good
                ],
                more=list(map(list, following)),
                **of_kind,
            )
        for more, reason in flawed.items():
            fail(more, reason)
        for index, more in good:
            for _, reason in problems.hidden.get(index, ()):
                part = PART_OF[more.parent, more.connection]
                run.record_hidden(more.number, part, reason, reply)
        drain.add(following)
        task.extend(len(following))
        task.advance(len(batch) - len(retries) - len(flawed))
        return retries

    with run.reporter.task("Further pages", len(missing)) as task:
        drain = Drain(
            missing,
            size,
            fetch,
            lambda more, error: fail(more, error.reason, error.status),
            tries=run.github.retries,
            pace=run.github.pace,
        )
        await drain.run(run.github.flow.most)


class GraphQLMiner:
    """Fetches one repository's new and changed entries into its journal."""

    def __init__(self, run: GraphQLRun, sweep: Sweep, kinds: Sequence[Kind]) -> None:
        self._kinds = kinds
        self._run = run
        self._sweep = sweep
        self._entries = EntryFetcher(run, sweep)
        self._listed: frozenset[int] = frozenset()
        self._targets: Mapping[Kind, tuple[Target, ...]] = by_kind(())

    @property
    def fresh(self) -> list[int]:
        """The issues and pull requests that are to be fetched, known after the survey."""
        targets = (*self._targets["issue"], *self._targets["pull"])
        return sorted(target.number for target in targets)

    def remaining(self, sampled: LengthSample) -> int:
        """Return how many requests the run will still take after the survey."""
        lengths = [target.length for target in self._targets["discussion"]]
        return graphql_requests(
            len(self._targets["issue"]), len(self._targets["pull"]), sampled
        ) + discussion_requests(lengths)

    async def survey(self) -> None:
        """Sweep the repository and find the entries that the journal lacks."""
        run = self._run
        with run.reporter.task("Sweep", 0) as task:
            swept = await together(*(self._sweep.run(kind, task) for kind in self._kinds))
        if any(record.meta.get("off") for record in run.journal.of_run("sweep")):
            run.reporter.note("The repository has discussions turned off: it has none to mine")
        targets = {target.number: target for listed in swept for target in listed}
        hidden = run.journal.state.hidden
        self._listed = frozenset(targets)
        self._targets = by_kind(
            target
            for number, target in targets.items()
            # A token may have been given access, which only asking again can tell.
            if not self._is_known(target)
            or (number in hidden and hidden[number].run != run.journal.run)
        )

    async def run(self) -> None:
        """Fetch the entries that the survey found, and those that failed once more at the end."""
        number = sum(map(len, self._targets.values()))
        skipped = len(self._listed) - number
        self._run.reporter.note(
            f"{count(len(self._listed), 'entry')}; {number:,} to fetch"
            + (f", {skipped:,} known" if skipped else "")
        )
        await self._entries.fetch(self._targets)
        await _fetch_pages(self._run, self._listed)
        self._run.is_last = True
        postponed = self._entries.take_postponed()
        if postponed:
            self._run.reporter.note(f"{count(len(postponed), 'entry')} failed: trying again")
            await self._entries.fetch(by_kind(postponed))
        await _fetch_pages(self._run, self._listed)

    def _is_known(self, target: Target) -> bool:
        """Tell whether the newest fetch of an entry is of this version and has no flaw.

        A version can come back: a cross reference that was taken back leaves the old one.
        """
        newest = self._run.journal.state.fetched.get(target.number, "").rpartition("@")[0]
        return newest == target.version and self._run.journal.find(entry_key(newest)) is not None
