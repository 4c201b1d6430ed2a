"""The REST endpoints without their transport: routes, filters, pages and Link headers."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, NamedTuple
from urllib.parse import parse_qsl

from tests.local_server import Answer

from . import rest_views as views
from .errors import BLOCK
from .limits import Limits
from .paging import Key
from .rest_pages import Call, FailedError, Pager
from .rest_search import search_repositories
from .store import World
from .world import FILES_LIMIT, ORDERS, Entry, Repository

_REPOSITORY = re.compile(
    r"/(?:repos/(?P<owner>[^/]+)/(?P<name>[^/]+)|repositories/(?P<id>\d+))(?P<rest>/.*)?"
)


_ELSEWHERE = {"/search/repositories": "search", "/rate_limit": "rate_limit"}


class Route(NamedTuple):
    """Which kind of request a GET is, and the entry that it is about."""

    name: str
    number: int | None = None


@dataclass(frozen=True, slots=True)
class RestApi:
    """Answers GET requests from a world."""

    world: World
    limits: Limits
    pager: Pager

    def get(self, target: str, api: str, *, authenticated: bool = True) -> Answer:
        """Answer a request target (path and query); `api` is the base URL for links."""
        path, _, text = target.partition("?")
        query = dict(parse_qsl(text, keep_blank_values=True))
        match, route = _REPOSITORY.fullmatch(path), route_of(path)
        try:
            if route is not None and route.name == "search":
                return search_repositories(self.world, query, api)
            if match is None or route is None:
                raise FailedError(404, "Not Found")
            repository = self._repository(match, api, text)
            if repository.private and not authenticated:
                raise FailedError(404, "Not Found")
            call = Call(path, query, api, repository, route.name)
            numbers = () if route.number is None else (route.number,)
            return _HANDLERS[route.name][1](self, call, *numbers)
        except FailedError as problem:
            return problem.answer

    def _repository(self, match: re.Match[str], api: str, query: str) -> Repository:
        if match["id"]:
            repository = self.world.repository_by_id(int(match["id"]))
        else:
            name = f"{match['owner']}/{match['name']}"
            repository = self.world.repository(name, follow=False)
            if repository is None:
                moved = self.world.repository(name)
                if moved is not None:
                    url = f"{api}/repositories/{moved.id}{match['rest'] or ''}"
                    raise _moved(f"{url}?{query}" if query else url)
        if repository is None:
            raise FailedError(404, "Not Found")
        if repository.blocked:
            raise FailedError(repository.blocked, "Repository access blocked", block=BLOCK)
        return repository

    def repository(self, call: Call) -> Answer:
        """Show the repository."""
        return Answer(body=views.repository_json(call.repository, call.api))

    def _entry(self, call: Call, number: int) -> Entry:
        entry = call.repository.entries.get(number)
        if entry is not None:
            return entry
        target = call.repository.moved.get(number)
        if target is not None:
            raise _moved(f"{call.api}/repos/{target.repo}/issues/{target.number}")
        if number in call.repository.deleted:
            raise FailedError(410, "This issue was deleted")
        raise FailedError(404, "Not Found")

    def _pull(self, call: Call, number: int) -> Entry:
        entry = self._entry(call, number)
        if entry.pull is None:
            raise FailedError(404, "Not Found")
        return entry

    def issues(self, call: Call) -> Answer:
        """List entries of both kinds."""
        if not call.repository.has_issues:
            raise FailedError(410, "Issues has been disabled in this repository.")
        return self._listing(
            call,
            call.repository.entries.values(),
            lambda entry: views.issue_json(entry, call.api),
            self.limits.issues_wall,
        )

    def pulls(self, call: Call) -> Answer:
        """List pull requests in the short shape."""
        return self._listing(
            call,
            [entry for entry in call.repository.entries.values() if entry.pull],
            lambda entry: views.pull_json(self.world, entry, call.api, full=False),
            self.limits.issues_wall,
        )

    def _listing(
        self, call: Call, entries: Iterable[Entry], shape: Callable[[Entry], views.Json], wall: int
    ) -> Answer:
        state, since = call.flag("state", "open"), call.query.get("since", "")
        if state not in ("open", "closed", "all"):
            raise FailedError(422, "Validation Failed")
        matching = [
            entry
            for entry in list(entries)
            if state in ("all", entry.state) and entry.updated_at >= since
        ]
        key = ORDERS.get(call.flag("sort", "created"))
        if key is None:
            raise FailedError(422, "Validation Failed")
        descending = call.flag("direction", "desc") != "asc"
        matching.sort(key=key, reverse=descending)
        return self.pager.page(call, matching, shape, key=key, descending=descending, wall=wall)

    def issue(self, call: Call, number: int) -> Answer:
        """Show one entry as an issue."""
        return Answer(body=views.issue_json(self._entry(call, number), call.api))

    def pull(self, call: Call, number: int) -> Answer:
        """Show one pull request in full."""
        return Answer(
            body=views.pull_json(self.world, self._pull(call, number), call.api, full=True)
        )

    def all_comments(self, call: Call) -> Answer:
        """List the plain comments of all entries, of pull requests alone without issues."""
        comments = [
            comment
            for entry in list(call.repository.entries.values())
            if entry.pull or call.repository.has_issues
            for comment in entry.comments
        ]
        return self._comments(call, comments, views.comment_json)

    def all_review_comments(self, call: Call) -> Answer:
        """List the comments on lines of all pull requests."""
        entries = list(call.repository.entries.values())
        comments = [comment for entry in entries for comment in entry.review_comments()]
        return self._comments(call, comments, views.review_comment_json)

    def _comments(
        self, call: Call, comments: list[Any], shape: Callable[..., views.Json]
    ) -> Answer:
        since, sort = call.query.get("since", ""), call.query.get("sort")
        comments = [comment for comment in comments if comment.updated_at >= since]
        descending = sort is not None and call.flag("direction", "desc") != "asc"

        def key(item: Any) -> Key:
            return (getattr(item, f"{sort}_at") if sort in ("created", "updated") else "", item.id)

        comments.sort(key=key, reverse=descending)
        return self.pager.page(
            call,
            comments,
            lambda item: shape(item, call.api),
            key=key,
            descending=descending,
            wall=self.limits.comments_wall,
        )

    def review_comments(self, call: Call, number: int) -> Answer:
        """List the comments on lines of one pull request."""
        comments = list(self._pull(call, number).review_comments())
        return self.pager.page(
            call, comments, lambda comment: views.review_comment_json(comment, call.api)
        )

    def timeline(self, call: Call, number: int) -> Answer:
        """List all that happened to one entry."""
        items = self._entry(call, number).timeline
        return self.pager.page(
            call, items, lambda item: views.timeline_json(self.world, item, call.api)
        )

    def related(self, call: Call, number: int) -> Answer:
        """List an issue's parts, or what blocks it, or what it blocks."""
        entries = [self.world.entry(ref) for ref in getattr(self._entry(call, number), call.name)]
        existing = [entry for entry in entries if entry is not None]
        return self.pager.page(call, existing, lambda entry: views.issue_json(entry, call.api))

    def files(self, call: Call, number: int) -> Answer:
        """List changed files: 3,000 at most, silently none for some huge diffs."""
        pull = self._pull(call, number).pull
        files = pull.files[:FILES_LIMIT] if pull else ()
        if number in call.repository.unlisted_files:
            files = ()
        return self.pager.page(call, files, views.file_json)


def _moved(url: str) -> FailedError:
    return FailedError(301, "Moved Permanently", {"Location": url}, url=url)


_HANDLERS: dict[str, tuple[re.Pattern[str], Callable[..., Answer]]] = {
    name: (re.compile(pattern), handler)
    for name, pattern, handler in (
        ("repository", r"", RestApi.repository),
        ("issues", r"/issues", RestApi.issues),
        ("pulls", r"/pulls", RestApi.pulls),
        ("all_comments", r"/issues/comments", RestApi.all_comments),
        ("all_review_comments", r"/pulls/comments", RestApi.all_review_comments),
        ("issue", r"/issues/(\d+)", RestApi.issue),
        ("pull", r"/pulls/(\d+)", RestApi.pull),
        ("review_comments", r"/pulls/(\d+)/comments", RestApi.review_comments),
        ("timeline", r"/issues/(\d+)/timeline", RestApi.timeline),
        ("sub_issues", r"/issues/(\d+)/sub_issues", RestApi.related),
        ("blocked_by", r"/issues/(\d+)/dependencies/blocked_by", RestApi.related),
        ("blocking", r"/issues/(\d+)/dependencies/blocking", RestApi.related),
        ("files", r"/pulls/(\d+)/files", RestApi.files),
    )
}
ROUTES = tuple(dict.fromkeys((*_HANDLERS, *_ELSEWHERE.values())))
"""The names of all kinds of GET."""


def route_of(path: str) -> Route | None:
    """Return which kind of request a path is, None if there is none such."""
    if path in _ELSEWHERE:
        return Route(_ELSEWHERE[path])
    match = _REPOSITORY.fullmatch(path)
    if match is None:
        return None
    for name, (pattern, _) in _HANDLERS.items():
        inner = pattern.fullmatch((match["rest"] or "").rstrip("/"))
        if inner is not None:
            return Route(name, *map(int, inner.groups()))
    return None
