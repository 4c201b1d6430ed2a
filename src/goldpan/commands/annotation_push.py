"""The command that sends rows to annotators: all of a dataset, or those with suspect labels."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from goldpan.commands.filtering import ProfileName, RulesName
from goldpan.commands.shared import (
    Directory,
    Json,
    OwnTasks,
    layout_of,
    opened,
    print_result,
    reporting,
)
from goldpan.core.errors import UsageError
from goldpan.core.show import show
from goldpan.core.terminal import Terminal, clean
from goldpan.core.workspace import Workspace
from goldpan.filters.basis import Basis, basis_blocks

if TYPE_CHECKING:  # these take long to import
    from goldpan.annotation.studio.push import PushResult
    from goldpan.annotation.studio.suspects import Selection
    from goldpan.datasets.task import Task
    from goldpan.operations.workspace import Workspace as Ranking

ProjectName = Annotated[str, typer.Option("--project", help="A name for this round of annotation.")]
Url = Annotated[
    str | None,
    typer.Option(
        help="The Label Studio server. (default: LABEL_STUDIO_URL, or the one that "
        "annotate serve runs)"
    ),
]


def push(
    project: ProjectName,
    form: Annotated[
        str | None,
        typer.Option(
            help="fix-pair, question-answer, issue-type or code-comment-LANGUAGE. (default: made "
            "from --task)"
        ),
    ] = None,
    dataset: Annotated[
        Path | None,
        typer.Option(help="The dataset to annotate. (default: the rows of --task)"),
    ] = None,
    task: Annotated[
        str | None, typer.Option(help="A classification task, whose labels people choose from.")
    ] = None,
    suspects: Annotated[
        int | None,
        typer.Option(
            help="Push only this many rows of --task, the most suspect first (see evaluate "
            "label-errors)."
        ),
    ] = None,
    controls: Annotated[
        int, typer.Option(help="With --suspects, add this many other rows, drawn by --seed.")
    ] = 0,
    folds: Annotated[
        int, typer.Option(help="With --suspects, how many folds the ranking models use.")
    ] = 5,
    seed: Annotated[
        int, typer.Option(min=0, help="With --suspects, the seed of folds, controls and order.")
    ] = 0,
    annotators: Annotated[int, typer.Option(help="How many people annotate each subject.")] = 2,
    not_blind: Annotated[
        bool,
        typer.Option(
            "--not-blind",
            help="Pre-fill forms from stored reviews or the dataset's labels; not for a gold set.",
        ),
    ] = False,
    profile: ProfileName = "default",
    rules: RulesName = "default",
    webhook: Annotated[
        str | None, typer.Option(help="An address that Label Studio calls after each answer.")
    ] = None,
    url: Url = None,
    own: OwnTasks = None,
    workspace: Directory = None,
    json: Json = False,
) -> None:
    """Send the rows of a dataset to annotators; only new rows are added.

    With --suspects these are the rows whose labels are most likely wrong, in random order, and
    their labels are hidden unless --not-blind is given.
    """
    from goldpan.annotation.studio.forms import find_form, read_tasks
    from goldpan.annotation.studio.push import push as push_tasks
    from goldpan.annotation.studio.server_address import choose_server
    from goldpan.annotation.studio.suggestions import find_review_basis, find_suggestions
    from goldpan.annotation.studio.task_forms import task_form
    from goldpan.datasets.task_data import task_directory
    from goldpan.filters.stored import find_profile

    lab = layout_of(workspace, own)
    dataset_task = _task(lab, task, suspects)
    if form is None and dataset_task is None:
        raise UsageError("There is neither a form nor a task", "Give --form or --task")
    if dataset is None and dataset_task is None:
        raise UsageError("There is neither a dataset nor a task", "Give --dataset or --task")
    asked_form = task_form(dataset_task) if form is None and dataset_task else find_form(form or "")
    rows = dataset or (task_directory(lab, dataset_task) if dataset_task else Path())
    server = choose_server(lab, url, os.environ)
    selection = None
    if dataset_task is not None and suspects is not None:
        with opened(json, workspace=lab.root, tasks=own) as ranking:
            selection = _select(ranking, dataset_task, rows, suspects, controls, folds, seed)
    with reporting(json) as reporter:
        tasks = read_tasks(rows, asked_form, selection.ids if selection else None)
        suggest = None
        bases: list[Basis] = []
        if not_blind:
            ruled = lab.by_rules(rules)
            name = find_profile(ruled, lab.repositories("tables"), profile).name
            suggest = find_suggestions(ruled, asked_form, rows, name)
            bases = find_review_basis(ruled, asked_form, rows, name)
        pushed = push_tasks(
            lab,
            server,
            project,
            asked_form,
            selection.mixed(tasks) if selection else tasks,
            reporter,
            annotators=annotators,
            suggest=suggest,
            webhook=webhook,
            selection=selection,
        )
    value = {**asdict(pushed), "basis": [asdict(basis) for basis in bases]}
    print_result(json, value, lambda: print_pushed(pushed, bases))


def print_pushed(result: PushResult, bases: Sequence[Basis] = ()) -> None:
    """Show what a push added."""
    console = Terminal()
    console.print(
        f"{result.project}: {result.added:,} subjects added, {result.known:,} already there, "
        f"{result.seconds:.1f} s"
    )
    if result.suggested:
        console.print(f"{result.suggested:,} of them are pre-filled")
    show(basis_blocks(bases))
    console.print(clean(f"Annotators start at {result.page}"))


def _task(lab: Workspace, name: str | None, suspects: int | None) -> Task | None:
    from goldpan.datasets.registry import find_task, tasks_directory

    if name is None:
        if suspects is not None:
            raise UsageError("--suspects needs a task", "Give --task with --suspects")
        return None
    return find_task(name, tasks_directory(lab.root))


def _select(
    lab: Ranking,
    task: Task,
    rows: Path,
    suspects: int,
    controls: int,
    folds: int,
    seed: int,
) -> Selection:
    """Return the rows whose labels are most suspect, and controls."""
    from goldpan.annotation.studio.suspects import choose

    label_errors = lab.label_errors(task.name, dataset=rows, folds=folds, seed=seed)
    return choose(
        [(row.id, row.margin) for row in label_errors.ranked],
        suspects,
        controls,
        task=task.name,
        data_hash=label_errors.data_hash,
        folds=folds,
        seed=seed,
    )
