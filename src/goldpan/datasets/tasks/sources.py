"""The published sources of tasks: their files, and the Hub."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from goldpan.core.errors import UsageError
from goldpan.core.result import Result
from goldpan.core.terminal import Reporter
from goldpan.datasets.table_files import stem_of
from goldpan.datasets.tasks.importing import ImportResult
from goldpan.datasets.tasks.task import Task

_REVISION = re.compile(r"[0-9a-f]{40}")
_ANY_TABLE = "table"
"""The reader of all sources that need none of their own."""


@dataclass(frozen=True, slots=True)
class SourceImport(Result):
    """The imports of a source's tasks."""

    schema = 2

    tasks: tuple[ImportResult, ...]
    not_given: tuple[str, ...]
    """Tasks whose files were not given."""

    @property
    def exit_code(self) -> int:
        """3 where a count differs from the published one, or files are missing."""
        return max((3 if self.not_given else 0, *(result.exit_code for result in self.tasks)))


def tasks_of_source(source: str, tasks: Mapping[str, Task]) -> list[Task]:
    """Return the tasks of a source, named after its reader or its data.

    Raises `UsageError` that lists all sources.
    """
    names: dict[str, list[Task]] = {}
    for task in tasks.values():
        reader = task.source.reader.replace("_", "-")
        for name in {reader, task.source.dataset} - {"", _ANY_TABLE}:
            if reader:
                names.setdefault(name, []).append(task)
    if source not in names:
        raise UsageError(
            f"There is no source {source!r} that can be imported",
            f"Choose {', '.join(sorted(names))}",
        )
    return names[source]


def files_by_task(
    source: str, tasks: Sequence[Task], files: Sequence[Path]
) -> dict[str, list[Path]]:
    """Return the files of each task, by their names without endings.

    Raises `UsageError` where none is of any task.
    """
    chosen: dict[str, list[Path]] = {}
    for task in tasks:
        stems = {stem_of(Path(name)).casefold() for name in task.source.files}
        takes_all = len(tasks) == 1 or not stems
        chosen[task.name] = [f for f in files if takes_all or stem_of(f).casefold() in stems]
    if not any(chosen.values()):
        file_names = sorted({Path(name).name for task in tasks for name in task.source.files})
        raise UsageError(
            f"None of the files is one of {source}",
            f"Give {', '.join(file_names)}, plain or as .gz or .xz, under these names",
        )
    return chosen


def download(task: Task, revision: str | None, reporter: Reporter) -> list[Path]:
    """Fetch the files that a task names into the Hub's cache, and return their paths.

    `revision` takes the place of the task's own; it has to be a commit, as branches and tags
    move. Cached files are not fetched again. Raises `UsageError` where the task is not on the Hub
    or no commit is known, `PublishError` where the Hub does not answer well.
    """
    source = task.source
    if not source.hub:
        raise UsageError(
            f"{task.name} is not on the Hugging Face Hub, so --download cannot fetch it",
            f"Get {', '.join(source.files) or 'its files'} from {source.url} and give their paths",
        )
    commit = revision or source.revision
    if not _REVISION.fullmatch(commit):
        raise UsageError(
            f"{task.name} is not pinned to a commit of {source.hub}"
            if not commit
            else f"{commit!r} is not a commit",
            "Give --revision with the 40 digits of a commit from "
            f"https://huggingface.co/datasets/{source.hub}/commits/main",
        )
    # The Hub's client takes long to import, and most commands do without.
    from huggingface_hub import get_token

    from goldpan.datasets.hub.errors import HubCall, explained
    from goldpan.datasets.hub.publish import endpoint, open_hub, quiet

    call = HubCall(source.hub, endpoint(), get_token())
    api = open_hub(call.token)
    paths = []
    with reporter.task(f"Fetching from {call.host}", len(source.files)) as progress:
        for name in source.files:
            with quiet(), explained(call, f"fetching {name}"):
                path = api.hf_hub_download(source.hub, name, repo_type="dataset", revision=commit)
            paths.append(Path(path))
            progress.advance()
    return paths
