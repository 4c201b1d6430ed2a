"""Talks to a Label Studio server: the few calls of its REST API that annotation needs."""

from __future__ import annotations

import re
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, timedelta
from email.utils import parsedate_to_datetime
from types import TracebackType
from typing import Any, Self
from urllib.parse import urlsplit

import httpx
import orjson

from goldpan.annotation.studio.errors import StudioError, StudioFaultError
from goldpan.errors import UsageError

_TRIES = 5
_PAGE = 100
_TIMEOUT = httpx.Timeout(300.0, connect=10.0)


@dataclass(frozen=True, slots=True)
class Server:
    """Where a Label Studio server is, and as whom it is used."""

    url: str
    token: str = field(repr=False)
    """An access token of either kind: legacy (40 hex digits) or personal (a JWT)."""


@dataclass(frozen=True, slots=True)
class User:
    """Somebody who has an account on the server."""

    number: int
    address: str
    name: str
    """What they call themselves; may be empty."""
    joined: str
    """When the account was made, to the microsecond; it never changes."""


def find_server(url: str | None, environment: Mapping[str, str]) -> Server:
    """Return the server that a flag or `LABEL_STUDIO_URL` names, with `LABEL_STUDIO_API_KEY`.

    Raises `UsageError` where one is missing or wrong.
    """
    found = url or environment.get("LABEL_STUDIO_URL") or ""
    parts = urlsplit(found)
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise UsageError(
            f"{found!r} is not the address of a Label Studio server",
            "Give --url http://127.0.0.1:8080 or set LABEL_STUDIO_URL; "
            "goldpan annotate serve starts a server",
        )
    if parts.username or parts.password or parts.query:
        raise UsageError(
            "The server's address holds credentials or a query",
            "Give the token through LABEL_STUDIO_API_KEY alone",
        )
    token = (environment.get("LABEL_STUDIO_API_KEY") or "").strip()
    if not re.fullmatch(r"[\x21-\x7e]+", token):
        raise UsageError(
            "There is no access token for Label Studio",
            "Copy one from Account & Settings there into the variable LABEL_STUDIO_API_KEY",
        )
    return Server(found.rstrip("/"), token)


class Studio:
    """A connection to a server; every failure is a `StudioError`.

    Reads are tried again when the connection breaks or the server is busy. What creates
    something is sent once: only the caller can tell whether it arrived.
    """

    def __init__(self, server: Server) -> None:
        self.url = server.url
        self._token = server.token
        self._personal = server.token.count(".") == 2
        self._client = httpx.Client(base_url=server.url, timeout=_TIMEOUT, trust_env=False)
        if not self._personal:
            self._client.headers["Authorization"] = f"Token {server.token}"

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._client.close()

    def create_project(self, settings: Mapping[str, object]) -> int:
        """Create a project and return its number."""
        return int(self._json("POST", "/api/projects/", body=settings)["id"])

    def project(self, number: int) -> dict[str, Any]:
        """Return a project's settings and counts."""
        return dict(self._json("GET", f"/api/projects/{number}/"))

    def find_project(self, word: str) -> int | None:
        """Return the number of the project whose description holds a word, if there is one."""
        page = 1
        while True:
            params = {"page": str(page), "page_size": "100", "include": "id,description"}
            answer = self._json("GET", "/api/projects/", params=params)
            for one in answer["results"]:
                if word in str(one.get("description")):
                    return int(one["id"])
            if not answer.get("next"):
                return None
            page += 1

    def clock(self) -> str:
        """Return the server's time in ISO 8601, a little early: it tells whole seconds."""
        answer = self._send("GET", "/api/version")
        told = parsedate_to_datetime(answer.headers["Date"])
        return (told - timedelta(seconds=2)).astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%S.000000Z")

    def users(self) -> list[User]:
        """Return everybody who has an account, by number."""
        found = [
            User(
                int(one["id"]),
                str(one["email"]),
                " ".join(
                    str(one.get(key) or "") for key in ("first_name", "last_name", "username")
                ),
                str(one["date_joined"]),
            )
            for one in self._json("GET", "/api/users/")
        ]
        return sorted(found, key=lambda user: user.number)

    def import_tasks(self, project: int, tasks: Sequence[Mapping[str, object]]) -> list[int]:
        """Create tasks in one transaction and return their numbers, in the same order."""
        answer = self._json(
            "POST",
            f"/api/projects/{project}/import",
            params={"return_task_ids": "true"},
            body=list(tasks),
        )
        return [int(number) for number in answer["task_ids"]]

    def delete_task(self, number: int) -> None:
        """Delete a task with its annotations; one that is gone already is no error."""
        self._send("DELETE", f"/api/tasks/{number}/", missing=True)

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
        return self._send("GET", f"/api/projects/{project}/export", params=params).content

    def webhooks(self, project: int) -> set[str]:
        """Return the addresses that the server calls when something happens in a project."""
        found = self._json("GET", "/api/webhooks/", params={"project": str(project)})
        return {str(one["url"]) for one in found if one["is_active"]}

    def add_webhook(self, project: int, url: str, actions: Sequence[str]) -> None:
        """Have the server call an address after these actions, telling it nothing but which."""
        hook = {"project": project, "url": url, "actions": list(actions)}
        hook |= {"send_payload": False, "send_for_all_actions": False}
        self._json("POST", "/api/webhooks/", body=hook)

    def _tasks(self, project: int, query: Mapping[str, object]) -> Iterator[dict[str, Any]]:
        page = 1
        while True:
            params = {
                "project": str(project),
                "fields": "task_only",
                "page": str(page),
                "page_size": str(_PAGE),
                "query": orjson.dumps(query).decode(),
            }
            answer = self._json("GET", "/api/tasks", params=params)
            yield from answer["tasks"]
            if page * _PAGE >= answer["total"]:
                return
            page += 1

    def _json(self, method: str, path: str, **given: Any) -> Any:
        answer = self._send(method, path, **given)
        try:
            return orjson.loads(answer.content)
        except orjson.JSONDecodeError:
            raise self._refusal(answer, "answers with something else than JSON") from None

    def _send(
        self,
        method: str,
        path: str,
        *,
        params: Any = None,
        body: object = None,
        missing: bool = False,
    ) -> httpx.Response:
        content = None if body is None else orjson.dumps(body)
        headers = {"Content-Type": "application/json"} if content else {}
        tries = 1 if method == "POST" else _TRIES
        renewed = False
        for attempt in range(1, 1 + tries):
            if self._personal and "Authorization" not in self._client.headers:
                self._renew()
            try:
                answer = self._client.request(
                    method, path, params=params, content=content, headers=headers
                )
            except httpx.TransportError as error:
                if attempt < tries:
                    time.sleep(0.2 * 2**attempt)
                    continue
                raise StudioError(
                    f"Label Studio at {self.url} does not answer ({type(error).__name__})",
                    "See that it runs and try again: what is done stays done",
                ) from None
            if answer.status_code == 401 and self._personal and not renewed:
                # What it granted lasts five minutes; a refused request changed nothing.
                self._renew()
                renewed = True
                answer = self._client.request(
                    method, path, params=params, content=content, headers=headers
                )
            if answer.is_success or (missing and answer.status_code == 404):
                return answer
            if answer.status_code in (429, 502, 503, 504) and attempt < tries:
                time.sleep(0.2 * 2**attempt)
                continue
            break
        raise self._refusal(answer)

    def _renew(self) -> None:
        """Exchange the personal token for one that opens the API for five minutes."""
        self._client.headers.pop("Authorization", None)
        try:
            answer = self._client.post("/api/token/refresh", json={"refresh": self._token})
        except httpx.TransportError as error:
            raise StudioError(
                f"Label Studio at {self.url} does not answer ({type(error).__name__})",
                "See that it runs and try again",
            ) from None
        if not answer.is_success:
            raise self._refusal(answer)
        self._client.headers["Authorization"] = f"Bearer {answer.json()['access']}"

    def _refusal(self, answer: httpx.Response, problem: str = "") -> StudioError:
        place = f"Label Studio at {self.url}"
        path = answer.request.url.path
        if answer.status_code == 403 and "reserved network" in answer.text:
            return StudioError(
                f"{place} calls no address of its own machine or of a private network",
                "Start it with SSRF_PROTECTION_ENABLED=false, or pull now and then instead",
            )
        if answer.status_code in (401, 403):
            return StudioError(
                f"{place} does not accept the access token",
                "Copy a valid one into LABEL_STUDIO_API_KEY; a legacy token works only where "
                "the organization allows legacy tokens",
            )
        if answer.status_code == 404:
            return StudioError(
                f"{place} has no {path}",
                "See that the address is right and that nobody deleted the project there",
            )
        said = " ".join(answer.text.split())[:300]
        kind = StudioFaultError if answer.status_code >= 500 else StudioError
        return kind(
            f"{place} {problem or 'refuses'} ({answer.status_code} to {path}): {said}",
            "If the server is well, this is a defect worth reporting",
        )
