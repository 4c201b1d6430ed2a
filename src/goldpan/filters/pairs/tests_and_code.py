"""Keeps pairs whose pull request changes tests and code, so that tests can prove the fix."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import groupby
from pathlib import PurePosixPath
from typing import Any

import pyarrow as pa

from goldpan.code.languages import CODE_SUFFIXES
from goldpan.code.paths import is_test_change
from goldpan.filters.criterion import Criterion, answer_table
from goldpan.filters.repo_view import RepoView
from goldpan.git.objects import Objects


@dataclass(frozen=True, slots=True)
class TestsAndCodeSettings:
    """The largest change."""

    most_files: int = 50
    """The most changed files, tests among them."""


_CHANGES = """
SELECT number, path, kind, blob_before, blob_after FROM changes
WHERE number IN (SELECT pull FROM pairs WHERE lower(pull_repo) = lower(repo))
ORDER BY number, path
"""
_ANSWER = """
SELECT p.issue, p.pull_repo, p.pull, c.keep,
       CASE WHEN r.number IS NULL THEN 'no-history' WHEN r.state = 'none' THEN 'no-state'
            WHEN c.number IS NULL THEN 'no-files' ELSE c.reason END AS reason,
       c.value,
       CASE WHEN r.number IS NULL THEN 'run goldpan clone' ELSE c.evidence END AS evidence
FROM pairs p
LEFT JOIN revisions r ON r.number = p.pull AND lower(p.pull_repo) = lower(p.repo)
LEFT JOIN tests_and_code c ON c.number = r.number AND r.state <> 'none'
"""


def _judge(view: RepoView, settings: TestsAndCodeSettings) -> pa.Table:
    judged: list[dict[str, Any]] = []
    with view.objects() as objects:
        if objects:
            for number, files in groupby(view.rows(_CHANGES), key=lambda row: row["number"]):
                judged.append({"number": number, **_sum_up(list(files), objects, settings)})
    return view.sql_over("tests_and_code", answer_table(judged, "number"), _ANSWER)


def _sum_up(
    files: list[dict[str, Any]], objects: Objects, settings: TestsAndCodeSettings
) -> dict[str, bool | str | float | None]:
    """Return the verdict on one pull request's files."""
    if len(files) > settings.most_files:
        return _verdict("many-files", len(files), files[0]["path"])
    if binary := [row["path"] for row in files if row["kind"] != "text"]:
        return _verdict("binary-file", len(files), binary[0])
    tests = [row["path"] for row in files if is_test_change(row, objects.blob)]
    code = [
        row["path"]
        for row in files
        if row["path"] not in tests and PurePosixPath(row["path"]).suffix.lower() in CODE_SUFFIXES
    ]
    if not tests:
        return _verdict("no-tests", len(files), files[0]["path"])
    if not code:
        return _verdict("no-code", len(files), tests[0])
    return _verdict(None, len(files), tests[0])


def _verdict(reason: str | None, files: int, path: str) -> dict[str, bool | str | float | None]:
    return {"keep": reason is None, "reason": reason, "value": files, "evidence": path[:200]}


TESTS_AND_CODE = Criterion(
    name="tests-and-code",
    subject="pair",
    definition="Keeps pairs whose pull request changes tests and code, all of it text.",
    source="Goldpan: a fix is proved by tests that fail before it and pass after it (SWE-bench)",
    settings=TestsAndCodeSettings,
    judge=_judge,
    version=3,
)
