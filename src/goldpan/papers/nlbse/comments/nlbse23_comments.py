"""Reads the code comments of NLBSE'23 (section III): a CSV file a language.

A row is a sentence and a category: ``comment_sentence_id, class, comment_sentence, partition,
instance_type, category``. Partition 0 is training, as Table II and the data have it; the paper's
text says the reverse.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NoReturn

from goldpan.core.errors import DatasetError, UsageError
from goldpan.datasets.import_files import form_of, stem_of, table_rows
from goldpan.datasets.task import Task
from goldpan.datasets.task_rows import target_column

_COLUMNS = (
    "comment_sentence_id",
    "class",
    "comment_sentence",
    "partition",
    "instance_type",
    "category",
)
_PARTITIONS = {"0": "train", "1": "test"}
_REMEDY = "Take the file as its authors publish it, in the folder input of each language"


@dataclass(frozen=True, slots=True)
class Instance:
    """A row of a file: whether a sentence is of a category."""

    number: int
    """Of the row, from 1."""
    id: int
    document: str
    """The class, by the name of its file."""
    sentence: str
    partition: str
    positive: bool
    category: str
    """Its letters alone."""


@dataclass(frozen=True, slots=True)
class _Answer:
    """What the task's data say of a sentence."""

    instance: Instance
    partition: str | None
    target: str | list[str]


def read(task: Task, files: Sequence[Path]) -> Iterator[dict[str, Any]]:
    """Yield the rows of a task out of the file that is named after its language.

    A binary task takes the instances of the category in its settings, with the official
    partition; its first label is the category, its second the rest. A multi-label task puts the
    `categories` of its settings together, sentence by sentence and in the order of its labels;
    each category is partitioned by itself, so these rows have no partition. Raises `UsageError`
    where no file is of the task's language, and `DatasetError` where it is not as it should be.
    """
    file = _file_of(task, files)
    instances = list(read_instances(file))
    positions = _positions(instances)
    answers = _binary if task.type == "binary" else _multi_label
    for answer in answers(task, instances, file):
        instance = answer.instance
        yield {
            "id": f"{task.name}:{instance.id}",
            "document": instance.document,
            "position": positions[instance.id],
            "partition": answer.partition,
            "source": f"{file.name}:{instance.number}",
            "text": instance.sentence,
            target_column(task.type).name: answer.target,
        }


def read_instances(file: Path) -> Iterator[Instance]:
    """Yield the rows of a file; raises `DatasetError` that names the row where one is wrong."""
    for number, row in enumerate(table_rows(file), 1):
        if missing := [name for name in _COLUMNS if name not in row]:
            raise DatasetError(f"{file} lacks the columns {', '.join(missing)}", _REMEDY)
        yield _instance(row, file, number)


def spelled(category: str) -> str:
    """Return a category by its letters alone: Keymessages and key_messages are the same."""
    return "".join(char for char in category.casefold() if char.isalnum())


def _instance(row: Mapping[str, str], file: Path, number: int) -> Instance:
    numbers = (str(row[name]).strip() for name in (_COLUMNS[0], "partition", "instance_type"))
    id, partition, kind = (number.removesuffix(".0") for number in numbers)  # as pandas writes
    if not (id.isascii() and id.isdigit()):
        _refuse(file, number, f"has the comment_sentence_id {id[:40]!r}, which is not a number")
    if partition not in _PARTITIONS or kind not in ("0", "1"):
        _refuse(file, number, "has a partition or an instance_type that is neither 0 nor 1")
    return Instance(
        number,
        int(id),
        row["class"],
        row["comment_sentence"],
        _PARTITIONS[partition],
        kind == "1",
        spelled(row["category"]),
    )


def _refuse(file: Path, number: int, problem: str) -> NoReturn:
    raise DatasetError(f"{file}, row {number}, {problem}", _REMEDY)


def _file_of(task: Task, files: Sequence[Path]) -> Path:
    """Return the file that is named after the task's language."""
    language = str(task.settings["language"])
    for file in files:
        if stem_of(file).casefold() == language and form_of(file) == "csv":
            return file
    raise UsageError(
        f"None of the files for {task.name} is called {language}.csv",
        "Give the file of that language, plain or as .gz or .xz, under its authors' name",
    )


def _positions(instances: Sequence[Instance]) -> dict[int, int]:
    """Return the place of each sentence in the comment of its class, by its number."""
    classes: dict[str, set[int]] = {}
    for instance in instances:
        classes.setdefault(instance.document, set()).add(instance.id)
    return {
        number: index
        for numbers in classes.values()
        for index, number in enumerate(sorted(numbers))
    }


def _binary(task: Task, instances: Sequence[Instance], file: Path) -> Iterator[_Answer]:
    category = task.settings["category"]
    positive, negative = task.label_names
    own = [instance for instance in instances if instance.category == spelled(category)]
    if not own:
        raise DatasetError(f"{file} holds no category {category}", _REMEDY)
    for instance in own:
        yield _Answer(instance, instance.partition, positive if instance.positive else negative)


def _multi_label(task: Task, instances: Sequence[Instance], file: Path) -> Iterator[_Answer]:
    categories: Sequence[str] = task.settings["categories"]
    present = {instance.category for instance in instances}
    if missing := [name for name in categories if spelled(name) not in present]:
        raise DatasetError(f"{file} holds no category {', '.join(missing)}", _REMEDY)
    labels = dict(zip(map(spelled, categories), task.label_names, strict=True))
    sentences: dict[int, list[Instance]] = {}
    for instance in instances:
        sentences.setdefault(instance.id, []).append(instance)
    for _, several in sorted(sentences.items()):
        positive = {instance.category for instance in several if instance.positive}
        target = [label for category, label in labels.items() if category in positive]
        yield _Answer(several[0], None, target)
