"""Small filtered workspaces for reviews, and what models say of them."""

from __future__ import annotations

import re
import tempfile
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq

from goldpan.annotation.review.request import ReviewSettings, load_review_settings
from goldpan.annotation.review.run import ReviewResult, run_review
from goldpan.annotation.review.stored import review_path
from goldpan.core.storage.workspace import WorkspaceLayout
from goldpan.core.terminal import Reporter
from goldpan.filters.pipeline import run_filters
from goldpan.filters.profile import Profile, load_profile
from tests import filtering
from tests.filtering import REPO, Row, comment, issue
from tests.openai_server import Body, OpenAIServer, Said, answer

QUIET = Reporter(quiet=True)
QUOTE = "Tighten the bolts"


def workspace(root: Path, count: int = 3, *, replies: int = 1, **bodies: str) -> WorkspaceLayout:
    """Return a filtered workspace of answered issues; `bodies` are texts by ``issue1``."""
    for name, data in _files(count, replies, tuple(bodies.items())).items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
    return WorkspaceLayout(root)


@cache
def _files(count: int, per_issue: int, bodies: tuple[tuple[str, str], ...]) -> dict[str, bytes]:
    texts = dict(bodies)
    numbers = range(1, count + 1)
    issues = [issue(n, texts.get(f"issue{n}", f"Leak of kind {n}\n" * 20)) for n in numbers]
    replies = [
        comment(n, f"{QUOTE} of box {n}" + "!" * index, "erin")
        for n in numbers
        for index in range(per_issue)
    ]
    with tempfile.TemporaryDirectory() as directory:
        root = Path(directory)
        filtered(filtering.build(root, issues, replies))
        files = [path for path in sorted(root.rglob("*")) if path.is_file()]
        return {str(path.relative_to(root)): path.read_bytes() for path in files}


def filtered(lab: WorkspaceLayout) -> WorkspaceLayout:
    """Filter a workspace by a profile that drops what bots wrote."""
    run_filters(lab, [REPO], profile(lab), QUIET)
    return lab


def profile(lab: WorkspaceLayout) -> Profile:
    """Return the profile of these workspaces."""
    path = lab.root / "own.toml"
    path.write_text('decide = ["bots"]', encoding="utf-8")
    return load_profile(str(path))


def settings(server: OpenAIServer, **changes: Any) -> ReviewSettings:
    """Return settings that lead to a server and try quickly."""
    flags = {"models": ["judge"], "base_url": server.url, "subjects": ["issue"], **changes}
    flags = {"retries": 0, "timeout": 10.0, "poll_seconds": 0.01, "concurrency": 4, **flags}
    return load_review_settings(None, flags, {"OPENAI_API_KEY": server.key or ""})


def review(lab: WorkspaceLayout, server: OpenAIServer, **changes: Any) -> ReviewResult:
    """Review the issues of a workspace."""
    return run_review(lab, [REPO], profile(lab), settings(server, **changes), QUIET)


def rows(lab: WorkspaceLayout) -> dict[int, Row]:
    """Return the verdicts of a review by issue."""
    table = pq.read_table(review_path(lab, REPO, "own"))
    return {row["issue"]: row for row in table.to_pylist()}


def prompt_text(body: Body) -> str:
    """Return the data that a model was shown."""
    content = body["messages"][1]["content"]
    assert isinstance(content, str)
    return content


def number(body: Body) -> int:
    """Return the number of the issue that a model was shown."""
    match = re.search(r"Leak (\d+)", prompt_text(body))
    assert match
    return int(match[1])


def keeps(body: Body) -> Said:
    """Keep everything."""
    return answer("keep", QUOTE)


def by_number(says: dict[int, Any]) -> Callable[[Body], Any]:
    """Say something of its own to some issues, and keep the others."""
    return lambda body: says.get(number(body)) or keeps(body)
