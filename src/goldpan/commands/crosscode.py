"""Commands for CrossCodeBench: tasks as text-to-text, and splits that ask for unseen tasks."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from goldpan.commands.crosscode_screen import (
    built_json,
    exported_json,
    imported_json,
    print_built,
    print_checked,
    print_exported,
    print_imported,
    print_scored,
    print_splits,
    splits_json,
)
from goldpan.commands.shared import Directory, Json, OwnTasks, print_result, reporting, settings_of
from goldpan.core.errors import UsageError
from goldpan.core.own_tasks import use_tasks
from goldpan.core.workspace import Workspace

if TYPE_CHECKING:  # these take long to import
    pass

app = typer.Typer(
    help="Write tasks as text-to-text, and build splits that evaluate on unseen tasks.",
    no_args_is_help=True,
    rich_markup_mode="markdown",
)

TaskNames = Annotated[
    list[str] | None, typer.Option("--task", help="A task's name; may be given several times.")
]
TaskFilesOf = Annotated[
    list[Path] | None,
    typer.Option(
        "--from",
        help="A directory of task files; may be given several times. "
        "(default: WORKSPACE/crosscode/tasks)",
    ),
]
SplitsFile = Annotated[
    Path | None, typer.Option("--splits", help="A TOML file of splits in place of the paper's ten.")
]
TaskDirectory = Annotated[Path, typer.Argument(help="A directory of task files.")]
Seed = Annotated[int, typer.Option(help="Seed of all random draws.")]


@app.command("export")
def export_files(
    task: TaskNames = None,
    every: Annotated[
        bool, typer.Option("--all", help="Every task whose rows are in the workspace.")
    ] = False,
    output: Annotated[
        Path | None, typer.Option(help="The directory. (default: WORKSPACE/crosscode/tasks)")
    ] = None,
    seed: Annotated[
        int, typer.Option(help="Seed for drawing examples that the registry does not have.")
    ] = 0,
    own_tasks: OwnTasks = None,
    workspace: Directory = None,
    json: Json = False,
) -> None:
    """Write tasks of the registry as text-to-text, two files per task.

    An earlier directory of task files is replaced; tasks keep their numbers.
    """
    from goldpan.builders.crosscode.export import TaskDataset, export_tasks
    from goldpan.datasets.provenance import PROVENANCE
    from goldpan.datasets.registry import find_task, load_tasks, tasks_directory
    from goldpan.datasets.task_data import task_directory

    if every == bool(task):
        raise UsageError("Either --task or --all is needed", "Give either --task NAME or --all")
    lab = _workspace_layout(workspace)
    use_tasks(lab.root, own_tasks)
    own = tasks_directory(lab.root)
    tasks = load_tasks(own) if every else {name: find_task(name, own) for name in task or ()}
    datasets = [TaskDataset(task_, task_directory(lab, task_)) for task_ in tasks.values()]
    built = [dataset for dataset in datasets if (dataset.directory / PROVENANCE).exists()]
    absent = [dataset.task.name for dataset in datasets if dataset not in built]
    if absent and (task or not built):
        raise UsageError(
            f"{lab.root} holds no rows of {', '.join(absent[:5])}",
            f"Run goldpan tasks import {absent[0]}",
        )
    with reporting(json) as reporter:
        exported = export_tasks(lab, built, output or _files(lab), reporter, seed=seed)
    print_result(json, exported_json(exported, absent), lambda: print_exported(exported, absent))


@app.command("import")
def import_files(
    directory: TaskDirectory,
    task: TaskNames = None,
    workspace: Directory = None,
    json: Json = False,
) -> None:
    """Read task files back as datasets of the workspace, one dataset per task.

    Files that Goldpan did not write, such as those of the public benchmark, become
    tasks in WORKSPACE/tasks, and so does a split that was built.
    """
    from goldpan.builders.crosscode.import_split import import_split, is_split
    from goldpan.builders.crosscode.importing import import_task
    from goldpan.builders.crosscode.read_meta import list_metas, read_meta

    lab = _workspace_layout(workspace)
    if not task and is_split(directory):
        imported = [import_split(lab, directory)]
        print_result(json, imported_json(imported), lambda: print_imported(imported))
        return
    paths = list_metas(directory)
    if task:
        metas = {path: read_meta(path) for path in paths}
        path_of = {name: path for path, meta in metas.items() for name in (meta.stem, meta.name)}
        if strange := [name for name in task if name not in path_of]:
            raise UsageError(
                f"{directory} has no task {strange[0]}",
                f"It has {', '.join(meta.name for meta in list(metas.values())[:5])}, ...",
            )
        paths = list(dict.fromkeys(path_of[name] for name in task))
    imports = []
    with reporting(json) as reporter, reporter.task("tasks", len(paths)) as progress:
        for path in paths:
            imports.append(import_task(lab, path))
            progress.advance()
    print_result(json, imported_json(imports), lambda: print_imported(imports))


@app.command()
def check(directory: TaskDirectory, json: Json = False) -> None:
    """Check task files against the schema; exits with 1 if something is wrong."""
    from goldpan.builders.crosscode.check import check_task_files

    with reporting(json) as reporter:
        checked = check_task_files(directory, reporter)
    value = {**asdict(checked), "passed": checked.passed}
    print_result(json, value, lambda: print_checked(checked))
    raise typer.Exit(0 if checked.passed else 1)


@app.command()
def splits(
    sources: TaskFilesOf = None,
    splits_file: SplitsFile = None,
    workspace: Directory = None,
    json: Json = False,
) -> None:
    """List the splits and how many tasks each has, including empty ones."""
    from goldpan.builders.crosscode.build import find_tasks
    from goldpan.builders.crosscode.splits import assign_tasks, load_splits

    task_splits = load_splits(splits_file)
    tasks = find_tasks(sources or [_files(_workspace_layout(workspace))])
    metas = [task.meta for task in tasks]
    assigned = [assign_tasks(name, split, metas) for name, split in task_splits.items()]
    print_result(json, splits_json(assigned), lambda: print_splits(assigned))


@app.command()
def split(
    name: Annotated[str, typer.Argument(help="A split, such as Sub-Inter-ML.")],
    method: Annotated[
        str,
        typer.Option(help="1-shot to 4-shot, zero-shot, 2/0-instruct or 2/2-instruct."),
    ] = "2/0-instruct",
    seed: Seed = 0,
    max_length: Annotated[
        int | None,
        typer.Option(help="The longest prompt, in words or characters. (default: unlimited)"),
    ] = None,
    unit: Annotated[
        str, typer.Option(help="The unit of --max-length: words or characters.")
    ] = "words",
    train_cap: Annotated[
        int, typer.Option(help="The most instances to take from a training task.", min=1)
    ] = 10_000,
    evaluation_cap: Annotated[
        int, typer.Option(help="The most instances to take from an evaluation task.", min=1)
    ] = 500,
    layout: Annotated[
        str,
        typer.Option(help="lines, or authors (one line, as in the code of the paper's authors)."),
    ] = "lines",
    sources: TaskFilesOf = None,
    splits_file: SplitsFile = None,
    output: Annotated[
        Path | None,
        typer.Option(help="The directory. (default: WORKSPACE/crosscode/splits/...)"),
    ] = None,
    workspace: Directory = None,
    json: Json = False,
) -> None:
    """Build the prompts of a split: training tasks, and evaluation tasks unlike them.

    No source dataset is on both sides, and training inputs that also occur in evaluation are
    dropped. Building twice gives the same bytes.
    """
    from goldpan.builders.crosscode.budget import Budget, find_counter
    from goldpan.builders.crosscode.build import build_split, find_tasks
    from goldpan.builders.crosscode.import_split import split_folder
    from goldpan.builders.crosscode.layouts import find_layout
    from goldpan.builders.crosscode.prompt_table import CrossSettings
    from goldpan.builders.crosscode.splits import assign_tasks, find_split, load_splits
    from goldpan.datasets.prompt_methods import find_method

    task_splits = load_splits(splits_file)
    chosen = find_split(name, task_splits)
    way, counter = find_method(method), find_counter(unit)
    budget = Budget(max_length, counter, unit) if max_length is not None else None
    find_layout(layout)  # a name that is wrong is told before any work
    settings = CrossSettings(way, seed, budget, train_cap, evaluation_cap, layout=layout)
    lab = _workspace_layout(workspace)
    tasks = find_tasks(sources or [_files(lab)])
    assigned = assign_tasks(chosen, task_splits[chosen], [task.meta for task in tasks])
    split_name = split_folder(chosen, way.name, layout, train_cap)
    directory = output or lab.root / "crosscode" / "splits" / split_name
    with reporting(json) as reporter:
        result = build_split(lab, tasks, assigned, settings, directory, reporter)
    print_result(json, built_json(result), lambda: print_built(result))


@app.command()
def shortcut(
    directory: Annotated[Path, typer.Argument(help="What goldpan build crosscode split wrote.")],
    method: Annotated[str, typer.Option(help="copy-ex-output or copy-ins-input.")],
    seed: Seed = 0,
    output: Annotated[
        Path | None, typer.Option(help="A Parquet file for the predictions. (default: none)")
    ] = None,
    json: Json = False,
) -> None:
    """Score a shortcut on the evaluation side: the baseline to beat."""
    from goldpan.builders.crosscode.shortcuts import find_shortcut, shortcut_answers, write_answers
    from goldpan.evaluation.metrics.crosscodebench import percentages
    from goldpan.evaluation.predictions import predictions_schema

    answers = list(shortcut_answers(directory, find_shortcut(method), seed))
    scores = percentages(
        [answer.truth for answer in answers], [answer.answer for answer in answers]
    )
    if output:
        write_answers(output, answers, predictions_schema("text-generation"))
    value = {"shortcut": method, "seed": seed, "instances": len(answers), **asdict(scores)}
    print_result(json, value, lambda: print_scored(value))


def _workspace_layout(workspace: Path | None) -> Workspace:
    return Workspace(settings_of(workspace=workspace).workspace)


def _files(workspace: Workspace) -> Path:
    return workspace.root / "crosscode" / "tasks"
