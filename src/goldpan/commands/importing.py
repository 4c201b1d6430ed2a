"""The command that imports all tasks of one published source at once."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.table import Table

from goldpan.commands.shared import (
    PARTIAL,
    Directory,
    Json,
    OwnTasks,
    layout_of,
    print_result,
    reporting,
)
from goldpan.commands.tasks import Corrected
from goldpan.commands.tasks_screen import imported_json as task_imported_json
from goldpan.commands.tasks_screen import overlap_sentences
from goldpan.core.errors import UsageError
from goldpan.core.terminal import Terminal, clean
from goldpan.core.workspace import Workspace

if TYPE_CHECKING:  # these take long to import
    from goldpan.datasets.importing import ImportResult
    from goldpan.datasets.task import Task

_ANY_TABLE = "table"
"""The reader of all sources that need none of their own."""


def import_source(
    source: Annotated[str, typer.Argument(help="The source, such as nlbse23-comments.")],
    files: Annotated[list[Path], typer.Argument(help="The files as their authors publish them.")],
    corrections: Corrected = None,
    own: OwnTasks = None,
    workspace: Directory = None,
    json: Json = False,
) -> None:
    """Import all tasks of a source from its files; goldpan tasks import imports one.

    Nothing is downloaded. Exits with 3 if a count differs from the published one, or files of
    some tasks are missing.
    """
    from goldpan.annotation.studio.corrections import read_corrections
    from goldpan.datasets.importing import import_files
    from goldpan.datasets.registry import load_tasks, tasks_directory

    lab = layout_of(workspace, own)
    tasks = _tasks_of(source, load_tasks(tasks_directory(lab.root)))
    files_of = {task.name: _files_for(task, files, alone=len(tasks) == 1) for task in tasks}
    if not any(files_of.values()):
        file_names = sorted({Path(name).name for task in tasks for name in task.source.files})
        raise UsageError(
            f"None of the files is one of {source}",
            f"Give {', '.join(file_names)}, plain or as .gz or .xz, under these names",
        )
    of_task = _by_task(lab, [task for task in tasks if files_of[task.name]], corrections or ())
    with reporting(json) as reporter:
        results = [
            import_files(
                lab,
                task,
                files_of[task.name],
                reporter,
                corrections=read_corrections(lab, of_task[task.name], task),
            )
            for task in tasks
            if files_of[task.name]
        ]
    left = [task.name for task in tasks if not files_of[task.name]]
    print_result(json, imported_json(results, left), lambda: print_imported(results, left))
    raise typer.Exit(0 if not left and all(result.exact for result in results) else PARTIAL)


def _tasks_of(source: str, tasks: Mapping[str, Task]) -> list[Task]:
    """Return the tasks of a source, named after its reader or its data."""
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


def _by_task(
    lab: Workspace, tasks: Sequence[Task], projects: Sequence[str]
) -> dict[str, list[str]]:
    """Return the projects that correct each task: those whose form was made of it.

    Raises `UsageError` for a project that corrects none of the tasks.
    """
    from goldpan.annotation.studio.forms import OF_TASK
    from goldpan.annotation.studio.project import open_project

    forms = {name: open_project(lab, name).facts.form for name in projects}
    task_forms = {f"{OF_TASK}{task.name}" for task in tasks}
    for name, form in forms.items():
        if form not in task_forms:
            raise UsageError(
                f"The project {name} asks {form}, and no task that is imported here",
                "Give projects that were pushed with --task, or use goldpan tasks import",
            )
    return {
        task.name: [name for name, form in forms.items() if form == f"{OF_TASK}{task.name}"]
        for task in tasks
    }


def _files_for(task: Task, files: Sequence[Path], *, alone: bool) -> list[Path]:
    """Return the files that a task wants, by their names without endings."""
    from goldpan.datasets.import_files import stem_of

    stems = {stem_of(Path(name)).casefold() for name in task.source.files}
    if alone or not stems:
        return list(files)
    return [file for file in files if stem_of(file).casefold() in stems]


def imported_json(import_results: Sequence[ImportResult], left: Sequence[str]) -> dict[str, Any]:
    """Return the imports as plain data; `left` names the tasks whose files were not given."""
    return {
        "tasks": [task_imported_json(result) for result in import_results],
        "not_given": list(left),
    }


def print_imported(import_results: Sequence[ImportResult], left: Sequence[str]) -> None:
    """Show the imports, a line each, and what differs from the source's counts."""
    console = Terminal()
    table = Table("task", "rows", "train", "test", "counts", box=None, header_style="dim")
    for result in import_results:
        rows = {split.name: split.rows for split in result.written.splits}
        wrong = [check.what for check in result.checks if not check.exact]
        text = "differ: " + ", ".join(wrong) if wrong else f"all {len(result.checks)} match"
        sides = [f"{rows.get(side, 0):,}" for side in ("train", "test")]
        table.add_row(clean(result.task.name), f"{result.written.rows:,}", *sides, clean(text))
    console.print(table)
    for result in import_results:
        for sentence in overlap_sentences(result.overlap)[:1] if result.overlap else ():
            console.print(clean(f"{result.task.name}: {sentence}"))
        if result.date_signal is not None and (sentence := result.date_signal.sentence()):
            console.print(clean(f"{result.task.name}: {sentence}"))
    if left:
        console.print(clean(f"Files not given: {', '.join(left)}"))
