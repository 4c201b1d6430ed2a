"""Makes the file of a task of one's own from a table: its texts, its label, and nothing else."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from goldpan.core import sanitize
from goldpan.core.errors import GoldpanError, UsageError, suggested
from goldpan.core.result import Block, Line, Result
from goldpan.core.settings_file import toml_value
from goldpan.datasets.importing import ImportResult
from goldpan.datasets.table_files import table_rows
from goldpan.datasets.task import TaskType

_NAME = re.compile(r"[a-z][a-z0-9_]{0,79}")
_MOST_LABELS = 100
_FEWEST_ROWS = 10
_MOST_LISTED, _LONGEST_LISTED = 24, 40
_POSITIVE = ("1", "1.0", "true", "yes", "y")
"""Values of which the label is the positive class, whatever the numbers of rows."""


@dataclass(frozen=True, slots=True)
class AddedTask(Result):
    """A task that was made of a table, with the rows that were imported."""

    imported: ImportResult
    file: Path

    @property
    def exit_code(self) -> int:
        """The exit code of the import."""
        return self.imported.exit_code

    def plain(self) -> dict[str, Any]:
        """Return the import, the file and the type."""
        return {
            **self.imported.plain(),
            "file": str(self.file),
            "type": self.imported.task.type,
        }

    def blocks(self) -> Iterator[Block]:
        """Yield the import, what the file says, and what to do next."""
        yield from self.imported.blocks()
        task = self.imported.task
        names = ", ".join(
            sanitize.line(name, _LONGEST_LISTED) for name in task.label_names[:_MOST_LISTED]
        )
        more = len(task.label_names) - _MOST_LISTED
        of = {
            "regression": "numbers",
            "binary": f"the positive class is {names.replace(', ', ', the other ')}",
        }.get(task.type, f"labels {names}{f' and {more:,} more' if more > 0 else ''}")
        yield Line(f"{self.file}: {task.type}, {of}")
        yield Line(f"Next: goldpan evaluate run --task {task.name} --model tfidf-svm")


@dataclass(slots=True)
class _Column:
    """The values of the label's column."""

    values: Counter[str] = field(default_factory=Counter)
    numbers: bool = True
    empty: int = 0


def describe_task(
    name: str,
    files: Sequence[Path],
    text: Sequence[str],
    label: str,
    *,
    repo: str = "",
    document: str = "",
) -> str:
    """Return the TOML of a task whose rows are tables with these columns.

    Two values of `label` make a binary task, more a multi-class one, and numbers of more than
    ten values a regression; of two, the positive class is 1, true or yes, else the rarer one.
    Raises `UsageError` that names all that is missing or wrong, not the first thing alone.
    """
    column = _Column()
    columns = [*text, label, repo, document]
    problems = list(_arguments(name, files, text, label))
    for path in files:
        problems += _read(path, [name for name in columns if name], label, column)
    if not problems:
        problems += _label_problems(column, label)
    if problems:
        many = len(problems) > 1
        raise UsageError(
            f"{f'{len(problems)} things are' if many else 'One thing is'} missing or wrong: "
            f"{'; '.join(problems)}",
            f"Correct {'them all' if many else 'this'}, and run the command again",
        )
    return _toml(name, files, text, label, column, {"repo": repo, "document": document})


def _arguments(name: str, files: Sequence[Path], text: Sequence[str], label: str) -> Iterator[str]:
    if not _NAME.fullmatch(name):
        yield (
            f"{name!r} cannot name a task: names have lower-case letters, digits and underscores"
        )
    if not files:
        yield "no file is named, such as reports.csv"
    if not text:
        yield "no column of texts is named: --text title --text body"
    if not label:
        yield "no column of labels is named: --label urgent"


def _read(path: Path, columns: Sequence[str], label: str, column: _Column) -> Iterator[str]:
    try:
        for number, row in enumerate(table_rows(path), 1):
            if number == 1 and (missing := [name for name in columns if name not in row]):
                yield (
                    f"{path} has no column "
                    f"{', '.join(f'{name!r}{suggested(name, row)}' for name in missing)}; it has "
                    f"{', '.join(map(repr, row))}"
                )
                return
            _add(row.get(label), column)
    except GoldpanError as error:
        yield error.problem


def _add(value: Any, column: _Column) -> None:
    text = "" if value is None else str(value).strip()
    if not text:
        column.empty += 1
        return
    column.values[text] += 1
    try:
        float(text)
    except ValueError:
        column.numbers = False


def _label_problems(column: _Column, label: str) -> Iterator[str]:
    rows = sum(column.values.values())
    if column.empty:
        yield f"rows without {label}: {column.empty:,}"
    if rows < _FEWEST_ROWS:
        yield f"at least {_FEWEST_ROWS} rows are needed to train and test, and there are {rows:,}"
    elif len(column.values) < 2:
        yield f"all rows have the same {label}"
    elif _type(column) == "multi-class" and len(column.values) > min(_MOST_LABELS, rows // 2):
        few = ", ".join(repr(value[:40]) for value, _ in column.values.most_common(3))
        yield (
            f"{label} has {len(column.values):,} different values in {rows:,} rows, such as {few}: "
            "labels repeat, and there are at most "
            f"{_MOST_LABELS}"
        )


def _type(column: _Column) -> TaskType:
    if column.numbers and len(column.values) > 10:
        return "regression"
    return "binary" if len(column.values) == 2 else "multi-class"


def _toml(
    name: str,
    files: Sequence[Path],
    text: Sequence[str],
    label: str,
    column: _Column,
    facts: dict[str, str],
) -> str:
    kind = _type(column)
    number = kind == "regression"
    title = name.replace("_", " ").capitalize()
    lines = [
        f"title = {toml_value(title)}",
        f"type = {toml_value(kind)}",
        f"description = {toml_value(f'Tell the {label} of the text.')}",
        'activity = "maintenance"',
        f"split = {toml_value('random:0.8,0.2' if number else 'stratified:0.8,0.2')}",
        *(['metric = "smape"'] if number else []),
        "",
        "[columns]",
        f"text = {toml_value(text)}",
        f"target = {toml_value([label])}",
    ]
    settings = [f"{key} = {toml_value(value)}" for key, value in facts.items() if value]
    if settings:
        lines += ["", "[settings]", *settings]
    lines += [
        "",
        "[source]",
        f"title = {toml_value(title)}",
        'reader = "table"',
        f"files = {toml_value([path.name for path in files])}",
    ]
    for value in [] if number else _ordered(column):
        lines += ["", "[[labels]]", f"name = {toml_value(value)}"]
        lines.append(f"description = {toml_value(f'{label} is {value}.')}")
    return "\n".join(lines) + "\n"


def _ordered(column: _Column) -> list[str]:
    """Return the labels, of two the positive class first."""
    if len(column.values) == 2:
        return sorted(
            column.values,
            key=lambda value: (value.lower() not in _POSITIVE, column.values[value], value),
        )
    return sorted(column.values)
