"""Rows in SWE-bench's columns and types, as its package loads them."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

import orjson

VERIFIED = "verified"
NOT_RUN = "not-run"
"""The reason of rows whose tests were not run when the dataset was built."""
_TEXTS = (
    "instance_id",
    "repo",
    "base_commit",
    "patch",
    "test_patch",
    "problem_statement",
    "hints_text",
)


def why_not(row: Mapping[str, Any]) -> str | None:
    """Return why a row is not proved by its tests, None where it is."""
    verdict = row["verification"] or NOT_RUN
    if verdict != VERIFIED:
        return str(verdict)
    return None if row["FAIL_TO_PASS"] else "no-test-fails-before"


def swe_bench_row(row: Mapping[str, Any]) -> dict[str, str]:
    """Return a row of issue-resolution as SWE-bench publishes its own (section 2, Table 5)."""
    return {
        **{name: row[name] or "" for name in _TEXTS},
        "created_at": _moment(row["created_at"]),
        "version": row["version"] or "",
        "FAIL_TO_PASS": _tests(row["FAIL_TO_PASS"]),
        "PASS_TO_PASS": _tests(row["PASS_TO_PASS"]),
        "environment_setup_commit": row["environment_setup_commit"] or "",
    }


def _moment(moment: datetime) -> str:
    return moment.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def _tests(names: list[str] | None) -> str:
    return orjson.dumps(names or []).decode()
