"""Keeps every export as it came: one compressed file a request, never changed afterwards.

A file is named `PULL-PART.json.zst` and holds the tasks that were asked for beside the server's
answer, so that a task which the answer lacks is known to be gone.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import orjson
import zstandard

from goldpan.core.errors import WorkspaceError
from goldpan.core.secrets import mask
from goldpan.core.workspace import make_directory, write_whole

KEYS = ("id", "subject", "repo", "issue", "pull_repo", "pull", "comment")
"""What in a task's data says which subject it is; the rest is what annotators see."""

Task = Mapping[str, Any]
"""A task as the server exports it, with its annotations."""


@dataclass(frozen=True, slots=True)
class Export:
    """One answer of the server."""

    pull: int
    asked: tuple[int, ...]
    """Task numbers."""
    tasks: tuple[Task, ...]


class RawExports:
    """The exports of one project, in the order in which they came."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory

    def add(self, pull: int, asked: Sequence[int], content: bytes) -> Export:
        """Keep an answer and return it; it is there whole or not at all."""
        make_directory(self._directory)
        content = mask(content)
        part = 1 + len(list(self._directory.glob(f"{pull:06}-*.json.zst")))
        body = orjson.dumps({"pull": pull, "asked": list(asked), "tasks": orjson.Fragment(content)})
        packed = zstandard.ZstdCompressor(level=3).compress(body)
        write_whole(self._directory / f"{pull:06}-{part:06}.json.zst", packed)
        return Export(pull, tuple(asked), tuple(orjson.loads(content)))

    def fetched_tasks(self, pull: int) -> set[int]:
        """Return the tasks that a pull has fetched so far."""
        return {task for export in self._read(f"{pull:06}-*.json.zst") for task in export.asked}

    def last_pull(self) -> int:
        """Return the number of the last pull that fetched something; 0 where none did."""
        return max((int(path.name[:6]) for path in self._directory.glob("*.json.zst")), default=0)

    def read(self) -> Iterator[Export]:
        """Yield all exports, the oldest first; raises `WorkspaceError` for a damaged file."""
        yield from self._read("*.json.zst")

    def _read(self, pattern: str) -> Iterator[Export]:
        for path in sorted(self._directory.glob(pattern)):
            try:
                data = orjson.loads(zstandard.ZstdDecompressor().decompress(path.read_bytes()))
                yield Export(data["pull"], tuple(data["asked"]), tuple(data["tasks"]))
            except (OSError, zstandard.ZstdError, ValueError, KeyError, TypeError) as error:
                raise WorkspaceError(
                    f"{path} is damaged ({error})",
                    "Remove it together with pull.json beside raw/ and pull again",
                ) from None


class History:
    """What all exports together tell: each task as it is now, and every answer there ever was."""

    def __init__(self, exports: Iterable[Export]) -> None:
        self.latest: dict[int, Task | None] = {}
        """Tasks by number as they were last fetched; None where one was gone."""
        self._answers: dict[int, Task] = {}
        for export in exports:
            self.take(export)

    def take(self, export: Export) -> None:
        """Take a newer export in."""
        self.latest |= dict.fromkeys(export.asked)
        for task in export.tasks:
            slim = {**task, "data": {key: task["data"].get(key) for key in KEYS}}
            self.latest[int(task["id"])] = slim
            for annotation in task["annotations"]:
                self._answers[int(annotation["id"])] = {**slim, "annotations": [annotation]}

    def current_tasks(self) -> list[Task]:
        """Return the tasks that are on the server."""
        return [task for task in self.latest.values() if task is not None]

    def deleted(self) -> list[Task]:
        """Return a task for each answer that is no longer on the server, with its last version."""
        now = {
            int(annotation["id"])
            for task in self.current_tasks()
            for annotation in task["annotations"]
        }
        return [self._answers[number] for number in sorted(self._answers.keys() - now)]

    def counts(self) -> tuple[int, int, int]:
        """Return how many tasks, answers and skipped answers are on the server."""
        annotations = [
            annotation for task in self.current_tasks() for annotation in task["annotations"]
        ]
        skipped = sum(bool(annotation["was_cancelled"]) for annotation in annotations)
        return len(self.current_tasks()), len(annotations) - skipped, skipped
