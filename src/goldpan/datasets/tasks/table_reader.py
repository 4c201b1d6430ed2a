"""Reads any table whose columns the task's file names: most public datasets are one.

`[columns]` names the columns of text and target; `[settings]` may have more, by the names of
`Layout`.
Where authors publish a source in several forms, `[settings]` has `layouts`, each with the columns
`text` and `target` and the settings in which it differs; a file is read by the first that fits.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, fields
from datetime import UTC, datetime
from decimal import Decimal
from itertools import chain
from pathlib import Path
from string import Formatter
from typing import Any

from goldpan.core.errors import DatasetError, GoldpanError, UsageError
from goldpan.core.settings.file import Source
from goldpan.datasets.table_files import stem_of, table_rows
from goldpan.datasets.tasks.task import Task, target_column

_YES = {"1", "1.0", "true", "yes", "x"}
_NO = {"0", "0.0", "false", "no", ""}
NO_COLUMNS, NAME_COLUMNS = "text or target is missing", "Name the columns of the source"
_SHOWN = 5  # wrong answers that are named
_ITEM = re.compile(r"""u?("[^"]*"|'[^']*')""")
"""An item of a list as Python and JSON write it."""


@dataclass(frozen=True, slots=True)
class Layout:
    """The form in which a source's tables hold a task's rows."""

    text: tuple[str, ...]
    target: tuple[str, ...]
    labels: Mapping[str, str] = field(default_factory=dict)
    """Labels by what the source writes for them."""
    separator: str = ","
    """The separator of several labels in one column, which may be a list in brackets, too."""
    partitions: Mapping[str, str] = field(default_factory=dict)
    """Parts of files' names, by the official split of these files."""
    join: str | None = None
    """The separator of several texts, empty ones left out; a line break by default."""
    empty: tuple[str, ...] = ()
    """The words of the source for a missing text."""
    strip: str = ""
    """Characters that are no part of a text where it begins and ends."""
    only: Mapping[str, Any] = field(default_factory=dict)
    """Rows to take, by what columns hold: `{ language = "en" }`."""
    id: str | tuple[str, ...] = ()
    """The column that names a row; of several, the first that a table fills."""
    repo: str = ""
    """A column, or a text with columns in braces: `"project {ProjectID}"`."""
    created_at: str = ""
    document: str = ""
    file: str = ""
    """A regular expression for the files' names without endings, if not all are accepted; its
    groups `label` and `repo` are facts of all rows of a file, as in
    `"(lkml|gh)_(?P<label>civil|uncivil)"`."""
    ids: str = "{file}:{number}"
    """The ids of rows: of the file's name, or its `stem`, the number and groups of `file`."""
    unquoted: str = ""
    """The column that may hold separators without quotes."""
    drop_unlabeled: bool = False
    """Whether rows without an answer are left out."""

    def __post_init__(self) -> None:
        """Refuse names of files, ids and projects that cannot be made."""
        try:
            groups = dict.fromkeys(re.compile(self.file).groupindex, "")
            self.ids.format_map({"file": "", "stem": "", "number": 0, **groups})
            self.repo.format_map(dict.fromkeys(_columns(self.repo), ""))
        except (re.error, AttributeError, LookupError, TypeError, ValueError) as error:
            raise ValueError(f"file, ids or repo cannot be used ({error})") from None

    def missing(self, row: Mapping[str, Any]) -> list[str]:
        """Return the columns that a table lacks."""
        needed = [*self.text, *(() if "(?P<label>" in self.file else self.target), *self.only]
        needed += [self.id] if isinstance(self.id, str) else []
        needed += [self.created_at] if self.created_at else []
        needed += _columns(self.repo)
        return [name for name in needed if name not in row]


_NAMES = tuple(setting.name for setting in fields(Layout))
SETTINGS = (*(name for name in _NAMES if name not in ("text", "target")), "layouts")


@dataclass(frozen=True, slots=True)
class OpenTable:
    """A table with the layout of its rows."""

    task: Task
    layout: Layout
    path: Path
    facts: Mapping[str, str]
    """Facts in the name of the file."""
    partition: str | None
    rows: Iterator[dict[str, Any]]

    def id(self, number: int) -> str:
        """Return the id of a row."""
        return f"{self.task.name}:{self.layout.ids.format_map({**self.facts, 'number': number})}"


class WrongAnswerError(DatasetError):
    """A row's answer is none of the task's."""

    def __init__(self, answer: str, problem: str, remedy: str) -> None:
        super().__init__(problem, remedy)
        self.answer = answer


def read(task: Task, files: Sequence[Path]) -> Iterator[dict[str, Any]]:
    """Yield the rows of the files, in order; all problems are reported at the end.

    A row without an answer has None as its target, if the task's settings say `drop_unlabeled`.

    Raises `UsageError` for a file of another name than the source's, `DatasetError` for a column
    that is missing, an answer that is not one of the task's, or several such problems.
    """
    layouts = layouts_of(task)
    if not task.columns.text or not task.columns.target:
        raise UsageError(f"{task.name}: columns: {NO_COLUMNS}", NAME_COLUMNS)
    begun: set[str] = set()
    problems: dict[str, GoldpanError] = {}
    for path in files:
        try:
            table = open_table(task, layouts, path)
            if (start := table.id(1)) in begun:
                raise UsageError(
                    f"{path} is the second file with rows such as {start}",
                    "Give each file once, under its authors' name",
                )
            begun.add(start)
            yield from _rows(table, problems)
        except GoldpanError as error:
            problems[error.problem] = error
    if len(problems) > 1:
        raise DatasetError(
            f"{len(problems)} things are wrong with the rows: {'; '.join(problems)}",
            f"Correct them all, or the file of {task.name}",
        )
    for problem in problems.values():
        raise problem


def _rows(table: OpenTable, problems: dict[str, GoldpanError]) -> Iterator[dict[str, Any]]:
    """Yield the rows of a table, and add its wrong answers, each with its error."""
    first: dict[str, tuple[int, WrongAnswerError]] = {}
    wrong: Counter[str] = Counter()
    only = table.layout.only.items()
    for number, row in enumerate(table.rows, 1):
        if not all(cell_text(row.get(name)) == str(value) for name, value in only):
            continue
        try:
            result = _row(table, number, row)
        except WrongAnswerError as error:
            wrong[error.answer] += 1
            first.setdefault(error.answer, (number, error))
        else:
            yield result
    name, task = table.path.name, table.task
    fault = "not a finite number" if task.type == "regression" else f"not a label of {task.name}"
    for answer, count in wrong.most_common(_SHOWN):
        number, problem = first[answer]
        where = f"in {count:,} rows, first in row {number:,}"
        problems[f"{name}: {answer[:80]!r}, {where}, is {fault}"] = problem
    if len(wrong) > _SHOWN:
        problems[f"{name}: {len(wrong) - _SHOWN:,} more such values"] = problem


def layouts_of(task: Task) -> tuple[Layout, ...]:
    """Return the layouts of a task's source; raises `UsageError` for settings that are wrong."""
    settings = {key: value for key, value in task.settings.items() if key in SETTINGS}
    others = settings.pop("layouts", ())
    columns = {"text": task.columns.text, "target": task.columns.target}
    if not isinstance(others, list | tuple) or any(not isinstance(o, Mapping) for o in others):
        raise UsageError(
            f"{task.name}: settings.layouts is not an array of tables",
            'Write layouts = [{ text = ["body"] }]',
        )
    written: list[Mapping[str, Any]] = [{}, *others]
    source = Source(f"{task.name}: settings", settings)
    return tuple(source.read(Layout, {**columns, **settings, **other}) for other in written)


def open_table(task: Task, layouts: Sequence[Layout], path: Path) -> OpenTable:
    """Open a table with the layout that fits its name and columns; raises as `read` does."""
    stem = stem_of(path)
    named = [
        (layout, match)
        for layout in layouts
        if (match := re.fullmatch(layout.file or "(?s:.*)", stem)) is not None
    ]
    if not named:
        names = ", ".join(task.source.files) or " or ".join(layout.file for layout in layouts)
        raise UsageError(
            f"{path} does not have the name of a file of {task.source.title}",
            f"Give the files under their authors' names: {names}",
        )
    rows = table_rows(path, named[0][0].unquoted)
    first = next(rows, None)
    lacking = [layout.missing(first) if first else [] for layout, _ in named]
    if all(lacking):
        raise DatasetError(*_other_columns(task, path, first or {}, lacking))
    layout, match = named[lacking.index([])]
    facts = {"file": path.name, "stem": stem, **match.groupdict()}
    partitions = (name for name, part in layout.partitions.items() if part in path.name)
    rows = chain([first] if first else [], rows)
    return OpenTable(task, layout, path, facts, next(partitions, None), rows)


def _other_columns(
    task: Task, path: Path, row: Mapping[str, Any], lacking: Sequence[Sequence[str]]
) -> tuple[str, str]:
    columns = f"it has {', '.join(map(str, row))}"
    if len(lacking) == 1:
        return (
            f"{path} has no column {' and no '.join(map(repr, lacking[0]))}; {columns}",
            f"Give the right file, or name its columns in the task's file{source_address(task)}",
        )
    forms = " or ".join(" and ".join(map(repr, missing)) for missing in lacking)
    return (
        f"{path} has no layout that {task.name} knows; {columns}",
        f"Give a table that has {forms}, too{source_address(task)}",
    )


def source_address(task: Task) -> str:
    """Return the end of a remedy that names the source's address; empty for data of one's own."""
    source = task.source
    return f"; {source.title} is published at {source.url}" if source.url else ""


def _row(table: OpenTable, number: int, row: Mapping[str, Any]) -> dict[str, Any]:
    task, layout, path = table.task, table.layout, table.path
    where = f"{path.name}, row {number}"
    names = (layout.id,) if isinstance(layout.id, str) else layout.id
    name = next(filter(None, (cell_text(row.get(column)) for column in names)), "")
    return {
        "id": table.id(number),
        "repo": table.facts.get("repo") or _repo(_filled(layout.repo, row)),
        "created_at": _moment(
            task, row.get(layout.created_at) if layout.created_at else None, where
        ),
        "document": cell_text(row.get(layout.document) if layout.document else None) or None,
        "partition": table.partition,
        "source": f"{path.name}:{number}" + (f" ({name})" if name else ""),
        "text": _joined(layout, row),
        target_column(task.type).name: _target(table, row, where),
    }


def _columns(written: str) -> list[str]:
    """Return the columns of a setting that is one, or a text with some in braces."""
    if "{" not in written:
        return [written] if written else []
    return [name for _, name, _, _ in Formatter().parse(written) if name]


def _filled(written: str, row: Mapping[str, Any]) -> str:
    if "{" in written:
        return written.format_map({name: cell_text(row.get(name)) for name in _columns(written)})
    return cell_text(row.get(written)) if written else ""


def _joined(layout: Layout, row: Mapping[str, Any]) -> str:
    """Return a row's texts as one, separated by a line break or `join`, which skips empty ones."""
    texts = [cell_text(row.get(name)) for name in layout.text]
    texts = ["" if text in layout.empty else text for text in texts]
    if layout.strip:
        texts = [text.strip(layout.strip) for text in texts]
    return "\n".join(texts) if layout.join is None else layout.join.join(filter(None, texts))


def _target(table: OpenTable, row: Mapping[str, Any], where: str) -> Any:
    task, layout = table.task, table.layout
    if layout.drop_unlabeled and not any(
        cell_text(row.get(name)).strip() for name in layout.target
    ):
        return None
    match task.type:
        case "regression":
            return _number(task, row.get(layout.target[0]), where)
        case "multi-label" if len(layout.target) > 1:
            named = zip(layout.target, task.label_names, strict=True)
            return [
                label for column, label in named if _marked(task, row.get(column), column, where)
            ]
        case "multi-label":
            parts = _listed(cell_text(row.get(layout.target[0])).strip(), layout.separator)
            return [label_of(task, layout, part, where) for part in parts]
        case "text-generation":
            return cell_text(row.get(layout.target[0]))
        case _:
            return _one_label(table, row, where)


def _one_label(table: OpenTable, row: Mapping[str, Any], where: str) -> str:
    """Return a row's label, which may also be in the name of the file."""
    task, layout, named = table.task, table.layout, table.facts.get("label")
    written = cell_text(row.get(layout.target[0])).strip()
    label = label_of(task, layout, written if named is None else named, where)
    if named is not None and written and label_of(task, layout, written, where) != label:
        raise DatasetError(
            f"{where}, is {written}, and the file's name says {named}",
            f"Give the file under its authors' name{source_address(task)}",
        )
    return label


def _listed(written: str, separator: str) -> list[str]:
    """Return the labels in one column; a list that cannot be read is one label."""
    if not written.startswith("["):
        return [part.strip() for part in written.split(separator) if part.strip()]
    if _ITEM.sub("", written).strip("[], \n"):
        return [written]
    return [part.strip("\"' ") for part in _ITEM.findall(written)]


def label_of(task: Task, layout: Layout, written: str, where: str) -> str:
    """Return the label that a source's answer means; raises `DatasetError` for no label."""
    whole = written.removesuffix(".0")  # pandas and workbooks write whole numbers like this
    label = layout.labels.get(written, layout.labels.get(whole, written))
    if label not in task.label_names:
        raise WrongAnswerError(
            written,
            f"{where}: {written[:80]!r} is not a label of {task.name}",
            f"It has {', '.join(layout.labels or task.label_names)}{source_address(task)}",
        )
    return label


def _marked(task: Task, value: Any, column: str, where: str) -> bool:
    text = cell_text(value).strip().lower()
    if text not in _YES | _NO:
        raise DatasetError(
            f"{where}: {column} holds {text[:80]!r}, which is neither 1 nor 0",
            f"Correct the file, or name the right columns in the task's file{source_address(task)}",
        )
    return text in _YES


def _number(task: Task, value: Any, where: str) -> float:
    with suppress(TypeError, ValueError):
        if math.isfinite(number := float(value)):
            return number
    raise WrongAnswerError(
        cell_text(value).strip(),
        f"{where}: {cell_text(value)[:80]!r} is not a finite number",
        f"Fix that row of the file{source_address(task)}",
    )


def _moment(task: Task, value: Any, where: str) -> datetime | None:
    if not cell_text(value):
        return None
    try:
        moment = value if isinstance(value, datetime) else _parsed(str(value))
    except ValueError:
        raise DatasetError(
            f"{where}: {cell_text(value)[:80]!r} is not a time",
            f"Fix that row of the file{source_address(task)}",
        ) from None
    return moment if moment.tzinfo else moment.replace(tzinfo=UTC)


def _parsed(text: str) -> datetime:
    try:
        return datetime.fromisoformat(text)
    except ValueError:
        return datetime.strptime(text, "%m/%d/%Y %H:%M:%S").replace(tzinfo=UTC)


def _repo(text: str) -> str | None:
    """Return a project's name; addresses of GitHub, of its API too, become OWNER/NAME."""
    for start in ("https://github.com/", "https://api.github.com/repos/"):
        if text.startswith(start):
            return "/".join(text.removeprefix(start).split("/")[:2])
    return text or None


def cell_text(value: Any) -> str:
    """Return the text of a cell: whole numbers without .0, as workbooks and pandas have floats.

    None and NaN, which data frames have for a number that is missing, are empty. Bytes, which
    Parquet may have for texts, are UTF-8.
    """
    if isinstance(value, bytes):
        return value.decode("utf-8", "replace")
    if isinstance(value, float | Decimal) and (math.isnan(value) or value % 1 == 0):
        value = None if math.isnan(value) else int(value)
    return "" if value is None else str(value)
