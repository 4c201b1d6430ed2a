"""The search for issues and pull requests of one repository, and that for repositories."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any
from urllib.parse import urlencode

from . import rest_views as views
from .rest_answers import Answer, FailedError
from .store import World
from .world import Entry, Repository

_MOST = 1_000
_QUALIFIERS: dict[str, Callable[[Entry], bool]] = {
    "is:issue": lambda entry: entry.pull is None,
    "is:pr": lambda entry: entry.pull is not None,
    "is:open": lambda entry: entry.state == "open",
    "is:closed": lambda entry: entry.state == "closed",
}


def search_issues(world: World, query: Mapping[str, str], api: str) -> Answer:
    """Answer `q=repo:OWNER/NAME is:issue`; other words of the search language are refused."""
    words = query.get("q", "").split()
    names = [word.removeprefix("repo:") for word in words if word.startswith("repo:")]
    repository = world.repository(names[0], follow=False) if len(names) == 1 else None
    if repository is None or repository.blocked:
        raise _refused(
            "The listed users and repositories cannot be searched either because the resources "
            "do not exist or you do not have permission to view them."
        )
    qualifiers = [word for word in words if not word.startswith("repo:")]
    if not set(qualifiers) <= set(_QUALIFIERS) or not {"is:issue", "is:pr"} & set(qualifiers):
        raise _refused("Query must include 'is:issue' or 'is:pull-request'")
    entries = [
        entry
        for entry in list(repository.entries.values())
        if all(_QUALIFIERS[word](entry) for word in qualifiers)
    ]
    entries.sort(key=lambda entry: (entry.created_at, entry.id), reverse=True)
    return _page("issues", entries, lambda entry: views.issue_json(entry, api), query, api)


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
    return _page(
        "repositories",
        repositories,
        lambda repository: views.repository_json(repository, api),
        query,
        api,
    )


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


def _page(
    what: str,
    matches: Sequence[Any],
    shape: Callable[[Any], views.Json],
    query: Mapping[str, str],
    api: str,
) -> Answer:
    size = min(100, int(query.get("per_page", "30")))
    page = int(query.get("page", "1"))
    if page * size > _MOST:
        raise FailedError(422, "Only the first 1000 search results are available")
    start = (page - 1) * size
    items = [shape(match) for match in matches[start : start + size]]
    body = {"total_count": len(matches), "incomplete_results": False, "items": items}
    last = -(-min(len(matches), _MOST) // size)
    if page >= last:
        return Answer(body)
    links = [
        f'<{api}/search/{what}?{urlencode({**query, "page": number})}>; rel="{name}"'
        for name, number in (("next", page + 1), ("last", last))
    ]
    return Answer(body, headers={"Link": ", ".join(links)})


def _refused(message: str) -> FailedError:
    errors = [{"message": message, "resource": "Search", "field": "q", "code": "invalid"}]
    return FailedError(422, "Validation Failed", errors=errors)
