"""Reads the code comments of NLBSE'25: Parquet files of the Hub, two a language.

A row is a sentence: ``class, comment_sentence, partition, labels``, the last a list of 0 and 1 in
an order that the competition tells and the files do not. SELU's instances (Table I) are these:
9,339 of Java, 1,587 of Pharo and 2,290 of Python, though the table has the last two swapped.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from goldpan.core.errors import DatasetError, UsageError
from goldpan.datasets.import_files import table_rows
from goldpan.datasets.task import Task
from goldpan.papers.nlbse.comments.nlbse23_comments import spelled

CATEGORIES: dict[str, tuple[str, ...]] = {
    "java": ("summary", "ownership", "expand", "usage", "pointer", "deprecation", "rational"),
    "pharo": (
        "keyimplementationpoints",
        "example",
        "responsibilities",
        "classreferences",
        "intent",
        "keymessages",
        "collaborators",
    ),
    "python": ("usage", "parameters", "developmentnotes", "expand", "summary"),
}
"""In the order of the files' labels."""
_COLUMNS = ("class", "comment_sentence", "partition", "labels")
_PARTITIONS = {0: "train", 1: "test"}
_REMEDY = "Take the files of NLBSE/nlbse25-code-comment-classification as they are on the Hub"


def read(task: Task, files: Sequence[Path]) -> Iterator[dict[str, Any]]:
    """Yield the rows of a multi-label task; the `categories` of its settings name its labels.

    The files of its language are those whose names begin with it. Raises `UsageError` where there
    is none, and `DatasetError` where one is not as it should be.
    """
    language = str(task.settings["language"])
    categories = [spelled(str(setting)) for setting in task.settings["categories"]]
    labels = dict(zip(categories, task.label_names, strict=True))
    order = CATEGORIES[language]
    named = sorted(file for file in files if file.name.startswith(f"{language}_"))
    if not named:
        raise UsageError(f"None of the files for {task.name} is called {language}_...", _REMEDY)
    counts: Counter[str] = Counter()
    for file in named:
        for number, row in enumerate(table_rows(file), 1):
            if missing := [name for name in _COLUMNS if name not in row]:
                raise DatasetError(f"{file} lacks the columns {', '.join(missing)}", _REMEDY)
            bits = row["labels"] or []
            if row["partition"] not in _PARTITIONS or len(bits) != len(order):
                raise DatasetError(f"{file}, row {number}, has another form", _REMEDY)
            marked = {name for name, bit in zip(order, bits, strict=True) if bit}
            yield {
                "id": f"{task.name}:{file.name}:{number}",
                "document": row["class"],
                "position": counts[row["class"]],
                "partition": _PARTITIONS[row["partition"]],
                "source": f"{file.name}:{number}",
                "text": row["comment_sentence"],
                "labels": [label for category, label in labels.items() if category in marked],
            }
            counts[row["class"]] += 1
