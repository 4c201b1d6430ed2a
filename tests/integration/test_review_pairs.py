"""Reviewing fix pairs, with a real history of the code."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from goldpan.annotation.review.run import run_review
from goldpan.annotation.review.stored import read_reviews
from goldpan.annotation.review.subjects import KINDS, read_cases
from goldpan.core.storage.workspace import WorkspaceLayout
from goldpan.git.refs import write_refs_record
from tests import filtering
from tests.filtering import REPO, Row, comment, issue, pair, pull
from tests.git_repositories import Repository
from tests.openai_server import OpenAIServer, answer
from tests.reviewing import QUIET, filtered, profile, prompt_text, settings


def workspace(root: Path, comments: Iterable[Row] = ()) -> WorkspaceLayout:
    """Return a workspace with a pair that has a diff, and two that have none."""
    lab = WorkspaceLayout(root)
    lab.clone(REPO).parent.mkdir(parents=True)
    clone = Repository.create(lab.clone(REPO))
    before = clone.commit({b"pump": b"flow = 1\n", b"other": b"1\n"})
    after = clone.commit({b"pump": b"flow = 2\n", b"other": b"2\n"}, before)
    clone.point("refs/heads/main", after)
    write_refs_record(clone.path)
    shas = {"state": "base", "before_sha": before, "after_sha": after, "merge_base": before}
    filtering.build(
        root,
        [issue(1, "The pump leaks"), issue(3), pull(2, body="Fixes #1"), pull(4)],
        comments,
        pairs=[pair(1, 2), pair(3, 4), pair(3, 9, pull_repo="else/where")],
        revisions=[{"number": 2, **shas}, {"number": 4, "state": "none"}],
        changes=[],
    )
    return filtered(lab)


def test_a_model_sees_issue_pull_and_every_changed_file(tmp_path: Path) -> None:
    lab = workspace(tmp_path)
    reply = answer("keep", "The pump leaks", "+flow = 2")
    with OpenAIServer(lambda _: reply) as server:
        options = settings(server, subjects=["pair"])
        done = run_review(lab, [REPO], profile(lab), options, QUIET)
        (body,) = server.chats
    assert (done.keep, done.reasons) == ({"problem-solution": 1}, {"no-diff": 2})
    seen = prompt_text(body)
    names = [line.split(" begin ")[1] for line in seen.split("\n") if " begin " in line]
    assert names[:2] == ["issue title ===", "issue body ==="]
    assert names[2:4] == ["pull request title ===", "pull request body ==="]
    assert names[4:] == ["change 1 of 2 ===", "change 2 of 2 ==="]
    assert "-flow = 1\n+flow = 2\n" in seen
    assert "Fixes #1" in seen
    assert "FAUN" not in str(body)


def test_without_a_clone_nobody_is_asked(tmp_path: Path) -> None:
    lab = filtering.build(tmp_path, [issue(1), pull(2)], pairs=[pair(1, 2)])
    filtered(lab)
    (case,) = read_cases(lab, REPO, profile(lab), KINDS["pair"])
    assert (case.obstacle, case.parts) == ("no-diff", ())


def test_one_review_leaves_the_verdicts_of_another(tmp_path: Path) -> None:
    lab = workspace(tmp_path, [comment(1, "Tighten it", "erin")])
    with OpenAIServer(lambda _: answer("keep", "The pump leaks")) as server:
        for subject in ("pair", "issue", "pair"):
            options = settings(server, subjects=[subject])
            run_review(lab, [REPO], profile(lab), options, QUIET)
    rows = read_reviews(lab, REPO, "own").to_pylist()
    verdicts = [(row["subject"], row["issue"], row["keep"]) for row in rows]
    assert verdicts == [("issue", 1, True), ("pair", 1, True), ("pair", 3, None), ("pair", 3, None)]
