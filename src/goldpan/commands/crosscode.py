"""Commands for CrossCodeBench: tasks as text-to-text, and splits that ask for unseen tasks."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.table import Table

from goldpan.commands.shared import Directory, Json, print_result, reporting, settings_of
from goldpan.core.errors import UsageError
from goldpan.core.terminal import Terminal, clean, titled
from goldpan.core.workspace import Workspace

if TYPE_CHECKING:  # these take long to import
    from goldpan.builders.crosscode.build import CrossCodeResult
    from goldpan.builders.crosscode.check import Checked
    from goldpan.builders.crosscode.export import Exported
    from goldpan.builders.crosscode.importing import Imported
    from goldpan.builders.crosscode.splits import Assigned, LeftOut

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
        int, typer.Option(help="Seed for examples that the registry does not give.")
    ] = 0,
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
        raise UsageError("Which tasks to write is not clear", "Give either --task NAME or --all")
    place = _place(workspace)
    own = tasks_directory(place.root)
    wanted = load_tasks(own) if every else {name: find_task(name, own) for name in task or ()}
    datasets = [TaskDataset(one, task_directory(place, one)) for one in wanted.values()]
    there = [one for one in datasets if (one.directory / PROVENANCE).exists()]
    absent = [one.task.name for one in datasets if one not in there]
    if absent and (task or not there):
        raise UsageError(
            f"{place.root} holds no rows of {', '.join(absent[:5])}",
            f"Run goldpan tasks import {absent[0]}",
        )
    with reporting(json) as reporter:
        found = export_tasks(place, there, output or _files(place), reporter, seed=seed)
    print_result(json, exported_json(found, absent), lambda: print_exported(found, absent))


@app.command("import")
def import_files(
    directory: TaskDirectory,
    task: TaskNames = None,
    workspace: Directory = None,
    json: Json = False,
) -> None:
    """Read task files back as datasets of the workspace, one dataset per task.

    Files that Goldpan did not write, such as those of the public benchmark, become
    tasks in WORKSPACE/tasks.
    """
    from goldpan.builders.crosscode.importing import import_task
    from goldpan.builders.crosscode.read_meta import list_metas, read_meta

    place = _place(workspace)
    paths = list_metas(directory)
    if task:
        metas = {path: read_meta(path) for path in paths}
        known = {name: path for path, meta in metas.items() for name in (meta.stem, meta.name)}
        if strange := [name for name in task if name not in known]:
            raise UsageError(
                f"{directory} has no task {strange[0]}",
                f"It has {', '.join(meta.name for meta in list(metas.values())[:5])}, ...",
            )
        paths = list(dict.fromkeys(known[name] for name in task))
    found = []
    with reporting(json) as reporter, reporter.task("tasks", len(paths)) as progress:
        for path in paths:
            found.append(import_task(place, path))
            progress.advance()
    print_result(json, imported_json(found), lambda: print_imported(found))


@app.command()
def check(directory: TaskDirectory, json: Json = False) -> None:
    """Check task files against the schema; exits with 1 if something is wrong."""
    from goldpan.builders.crosscode.check import check_task_files

    with reporting(json) as reporter:
        found = check_task_files(directory, reporter)
    value = {**asdict(found), "passed": found.passed}
    print_result(json, value, lambda: print_checked(found))
    raise typer.Exit(0 if found.passed else 1)


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

    known = load_splits(splits_file)
    tasks = find_tasks(sources or [_files(_place(workspace))])
    metas = [one.meta for one in tasks]
    found = [assign_tasks(name, split, metas) for name, split in known.items()]
    print_result(json, splits_json(found), lambda: print_splits(found))


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
        typer.Option(help="The most words or characters of a prompt. (default: unlimited)"),
    ] = None,
    unit: Annotated[
        str, typer.Option(help="The unit of --max-length: words or characters.")
    ] = "words",
    train_cap: Annotated[
        int, typer.Option(help="The most instances of a training task.", min=1)
    ] = 10_000,
    evaluation_cap: Annotated[
        int, typer.Option(help="The most instances of an evaluation task.", min=1)
    ] = 500,
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
    from goldpan.builders.crosscode.prompt_table import CrossSettings
    from goldpan.builders.crosscode.splits import assign_tasks, find_split, load_splits
    from goldpan.datasets.prompt_methods import find_method

    known = load_splits(splits_file)
    chosen = find_split(name, known)
    way, counter = find_method(method), find_counter(unit)
    budget = Budget(max_length, counter, unit) if max_length is not None else None
    settings = CrossSettings(way, seed, budget, train_cap, evaluation_cap)
    place = _place(workspace)
    tasks = find_tasks(sources or [_files(place)])
    assigned = assign_tasks(chosen, known[chosen], [one.meta for one in tasks])
    called = f"{chosen}-{way.name}".lower().replace("/", "-")
    directory = output or place.root / "crosscode" / "splits" / called
    with reporting(json) as reporter:
        found = build_split(place, tasks, assigned, settings, directory, reporter)
    print_result(json, built_json(found), lambda: print_built(found))


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
    from goldpan.builders.crosscode.shortcuts import (
        find_shortcut,
        shortcut_answers,
        write_answers,
    )
    from goldpan.evaluation.metrics.crosscodebench import percentages
    from goldpan.evaluation.predictions import predictions_schema

    answers = list(shortcut_answers(directory, find_shortcut(method), seed))
    scores = percentages([one.truth for one in answers], [one.answer for one in answers])
    if output:
        write_answers(output, answers, predictions_schema("text-generation"))
    value = {"shortcut": method, "seed": seed, "instances": len(answers), **asdict(scores)}
    print_result(json, value, lambda: print_scored(value))


def _place(workspace: Path | None) -> Workspace:
    return Workspace(settings_of(workspace=workspace).workspace)


def _files(place: Workspace) -> Path:
    return place.root / "crosscode" / "tasks"


def exported_json(found: Exported, absent: Sequence[str]) -> dict[str, Any]:
    """Return what was written as plain data."""
    return {
        "directory": str(found.directory),
        "instances": found.instances,
        "tasks": {
            meta.stem: {"task": meta.name, "type": meta.kind.names, "instances": meta.counts}
            for meta in found.metas
        },
        "without_rows": list(absent),
    }


def print_exported(found: Exported, absent: Sequence[str]) -> None:
    """Show the written tasks."""
    console = Terminal()
    for meta in found.metas:
        line = f"{meta.stem}: {meta.name}, {meta.kind}, {meta.counts['total']:,} instances"
        console.print(clean(line))
    if absent:
        console.print(clean("Without rows in the workspace: ") + clean(", ".join(absent)))
    console.print(clean(f"{found.instances:,} instances written to {found.directory}"))


def imported_json(found: Sequence[Imported]) -> dict[str, Any]:
    """Return what was read as plain data."""
    return {
        one.task.name: {
            "directory": str(one.directory),
            "type": one.task.type,
            "splits": dict(one.splits),
            "task_file": str(one.task_file) if one.task_file else None,
        }
        for one in found
    }


def print_imported(found: Sequence[Imported]) -> None:
    """Show the tasks that were read, and which of them are new."""
    console = Terminal()
    for one in found:
        rows = ", ".join(f"{count:,} {split}" for split, count in sorted(one.splits.items()))
        console.print(clean(f"{one.task.name}: {one.task.type}, {rows}"))
        if one.task_file:
            console.print(clean(f"  a new task, which {one.task_file} describes"))


def print_checked(found: Checked) -> None:
    """Show what is wrong with task files."""
    console = Terminal()
    for problem in found.problems:
        style = "yellow" if problem.kind == "warning" else "red"
        console.print(clean(f"{problem.kind}: ", style=style) + clean(problem))
    if found.unlisted:
        console.print(f"and {found.unlisted:,} more")
    state = "All is well" if found.passed and not found.problems else ""
    if found.passed and found.problems:
        state = "No errors, but see the warnings"
    console.print(f"{found.tasks:,} tasks, {found.instances:,} instances. {state}".rstrip())


def splits_json(found: Sequence[Assigned]) -> list[dict[str, Any]]:
    """Return the splits and their tasks as plain data."""
    return [
        {
            "name": one.name,
            **asdict(one.split),
            "train": [meta.name for meta in one.train],
            "evaluation": [meta.name for meta in one.evaluation],
            "left_out": [asdict(task) for task in one.left_out],
            "empty": one.empty,
        }
        for one in found
    ]


def print_splits(found: Sequence[Assigned]) -> None:
    """Show how many tasks each split has."""
    console = Terminal()
    table = Table("split", "train", "evaluation", "paper", "", box=None, header_style="dim")
    for one in found:
        paper = "/".join(map(str, one.split.paper)) if one.split.paper else ""
        empty = f"no task for {one.empty}" if one.empty else ""
        counts = (str(len(one.train)), str(len(one.evaluation)))
        table.add_row(clean(one.name), *counts, paper, empty)
    console.print(table)
    for one in found:
        for task in one.left_out:
            console.print(clean(f"{one.name}: {_not_trained_on(task)}"))


def built_json(found: CrossCodeResult) -> dict[str, Any]:
    """Return what was built as plain data."""
    return {
        "directory": str(found.directory),
        "split": found.assigned.name,
        "train": [asdict(one) for one in found.train],
        "evaluation": [asdict(one) for one in found.evaluation],
        "left_out": [asdict(one) for one in found.assigned.left_out],
        "leaking": found.leaks,
        "examples_cut": found.examples_cut,
        "inputs_cut": found.inputs_cut,
        "seconds": round(found.seconds, 3),
    }


def print_built(found: CrossCodeResult) -> None:
    """Show what a split holds, and what was left out of it."""
    console = Terminal()
    console.print(titled(found.assigned.name, f" in {found.seconds:.1f} s"))
    table = Table("side", "tasks", "prompts", "instances there", box=None, header_style="dim")
    for side, counts in (("train", found.train), ("evaluation", found.evaluation)):
        kept = sum(count.drawn - count.leaking for count in counts)
        there = sum(count.available for count in counts)
        table.add_row(side, f"{len(counts):,}", f"{kept:,}", f"{there:,}")
    console.print(table)
    for task in found.assigned.left_out:
        console.print(clean(_not_trained_on(task)))
    console.print(
        f"{sum(found.leaks.values()):,} training instances dropped, as they also occur in the "
        f"evaluation: {found.leaks['exact']:,} exactly, {found.leaks['near']:,} nearly"
    )
    if found.examples_cut or found.inputs_cut:
        console.print(
            f"{found.examples_cut:,} prompts lack examples for their length, "
            f"{found.inputs_cut:,} the end of the input"
        )
    console.print(clean(f"Written to {found.directory}"))


def print_scored(value: dict[str, Any]) -> None:
    """Show the scores of a shortcut."""
    console = Terminal()
    console.print(f"{value['shortcut']} on {value['instances']:,} instances")
    for name in ("exact_match", "bleu", "rouge_l"):
        score = value[name]
        console.print(f"  {name}: " + ("none" if score is None else f"{score:.2f}"))


def _not_trained_on(task: LeftOut) -> str:
    return f"{task.task} is left out of training: {task.shared_with} has the same source dataset"
