"""A client of Label Studio's HTTP API: tokens, retries, and errors that people understand."""

from __future__ import annotations

import time
from collections.abc import Generator, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from email.utils import parsedate_to_datetime
from itertools import count
from typing import Annotated, Any, TypeVar
from urllib.parse import urlsplit

import httpx
import msgspec
import orjson

from goldpan.core.errors import GoldpanError
from goldpan.core.http import Backoff, shared_context
from goldpan.core.sanitize import line
from goldpan.core.secrets import mask, register


class StudioError(GoldpanError):
    """Label Studio or what is stored of it is missing, refuses, or is not as expected."""


class StudioFaultError(StudioError):
    """The server itself fails at a request that it should be able to answer."""


T = TypeVar("T")
_TRIES = 5
_PACE = Backoff(0.4)
_BUSY = (429, 502, 503, 504)
_PAGE_SIZE = 100
_ANSWER_EVENTS = (
    *("ANNOTATION_CREATED", "ANNOTATIONS_CREATED"),
    *("ANNOTATION_UPDATED", "ANNOTATIONS_DELETED"),
)


def _read(url: str, answer: httpx.Response, kind: type[T]) -> T:
    """Return a reply's JSON as a type; a reply that lacks something is the server's fault."""
    try:
        return msgspec.json.decode(answer.content, type=kind)
    except msgspec.ValidationError as error:
        message = line(f"ValidationError: {error}", 100)
        raise _refusal(url, answer, f"answers with something unexpected, {message},") from None
    except (msgspec.DecodeError, ValueError, RecursionError):
        raise _refusal(url, answer, "answers with something else than JSON") from None


def _refusal(url: str, answer: httpx.Response, problem: str = "") -> StudioError:
    """Return the error for a reply that is no success, or has a `problem`."""
    server = f"Label Studio at {url}"
    path = answer.request.url.path
    if answer.has_redirect_location:
        target = line(mask(answer.headers["Location"]))
        return StudioError(
            f"{server} redirects to {target}",
            "Give the address of the server itself, if you trust that one",
        )
    if answer.status_code == 403 and "reserved network" in answer.text:
        return StudioError(
            f"{server} calls no address of its own machine or of a private network",
            "Start it with SSRF_PROTECTION_ENABLED=false, or pull now and then instead",
        )
    if answer.status_code in (401, 403):
        return StudioError(
            f"{server} does not accept the access token",
            "Copy a valid one into LABEL_STUDIO_API_KEY; a legacy token works only where "
            "the organization allows legacy tokens",
        )
    if answer.status_code == 404:
        return StudioError(
            f"{server} has no {path}",
            "Check that the address is right and that nobody deleted the project there",
        )
    return (StudioFaultError if answer.status_code >= 500 else StudioError)(
        f"{server} {problem or 'refuses'} ({answer.status_code} to {path}): "
        f"{line(mask(answer.text), 300)}",
        "See that this is the address of Label Studio itself and that it is well; "
        "then this is a defect worth reporting",
    )


class _PersonalToken(httpx.Auth):
    """Exchanges a personal token for one that opens the API for five minutes."""

    requires_response_body = True

    def __init__(self, server: Server) -> None:
        self._server = server
        self._access = ""

    def auth_flow(self, request: httpx.Request) -> Generator[httpx.Request, httpx.Response]:
        if not self._access:
            self._access = self._granted((yield self._refresh()))
        request.headers["Authorization"] = f"Bearer {self._access}"
        answer = yield request
        if answer.status_code == 401:  # the five minutes are over; nothing was changed
            self._access = self._granted((yield self._refresh()))
            request.headers["Authorization"] = f"Bearer {self._access}"
            yield request

    def _refresh(self) -> httpx.Request:
        url = f"{self._server.url}/api/token/refresh"
        return httpx.Request("POST", url, json={"refresh": self._server.token})

    def _granted(self, answer: httpx.Response) -> str:
        if not answer.is_success:
            raise _refusal(self._server.url, answer)
        access = _read(self._server.url, answer, _Grant).access
        register(access)
        if not (access.isascii() and access.isprintable()):
            problem = "grants something that is not a token"
            raise _refusal(self._server.url, answer, problem)
        return access


@dataclass(frozen=True, slots=True)
class Server:
    """The address of a Label Studio server, and the token for it."""

    url: str
    token: str = field(repr=False)
    """An access token of either kind: legacy (40 hex digits) or personal (a JWT)."""


Number = Annotated[int, msgspec.Meta(le=2**63 - 1)]
"""The server's number of a thing."""


class _Grant(msgspec.Struct):
    access: str


class _Imported(msgspec.Struct):
    task_ids: list[Number]


class _Webhook(msgspec.Struct):
    url: str
    is_active: bool


class _ListedProject(msgspec.Struct):
    id: Number
    description: str | None = None


class _ProjectPage(msgspec.Struct):
    results: list[_ListedProject]
    next: Any = None


class User(msgspec.Struct, frozen=True):
    """Somebody who has an account on the server."""

    id: Number
    email: str
    date_joined: str
    """When the account was made, to the microsecond; it never changes."""
    first_name: str | None = None
    last_name: str | None = None
    username: str | None = None

    @property
    def name(self) -> str:
        """Return the user's names for themselves; all may be empty."""
        return " ".join(name or "" for name in (self.first_name, self.last_name, self.username))


class ProjectState(msgspec.Struct, frozen=True):
    """A project as it is on the server."""

    label_config: str
    """The labelling configuration as XML."""
    task_number: int | None
    total_annotations_number: int | None
    skipped_annotations_number: int | None

    @property
    def counts(self) -> tuple[int, int, int]:
        """Return how many tasks, answers and skipped answers it has."""
        answers, skipped = self.total_annotations_number, self.skipped_annotations_number
        return self.task_number or 0, answers or 0, skipped or 0


class ServerTask(msgspec.Struct, frozen=True):
    """A task on the server, without its annotations."""

    id: Number
    data: dict[str, Any]


class _TaskPage(msgspec.Struct):
    tasks: list[ServerTask]
    total: int


class ExportedAnswer(msgspec.Struct, frozen=True):
    """An answer as the server exports it."""

    id: Number
    was_cancelled: bool
    completed_by: int | dict[str, Any] | None
    lead_time: float | None
    result: list[Any]
    created_at: datetime
    updated_at: datetime
    prediction: Any = None
    """The suggestion that it was begun from, as the server describes it, unchecked."""

    @property
    def author(self) -> int | None:
        """The number of the user who gave it; None where that is unknown."""
        by = self.completed_by
        return by.get("id") if isinstance(by, dict) else by


class ExportedTask(msgspec.Struct, frozen=True):
    """A task as the server exports it, with its answers."""

    id: Number
    data: dict[str, Any]
    annotations: list[ExportedAnswer]
    drafts: Any = None
    total_predictions: Any = None


def is_web_address(url: str) -> bool:
    """Tell whether an address is one of HTTP."""
    try:
        parts = urlsplit(url)
        is_http = parts.scheme in ("http", "https")
        return is_http and parts.port != 0 and bool(httpx.URL(url).host)
    except (ValueError, httpx.InvalidURL):  # such as a port that is no number
        return False


class Studio(AbstractContextManager["Studio"]):
    """A connection to a server, which alone is ever sent the token.

    Every failure is a `StudioError`. Reads are tried again when the connection breaks or the server
    is busy. What creates something is sent once: only the caller can tell whether it arrived.
    """

    def __init__(self, server: Server) -> None:
        register(server.token)
        self.url = server.url
        personal = server.token.count(".") == 2
        self._client = httpx.Client(
            base_url=server.url,
            auth=_PersonalToken(server) if personal else None,
            headers={} if personal else {"Authorization": f"Token {server.token}"},
            timeout=httpx.Timeout(300.0, connect=10.0),
            trust_env=False,
            verify=shared_context(),
        )

    def __exit__(self, *_: object) -> None:
        self._client.close()

    def create_project(self, settings: Mapping[str, object]) -> int:
        """Create a project and return its number."""
        return self._ask("POST", "/api/projects/", _ListedProject, body=settings).id

    def project(self, number: int) -> ProjectState:
        """Return a project's configuration and counts."""
        return self._ask("GET", f"/api/projects/{number}/", ProjectState)

    def find_project(self, word: str) -> int | None:
        """Return the number of the project whose description holds a word, if there is one."""
        for page in count(1):
            params = {"page": page, "page_size": _PAGE_SIZE, "include": "id,description"}
            listed = self._ask("GET", "/api/projects/", _ProjectPage, params=params)
            found = [each.id for each in listed.results if word in (each.description or "")]
            if found or not listed.next:
                break
        return next(iter(found), None)

    def clock(self) -> str:
        """Return the server's time in ISO 8601, a little early, as it comes in whole seconds."""
        answer = self._send("GET", "/api/version")
        try:
            date = parsedate_to_datetime(answer.headers.get("Date", ""))
        except (ValueError, TypeError, OverflowError):
            problem = "answers with something unexpected, no date,"
            raise _refusal(self.url, answer, problem) from None
        return (date - timedelta(seconds=2)).astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%S.000000Z")

    def users(self) -> list[User]:
        """Return all users who have an account, by number."""
        return sorted(self._ask("GET", "/api/users/", list[User]), key=lambda user: user.id)

    def import_tasks(self, project: int, tasks: Sequence[Mapping[str, object]]) -> list[int]:
        """Create tasks in one transaction and return their numbers, in the same order."""
        path, params = f"/api/projects/{project}/import", {"return_task_ids": "true"}
        answer = self._send("POST", path, params=params, body=list(tasks))
        numbers = _read(self.url, answer, _Imported).task_ids
        if len(numbers) != len(tasks):
            problem = f"answers with something unexpected, {len(numbers)} numbers for {len(tasks)}"
            raise _refusal(self.url, answer, f"{problem} tasks,")
        return numbers

    def delete_task(self, number: int) -> None:
        """Delete a task with its annotations; one that is gone already is no error."""
        self._send("DELETE", f"/api/tasks/{number}/", missing=True)

    def newest_tasks(self, project: int) -> Iterator[ServerTask]:
        """Yield all tasks, the highest number first."""
        yield from self._tasks(project, {"ordering": ["-tasks:id"]})

    def changed_tasks(self, project: int, since: str) -> Iterator[ServerTask]:
        """Yield tasks that changed after a time, given in ISO 8601."""
        changed = {
            "filter": "filter:tasks:updated_at",
            "operator": "greater",
            "type": "Datetime",
            "value": since,
        }
        query = {"ordering": ["tasks:id"], "filters": {"conjunction": "and", "items": [changed]}}
        yield from self._tasks(project, query)

    def export(self, project: int, tasks: Sequence[int]) -> bytes:
        """Return these tasks with all their annotations as the server writes them, as JSON."""
        params = {"exportType": "JSON", "download_all_tasks": "true", "ids[]": tasks}
        answer = self._send("GET", f"/api/projects/{project}/export", params=params)
        _read(self.url, answer, list[ExportedTask])
        return answer.content

    def webhooks(self, project: int) -> set[str]:
        """Return the addresses that the server calls when something happens in a project."""
        hooks = self._ask("GET", "/api/webhooks/", list[_Webhook], params={"project": project})
        return {hook.url for hook in hooks if hook.is_active}

    def add_webhook(self, project: int, url: str) -> None:
        """Have the server call an address after each answer of a project; adds it only once.

        A call says only that there is something to pull, times out after a second and is never
        repeated. So it only saves waiting: the receiver runs `goldpan annotate pull`, which
        fetches whatever is new, however many calls were lost.
        """
        if url not in self.webhooks(project):
            hook = {"project": project, "url": url, "actions": _ANSWER_EVENTS}
            hook |= {"send_payload": False, "send_for_all_actions": False}
            self._send("POST", "/api/webhooks/", body=hook)

    def _tasks(self, project: int, query: Mapping[str, object]) -> Iterator[ServerTask]:
        for page in count(1):
            params = {
                "project": str(project),
                "fields": "task_only",
                "page": str(page),
                "page_size": str(_PAGE_SIZE),
                "query": orjson.dumps(query).decode(),
            }
            listed = self._ask("GET", "/api/tasks", _TaskPage, params=params)
            yield from listed.tasks
            if page * _PAGE_SIZE >= listed.total:
                break

    def _ask(self, method: str, path: str, kind: type[T], **options: Any) -> T:
        return _read(self.url, self._send(method, path, **options), kind)

    def _send(
        self,
        method: str,
        path: str,
        *,
        params: Any = None,
        body: object = None,
        missing: bool = False,
    ) -> httpx.Response:
        """Return a successful reply; with `missing`, 404 counts as success."""
        content = None if body is None else orjson.dumps(body)
        headers = {"Content-Type": "application/json"} if content else {}
        tries = 1 if method == "POST" else _TRIES
        for attempt in range(tries):
            if attempt:
                time.sleep(_PACE.pause(attempt))
            try:
                answer = self._client.request(
                    method, path, params=params, content=content, headers=headers
                )
            except httpx.RequestError as error:
                if attempt + 1 < tries:
                    continue
                raise StudioError(
                    f"Label Studio at {self.url} does not answer ({type(error).__name__})",
                    "See that it runs and try again: what is done stays done",
                ) from None
            if answer.is_success or (missing and answer.status_code == 404):
                return answer
            if answer.status_code not in _BUSY:
                break
        raise _refusal(self.url, answer)
