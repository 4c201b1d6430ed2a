"""The repositories of a plan that GitHub's search finds, which are kept for all its runs."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from urllib.parse import urlencode

import orjson

from goldpan.core.errors import DamagedError, MiningError, UsageError, WorkspaceError
from goldpan.core.result import count
from goldpan.core.settings.config import Settings, repository_name
from goldpan.core.storage.sealed import read_json, sealed_json
from goldpan.core.storage.workspace import make_directory, write_whole
from goldpan.core.terminal import Reporter
from goldpan.miners.github.client import GitHub, connect
from goldpan.plan.section import MOST_SELECTED, Repositories, Select

_PAGE = 100


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
    where `keep` says so. Raises `WorkspaceError` where that is damaged.
    """
    if not planned.select:
        return planned.listed
    searches = planned.model_dump(mode="json")
    try:
        stored = read_json(file) if file.exists() else {}
    except (DamagedError, orjson.JSONDecodeError):
        raise WorkspaceError(
            f"{file} is damaged", "Restore it, or search again with goldpan run --select"
        ) from None
    if anew or stored.get("searches") != searches:
        stored = {"searches": searches, "repositories": search(planned, settings, reporter)}
        if keep:
            make_directory(file.parent)
            write_whole(file, sealed_json(stored))
    return (*planned.listed, *stored["repositories"])


def search(planned: Repositories, settings: Settings, reporter: Reporter) -> list[str]:
    """Ask GitHub's search, and say where it gives fewer than asked for.

    Raises `MiningError` where it does not answer whole.
    """

    async def ask() -> list[str]:
        found: list[str] = []
        async with connect(settings, reporter) as github:
            for one in planned.select:
                others = {name.lower() for name in (*planned.listed, *found)}
                names = await _search(github, one, others)
                if len(names) < one.limit:
                    reporter.note(f"{query_of(one)} gives {len(names):,} of {one.limit:,}")
                found += names
        return found

    found = asyncio.run(ask())
    reporter.note(f"GitHub's search selects {count(len(found), 'repository')}")
    return found


def query_of(select: Select) -> str:
    """Return a selection in the words of GitHub's search."""
    words = [f'language:"{select.language}"' if select.language else ""]
    words += [f"stars:>={select.min_stars}" if select.min_stars else ""]
    words += [f"license:{select.license}" if select.license else ""]
    words += ["" if select.archived else "archived:false"]
    return " ".join(filter(None, words))


async def _search(github: GitHub, select: Select, others: set[str]) -> Sequence[str]:
    query, found = query_of(select), dict[str, tuple[int, str]]()
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
            with suppress(UsageError, LookupError, TypeError, ValueError):  # another reply
                name, stars = repository_name(item["full_name"]), int(item["stargazers_count"])
                if name.lower() not in others:
                    found.setdefault(name.lower(), (-stars, name))
        if len(found) >= select.limit or len(items) < _PAGE:
            break
    # Repositories with as many stars come in any order.
    ordered = sorted(found.values(), key=lambda one: (one[0], one[1].lower()))
    return [name for _, name in ordered[: select.limit]]
