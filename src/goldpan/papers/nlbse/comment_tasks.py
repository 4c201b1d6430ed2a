"""Tasks on code comments: those of NLBSE'23, made of one file, and readers of published files.

A task such as `nlbse23_java_summary` is an attribute of this module. Its prompt's examples are
sentences of its category and of two others, whose reason is what those tell.

NLBSE'23 (section III) has a CSV file a language: a row is a sentence and a category. Partition 0 is
training, as Table II and the data have it; the paper's text says the reverse. NLBSE'25 has Parquet
files on the Hub, two a language: a row is a sentence, `labels` a list of 0 and 1 in an order that
the competition tells and the files do not. SELU's instances (Table I) are these: 9,339 of Java,
1,587 of Pharo and 2,290 of Python, though the table has the last two swapped.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from itertools import groupby
from operator import itemgetter
from pathlib import Path
from string import Template
from typing import Any, TypeAlias

from goldpan.plugins import data

_FILE = Path(__file__).with_suffix(".toml")
_PREFIX = "nlbse23_"
Category: TypeAlias = Mapping[str, Any]
Instance: TypeAlias = dict[str, Any]
"""A row of NLBSE'23, whether a sentence is of a category: its number from 1, and by its letters."""


def __getattr__(name: str) -> data.Task:
    key = name.removeprefix(_PREFIX)
    if key == name or key not in _file()["category"]:
        raise AttributeError(f"{_FILE} has no category {key}")
    values = {"name": name, **_values(key, _file()["category"])}
    return data.task_of(values, f"{_FILE}: {key}")


def categories() -> Mapping[str, Category]:
    """Return the facts of each category, by its task's name."""
    return {f"{_PREFIX}{key}": category for key, category in _file()["category"].items()}


@cache
def _file() -> Mapping[str, Any]:
    return data.read_toml(_FILE).values


def _values(key: str, categories: Mapping[str, Category]) -> dict[str, Any]:
    own, language = categories[key], key.partition("_")[0]
    words = {**own, "language": language, "Language": language.title()}
    others = [categories[f"{language}_{other}"] for other in own["unlike"]]
    for name, category in zip(("own", "other", "third"), (own, *others), strict=True):
        words |= {f"{name}_tells": category["tells"]}
        words |= {f"{name}_{at}": text for at, text in enumerate(category["sentences"], 1)}
    values: dict[str, Any] = _filled(_file()["task"], words)
    return {**values, "counts": _counts(own)}


def _filled(value: Any, words: Mapping[str, Any]) -> Any:
    """Return shared settings with a category's words in them."""
    if isinstance(value, str):
        return Template(value).substitute(words)
    if isinstance(value, Mapping):
        return {key: _filled(item, words) for key, item in value.items()}
    return [_filled(item, words) for item in value] if isinstance(value, list) else value


def _counts(own: Category) -> dict[str, int]:
    label, counts = own["label"], own["counts"]
    names = [f"{side}/{name}" for side in ("train", "test") for name in (label, f"not {label}")]
    totals = {"total": sum(counts), "train": sum(counts[:2]), "test": sum(counts[2:])}
    return {**totals, **dict(zip(names, counts, strict=True))}


_ORDER_2025 = data.read_toml(Path(__file__).with_name("categories.toml")).values["labels"]
"""The categories by language, in the order of the files' labels."""
_ID, _CLASS, _TEXT = "comment_sentence_id", "class", "comment_sentence"
_COLUMNS_2023 = (_ID, _CLASS, _TEXT, "partition", "instance_type", "category")
_COLUMNS_2025 = (_CLASS, _TEXT, "partition", "labels")
_MOST_DIGITS = 18
_PARTITIONS = {"0": "train", "1": "test"}
_REMEDY_2023 = "Take the file as its authors publish it, in the folder input of each language"
_REMEDY_2025 = "Take the files of NLBSE/nlbse25-code-comment-classification as they are on the Hub"


def read_2023(task: data.Task, files: Sequence[Path]) -> Iterator[dict[str, Any]]:
    """Yield the rows of a task out of the file that is named after its language.

    A binary task takes the instances of the category in its settings, with the official
    partition; its first label is the category, its second the rest. A multi-label task puts the
    `categories` of its settings together, sentence by sentence and in the order of its labels;
    each category is partitioned by itself, so these rows have no partition. Raises `UsageError`
    where no file is of the task's language, and `DatasetError` where it is not as it should be.
    """
    file = _file_of(task, files)
    rows = enumerate(_checked_rows(file, _COLUMNS_2023, _REMEDY_2023), 1)
    instances = [_instance(row, file, number) for number, row in rows]
    names = task.settings.get("categories") or [task.settings["category"]]
    present = {instance["category"] for instance in instances}
    if missing := [name for name in names if spelled(name) not in present]:
        raise data.DatasetError(f"{file} holds no category {', '.join(missing)}", _REMEDY_2023)
    classes: dict[str, set[int]] = {}
    for instance in instances:
        classes.setdefault(instance["document"], set()).add(instance["id"])
    places = {document: sorted(numbers) for document, numbers in classes.items()}
    target = data.target_column(task.type).name
    for instance in (_binary if task.type == "binary" else _multi_label)(task, instances):
        document, id = instance["document"], instance["id"]
        yield {
            "id": f"{task.name}:{id}",
            "document": document,
            "position": bisect_left(places[document], id),
            "partition": instance["partition"],
            "source": f"{file.name}:{instance['number']}",
            "text": instance["text"],
            target: instance["target"],
        }


def read_2025(task: data.Task, files: Sequence[Path]) -> Iterator[dict[str, Any]]:
    """Yield the rows of a multi-label task; the `categories` of its settings name its labels.

    The files of its language are those whose names begin with it. Raises `UsageError` where there
    is none, and `DatasetError` where one is not as it should be.
    """
    language = str(task.settings["language"])
    order = _ORDER_2025[language]
    named = sorted(file for file in files if file.name.startswith(f"{language}_"))
    if not named:
        raise data.UsageError(
            f"None of the files for {task.name} is called {language}_...", _REMEDY_2025
        )
    counts: Counter[str] = Counter()
    for file in named:
        for number, row in enumerate(_checked_rows(file, _COLUMNS_2025, _REMEDY_2025), 1):
            bits = row["labels"]
            partition = _PARTITIONS.get(str(row["partition"]).removesuffix(".0"))
            if partition is None or not isinstance(bits, list) or len(bits) != len(order):
                raise data.DatasetError(f"{file}, row {number}, has another form", _REMEDY_2025)
            marked = {name for name, bit in zip(order, bits, strict=True) if bit}
            yield {
                "id": f"{task.name}:{file.name}:{number}",
                "document": row[_CLASS],
                "position": counts[row[_CLASS]],
                "partition": partition,
                "source": f"{file.name}:{number}",
                "text": row[_TEXT],
                "labels": [label for name, label in _labels(task).items() if name in marked],
            }
            counts[row[_CLASS]] += 1


def spelled(category: str) -> str:
    """Return a category by its letters alone: Keymessages and key_messages are the same."""
    return "".join(char for char in category.casefold() if char.isalnum())


def _checked_rows(file: Path, columns: Sequence[str], remedy: str) -> Iterator[dict[str, Any]]:
    for row in data.table_rows(file):
        if missing := [name for name in columns if name not in row]:
            raise data.DatasetError(
                f"{file} does not have the columns {', '.join(missing)}", remedy
            )
        yield row


def _labels(task: data.Task) -> dict[str, str]:
    """Return the labels of a multi-label task by the letters of their categories."""
    categories = [spelled(str(name)) for name in task.settings["categories"]]
    return dict(zip(categories, task.label_names, strict=True))


def _instance(row: Mapping[str, str], file: Path, number: int) -> Instance:
    numbers = (str(row[name]).strip() for name in (_ID, "partition", "instance_type"))
    id, partition, kind = (number.removesuffix(".0") for number in numbers)  # as pandas writes
    problem = ""
    if not (id.isascii() and id.isdigit() and len(id) <= _MOST_DIGITS):
        problem = f"has the {_ID} {id[:40]!r}, which is not a number"
    elif partition not in _PARTITIONS or kind not in ("0", "1"):
        problem = "has a partition or an instance_type that is neither 0 nor 1"
    if problem:
        raise data.DatasetError(f"{file}, row {number}, {problem}", _REMEDY_2023)
    return {
        "number": number,
        "id": int(id),
        "document": row[_CLASS],
        "text": row[_TEXT],
        "partition": _PARTITIONS[partition],
        "positive": kind == "1",
        "category": spelled(row["category"]),
    }


def _file_of(task: data.Task, files: Sequence[Path]) -> Path:
    language = str(task.settings["language"])
    for file in files:
        if data.stem_of(file).casefold() == language and data.form_of(file) == "csv":
            return file
    raise data.UsageError(
        f"None of the files for {task.name} is called {language}.csv",
        "Give the file of that language, plain or as .gz or .xz, under its authors' name",
    )


def _binary(task: data.Task, instances: Sequence[Instance]) -> Iterator[Instance]:
    category = spelled(task.settings["category"])
    positive, negative = task.label_names
    for instance in instances:
        if instance["category"] == category:
            yield {**instance, "target": positive if instance["positive"] else negative}


def _multi_label(task: data.Task, instances: Sequence[Instance]) -> Iterator[Instance]:
    labels = _labels(task)
    for _, sentence in groupby(sorted(instances, key=itemgetter("id")), itemgetter("id")):
        first, *others = sentence
        positive = {row["category"] for row in (first, *others) if row["positive"]}
        target = [label for category, label in labels.items() if category in positive]
        yield {**first, "partition": None, "target": target}
