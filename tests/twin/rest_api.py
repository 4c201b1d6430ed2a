"""The REST endpoints without their transport: routes, filters, pages and Link headers."""

from __future__ import annotations

import re
import zlib
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import parse_qsl, urlencode

from . import rest_views as views
from .store import World
from .world import Entry, Repository

DIFF = "application/vnd.github.diff"
_FILES_LIMIT = 3000
_DOCS = "https://docs.github.com/rest"
_ROUTE = re.compile(
    r"/(?:repos/(?P<owner>[^/]+)/(?P<name>[^/]+)|repositories/(?P<id>\d+))(?P<rest>/.*)?"
)


@dataclass(frozen=True, slots=True)
class Answer:
    """A reply: body as JSON or bytes, status, and headers beyond the ordinary ones."""

    body: Any
    status: int = 200
    headers: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Walls:
    """How many rows GitHub lists before it refuses to page on."""

    issues: int = 10_000
    comments: int = 30_000


@dataclass(frozen=True, slots=True)
class _Call:
    """One GET: where it goes and what it asks."""

    path: str
    query: dict[str, str]
    api: str
    repository: Repository
    accept: str

    def flag(self, name: str, default: str) -> str:
        return self.query.get(name, default)


class _FailedError(Exception):
    def __init__(self, status: int, message: str, headers: dict[str, str] | None = None) -> None:
        self.answer = failure(status, message, headers)
        super().__init__(message)


def failure(status: int, message: str, headers: dict[str, str] | None = None) -> Answer:
    """Return an error reply in GitHub's shape."""
    body = {"message": message, "documentation_url": _DOCS, "status": str(status)}
    return Answer(body, status, headers or {})


@dataclass(frozen=True, slots=True)
class RestApi:
    """Answers GET requests from a world."""

    world: World
    walls: Walls = Walls()

    def get(self, target: str, api: str, *, authenticated: bool = True, accept: str = "") -> Answer:
        """Answer a request target (path and query); `api` is the base URL for links."""
        path, _, text = target.partition("?")
        query = dict(parse_qsl(text, keep_blank_values=True))
        match = _ROUTE.fullmatch(path)
        if match is None:
            return failure(404, "Not Found")
        try:
            repository = self._repository(match, api, text)
            if repository.private and not authenticated:
                raise _FailedError(404, "Not Found")
            rest = (match["rest"] or "").rstrip("/")
            return self._route(_Call(path, query, api, repository, accept), rest)
        except _FailedError as problem:
            return problem.answer

    def _repository(self, match: re.Match[str], api: str, query: str) -> Repository:
        if match["id"]:
            found = self.world.repository_by_id(int(match["id"]))
        else:
            name = f"{match['owner']}/{match['name']}"
            found = self.world.repository(name, follow=False)
            if found is None:
                moved = self.world.repository(name)
                if moved is not None:
                    url = f"{api}/repositories/{moved.id}{match['rest'] or ''}"
                    raise _moved(f"{url}?{query}" if query else url)
        if found is None:
            raise _FailedError(404, "Not Found")
        if found.blocked:
            raise _FailedError(451, "Repository access blocked")
        return found

    def _route(self, call: _Call, rest: str) -> Answer:
        if not rest:
            return Answer(views.repository_json(call.repository, call.api))
        for pattern, handler in _ROUTES:
            match = pattern.fullmatch(rest)
            if match is not None:
                return handler(self, call, *map(int, match.groups()))
        raise _FailedError(404, "Not Found")

    def _entry(self, call: _Call, number: int) -> Entry:
        entry = call.repository.entries.get(number)
        if entry is not None:
            return entry
        target = call.repository.moved.get(number)
        if target is not None:
            raise _moved(f"{call.api}/repos/{target.repo}/issues/{target.number}")
        if number in call.repository.deleted:
            raise _FailedError(410, "This issue was deleted")
        raise _FailedError(404, "Not Found")

    def _pull(self, call: _Call, number: int) -> Entry:
        entry = self._entry(call, number)
        if entry.pull is None:
            raise _FailedError(404, "Not Found")
        return entry

    def issues(self, call: _Call) -> Answer:
        """List entries of both kinds."""
        return self._listing(
            call,
            call.repository.entries.values(),
            lambda entry: views.issue_json(entry, call.api),
            self.walls.issues,
        )

    def pulls(self, call: _Call) -> Answer:
        """List pull requests in the short shape."""
        return self._listing(
            call,
            [entry for entry in call.repository.entries.values() if entry.pull],
            lambda entry: views.pull_json(self.world, entry, call.api, full=False),
            self.walls.issues,
        )

    def _listing(
        self,
        call: _Call,
        entries: Iterable[Entry],
        shape: Callable[[Entry], views.Json],
        wall: int,
    ) -> Answer:
        state, since = call.flag("state", "open"), call.query.get("since", "")
        if state not in ("open", "closed", "all"):
            raise _FailedError(422, "Validation Failed")
        keys: dict[str, Callable[[Entry], Any]] = {
            "created": lambda entry: (entry.created_at, entry.id),
            "updated": lambda entry: (entry.updated_at, entry.id),
            "comments": lambda entry: (len(entry.comments), entry.id),
        }
        found = [
            entry
            for entry in list(entries)
            if state in ("all", entry.state) and entry.updated_at >= since
        ]
        key = keys.get(call.flag("sort", "created"))
        if key is None:
            raise _FailedError(422, "Validation Failed")
        found.sort(key=key, reverse=call.flag("direction", "desc") != "asc")
        return _page(call, found, shape, wall)

    def issue(self, call: _Call, number: int) -> Answer:
        """Show one entry as an issue."""
        return Answer(views.issue_json(self._entry(call, number), call.api))

    def pull(self, call: _Call, number: int) -> Answer:
        """Show one pull request in full, or its diff as text where that is asked for."""
        if call.accept == DIFF:
            return self._diff(call, number)
        return Answer(views.pull_json(self.world, self._pull(call, number), call.api, full=True))

    def _diff(self, call: _Call, number: int) -> Answer:
        pull = self._pull(call, number).pull
        if number in call.repository.unlisted_files:
            raise _FailedError(406, "Sorry, the diff exceeded the maximum number of lines (20000)")
        kind = {"Content-Type": f"{DIFF}; charset=utf-8"}
        return Answer(views.diff_text(pull.files if pull else ()), headers=kind)

    def all_comments(self, call: _Call) -> Answer:
        """List the plain comments of all entries."""
        found = [one for entry in list(call.repository.entries.values()) for one in entry.comments]
        return self._comments(call, found, views.comment_json)

    def all_review_comments(self, call: _Call) -> Answer:
        """List the comments on lines of all pull requests."""
        entries = list(call.repository.entries.values())
        found = [one for entry in entries for one in entry.review_comments()]
        return self._comments(call, found, views.review_comment_json)

    def _comments(self, call: _Call, found: list[Any], shape: Callable[..., views.Json]) -> Answer:
        since, sort = call.query.get("since", ""), call.query.get("sort")
        found = [one for one in found if one.updated_at >= since]
        found.sort(
            key=lambda one: (
                getattr(one, f"{sort}_at") if sort in ("created", "updated") else "",
                one.id,
            ),
            reverse=sort is not None and call.flag("direction", "desc") != "asc",
        )
        return _page(call, found, lambda one: shape(one, call.api), self.walls.comments)

    def comments(self, call: _Call, number: int) -> Answer:
        """List the plain comments of one entry."""
        since = call.query.get("since", "")
        found = [one for one in self._entry(call, number).comments if one.updated_at >= since]
        return _page(call, found, lambda one: views.comment_json(one, call.api))

    def review_comments(self, call: _Call, number: int) -> Answer:
        """List the comments on lines of one pull request."""
        found = list(self._pull(call, number).review_comments())
        return _page(call, found, lambda one: views.review_comment_json(one, call.api))

    def reviews(self, call: _Call, number: int) -> Answer:
        """List the reviews of one pull request."""
        found = self._pull(call, number).reviews
        return _page(call, found, lambda one: views.review_json(one, call.api))

    def timeline(self, call: _Call, number: int) -> Answer:
        """List all that happened to one entry."""
        found = self._entry(call, number).timeline
        return _page(call, found, lambda one: views.timeline_json(self.world, one, call.api))

    def files(self, call: _Call, number: int) -> Answer:
        """List changed files: 3,000 at most, silently none for some huge diffs."""
        pull = self._pull(call, number).pull
        found = pull.files[:_FILES_LIMIT] if pull else ()
        if number in call.repository.unlisted_files:
            found = ()
        return _page(call, found, views.file_json)

    def commits(self, call: _Call, number: int) -> Answer:
        """List the commits of one pull request."""

        def shape(commit: Any) -> views.Json:
            made = views.commit_json(commit, call.api)
            inner = {key: made[key] for key in ("author", "committer", "message")}
            outer = {key: made[key] for key in ("sha", "node_id", "url", "html_url", "parents")}
            return {**outer, "commit": inner, "author": None, "committer": None}

        return _page(call, self._pull(call, number).commits, shape)


def _moved(url: str) -> _FailedError:
    return _FailedError(301, "Moved Permanently", {"Location": url})


_ROUTES: tuple[tuple[re.Pattern[str], Callable[..., Answer]], ...] = tuple(
    (re.compile(pattern), handler)
    for pattern, handler in (
        (r"/issues", RestApi.issues),
        (r"/pulls", RestApi.pulls),
        (r"/issues/comments", RestApi.all_comments),
        (r"/pulls/comments", RestApi.all_review_comments),
        (r"/issues/(\d+)", RestApi.issue),
        (r"/pulls/(\d+)", RestApi.pull),
        (r"/issues/(\d+)/comments", RestApi.comments),
        (r"/pulls/(\d+)/comments", RestApi.review_comments),
        (r"/issues/(\d+)/timeline", RestApi.timeline),
        (r"/pulls/(\d+)/files", RestApi.files),
        (r"/pulls/(\d+)/reviews", RestApi.reviews),
        (r"/pulls/(\d+)/commits", RestApi.commits),
    )
)


def _number(call: _Call, name: str, default: int) -> int:
    try:
        return max(1, int(call.query.get(name, default)))
    except ValueError:
        return default


def _page(
    call: _Call, items: Sequence[Any], shape: Callable[[Any], Any], wall: int | None = None
) -> Answer:
    """Cut out a page; every page but the first is only to be had by following Link."""
    per_page = min(100, _number(call, "per_page", 30))
    page = _number(call, "page", 1)
    if page > 1 and per_page > 1 and call.query.get("cursor") != _token(call, page):
        raise _FailedError(422, "Pages are to be reached by the Link header only.")
    if wall is not None and page * per_page > wall:
        raise _FailedError(
            422, f"In order to keep the API fast, only the first {wall} results are listed."
        )
    last = max(1, -(-len(items) // per_page))
    relations: dict[str, int] = {}
    if page > 1:
        relations |= {"prev": page - 1, "first": 1}
    if page < last:
        relations |= {"next": page + 1, "last": last}
    links = [f'<{_link(call, number)}>; rel="{name}"' for name, number in relations.items()]
    start = (page - 1) * per_page
    rows = [shape(item) for item in items[start : start + per_page]]
    return Answer(rows, headers={"Link": ", ".join(links)} if links else {})


def _token(call: _Call, page: int) -> str:
    kept = sorted(item for item in call.query.items() if item[0] not in ("page", "cursor"))
    rest = re.sub(r"^/repos/[^/]+/[^/]+|^/repositories/\d+", "", call.path)
    return f"{zlib.crc32(repr((call.repository.id, rest, kept, page)).encode()):08x}"


def _link(call: _Call, page: int) -> str:
    rest = re.sub(r"^/repos/[^/]+/[^/]+|^/repositories/\d+", "", call.path)
    query = {**call.query, "page": str(page)}
    query.pop("cursor", None)
    if page > 1:
        query["cursor"] = _token(call, page)
    return f"{call.api}/repositories/{call.repository.id}{rest}?{urlencode(query)}"
