"""Pages of REST lists and their Link headers, by number or by cursor as each list is set."""

from __future__ import annotations

import re
import threading
import zlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal
from urllib.parse import urlencode

from tests.local_server import Answer

from .paging import Key, RefusedError, paginate
from .world import Repository

_DOCS = "https://docs.github.com/rest"


class FailedError(Exception):
    """Ends the work on a request; `answer` is the reply."""

    def __init__(
        self, status: int, message: str, headers: dict[str, str] | None = None, **more: Any
    ) -> None:
        self.answer = failure(status, message, headers, **more)
        super().__init__(message)


def failure(
    status: int, message: str, headers: dict[str, str] | None = None, **more: Any
) -> Answer:
    """Return an error reply in GitHub's shape; `more` are further keys of its body."""
    body = {"message": message, **more, "documentation_url": _DOCS, "status": str(status)}
    return Answer(status, body, headers or {})


Style = Literal["numbered", "numbered without last", "cursor"]
_CURSORS = ("after", "page", "cursor")
_LARGE = (
    "Pagination with the page parameter is not supported for large datasets, please use cursor "
    "based pagination (after/before)"
)


@dataclass(frozen=True, slots=True)
class Expired:
    """A page of a list (named as its route) whose cursor is refused; `times` None: always."""

    list: str
    page: int
    times: int | None = 1


@dataclass(frozen=True, slots=True)
class Paging:
    """How each list, named as its route, is cut into pages; those not named are numbered.

    By default as GitHub has done it since April 2025: issues by cursor, all others by number.
    """

    styles: Mapping[str, Style] = field(default_factory=lambda: {"issues": "cursor"})
    expired: tuple[Expired, ...] = ()


@dataclass(frozen=True, slots=True)
class Call:
    """One GET: where it goes and what it asks; `name` is its route's."""

    path: str
    query: dict[str, str]
    api: str
    repository: Repository
    name: str

    def flag(self, name: str, default: str) -> str:
        """Return a parameter."""
        return self.query.get(name, default)

    def number(self, name: str, default: int) -> int:
        """Return a parameter that is a positive number."""
        try:
            return max(1, int(self.query.get(name, default)))
        except ValueError:
            return default

    @property
    def per_page(self) -> int:
        """Return how many rows a page has."""
        return min(100, self.number("per_page", 30))

    @property
    def page(self) -> int:
        """Return which page is asked for."""
        return self.number("page", 1)

    def link(self, **position: str) -> str:
        """Return the address of another page of the same list."""
        remaining = {key: value for key, value in self.query.items() if key not in _CURSORS}
        rest = _below_repository(self.path)
        return (
            f"{self.api}/repositories/{self.repository.id}{rest}?{urlencode(remaining | position)}"
        )


@dataclass(slots=True)
class Pager:
    """Cuts pages as `Paging` says; remembers how often cursors were refused."""

    paging: Paging
    _refused: dict[Expired, int] = field(default_factory=dict)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def page(
        self,
        call: Call,
        items: Sequence[Any],
        shape: Callable[[Any], Any],
        *,
        key: Callable[[Any], Key] | None = None,
        descending: bool = False,
        wall: int | None = None,
    ) -> Answer:
        """Cut out a page of sorted `items`; `key` is what they are sorted by.

        Every page but the first is only to be had by following Link. A cursor names a place in
        the order, so deletions do not shift pages; a `wall` ends the numbered lists.
        """
        style = self.paging.styles.get(call.name, "numbered")
        if style == "cursor":
            return self._by_cursor(call, items, shape, key, descending)
        return self._numbered(call, items, shape, wall, last=style == "numbered")

    def _by_cursor(
        self,
        call: Call,
        items: Sequence[Any],
        shape: Callable[[Any], Any],
        key: Callable[[Any], Key] | None,
        descending: bool,
    ) -> Answer:
        after = call.query.get("after")
        if not after and call.page > 1:
            raise FailedError(422, _LARGE)
        if after:
            self._expire(call)
        order = (call.flag("sort", "created"), call.flag("direction", "desc"))
        scope = f"{call.repository.id}:{_below_repository(call.path)}:{order}"
        try:
            window = paginate(
                items,
                scope,
                {"first": call.per_page, "after": after},
                key=key,
                descending=descending,
            )
        except RefusedError as refusal:
            raise _bad_cursor() from refusal
        links = []
        if window.has_next and window.end:
            page = str(call.page + 1)
            links.append(f'<{call.link(after=window.end, page=page)}>; rel="next"')
        return _answer([shape(item) for item in window.nodes], links)

    def _numbered(
        self,
        call: Call,
        items: Sequence[Any],
        shape: Callable[[Any], Any],
        wall: int | None,
        *,
        last: bool,
    ) -> Answer:
        size, page = call.per_page, call.page
        if page > 1 and size > 1 and call.query.get("cursor") != _token(call, page):
            raise FailedError(422, "Pages are to be reached by the Link header only.")
        if wall is not None and page * size > wall:
            raise FailedError(
                422, f"In order to keep the API fast, only the first {wall} results are listed."
            )
        if page > 1:
            self._expire(call)
        count = max(1, -(-len(items) // size))
        relations: dict[str, int] = {}
        if page < count:
            relations["next"] = page + 1
            if last:
                relations["last"] = count
        links = [
            f'<{call.link(**_position(call, number))}>; rel="{name}"'
            for name, number in relations.items()
        ]
        start = (page - 1) * size
        return _answer([shape(item) for item in items[start : start + size]], links)

    def _expire(self, call: Call) -> None:
        for plan in self.paging.expired:
            if (plan.list, plan.page) != (call.name, call.page):
                continue
            with self._lock:
                refused = self._refused.get(plan, 0)
                self._refused[plan] = refused + 1
            if plan.times is None or refused < plan.times:
                raise _bad_cursor()


def _answer(rows: list[Any], links: list[str]) -> Answer:
    return Answer(body=rows, headers={"Link": ", ".join(links)} if links else {})


def _bad_cursor() -> FailedError:
    errors = [{"resource": "Issue", "field": "after", "code": "invalid"}]
    return FailedError(422, "Validation Failed", errors=errors)


def _below_repository(path: str) -> str:
    return re.sub(r"^/repos/[^/]+/[^/]+|^/repositories/\d+", "", path)


def _position(call: Call, page: int) -> dict[str, str]:
    position = {"page": str(page)}
    return {**position, "cursor": _token(call, page)} if page > 1 else position


def _token(call: Call, page: int) -> str:
    filters = sorted(item for item in call.query.items() if item[0] not in ("page", "cursor"))
    identity = (call.repository.id, _below_repository(call.path), filters, page)
    return f"{zlib.crc32(repr(identity).encode()):08x}"
