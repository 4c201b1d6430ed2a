"""The repositories of a plan that GitHub's search finds, which are kept for all its runs."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import orjson

from goldpan.core.errors import DamagedError, MiningError, UsageError, WorkspaceError
from goldpan.core.settings.config import Settings, repository_name
from goldpan.core.storage.sealed import read_json, sealed_json
from goldpan.core.storage.workspace import make_directory, write_whole
from goldpan.core.terminal import Reporter
from goldpan.miners.github.client import GitHub, connect
from goldpan.plan.section import MOST_SELECTED, Repositories, Select

_PAGE = 100


@dataclass(frozen=True, slots=True)
class Selected:
    """A repository that a search found."""

    repo: str
    stars: int
    query: str


@dataclass(frozen=True, slots=True)
class Selection:
    """The repositories that a plan's searches found, and when."""

    at: str
    queries: tuple[str, ...]
    repositories: tuple[Selected, ...]

    def summary(self, planned: Repositories) -> str:
        """Return how many repositories there are, and which searches gave fewer than asked for."""
        count = len(self.repositories)
        noun = "repository" if count == 1 else "repositories"
        texts = [f"GitHub's search selects {count:,} {noun}"]
        for select in planned.select:
            query = query_of(select)
            matches = sum(repository.query == query for repository in self.repositories)
            if matches < select.limit:
                texts.append(f"{query} gives {matches:,} of {select.limit:,}")
        return "; ".join(texts)


def select(
    planned: Repositories,
    file: Path,
    settings: Settings,
    reporter: Reporter,
    *,
    anew: bool = False,
    keep: bool = True,
) -> tuple[str, ...]:
    """Return all repositories of a plan: those that are listed, then those that GitHub finds.

    GitHub is asked where it was not before for the same searches; what it finds is kept in a file
    where `keep` says so.
    """
    if not planned.select:
        return planned.listed
    selection = read_selection(file)
    if selection is None or anew or selection.queries != _queries(planned):
        selection = search(planned, settings, reporter)
        if keep:
            make_directory(file.parent)
            write_whole(file, sealed_json(asdict(selection)))
        reporter.note(selection.summary(planned))
    return (*planned.listed, *(repository.repo for repository in selection.repositories))


def query_of(select: Select) -> str:
    """Return a selection in the words of GitHub's search."""
    words = [f'language:"{select.language}"' if select.language else ""]
    words += [f"stars:>={select.min_stars}" if select.min_stars else ""]
    words += [f"license:{select.license}" if select.license else ""]
    words += ["" if select.archived else "archived:false"]
    return " ".join(word for word in words if word)


def _queries(planned: Repositories) -> tuple[str, ...]:
    listed = ", ".join(sorted(name.lower() for name in planned.listed))
    searches = [f"{query_of(select)} (at most {select.limit})" for select in planned.select]
    return (*searches, f"besides {listed}" if listed else "besides none")


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


def search(planned: Repositories, settings: Settings, reporter: Reporter) -> Selection:
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
    return Selection(at, _queries(planned), tuple(asyncio.run(ask())))


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
                found = Selected(name, item["stargazers_count"], query)
                repositories.setdefault(name.lower(), found)
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
