"""A text as it stood at a moment: from mined edits, and titles that were changed.

GitHub gives each version whole, so the one that stood at a moment is the newest before it. Where
the newest version of all is not the text as it was mined, none is trusted.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any, Literal

import duckdb

from goldpan.core.storage.parquet import open_tables
from goldpan.core.storage.workspace import WorkspaceLayout

Source = Literal["title", "body", "comment"]
NOT_MINED = "edits of its texts were not mined"
WITHHELD = "an earlier version of its text is withheld"
_UNFIT = "its newest edit is not the text that was mined"
_UNDATED = "it is unknown when it was written"
_LONG_AGO = datetime.min.replace(tzinfo=UTC)
TABLES = ("entries", "comments", "commits", "events", "ledger")
"""Tables that versions are read from, beside edits."""
_AT_ONCE = timedelta(minutes=1)
"""How much later than the text its first version may be said to be."""
_ENDS = re.compile(r"\r\n?")

_ENTRIES = "SELECT number, created_at, title, body, last_edited_at FROM entries WHERE {chosen}"
_COMMENTS = """
SELECT number, comment_id, created_at, body, last_edited_at FROM comments
WHERE kind IN ('comment', 'discussion_comment') AND {chosen} ORDER BY number, created_at, comment_id
"""
_EDITS = """
SELECT number, comment_id, edited_at, text FROM edits
WHERE kind IN ('issue', 'pull', 'discussion', 'comment', 'discussion_comment') AND {chosen}
ORDER BY number, comment_id, edited_at, edit_id
"""
_RENAMES = """
SELECT number, "at", title_before, title_after FROM events
WHERE event = 'renamed' AND {chosen} ORDER BY number, "at"
"""
_SEEN = "SELECT number FROM ledger WHERE part = 'edits' AND state = 'complete' AND {chosen}"
_WORK = """
SELECT number, any_value(author) AS author, any_value(head_repo || ':' || head_ref) AS branch,
       least(any_value(e.created_at), min(c.authored_at)) AS begun
FROM entries e LEFT JOIN commits c USING (number) WHERE e.kind = 'pull' AND {chosen}
GROUP BY number
"""
_CHOSEN = "number IN (SELECT unnest($numbers))"


@dataclass(frozen=True, slots=True)
class TextVersion:
    """A text from a moment on; null where it is withheld."""

    at: datetime
    text: str | None


@dataclass(frozen=True, slots=True)
class TextHistory:
    """A title, a body or a comment with its versions, the oldest first."""

    source: Source
    comment_id: int | None
    versions: tuple[TextVersion, ...]
    lacks: str = ""
    """Why its earlier versions are unknown; then only the text as it was mined is there."""

    def before(self, moment: datetime) -> TextVersion | None:
        """Return the version that stood before a moment; None where nothing was written yet."""
        return next((each for each in reversed(self.versions) if each.at < moment), None)


@dataclass(frozen=True, slots=True)
class Work:
    """The work on a pull request."""

    begun: datetime
    """When it was opened, or its first commit was written, if that was earlier."""
    author: str | None
    branch: str | None
    """As owner/name:branch; null where the fork is gone."""


class Versions:
    """The texts of one repository, with their earlier versions."""

    def __init__(self, connection: duckdb.DuckDBPyConnection, *, has_edits: bool) -> None:
        self._connection = connection
        self._has_edits = has_edits

    def of(self, numbers: Collection[int]) -> dict[int, tuple[TextHistory, ...]]:
        """Return the texts of entries: title, body, then the comments, the oldest first."""
        edits: dict[tuple[int, int | None], list[TextVersion]] = defaultdict(list)
        for row in self._rows(_EDITS, numbers) if self._has_edits else ():
            version = TextVersion(row["edited_at"], _plain(row["text"]))
            edits[row["number"], row["comment_id"]].append(version)
        with_edits = {row["number"] for row in self._rows(_SEEN, numbers)}
        renames: dict[int, list[dict[str, Any]]] = defaultdict(list)
        for row in self._rows(_RENAMES, numbers):
            renames[row["number"]].append(row)
        texts: dict[int, list[TextHistory]] = {}
        for row in self._rows(_ENTRIES, numbers):
            number, title = row["number"], _title(row, renames[row["number"]])
            is_seen = number in with_edits
            body = _history("body", row, edits[number, None], is_seen=is_seen)
            texts[number] = [title, body]
        for row in self._rows(_COMMENTS, numbers):
            number, versions = row["number"], edits[row["number"], row["comment_id"]]
            if number in texts:
                is_seen = number in with_edits
                texts[number].append(_history("comment", row, versions, is_seen=is_seen))
        return {number: tuple(histories) for number, histories in texts.items()}

    def work(self, pulls: Collection[int]) -> dict[int, Work]:
        """Return the work on pull requests."""
        return {
            row["number"]: Work(row["begun"], row["author"], row["branch"])
            for row in self._rows(_WORK, pulls)
        }

    def _rows(self, query: str, numbers: Collection[int]) -> Sequence[dict[str, Any]]:
        values = {"numbers": sorted(numbers)}
        relation = self._connection.sql(query.format(chosen=_CHOSEN), params=values)
        rows: list[dict[str, Any]] = relation.to_arrow_table().to_pylist()
        return rows


@contextmanager
def open_versions(workspace: WorkspaceLayout, repo: str) -> Iterator[Versions]:
    """Give the texts of a repository whose `TABLES` are there; raises `WorkspaceError`."""
    has_edits = workspace.table(repo, "edits").exists()
    with open_tables(workspace, repo, TABLES, optional=("edits",)) as connection:
        yield Versions(connection, has_edits=has_edits)


def _history(
    source: Source, row: Mapping[str, Any], edits: Sequence[TextVersion], *, is_seen: bool
) -> TextHistory:
    created, now = row["created_at"] or _LONG_AGO, _plain(row["body"]) or ""
    comment = row.get("comment_id")
    whole = (TextVersion(created, now),)
    if not is_seen:
        return TextHistory(source, comment, whole, NOT_MINED)
    if created == _LONG_AGO:
        return TextHistory(source, comment, whole, _UNDATED)
    if not edits:
        lacks = _UNFIT if row["last_edited_at"] else ""
        return TextHistory(source, comment, whole, lacks)
    # Those of one second stand in no order, but for the newest, which is the text as it is.
    versions = sorted(edits, key=lambda each: (each.at, each.text == now))
    if versions[-1].text != now:
        return TextHistory(source, comment, whole, _UNFIT)
    if versions[0].at > created + _AT_ONCE:  # GitHub has not kept what it said at first
        versions.insert(0, TextVersion(created, None))
    return TextHistory(source, comment, tuple(versions))


def _title(row: Mapping[str, Any], renames: Sequence[Mapping[str, Any]]) -> TextHistory:
    now, dates = row["title"] or "", [row["created_at"], *(each["at"] for each in renames)]
    if None in dates:
        return TextHistory("title", None, (TextVersion(_LONG_AGO, now),), _UNDATED)
    titles = [each["title_after"] for each in renames]
    titles.insert(0, renames[0]["title_before"] if renames else now)
    if titles[-1] != now:
        return TextHistory("title", None, (TextVersion(dates[0], now),), _UNFIT)
    return TextHistory("title", None, tuple(map(TextVersion, dates, titles)))


def _plain(text: str | None) -> str | None:
    return None if text is None else _ENDS.sub("\n", text)
