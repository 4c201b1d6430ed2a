"""The search for issues and pull requests of one repository, whose answer counts them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from urllib.parse import urlencode

from . import rest_views as views
from .rest_answers import Answer, FailedError
from .store import World
from .world import Entry

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
    wanted = [word for word in words if not word.startswith("repo:")]
    if not set(wanted) <= set(_QUALIFIERS) or not {"is:issue", "is:pr"} & set(wanted):
        raise _refused("Query must include 'is:issue' or 'is:pull-request'")
    found = [
        entry
        for entry in list(repository.entries.values())
        if all(_QUALIFIERS[word](entry) for word in wanted)
    ]
    found.sort(key=lambda entry: (entry.created_at, entry.id), reverse=True)
    size = min(100, int(query.get("per_page", "30")))
    page = int(query.get("page", "1"))
    if page * size > _MOST:
        raise FailedError(422, "Only the first 1000 search results are available")
    start = (page - 1) * size
    items = [views.issue_json(entry, api) for entry in found[start : start + size]]
    body = {"total_count": len(found), "incomplete_results": False, "items": items}
    last = -(-min(len(found), _MOST) // size)
    if page >= last:
        return Answer(body)
    links = [
        f'<{api}/search/issues?{urlencode({**query, "page": number})}>; rel="{name}"'
        for name, number in (("next", page + 1), ("last", last))
    ]
    return Answer(body, headers={"Link": ", ".join(links)})


def _refused(message: str) -> FailedError:
    errors = [{"message": message, "resource": "Search", "field": "q", "code": "invalid"}]
    return FailedError(422, "Validation Failed", errors=errors)
