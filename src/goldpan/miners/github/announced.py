"""Asks for a repository's facts: its size, its server's schema, its former names."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from goldpan.core.errors import QueryError, RepositoryError, UsageError
from goldpan.core.settings.config import Settings, repository_name
from goldpan.miners.github import queries
from goldpan.miners.github.client import GitHub
from goldpan.miners.github.dialect import NEWEST, Dialect, adapt
from goldpan.miners.github.queries import INTROSPECTION, dialect_of
from goldpan.miners.journal import Journal
from goldpan.miners.journal_state import facts_row
from goldpan.miners.replies import HttpReply, NoAnswerError, Resource, errors_of

Path = Literal["graphql", "rest"]
RESOURCES: Mapping[Path, Resource] = {"graphql": "graphql", "rest": "core"}


@dataclass(frozen=True, slots=True)
class Announced:
    """A repository as GitHub announces it before anything is mined."""

    repo: str
    reply: HttpReply
    request: Mapping[str, object]
    identity: int | None
    issues: int | None
    pulls: int | None
    dialect: Dialect


def chosen_path(settings: Settings) -> Path:
    """Return the API that the settings choose.

    Raises `UsageError` where it needs a token, and where REST is asked for discussions.
    """
    if settings.via == "graphql" and not settings.tokens:
        raise UsageError(
            "GitHub's GraphQL API cannot be used without a token",
            f"{settings.withheld or 'Put one in GITHUB_TOKEN'}, or mine with --via rest",
        )
    path: Path = settings.via if settings.via != "auto" else "rest"
    if settings.via == "auto" and settings.tokens:
        path = "graphql"
    if path == "rest" and settings.include:
        remedy = "mine with --via graphql, or leave out --include"
        if not settings.tokens:
            remedy = f"{settings.withheld or 'Put a token in GITHUB_TOKEN'}, then {remedy}"
        raise UsageError(
            "GitHub's REST API does not offer discussions", remedy[0].upper() + remedy[1:]
        )
    return path


async def announce(github: GitHub, settings: Settings, repo: str) -> Announced:
    """Ask for a repository's facts, and for a schema that may lag behind GitHub's."""
    path = chosen_path(settings)
    if path == "graphql":
        return await _announced_by_graphql(github, settings, repo)
    url = f"/repos/{repo}"
    reply = await github.get(url)
    if reply.status != 200 or not isinstance(reply.data, dict):
        raise _absent(repo, reply.problem)
    name = repository_name(facts_row(reply.data)["repo"])
    identity = reply.data.get("id")
    if not settings.tokens:
        return Announced(name, reply, {"url": url}, identity, None, None, NEWEST)
    try:
        announced = await _announced_by_graphql(github, settings, name)
    except (QueryError, NoAnswerError, RepositoryError) as error:
        # REST alone will do; it only cannot tell as much beforehand.
        github.note(f"{error.problem}: using REST's lists instead")
        return Announced(name, reply, {"url": url}, identity, None, None, NEWEST)
    return replace(announced, reply=reply, request={"url": url}, identity=identity)


async def _announced_by_graphql(github: GitHub, settings: Settings, repo: str) -> Announced:
    dialect = await _dialect(github, settings)
    if settings.include and ("Repository", "discussions") in dialect:
        raise UsageError(
            f"GraphQL at {settings.web_host} does not offer discussions", "Leave out --include"
        )
    owner, name = repo.split("/")
    variables = {"owner": owner, "name": name}
    document = adapt(queries.REPOSITORY, dialect)
    for _ in range(github.retries):  # a null may be a failure that passes
        reply = await github.graphql(document, variables, tries=github.retries, first_contact=True)
        node = reply.data["data"].get("repository")
        if node is not None or "NOT_FOUND" in reply.problem:
            break
    if node is None:
        raise _absent(repo, reply.problem)
    return Announced(
        repository_name(node["nameWithOwner"]),
        reply,
        {"query": "Repository", "variables": variables},
        None,
        node["issues"]["totalCount"],
        node["pullRequests"]["totalCount"],
        dialect,
    )


async def _dialect(github: GitHub, settings: Settings) -> Dialect:
    """Ask a server for the gaps in its schema, whose columns stay null; github.com changes, too."""
    reply = await github.graphql(INTROSPECTION, {}, tries=github.retries, first_contact=True)
    dialect = dialect_of(reply.data["data"])
    if dialect:
        fields = ", ".join(sorted(f"{kind}.{name}" for kind, name in dialect))
        github.note(f"GraphQL at {settings.web_host} lacks {fields}: their columns stay null")
    return dialect


def _absent(repo: str, problem: str) -> RepositoryError:
    if "access blocked" in problem:
        why = "for legal reasons" if "451" in problem else "for a breach of its terms"
        return RepositoryError(f"GitHub blocks {repo} {why} ({problem})", "It cannot be mined")
    return RepositoryError(
        f"{repo} does not exist, or the token may not see it ({problem or 'no such repository'})",
        "Check the spelling, and that the token has access to the repository",
    )


_MOST_NAMES = 100
_NOT_OURS = ("NOT_FOUND", "FORBIDDEN")
_WITHOUT_TOKEN = 5  # names that are asked for one by one, where 60 requests an hour are all


def candidate_names(uses: Mapping[str, int], repo: str) -> list[str]:
    """Return other names that links use and that may once have been this repository's.

    They share its owner or its name with it; the most used ones come first.
    """
    own = repo.lower().split("/")
    near = []
    for name in uses:
        parts = name.lower().split("/")
        if len(parts) == 2 and all(parts) and parts != own and not {*parts}.isdisjoint(own):
            near.append(name)
    return sorted(near, key=lambda name: (-uses[name], name))[:_MOST_NAMES]


async def ask_former_names(
    github: GitHub, journal: Journal, repo: str, names: Sequence[str]
) -> None:
    """Ask GitHub which of these names lead to the repository; each is asked for once.

    Raises `NoAnswerError` where GitHub did not tell.
    """
    names = [name for name in names if name not in journal.state.asked_names]
    names = names if github.pool.named else names[:_WITHOUT_TOKEN]
    if not names:
        return
    ask = _by_graphql if github.pool.named else _by_rest
    names_now = await ask(github, names)
    former = {old: new for old, new in names_now.items() if new.lower() == repo.lower()}
    journal.mark("former", asked=names, names=former)


async def _by_graphql(github: GitHub, names: Sequence[str]) -> dict[str, str]:
    variables: dict[str, object] = {}
    for index, name in enumerate(names):
        variables[f"o{index}"], variables[f"n{index}"] = name.split("/")
    declared = ", ".join(f"${name}: String!" for name in variables)
    aliases = "\n".join(
        f"  r{i}: repository(owner: $o{i}, name: $n{i}) {{ nameWithOwner }}"
        for i in range(len(names))
    )
    document = f"query FormerNames({declared}) {{\n{aliases}\n  rateLimit {{ cost }}\n}}"
    for _ in range(github.retries):  # failures may pass
        reply = await github.graphql(document, variables, tries=github.retries)
        if all(error.get("type") in _NOT_OURS for error in errors_of(reply.data)):
            break
    else:
        raise NoAnswerError("A query for former names", reply)
    data = reply.data["data"]
    return {
        name: data[f"r{index}"]["nameWithOwner"]
        for index, name in enumerate(names)
        if data.get(f"r{index}")
    }


async def _by_rest(github: GitHub, names: Sequence[str]) -> dict[str, str]:
    names_now: dict[str, str] = {}
    for name in names:
        reply = await github.get(f"/repos/{name}")
        if reply.status == 200 and isinstance(reply.data, dict):
            names_now[name] = str(reply.data.get("full_name", ""))
    return names_now
