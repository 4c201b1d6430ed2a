"""Examples of a dataset: its rows with their evidence, verdicts and findings."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

import duckdb

from goldpan.audit.stored_audit import StoredAudit
from goldpan.code.patch import side_by_side, split_patch
from goldpan.core.errors import DatasetError, GoldpanError, UsageError
from goldpan.datasets.examples import FAMILIES
from goldpan.datasets.family import Family
from goldpan.datasets.provenance import PROVENANCE, read_provenance, shard_paths
from goldpan.report.distributions import bars
from goldpan.report.health import examples_of, show_findings, summarize
from goldpan.report.tables import public_line, rows
from goldpan.text.markdown import Excerpt, excerpt

_SPLIT = r"regexp_extract(filename, '([^/]+?)(-\d{5}-of-\d{5})?\.[^./]*$', 1)"
_SPLITS = "SELECT split_of_row, count(*) AS rows FROM shards GROUP BY ALL ORDER BY ALL"
_MOST_TURNS = 12
_DRAWN = """
SELECT id FROM shards WHERE id IS NOT NULL ORDER BY md5($seed || ' ' || id), id LIMIT $most
"""
_LABELS = """
SELECT label, count(*) AS whole, count(*) FILTER (split_of_row = 'test') AS part
FROM (SELECT unnest(CASE WHEN label IS NULL THEN [] ELSE {} END) AS label, split_of_row FROM shards)
GROUP BY label ORDER BY whole DESC, label
"""
_LABEL_TYPES = {"VARCHAR": "[label]", "VARCHAR[]": "list_distinct(label)"}
_MOST_LABELS = 20
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


DatasetExample = dict[str, Any]
"""A row of a dataset as pages show it, with the verdicts on its subject."""


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
    health: Mapping[str, Any]
    labels: Mapping[str, Any] | None = None
    """How often each label is in its rows, as `distributions.bars` gives it."""

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
    """Draw at most `most` rows of a dataset by `seed`, or take the one whose id is `only`.

    None is drawn from a dataset whose rows are of no issue, such as an imported task. `connection`
    holds the view `verdicts`. Raises `DatasetError` where the directory holds no dataset or a
    damaged one, `UsageError` where it is missing.
    """
    files = shard_paths(directory)
    remedy = "Give the directory of a dataset that goldpan build wrote"
    if not directory.is_dir():
        raise UsageError(f"There is no directory {directory}", remedy)
    if not files:
        raise DatasetError(f"{directory} holds no data/*.parquet", remedy)
    try:
        shards = connection.read_parquet(list(map(str, files)), union_by_name=True, filename=True)
        shards.project(f"*, {_SPLIT} AS split_of_row").create_view("shards", replace=True)
        types = {
            row["column_name"]: row["column_type"] for row in rows(connection, "DESCRIBE shards")
        }
        family = _family(set(types))
        provenance = read_provenance(directory) if (directory / PROVENANCE).exists() else {}
        if family is None and not provenance:
            raise DatasetError(f"{directory} holds no known kind of dataset", remedy)
        splits = {row["split_of_row"]: row["rows"] for row in rows(connection, _SPLITS)}
        name, health = directory.resolve().name, summarize(audit)
        if family is None:
            title = str(provenance.get("family", name))
            labels = _labels(connection, types.get("label", ""))
            return DatasetExamples(name, title, None, splits, (), health, labels)
        drawn = rows(connection, _DRAWN, seed=str(seed), most=most)
        ids = [row["id"] for row in drawn] if only is None else [only]
        drawn_rows = rows(connection, _ROWS, ids=ids)
        flagged = examples_of(health) if only is None else []
        by_id = {row["id"]: row for row in rows(connection, _ROWS, ids=[i for _, i in flagged])}
    except duckdb.Error as error:
        raise DatasetError(
            f"{directory} cannot be read ({str(error).splitlines()[0]})", "Build it again"
        ) from error
    drawn_rows.sort(key=lambda row: (ids.index(row["id"]), row["filename"]))
    examples = tuple(_example(connection, row, audit) for row in drawn_rows[:most])
    health["examples"] = [
        shown for finding, i in flagged for shown in show_findings(audit, by_id[i], (finding,))
    ]
    return DatasetExamples(name, family.title, family, splits, examples, health)


def _labels(connection: duckdb.DuckDBPyConnection, kind: str) -> dict[str, Any] | None:
    """Return the distribution of the labels of a classification dataset; None for others."""
    if kind not in _LABEL_TYPES:
        return None
    counted = rows(connection, _LABELS.format(_LABEL_TYPES[kind]))
    declared = {
        "title": "Labels",
        "caption": "How many rows have each label.",
        "whole": "rows",
        "part": "of them in test",
    }
    return bars({**declared, "most": _MOST_LABELS}, counted) if counted else None


def _family(columns: set[str]) -> Family | None:
    """Return the kind of dataset that has these columns."""
    for family in FAMILIES.values():
        if {"id", "repo", "issue", *family.inputs, family.target} <= columns:
            return family
    return None


def _example(
    connection: duckdb.DuckDBPyConnection, row: Mapping[str, Any], audit: StoredAudit | GoldpanError
) -> DatasetExample:
    title, _, body = str(row.get("problem_statement") or "").partition("\n")
    subject = {"repo": row["repo"], "issue": row["issue"], "pull": row.get("pull") or 0}
    return {
        "id": row["id"],
        "split": row["split_of_row"],
        "repo": row["repo"] or "",
        "issue": row["issue"] or 0,
        "pull": row.get("pull"),
        "title": row.get("title") or title,
        "body": excerpt(row.get("body") or body),
        "role": row.get("question_role") or "",  # of who opened the issue
        "opened": _day(row.get("created_at")),
        "labels": (row.get("labels") or ())[:12],
        "verdicts": [
            {**verdict, "evidence": public_line(verdict["evidence"])}
            for verdict in rows(connection, _VERDICTS, **subject)
        ],
        "answer": _answer(row) if "answer" in row else None,
        "location": {"path": row["changed_path"] or "", "files": len(row.get("paths") or ())}
        if "changed_path" in row
        else None,
        "edit": _edit(row) if "patch" in row else None,
        "findings": show_findings(audit, row),
        "because": list(_because(connection, row, subject)),
    }


def _because(
    connection: duckdb.DuckDBPyConnection, row: Mapping[str, Any], subject: Mapping[str, Any]
) -> Iterator[tuple[str, str]]:
    """Yield why the answer is one, or what ties the pull request to the issue."""
    if row.get("answer_points") is not None:
        because = ", ".join(row.get("answer_because") or ())
        yield f"{row['answer_points']:,} points for the answer", because
    if row.get("pull"):
        pairs = rows(connection, _EVIDENCE, **subject)
        evidence = reversed([item for pair in pairs for item in pair["all"]])
        excerpts = {item["signal"]: public_line(item["excerpt"]) for item in evidence}
        yield from ((signal, excerpts.get(signal, "")) for signal in row.get("signals") or ())


def _answer(row: Mapping[str, Any]) -> dict[str, Any]:
    turns: Sequence[Mapping[str, Any]] = row.get("dialogue") or ()
    answer = _turn(row.get("answer_role"), row.get("answer_created_at"), excerpt(row["answer"]))
    others = [
        _turn(turn["role"], turn["created_at"], excerpt(turn["content"], 600, 2000))
        for turn in turns[1 : 1 + _MOST_TURNS]
    ]
    left_out = max(0, len(turns) - 1 - _MOST_TURNS)
    return {"reference": answer, "dialogue": others, "left_out": left_out}


def _turn(role: str | None, at: datetime | None, text: Excerpt) -> dict[str, Any]:
    return {"role": role or "", "at": _day(at), "text": text}


def _edit(row: Mapping[str, Any]) -> dict[str, Any]:
    whole = row["patch"] if "test_patch" in row else ""  # of several files, a git diff
    sides = side_by_side(row.get("diff") or whole)
    path = row.get("path") or ""
    with suppress(ValueError):  # rows from elsewhere may hold other text than a git diff
        path = path or ", ".join(part.path for part in split_patch(whole))
    return {
        "path": path,
        "previous_path": row.get("previous_path"),
        "language": row.get("code_language") or "",
        "pull_title": row.get("pull_title") or "",
        "pull_body": excerpt(row.get("pull_body"), 500, 4000),
        "sides": sides,
        "patch": None if sides.rows else excerpt(row["patch"]),  # without a diff
    }


def _day(moment: datetime | None) -> str:
    return f"{moment:%Y-%m-%d}" if moment else ""
