"""Reads the requirements of PROMISE NFR as Dalpiaz et al. publish them: `promise-reclass.csv`.

The original, `promise_nfr.csv` with semicolons and a column a class, is read as well.

Its quotes are those of ARFF: the text stands in single quotes where any quote stands at all,
and holds commas and quotes of its own. So a row is cut at its first comma and its last three.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from goldpan.core.errors import DatasetError
from goldpan.datasets.import_files import open_text, table_rows
from goldpan.datasets.task import Task

_HEADER = "ProjectID,RequirementText,Class,IsFunctional,IsQuality"

_ORIGINAL = "number;ProjectID;RequirementText;class"
_RELABELLED = ("ProjectID", "RequirementText", "IsFunctional", "IsQuality")


def read(task: Task, files: Sequence[Path]) -> Iterator[dict[str, Any]]:
    """Yield the requirements; `functional` and `others` in the settings have the classes.

    Raises `DatasetError` for a file of another form, or a class that is in neither.
    """
    for path in files:
        with open_text(path) as lines:
            header = next(lines, "").strip()
        if header.startswith(_ORIGINAL):
            yield from _original(task, path)
            continue
        with open_text(path) as lines:
            if next(lines, "").strip() != _HEADER:
                raise DatasetError(
                    f"{path} begins with {header[:80]!r}, not with {_HEADER!r}",
                    f"Give promise-reclass.csv from {task.source.url}",
                )
            for number, line in enumerate((line.strip() for line in lines), 1):
                if line:
                    project, text, kind = _fields(path, number, line)
                    yield {
                        "id": f"{task.name}:{number:03}",
                        "repo": f"project {project}",
                        "source": f"{path.name}:{number}",
                        "text": text,
                        "label": _label(task, path, number, kind),
                    }


def _label(task: Task, path: Path, number: int, written: str) -> str:
    """Return what a class means; blanks around it count for nothing."""
    functional, other = task.label_names
    kind = written.strip()
    if kind in task.settings["functional"]:
        return functional
    if kind not in task.settings["others"]:
        raise DatasetError(
            f"{path}, requirement {number}: {written[:40]!r} is not a class of PROMISE NFR",
            f"Give promise-reclass.csv from {task.source.url}",
        )
    return other


def _original(task: Task, path: Path) -> Iterator[dict[str, Any]]:
    for number, row in enumerate(table_rows(path), 1):
        yield {
            "id": f"{task.name}:{number:03}",
            "repo": f"project {row['ProjectID']}",
            "source": f"{path.name}:{number}",
            "text": row["RequirementText"].strip(),
            "label": _label(task, path, number, row["class"]),
        }


def _fields(path: Path, number: int, line: str) -> tuple[str, str, str]:
    project, comma, rest = line.partition(",")
    parts = rest.rsplit(",", 3)
    if not comma or len(parts) != 4:
        raise DatasetError(
            f"{path}, requirement {number}: the row does not have five fields",
            "Fetch the file again",
        )
    return project, parts[0].strip("'").strip(), parts[1]


def relabelled(path: Path) -> Iterator[tuple[str, str, bool, bool]]:
    """Yield project, text, and whether a requirement is functional and of quality.

    It reads RE-2019's layout, `ProjectID,RequirementText,IsFunctional,IsQuality`, with or without
    the column Class of `promise-reclass.csv`. Raises `DatasetError` for another.
    """
    with open_text(path) as lines:
        header = next(lines, "").lstrip("\ufeff").strip()
    if header == _HEADER:
        with open_text(path) as lines:
            next(lines, "")
            for number, line in enumerate((line.strip() for line in lines), 1):
                if line:
                    project, text, _ = _fields(path, number, line)
                    flags = line.rsplit(",", 2)[1:]
                    yield (
                        project,
                        text,
                        _flag(path, number, flags[0]),
                        _flag(path, number, flags[1]),
                    )
        return
    for number, row in enumerate(table_rows(path), 1):
        if missing := [name for name in _RELABELLED if name not in row]:
            raise DatasetError(
                f"{path} has no column {missing[0]}; it has {', '.join(map(str, row))[:200]}",
                f"Give a file with the columns {', '.join(_RELABELLED)}",
            )
        yield (
            str(row["ProjectID"]),
            str(row["RequirementText"]).strip(),
            _flag(path, number, row["IsFunctional"]),
            _flag(path, number, row["IsQuality"]),
        )


def _flag(path: Path, number: int, value: object) -> bool:
    text = str(value).strip().removesuffix(".0")  # as pandas and workbooks write whole numbers
    if text not in ("0", "1"):
        raise DatasetError(
            f"{path}, requirement {number}: {text[:40]!r} is neither 0 nor 1", "Correct the row"
        )
    return text == "1"
