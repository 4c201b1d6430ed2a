"""Repositories that GitHub's search finds, kept so that a plan works on the same ones each time."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import orjson

from goldpan.core.config import Settings, repository_name
from goldpan.core.errors import DamagedError, MiningError, UsageError, WorkspaceError
from goldpan.core.sealed import read_json, sealed_json
from goldpan.core.terminal import Reporter
from goldpan.core.workspace import make_directory, write_whole
from goldpan.miners.github.client import GitHub, connect
from goldpan.plan.sections import MOST_SELECTED, Repositories, Select

_PAGE = 100


@dataclass(frozen=True, slots=True)
class Selected:
    """A repository that a search found."""

    repo: str
    stars: int
    query: str


@dataclass(frozen=True, slots=True)
class Selection:
    """What the searches of a plan found, and when."""

    at: str
    queries: tuple[str, ...]
    repositories: tuple[Selected, ...]


def query_of(select: Select) -> str:
    """Return a selection in the words of GitHub's search."""
    words = [f'language:"{select.language}"' if select.language else ""]
    words += [f"stars:>={select.min_stars}" if select.min_stars else ""]
    words += [f"license:{select.license}" if select.license else ""]
    words += ["" if select.archived else "archived:false"]
    return " ".join(word for word in words if word)


def read_selection(path: Path) -> Selection | None:
    """Return what was selected before; raises `WorkspaceError` for a file that is damaged."""
    try:
        stored = read_json(path)
        repositories = tuple(Selected(**repository) for repository in stored["repositories"])
        return Selection(stored["at"], tuple(stored["queries"]), repositories)
    except FileNotFoundError:
        return None
    except (DamagedError, orjson.JSONDecodeError, KeyError, TypeError):
        raise WorkspaceError(
            f"{path} is damaged", "Restore it, or search again with goldpan run --select"
        ) from None


def write_selection(path: Path, selection: Selection) -> None:
    """Keep what was selected."""
    make_directory(path.parent)
    write_whole(path, sealed_json(asdict(selection)))


def repositories_of(repositories: Repositories, selection: Selection | None) -> tuple[str, ...]:
    """Return all repositories of a plan: those that are listed, then those that were selected."""
    selected = () if selection is None else selection.repositories
    return (*repositories.listed, *(repository.repo for repository in selected))


def summary_of(selection: Selection, repositories: Repositories) -> str:
    """Return how many repositories were selected, and which searches gave fewer than asked for."""
    count = len(selection.repositories)
    noun = "repository" if count == 1 else "repositories"
    texts = [f"GitHub's search selects {count:,} {noun}"]
    for select in repositories.select:
        query = query_of(select)
        matches = sum(repository.query == query for repository in selection.repositories)
        if matches < select.limit:
            texts.append(f"{query} gives {matches:,} of {select.limit:,}")
    return "; ".join(texts)


def is_current(selection: Selection, repositories: Repositories) -> bool:
    """Tell whether a selection is that of these searches."""
    return selection.queries == _selection_lines(repositories)


def select_repositories(settings: Settings, planned: Repositories, reporter: Reporter) -> Selection:
    """Ask GitHub's search; raises `MiningError` where it does not answer whole."""

    async def ask() -> list[Selected]:
        listed = {name.lower() for name in planned.listed}
        repositories: list[Selected] = []
        async with connect(settings, reporter) as github:
            for select in planned.select:
                for repository in await _search(github, select, listed):
                    listed.add(repository.repo.lower())
                    repositories.append(repository)
        return repositories

    at = datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    return Selection(at, _selection_lines(planned), tuple(asyncio.run(ask())))


async def _search(github: GitHub, select: Select, listed: set[str]) -> Sequence[Selected]:
    query = query_of(select)
    repositories: dict[str, Selected] = {}
    for page in range(1, MOST_SELECTED // _PAGE + 1):
        words = {"q": query, "sort": "stars", "order": "desc", "per_page": _PAGE, "page": page}
        reply = await github.get(f"/search/repositories?{urlencode(words)}")
        if reply.status != 200 or not isinstance(reply.data, dict):
            raise MiningError(
                f"GitHub's search for {query} was not answered ({reply.problem})",
                "Check the selection's language and license, and run the same command again",
            )
        if reply.data.get("incomplete_results"):
            raise MiningError(
                f"GitHub's search for {query} ran out of time and returned only some repositories",
                "Run the same command again, or narrow the selection",
            )
        items = reply.data.get("items", [])
        for item in items:
            name = _name(item)
            if name is not None and name.lower() not in listed:
                repositories.setdefault(
                    name.lower(), Selected(name, item["stargazers_count"], query)
                )
        if len(repositories) >= select.limit or len(items) < _PAGE:
            break
    # Repositories with as many stars come in any order.
    ordered = sorted(
        repositories.values(), key=lambda repository: (-repository.stars, repository.repo.lower())
    )
    return ordered[: select.limit]


def _name(item: Any) -> str | None:
    if not isinstance(item, dict) or not isinstance(item.get("stargazers_count"), int):
        return None
    try:
        return repository_name(str(item.get("full_name")))
    except UsageError:
        return None


def _selection_lines(repositories: Repositories) -> tuple[str, ...]:
    listed = ", ".join(sorted(name.lower() for name in repositories.listed))
    searches = [f"{query_of(select)} (at most {select.limit})" for select in repositories.select]
    return (*searches, f"besides {listed}" if listed else "besides none")
