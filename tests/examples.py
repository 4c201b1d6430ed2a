"""Rows of published datasets for tests, as builders yield them, and datasets made of them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from unittest.mock import patch

from huggingface_hub import metadata_load

from goldpan.core.storage.workspace import WorkspaceLayout
from goldpan.datasets.examples import CODE_EDIT, FAULT_LOCALIZATION, ISSUE_RESOLUTION, QA
from goldpan.datasets.family import Family
from goldpan.datasets.files import SHARD_BYTES, write_dataset
from goldpan.datasets.manifest import CardInputs, FunnelStep, Written
from goldpan.datasets.provenance import MinedSource, Provenance
from goldpan.datasets.splits import SplitPlan

PROVENANCE = Provenance(
    sources=(
        MinedSource(
            "o/n",
            datetime(2024, 5, 1, tzinfo=UTC),
            datetime(2024, 5, 2, tzinfo=UTC),
            {"raw/run-0001.zst": "ab" * 32},
        ),
    ),
    profile={"name": "default", "decide": ["bots"]},
    digests={"bots": "0123456789abcdef"},
    settings={"family": "qa"},
    counts={"no-answer": 3},
    redactions={"email": 4},
)
CARD = CardInputs(
    summary="Made for a test.",
    subjects="issues",
    considered=500,
    funnel=(FunnelStep("bots", "Issues that a human wrote.", 9, 1, 490),),
    limits=("It is small.",),
)


ENVIRONMENT = (
    '{"newest_packages":"2024-03-01T12:30:00Z","packages":["pytest==8.0.2"],"python":"3.11",'
    '"recipe":"python","version":"1.0","in_place":true}'
)
"""In what the tests of a row of issue-resolution ran."""


def example(family: Family, issue: int, repo: str = "o/n", **changes: Any) -> dict[str, Any]:
    """Return a row about an issue; issues are opened a day apart, from 2020 on."""
    owner, name = repo.split("/")
    at = datetime.fromtimestamp(1_577_836_800 + 86_400 * issue, UTC)
    pull = issue + 10_000
    row = {
        "id": f"{family.name}:{repo}#{issue}" + ("" if family is QA else f"+{pull}"),
        "repo": repo,
        "owner": owner,
        "name": name,
        "language": "C",
        "license": "MIT",
        "issue": issue,
        "title": f"Crash {issue}",
        "body": f"It crashes, said number {issue}: é\r\n",
        "created_at": at,
        "updated_at": at,
        "closed_at": None,
        "labels": ["bug", "help"] if issue % 2 else [],
        "raw": ["run-0001.zst@4096"],
    }
    return {**row, **_OWN[family.name](issue, pull, at), **changes}


def examples(family: Family, count: int, **changes: Any) -> list[dict[str, Any]]:
    return [example(family, issue, **changes) for issue in range(1, count + 1)]


def write(
    root: Path,
    family: Family,
    rows: Iterable[Mapping[str, Any]],
    plan: str = "none",
    *,
    name: str = "made",
    provenance: Provenance = PROVENANCE,
    card: CardInputs = CARD,
    shard_bytes: int = SHARD_BYTES,
    **options: Any,
) -> Written:
    """Write rows as a dataset into a workspace at `root`, in files of about `shard_bytes`."""
    workspace = WorkspaceLayout(root)
    directory = workspace.dataset(name)
    batches = family.batches(rows)
    plans = SplitPlan.parse(plan)
    with patch("goldpan.datasets.files.SHARD_BYTES", shard_bytes):
        return write_dataset(
            workspace, directory, family, batches, plans, provenance, card, **options
        )


def front_matter(directory: Path) -> dict[str, Any]:
    """Return the YAML of a dataset's card."""
    return dict(metadata_load(directory / "README.md") or {})


def _qa(issue: int, pull: int, at: datetime) -> dict[str, Any]:
    dialogue = [
        {"role": "none", "content": "It crashes", "created_at": at, "comment_id": None},
        {"role": "member", "content": "Mend it", "created_at": at, "comment_id": issue * 7},
    ]
    return {
        "question_role": "none",
        "answer": "Mend it",
        "answer_role": "member",
        "answer_comment_id": issue * 7,
        "answer_created_at": at,
        "answer_tier": "possible",
        "answer_points": 10,
        "answer_because": ["steps"],
        "dialogue": dialogue,
        "participants": 2,
    }


def _fault_localization(issue: int, pull: int, at: datetime) -> dict[str, Any]:
    return {
        "pull": pull,
        "base_sha": "a" * 40,
        "tree": "src\n├── a.c\n└── b.c\n\n1 directory, 2 files",
        "paths": ["src/a.c", "src/b.c"],
        "directories": 1,
        "files": 2,
        "changed_path": "src/a.c",
        "signals": ["keyword"],
        "merged_at": at,
    }


def _code_edit(issue: int, pull: int, at: datetime) -> dict[str, Any]:
    return {
        "pull": pull,
        "pull_title": "Mend it",
        "pull_body": f"Fixes #{issue}",
        "path": "src/a.c",
        "previous_path": None,
        "code_language": "C",
        "base_sha": "a" * 40,
        "head_sha": "b" * 40,
        "blob_before": "c" * 40,
        "blob_after": "d" * 40,
        "encoding": "utf-8",
        "line_ends": "lf",
        "file_before": f"int x = {issue};\n",
        "patch": "<<<<<<< SEARCH\nint x = 1;\n=======\nint x = 2;\n>>>>>>> REPLACE\n",
        "edits": [{"search": "int x = 1;\n", "replace": "int x = 2;\n"}],
        "diff": "--- a/src/a.c\n+++ b/src/a.c\n@@ -1 +1 @@\n-int x = 1;\n+int x = 2;\n",
        "signals": ["keyword"],
        "merged_at": at,
    }


def _issue_resolution(issue: int, pull: int, at: datetime) -> dict[str, Any]:
    return {
        "pull": pull,
        "instance_id": f"o__n-{pull}",
        "base_commit": "a" * 40,
        "patch": "diff --git a/a.c b/a.c\n--- a/a.c\n+++ b/a.c\n@@ -1 +1 @@\n-int x;\n+int y;\n",
        "test_patch": "diff --git a/t.c b/t.c\n--- a/t.c\n+++ b/t.c\n@@ -1 +1 @@\n-1\n+2\n",
        "problem_statement": f"Crash {issue}\nIt crashes",
        "hints_text": "Perhaps in a.c",
        "version": "1.0",
        "FAIL_TO_PASS": ["t.c::new"],
        "PASS_TO_PASS": [],
        "environment_setup_commit": "a" * 40,
        "verification": "verified",
        "verification_digest": "b" * 64,
        "environment": ENVIRONMENT,
        "test_files": ["t.c"],
        "issue_created_at": at,
        "files": 1,
        "signals": ["keyword"],
        "merged_at": at,
    }


_OWN = {
    QA.name: _qa,
    FAULT_LOCALIZATION.name: _fault_localization,
    CODE_EDIT.name: _code_edit,
    ISSUE_RESOLUTION.name: _issue_resolution,
}
