"""The rows that raw replies are parsed into, before they are merged into tables.

A reply seldom holds a whole table row: over REST an entry's facts come from three lists. So
parsing yields facets, each of which is superseded as a whole by its newest observation.
`sequence` is the archive record that a row came from; text rows bear a `row` id by which the
references found in their text (FAUN-Eval, Algorithm 1, lines 2-7) share their fate.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from typing import Any

import pyarrow as pa

from goldpan.core.schemas.mined import (
    COMMENTS,
    COMMITS,
    DISCUSSION_COMMENTS,
    DISCUSSIONS,
    EDITS,
    ENTRIES,
    EVENTS,
    FILES,
    REFERENCES,
)
from goldpan.core.schemas.table import TableSchema
from goldpan.miners.replies import MALFORMED
from goldpan.miners.tables.columns import Facet, make_table
from goldpan.text.keywords import LARGEST_NUMBER, find_closing_keywords, find_mentions

STATE_COLUMNS = ("merged", "merged_at", "draft")
"""What the lists of issues tell of a pull request, too."""
_PULL_COLUMNS = (
    *(*STATE_COLUMNS, "base_ref", "base_sha", "head_ref", "head_sha"),
    *("head_repo", "merge_sha"),
)
_TOTAL_COLUMNS = ("additions", "deletions", "changed_files")
_ENTRY_COLUMNS = tuple(
    name
    for name in ENTRIES.schema.names
    if name not in ("repo", "participants", "timeline_items", *_PULL_COLUMNS, *_TOTAL_COLUMNS)
)


def _facet(
    table: TableSchema,
    identity: tuple[str, ...] = ("number",),
    always: tuple[str, ...] = (),
    *,
    columns: tuple[str, ...] = (),
    part: str = "",
    text: bool = False,
) -> Facet:
    """Return the facet of a table's columns, of all but `repo` unless some are named."""
    own = table.schema_without_repo
    hidden = ("_sequence", "_row") if text else ("_sequence",)
    fields = [own.field(name) for name in columns or own.names]
    schema = pa.schema([*fields, *((name, pa.int64()) for name in hidden)])
    return Facet(schema, identity, always, part)


def _plain(**columns: pa.DataType) -> Facet:
    return Facet(pa.schema([*columns.items(), ("_sequence", pa.int64())]))


_ENDS = ("observed_on",)
_EVIDENCE = list(REFERENCES.schema.field("evidence").type)
_REFERENCE = [*(field for field in REFERENCES.schema if field.name != "evidence"), *_EVIDENCE]
EVIDENCE_COLUMNS = tuple(item.name for item in _EVIDENCE)
_COUNT, _TEXT = pa.int64(), pa.string()
_TIMES = ("created_at", "updated_at")
_PULL = ("base_ref", "base_sha", "head_ref", "head_sha")
_COMMENT = ("number", "comment_id")
FACETS: dict[str, Facet] = {
    "entry": _facet(ENTRIES, always=("title", "state", *_TIMES), columns=_ENTRY_COLUMNS, text=True),
    "pull": _facet(ENTRIES, always=_PULL, columns=("number", *_PULL_COLUMNS), part="entry"),
    "half": _facet(ENTRIES, columns=("number", *STATE_COLUMNS), part="entry"),
    "totals": _facet(ENTRIES, columns=("number", *_TOTAL_COLUMNS), part="entry"),
    "comments": _facet(COMMENTS, _COMMENT, _TIMES, text=True),
    "discussions": _facet(DISCUSSIONS, always=("category", "is_answerable"), part="entry"),
    "discussion_comments": _facet(DISCUSSION_COMMENTS, _COMMENT, part="comments"),
    "edits": _facet(EDITS, ("number", "edit_id"), ("edited_at",)),
    "commits": _facet(
        COMMITS, ("number", "sha"), ("message", "authored_at", "committed_at"), text=True
    ),
    "files": _facet(FILES, ("number", "path"), ("status", "additions", "deletions")),
    "events": _facet(EVENTS, ("number", "event"), ("at",), part="timeline"),
    "links": Facet(
        pa.schema([*_REFERENCE, ("part", _TEXT), ("_sequence", _COUNT)]), _ENDS, part="timeline"
    ),
    "mentions": Facet(pa.schema([*_REFERENCE, ("_row", _COUNT)]), _ENDS),
    "pages": _plain(number=_COUNT, part=_TEXT, unit=_TEXT, announced=_COUNT, received=_COUNT),
    "envelopes": replace(
        _plain(number=_COUNT, comment_id=_COUNT), identity=_COMMENT, part="reviews"
    ),
    "unknown": _plain(number=_COUNT, name=_TEXT),
    "losses": _plain(number=_COUNT, part=_TEXT, reason=_TEXT),
}
"""The kinds of rows by name.

A `half` is what a backup's list of issues tells of a pull request. `links` are references from
the API, `mentions` those in texts. `pages` hold, for each page of a
list, the length of the list by GitHub's word and how many items came; `unit` tells lists of the
same part apart. `envelopes` are the reviews that are no rows. `losses` name unreadable data.
"""
PART_OF_KIND = {
    "comment": "comments",
    "review": "reviews",
    "review_comment": "review_comments",
    "discussion_comment": "comments",
}
PART_OF_RECORD = {
    "entries": "entry",
    "more": "timeline",
    "issues": "entry",
    "issue": "entry",
    "pulls": "entry",
    "pull": "entry",
    "pull_comments": "review_comments",
    "complete": "files",
    "backup": "entry",
}
"""Which part of an entry a reply holds, where it is not called the same."""
NOBODY = 0
"""Stands for the number where nothing tells which entry it was."""


@dataclass(slots=True)
class Rows:
    """Rows of all facets, as tuples in the order of the facet's columns."""

    repo: str
    hosts: tuple[str, ...]
    facets: dict[str, list[tuple[Any, ...]]] = field(
        default_factory=lambda: {name: [] for name in FACETS}
    )
    sequence: int = 0
    _next_row: int = 0
    is_careful: bool = True
    """True where a failure to parse costs an item alone; else it costs the record."""

    def begin(self, sequence: int) -> None:
        """Take the rows that follow as parsed from this archive record."""
        self.sequence = sequence
        self._next_row = sequence << 24  # room for 16 million texts a record

    def next_row(self) -> int:
        """Return a row id that no other text has."""
        self._next_row += 1
        return self._next_row

    def read(self, parse: Callable[..., None], *arguments: Any) -> None:
        """Parse a record; only where that fails, anew with care for each of its items."""
        lengths = self._lengths()
        self.is_careful = False
        try:
            parse(self, *arguments)
            return
        except MALFORMED:
            self._cut(lengths)
        finally:
            self.is_careful = True
        parse(self, *arguments)

    def attempt(
        self, number: object, part: str, parse: Callable[..., None], *arguments: Any, **options: Any
    ) -> None:
        """Parse one item; where that fails, none of its rows stays and the loss is noted."""
        if not self.is_careful:
            parse(self, *arguments, **options)
            return
        lengths = self._lengths()
        try:
            parse(self, *arguments, **options)
        except MALFORMED as error:
            self._cut(lengths)
            self.lose(number, part, f"an item cannot be read ({type(error).__name__}: {error})")

    def attempt_each(
        self,
        number: int,
        part: str,
        items: Iterable[Any],
        parse: Callable[..., None],
        *arguments: Any,
        **options: Any,
    ) -> None:
        """Parse the items of a list of an entry, each as `attempt` does."""
        if not self.is_careful:  # items are many, and a call of `attempt` takes half as long as one
            for item in items:
                parse(self, number, item, *arguments, **options)
            return
        for item in items:
            self.attempt(number, part, parse, number, item, *arguments, **options)

    def _lengths(self) -> tuple[int, ...]:
        return tuple(map(len, self.facets.values()))

    def _cut(self, lengths: tuple[int, ...]) -> None:
        for rows, length in zip(self.facets.values(), lengths, strict=True):
            del rows[length:]

    def page(
        self, number: int, part: str, announced: object, received: int, unit: str = ""
    ) -> None:
        """Note how long GitHub says that a list is, and how much of it a page brought."""
        self.facets["pages"].append((number, part, unit, announced, received, self.sequence))

    def lose(self, number: object, part: str, reason: str, sequence: int | None = None) -> None:
        """Note that something could not be read."""
        is_number = isinstance(number, int) and 0 < number <= LARGEST_NUMBER
        where = self.sequence if sequence is None else sequence
        self.facets["losses"].append((number if is_number else NOBODY, part, reason[:300], where))

    def tables(self) -> dict[str, pa.Table]:
        """Return one Arrow table a facet that has rows, sorted by entry."""
        tables = {name: self._table(name) for name in FACETS}  # losses last: the others add to them
        return {name: _sorted(table, FACETS[name].unit) for name, table in tables.items() if table}

    def _table(self, name: str) -> pa.Table | None:
        rows, facet = self.facets[name], FACETS[name]
        if not rows:
            return None
        unit, sequence = map(facet.schema.get_field_index, (facet.unit, "_sequence"))

        def on_loss(row: tuple[Any, ...], reason: str) -> None:
            # What is wrong with the time of a mention is wrong with its text, which tells.
            if name != "mentions":
                part = _part_of(name, row)
                self.lose(row[unit], part, reason, row[sequence])

        table = make_table(rows, facet, on_loss)
        return table if len(table) else None


def _sorted(table: pa.Table, unit: str) -> pa.Table:
    numbers = table[unit].to_numpy()
    return table if (numbers[1:] >= numbers[:-1]).all() else table.sort_by(unit)


def _part_of(facet: str, row: tuple[Any, ...]) -> str:
    if facet == "comments":
        return PART_OF_KIND[row[FACETS["comments"].schema.get_field_index("kind")]]
    if facet == "pages":
        return str(row[1])
    return FACETS[facet].part or facet


def is_envelope(state: str | None, body: str | None) -> bool:
    """Tell a review that only carries its comments: it says nothing and decides nothing.

    The two APIs list different ones of these, and its comments bear its id, so it is no row.
    """
    return (state or "").lower() == "commented" and not body


_AROUND = 60


def read_text(
    rows: Rows,
    row: int,
    number: int,
    where: str,
    source_id: str | None,
    at: str | None,
    text: object,
    *,
    of_pull: bool,
) -> None:
    """Add the references in a text; closing keywords count only in a pull request's."""
    if not text or not isinstance(text, str):
        return
    references = rows.facets["mentions"]
    mentions = find_mentions(text, hosts=rows.hosts)
    line = previous = 0
    for mention in mentions:
        start = mention.start
        line += text.count("\n", previous, start)
        previous = start
        excerpt = text[max(0, start - _AROUND) : mention.end + _AROUND]
        link = (rows.repo, number, _same(mention.repo, rows.repo), mention.number, None)
        signal = ("mention", number, at, mention.pattern, None, None)
        evidence = (where, source_id, start, line + 1, " ".join(excerpt.split()))
        references.append((*link, *signal, *evidence, row))
    markdown = where not in ("title", "commit")
    if not of_pull or not (markdown or mentions):  # only markup hides a reference
        return
    for keyword in find_closing_keywords(text, markdown=markdown, hosts=rows.hosts):
        link = (rows.repo, number, _same(keyword.repo, rows.repo), keyword.number, None)
        closing = ("keyword", number, at, None, keyword.keyword, keyword.stance)
        evidence = (where, source_id, keyword.start, keyword.line, keyword.excerpt)
        references.append((*link, *closing, *evidence, row))


def add_comment(
    rows: Rows,
    number: int,
    origin: tuple[Any, ...],
    text: tuple[Any, ...],
    place: tuple[Any, ...],
    *,
    of_pull: bool,
) -> None:
    """Add a comment, review or review comment, and the references in its text.

    `origin` is its id and kind, the three columns of its author and their association; `text` its
    times (written, updated, edited) and body; `place` its path, review, the comment that it
    answers, the state of a review, and whether and why it is hidden.
    """
    row = rows.next_row()
    rows.facets["comments"].append((number, *origin, *text, *place, rows.sequence, row))
    read_text(rows, row, number, origin[1], str(origin[0]), text[0], text[3], of_pull=of_pull)


def add_commit(
    rows: Rows, number: int, sha: Any, message: Any, authored: Any, committed: Any
) -> None:
    """Add a commit of a pull request and the references in its message."""
    row = rows.next_row()
    rows.facets["commits"].append((number, sha, message, authored, committed, rows.sequence, row))
    read_text(rows, row, number, "commit", sha, committed, message, of_pull=True)


def _same(repo: str | None, own: str) -> str:
    """Return a repository as it is written here; GitHub's names ignore case."""
    return own if repo is None or repo.lower() == own.lower() else repo
