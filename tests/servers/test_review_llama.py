"""Reviewing with a real server: llama.cpp's, with a tiny model of random weights."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import orjson

from goldpan.annotation.review.request import load_review_settings
from goldpan.annotation.review.run import ReviewResult, run_review
from goldpan.core.storage.archive import Archive
from goldpan.core.storage.workspace import WorkspaceLayout
from tests.filtering import REPO
from tests.llama import needs_llama
from tests.reviewing import QUIET, profile, rows, workspace

pytestmark = needs_llama


def review(workspace: WorkspaceLayout, address: str, **changes: Any) -> ReviewResult:
    flags = {"models": ["tiny"], "base_url": address, "subjects": ["issue"], "timeout": 600.0}
    flags |= {"temperature": 1.0, "max_tokens": 1500, "concurrency": 2, **changes}
    environment = {name: value for name, value in os.environ.items() if name != "OPENAI_API_KEY"}
    return run_review(
        workspace, [REPO], profile(workspace), load_review_settings(None, flags, environment), QUIET
    )


def replies(workspace: WorkspaceLayout) -> list[dict[str, Any]]:
    records = Archive(workspace.root / "reviews").records
    return [
        orjson.loads(record.read())
        for record in records
        if record.meta["part"] == "reply" and record.meta["status"] == 200
    ]


def test_the_schema_is_enforced_and_nothing_is_lost(tmp_path: Path, address: str) -> None:
    lab = workspace(tmp_path, 3)
    done = review(lab, address, bounded_schema=True)
    assert done.complete
    assert len(rows(lab)) == 3
    reasons = {row["reason"] for row in rows(lab).values()}
    assert reasons <= {"quote-not-found", "unsure", "truncated", "malformed"}
    finished = [
        orjson.loads(reply["choices"][0]["message"]["content"])
        for reply in replies(lab)
        if reply["choices"][0]["finish_reason"] == "stop"
    ]
    assert finished, "a model that babbles still follows the schema"
    assert all(answer["verdict"] in ("keep", "drop", "unsure") for answer in finished)
    assert done.usage.input > 3 * 1000
    assert done.usage.output > 0
    assert review(lab, address, bounded_schema=True).sent == 0


def test_an_answer_without_end_is_truncated(tmp_path: Path, address: str) -> None:
    lab = workspace(tmp_path, 1)
    review(lab, address, max_tokens=20)
    assert rows(lab)[1]["reason"] == "truncated"


def test_a_text_too_long_for_the_server_is_cut(tmp_path: Path, address: str) -> None:
    lab = workspace(tmp_path, 1, issue1="The pump leaks.\n" * 500)
    done = review(lab, address, bounded_schema=True, max_tokens=1_200)
    assert rows(lab)[1]["reason"] != "context-overflow"
    assert done.sent > 1
    assert len(replies(lab)) <= 2, "one that cannot stand is asked for once more"
