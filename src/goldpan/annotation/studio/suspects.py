"""The rows that were chosen for people by how suspect their labels are: `suspects.json`.

It stays beside the project and never goes to the server: whoever knows that a label is suspected
no longer judges it by itself. Controls, drawn among the other rows, are mixed in unseen; they say
how often labels are wrong that nobody suspects.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import orjson

from goldpan.annotation.studio.errors import StudioError
from goldpan.annotation.studio.forms import Task
from goldpan.annotation.studio.project import Project
from goldpan.core.errors import UsageError
from goldpan.core.workspace import write_whole

_FILE = "suspects.json"


@dataclass(frozen=True, slots=True)
class Suspect:
    """A row that was chosen."""

    id: str
    rank: int
    """From 1, the most suspect."""
    margin: float
    """Of its label, as `goldpan evaluate label-errors` gives it."""
    control: bool
    """Whether it was drawn among the rows that were not taken by their rank."""


@dataclass(frozen=True, slots=True)
class Selection:
    """Rows chosen of a task's data, and by what."""

    task: str
    data_hash: str
    """Of the rows that were ranked."""
    folds: int
    seed: int
    rows: tuple[Suspect, ...]

    @property
    def ids(self) -> frozenset[str]:
        """Return the rows' ids."""
        return frozenset(row.id for row in self.rows)

    def mixed(self, tasks: Iterable[Task]) -> list[Task]:
        """Return tasks in an order that tells nothing about how suspect they are."""
        return sorted(tasks, key=lambda task: _draw(self.seed, "order", task.subject_id))


def choose(
    ranked: Sequence[tuple[str, float]],
    suspects: int,
    controls: int,
    *,
    task: str,
    data_hash: str,
    folds: int,
    seed: int,
) -> Selection:
    """Return the first `suspects` of ranked rows, and `controls` drawn among the others.

    `ranked` are ids and margins, the most suspect first. Raises `UsageError` for a number that
    takes none.
    """
    if suspects < 1 or controls < 0:
        raise UsageError(
            f"{suspects} suspects and {controls} controls cannot be sent", "Give 1 or more, and 0"
        )
    numbered = [Suspect(id, rank, margin, False) for rank, (id, margin) in enumerate(ranked, 1)]
    rest = sorted(numbered[suspects:], key=lambda row: _draw(seed, "control", row.id))
    others = [Suspect(row.id, row.rank, row.margin, True) for row in rest[:controls]]
    rows = (*numbered[:suspects], *sorted(others, key=lambda row: row.rank))
    return Selection(task, data_hash, folds, seed, rows)


def write_selection(project: Project, selection: Selection) -> None:
    """Keep a selection beside a project; rows of earlier ones stay as they were chosen.

    Raises `UsageError` where the project holds rows of another task.
    """
    earlier = read_selection(project)
    if earlier is not None and earlier.task != selection.task:
        raise UsageError(
            f"The project {project.name} holds suspects of {earlier.task}", "Give another --project"
        )
    by_id = {row.id: row for row in (*selection.rows, *(earlier.rows if earlier else ()))}
    rows = sorted(by_id.values(), key=lambda row: (row.rank, row.id))
    plain = {**asdict(selection), "rows": [asdict(row) for row in rows]}
    write_whole(project.path(_FILE), orjson.dumps(plain, option=orjson.OPT_INDENT_2))


def read_selection(project: Project) -> Selection | None:
    """Return what was chosen for a project; None where nothing was chosen by rank."""
    path = project.path(_FILE)
    if not path.exists():
        return None
    try:
        plain: Mapping[str, Any] = orjson.loads(path.read_bytes())
        rows = tuple(Suspect(**row) for row in plain["rows"])
        return Selection(**{**plain, "rows": rows})
    except (OSError, ValueError, TypeError, KeyError) as error:
        raise StudioError(
            f"{path} is damaged ({error})", "Remove it and push the same suspects again"
        ) from None


def _draw(seed: int, what: str, id: str) -> bytes:
    return hashlib.sha256(f"{seed}\0{what}\0{id}".encode("utf-8", "surrogatepass")).digest()
