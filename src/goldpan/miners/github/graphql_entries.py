"""Fetches entries with the first pages of their lists, in batches, in a run over GraphQL.

Entries that fail in a batch are asked for in smaller ones, down to one entry, then without its
long lists; those that still fail wait until all else is done.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from goldpan.core.terminal import ProgressTask, Reporter
from goldpan.miners.connections import LIGHT
from goldpan.miners.github import queries
from goldpan.miners.github.batches import BatchSize, Drain, together
from goldpan.miners.github.client import GitHub
from goldpan.miners.github.dialect import Dialect
from goldpan.miners.github.graphql_lists import entry_flaws, hidden_parts, open_lists, read_problems
from goldpan.miners.github.queries import KINDS, Kind
from goldpan.miners.github.sweep import Sweep, Target
from goldpan.miners.journal import Journal
from goldpan.miners.replies import HttpReply, NoAnswerError

_FLAWED_TRIES = 2


@dataclass(slots=True)
class GraphQLRun:
    """A run over GraphQL that is under way."""

    github: GitHub
    journal: Journal
    reporter: Reporter
    dialect: Dialect
    is_last: bool = False
    """True once all else is done: failures from then on are recorded."""
    _flawed_tries: dict[object, int] = field(default_factory=dict)

    def may_retry(self, item: object, *, alone: bool) -> bool:
        """Count a try of a flawed item; tell whether asking for it alone may help."""
        self._flawed_tries[item] = self._flawed_tries.get(item, 0) + alone
        return self._flawed_tries[item] < (1 if self.is_last else _FLAWED_TRIES)

    def forget_tries(self, item: object) -> None:
        """Begin to count anew, for an item that is asked for again when all else is done."""
        self._flawed_tries.pop(item, None)

    def record_hidden(self, number: int, part: str, reason: str, reply: HttpReply) -> None:
        """Record a part that the token may not see; in this run asking again cannot help."""
        if not any(self.journal.of_run("forbidden")):
            remedy = "Authorize the token for the organization (SAML), or give it more access"
            self.reporter.note(f"Parts cannot be seen with this token ({reason}). {remedy}")
            self.journal.mark("forbidden", what=part, reason=reason, remedy=remedy)
        self.journal.fail(number, part, reason, withheld=True, token=reply.token)


_GONE = "NOT_FOUND"


@dataclass(frozen=True, slots=True)
class _Fetched:
    """A reply with entries, and its request."""

    reply: HttpReply
    document: str
    variables: Mapping[str, object]
    lists: tuple[str, ...] | None = None
    """The lists whose first pages were asked for; null for all."""
    lacks: str = ""
    """Why the lists from which the entry's own columns come were not asked for."""


class EntryFetcher:
    """Fetches entries into the journal; `postponed` are those to ask for when all else is done."""

    def __init__(self, run: GraphQLRun, sweep: Sweep) -> None:
        self._run = run
        self._sweep = sweep
        self._failed: list[Target] = []
        self._missing: list[Target] = []

    async def fetch(self, targets: Mapping[Kind, tuple[Target, ...]]) -> None:
        """Fetch entries, all kinds at the same time."""
        with self._run.reporter.task("Entries", sum(map(len, targets.values()))) as task:
            await together(*(self._fetch_kind(kind, targets[kind], task) for kind in KINDS))

    def take_postponed(self) -> list[Target]:
        """Return the entries that failed or were missing, and forget them."""
        postponed = [*self._failed, *self._missing]
        self._failed, self._missing = [], []
        return postponed

    async def _fetch_kind(
        self, kind: Kind, targets: tuple[Target, ...], task: ProgressTask
    ) -> None:
        run = self._run
        size = BatchSize(
            queries.entries_batch(kind), run.journal.state.batches.get(("entries", kind))
        )

        async def fetch(batch: list[Target]) -> list[Target]:
            try:
                document = queries.entries_document(kind, run.dialect)
                variables = {"ids": [target.node for target in batch]}
                reply = await run.github.graphql(document, variables)
                fetched = _Fetched(reply, document, variables)
            except NoAnswerError:
                if len(batch) > 1:
                    raise
                fetched = await self._fetch_less(batch[0])
            retries = await self._keep(batch, fetched, size)
            task.advance(len(batch) - len(retries))
            return retries

        def set_aside(target: Target, error: NoAnswerError) -> None:
            task.advance()
            self._postpone(target, error.reason, error.status)

        drain = Drain(targets, size, fetch, set_aside, tries=1, pace=run.github.pace)
        await drain.run(run.github.flow.most)

    async def _fetch_less(self, target: Target) -> _Fetched:
        """Ask for an entry with its short lists, at the end of the run even without those.

        The other lists then come by themselves.
        """
        run = self._run
        variables = {"ids": [target.node]}
        tries = run.github.retries
        try:
            document = queries.entries_document(target.kind, run.dialect, LIGHT)
            reply = await run.github.graphql(document, variables, tries=tries)
            return _Fetched(reply, document, variables, tuple(LIGHT))
        except NoAnswerError as error:
            if not run.is_last:
                raise
            document = queries.entries_document(target.kind, run.dialect, ())
            reply = await run.github.graphql(document, variables, tries=tries)
            return _Fetched(reply, document, variables, (), error.reason)

    async def _keep(self, batch: list[Target], fetched: _Fetched, size: BatchSize) -> list[Target]:
        """Archive the good entries of a batch; return those to be asked for alone."""
        run, reply = self._run, fetched.reply
        nodes = reply.data["data"].get("nodes") or [None] * len(batch)
        good: list[tuple[int, Target]] = []
        retries: list[Target] = []
        flawed: list[list[Any]] = []
        unseen: list[tuple[int, str, str]] = []
        problems = read_problems(
            reply,
            len(batch),
            lambda path: path[1] if path[0] == "nodes" and len(path) > 1 else None,
        )
        for index, (target, node) in enumerate(zip(batch, nodes, strict=True)):
            hidden = problems.hidden.get(index, ())
            problem = problems.nodes.get(index) or (problems.loose if not hidden else "")
            if not node and hidden:
                run.record_hidden(target.number, "entry", hidden[0][1], reply)
                continue
            flaws = list(entry_flaws(target.number, node, problem, len(hidden)))
            if not node and flaws[0][2].startswith(_GONE):
                await self._record_missing(target, flaws[0][2])
            elif flaws and run.may_retry(target, alone=len(batch) == 1):
                retries.append(target)
            elif not node:
                run.forget_tries(target)
                self._postpone(target, flaws[0][2])
            else:
                good.append((index, target))
                flawed += flaws
                if fetched.lacks:
                    flawed.append([target.number, "entry", fetched.lacks])
                for part, reason in hidden_parts(node["__typename"], hidden):
                    unseen.append((target.number, part, reason))
        if good:
            self._archive(good, nodes, fetched, {flaw[0] for flaw in flawed}, size)
        for flaw in flawed:
            run.journal.fail(*flaw)
        for number, part, reason in unseen:  # after the reply, which settles older ones
            run.record_hidden(number, part, reason, reply)
        return retries

    def _archive(
        self,
        good: list[tuple[int, Target]],
        nodes: list[Any],
        fetched: _Fetched,
        flawed: set[int],
        size: BatchSize,
    ) -> None:
        """Archive entries of a reply; `flawed` ones without a key: a later run asks again."""
        journal, lists, kind = self._run.journal, fetched.lists, good[0][1].kind
        fetch_id = len(journal.archive.records)
        owners = {target: f"{target.version}@{fetch_id}" for _, target in good}
        first = () if lists is None else queries.first_lists(kind, self._run.dialect)
        unread = [list_.name for list_ in first]
        journal.keep(
            "entries",
            [entry_key(target.version) for _, target in good if target.number not in flawed],
            {"document": journal.document(fetched.document), "variables": dict(fetched.variables)},
            fetched.reply,
            kind=kind,
            batch=size.current,
            nodes=[[index, target.number, owners[target]] for index, target in good],
            more=[
                list(more)
                for index, target in good
                for more in open_lists(target.number, owners[target], nodes[index], unread=unread)
            ],
            lists=None if lists is None else list(lists),
        )

    async def _record_missing(self, target: Target, reason: str) -> None:
        """Keep an entry that the sweep listed until the listing lacks it, too."""
        run = self._run
        if not run.is_last:
            self._missing.append(target)
            return
        try:
            listed = await self._sweep.lists(target)
        except NoAnswerError as error:
            listed, reason = True, error.reason
        if listed:
            run.journal.fail(target.number, "entry", f"{reason} (and GitHub lists it)")
        else:
            run.journal.mark("gone", number=target.number, kind=target.kind)

    def _postpone(self, target: Target, reason: str, status: int | None = None) -> None:
        if self._run.is_last:
            self._run.journal.fail(target.number, "entry", reason, status)
        else:
            self._failed.append(target)


def by_kind(targets: Iterable[Target]) -> dict[Kind, tuple[Target, ...]]:
    """Sort entries by kind."""
    entries = list(targets)
    return {kind: tuple(target for target in entries if target.kind == kind) for kind in KINDS}


def entry_key(version: str) -> str:
    """Return the key under which the journal knows a version of an entry and of its edits."""
    return f"edited-entry|{version}"
