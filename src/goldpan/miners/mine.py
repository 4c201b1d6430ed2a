"""Mines one repository: asks what there is, chooses the path, fetches, and makes the tables."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from goldpan.config import Settings, repository_name
from goldpan.errors import MiningError, RepositoryError, UsageError
from goldpan.miners.archive import Archive
from goldpan.miners.coverage import Coverage, measure_coverage
from goldpan.miners.estimate import Estimate, estimate_graphql, estimate_rest, sampled_threads
from goldpan.miners.facts import facts_row
from goldpan.miners.github import queries
from goldpan.miners.github.client import GitHub
from goldpan.miners.github.connect import connect
from goldpan.miners.github.graphql_miner import GraphQLMiner
from goldpan.miners.github.limits import Pace
from goldpan.miners.github.rest_lists import Count, count_lists
from goldpan.miners.github.rest_miner import RestMiner, stamp
from goldpan.miners.journal import Journal
from goldpan.miners.replies import Reply
from goldpan.miners.tables.normalize import normalize
from goldpan.progress import Reporter
from goldpan.workspace import Workspace

Path = Literal["graphql", "rest"]


@dataclass(frozen=True, slots=True)
class Mined:
    """What a mining run did; `failure` says why it stopped early, if it did."""

    repo: str
    via: Path
    requests: int
    points: int
    seconds: float
    predicted: Estimate
    rows: Mapping[str, int]
    coverage: Coverage | None
    failure: MiningError | None = None


@dataclass(frozen=True, slots=True)
class _Announced:
    """What the repository says of itself before anything is mined."""

    repo: str
    reply: Reply
    request: Mapping[str, object]
    estimate: Estimate
    counts: Mapping[str, Count]  # of REST's lists; empty over GraphQL


def mine(settings: Settings, repo: str, reporter: Reporter, pace: Pace | None = None) -> Mined:
    """Mine a repository into the workspace, or go on where an earlier run was cut off.

    What was fetched before GitHub stopped answering is made into tables all the same; raises
    `MiningError` only where there is nothing of the repository, `UsageError` for settings that
    cannot work.
    """
    return asyncio.run(_mine(settings, repository_name(repo), reporter, pace or Pace()))


def predict(
    settings: Settings, repo: str, reporter: Reporter, pace: Pace | None = None
) -> Estimate:
    """Ask only what there is, and return what mining it would cost."""

    async def ask() -> Estimate:
        async with connect(GitHub, settings, reporter, pace or Pace()) as github:
            name = repository_name(repo)
            return (await _announced(github, settings, name)).estimate

    return asyncio.run(ask())


def chosen_path(settings: Settings) -> Path:
    """Return the path that the settings lead to; raises `UsageError` where it needs a token."""
    if settings.via == "graphql" and not settings.tokens:
        raise UsageError(
            "GitHub's GraphQL API answers nobody without a token",
            "Put one in GITHUB_TOKEN, or mine with --via rest",
        )
    if settings.via == "auto":
        return "graphql" if settings.tokens else "rest"
    return settings.via


async def _mine(settings: Settings, repo: str, reporter: Reporter, pace: Pace) -> Mined:
    started = time.monotonic()
    path = chosen_path(settings)
    workspace = Workspace(settings.workspace)
    async with connect(GitHub, settings, reporter, pace) as github:
        announced = await _announced(github, settings, repo)
        if announced.repo.lower() != repo.lower():
            reporter.note(f"{repo} is now called {announced.repo}, and is kept under that name")
        repo = announced.repo
        _say_before(settings, path, announced.estimate, reporter)
        failure = None
        with workspace.lock(repo), Archive(workspace.raw(repo)) as archive:
            journal = Journal(archive)
            journal.begin(
                {
                    "via": path,
                    "repo": repo,
                    "host": settings.web_host,
                    "since": stamp(settings.since),
                }
            )
            if journal.resumed:
                reporter.note("Going on where the last run stopped")
            if not any(journal.of_run("repository")):
                journal.keep("repository", [], announced.request, announced.reply)
            try:
                await _fetch(github, journal, settings, announced, reporter, pace, path)
                journal.end({"requests": github.requests, "points": github.points})
            except MiningError as error:
                failure = error
            rows = normalize(workspace, repo, reporter, workers=settings.workers)
    coverage = measure_coverage(workspace, repo)
    return Mined(
        repo,
        path,
        github.requests,
        github.points,
        time.monotonic() - started,
        announced.estimate,
        rows,
        coverage,
        failure,
    )


async def _fetch(
    github: GitHub,
    journal: Journal,
    settings: Settings,
    announced: _Announced,
    reporter: Reporter,
    pace: Pace,
    path: Path,
) -> None:
    if path == "graphql":
        await GraphQLMiner(
            github,
            journal,
            reporter,
            repo=announced.repo,
            since=settings.since,
            workers=settings.concurrency,
            pace=pace,
        ).run()
    else:
        await RestMiner(
            github,
            journal,
            reporter,
            repo=announced.repo,
            since=settings.since,
            workers=settings.concurrency,
            counts=announced.counts,
            identity=announced.reply.data.get("id"),
        ).run()


def _say_before(settings: Settings, path: Path, estimate: Estimate, reporter: Reporter) -> None:
    if path == "rest" and not settings.tokens:
        reporter.note(
            f"No token: GitHub allows 60 requests an hour, and this needs about "
            f"{estimate.requests:,}. With GITHUB_TOKEN set it allows 5,000. "
            "Stop at any time; the same command goes on"
        )
    points = f", {estimate.points:,} points" if estimate.points else ""
    reporter.note(
        f"Predicted: {estimate.requests:,} requests{points}, {duration(estimate.seconds)}"
    )


def duration(seconds: float) -> str:
    """Say a time as people do."""
    if seconds < 90:
        return f"{max(1, round(seconds))} s"
    if seconds < 5_400:
        return f"{round(seconds / 60)} min"
    return f"{seconds / 3_600:.1f} h"


async def _announced(github: GitHub, settings: Settings, repo: str) -> _Announced:
    tokens, concurrency = len(settings.tokens), settings.concurrency
    if chosen_path(settings) == "graphql":
        owner, name = repo.split("/")
        variables = {"owner": owner, "name": name}
        reply = await github.graphql(queries.REPOSITORY, variables, patient=True)
        node = reply.data["data"]["repository"]
        if node is None:
            raise _absent(repo, reply.problem)
        canonical = repository_name(node["nameWithOwner"])
        estimate = estimate_graphql(
            node["issues"]["totalCount"],
            node["pullRequests"]["totalCount"],
            sampled_threads(node),
            _known(settings, canonical),
            tokens=tokens,
            concurrency=concurrency,
        )
        request = {"query": "Repository", "variables": variables}
        return _Announced(canonical, reply, request, estimate, {})
    url = f"/repos/{repo}"
    reply = await github.get(url)
    if reply.status != 200:
        raise _absent(repo, reply.problem)
    canonical = repository_name(facts_row(reply.data)["repo"])
    counts = await count_lists(github, canonical)
    estimate = estimate_rest(
        {part: count.announced for part, count in counts.items()},
        _known(settings, canonical),
        tokens=tokens,
        concurrency=concurrency,
    )
    return _Announced(canonical, reply, {"url": url}, estimate, counts)


def _known(settings: Settings, repo: str) -> int:
    """Return how many entries of a repository the workspace has."""
    records = Archive(Workspace(settings.workspace).raw(repo)).records
    numbers: set[Any] = set()
    for record in records:
        if record.meta["part"] == "entries":
            numbers.update(number for _, number, _ in record.meta["nodes"])
        elif record.meta["part"] == "timeline":
            numbers.add(record.meta["number"])
    return len(numbers)


def _absent(repo: str, problem: str) -> RepositoryError:
    if "451" in problem:
        return RepositoryError(
            f"GitHub blocks {repo} for legal reasons ({problem})", "It cannot be mined"
        )
    return RepositoryError(
        f"{repo} is not there, or the token may not see it ({problem or 'no such repository'})",
        "Check the spelling, and that the token has access to the repository",
    )
