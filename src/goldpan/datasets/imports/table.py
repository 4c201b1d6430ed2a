"""Reads any table whose columns the task's file names: most public datasets are one.

`[columns]` says where text and target stand. `[settings]` may say more:

    labels      what the source writes, and which label it means: { "1" = "bug" }
    separator   what stands between several labels of one column
    partitions  which files are an official split, by a part of their name: { train = "train" }
    join        what stands between several texts; a line break by default
    empty       what the source writes where a text is missing: ["NULL"]
    id, repo, created_at, document    columns of that meaning
    only        rows to take: { language = "en" }
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from goldpan.core.errors import DatasetError
from goldpan.datasets.import_files import table_rows
from goldpan.datasets.task import Task
from goldpan.datasets.task_rows import target_column

SETTINGS = (
    "labels",
    "separator",
    "partitions",
    "id",
    "repo",
    "created_at",
    "document",
    "only",
    "join",
    "empty",
)
_YES = {"1", "1.0", "true", "yes", "x"}
_NO = {"0", "0.0", "false", "no", ""}
_WEB = "https://github.com/"


def read(task: Task, files: Sequence[Path]) -> Iterator[dict[str, Any]]:
    """Yield the rows of the files, in order; an id is made of the file and the row's number.

    Raises `DatasetError` for a column that is missing or an answer that is not one of the task's.
    """
    only = task.settings.get("only", {})
    for path in files:
        partition = _partition(task, path)
        for number, row in enumerate(table_rows(path), 1):
            if number == 1:
                _check_columns(task, path, row)
            if all(_text(row.get(name)) == str(value) for name, value in only.items()):
                where = f"{path.name}, row {number}"
                yield {
                    "id": f"{task.name}:{path.name}:{number}",
                    "repo": _repo(_named(task, row, "repo")),
                    "created_at": _moment(_named(task, row, "created_at"), where),
                    "document": _optional(_named(task, row, "document")),
                    "partition": partition,
                    "source": _source(task, path, number, row),
                    "text": _joined(task, row),
                    target_column(task.type).name: _target(task, row, where),
                }


def _partition(task: Task, path: Path) -> str | None:
    parts: Mapping[str, str] = task.settings.get("partitions", {})
    return next((split for split, part in parts.items() if part in path.name), None)


def _check_columns(task: Task, path: Path, row: Mapping[str, Any]) -> None:
    named = [*task.columns.text, *task.columns.target]
    named += [task.settings[key] for key in ("id", "repo", "created_at") if key in task.settings]
    named += task.settings.get("only", ())
    if missing := [name for name in named if name not in row]:
        raise DatasetError(
            f"{path} has no column {missing[0]!r}; it has {', '.join(map(str, row))}",
            "Give the right file, or name its columns in the task's file",
        )


def _named(task: Task, row: Mapping[str, Any], setting: str) -> Any:
    """Return what the column of a setting holds; tables may have a column without any name."""
    return row.get(task.settings[setting]) if setting in task.settings else None


def _joined(task: Task, row: Mapping[str, Any]) -> str:
    """Return a row's texts as one; with `join`, what stands between them, empty ones go."""
    empty = task.settings.get("empty", ())
    texts = [_text(row[name]) for name in task.columns.text]
    texts = ["" if text in empty else text for text in texts]
    if "join" not in task.settings:
        return "\n".join(texts)
    return str(task.settings["join"]).join(filter(None, texts))


def _target(task: Task, row: Mapping[str, Any], where: str) -> Any:
    match task.type:
        case "regression":
            return _number(row[task.columns.target[0]], where)
        case "multi-label" if len(task.columns.target) > 1:
            named = zip(task.columns.target, task.label_names, strict=True)
            return [label for column, label in named if _marked(row[column], column, where)]
        case "multi-label":
            written = _text(row[task.columns.target[0]])
            parts = written.split(task.settings.get("separator", ","))
            return [_label(task, part.strip(), where) for part in parts if part.strip()]
        case "text-generation":
            return _text(row[task.columns.target[0]])
        case _:
            return _label(task, _text(row[task.columns.target[0]]).strip(), where)


def _label(task: Task, written: str, where: str) -> str:
    means: Mapping[str, str] = task.settings.get("labels", {})
    whole = written.removesuffix(".0")  # pandas and workbooks write whole numbers like this
    label = means.get(written, means.get(whole, written))
    if label not in task.label_names:
        raise DatasetError(
            f"{where}: {written[:80]!r} is not a label of {task.name}",
            f"It has {', '.join(means or task.label_names)}",
        )
    return label


def _marked(value: Any, column: str, where: str) -> bool:
    text = _text(value).strip().lower()
    if text not in _YES | _NO:
        raise DatasetError(
            f"{where}: {column} holds {text[:80]!r}, which is neither 1 nor 0",
            "Correct the file, or name the right columns in the task's file",
        )
    return text in _YES


def _number(value: Any, where: str) -> float:
    try:
        return float(value)
    except (TypeError, ValueError):
        raise DatasetError(
            f"{where}: {_text(value)[:80]!r} is not a number", "Fix that row of the file"
        ) from None


def _moment(value: Any, where: str) -> datetime | None:
    if value is None or value == "":
        return None
    try:
        moment = value if isinstance(value, datetime) else _parsed(str(value))
    except ValueError:
        raise DatasetError(
            f"{where}: {_text(value)[:80]!r} is not a time", "Fix that row of the file"
        ) from None
    return moment if moment.tzinfo else moment.replace(tzinfo=UTC)


def _parsed(text: str) -> datetime:
    try:
        return datetime.fromisoformat(text)
    except ValueError:
        return datetime.strptime(text, "%m/%d/%Y %H:%M:%S").replace(tzinfo=UTC)


def _repo(value: Any) -> str | None:
    """Return a project's name; addresses of GitHub, of its API too, become OWNER/NAME."""
    text = _optional(value)
    if text is None:
        return None
    for start in (_WEB, "https://api.github.com/repos/"):
        if text.startswith(start):
            return "/".join(text.removeprefix(start).split("/")[:2])
    return text


def _source(task: Task, path: Path, number: int, row: Mapping[str, Any]) -> str:
    name = _optional(_named(task, row, "id"))
    return f"{path.name}:{number}" + (f" ({name})" if name else "")


def _optional(value: Any) -> str | None:
    return None if value is None or value == "" else _text(value)


def _text(value: Any) -> str:
    return "" if value is None else str(value)
