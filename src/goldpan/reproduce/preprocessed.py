"""The authors' preprocessed rows of a task, where they publish them: nothing is left to repeat."""

from __future__ import annotations

from dataclasses import replace

from goldpan.core.errors import DatasetError
from goldpan.datasets.task import Task, TaskColumns
from goldpan.reproduce.context import Context
from goldpan.reproduce.data import FoundFile, MissingFileError
from goldpan.reproduce.recipe import TaskRecipe

_TEXT, _TARGET, _ANY = "text_clean", "label", "label_"


def preprocessed_file(context: Context, recipe: TaskRecipe) -> FoundFile | None:
    """Return the authors' file of preprocessed rows; None where it is not at hand.

    Raises `DatasetError` for another content where no other files could take its place.
    """
    if recipe.preprocessed is None:
        return None
    source = context.recipe.file(recipe.preprocessed)
    try:
        file = context.data.fetch(source) if context.download else context.data.find(source)
    except MissingFileError as error:
        if all(context.data.candidates(context.recipe.file(key)) for key in recipe.files):
            return None
        context.missing[source.key] = error.problem, f"{error.remedy}, or get the sources instead"
        return None
    if file.state == "as published":
        return file
    if all(context.data.candidates(context.recipe.file(key)) for key in recipe.files):
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
