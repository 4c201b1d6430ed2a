"""Commands for the registry of tasks: list, show, check and import."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from goldpan.commands.shared import (
    PARTIAL,
    Directory,
    Json,
    print_result,
    reporting,
    settings_of,
)
from goldpan.core.errors import UsageError
from goldpan.core.workspace import Workspace
from goldpan.show import tasks as show

tasks_app = typer.Typer(
    help="List the tasks that models are evaluated on, and import their data.",
    no_args_is_help=True,
    rich_markup_mode="markdown",
)

Own = Annotated[
    Path | None,
    typer.Option("--tasks", help="A directory of tasks of your own. (default: WORKSPACE/tasks)"),
]
Name = Annotated[str, typer.Argument(help="The task's name, such as issue_type.")]


@tasks_app.command("list")
def list_tasks(
    suite: Annotated[
        str | None, typer.Option(help="Only tasks of a benchmark, such as selu or nlbse23.")
    ] = None,
    kind: Annotated[
        str | None, typer.Option("--type", help="Only tasks of a type, such as binary or ner.")
    ] = None,
    tasks: Own = None,
    workspace: Directory = None,
    json: Json = False,
) -> None:
    """List the tasks, and which have data in the workspace."""
    from goldpan.datasets.registry import load_tasks

    place, own = _places(workspace, tasks)
    known = load_tasks(own)
    suites = sorted({one for task in known.values() for one in task.suites})
    if suite is not None and suite not in suites:
        raise UsageError(f"No task is of the benchmark {suite!r}", f"There are {', '.join(suites)}")
    types = sorted({task.type for task in known.values()})
    if kind is not None and kind not in types:
        raise UsageError(f"No task is of the type {kind!r}", f"There are {', '.join(types)}")
    wanted = [
        task
        for task in known.values()
        if suite in (None, *task.suites) and kind in (None, task.type)
    ]
    lines = [show.task_line(task, place) for task in wanted]
    print_result(json, show.listed_json(lines), lambda: show.listed(lines))


@tasks_app.command("show")
def show_task(
    name: Name, tasks: Own = None, workspace: Directory = None, json: Json = False
) -> None:
    """Show everything about a task, with its prompt."""
    from goldpan.datasets.registry import find_task
    from goldpan.datasets.task_file import plain_task

    place, own = _places(workspace, tasks)
    task = find_task(name, own)
    print_result(json, plain_task(task), lambda: show.task(task, show.task_line(task, place)))


@tasks_app.command()
def validate(tasks: Own = None, workspace: Directory = None, json: Json = False) -> None:
    """Check every task file: counts, labels, steps, examples, citation and prompt.

    Exits with 1 if something is wrong.
    """
    from goldpan.datasets.task_checks import check_files

    _, own = _places(workspace, tasks)
    checked = check_files(own)
    print_result(json, show.validated_json(checked), lambda: show.validated(checked))
    raise typer.Exit(1 if checked.problems else 0)


@tasks_app.command("import")
def import_data(
    name: Name,
    files: Annotated[
        list[Path] | None,
        typer.Argument(help="The files as their authors publish them, plain or as .gz or .xz."),
    ] = None,
    download: Annotated[
        bool,
        typer.Option("--download", help="Fetch the files from the Hugging Face Hub."),
    ] = False,
    revision: Annotated[
        str | None, typer.Option(help="With --download, the commit to fetch: 40 hex digits.")
    ] = None,
    steps: Annotated[
        str,
        typer.Option(help="How texts are prepared: default, selu-paper or none."),
    ] = "default",
    split: Annotated[
        str | None,
        typer.Option(
            help="given, stratified:0.8,0.2, random:0.8,0.2 or the like. (default: the task's)"
        ),
    ] = None,
    seed: Annotated[int, typer.Option(help="Seed of the split.")] = 42,
    output: Annotated[
        Path | None,
        typer.Option(help="The dataset's directory. (default: WORKSPACE/datasets/NAME)"),
    ] = None,
    tasks: Own = None,
    workspace: Directory = None,
    json: Json = False,
) -> None:
    """Import a task's data from the files that its authors publish, and check the counts.

    Nothing is downloaded without --download. Exits with 3 if a count differs.
    """
    from goldpan.datasets.hub_download import download as fetch
    from goldpan.datasets.importing import import_files
    from goldpan.datasets.registry import find_task

    place, own = _places(workspace, tasks)
    task = find_task(name, own)
    if download and files:
        raise UsageError("Files and --download are given at once", "Give one of them")
    if revision and not download:
        raise UsageError("--revision says what to download", "Use it with --download")
    with reporting(json) as reporter:
        given = fetch(task, revision, reporter) if download else files or []
        imported = import_files(
            place,
            task,
            given,
            reporter,
            steps=steps,
            split=split or "",
            seed=seed,
            directory=output,
            processes=settings_of(workspace=workspace).processes,
        )
    print_result(json, show.imported_json(imported), lambda: show.imported(imported))
    raise typer.Exit(0 if imported.exact else PARTIAL)


def _places(workspace: Path | None, tasks: Path | None) -> tuple[Workspace, Path]:
    """Return the workspace, and the directory of tasks of one's own."""
    from goldpan.datasets.registry import tasks_directory

    place = Workspace(settings_of(workspace=workspace).workspace)
    if tasks is not None and not tasks.is_dir():
        raise UsageError(f"--tasks {tasks} is not a directory", "Give one that holds TOML files")
    return place, tasks or tasks_directory(place.root)
