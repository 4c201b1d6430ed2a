"""Commands for the registry of tasks: list, show, check and import."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from goldpan.commands.shared import (
    PARTIAL,
    Directory,
    Json,
    OwnTasks,
    layout_of,
    print_result,
    reporting,
    settings_of,
)
from goldpan.commands.tasks_screen import (
    imported_json,
    listed_json,
    print_added,
    print_imported,
    print_listed,
    print_task,
    print_validated,
    task_line,
    validated_json,
)
from goldpan.core.errors import UsageError
from goldpan.datasets.splits import SPLIT_FORMS

if TYPE_CHECKING:  # these take long to import
    from goldpan.core.workspace import Workspace

tasks_app = typer.Typer(
    help="List the tasks that models are evaluated on, and import their data.",
    no_args_is_help=True,
    rich_markup_mode="markdown",
)

Corrected = Annotated[
    list[str] | None,
    typer.Option(
        "--corrections",
        help="An annotation project whose decisions replace labels; may be given several times.",
    ),
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
    tasks: OwnTasks = None,
    workspace: Directory = None,
    json: Json = False,
) -> None:
    """List the tasks, and which have data in the workspace."""
    from goldpan.datasets.registry import load_tasks

    lab, own = _layout_and_tasks(workspace, tasks)
    catalogue = load_tasks(own)
    suites = sorted({name for task in catalogue.values() for name in task.suites})
    if suite is not None and suite not in suites:
        raise UsageError(f"There is no benchmark {suite!r}", f"There are {', '.join(suites)}")
    types = sorted({task.type for task in catalogue.values()})
    if kind is not None and kind not in types:
        raise UsageError(f"There is no task of the type {kind!r}", f"There are {', '.join(types)}")
    matching = [
        task
        for task in catalogue.values()
        if suite in (None, *task.suites) and kind in (None, task.type)
    ]
    lines = [task_line(task, lab) for task in matching]
    print_result(json, listed_json(lines), lambda: print_listed(lines))


@tasks_app.command("show")
def show_task(
    name: Name, tasks: OwnTasks = None, workspace: Directory = None, json: Json = False
) -> None:
    """Show everything about a task, with its prompt."""
    from goldpan.datasets.registry import find_task
    from goldpan.datasets.task_file import plain_task

    lab, own = _layout_and_tasks(workspace, tasks)
    task = find_task(name, own)
    print_result(json, plain_task(task), lambda: print_task(task, task_line(task, lab)))


@tasks_app.command()
def validate(tasks: OwnTasks = None, workspace: Directory = None, json: Json = False) -> None:
    """Check every task file: counts, labels, steps, examples, citation and prompt.

    Exits with 1 if something is wrong.
    """
    from goldpan.datasets.task_checks import check_files

    _, own = _layout_and_tasks(workspace, tasks)
    checked = check_files(own)
    print_result(json, validated_json(checked), lambda: print_validated(checked))
    raise typer.Exit(1 if checked.problems else 0)


@tasks_app.command()
def add(
    name: Annotated[str, typer.Argument(help="The task's name, in snake_case.")],
    file: Annotated[
        list[Path] | None,
        typer.Option(help="A table with the rows: CSV, TSV, JSON Lines, XLSX or Parquet."),
    ] = None,
    text: Annotated[
        list[str] | None,
        typer.Option(help="A column of texts; several are joined by line breaks, in this order."),
    ] = None,
    label: Annotated[str, typer.Option(help="The column of correct answers.")] = "",
    repo: Annotated[str, typer.Option(help="The column of projects, if there is one.")] = "",
    document: Annotated[str, typer.Option(help="The column of documents or threads.")] = "",
    tasks: OwnTasks = None,
    workspace: Directory = None,
    json: Json = False,
) -> None:
    """Make a task of your own from a table, and import its rows.

    The type and the labels are read from the label column. Everything that is missing is reported
    at once.
    """
    from goldpan.core.workspace import make_directory, write_whole
    from goldpan.datasets.importing import import_files
    from goldpan.datasets.own_task import describe_task
    from goldpan.datasets.registry import load_tasks
    from goldpan.datasets.task_file import read_task

    lab, own = _layout_and_tasks(workspace, tasks)
    paths = list(file or ())
    described = describe_task(name, paths, text or (), label, repo=repo, document=document)
    path = own / f"{name}.toml"
    if name in load_tasks(own):
        raise UsageError(
            f"The task {name} already exists", f"Choose another name, or change or remove {path}"
        )
    task = read_task(str(path), described)
    with reporting(json) as reporter:
        imported = import_files(lab, task, paths, reporter)
    make_directory(own)
    write_whole(path, described.encode())
    value = {**imported_json(imported), "file": str(path), "type": task.type}
    print_result(json, value, lambda: print_added(imported, path))


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
        typer.Option(help=f"{SPLIT_FORMS}. (default: the task's)"),
    ] = None,
    seed: Annotated[int, typer.Option(help="Seed of the split.")] = 42,
    output: Annotated[
        Path | None,
        typer.Option(help="The dataset's directory. (default: WORKSPACE/datasets/NAME)"),
    ] = None,
    corrections: Corrected = None,
    tasks: OwnTasks = None,
    workspace: Directory = None,
    json: Json = False,
) -> None:
    """Import a task's data from the files that its authors publish, and check the counts.

    Nothing is downloaded without --download. Exits with 3 if a count differs.
    """
    from goldpan.annotation.studio.corrections import read_corrections
    from goldpan.datasets.hub_download import download as fetch
    from goldpan.datasets.importing import import_files
    from goldpan.datasets.registry import find_task

    lab, own = _layout_and_tasks(workspace, tasks)
    task = find_task(name, own)
    if download and files:
        raise UsageError("Both files and --download are given", "Give one of them")
    if revision and not download:
        raise UsageError("--revision says what to download", "Use it with --download")
    with reporting(json) as reporter:
        paths = fetch(task, revision, reporter) if download else files or []
        imported = import_files(
            lab,
            task,
            paths,
            reporter,
            steps=steps,
            split=split or "",
            seed=seed,
            directory=output,
            processes=settings_of(workspace=workspace).processes,
            corrections=read_corrections(lab, corrections or (), task),
        )
    print_result(json, imported_json(imported), lambda: print_imported(imported))
    raise typer.Exit(0 if imported.exact else PARTIAL)


def _layout_and_tasks(workspace: Path | None, tasks: Path | None) -> tuple[Workspace, Path]:
    """Return the workspace, and the directory of tasks of one's own."""
    from goldpan.datasets.registry import tasks_directory

    lab = layout_of(workspace, tasks)
    return lab, tasks_directory(lab.root)
