"""Mines one repository: asks what there is, chooses the path, fetches, and makes the tables."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, field
from functools import partial
from typing import Literal, TypeVar, cast

from goldpan.core.errors import GoldpanError, MiningError
from goldpan.core.locks import lock_repository
from goldpan.core.resources import explain
from goldpan.core.result import Result, count
from goldpan.core.settings.config import Settings, repository_name
from goldpan.core.storage.archive import Archive
from goldpan.core.storage.workspace import WorkspaceLayout
from goldpan.core.terminal import Reporter
from goldpan.miners.coverage import Coverage, measure_coverage
from goldpan.miners.github import queries
from goldpan.miners.github.announced import (
    Announced,
    Path,
    announce,
    ask_former_names,
    candidate_names,
    chosen_path,
)
from goldpan.miners.github.batches import together
from goldpan.miners.github.client import GitHub, connect
from goldpan.miners.github.cost import CostEstimate, DryRunArchive, price, price_first
from goldpan.miners.github.graphql_entries import GraphQLRun
from goldpan.miners.github.graphql_miner import GraphQLMiner
from goldpan.miners.github.limits import Pace
from goldpan.miners.github.rest_lists import Lists
from goldpan.miners.github.rest_miner import RestMiner
from goldpan.miners.github.rest_survey import RestSurveyor, stamp
from goldpan.miners.github.sweep import Sweep
from goldpan.miners.journal import Journal
from goldpan.miners.tables.current_records import find_current_records
from goldpan.miners.tables.normalize import chunks_of, facts_of, parse_chunks, publish_tables

T = TypeVar("T")


class Turns:
    """Lets one repository at a time make its tables, and each be mined under one name at a time."""

    def __init__(self) -> None:
        self._tables = asyncio.Lock()
        self._repositories: dict[str, asyncio.Lock] = {}

    def of(self, repo: str) -> asyncio.Lock:
        """Return the lock of a repository, which may be asked for under two of its names."""
        return self._repositories.setdefault(repo.lower(), asyncio.Lock())

    async def take(self, make: Callable[[], T]) -> T:
        """Return the result of `make`, which takes memory and time, while others go on asking.

        A task that is stopped waits for it all the same: `make` writes files under a lock.
        """
        async with self._tables:
            future = asyncio.ensure_future(asyncio.to_thread(make))
            try:
                return await asyncio.shield(future)
            except asyncio.CancelledError:
                await asyncio.wait([future])
                raise


_NOTHING = CostEstimate(0, 0, 0.0)


@dataclass(frozen=True, slots=True)
class MineResult(Result):
    """The result of mining a repository, or of predicting what that costs."""

    schema = 2

    repo: str
    via: Path | Literal["backup"]
    requests: int = 0
    free: int = 0
    """Requests that did not count against the limit (304)."""
    points: int = 0
    seconds: float = 0.0
    predicted: CostEstimate = _NOTHING
    tables: Mapping[str, int] = field(default_factory=dict)
    """How many rows each table has."""
    coverage: Coverage | None = None
    """None where nothing was mined: after a dry run, and where GitHub could not be asked."""
    failure: GoldpanError | None = None
    """Why it stopped early, if it did."""

    @property
    def is_prediction(self) -> bool:
        """True where nothing was mined and the cost alone is known."""
        return self.coverage is None and self.failure is None

    @property
    def exit_code(self) -> int:
        """1 where it failed, 3 where something is missing."""
        return 1 if self.failure else self.coverage.exit_code if self.coverage else 0

    @property
    def errors(self) -> Sequence[GoldpanError]:
        """Why it stopped."""
        return (self.failure,) if self.failure else ()


@dataclass(frozen=True, slots=True)
class Crawl:
    """A way to mine, by a client that counts for one repository alone."""

    github: GitHub
    settings: Settings
    reporter: Reporter

    async def predict(self, repo: str) -> CostEstimate:
        """Predict what mining a repository would cost.

        Nothing is written. A first crawl is predicted from what GitHub announces and a sample; an
        update, or a crawl since a date, by reading the lists that tell what changed.
        """
        github, settings = self.github, self.settings
        announced = await announce(github, settings, repo)
        archive = DryRunArchive(WorkspaceLayout(settings.workspace).raw(announced.repo))
        if settings.since is None and not archive.holds_entries:
            return await price_first(github, settings, announced)
        journal = Journal(archive)
        journal.begin(self._plan(announced.repo), settings.git_host)
        miner = self._miner(journal, announced)
        await miner.survey()
        return await price(github, journal, settings, announced, miner)

    async def mine(self, repo: str, license: str | None, turns: Turns) -> MineResult:
        """Mine a repository into the workspace, or go on where an earlier run was cut off.

        Replies that came before GitHub stopped answering are made into tables all the same; raises
        `MiningError` only where there is nothing of the repository.
        """
        started = time.monotonic()
        github, settings, reporter = self.github, self.settings, self.reporter
        path = chosen_path(settings)
        workspace = WorkspaceLayout(settings.workspace)
        announced = await announce(github, settings, repo)
        if announced.repo.lower() != repo.lower():
            reporter.note(f"{repo} is now called {announced.repo}, and is kept under that name")
        repo = announced.repo
        if path == "rest" and not settings.tokens:
            reporter.note(
                f"{settings.withheld or 'No token'}: GitHub allows 60 requests an hour. With a "
                "token it allows 5,000. Stop at any time; the same command resumes"
            )
        failure: MiningError | None = None
        estimate = _NOTHING
        async with turns.of(repo):
            with lock_repository(workspace, repo), Archive(workspace.raw(repo)) as archive:
                journal = self._begin(archive, announced, license)
                try:
                    miner = self._miner(journal, announced)
                    await miner.survey()
                    estimate = await price(github, journal, settings, announced, miner)
                    reporter.note(f"Predicted: {_describe(estimate)}")
                    await miner.run()
                except MiningError as error:
                    failure = error
                rows = await self._make_tables(journal, repo, turns, ended=failure is None)
                coverage = measure_coverage(workspace, repo, journal.state)
        return MineResult(
            repo,
            path,
            github.requests,
            github.free,
            github.points,
            time.monotonic() - started,
            estimate,
            rows,
            coverage,
            failure,
        )

    def _begin(self, archive: Archive, announced: Announced, license: str | None) -> Journal:
        """Begin a run, or go on with the last, and keep the repository's facts."""
        journal = Journal(archive)
        journal.begin(self._plan(announced.repo), self.settings.git_host)
        if journal.resumed:
            self.reporter.note("Continuing where the last run stopped")
        if not any(journal.of_run("repository")):
            journal.keep("repository", [], announced.request, announced.reply)
        if license is not None:
            journal.mark("license", license=license)
        if announced.dialect and not any(journal.of_run("dialect")):
            journal.mark("dialect", lacks=sorted(map(list, announced.dialect)))
        return journal

    async def _make_tables(
        self, journal: Journal, repo: str, turns: Turns, *, ended: bool
    ) -> Mapping[str, int]:
        """Make the tables and, where all was fetched, end the run; return their row counts.

        Between parsing and merging GitHub is asked for the former names that texts show. Without
        them links lack: the run then is not at its end, and the next one asks again.
        """
        github, state, reporter = self.github, journal.state, self.reporter
        workspace = WorkspaceLayout(self.settings.workspace)
        facts, live = facts_of(workspace, repo, state), find_current_records(state)
        with workspace.scratch() as scratch:
            chunks = chunks_of(scratch, facts, state, live)
            parse = partial(parse_chunks, chunks, self.settings.workers, reporter)
            uses = await turns.take(parse)
            if ended:
                try:
                    names = candidate_names(uses, facts.repo)
                    await ask_former_names(github, journal, facts.repo, names)
                except MiningError as error:
                    reporter.note(f"The repository's former names are not known: {error.problem}")
                    ended = False
            facts, seals = facts_of(workspace, repo, state), journal.archive.seals()
            rows = await turns.take(
                partial(publish_tables, workspace, repo, scratch, facts, live, seals, reporter)
            )
        if ended:
            journal.end({"requests": github.requests, "free": github.free, "points": github.points})
        return rows

    def _plan(self, repo: str) -> Mapping[str, object]:
        settings = self.settings
        return {
            "via": chosen_path(settings),
            "repo": repo,
            "host": settings.web_host,
            "since": stamp(settings.since),
            **({"include": list(settings.include)} if settings.include else {}),
        }

    def _miner(self, journal: Journal, announced: Announced) -> GraphQLMiner | RestMiner:
        github, settings, reporter = self.github, self.settings, self.reporter
        repo, dialect = announced.repo, announced.dialect
        sweep = Sweep(github, journal, repo, settings.since, dialect)
        if chosen_path(settings) == "graphql":
            owner, name = repo.split("/")
            github.probe = github.query(queries.PROBE, {"owner": owner, "name": name})
            kinds = queries.KINDS if settings.include else queries.KINDS[:2]
            return GraphQLMiner(GraphQLRun(github, journal, reporter, dialect), sweep, kinds)
        has_issues = announced.reply.data.get("has_issues") is not False
        listed = "issues" if has_issues else "pulls"
        github.probe = github.page(f"/repos/{repo}/{listed}?state=all&per_page=1")
        swept, lists = sweep if settings.tokens else None, Lists(github, journal, repo)
        surveyor = RestSurveyor(lists, reporter, settings.since, swept, has_issues=has_issues)
        return RestMiner(surveyor, announced.identity)


def _describe(estimate: CostEstimate) -> str:
    points = f", {count(estimate.points, 'point')}" if estimate.points else ""
    return f"{count(estimate.requests, 'request')}{points}, {duration(estimate.seconds)}"


def duration(seconds: float) -> str:
    """Return a time as people read it."""
    if seconds < 90:
        return f"{max(1, round(seconds))} s"
    if seconds < 5_400:
        return f"{round(seconds / 60)} min"
    return f"{seconds / 3_600:.1f} h"


MOST_AT_ONCE = 8
"""Repositories that are mined at once unless settings say otherwise: twice the requests that may
be under way, so that there always is one to send."""
Ask = Callable[[Crawl, str], Awaitable[None]]
"""Works on one repository, by a client that counts for it alone and a reporter that names it."""


def ask_at_once(
    settings: Settings, names: Sequence[str], reporter: Reporter, ask: Ask, pace: Pace | None = None
) -> None:
    """Call `ask` for all repositories, some at a time; raises what it raises."""

    async def work(queue: Iterator[str], github: GitHub) -> None:
        for name in queue:
            named_reporter = reporter.named(name) if len(names) > 1 else reporter
            client = github.with_own_counts(named_reporter.note)
            await ask(Crawl(client, settings, named_reporter), name)

    async def ask_all() -> None:
        queue, most = iter(names), min(len(names), settings.at_once or MOST_AT_ONCE)
        async with connect(settings, reporter, pace) as github:
            await together(*(work(queue, github) for _ in range(most)))

    asyncio.run(ask_all())


def summary(result: MineResult) -> str:
    """Return the figures of a result in a few words."""
    entries = count(result.tables.get("entries", 0), "entry")
    return f"{entries}, {count(result.requests, 'request')}"


def mine(
    settings: Settings,
    names: Sequence[str],
    reporter: Reporter,
    pace: Pace | None = None,
    *,
    license: str | None = None,
) -> dict[str, MineResult | GoldpanError]:
    """Mine repositories, each as `Crawl.mine` does; none stops the others.

    `license` is what the user states, whatever GitHub says. Returns the result or the failure of
    each by its name in lower case. Raises `UsageError` for settings that cannot work.
    """
    chosen_path(settings)
    names = list({repository_name(name).lower(): name for name in names}.values())
    turns = Turns()
    outcomes: dict[str, MineResult | GoldpanError] = {}

    async def work(crawl: Crawl, name: str) -> None:
        outcome: MineResult | GoldpanError | None
        try:
            outcome = await crawl.mine(repository_name(name), license, turns)
        except Exception as error:  # of this repository: the others go on
            outcome = error if isinstance(error, GoldpanError) else explain(error)
            if outcome is None:  # a defect of Goldpan's own
                raise
        outcomes[name.lower()] = outcome
        if task is not None:
            failure = outcome if isinstance(outcome, GoldpanError) else outcome.failure
            told = f"failed: {failure.problem}" if failure else summary(cast("MineResult", outcome))
            crawl.reporter.note(told)
            task.advance()

    several = reporter.task("Repositories", len(names)) if len(names) > 1 else nullcontext()
    with several as task:
        ask_at_once(settings, names, reporter, work, pace)
    return outcomes


def predict_many(
    settings: Settings, names: Sequence[str], reporter: Reporter, pace: Pace | None = None
) -> dict[str, CostEstimate | GoldpanError]:
    """Return by name what mining each repository would cost, or why that cannot be told.

    They are in the order given, whatever was answered first. Nothing is written. Raises
    `UsageError` for settings that cannot work.
    """
    chosen_path(settings)
    predicted: dict[str, CostEstimate | GoldpanError] = {}

    async def predict(crawl: Crawl, name: str) -> None:
        repo = repository_name(name)
        try:
            predicted[name] = await crawl.predict(repo)
        except GoldpanError as error:  # of this repository: the others go on
            predicted[name] = error
        task.advance()

    with reporter.task("Asking GitHub of repositories", len(names)) as task:
        ask_at_once(settings, list(dict.fromkeys(names)), reporter, predict, pace)
    return {name: predicted[name] for name in names}
