"""CrossCodeBench: tasks as text-to-text, and splits that ask for unseen tasks."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from goldpan.plugins.data import Results, UsageError
from goldpan.plugins.operations import Positive, several

if TYPE_CHECKING:
    from goldpan.papers.crosscodebench.importing import Imported
    from goldpan.papers.crosscodebench.task_files import Exported
    from goldpan.plugins.operations import Dataset, Workspace


def crosscode(
    lab: Workspace,
    *,
    task: str | Sequence[str],
    split: str,
    method: str = "2/0-instruct",
    seed: int = 0,
    train_cap: Positive = 10_000,
    evaluation_cap: Positive = 500,
    output: Path | str | None = None,
) -> Dataset:
    """Build the prompts of a split from tasks of the workspace, as export and split do.

    Example: goldpan build crosscode --task qa --task code_edit --split Type-QA

    Args:
        task (NAME): A task whose rows are in the workspace.
        split (NAME): A split, such as Sub-Inter-ML.
        method: 1-shot to 4-shot, zero-shot, 2/0-instruct or 2/2-instruct.
        seed: Seed of all random draws.
        train_cap: The most instances to take from a training task.
        evaluation_cap: The most instances to take from an evaluation task.
        output: The dataset's directory. (default: WORKSPACE/datasets/crosscode)
    """
    directory = Path(output) if output else lab.layout.dataset("crosscode")
    files = lab.path / "crosscode" / "of-datasets" / directory.name
    export_(lab, task=task, output=files, seed=seed)
    return split_(
        lab,
        split,
        method=method,
        seed=seed,
        train_cap=train_cap,
        evaluation_cap=evaluation_cap,
        source=files,
        output=directory,
    )


def export_(
    lab: Workspace,
    *,
    task: str | Sequence[str] = (),
    all: bool = False,
    output: Path | str | None = None,
    seed: int = 0,
) -> Exported:
    """Write tasks of the registry as text-to-text, two files per task.

    An earlier directory of task files is replaced; tasks keep their numbers.

    Example: goldpan build crosscode export --all

    Args:
        task (NAME): A task's name.
        all: Every task whose rows are in the workspace.
        output: The directory. (default: WORKSPACE/crosscode/tasks)
        seed: Seed for drawing examples that the registry does not have.
    """
    from goldpan.papers.crosscodebench.task_files import TaskDataset, export_tasks
    from goldpan.plugins import data as rows

    named = several(task)
    if all == bool(named):
        raise UsageError("Either --task or --all is needed", "Give either --task NAME or --all")
    layout = lab.layout
    own = rows.tasks_directory(layout.root)
    tasks = rows.load_tasks(own) if all else {name: rows.find_task(name, own) for name in named}
    every = [TaskDataset(task, rows.task_directory(layout, task)) for task in tasks.values()]
    built = [each for each in every if (each.directory / rows.PROVENANCE).exists()]
    absent = tuple(each.task.name for each in every if each not in built)
    if absent and (named or not built):
        raise UsageError(
            f"{layout.root} holds no rows of {', '.join(absent[:5])}",
            f"Run goldpan tasks import {absent[0]}",
        )
    directory = Path(output) if output else _files(lab)
    exported = export_tasks(layout, built, directory, lab.reporter, seed=seed)
    return replace(exported, without_rows=absent)


def import_(
    lab: Workspace, directory: Path | str, *, task: str | Sequence[str] = ()
) -> Results[Imported]:
    """Read task files back as datasets of the workspace, one dataset per task.

    Files that Goldpan did not write, such as those of the public benchmark, become tasks in
    WORKSPACE/tasks, and so does a split that was built.

    Example: goldpan build crosscode import tasks

    Args:
        directory: A directory of task files.
        task (NAME): A task's name. (default: all)
    """
    from goldpan.papers.crosscodebench import importing
    from goldpan.papers.crosscodebench.meta import list_metas, read_meta

    folder, named = Path(directory), several(task)
    if not named and importing.is_split(folder):
        return Results([importing.import_split(lab.layout, folder)])
    paths = list_metas(folder)
    if named:
        metas = {path: read_meta(path) for path in paths}
        path_of = {name: path for path, meta in metas.items() for name in (meta.stem, meta.name)}
        if strange := [name for name in named if name not in path_of]:
            raise UsageError(
                f"{folder} has no task {strange[0]}",
                f"It has {', '.join(meta.name for meta in list(metas.values())[:5])}, ...",
            )
        paths = list(dict.fromkeys(path_of[name] for name in named))
    imports = []
    with lab.reporter.task("tasks", len(paths)) as progress:
        for path in paths:
            imports.append(importing.import_task(lab.layout, path))
            progress.advance()
    return Results(imports)


def split_(
    lab: Workspace,
    name: str,
    *,
    method: str = "2/0-instruct",
    seed: int = 0,
    train_cap: Positive = 10_000,
    evaluation_cap: Positive = 500,
    layout: str = "lines",
    source: Path | str | Sequence[Path | str] = (),
    output: Path | str | None = None,
) -> Dataset:
    """Build the prompts of a split: training tasks, and evaluation tasks unlike them.

    No source dataset is on both sides, and training inputs that also occur in evaluation are
    dropped. Building twice gives the same bytes.

    Example: goldpan build crosscode split Sub-Inter-ML

    Args:
        name: A split, such as Sub-Inter-ML.
        method: 1-shot to 4-shot, zero-shot, 2/0-instruct or 2/2-instruct.
        seed: Seed of all random draws.
        train_cap: The most instances to take from a training task.
        evaluation_cap: The most instances to take from an evaluation task.
        layout: lines, or authors (one line, as in the code of the paper's authors).
        source: A directory of task files. (default: WORKSPACE/crosscode/tasks)
        output: The directory. (default: WORKSPACE/crosscode/splits/...)
    """
    from goldpan.papers.crosscodebench import build, prompts
    from goldpan.papers.crosscodebench.importing import split_folder
    from goldpan.papers.crosscodebench.splits import assign_tasks, find_split, shipped_splits
    from goldpan.plugins.data import find_method
    from goldpan.plugins.operations import Dataset

    chosen, way = find_split(name), find_method(method)
    prompts.find_layout(layout)  # an unknown name is refused before any work
    settings = prompts.CrossSettings(way, seed, train_cap, evaluation_cap, layout=layout)
    tasks = build.find_tasks(_sources(lab, source))
    assigned = assign_tasks(chosen, shipped_splits()[chosen], [task.meta for task in tasks])
    folder = split_folder(chosen, way.name, layout, train_cap)
    default = lab.path / "crosscode" / "splits" / folder
    directory = Path(output) if output else default
    built = build.build_split(lab.layout, tasks, assigned, settings, directory, lab.reporter)
    return Dataset(directory, built=built, workspace=lab)


def _files(lab: Workspace) -> Path:
    return lab.path / "crosscode" / "tasks"


def _sources(lab: Workspace, source: Path | str | Sequence[Path | str]) -> list[Path]:
    named = [source] if isinstance(source, (str, Path)) else source
    return [*map(Path, named)] or [_files(lab)]
