"""Talks to Label Studio over its HTTP API: tokens, tries, and errors told for people."""

from __future__ import annotations

import time
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from email.utils import parsedate_to_datetime
from typing import Any, TypeVar
from urllib.parse import urlsplit

import httpx
import msgspec
import orjson

from goldpan.core.errors import GoldpanError, UsageError
from goldpan.core.http import Backoff, shared_context
from goldpan.core.sanitize import line
from goldpan.core.secrets import mask, register


class StudioError(GoldpanError):
    """Label Studio is not there, refuses, or holds something else than it should."""


class StudioFaultError(StudioError):
    """The server itself fails at a request that it should be able to answer."""


T = TypeVar("T")
_TRIES = 5
_PACE = Backoff(0.4)
_BUSY = (429, 502, 503, 504)
_NO_JSON = (orjson.JSONDecodeError, msgspec.DecodeError)
_MISREAD = (*_NO_JSON, LookupError, TypeError, ValueError, AttributeError, OverflowError)


class StudioTransport:
    """A connection to a server, which alone is ever sent the token.

    Reads are tried again when the connection breaks or the server is busy. What creates
    something is sent once: only the caller can tell whether it arrived.
    """

    def __init__(self, url: str, token: str) -> None:
        register(token)
        self.url = url
        personal = token.count(".") == 2
        self._client = httpx.Client(
            base_url=url,
            auth=_PersonalToken(self, token) if personal else None,
            headers={} if personal else {"Authorization": f"Token {token}"},
            timeout=httpx.Timeout(300.0, connect=10.0),
            trust_env=False,
            verify=shared_context(),
        )

    def close(self) -> None:
        """Close the connection."""
        self._client.close()

    def ask(self, method: str, path: str, read: Callable[[Any], T], **options: Any) -> T:
        """Return what `read` makes of a reply's JSON; it may fail as lookups do."""
        answer = self.send(method, path, **options)
        return self.understand(answer, lambda: read(orjson.loads(answer.content)))

    def understand(self, answer: httpx.Response, read: Callable[[], T]) -> T:
        """Return what a reply is read as; a reply that lacks something is the server's fault."""
        try:
            return read()
        except _MISREAD as error:
            if isinstance(error, _NO_JSON) and not isinstance(error, msgspec.ValidationError):
                raise self.refusal(answer, "answers with something else than JSON") from None
            message = line(f"{type(error).__name__}: {error}", 100)
            raise self.refusal(answer, f"answers with something unexpected, {message},") from None

    def send(
        self,
        method: str,
        path: str,
        *,
        params: Any = None,
        body: object = None,
        missing: bool = False,
    ) -> httpx.Response:
        """Return a reply that tells of success, or with `missing` that nothing is there."""
        content = None if body is None else orjson.dumps(body)
        headers = {"Content-Type": "application/json"} if content else {}
        tries = 1 if method == "POST" else _TRIES
        for attempt in range(1, 1 + tries):
            try:
                answer = self._client.request(
                    method, path, params=params, content=content, headers=headers
                )
            except httpx.RequestError as error:
                if attempt < tries:
                    time.sleep(_PACE.pause(attempt))
                    continue
                raise StudioError(
                    f"Label Studio at {self.url} does not answer ({type(error).__name__})",
                    "See that it runs and try again: what is done stays done",
                ) from None
            if answer.is_success or (missing and answer.status_code == 404):
                return answer
            if answer.status_code not in _BUSY or attempt == tries:
                break
            time.sleep(_PACE.pause(attempt))
        raise self.refusal(answer)

    def refusal(self, answer: httpx.Response, problem: str = "") -> StudioError:
        """Return the error that tells what the server did not do, and the remedy."""
        server = f"Label Studio at {self.url}"
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
        message = line(mask(answer.text), 300)
        kind = StudioFaultError if answer.status_code >= 500 else StudioError
        return kind(
            f"{server} {problem or 'refuses'} ({answer.status_code} to {path}): {message}",
            "See that this is the address of Label Studio itself and that it is well; "
            "then this is a defect worth reporting",
        )


class _PersonalToken(httpx.Auth):
    """Exchanges a personal token for one that opens the API for five minutes."""

    requires_response_body = True

    def __init__(self, transport: StudioTransport, token: str) -> None:
        self._transport = transport
        self._token = token
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
        url = f"{self._transport.url}/api/token/refresh"
        return httpx.Request("POST", url, json={"refresh": self._token})

    def _granted(self, answer: httpx.Response) -> str:
        if not answer.is_success:
            raise self._transport.refusal(answer)
        read = self._transport.understand
        access = read(answer, lambda: str(orjson.loads(answer.content)["access"]))
        register(access)
        if not (access.isascii() and access.isprintable()):
            raise self._transport.refusal(answer, "grants something that is not a token")
        return access


_PAGE = 100
_ANSWERED = (
    "ANNOTATION_CREATED",
    "ANNOTATIONS_CREATED",
    "ANNOTATION_UPDATED",
    "ANNOTATIONS_DELETED",
)


class _ExportedAnswer(msgspec.Struct):
    id: int
    was_cancelled: bool
    completed_by: int | dict[str, Any] | None
    lead_time: float | None
    result: list[Any]
    created_at: datetime
    updated_at: datetime


class _ExportedTask(msgspec.Struct):
    id: int
    data: dict[str, Any]
    annotations: list[_ExportedAnswer]


_EXPORT = msgspec.json.Decoder(list[_ExportedTask])


@dataclass(frozen=True, slots=True)
class Server:
    """The address of a Label Studio server, and the token for it."""

    url: str
    token: str = field(repr=False)
    """An access token of either kind: legacy (40 hex digits) or personal (a JWT)."""


@dataclass(frozen=True, slots=True)
class User:
    """Somebody who has an account on the server."""

    number: int
    address: str
    name: str
    """The user's name for themselves; may be empty."""
    joined: str
    """When the account was made, to the microsecond; it never changes."""


@dataclass(frozen=True, slots=True)
class ProjectState:
    """A project as it is on the server."""

    configuration: str
    """The labelling configuration as XML."""
    tasks: int
    answers: int
    """Without those that were skipped."""
    skipped: int


def is_web_address(url: str) -> bool:
    """Tell whether an address is one of HTTP."""
    try:
        parts = urlsplit(url)
        named = parts.scheme in ("http", "https") and parts.port != 0
        return named and bool(httpx.URL(url).host)
    except (ValueError, httpx.InvalidURL):  # such as a port that is no number
        return False


class Studio(AbstractContextManager["Studio"]):
    """A connection to a server; every failure is a `StudioError`."""

    def __init__(self, server: Server) -> None:
        self.url = server.url
        self._http = StudioTransport(server.url, server.token)

    def __exit__(self, *_: object) -> None:
        self._http.close()

    def create_project(self, settings: Mapping[str, object]) -> int:
        """Create a project and return its number."""
        return self._http.ask("POST", "/api/projects/", _number, body=settings)

    def project(self, number: int) -> ProjectState:
        """Return a project's configuration and counts."""
        return self._http.ask("GET", f"/api/projects/{number}/", _project)

    def find_project(self, word: str) -> int | None:
        """Return the number of the project whose description holds a word, if there is one."""

        def read(reply: Any) -> tuple[int | None, bool]:
            projects = [
                project for project in reply["results"] if word in str(project.get("description"))
            ]
            return (_number(projects[0]) if projects else None), bool(reply.get("next"))

        page, number, more = 0, None, True
        while number is None and more:
            page += 1
            params = {"page": str(page), "page_size": "100", "include": "id,description"}
            number, more = self._http.ask("GET", "/api/projects/", read, params=params)
        return number

    def clock(self) -> str:
        """Return the server's time in ISO 8601, a little early: it tells whole seconds."""
        answer = self._http.send("GET", "/api/version")
        date = self._http.understand(answer, lambda: parsedate_to_datetime(answer.headers["Date"]))
        return (date - timedelta(seconds=2)).astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%S.000000Z")

    def users(self) -> list[User]:
        """Return everybody who has an account, by number."""
        accounts = self._http.ask(
            "GET", "/api/users/", lambda reply: [_user(item) for item in _listed(reply)]
        )
        return sorted(accounts, key=lambda user: user.number)

    def import_tasks(self, project: int, tasks: Sequence[Mapping[str, object]]) -> list[int]:
        """Create tasks in one transaction and return their numbers, in the same order."""

        def read(reply: Any) -> list[int]:
            numbers = [int(number) for number in reply["task_ids"]]
            if len(numbers) != len(tasks):
                raise ValueError(f"{len(numbers)} numbers for {len(tasks)} tasks")
            return numbers

        return self._http.ask(
            "POST",
            f"/api/projects/{project}/import",
            read,
            params={"return_task_ids": "true"},
            body=list(tasks),
        )

    def delete_task(self, number: int) -> None:
        """Delete a task with its annotations; one that is gone already is no error."""
        self._http.send("DELETE", f"/api/tasks/{number}/", missing=True)

    def newest_tasks(self, project: int) -> Iterator[dict[str, Any]]:
        """Yield all tasks without annotations, the highest number first."""
        yield from self._tasks(project, {"ordering": ["-tasks:id"]})

    def changed_tasks(self, project: int, since: str) -> Iterator[dict[str, Any]]:
        """Yield tasks without annotations that changed after a time, given in ISO 8601."""
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
        params: list[tuple[str, str]] = [("exportType", "JSON"), ("download_all_tasks", "true")]
        params += [("ids[]", str(number)) for number in tasks]
        answer = self._http.send("GET", f"/api/projects/{project}/export", params=params)
        self._http.understand(answer, lambda: _EXPORT.decode(answer.content))
        return answer.content

    def webhooks(self, project: int) -> set[str]:
        """Return the addresses that the server calls when something happens in a project."""
        return self._http.ask(
            "GET",
            "/api/webhooks/",
            lambda reply: {str(hook["url"]) for hook in _listed(reply) if hook["is_active"]},
            params={"project": str(project)},
        )

    def add_webhook(self, project: int, url: str) -> None:
        """Have the server call an address after each answer of a project, once only.

        A call tells nothing but that there is something to pull, is given up after a second and
        never repeated. So it only saves waiting: whoever is called runs `goldpan annotate pull`,
        which fetches whatever is new, however many calls were lost.
        """
        if url not in self.webhooks(project):
            hook = {"project": project, "url": url, "actions": _ANSWERED}
            hook |= {"send_payload": False, "send_for_all_actions": False}
            self._http.send("POST", "/api/webhooks/", body=hook)

    def _tasks(self, project: int, query: Mapping[str, object]) -> Iterator[dict[str, Any]]:
        page = total = 0
        while page == 0 or page * _PAGE < total:
            page += 1
            params = {
                "project": str(project),
                "fields": "task_only",
                "page": str(page),
                "page_size": str(_PAGE),
                "query": orjson.dumps(query).decode(),
            }
            tasks, total = self._http.ask("GET", "/api/tasks", _page, params=params)
            yield from tasks


def _number(reply: Any) -> int:
    return int(reply["id"])


def _project(reply: Any) -> ProjectState:
    return ProjectState(
        str(reply["label_config"]),
        int(reply["task_number"] or 0),
        int(reply["total_annotations_number"] or 0),
        int(reply["skipped_annotations_number"] or 0),
    )


def _user(reply: Any) -> User:
    names = (str(reply.get(key) or "") for key in ("first_name", "last_name", "username"))
    return User(_number(reply), str(reply["email"]), " ".join(names), str(reply["date_joined"]))


def _page(reply: Any) -> tuple[list[dict[str, Any]], int]:
    tasks = [{**task, "id": _number(task), "data": dict(task["data"])} for task in reply["tasks"]]
    return tasks, int(reply["total"])


def _listed(reply: Any) -> list[Any]:
    if not isinstance(reply, list):
        raise TypeError(f"{type(reply).__name__} in the place of a list")
    return reply


def check_address(url: str) -> None:
    """Raise `UsageError` for what is no address that a server could call."""
    if not is_web_address(url):
        raise UsageError(
            f"{url!r} is not an address that Label Studio could call",
            "Give --webhook https://HOST/PATH",
        )
