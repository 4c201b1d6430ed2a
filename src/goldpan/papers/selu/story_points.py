"""Reads story points as Choetkiertikul et al. publish them: one CSV file a project.

Some of the sixteen projects can be given; the counts of the others are then told as missing.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from goldpan.core.errors import UsageError
from goldpan.datasets.import_files import stem_of
from goldpan.datasets.imports import table
from goldpan.datasets.task import Task

_REPO = "repo:"


def read(task: Task, files: Sequence[Path]) -> Iterator[dict[str, Any]]:
    """Yield the tasks of each project, which a file is named after.

    Raises `UsageError` for a file that bears no project's name, or two files of one project.
    """
    projects = [key.removeprefix(_REPO) for key in task.counts if key.startswith(_REPO)]
    seen: set[str] = set()
    for path in files:
        project = stem_of(path).lower().removeprefix("storypoints_")
        if project not in projects:
            raise UsageError(
                f"{path} is named after none of the projects", f"They are {', '.join(projects)}"
            )
        if project in seen:
            raise UsageError(f"{path} is the second file of {project}", "Give it once")
        seen.add(project)
        for row in table.read(replace(task, name=f"{task.name}:{project}"), [path]):
            number = row["id"].rpartition(":")[2]
            yield {**row, "id": f"{task.name}:{project}:{number}", "repo": project}
