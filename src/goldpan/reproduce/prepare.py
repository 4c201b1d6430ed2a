"""Makes the data of a paper's task out of its authors' files, split as they split it."""

from __future__ import annotations

import hashlib
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from operator import itemgetter
from pathlib import Path
from typing import Any

import orjson

from goldpan._version import __version__
from goldpan.core.errors import DatasetError
from goldpan.core.locks import hold_lock
from goldpan.core.storage.sealed import sealed_json, stored_json
from goldpan.core.storage.workspace import WorkspaceLayout, make_directory, write_whole
from goldpan.datasets.splits import sample_by_hash
from goldpan.datasets.table_files import table_rows
from goldpan.datasets.tasks.data import TaskData, read_task_data, task_data
from goldpan.datasets.tasks.importing import find_reader, import_files
from goldpan.datasets.tasks.registry import find_task
from goldpan.datasets.tasks.task import Task, TaskColumns
from goldpan.evaluation.model import load
from goldpan.reproduce.cells import PaperContext
from goldpan.reproduce.data import FoundFile, MissingFileError, other_content, read_text
from goldpan.reproduce.recipe import SplitRecipe, TaskRecipe

_MARK = ".recipe.json"


def laboratory(context: PaperContext) -> WorkspaceLayout:
    """Return the workspace of a paper: its datasets and runs stand apart from the user's own."""
    return WorkspaceLayout(context.directory)


@dataclass(frozen=True, slots=True)
class Prepared:
    """A task's rows, and in what they differ from the paper's."""

    data: TaskData
    notes: tuple[str, ...] = ()


def prepared(context: PaperContext, recipe: TaskRecipe) -> Prepared:
    """Return a task's rows, split as the recipe says; imported once and then read.

    Where the authors' file of the split is missing, Goldpan splits, and a note says so.
    Raises `MissingFileError` where a file is missing, and `DatasetError` where the rows do not
    have the recipe's counts: nothing is computed on other data than the paper's.
    """
    cleaned = preprocessed_file(context, recipe)
    files = context.files(recipe.files) if cleaned is None else [cleaned]
    order: list[FoundFile] = []
    notes: tuple[str, ...] = ()
    if recipe.split.file is not None:
        try:
            order = [context.file(recipe.split.file)]
        except MissingFileError:
            notes = ("a split by Goldpan, as the authors' is missing",)
    task = with_prompt(context, find_task(recipe.task), recipe)
    directory = laboratory(context).dataset(task.name)
    facts = {
        "goldpan": __version__,
        "recipe": recipe.model_dump(exclude={"prompt"}),
        "files": [file.sha256 for file in (*files, *order)],
    }
    key = hashlib.sha256(orjson.dumps(facts, option=orjson.OPT_SORT_KEYS)).hexdigest()
    make_directory(directory.parent)
    with hold_lock(directory.with_name(f"{directory.name}.lock")):
        mark = directory.with_name(directory.name + _MARK)
        if stored_json(mark).get("key") != key:
            if cleaned is None:
                _import(context, recipe, task, files, order, directory)
            else:
                reading = reading_task(task, recipe)
                plain = recipe.model_copy(update={"steps": "none"})
                _import(context, plain, reading, files, order, directory)
            write_whole(mark, sealed_json({"key": key}))
        data = replace(read_task_data(directory, task), task=task)
        if not isinstance(recipe.steps, str):  # they are the paper's, whatever the protocol knows
            data = replace(data, steps=None)
    if context.effort.limit is not None:
        data = limited(data, context.effort.limit)
    notes += other_content([*files, *order])
    counted = any(name.startswith("label:") for name in expected_counts(recipe, task))
    if task.labels and not counted and any(file.state != "as published" for file in files):
        notes += ("labels were not counted: the recipe has their total only",)
    return Prepared(data, notes)


def with_prompt(context: PaperContext, task: Task, recipe: TaskRecipe) -> Task:
    """Return a task that asks by the authors' prompt, read from their file; else as it is."""
    if recipe.prompt is None or not context.data.candidates(context.recipe.file(recipe.prompt)):
        return task
    text = read_text(context.file(recipe.prompt))
    if "{text}" not in text:
        raise DatasetError(
            f"The prompt of {task.name} has no place for the text", "Mark it by {text}"
        )
    prompt = replace(task.prompt, template=text)
    labels = tuple(
        replace(label, text=recipe.answers.get(label.name, label.name)) for label in task.labels
    )
    return replace(task, prompt=prompt, labels=labels)


def limited(data: TaskData, most: int) -> TaskData:
    """Return at most `most` rows, drawn by their ids, in the shares of the splits."""
    total = sum(map(len, data.splits.values()))
    if total <= most:
        return data
    splits = {}
    for name, rows in data.splits.items():
        numbered = enumerate(rows["id"].to_pylist())
        share = max(2, round(len(rows) * most / total))
        splits[name] = rows.take(
            [at for at, _ in sample_by_hash(numbered, share, 0, itemgetter(1))]
        )
    return task_data(data.task, splits, f"{data.split}, {most:,} rows drawn")


def expected_counts(recipe: TaskRecipe, task: Task) -> Mapping[str, int]:
    """Return the paper's counts of rows and labels, which are the registry's if it has no other."""
    own = ("total", "label:")
    return recipe.counts or {
        name: count for name, count in task.counts.items() if name.startswith(own)
    }


def _import(
    context: PaperContext,
    recipe: TaskRecipe,
    task: Task,
    files: Sequence[FoundFile],
    order: Sequence[FoundFile],
    directory: Path,
) -> None:
    """Import the rows; raises `DatasetError` that names every count that is not the recipe's."""
    paths = [file.path for file in files]
    split, steps = recipe.split, recipe.steps
    own = split.kind == "plan" or (split.kind == "file" and not order)
    partitions = None if own else _partitions(split, list(find_reader(task)(task, paths)), order)
    task = replace(task, counts=expected_counts(recipe, task))
    if not isinstance(steps, str):
        task, steps = replace(task, steps=steps), "default"
    shutil.rmtree(directory, ignore_errors=True)
    imported = import_files(
        laboratory(context),
        task,
        paths,
        context.reporter,
        steps=steps,
        split=split.plan if partitions is None else "given",
        seed=split.seed,
        directory=directory,
        partitions=partitions,
    )
    if not imported.exact:
        wrong = [
            f"{check.what} {check.found:,} where the recipe has {check.expected:,}"
            for check in imported.checks
            if not check.exact
        ]
        raise DatasetError(
            f"The files of {task.name} do not hold the paper's rows: {'; '.join(wrong)}",
            "Give the files as their authors publish them; nothing was computed on these",
        )


def _partitions(
    split: SplitRecipe, rows: Sequence[Mapping[str, Any]], order: Sequence[FoundFile]
) -> dict[str, str]:
    if split.kind == "file":
        (file,) = order
        marks = [str(row.get(split.column, "")) for row in table_rows(file.path)]
        if len(marks) != len(rows):
            raise DatasetError(
                f"{file.path} splits {len(marks):,} rows, and there are {len(rows):,}",
                "Give the split that belongs to these files",
            )
        test = {index for index, mark in enumerate(marks) if mark == split.test}
    else:
        test = _shuffled(split, [row.get("label") for row in rows])
    if not 0 < len(test) < len(rows):
        raise DatasetError("The recipe's split leaves train or test empty", "Correct its [split]")
    return {row["id"]: "test" if at in test else "train" for at, row in enumerate(rows)}


def _shuffled(split: SplitRecipe, targets: Sequence[Any]) -> set[int]:
    """Return the test rows of scikit-learn's split; which they are depends on the labels' order."""
    selection = load("sklearn.model_selection")
    labels = None
    if split.stratified:
        numbers = {label: number for number, label in enumerate(split.labels)}
        labels = [numbers.get(target, len(numbers)) for target in targets]
    try:
        _, test = selection.train_test_split(
            range(len(targets)), test_size=split.share, random_state=split.seed, stratify=labels
        )
    except ValueError as error:  # a label of one row
        raise DatasetError(
            f"The rows cannot be split ({error})", "Get the authors' files"
        ) from None
    return set(test)


_TEXT, _TARGET, _ANY = "text_clean", "label", "label_"


def preprocessed_file(context: PaperContext, recipe: TaskRecipe) -> FoundFile | None:
    """Return the authors' file of preprocessed rows; None where it is not at hand.

    Raises `DatasetError` for another content where no other files could take its place.
    """
    if recipe.preprocessed is None:
        return None
    source = context.recipe.file(recipe.preprocessed)
    has_sources = all(context.data.candidates(context.recipe.file(key)) for key in recipe.files)
    try:
        file = context.data.fetch(source) if context.download else context.data.find(source)
    except MissingFileError as error:
        if not has_sources:
            remedy = f"{error.remedy}, or get the sources instead"
            context.missing[source.key] = error.problem, remedy
        return None
    if file.state == "as published":
        return file
    if has_sources:
        return None
    raise DatasetError(
        f"{file.path} is not what its authors publish",
        "In a clone, git lfs pull gets the content of the file that stands for it",
    )


def reading_task(task: Task, recipe: TaskRecipe) -> Task:
    """Return the task as its preprocessed rows are read: which columns and numbers mean what."""
    targets = [f"{_ANY}{recipe.answers.get(name, name.lower())}" for name in task.label_names]
    return replace(
        task,
        source=replace(task.source, reader="table"),
        columns=TaskColumns((_TEXT,), tuple(targets) if task.type == "multi-label" else (_TARGET,)),
        settings={
            "labels": {str(number): label for number, label in enumerate(recipe.split.labels)}
        },
    )
