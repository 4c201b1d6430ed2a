"""Label Studio through label-studio-sdk, with errors that people understand."""

from __future__ import annotations

import re
import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field
from datetime import datetime
from typing import Annotated, Any, TypeVar

import httpx
import msgspec

from goldpan.core.errors import GoldpanError
from goldpan.core.http import shared_context
from goldpan.core.imports import load
from goldpan.core.sanitize import line
from goldpan.core.secrets import mask, register


class StudioError(GoldpanError):
    """Label Studio or what is stored of it is missing, refuses, or is not as expected."""


class StudioFaultError(StudioError):
    """The server fails at what was asked for."""


T = TypeVar("T")
_ONCE = {"max_retries": 0}
"""For what creates something: only the caller can tell whether it arrived."""
_PAGE_SIZE = 100
_MOST_LOST = 20
"""Tasks, one after the other, that cannot be exported before the server counts as broken."""
_OLDEST = (1, 21)
_UNSEEN = (
    *("inner_id", "completed_at", "annotators", "annotations_results", "annotations_ids"),
    *("total_predictions", "predictions_score", "predictions_model_versions"),
    *("predictions_results", "file_upload", "storage_filename", "created_at", "updated_at"),
    *("updated_by", "avg_lead_time", "draft_exists"),
)
"""Columns of the server's own that lists do not show: others' answers, and what is empty."""
_TAG = re.compile(r"<[^>]*>")
_FULL = re.compile("disk is full|disk I/O error|No space left", re.IGNORECASE)
"""How SQLite and Python tell of a disk without space."""


@dataclass(frozen=True, slots=True)
class Server:
    """The address of a Label Studio server, and the token for it."""

    url: str
    token: str = field(repr=False)
    """An access token of either kind: legacy (40 hex digits) or personal (a JWT)."""


Number = Annotated[int, msgspec.Meta(le=2**63 - 1)]
"""The server's number of a thing."""


class User(msgspec.Struct, frozen=True):
    """Somebody who has an account on the server."""

    id: Number
    email: str
    date_joined: datetime
    """When the account was made, to the microsecond; it never changes."""


class ServerProject(msgspec.Struct, frozen=True):
    """A project as it is on the server."""

    id: Number
    description: str | None = None
    label_config: str | None = None
    """The labeling configuration as XML."""


class ServerTask(msgspec.Struct, frozen=True):
    """A task on the server, without its answers."""

    id: Number
    data: dict[str, Any]


class Studio(AbstractContextManager["Studio"]):
    """A connection to a server, which alone is ever sent the token.

    Every failure is a `StudioError`. Reads are tried again when the connection breaks or the server
    is busy. What creates something is sent once.
    """

    def __init__(self, server: Server) -> None:
        register(server.token)
        sdk = load("label_studio_sdk", "Annotation in Label Studio")
        self._core = load("label_studio_sdk.core", "Annotation in Label Studio")
        self.url = server.url
        self._path = ""
        self._http = httpx.Client(
            timeout=httpx.Timeout(300.0, connect=10.0),
            trust_env=False,
            verify=shared_context(),
            event_hooks={"request": [self._note]},
        )
        with self._telling():
            self._sdk = sdk.LabelStudio(
                base_url=f"{server.url}/",  # the SDK asks for tokens beside an address without it
                api_key=server.token,
                httpx_client=self._http,
            )

    def __exit__(self, *_: object) -> None:
        self._http.close()

    def check_version(self) -> None:
        """Raise `StudioError` for a server that is older than the oldest which the SDK is for."""
        with self._telling():
            release = msgspec.convert(self._sdk.versions.get().release, str)
            version = tuple(map(int, re.findall(r"\d+", release)[:2]))
        if version < _OLDEST:
            raise StudioError(
                f"{self.url} runs Label Studio {line(release, 40)}, and Goldpan needs "
                f"{'.'.join(map(str, _OLDEST))} or later",
                "Update that server, or start one with goldpan annotate serve --install",
            )

    def create_project(self, key: str, hidden: Sequence[str], **settings: object) -> int:
        """Create a project whose list of tasks opens without some data; return its number.

        One whose description holds the key, as a push leaves that was killed, is taken up.
        """
        columns = [f"tasks:{name}" for name in _UNSEEN] + [f"tasks:data.{name}" for name in hidden]
        data = {"title": "Tasks", "hiddenColumns": {"explore": columns, "labeling": columns}}
        with self._telling():
            found = [_checked(each, ServerProject) for each in self._sdk.projects.list()]
            numbers = [each.id for each in found if key in (each.description or "")]
            if not numbers:
                made = self._sdk.projects.create(**settings, request_options=_ONCE)
                numbers.append(_checked(made, ServerProject).id)
            if not self._sdk.views.list(project=numbers[0]):
                self._sdk.views.create(project=numbers[0], data=data, request_options=_ONCE)
        return numbers[0]

    def project(self, number: int) -> ServerProject:
        """Return a project."""
        with self._telling():
            return _checked(self._sdk.projects.get(number), ServerProject)

    def users(self) -> list[User]:
        """Return all users who have an account, by number."""
        with self._telling():
            users = [_checked(user, User) for user in self._sdk.users.list()]
        return sorted(users, key=lambda user: user.id)

    def invitation(self) -> str:
        """Return the page, from the server's address on, where whoever has its link signs up."""
        with self._telling():
            return msgspec.convert(
                self._sdk.organizations.invites.get_invite_link().invite_url, str
            )

    def import_tasks(self, project: int, tasks: Sequence[Mapping[str, object]]) -> None:
        """Create tasks in one transaction; editions for companies do it soon after."""
        with self._telling():
            imported = self._sdk.projects.import_tasks(
                project, request=list(tasks), request_options=_ONCE
            )
            told = imported.dict()
            if "import" not in told and told.get("task_count") != len(tasks):
                raise ValueError(f"{told.get('task_count')} of {len(tasks)} tasks")

    def tasks(self, project: int) -> Iterator[ServerTask]:
        """Yield all tasks of a project, by number."""
        with self._telling():
            query = '{"ordering": ["tasks:id"]}'
            for task in self._sdk.tasks.list(
                project=project, fields="task_only", query=query, page_size=_PAGE_SIZE
            ):
                yield _checked(task, ServerTask)

    def remove_copies(self, project: int) -> None:
        """Remove tasks that repeat another, which takes over their answers."""
        everything = {"all": True, "excluded": []}
        with self._telling():
            self._sdk.actions.create(
                id="remove_duplicates", project=project, selected_items=everything
            )

    def export(self, project: int, lost: list[int]) -> Iterator[bytes]:
        """Yield the tasks of a project with their answers as the server writes them: JSON arrays.

        It is one, of all. Where the server fails at some task it is several, and the numbers of
        the tasks that it cannot export are added to `lost`.
        """
        try:
            yield from self._exported(project)
        except StudioFaultError:
            numbers = [task.id for task in self.tasks(project)]
            left = [numbers[at : at + _PAGE_SIZE] for at in range(0, len(numbers), _PAGE_SIZE)]
            worked = False
            while left:
                some = left.pop()
                try:
                    yield from self._exported(project, some)
                    worked = True
                except StudioFaultError:
                    if len(some) > 1:
                        left += some[: len(some) // 2], some[len(some) // 2 :]
                        continue
                    lost += some
                    if not worked and len(lost) >= _MOST_LOST:
                        raise
            if not worked:
                raise

    def _exported(self, project: int, numbers: Sequence[int] = ()) -> Iterator[bytes]:
        """Yield an export of all tasks or of some."""
        # The SDK spells the numbers otherwise than the server reads them.
        some = {"additional_query_parameters": {"ids[]": list(numbers)}, **_ONCE}
        with self._telling():
            yield from self._sdk.projects.exports.download_sync(
                project,
                export_type="JSON",
                download_all_tasks=True,
                request_options=some if numbers else None,
            )

    def _note(self, request: httpx.Request) -> None:
        """Keep the path for errors, and learn the token that a personal one was changed for."""
        self._path = request.url.path
        register(request.headers.get("Authorization", "").rpartition(" ")[2])

    @contextmanager
    def _telling(self) -> Iterator[None]:
        """Raise every failure as a `StudioError`."""
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", DeprecationWarning)  # of the SDK's own code
                yield
        except httpx.RequestError as error:
            raise StudioError(
                f"Label Studio at {self.url} does not answer ({type(error).__name__})",
                "Check that it is running and try again: finished work is kept",
            ) from None
        except self._core.ApiError as error:
            raise self._refusal(error.status_code or 0, error.headers or {}, error.body) from None
        except GoldpanError:
            raise
        except Exception as error:  # noqa: BLE001 - the SDK raises whatever its reading meets
            message = f"{type(error).__name__}: {line(mask(str(error)), 200)}"
            raise StudioError(
                f"Label Studio at {self.url} answers with something unexpected to {self._path} "
                f"({message})",
                "Check that this is the address of Label Studio itself, and that it is healthy",
            ) from None

    def _refusal(self, status: int, headers: Mapping[str, str], body: object) -> StudioError:
        server, words = f"Label Studio at {self.url}", _words(body)
        kind = StudioError
        problem = f"{server} refuses {self._path} ({status}): {words}"
        remedy = (
            "Check that this is the address of Label Studio itself and that the server is healthy"
        )
        if 300 <= status < 400:
            problem = f"{server} redirects to {line(mask(headers.get('location', 'nowhere')))}"
            remedy = "Give the address of the server itself, if you trust that one"
        elif status == 507 or (status >= 500 and _FULL.search(words)):
            problem = f"The disk of {server} is full ({words})"
            remedy = "Free space there and run the same command again: finished work is kept"
        elif status == 403:
            remedy = "Give the access token of somebody who may do this there"
        elif status == 401:
            problem = f"{server} does not accept the access token ({words})"
            remedy = (
                "Copy a valid one into LABEL_STUDIO_API_KEY; a legacy token works only where "
                "the organization allows legacy tokens"
            )
        elif status == 404:
            problem = f"{server} has no {self._path}"
            remedy = "Check that the address is right and that nobody deleted the project there"
        elif status >= 500:
            kind = StudioFaultError
            remedy = "Read its log, and run the same command again: what is done stays done"
        return kind(problem, remedy)


def _words(body: object) -> str:
    """Return what a refusal says to people; a page says it between its tags."""
    told = body if isinstance(body, dict) else {"detail": body}
    parts = [str(told[name]) for name in ("detail", "validation_errors") if told.get(name)]
    return line(mask(_TAG.sub(" ", " ".join(parts) or str(body))), 300)


def _checked(found: object, kind: type[T]) -> T:
    """Return what the SDK read as a type of ours: the SDK itself checks nothing."""
    return msgspec.convert(found, kind, from_attributes=True)
