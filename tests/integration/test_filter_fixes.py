"""Criteria on what binds a pair: it says that it fixes the issue, alone, and by its own work."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path

import pytest

from goldpan.core.schemas.mined import COMMITS
from tests.filtering import NOON, REPO, Row, build, dropped, issue, judge, pair, pull
from tests.table_rows import put_table

ELSEWHERE = "Octo/Other"


def mention(where: str, excerpt: str = "fixes it") -> Row:
    return {"signal": "keyword", "where": where, "stance": "stated", "excerpt": excerpt}


def test_says_fixes(tmp_path: Path) -> None:
    later = NOON + timedelta(days=3)
    pairs = [
        pair(1, 11, stance="stated", evidence=[mention("body")]),
        pair(2, 12, stance="negated", evidence=[mention("body", "does not fix #2")]),
        pair(3, 13, stance="partial", signals=["closed_by_pull", "keyword"]),
        pair(4, 14, stance="supposed"),
        pair(5, 15, stance="asked", signals=["closed_by_pull", "keyword"]),
        pair(6, 16, stance="stated", evidence=[mention("comment")]),
        pair(7, 17, stance="stated", evidence=[mention("comment"), mention("title")]),
        pair(8, 18, stance="stated", evidence=[mention("review")]),
        pair(9, 19, signals=["connected"]),
        pair(10, 20, stance="supposed", evidence=[mention("body", "might fix #10")]),
    ]
    closed = {4: later, 6: later, 8: NOON + timedelta(minutes=5)}
    entries = [
        *(issue(n, closed_at=closed.get(n, NOON)) for n in range(1, 11)),
        *(pull(n, merged_at=NOON) for n in range(11, 21)),
    ]
    workspace = build(tmp_path, entries, pairs=pairs)
    verdicts = judge(workspace, "says-fixes")
    doubted = {(2, 12): "negated", (3, 13): "partial", (4, 14): "supposed"}
    assert dropped(verdicts) == doubted
    assert verdicts[2, 12]["evidence"] == "does not fix #2"
    strict = judge(workspace, "says-fixes", comments=False)
    assert dropped(strict) == {**doubted, (6, 16): "only-in-comment"}
    del doubted[4, 14]
    assert dropped(judge(workspace, "says-fixes", hedged=True)) == doubted


def test_one_to_one(tmp_path: Path) -> None:
    pairs = [
        pair(1, 11),
        *(pair(2, 12), pair(2, 13)),
        *(pair(3, 14), pair(4, 14)),
        *(pair(5, 15), pair(5, 16, merged=False)),
        *(pair(6, 17), pair(6, 18), pair(7, 17)),
        *(pair(8, 11, pull_repo=ELSEWHERE, merged=None), pair(8, 19)),
    ]
    entries = [*map(issue, range(1, 9)), *map(pull, range(11, 20))]
    workspace = build(tmp_path, entries, pairs=pairs)
    verdicts = judge(workspace, "one-to-one")
    assert dropped(verdicts) == {
        **dict.fromkeys([(2, 12), (2, 13), (6, 18), (8, 11), (8, 19)], "many-pulls"),
        (5, 16): "many-pulls",
        **dict.fromkeys([(3, 14), (4, 14), (7, 17)], "many-issues"),
        (6, 17): "many-to-many",
    }
    assert verdicts[6, 17]["value"] == 2
    evidence = "the issue is also paired with #18; the pull is also paired with #7"
    assert verdicts[6, 17]["evidence"] == evidence
    assert verdicts[8, 19]["evidence"] == "the issue is also paired with Octo/Other#11"
    assert dropped(judge(workspace, "one-to-one", merged=False))[5, 15] == "many-pulls"


def test_a_false_claim_costs_the_true_pair_nothing(tmp_path: Path) -> None:
    denied = pair(1, 12, stance="negated", evidence=[mention("body", "does not fix #1")])
    entries = [issue(1), pull(11), pull(12)]
    workspace = build(tmp_path, entries, pairs=[pair(1, 11, signals=["closing_reference"]), denied])
    assert dropped(judge(workspace, "one-to-one")) == {(1, 12): "many-pulls"}
    both = {(1, 11): "many-pulls", (1, 12): "many-pulls"}
    assert dropped(judge(workspace, "one-to-one", doubted=True)) == both


def branch_pull(number: int, head: str, base: str, hour: int, **fields: object) -> Row:
    refs = {"head_ref": head, "head_repo": REPO, "base_ref": base}
    return pull(number, merged_at=NOON + timedelta(hours=hour), **{**refs, **fields})


def test_a_release_of_what_others_fixed_is_no_fix(tmp_path: Path) -> None:
    pulls = [
        branch_pull(11, "mend", "dev", 1, head_repo="someone/gem"),
        branch_pull(12, "dev", "main", 2),
        branch_pull(13, "DEV", "main", 3),
        # What went into the branch before it was last merged is not in this one any more.
        branch_pull(14, "dev", "main", 4),
        branch_pull(15, "tidy", "dev", 5, merged=False),
        branch_pull(16, "dev", "main", 6, head_repo="someone/gem"),
        branch_pull(17, "late", "dev", 8),
        branch_pull(18, "dev", "main", 7, head_repo=None),
        branch_pull(19, "dev", "main", 9),
    ]
    pairs = [*(pair(n - 10, n) for n in range(11, 20)), pair(1, 12)]
    workspace = build(tmp_path, [*map(issue, range(1, 10)), *pulls], pairs=pairs)
    verdicts = judge(workspace, "own-work")
    assert dropped(verdicts) == dict.fromkeys([(1, 12), (2, 12), (9, 19)], "integration-branch")
    assert verdicts[2, 12]["evidence"] == "dev had taken in #11"
    assert verdicts[9, 19]["evidence"] == "dev had taken in #17"
    assert (1, 11) not in dropped(judge(workspace, "one-to-one"))
    assert dropped(judge(workspace, "one-to-one", doubted=True))[1, 11] == "many-pulls"


def mended(number: int, base: str | None, **fields: object) -> Row:
    return pull(number, merged_at=NOON, base_ref=base, **fields)


def on(default: bool | None, issue: int, pull: int, **fields: object) -> Row:
    return pair(issue, pull, base_is_default=default, **fields)


BACKPORTS: tuple[Row, ...] = (
    {},
    {"title": "[release-1.x] Mend (#11)", "body": "(cherry picked from commit 0123abc)"},
    {"title": "Backport of #11"},
    {"title": "[Backport release-1.x] Mend"},
    {"body": "Manual back-port of #11 to release-1.x"},
    {"title": "Cherry-pick #11 to 1.x"},
    {"head_ref": "mergify/bp/release-1.x/pr-11"},
    {"head_ref": "cherry-pick-11-to-1.x"},
)


@pytest.mark.parametrize("fields", BACKPORTS)
def test_a_backport_costs_the_first_fix_nothing(tmp_path: Path, fields: Row) -> None:
    entries = [issue(1), mended(11, "main"), mended(12, "release-1.x", **fields)]
    workspace = build(tmp_path, entries, pairs=[on(True, 1, 11), on(False, 1, 12)])
    verdicts = judge(workspace, "one-to-one")
    assert dropped(verdicts) == {(1, 12): "backport"}
    assert verdicts[1, 12]["evidence"] == "the issue is fixed by #11"
    both = {(1, 11): "many-pulls", (1, 12): "many-pulls"}
    assert dropped(judge(workspace, "one-to-one", backports=True)) == both


@pytest.mark.parametrize("fields", BACKPORTS[1:])
@pytest.mark.parametrize("default", [None, False])
def test_a_backport_is_known_where_no_fix_is_on_the_default_branch(
    tmp_path: Path, fields: Row, default: bool | None
) -> None:
    entries = [issue(1), mended(11, "release-2.x"), mended(12, "release-1.x", **fields)]
    workspace = build(tmp_path, entries, pairs=[on(default, 1, 11), on(default, 1, 12)])
    assert dropped(judge(workspace, "one-to-one")) == {(1, 12): "backport"}


def test_commits_tell_that_they_were_picked(tmp_path: Path) -> None:
    entries = [issue(1), mended(11, "release-2.x"), mended(12, "release-1.x")]
    workspace = build(tmp_path, entries, pairs=[on(False, 1, 11), on(False, 1, 12)])
    message = "Mend\n\n(cherry picked from commit 0123456789)"
    put_table(workspace, REPO, COMMITS, [{"number": 12, "sha": "a" * 40, "message": message}])
    assert dropped(judge(workspace, "one-to-one")) == {(1, 12): "backport"}


def test_what_is_no_backport(tmp_path: Path) -> None:
    entries = [
        *map(issue, range(1, 6)),
        *(mended(11, "main"), mended(12, "main", title="Backport of #11")),
        *(mended(21, "next"), mended(22, "release-1.x")),
        *(mended(31, None), mended(32, None, title="Backport of #31")),
        *(mended(41, "main", merged=False), mended(42, "release-1.x", title="Backport of #41")),
        *(mended(51, "dev", head_repo="a/b"), branch_pull(52, "dev", "main", 2)),
    ]
    pairs = [
        *(on(True, 1, 11), on(True, 1, 12)),
        *(on(False, 2, 21), on(False, 2, 22)),
        *(on(None, 3, 31), on(None, 3, 32)),
        *(on(True, 4, 41, merged=False), on(False, 4, 42)),
        *(on(False, 5, 51), on(True, 5, 52)),
    ]
    verdicts = judge(build(tmp_path, entries, pairs=pairs), "one-to-one")
    twice = [(n, 10 * n + k) for n in (1, 2, 3) for k in (1, 2)]
    assert dropped(verdicts) == dict.fromkeys([*twice, (4, 41), (5, 52)], "many-pulls")


def test_several_backports_of_one_fix(tmp_path: Path) -> None:
    bases = {11: "main", 12: "1.x", 13: "2.x", 14: "3.x"}
    entries = [issue(1), issue(2), *(mended(n, base) for n, base in bases.items())]
    pairs = [*(on(n == 11, 1, n) for n in bases), on(False, 2, 14)]
    verdicts = judge(build(tmp_path, entries, pairs=pairs), "one-to-one")
    assert dropped(verdicts) == dict.fromkeys([(1, 12), (1, 13), (1, 14)], "backport")


@pytest.mark.nightly
def test_one_to_one_is_fast_where_one_pull_fixes_thousands(tmp_path: Path) -> None:
    pairs = [pair(n, 5_000) for n in range(1, 2_000)]
    workspace = build(tmp_path, [*map(issue, range(1, 2_000)), pull(5_000)], pairs=pairs)
    verdicts = judge(workspace, "one-to-one")
    assert {row["value"] for row in verdicts.values()} == {1_998}
    assert max(len(row["evidence"]) for row in verdicts.values()) == 200
