"""Reads the sentences on APIs of Uddin and Khomh: a workbook with all aspects in one column.

A row is ``thread, tid, sent, ManualLabel, codes, ...``; `codes` is written as Python writes a list
of quoted names, such as ``["'Bug'", u"'Others'"]``. A table with a column for each aspect, as
`[columns]` names them, is read as well.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from goldpan.core.errors import DatasetError
from goldpan.datasets.import_files import stem_of, table_rows
from goldpan.datasets.imports import table
from goldpan.datasets.task import Task

_TEXT, _CODES, _THREAD = "sent", "codes", "thread"
_NAME = re.compile(r"""u?["']+\s*([A-Za-z]+)\s*["']+""")
_NONE = re.compile(r"[\s,\[\]]*")
"""What a list without names consists of."""


def read(task: Task, files: Sequence[Path]) -> Iterator[dict[str, Any]]:
    """Yield the sentences, in order; raises `DatasetError` for an aspect that the task has not."""
    for path in files:
        rows = table_rows(path)
        first = next(rows, {})
        if _CODES not in first:
            yield from table.read(task, [path])
            continue
        yield _sentence(task, path, 1, first)
        for number, row in enumerate(rows, 2):
            yield _sentence(task, path, number, row)


def _sentence(task: Task, path: Path, number: int, row: dict[str, Any]) -> dict[str, Any]:
    codes = str(row.get(_CODES) or "")
    aspects = _NAME.findall(codes)
    unknown = [name for name in aspects if name not in task.label_names]
    if not _NONE.fullmatch(rest := _NAME.sub("", codes)):
        unknown.append(rest.strip("[], "))
    if unknown:
        raise DatasetError(
            f"{path}, row {number}: {unknown[0][:80]!r} is not an aspect of {task.name}",
            f"Give the workbook as its authors publish it: {task.source.url}",
        )
    return {
        "id": f"{task.name}:{stem_of(path)}:{number}",
        "document": _whole(row.get(_THREAD)),
        "source": f"{path.name}:{number}",
        "text": str(row.get(_TEXT) or ""),
        "labels": aspects,
    }


def _whole(value: Any) -> str | None:
    """Return a number of a workbook, which knows no whole ones, as people write it."""
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    return None if value in (None, "") else str(value)
