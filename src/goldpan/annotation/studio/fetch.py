"""Fetches what changed on the server since the last pull.

Deleting many answers at once leaves no mark on their tasks, so the server's counts are compared
with ours afterwards, and where they differ everything is fetched. A pull that is killed goes on
with the tasks that it lacks.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass, replace
from pathlib import Path

import orjson

from goldpan.annotation.studio.client import Studio
from goldpan.annotation.studio.errors import StudioFaultError
from goldpan.annotation.studio.project import Journal, Project
from goldpan.annotation.studio.raw import History, RawExports
from goldpan.core.progress import Reporter
from goldpan.core.workspace import write_whole

_AT_ONCE = 250


@dataclass(frozen=True, slots=True)
class _State:
    """How far pulling has come: `pull.json`."""

    pull: int = 0
    since: str | None = None
    """Changes before this time of the server are here."""
    asked: tuple[int, ...] | None = None
    """Tasks of a pull under way."""
    began: str | None = None
    """When that pull began, by the server's clock."""
    whole: bool = False
    """Whether it fetches everything."""
    surplus: tuple[int, int, int] = (0, 0, 0)
    """What the server counts beyond ours after everything was fetched: other people's tasks."""


class Fetcher:
    """Fetches the tasks of one project that changed, into its raw exports."""

    def __init__(
        self, project: Project, studio: Studio, journal: Journal, reporter: Reporter
    ) -> None:
        self._project = project
        self._studio = studio
        self._journal = journal
        self._reporter = reporter
        self._raw = RawExports(project.path("raw"))
        self._path = project.path("pull.json")
        self._state = _load(self._path)
        self.history = History(self._raw.read())
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
        write_whole(self._path, orjson.dumps(asdict(state)))
        self._state = state


def _load(path: Path) -> _State:
    if not path.exists():
        return _State()
    data = orjson.loads(path.read_bytes())
    asked = data["asked"]
    return _State(
        **{
            **data,
            "asked": None if asked is None else tuple(asked),
            "surplus": tuple(data["surplus"]),
        }
    )
