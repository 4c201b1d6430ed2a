"""Mines a repository over GraphQL: sweep, fetch what is new or changed, complete the lists.

An entry whose fingerprint the journal knows is not fetched again, so a first run, a resumed run
and an update are one and the same algorithm. What fails in a batch is asked for in smaller ones,
down to one entry, then to one of its lists; what still fails is asked for once more when all
else is done, and then recorded as failed: no entry ends a run.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from goldpan.core.progress import Reporter, Task
from goldpan.miners.github import queries
from goldpan.miners.github.batches import BatchSize, Drain, together
from goldpan.miners.github.client import GitHub, NoAnswerError
from goldpan.miners.github.connections import CONNECTIONS, LIGHT
from goldpan.miners.github.dialect import Dialect
from goldpan.miners.github.graphql_lists import (
    PART_OF,
    More,
    entry_flaws,
    hidden_parts,
    list_flaw,
    open_lists,
    read_problems,
)
from goldpan.miners.github.hidden import Hidden, choose_hidden
from goldpan.miners.github.limits import Pace
from goldpan.miners.github.queries import Kind
from goldpan.miners.github.sample import Sample, graphql_requests
from goldpan.miners.github.sweep import Sweep, Target
from goldpan.miners.journal import Journal
from goldpan.miners.replies import Reply

_CONTINUATIONS = 100
_FLAWED_TRIES = 2
_KINDS: tuple[Kind, ...] = ("issue", "pull")
_GONE = "NOT_FOUND"


@dataclass(frozen=True, slots=True)
class _Fetched:
    """A reply with entries, and what was asked for."""

    reply: Reply
    document: str
    variables: Mapping[str, object]
    lists: tuple[str, ...] | None = None
    """The lists whose first pages were asked for; null for all."""
    lacks: str = ""
    """Why what the entry's own columns come from was not asked for."""


class GraphQLMiner:
    """Fetches one repository's new and changed entries into its journal."""

    def __init__(
        self,
        github: GitHub,
        journal: Journal,
        reporter: Reporter,
        sweep: Sweep,
        *,
        dialect: Dialect,
        workers: int,
        pace: Pace,
    ) -> None:
        self._github = github
        self._journal = journal
        self._reporter = reporter
        self._sweep = sweep
        self._dialect = dialect
        self._workers = workers
        self._pace = pace
        self._listed: frozenset[int] = frozenset()
        self._todo: Mapping[Kind, tuple[Target, ...]] = {"issue": (), "pull": ()}
        self._flawed: dict[object, int] = {}
        self._later: list[Target] = []
        self._lost: list[Target] = []
        self._hidden = Hidden()
        self._is_last = False

    @property
    def fresh(self) -> list[int]:
        """The entries that are to be fetched, known after the survey."""
        return sorted(target.number for targets in self._todo.values() for target in targets)

    def remaining(self, sampled: Sample) -> int:
        """Return how many requests the run will still take after the survey."""
        return graphql_requests(len(self._todo["issue"]), len(self._todo["pull"]), sampled)

    async def survey(self) -> None:
        """Sweep the repository and find what the journal lacks."""
        with self._reporter.task("Sweep", 0) as task:
            listed = await together(*(self._sweep.run(kind, task) for kind in _KINDS))
        owners = self._owners()
        self._listed = frozenset(target.number for targets in listed for target in targets)
        self._todo = {
            kind: tuple(target for target in targets if not self._is_known(target, owners))
            for kind, targets in zip(_KINDS, listed, strict=True)
        }
        by_number = {target.number: target for targets in listed for target in targets}
        self._hidden = choose_hidden(self._journal, self._github.pool, by_number, set(self.fresh))
        again = _by_kind(self._hidden.chosen)
        self._todo = {kind: (*targets, *again[kind]) for kind, targets in self._todo.items()}

    async def run(self) -> None:
        """Fetch what the survey found, and what failed once more at the end."""
        count = len(self.fresh)
        skipped = len(self._listed) - count
        self._reporter.note(
            f"{len(self._listed):,} entries; {count:,} to fetch"
            + (f", {skipped:,} known" if skipped else "")
        )
        await self._fetch(self._todo)
        await self._complete()
        if self._hidden.is_seen(self._journal):  # the token was given access
            await self._fetch(_by_kind(self._hidden.rest))
            await self._complete()
        self._is_last = True
        later, self._later = [*self._later, *self._lost], []
        if later:
            self._reporter.note(f"{len(later):,} entries failed: asking for them once more")
            await self._fetch(_by_kind(later))
        await self._complete()

    async def _fetch(self, todo: Mapping[Kind, tuple[Target, ...]]) -> None:
        with self._reporter.task("Entries", sum(map(len, todo.values()))) as task:
            await together(*(self._entries(kind, todo[kind], task) for kind in _KINDS))

    async def _entries(self, kind: Kind, targets: tuple[Target, ...], task: Task) -> None:
        size = BatchSize(queries.entries_batch(kind), self._remembered("entries", kind))

        async def fetch(batch: list[Target]) -> list[Target]:
            try:
                document = queries.entries_document(kind, self._dialect)
                variables = {"ids": [target.node for target in batch]}
                reply = await self._github.graphql(document, variables)
                fetched = _Fetched(reply, document, variables)
            except NoAnswerError:
                if len(batch) > 1:
                    raise
                fetched = await self._with_less(batch[0])
            again = await self._keep(batch, fetched, size)
            task.advance(len(batch) - len(again))
            return again

        def set_aside(target: Target, error: NoAnswerError) -> None:
            task.advance()
            if self._is_last:
                self._journal.fail(target.number, "entry", error.reason, error.status)
            else:
                self._later.append(target)

        await Drain(targets, size, fetch, set_aside, tries=1, pace=self._pace).run(self._workers)

    async def _with_less(self, target: Target) -> _Fetched:
        """Ask for an entry with its short lists, at the end of the run even without those.

        The other lists then come by themselves.
        """
        variables = {"ids": [target.node]}
        tries = self._github.retries
        try:
            document = queries.entries_document(target.kind, self._dialect, LIGHT)
            reply = await self._github.graphql(document, variables, tries=tries)
            return _Fetched(reply, document, variables, tuple(LIGHT))
        except NoAnswerError as error:
            if not self._is_last:
                raise
            document = queries.entries_document(target.kind, self._dialect, ())
            reply = await self._github.graphql(document, variables, tries=tries)
            return _Fetched(reply, document, variables, (), error.reason)

    async def _keep(
        self,
        batch: list[Target],
        fetched: _Fetched,
        size: BatchSize,
    ) -> list[Target]:
        """Archive what came of a batch of entries; return those to be asked for alone."""
        reply, lists = fetched.reply, fetched.lists
        nodes = reply.data["data"].get("nodes") or [None] * len(batch)
        problems = read_problems(
            reply,
            len(batch),
            lambda path: path[1] if path[0] == "nodes" and len(path) > 1 else None,
        )
        good: list[tuple[int, Target]] = []
        again: list[Target] = []
        flaws: list[list[Any]] = []
        unseen: list[tuple[int, str, str]] = []
        for index, (target, node) in enumerate(zip(batch, nodes, strict=True)):
            hidden = problems.hidden.get(index, ())
            problem = problems.nodes.get(index) or (problems.loose if not hidden else "")
            if not node and hidden:
                self._hide(target.number, "entry", hidden[0][1], reply)
                continue
            entry_problems = list(entry_flaws(target.number, node, problem, len(hidden)))
            if not node and entry_problems[0][2].startswith(_GONE):
                await self._not_found(target, entry_problems[0][2])
            elif entry_problems and self._try_again(target, alone=len(batch) == 1):
                again.append(target)
            elif not node:
                self._put_off(target, entry_problems[0][2])
            else:
                good.append((index, target))
                flaws += entry_problems
                if fetched.lacks:
                    flaws.append([target.number, "entry", fetched.lacks])
                for part, reason in hidden_parts(node["__typename"], hidden):
                    unseen.append((target.number, part, reason))
        if good:
            flawed = {flaw[0] for flaw in flaws}  # left without a key: a later run asks again
            fetch_id = len(self._journal.archive.records)
            owners = {target: f"{target.version}@{fetch_id}" for _, target in good}
            unread = (
                []
                if lists is None
                else [list_.name for list_ in queries.first_lists(batch[0].kind, self._dialect)]
            )
            self._journal.keep(
                "entries",
                [_key(target) for _, target in good if target.number not in flawed],
                {
                    "document": self._journal.document(fetched.document),
                    "variables": dict(fetched.variables),
                },
                reply,
                kind=batch[0].kind,
                batch=size.current,
                nodes=[[index, target.number, owners[target]] for index, target in good],
                more=[
                    more.row
                    for index, target in good
                    for more in open_lists(
                        target.number, owners[target], nodes[index], unread=unread
                    )
                ],
                lists=None if lists is None else list(lists),
            )
            for number, part, reason in flaws:
                self._journal.fail(number, part, reason)
            for number, part, reason in unseen:  # after the reply, which settles what was before
                self._hide(number, part, reason, reply)
        return again

    async def _not_found(self, target: Target, reason: str) -> None:
        """Keep an entry that the sweep listed until the listing lacks it, too."""
        if not self._is_last:
            self._lost.append(target)
            return
        try:
            listed = await self._sweep.lists(target)
        except NoAnswerError as error:
            listed, reason = True, error.reason
        if listed:
            self._journal.fail(target.number, "entry", f"{reason} (and GitHub lists it)")
        else:
            self._journal.mark("gone", [], number=target.number, kind=target.kind)

    def _put_off(self, target: Target, reason: str) -> None:
        if self._is_last:
            self._journal.fail(target.number, "entry", reason)
        else:
            self._flawed.pop(target, None)
            self._later.append(target)

    def _hide(self, number: int, part: str, reason: str, reply: Reply) -> None:
        """Record a part that the token may not see; in this run asking again cannot help."""
        if not any(self._journal.of_run("forbidden")):
            remedy = "Authorize the token for the organization (SAML), or give it more access"
            self._reporter.note(f"Parts cannot be seen with this token ({reason}). {remedy}")
            self._journal.mark("forbidden", [], what=part, reason=reason, remedy=remedy)
        self._journal.fail(number, part, reason, withheld=True, token=reply.token)

    async def _complete(self) -> None:
        """Fetch the pages that first pages did not hold, of the newest fetch of each entry."""
        owners = self._owners()
        todo = [
            more
            for record in self._journal.archive.records
            if record.meta["part"] in ("entries", "more")
            for more in (More(*row) for row in record.meta["more"])
            if more.number in self._listed
            and owners.get(more.number) == more.owner
            and not self._journal.find(more.key)
        ]
        if not todo:
            return
        size = BatchSize(_CONTINUATIONS, self._remembered("more", None))
        lengths: dict[More, int] = {}

        async def fetch(batch: list[More]) -> list[More]:
            document = queries.continuations_document(
                [CONNECTIONS[more.parent, more.connection] for more in batch],
                self._dialect,
                first=lengths.get(batch[0], 100) if len(batch) == 1 else 100,
            )
            variables: dict[str, object] = {}
            for index, more in enumerate(batch):
                variables |= {f"i{index}": more.node, f"a{index}": more.cursor}
            try:
                reply = await self._github.graphql(document, variables)
            except NoAnswerError:
                if len(batch) == 1:
                    lengths[batch[0]] = max(1, lengths.get(batch[0], 100) // 8)
                raise
            problems = read_problems(
                reply,
                len(batch),
                lambda path: int(str(path[0])[1:]) if str(path[0])[1:].isdecimal() else None,
            )
            good: list[tuple[int, More]] = []
            again: list[More] = []
            following: list[More] = []
            unseen: list[tuple[More, str]] = []
            flawed: dict[More, str] = {}
            for index, more in enumerate(batch):
                node = reply.data["data"].get(f"n{index}")
                page = node.get(more.connection) if node else None
                hidden = problems.hidden.get(index, ())
                reason = (
                    problems.nodes.get(index)
                    or (problems.loose if not hidden else "")
                    or list_flaw(page, more.cursor, len(hidden))
                )
                if reason and self._try_again(more, alone=len(batch) == 1):
                    again.append(more)
                    continue
                if reason:
                    flawed[more] = reason
                unseen += [(more, text) for _, text in hidden]
                if page or hidden:
                    good.append((index, more))
                if node:
                    following += open_lists(more.number, more.owner, node, after=more)
            if good:
                self._journal.keep(
                    "more",
                    [more.key for _, more in good if more not in flawed],
                    {"document": self._journal.document(document), "variables": variables},
                    reply,
                    batch=size.current,
                    nodes=[
                        [index, more.number, more.owner, more.parent, more.connection]
                        for index, more in good
                    ],
                    more=[more.row for more in following],
                )
            for more, reason in flawed.items():
                fail(more, reason, None)
            for more, reason in unseen:
                part = PART_OF[more.parent, more.connection]
                self._hide(more.number, part, reason, reply)
            drain.add(following)
            task.extend(len(following))
            task.advance(len(batch) - len(again) - len(flawed))
            return again

        def fail(more: More, reason: str, status: int | None) -> None:
            task.advance()
            if self._is_last:
                self._journal.fail(
                    more.number, PART_OF[more.parent, more.connection], reason, status
                )
            else:
                self._flawed.pop(more, None)

        with self._reporter.task("Further pages", len(todo)) as task:
            drain = Drain(
                todo,
                size,
                fetch,
                lambda more, error: fail(more, error.reason, error.status),
                tries=self._github.retries,
                pace=self._pace,
            )
            await drain.run(self._workers)

    def _owners(self) -> dict[int, str]:
        """Return the newest fetch of each entry: its version and, after ``@``, which fetch.

        An entry that REST read later has none: what GraphQL alone sees may have changed.
        """
        owners: dict[int, str] = {}
        for record in self._journal.archive.records:
            if record.meta["part"] == "entries":
                owners.update((number, owner) for _, number, owner in record.meta["nodes"])
            elif record.meta["part"] in ("timeline", "files", "pull_comments", "backup"):
                owners.pop(record.meta["number"], None)
        return owners

    def _is_known(self, target: Target, owners: Mapping[int, str]) -> bool:
        """Whether the newest fetch of an entry is of this version and left no flaw.

        A version can come back: a cross reference that was taken back leaves the old one.
        """
        newest = owners.get(target.number, "").rpartition("@")[0]
        return newest == target.version and self._journal.find(_key(target)) is not None

    def _try_again(self, item: object, *, alone: bool) -> bool:
        """Whether asking for a flawed item alone may help."""
        self._flawed[item] = self._flawed.get(item, 0) + alone
        return self._flawed[item] < (1 if self._is_last else _FLAWED_TRIES)

    def _remembered(self, part: str, kind: Kind | None) -> int | None:
        """Return the batch size that worked last."""
        sizes = [
            record.meta["batch"]
            for record in self._journal.archive.records
            if record.meta["part"] == part and record.meta.get("kind") == kind
        ]
        return sizes[-1] if sizes else None


def _by_kind(targets: Iterable[Target]) -> dict[Kind, tuple[Target, ...]]:
    some = list(targets)
    return {kind: tuple(target for target in some if target.kind == kind) for kind in _KINDS}


def _key(target: Target) -> str:
    return f"entry|{target.version}"
