"""Examples: rows of datasets with their evidence, and subjects that criteria drop."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path
from typing import Any

import duckdb

from goldpan.audit.stored_audit import StoredAudit
from goldpan.code.patch import split_patch
from goldpan.code.unified_diff import Sides, blocks_as_diff, side_by_side
from goldpan.core.errors import DatasetError, GoldpanError, UsageError
from goldpan.core.sanitize import line
from goldpan.datasets.examples import FAMILIES
from goldpan.datasets.family import Family
from goldpan.datasets.provenance import PROVENANCE, read_provenance, shard_paths
from goldpan.report.folders import Branch, draw_around
from goldpan.report.health import Health, ShownFinding, examples_of, show_findings, summarize
from goldpan.report.tables import file_list, rows
from goldpan.text.markdown import Excerpt, excerpt
from goldpan.text.redaction import redact

_LONGEST = 20_000
# The smallest digests of each reason: drawn in one pass, whatever the number of verdicts.
_DROPPED = """
CREATE OR REPLACE TEMP TABLE drawn AS
WITH picked AS (
  SELECT subject, criterion, reason, min_by(
    {'repo': repo, 'issue': issue, 'pull_repo': pull_repo, 'pull': pull,
     'value': value, 'evidence': evidence, 'undecided': keep IS NULL},
    md5(concat_ws(' ', $seed, criterion, repo, issue, pull_repo, pull)), $most
  ) AS ones
  FROM verdicts WHERE keep IS DISTINCT FROM true GROUP BY subject, criterion, reason
), apart AS (SELECT subject, criterion, reason, unnest(ones) AS one FROM picked)
SELECT subject, criterion, reason, unnest(one),
       md5(concat_ws(' ', $seed, criterion, one.repo, one.issue, one.pull_repo, one.pull)) AS lot
FROM apart
"""
# One of each reason comes first, then the next of each.
_SHOWN = """
WITH ranked AS (
  SELECT *, row_number() OVER (PARTITION BY subject, criterion, reason ORDER BY lot) AS place
  FROM drawn
), shown AS (
  SELECT * FROM ranked
  QUALIFY row_number() OVER (PARTITION BY subject, criterion ORDER BY place, reason) <= $most
), others AS (
  SELECT s.lot, list(v.criterion ORDER BY v.criterion) AS others
  FROM shown s JOIN verdicts v
    ON v.repo = s.repo AND v.subject = s.subject AND v.issue = s.issue
       AND v.pull_repo IS NOT DISTINCT FROM s.pull_repo AND v.pull IS NOT DISTINCT FROM s.pull
  WHERE v.decides AND v.keep IS DISTINCT FROM true AND v.criterion <> s.criterion
  GROUP BY s.lot
)
SELECT s.* EXCLUDE (lot, place), left(i.title, $longest) AS title, left(i.body, $longest) AS body,
       left(p.title, $longest) AS pull_title, coalesce(others, []) AS others
FROM shown s
LEFT JOIN others USING (lot)
LEFT JOIN entries i ON i.repo = s.repo AND i.number = s.issue
LEFT JOIN entries p ON p.repo = s.pull_repo AND p.number = s.pull
ORDER BY s.subject, s.criterion, s.place, s.reason
"""


@dataclass(frozen=True, slots=True)
class Dropped:
    """A subject that a criterion drops, or cannot judge."""

    repo: str
    issue: int
    pull_repo: str | None
    pull: int | None
    title: str
    pull_title: str
    body: Excerpt
    reason: str
    value: float | None
    evidence: str
    others: Sequence[str]
    """The other deciding criteria that drop it as well."""


def draw_dropped(
    connection: duckdb.DuckDBPyConnection, seed: int, most: int = 3
) -> dict[tuple[str, str], list[Dropped]]:
    """Draw at most `most` dropped subjects a criterion, of different reasons first.

    Keys are subject and criterion. What is private in the texts is made unreadable, as in
    datasets.
    """
    connection.execute(_DROPPED, {"seed": str(seed), "most": most})
    samples: dict[tuple[str, str], list[Dropped]] = {}
    for row in rows(connection, _SHOWN, most=most, longest=_LONGEST):
        dropped = Dropped(
            repo=row["repo"],
            issue=row["issue"],
            pull_repo=row["pull_repo"],
            pull=row["pull"],
            title=_public(row["title"]),
            pull_title=_public(row["pull_title"]),
            body=excerpt(redact(row["body"] or "").text, 280, 280),
            reason=row["reason"] or ("undecided" if row["undecided"] else "dropped"),
            value=row["value"],
            evidence=_public(row["evidence"]),
            others=row["others"],
        )
        samples.setdefault((row["subject"], row["criterion"]), []).append(dropped)
    return samples


def _public(text: str | None) -> str:
    return line(redact(text or "").text)


_SHARD = re.compile(r"(.+?)-\d{5}-of-\d{5}")
_MOST_TURNS = 12
_DRAWN = """
SELECT id FROM shards WHERE id IS NOT NULL ORDER BY md5($seed || ' ' || id), id LIMIT $most
"""
_ROWS = "FROM shards WHERE list_contains(CAST($ids AS VARCHAR[]), id)"
_EVIDENCE = """
SELECT coalesce(evidence, []) AS "all" FROM pairs
WHERE repo = $repo AND issue = $issue AND pull_repo = $repo AND pull = $pull
"""
_VERDICTS = """
SELECT subject, criterion, decides, keep, reason, value, evidence FROM verdicts
WHERE repo = $repo AND issue = $issue
  AND (subject = 'issue' OR (subject = 'pair' AND pull_repo = $repo AND pull = $pull))
ORDER BY subject, NOT decides, criterion
"""


@dataclass(frozen=True, slots=True)
class ShownVerdict:
    """The verdict of one criterion on the subject of an example."""

    subject: str
    criterion: str
    decides: bool
    keep: bool | None
    reason: str | None
    value: float | None
    evidence: str


@dataclass(frozen=True, slots=True)
class Turn:
    """Something said in a dialogue."""

    role: str
    at: str
    text: Excerpt


@dataclass(frozen=True, slots=True)
class ReferenceAnswer:
    """The reference of a question, and what else was said."""

    reference: Turn
    dialogue: tuple[Turn, ...]
    left_out: int
    """Turns that are not shown."""


@dataclass(frozen=True, slots=True)
class Location:
    """The file that a fix changed, in its folder tree."""

    path: str
    branches: tuple[Branch, ...]
    files: int


@dataclass(frozen=True, slots=True)
class ShownEdit:
    """The change of one file."""

    path: str
    previous_path: str | None
    language: str
    pull_title: str
    pull_body: Excerpt
    sides: Sides
    patch: Excerpt | None
    """The blocks as they are, where they make no diff."""


@dataclass(frozen=True, slots=True)
class DatasetExample:
    """One row of a dataset with what the filters said of its subject."""

    id: str
    split: str
    repo: str
    issue: int
    pull: int | None
    title: str
    body: Excerpt
    role: str
    """The author association of who opened the issue, where the row tells."""
    opened: str
    labels: tuple[str, ...]
    verdicts: tuple[ShownVerdict, ...]
    answer: ReferenceAnswer | None = None
    location: Location | None = None
    edit: ShownEdit | None = None
    findings: tuple[ShownFinding, ...] = ()
    because: tuple[tuple[str, str], ...] = ()
    """Why the label is right: what shows it, and a text where there is one."""


@dataclass(frozen=True, slots=True)
class DatasetExamples:
    """A dataset with examples of it."""

    name: str
    title: str
    """The kind of its rows."""
    family: Family | None
    """None where its rows are of no issue or fix pair, such as of an imported task."""
    splits: Mapping[str, int]
    examples: tuple[DatasetExample, ...]
    health: Health

    @property
    def rows(self) -> int:
        """Return the number of rows in all splits."""
        return sum(self.splits.values())


def draw_examples(
    connection: duckdb.DuckDBPyConnection,
    directory: Path,
    seed: int,
    most: int,
    audit: StoredAudit | GoldpanError,
    only: str | None = None,
) -> DatasetExamples:
    """Draw at most `most` rows of a dataset, or the one of that id, the same for the same seed.

    Of one whose rows are of no issue, such as an imported task, none is drawn. `connection` holds
    the view `verdicts`. Raises `DatasetError` where the directory holds no dataset or a damaged
    one, `UsageError` where it is missing.
    """
    files = shard_paths(directory)
    remedy = "Give the directory of a dataset that goldpan build wrote"
    if not directory.is_dir():
        raise UsageError(f"There is no directory {directory}", remedy)
    if not files:
        raise DatasetError(f"{directory} holds no data/*.parquet", remedy)
    try:
        connection.execute(
            f"CREATE OR REPLACE TEMP VIEW shards AS FROM read_parquet({file_list(files)}, "
            "union_by_name = true, filename = true)"
        )
        columns = {row["column_name"] for row in rows(connection, "DESCRIBE shards")}
        family = _family(columns)
        known = read_provenance(directory) if (directory / PROVENANCE).exists() else {}
        if family is None and not known:
            raise DatasetError(f"{directory} holds no kind of dataset that is known", remedy)
        splits: dict[str, int] = {}
        for row in rows(connection, "SELECT filename, count(*) AS n FROM shards GROUP BY filename"):
            split = _split(row["filename"])
            splits[split] = splits.get(split, 0) + row["n"]
        name, health = directory.resolve().name, summarize(audit)
        if family is None:
            title = str(known.get("family", name))
            return DatasetExamples(name, title, None, dict(sorted(splits.items())), (), health)
        drawn = rows(connection, _DRAWN, seed=str(seed), most=most)
        ids = [one["id"] for one in drawn] if only is None else [only]
        drawn_rows = rows(connection, _ROWS, ids=ids)
        flagged = examples_of(health) if only is None else []
        having = {one["id"]: one for one in rows(connection, _ROWS, ids=[i for _, i in flagged])}
    except duckdb.Error as error:
        raise DatasetError(
            f"{directory} cannot be read ({str(error).splitlines()[0]})", "Build it again"
        ) from error
    drawn_rows.sort(key=lambda row: (ids.index(row["id"]), row["filename"]))
    examples = tuple(_example(connection, one, audit) for one in drawn_rows[:most])
    found = [shown for name, i in flagged for shown in show_findings(audit, having[i], (name,))]
    health = replace(health, examples=tuple(found))
    return DatasetExamples(
        name, family.title, family, dict(sorted(splits.items())), examples, health
    )


def _family(columns: set[str]) -> Family | None:
    """Return the kind of dataset that has these columns."""
    for family in FAMILIES.values():
        if {"id", "repo", "issue", *family.inputs, family.target} <= columns:
            return family
    return None


def _split(filename: str) -> str:
    shard = _SHARD.fullmatch(Path(filename).stem)
    return shard[1] if shard else Path(filename).stem


def _example(
    connection: duckdb.DuckDBPyConnection,
    row: Mapping[str, Any],
    audit: StoredAudit | GoldpanError,
) -> DatasetExample:
    title, _, body = str(row.get("problem_statement") or "").partition("\n")
    subject = {"repo": row["repo"], "issue": row["issue"], "pull": row.get("pull") or 0}
    return DatasetExample(
        id=row["id"],
        split=_split(row["filename"]),
        repo=row["repo"] or "",
        issue=row["issue"] or 0,
        pull=row.get("pull"),
        title=row.get("title") or title,
        body=excerpt(row.get("body") or body),
        role=row.get("question_role") or "",
        opened=_day(row.get("created_at")),
        labels=tuple(row.get("labels") or ())[:12],
        verdicts=tuple(_verdict(verdict) for verdict in rows(connection, _VERDICTS, **subject)),
        answer=_answer(row) if "answer" in row else None,
        location=_location(row) if "changed_path" in row else None,
        edit=_edit(row) if "patch" in row else None,
        findings=show_findings(audit, row),
        because=tuple(_because(connection, row, subject)),
    )


def _because(
    connection: duckdb.DuckDBPyConnection, row: Mapping[str, Any], subject: Mapping[str, Any]
) -> Iterator[tuple[str, str]]:
    """Yield why the answer is one, or what ties the pull request to the issue."""
    if row.get("answer_points") is not None:
        because = ", ".join(row.get("answer_because") or ())
        yield f"{row['answer_points']:,} points for the answer", because
    if row.get("pull"):
        evidence = [one for found in rows(connection, _EVIDENCE, **subject) for one in found["all"]]
        told = {one["signal"]: _public(one["excerpt"]) for one in reversed(evidence)}
        yield from ((signal, told.get(signal, "")) for signal in row.get("signals") or ())


def _verdict(row: Mapping[str, Any]) -> ShownVerdict:
    return ShownVerdict(**{**row, "evidence": _public(row["evidence"])})


def _answer(row: Mapping[str, Any]) -> ReferenceAnswer:
    reference = Turn(
        row.get("answer_role") or "",
        _day(row.get("answer_created_at")),
        excerpt(row["answer"]),
    )
    turns: Sequence[Mapping[str, Any]] = row.get("dialogue") or ()
    others = [
        Turn(turn["role"] or "", _day(turn["created_at"]), excerpt(turn["content"], 600, 2000))
        for turn in turns[1 : 1 + _MOST_TURNS]
    ]
    return ReferenceAnswer(reference, tuple(others), max(0, len(turns) - 1 - _MOST_TURNS))


def _location(row: Mapping[str, Any]) -> Location:
    path = row["changed_path"] or ""
    paths = row.get("paths") or ()
    branches = draw_around(paths, path) if path in paths else [Branch("", path, changed=True)]
    return Location(path, tuple(branches), len(paths))


def _edit(row: Mapping[str, Any]) -> ShownEdit:
    whole = row["patch"] if "test_patch" in row else ""  # of several files, a git diff
    sides = side_by_side(row.get("diff") or whole)
    if not sides.rows:  # git takes UTF-16 for binary
        blocks = [(edit["search"], edit["replace"]) for edit in row.get("edits") or ()]
        sides = side_by_side(blocks_as_diff(row.get("file_before") or "", blocks) or "")
    return ShownEdit(
        path=row.get("path") or ", ".join(part.path for part in split_patch(whole)),
        previous_path=row.get("previous_path"),
        language=row.get("code_language") or "",
        pull_title=row.get("pull_title") or "",
        pull_body=excerpt(row.get("pull_body"), 500, 4000),
        sides=sides,
        patch=None if sides.rows else excerpt(row["patch"]),
    )


def _day(moment: datetime | None) -> str:
    return f"{moment:%Y-%m-%d}" if moment else ""
