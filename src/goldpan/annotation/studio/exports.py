"""Exports: each pull keeps one, as the server sent it, and the newest is what is read.

Older exports stay below `raw/` for whoever asks what was answered before; nothing reads them.
"""

from __future__ import annotations

import filecmp
import io
import os
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import msgspec
import zstandard

from goldpan.annotation.studio.client import Number
from goldpan.annotation.studio.project import Project, SubjectKey
from goldpan.core.errors import WorkspaceError
from goldpan.core.imports import load
from goldpan.core.secrets import mask
from goldpan.core.storage.workspace import make_directory

_ENDING = ".json.zst"
_TIME = "%Y%m%dT%H%M%S.%fZ"
_LONGEST = 8_192
"""More than any spelling of a secret has."""


class ExportedAnswer(msgspec.Struct, frozen=True):
    """An answer as the server exports it."""

    id: Number
    was_cancelled: bool
    completed_by: int | dict[str, Any] | None
    lead_time: float | None
    result: list[Any]
    created_at: datetime
    updated_at: datetime

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

    @property
    def key(self) -> SubjectKey | None:
        """The subject; None where somebody else made the task, or changed it on the server."""
        try:
            return msgspec.convert(self.data, SubjectKey)
        except msgspec.ValidationError:
            return None


class ExportError(ValueError):
    """A file is not an export that can be read."""


def newest_export(project: Project) -> Path | None:
    """Return the export of the last pull; None before the first."""
    return max(project.path("raw").glob(f"[0-9]*T*{_ENDING}"), default=None)


def pulled_at(project: Project) -> datetime | None:
    """Return when the last pull began; None before the first."""
    export = newest_export(project)
    if export is None:
        return None
    return datetime.strptime(export.name.removesuffix(_ENDING), _TIME).replace(tzinfo=UTC)


@contextmanager
def new_export(project: Project, parts: Iterable[bytes]) -> Iterator[Path]:
    """Give a file with what the server sends, which becomes the newest unless the block fails."""
    began = datetime.now(UTC)
    directory = project.path("raw")
    make_directory(directory)
    scratch, earlier = directory / "new.tmp", newest_export(project)
    try:
        with scratch.open("wb") as file:
            with zstandard.ZstdCompressor(level=3).stream_writer(file, closefd=False) as packed:
                for part in _masked(parts):
                    packed.write(part)
            file.flush()
            os.fsync(file.fileno())
        yield scratch
        if earlier is not None and filecmp.cmp(earlier, scratch, shallow=False):
            earlier.unlink()  # the same answers as of a later time
        scratch.replace(directory / f"{began:{_TIME}}{_ENDING}")
    finally:
        scratch.unlink(missing_ok=True)


def _masked(parts: Iterable[bytes]) -> Iterator[bytes]:
    """Yield bytes with secrets masked, those too that lie across two parts."""
    left = b""
    for part in parts:
        masked = mask(left + part)
        yield masked[:-_LONGEST]
        left = masked[-_LONGEST:]
    yield left


def read_export(path: Path) -> Iterator[ExportedTask]:
    """Yield the tasks of an export, one at a time; raises `ExportError`."""
    ijson = load("ijson", "Reading exports of Label Studio")
    errors = (OSError, ValueError, zstandard.ZstdError, msgspec.MsgspecError, ijson.JSONError)
    try:
        with path.open("rb") as file, zstandard.ZstdDecompressor().stream_reader(file) as stream:
            for task in ijson.items(io.BufferedReader(stream), "item", use_float=True):
                yield msgspec.convert(task, ExportedTask)
    except errors as error:
        raise ExportError(str(error)) from None


def stored_tasks(project: Project) -> Iterator[ExportedTask]:
    """Yield the tasks of the last pull; raises `WorkspaceError` where its file is damaged."""
    path = newest_export(project)
    try:
        yield from () if path is None else read_export(path)
    except ExportError as error:
        raise WorkspaceError(f"{path} is damaged ({error})", "Remove it and pull again") from None
