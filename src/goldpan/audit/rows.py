"""Rows as findings read them: what a model is given, and what the fix is known by."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Any

from goldpan.audit.finding import Text
from goldpan.audit.times import NOT_READ, Times
from goldpan.datasets.compared_rows import dataset_rows, read_item

_TIMES = {
    "title": "created_at",
    "body": "created_at",
    "problem_statement": "issue_created_at",
    "hints_text": "",
    "pull_title": "",
    "pull_body": "",
}
"""The columns of texts that a model is given, each with the column that tells when it was written.

`created_at` of SWE-bench's rows is the pull request's, so their comments have no time.
"""
_ABOUT = ("patch", "diff", "changed_path", "answer")
_BASES = ("base_commit", "base_sha")
_JUDGED = (*_ABOUT, "test_patch")
_ENDS = re.compile(r"\r\n?")


@dataclass(frozen=True, slots=True)
class Row:
    """A row of a dataset; `columns` has all of it."""

    id: str
    repo: str
    """As owner/name in lower case; empty where the row names none."""
    issues: tuple[int, ...]
    pull: int | None
    commits: tuple[str, ...]
    """Those that hold the fix."""
    base: str
    """The commit before the fix."""
    texts: tuple[Text, ...]
    columns: Mapping[str, Any]
    times: Times = field(default_factory=lambda: Times(lacks=NOT_READ))

    def column(self, name: str) -> str:
        """Return a column of text; empty where the row has none."""
        value = self.columns.get(name)
        return value if isinstance(value, str) else ""

    @property
    def key(self) -> str:
        """What names the fix whatever the family: the id without the family's name."""
        return key_of(self.id)

    @property
    def digest(self) -> str:
        """The SHA-256 of what findings judge: texts, change, answer and tests."""
        texts = [[text.source, text.text] for text in self.texts]
        columns = [self.column(name) for name in _JUDGED]
        return hashlib.sha256(json.dumps([texts, self.base, columns]).encode()).hexdigest()

    @property
    def has_fix(self) -> bool:
        """Whether the row is about a change of code."""
        return any(self.column(name) for name in ("patch", "diff", "changed_path"))


def key_of(row_id: str) -> str:
    """Return what an id says without the name of its family, which comes before a colon."""
    family, _, rest = row_id.partition(":")
    return rest if rest and "/" not in family else row_id


def read_rows(path: Path) -> Iterator[Row]:
    """Yield the rows of a dataset's directory or of a table's file, in order.

    Raises `UsageError` and `DatasetError` for what cannot be read.
    """
    for number, columns in enumerate(dataset_rows(path), 1):
        yield row_of(columns, number)


def row_of(columns: Mapping[str, Any], number: int) -> Row:
    """Return the `number`th row of a table as findings read it."""
    item = read_item(columns, number, ())
    base = next((columns[name] for name in _BASES if isinstance(columns.get(name), str)), "")
    return Row(
        item.id,
        item.repo or "",
        item.issues,
        item.pulls[0] if item.pulls else None,
        item.commits,
        base,
        tuple(_texts(columns)),
        columns,
    )


def _texts(columns: Mapping[str, Any]) -> Iterator[Text]:
    if not any(columns.get(name) for name in _ABOUT):
        return
    for name, moment in _TIMES.items():
        value = columns.get(name)
        if isinstance(value, str) and value:
            time = columns.get(moment)
            at = time if isinstance(time, datetime) else None
            yield Text(name, _ENDS.sub("\n", value), at)


def text_of(row: Row, name: str) -> Text:
    """Return a column as a text whose lines end in line feeds."""
    return Text(name, _ENDS.sub("\n", row.column(name)))
