"""Rows as findings read them: texts with their history, and the facts that identify the fix."""

from __future__ import annotations

import hashlib
import json
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from datetime import datetime
from functools import lru_cache
from pathlib import Path
from typing import Any

from goldpan.audit.finding import Span, Text
from goldpan.core.storage.sealed import seal_of_parquet
from goldpan.core.storage.workspace import WorkspaceLayout
from goldpan.datasets.compare.rows import dataset_rows, read_item
from goldpan.miners.versions import (
    TABLES,
    WITHHELD,
    TextHistory,
    TextVersion,
    Versions,
    Work,
    open_versions,
)
from goldpan.text.redaction import redact

_TIMES = {
    "title": "created_at",
    "body": "created_at",
    "problem_statement": "issue_created_at",
    "hints_text": "",
    "pull_title": "",
    "pull_body": "",
}
"""The columns of texts that a model is given, each with the column of its time.

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
    """The commits that hold the fix."""
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
        """The id without the family's name: one for the same fix in all families."""
        return key_of(self.id)

    @property
    def digest(self) -> str:
        """The SHA-256 of the parts that findings judge: texts, change, answer and tests."""
        texts = [[text.source, text.text] for text in self.texts]
        columns = [self.column(name) for name in _JUDGED]
        return hashlib.sha256(json.dumps([texts, self.base, columns]).encode()).hexdigest()

    @property
    def has_fix(self) -> bool:
        """True where the row is about a change of code."""
        return any(self.column(name) for name in ("patch", "diff", "changed_path"))


def key_of(row_id: str) -> str:
    """Return an id without the name of its family, which comes before a colon."""
    family, _, key = row_id.partition(":")
    return key if key and "/" not in family else row_id


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


# When the texts of a row were written, and their versions before its fix was begun, or before a
# question was answered. A text of a row may be made of several that people wrote, as the statement
# of SWE-bench is of title and body.

_PARTS: dict[str, tuple[str, ...]] = {
    "title": ("title",),
    "body": ("body",),
    "problem_statement": ("title", "body"),
    "hints_text": ("comment",),
}
_OF_PULL = {"pull_title": "title", "pull_body": "body"}
NOT_READ = "the repository was not mined"
_OTHER = "a text of the row differs from what was mined"


@dataclass(frozen=True, slots=True)
class Times:
    """When a row's fix was begun, or its question answered, and the versions of its texts."""

    begun: datetime | None = None
    written: tuple[TextHistory, ...] = ()
    """Versions of the texts of the issue or discussion."""
    of_pull: tuple[TextHistory, ...] = ()
    work: Work | None = None
    lacks: str = ""
    """Why the times are unknown."""
    remedy: str = ""

    def before(self, text: Text) -> tuple[Text | None, str]:
        """Return a text as it was before the fix was begun, and why that cannot be told, if so.

        None is a text that was not written yet.
        """
        if self.begun is None or self.lacks:
            return text, self.lacks
        whole, why = text.text, ""
        for part in self._parts(text):
            earlier = part.before(self.begun)
            if earlier is part.versions[-1] and not part.lacks:
                continue
            shown = _shown(part, whole, text.source)
            if earlier is None:  # it did not exist yet
                whole = whole if shown is None else whole.replace(_public(shown), "", 1)
            elif part.lacks or earlier.text is None:
                why = part.lacks or WITHHELD
            elif shown is None:
                why = "" if part.source == "comment" else _OTHER
            elif shown.at > earlier.at:
                whole = whole.replace(_public(shown), _public(earlier), 1)
        return (replace(text, text=whole) if whole.strip() else None), why

    def first(self, text: Text, span: Span) -> datetime | None:
        """Return when a part of a text first appeared; None where that cannot be told."""
        words = _spaced(text.text[span.start : span.end])
        for part in self._parts(text):
            shown = _shown(part, text.text, text.source)
            if self.lacks or shown is None or words not in _spaced(_public(shown)):
                continue
            if part.lacks:
                return None
            for version in part.versions:
                if version.text is None:
                    return None
                if words in _spaced(_public(version)):
                    return version.at
        return None

    def _parts(self, text: Text) -> Iterator[TextHistory]:
        if source := _OF_PULL.get(text.source):
            yield from (part for part in self.of_pull if part.source == source)
        sources = _PARTS.get(text.source, ())
        yield from (part for part in self.written if part.source in sources)


def _shown(part: TextHistory, whole: str, source: str) -> TextVersion | None:
    """Return the version of a part that a row's text is, or holds beside others."""
    if part.lacks or len(part.versions) == 1:
        return part.versions[-1]
    holds = len(_PARTS.get(source, ())) > 1 or part.source == "comment"
    for version in reversed(part.versions):
        public = _public(version)
        if public and (public in whole if holds else public == whole.strip()):
            return version
    return None


def _public(version: TextVersion) -> str:
    """Return a version as datasets hold it."""
    return redact(version.text or "").text.strip()


def _spaced(text: str) -> str:
    return " ".join(text.split())


class Histories(ExitStack):
    """The histories of rows' texts; opens the tables of repositories on demand."""

    def __init__(self, workspace: WorkspaceLayout) -> None:
        self._workspace = workspace
        super().__init__()
        self._versions: dict[str, Versions | None] = {}
        self._edited = 0
        self._undecided = Counter[str]()

    def add_to(self, rows: Sequence[Row]) -> list[Row]:
        """Return rows with the times of their texts."""
        times: dict[int, Times] = {}
        for repo in sorted({row.repo for row in rows}):
            places = [place for place, row in enumerate(rows) if row.repo == repo]
            times |= zip(places, self._times(repo, [rows[place] for place in places]), strict=True)
        dated = [replace(row, times=times[place]) for place, row in enumerate(rows)]
        for row in dated:
            self._count(row)
        return dated

    def read(self) -> dict[str, str]:
        """Return the digests of the tables that were read, by repository."""
        used = sorted(repo for repo, versions in self._versions.items() if versions)
        paths = {
            f"{name} {repo}": self._workspace.table(repo, name)
            for repo in used
            for name in (*TABLES, "edits")
        }
        return {name: seal_of_parquet(path) for name, path in paths.items() if path.exists()}

    def notes(self) -> tuple[str, ...]:
        """Return how many rows had a text edited since, and for how many that is unknown."""
        notes = []
        if self._edited:
            notes.append(f"Edited after the fix was begun, or the answer given: {self._edited:,}")
        for why, count in self._undecided.most_common():
            notes.append(f"Whether a text was edited later is unknown for {count:,}: {why}")
        return tuple(notes)

    def _times(self, repo: str, rows: Sequence[Row]) -> list[Times]:
        versions = self._open(repo)
        if versions is None:
            remedy = f"Run goldpan mine --repo {repo}" if repo else "Give rows that name one"
            why = NOT_READ if repo else "the rows name no repository"
            return [Times(lacks=why, remedy=remedy) for _ in rows]
        pulls = {row.pull for row in rows if row.pull}
        written = versions.of({number for row in rows for number in row.issues} | pulls)
        work = versions.work(pulls)
        times = []
        for row in rows:
            texts = tuple(text for number in row.issues for text in written.get(number, ()))
            fix = work.get(row.pull or 0) if row.has_fix else None
            at = fix.begun if fix else None if row.has_fix else _answered(row)
            why, remedy = "", f"Run goldpan mine --repo {repo}"
            if not texts:
                why, remedy = "the row names no issue that was mined", "Give rows with issue"
            elif at is None:
                why = "it is unknown when its fix was begun"
            times.append(Times(at, texts, written.get(row.pull or 0, ()), fix, why, remedy))
        return times

    def _open(self, repo: str) -> Versions | None:
        if repo not in self._versions:
            tables = [self._workspace.table(repo, name) for name in TABLES] if repo else []
            is_there = bool(tables) and all(path.exists() for path in tables)
            opened = open_versions(self._workspace, repo) if is_there else None
            self._versions[repo] = self.enter_context(opened) if opened else None
        return self._versions[repo]

    def _count(self, row: Row) -> None:
        versions = [(text, *row.times.before(text)) for text in row.texts if text.of_issue]
        if why := next((why for _, _, why in versions if why), ""):
            self._undecided[f"{why}. {row.times.remedy}"] += 1
        elif any(earlier and earlier != text for text, earlier, _ in versions):
            self._edited += 1


def _answered(row: Row) -> datetime | None:
    at = row.columns.get("answer_created_at")
    return at if isinstance(at, datetime) else None


_TOKEN = re.compile(r"\w+|[^\w\s]")
_SEAM = "\n"


class TokenText:
    """A text to search for sequences of tokens, whatever white space is between them.

    Each search is one pass.
    """

    def __init__(self, text: str, pattern: re.Pattern[str] = _TOKEN, *, fold: bool = False) -> None:
        self._matches = list(pattern.finditer(text))
        found = (match[0].lower() if fold else match[0] for match in self._matches)
        self._joined = f"{_SEAM}{_SEAM.join(found)}{_SEAM}"

    def find(self, tokens: Sequence[str]) -> tuple[int, int] | None:
        """Return the offsets of the first place where the tokens follow each other."""
        at = self._joined.find(f"{_SEAM}{_SEAM.join(tokens)}{_SEAM}") if tokens else -1
        if at < 0:
            return None
        first = self._joined.count(_SEAM, 0, at)
        return self._matches[first].start(), self._matches[first + len(tokens) - 1].end()


@lru_cache(maxsize=1 << 17)
def tokens_of(text: str) -> tuple[str, ...]:
    """Return the words and single signs of a text."""
    return tuple(_TOKEN.findall(text))
