"""The search for repositories."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from urllib.parse import urlencode

from tests.local_server import Answer

from . import rest_views as views
from .rest_pages import FailedError
from .store import World
from .world import Repository

_MOST = 1_000


def search_repositories(world: World, query: Mapping[str, str], api: str) -> Answer:
    """Answer `q` of language, stars, license and archived, by stars; other words are refused."""
    text = query.get("q", "")
    words = _WORD.findall(text)
    if not words or _WORD.sub("", text).strip():
        raise _refused("The search is longer than 256 characters, or contains unknown words.")
    repositories = [
        repository
        for repository in world.repositories
        if not repository.private
        and all(_matches(repository, name, value.strip('"')) for name, value in words)
    ]
    if query.get("sort") == "stars":
        repositories.sort(key=lambda repository: repository.stars, reverse=True)
    return _page(repositories, query, api)


_WORD = re.compile(r'(language|stars|license|archived):("[^"]+"|[^\s"]+)')


def _matches(repository: Repository, name: str, value: str) -> bool:
    match name:
        case "language":
            return (repository.language or "").lower() == value.lower()
        case "license":
            return (repository.license or "").lower() == value.lower()
        case "archived":
            return repository.archived == (value == "true")
        case _ if value.startswith(">="):
            return repository.stars >= int(value.removeprefix(">="))
    raise _refused(f"{name}:{value} is not understood.")


def _page(matches: Sequence[Repository], query: Mapping[str, str], api: str) -> Answer:
    size = min(100, int(query.get("per_page", "30")))
    page = int(query.get("page", "1"))
    if page * size > _MOST:
        raise FailedError(422, "Only the first 1000 search results are available")
    start = (page - 1) * size
    items = [views.repository_json(match, api) for match in matches[start : start + size]]
    body = {"total_count": len(matches), "incomplete_results": False, "items": items}
    last = -(-min(len(matches), _MOST) // size)
    if page >= last:
        return Answer(body=body)
    links = [
        f'<{api}/search/repositories?{urlencode({**query, "page": number})}>; rel="{name}"'
        for name, number in (("next", page + 1), ("last", last))
    ]
    return Answer(body=body, headers={"Link": ", ".join(links)})


def _refused(message: str) -> FailedError:
    errors = [{"message": message, "resource": "Search", "field": "q", "code": "invalid"}]
    return FailedError(422, "Validation Failed", errors=errors)
