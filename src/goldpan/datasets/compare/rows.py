"""Reads the compared facts of rows: texts, repository, commits, and numbers of issues and pulls.

Columns are known by their names: Goldpan's own, and those of SWE-bench and its relatives.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from goldpan.core.errors import DatasetError, UsageError
from goldpan.datasets.family import COLUMNS
from goldpan.datasets.provenance import PROVENANCE, read_provenance, stored_rows
from goldpan.datasets.table_files import table_rows

_IDS = ("id", "instance_id", "task_id")
_REPOS = ("repo", "repository", "repo_name")
# A base commit is no identity: many fixes start from the same one.
_COMMITS = ("head_sha", "commit", "commit_id", "merge_commit_sha")
_BASES = ("base_commit", "base_sha")
_ISSUES = ("issue", "issue_number", "issue_numbers")
_PULLS = ("pull", "pull_number", "pr_number")
_TEXTS = (
    *("title", "body", "problem_statement", "hints_text", "patch", "test_patch", "diff"),
    *("text", "description", "question", "answer", "prompt", "completion", "solution"),
)
_ISSUE_TEXT = ("title", "body")
_INSTANCE = re.compile(r"([\w.-]+?)__([\w.-]+)-(\d{1,9})")
_NUMBER = re.compile(r"(?<![\d.])(\d{1,9})(?:\.0+)?(?![\d.])")
"""A number in a text; pandas writes whole ones in a column with gaps like 12.0."""
_COMMIT = re.compile(r"[0-9a-f]{40}")


@dataclass(frozen=True, slots=True)
class Item:
    """The compared facts of a row."""

    id: str
    repo: str | None
    """In lower case."""
    commits: tuple[str, ...]
    issues: tuple[int, ...]
    pulls: tuple[int, ...]
    texts: tuple[tuple[str, str], ...]
    """Each with the name of its column."""


@dataclass(frozen=True, slots=True)
class ComparedSource:
    """A file or a dataset, and the columns of it whose texts are compared."""

    path: Path
    columns: tuple[str, ...]
    """An issue's title and body are one text, `title+body`, as SWE-bench has them."""

    def items(self) -> Iterator[Item]:
        """Yield the rows; raises as `open_source` does where a later row is broken."""
        for number, row in enumerate(dataset_rows(self.path), 1):
            yield read_item(row, number, self.columns)


def open_source(path: Path, columns: Sequence[str] = ()) -> ComparedSource:
    """Return a table's file or a dataset's directory; `columns` names the texts to compare.

    Raises `UsageError` where there is none, or no such column, and `DatasetError` where it is
    broken or empty.
    """
    first = next(dataset_rows(path), None)
    if first is None:
        raise DatasetError(f"{path} holds no rows", "Give a file or a dataset that has some")
    if absent := [name for name in columns if name not in first]:
        raise UsageError(
            f"{path} has no column {absent[0]!r}", f"It has {', '.join(map(str, first))}"
        )
    if columns:
        return ComparedSource(path, tuple(columns))
    prose = _described(path)
    chosen = [name for name in first if name in (prose or _TEXTS)]
    if not chosen:
        fact_columns = {*_IDS, *_REPOS, *_COMMITS, *_BASES, *_ISSUES, *_PULLS}
        chosen = [name for name, value in first.items() if isinstance(value, str)]
        chosen = [name for name in chosen if name not in fact_columns]
    if all(name in chosen for name in _ISSUE_TEXT):
        others = [name for name in chosen if name not in _ISSUE_TEXT]
        chosen = ["+".join(_ISSUE_TEXT), *others]
    return ComparedSource(path, tuple(chosen))


def _described(path: Path) -> set[str] | None:
    """Return the columns of prose and the change itself, where there is provenance.

    Other code does not count: whole files share their heads and idioms with others.
    """
    if not (path / PROVENANCE).is_file():
        return None
    described = read_provenance(path).get(COLUMNS, ())
    texts = {
        column["name"]: column["holds"] for column in described if column.get("type") == "string"
    }
    return {name for name, holds in texts.items() if holds == "prose" or name == "diff"}


def dataset_rows(path: Path) -> Iterator[dict[str, Any]]:
    """Yield the rows of a table's file or of a dataset's directory by column name, in order.

    Raises `UsageError` where there are none, `DatasetError` for what is broken.
    """
    if not path.is_dir():
        yield from table_rows(path)
        return
    if not (path / PROVENANCE).exists() and not any((path / "data").glob("*.parquet")):
        raise UsageError(
            f"{path} holds no dataset", "Give a directory with data/*.parquet, or a file"
        )
    yield from stored_rows(path)


def read_item(row: Mapping[str, Any], number: int, columns: Sequence[str]) -> Item:
    """Return a row, the `number`th, with the texts of these columns."""
    identity = next((row[name] for name in _IDS if row.get(name)), None)
    repo = next((row[name] for name in _REPOS if isinstance(row.get(name), str)), None)
    pulls = _numbers(row, _PULLS)
    if instance := _INSTANCE.fullmatch(str(row.get("instance_id") or "")):
        repo = repo or f"{instance[1]}/{instance[2]}"
        pulls = pulls or (int(instance[3]),)
    commits = (str(row.get(name) or "").lower() for name in _COMMITS)
    return Item(
        str(identity if identity is not None else f"row {number}"),
        repo.lower() if repo else None,
        tuple(commit for commit in commits if _COMMIT.fullmatch(commit)),
        _numbers(row, _ISSUES),
        pulls,
        tuple(_texts(row, columns)),
    )


def _texts(row: Mapping[str, Any], columns: Sequence[str]) -> Iterator[tuple[str, str]]:
    for column in columns:
        names = column.split("+") if column not in row else [column]
        parts = [row[name] for name in names if isinstance(row.get(name), str)]
        if text := "\n".join(part for part in parts if part):
            yield column, text


def _numbers(row: Mapping[str, Any], names: Iterable[str]) -> tuple[int, ...]:
    """Return the numbers in columns: a number, a list of them, or a list as text."""
    numbers: dict[int, None] = {}
    for name in names:
        value = row.get(name)
        for item in value if isinstance(value, list) else [value]:
            if isinstance(item, int | float) and not isinstance(item, bool) and item == item // 1:
                numbers[int(item)] = None
            elif isinstance(item, str):
                numbers |= dict.fromkeys(map(int, _NUMBER.findall(item)))
    return tuple(numbers)
