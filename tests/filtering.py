"""Small repositories written as tables, and what the filters say of them."""

from __future__ import annotations

import itertools
import json
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq

from goldpan.core.schemas.mined import COMMENTS, ENTRIES, FILES, REFERENCES, REPOSITORIES
from goldpan.core.schemas.stages import CHANGES, DUPLICATES, PAIRS, REVISIONS
from goldpan.core.schemas.table import TableSchema
from goldpan.core.storage.workspace import WorkspaceLayout
from goldpan.core.terminal import Reporter
from goldpan.filters.clusters import workspace_duplicates
from goldpan.filters.pipeline import judge as judge_alone
from goldpan.filters.pipeline import run_filters
from goldpan.filters.profile import Profile, criteria, load_profile
from goldpan.filters.repo_view import open_repo_view
from tests.table_rows import put_table

REPO = "Octo/Gem"
LONG = "The sluice box leaks at the seam when the flow is higher than two litres a second. " * 4
NOON = datetime(2024, 1, 1, 12, tzinfo=UTC)

Row = dict[str, Any]

_ids = itertools.count(1)


def issue(number: int, body: str | None = LONG, **fields: Any) -> Row:
    """Return a closed issue by alice."""
    common = {"kind": "issue", "title": f"Leak {number}", "author": "alice", "author_type": "user"}
    times = {"created_at": NOON, "closed_at": NOON, "state": "closed", "timeline_items": 3}
    return {"number": number, "body": body, "labels": [], **common, **times, **fields}


def comment(
    number: int, body: str | None = "Thank you", author: str | None = "bob", **fields: Any
) -> Row:
    """Return a comment, by bob."""
    kind = {"author_type": None if author is None else "user", "created_at": NOON}
    common = {"comment_id": next(_ids), "kind": "comment", "author": author, **kind}
    return {"number": number, "body": body, **common, **fields}


def pull(number: int, **fields: Any) -> Row:
    """Return a merged pull request by carol that changes one file."""
    common = {"kind": "pull", "title": f"Mend {number}", "author": "carol", "author_type": "user"}
    return {"number": number, **common, "merged": True, "changed_files": 1, **fields}


def pair(issue: int, pull: int, **fields: Any) -> Row:
    """Return a fix pair whose pull request was merged."""
    common = {"pull_repo": REPO, "signals": ["keyword"], "merged": True, "evidence": []}
    return {"issue": issue, "pull": pull, **common, **fields}


def build(
    root: Path,
    entries: Iterable[Row] = (),
    comments: Iterable[Row] = (),
    *,
    pairs: Iterable[Row] | None = None,
    references: Iterable[Row] = (),
    files: Iterable[Row] = (),
    revisions: Iterable[Row] | None = None,
    changes: Iterable[Row] | None = None,
    license: str | None = "MIT",
) -> WorkspaceLayout:
    """Write a repository's tables; those that are None are not there."""
    workspace = WorkspaceLayout(root)
    put_table(workspace, REPO, REPOSITORIES, [{"default_branch": "main", "license": license}])
    tables: tuple[tuple[TableSchema, Iterable[Row] | None], ...] = (
        (ENTRIES, entries),
        (COMMENTS, comments),
        (REFERENCES, references),
        (FILES, files),
        (PAIRS, pairs),
        (REVISIONS, revisions),
        (CHANGES, changes),
    )
    for table, content in tables:
        if content is not None:
            put_table(workspace, REPO, table, content)
    return workspace


def judge(workspace: WorkspaceLayout, criterion: str, **settings: Any) -> dict[Any, Row]:
    """Return a criterion's verdicts, by issue or by (issue, pull); no other judges if it can."""
    asked = criteria()[criterion]
    if criterion == "issue-kept":
        return judge_all(workspace, {criterion: settings})[criterion]
    chosen = _profile(workspace, {criterion: settings}).settings
    duplicates = DUPLICATES.schema.empty_table()
    if criterion == "near-duplicates":
        duplicates = workspace_duplicates(workspace, chosen[criterion], Reporter(quiet=True))
    with open_repo_view(workspace, REPO, chosen["bots"], duplicates, 1) as view:
        table = judge_alone(view, asked, asked.subject, chosen[criterion])
    rows = [{"value": None, "evidence": None, **row} for row in table.to_pylist()]
    return {(row["issue"], row["pull"]) if "pull" in row else row["issue"]: row for row in rows}


def judge_all(
    workspace: WorkspaceLayout, settings: Mapping[str, Mapping[str, Any]] | None = None
) -> dict[str, dict[Any, Row]]:
    """Return all verdicts of all criteria, by criterion."""
    run_filters(workspace, [REPO], _profile(workspace, settings or {}), Reporter(quiet=True))
    verdicts: dict[str, dict[Any, Row]] = {}
    for row in pq.read_table(workspace.verdicts(REPO, "try")).to_pylist():
        key = row["issue"] if row["subject"] == "issue" else (row["issue"], row["pull"])
        assert verdicts.setdefault(row["criterion"], {}).setdefault(key, row) is row
    return verdicts


def _profile(workspace: WorkspaceLayout, settings: Mapping[str, Mapping[str, Any]]) -> Profile:
    path = workspace.root / "try.toml"
    lines = ["decide = []"]
    for name, values in settings.items():
        lines += [f"[{name}]", *(f"{key} = {json.dumps(value)}" for key, value in values.items())]
    path.write_text("\n".join(lines), encoding="utf-8")
    return load_profile(str(path))


def dropped(verdicts: Mapping[Any, Row]) -> dict[Any, str]:
    """Return the reasons of what was not kept; a question mark stands for what was not judged."""
    return {
        key: ("?" if row["keep"] is None else "") + row["reason"]
        for key, row in verdicts.items()
        if not row["keep"]
    }
