"""Keeps pairs whose change touches what the program does."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import groupby, islice
from operator import itemgetter
from typing import Any

import pyarrow as pa

from goldpan.code.substance import FilePair, Substance, compare_all
from goldpan.filters.criterion import Criterion, answer_table
from goldpan.filters.repo_view import RepoView
from goldpan.git.objects import Object, Objects


@dataclass(frozen=True, slots=True)
class SubstanceSettings:
    """The limits of the comparison."""

    most_files: int = 20
    """Files of a pull request that are compared. A larger change is undecided where none of these
    has substance."""
    timeout: float = 20.0
    """The limit for one file, in seconds of processor time."""


_READ_AT_ONCE = 64  # changes, two files each

_CHANGES = """
SELECT number, path, previous_path, kind, blob_before, blob_after
FROM changes
WHERE number IN (SELECT pull FROM pairs WHERE lower(pull_repo) = lower(repo))
QUALIFY row_number() OVER (PARTITION BY number ORDER BY path) <= $most_files
ORDER BY number, path
"""

_ANSWER = """
SELECT p.issue, p.pull_repo, p.pull,
       CASE WHEN f.keep OR files <= $most_files THEN f.keep END AS keep,
       CASE WHEN r.number IS NULL OR NOT $cloned THEN 'no-history'
            WHEN r.state = 'none' THEN 'no-state'
            WHEN f.number IS NULL THEN 'no-files'
            WHEN NOT f.keep AND files > $most_files THEN 'many-files' ELSE f.reason END AS reason,
       f.value,
       CASE WHEN r.number IS NULL OR NOT $cloned THEN 'run goldpan clone'
            WHEN r.state = 'none' THEN r.problem
            ELSE f.evidence END AS evidence
FROM pairs p
LEFT JOIN revisions r ON r.number = p.pull AND lower(p.pull_repo) = lower(p.repo)
LEFT JOIN substance_found f ON f.number = r.number AND r.state <> 'none'
LEFT JOIN (SELECT number, count(*) AS files FROM changes GROUP BY number) c ON c.number = r.number
"""

Row = dict[str, Any]


def _judge(view: RepoView, settings: SubstanceSettings) -> pa.Table:
    verdicts: list[Row] = []
    with view.objects() as objects:
        if objects:
            rows = view.rows(_CHANGES, most_files=settings.most_files)
            judged = _compare(rows, objects, view.workers, settings.timeout)
            by_pull = groupby(judged, itemgetter("number"))
            verdicts = [_sum_up(list(files)) for _, files in by_pull]
    return view.sql_over(
        "substance_found",
        answer_table(verdicts, "number"),
        _ANSWER,
        most_files=settings.most_files,
        cloned=objects is not None,
    )


def _compare(rows: Iterable[Row], objects: Objects, workers: int, timeout: float) -> Iterator[Row]:
    """Yield a verdict for each changed file, in order; unreadable ones do not go to the workers."""
    waiting: deque[tuple[Row, str | None]] = deque()

    def pairs() -> Iterator[FilePair]:
        for row, before, after in _read(rows, objects):
            obstacle = _obstacle(row, before, after)
            waiting.append((row, obstacle))
            if obstacle is None:
                old, new = before.data if before else None, after.data if after else None
                yield FilePair(old, new, row["path"], row["previous_path"])

    def unread() -> Iterator[Row]:
        while waiting and waiting[0][1]:
            row, obstacle = waiting.popleft()
            yield _verdict(row, None, obstacle, 0, "")

    for compared in compare_all(pairs(), workers, timeout):
        yield from unread()
        yield _judged(waiting.popleft()[0], compared)
    yield from unread()


def _read(
    rows: Iterable[Row], objects: Objects
) -> Iterator[tuple[Row, Object | None, Object | None]]:
    source = iter(rows)
    while batch := list(islice(source, _READ_AT_ONCE)):
        states = objects.read(
            row[side] or "" for row in batch for side in ("blob_before", "blob_after")
        )
        for row in batch:
            yield row, next(states), next(states)


def _obstacle(row: Row, before: Object | None, after: Object | None) -> str | None:
    """Return why the two versions cannot be compared."""
    if row["kind"] != "text":
        return f"kind-{row['kind']}"
    for id, version in ((row["blob_before"], before), (row["blob_after"], after)):
        if id and (version is None or version.data is None):
            return "file-missing"
    return None


def _judged(row: Row, substance: Substance) -> Row:
    parser = "" if substance.parsed == "tree" else f" ({substance.parsed})"
    detail = f": {substance.evidence}" if substance.evidence else ""
    tokens, evidence = substance.changed_tokens, f"{row['path']}{parser}{detail}"
    return _verdict(row, substance.keep, substance.reason, tokens, evidence)


def _verdict(row: Row, keep: bool | None, reason: str | None, value: int, evidence: str) -> Row:
    verdict = {"keep": keep, "reason": reason, "value": value, "evidence": evidence[:200] or None}
    return {"number": row["number"], **verdict}


def _sum_up(files: list[Row]) -> Row:
    """Return one verdict on the files of a pull request: any file with substance is enough."""
    changed = [file for file in files if file["keep"]]
    dropped = [file for file in files if file["keep"] is False]
    # A text in no programming language has no substance of this kind, and is no obstacle.
    unknown = [file for file in files if file["keep"] is None]
    unclear = [file for file in unknown if file["reason"] != "unknown-language"]
    first = next(iter(changed or unclear or dropped or unknown))
    return {**first, "value": sum(file["value"] for file in files)}


SUBSTANCE = Criterion(
    name="substance",
    subject="pair",
    definition="Keeps pairs whose change touches more than comments, docstrings and strings.",
    source="FAUN-Eval, section 3.3.2, Substance Check",
    settings=SubstanceSettings,
    judge=_judge,
    version=3,
)
