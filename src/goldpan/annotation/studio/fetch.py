"""Fetches annotators' answers, and keeps each as the server sent it.

A file is named `PULL-PART.json.zst` and holds the tasks that were asked for beside the server's
answer, so that a task which the answer lacks is known to be gone.

Deleting many answers at once leaves no mark on their tasks, so the server's counts are compared
with ours afterwards, and where they differ everything is fetched. A pull that is killed goes on
with the tasks that it lacks.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import msgspec
import orjson
import zstandard

from goldpan.annotation.studio.client import Studio
from goldpan.annotation.studio.project import Project, TaskJournal
from goldpan.annotation.studio.transport import StudioFaultError
from goldpan.core.errors import WorkspaceError
from goldpan.core.progress import Reporter
from goldpan.core.secrets import mask
from goldpan.core.workspace import make_directory, write_whole

KEYS = ("id", "subject", "repo", "issue", "pull_repo", "pull", "comment")
"""The keys of a task's data that identify its subject; annotators see the rest."""
ExportedTask = Mapping[str, Any]
"""A task as the server exports it, with its annotations."""


@dataclass(frozen=True, slots=True)
class Export:
    """One answer of the server."""

    pull: int
    asked: tuple[int, ...]
    """Task numbers."""
    tasks: tuple[ExportedTask, ...]


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
                data = zstandard.ZstdDecompressor().decompress(path.read_bytes())
                yield msgspec.json.decode(data, type=Export)
            except (OSError, zstandard.ZstdError, msgspec.MsgspecError) as error:
                raise WorkspaceError(
                    f"{path} is damaged ({error})",
                    "Remove it together with pull.json beside raw/ and pull again",
                ) from None


class ExportHistory:
    """The state of a project after all exports: each task as it is now, and every answer so far."""

    def __init__(self, exports: Iterable[Export]) -> None:
        self.latest: dict[int, ExportedTask | None] = {}
        """Tasks by number as they were last fetched; None where one was gone."""
        self._answers: dict[int, ExportedTask] = {}
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

    def current_tasks(self) -> list[ExportedTask]:
        """Return the tasks that are on the server."""
        return [task for task in self.latest.values() if task is not None]

    def deleted(self) -> list[ExportedTask]:
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


_AT_ONCE = 250


@dataclass(frozen=True, slots=True)
class _State:
    """The progress of pulling: `pull.json`."""

    pull: int = 0
    since: str | None = None
    """Changes before this time of the server are here."""
    asked: tuple[int, ...] | None = None
    """Tasks of a pull under way."""
    began: str | None = None
    """When that pull began, by the server's clock."""
    whole: bool = False
    """True where the pull fetches everything."""
    surplus: tuple[int, int, int] = (0, 0, 0)
    """The server's counts beyond ours after everything was fetched: other people's tasks."""


class Fetcher:
    """Fetches the tasks of one project that changed, into its raw exports."""

    def __init__(
        self, project: Project, studio: Studio, journal: TaskJournal, reporter: Reporter
    ) -> None:
        self._project = project
        self._studio = studio
        self._journal = journal
        self._reporter = reporter
        self._raw = RawExports(project.path("raw"))
        self._path = project.path("pull.json")
        stored = self._path.read_bytes() if self._path.exists() else b"{}"
        self._state = msgspec.json.decode(stored, type=_State)
        self.history = ExportHistory(self._raw.read())
        """All that was ever fetched."""
        self.fetched = 0
        """Tasks that were fetched now."""
        self.unreadable: list[int] = []
        """Tasks that the server cannot export, such as those with half a surrogate pair."""

    def run(self) -> None:
        """Fetch what an earlier pull lacks, what changed, and everything where counts differ."""
        if self._state.asked is not None:
            self._finish()
        if self._state.since is None:
            self._begin(whole=True)
        else:
            self._begin(whole=False)
            if self.surplus() != self._state.surplus:
                self._begin(whole=True)

    def surplus(self) -> tuple[int, int, int]:
        """Return what the server counts beyond what is here: tasks, answers, skipped ones."""
        server = self._studio.project(self._project.number)
        tasks, answers, skipped = self.history.counts()
        return (
            server.tasks - tasks,
            server.answers - answers,
            server.skipped - skipped,
        )

    def _begin(self, *, whole: bool) -> None:
        began = self._studio.clock()
        task_numbers = set(self._journal.subjects)
        if not whole and self._state.since is not None:
            changed = self._studio.changed_tasks(self._project.number, self._state.since)
            numbers = {int(task["id"]) for task in changed}
            if not numbers:
                return  # no file of ours changes either
            task_numbers &= numbers
        # A pull that fetched nothing left no file, so its number is free.
        self._save(
            replace(
                self._state,
                pull=self._raw.last_pull() + 1,
                asked=tuple(sorted(task_numbers)),
                began=began,
                whole=whole,
            )
        )
        self._finish()

    def _finish(self) -> None:
        """Fetch the tasks that the pull under way still lacks."""
        state = self._state
        have = self._raw.fetched_tasks(state.pull)
        missing = [number for number in state.asked or () if number not in have]
        with self._reporter.task(f"{self._project.name}: answers", len(missing)) as progress:
            for start in range(0, len(missing), _AT_ONCE):
                batch = missing[start : start + _AT_ONCE]
                self._take(state.pull, batch)
                progress.advance(len(batch))
        self.fetched += len(missing)
        surplus = self.surplus() if state.whole else state.surplus
        self._save(_State(state.pull, since=state.began, surplus=surplus))

    def _take(self, pull: int, numbers: list[int]) -> None:
        """Fetch tasks; where the server fails at one, the others come all the same."""
        try:
            content = self._studio.export(self._project.number, numbers)
        except StudioFaultError:
            if len(numbers) == 1:
                self.unreadable.append(numbers[0])
                return
            self._studio.project(
                self._project.number
            )  # else nothing works, which is no task's fault
            self._take(pull, numbers[: len(numbers) // 2])
            self._take(pull, numbers[len(numbers) // 2 :])
            return
        self.history.take(self._raw.add(pull, numbers, content))

    def _save(self, state: _State) -> None:
        write_whole(self._path, orjson.dumps(state))
        self._state = state
