"""Criteria for fix pairs, each with what it keeps and what it drops."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from goldpan.core.errors import UsageError
from goldpan.core.schemas.mined import EVENTS
from goldpan.core.storage.workspace import WorkspaceLayout
from goldpan.filters.pairs.files import is_test_by_letters, is_test_by_words
from goldpan.filters.profile import criteria
from goldpan.git.refs import write_refs_record
from tests.filtering import (
    LONG,
    NOON,
    REPO,
    Row,
    build,
    comment,
    dropped,
    issue,
    judge,
    judge_all,
    pair,
    pull,
)
from tests.git_repositories import Repository
from tests.table_rows import put_table

ELSEWHERE = "Octo/Other"


def revision(number: int, **fields: object) -> Row:
    return {"number": number, "state": "base", "agrees": True, "notes": [], **fields}


def paired(root: Path, numbers: range, **tables: Any) -> WorkspaceLayout:
    """Write pull requests with these numbers, each paired with the issue ten below."""
    entries = [*(issue(n - 10) for n in numbers), *map(pull, numbers)]
    return build(root, entries, pairs=[pair(n - 10, n) for n in numbers], **tables)


def change(number: int, path: str = "src/box.c", **fields: object) -> Row:
    common = {"path": path, "status": "modified", "kind": "text"}
    return {"number": number, **common, **fields}


def file(number: int, path: str) -> Row:
    return {"number": number, "path": path, "status": "modified"}


def test_merged_and_same_repository(tmp_path: Path) -> None:
    pairs = [
        pair(1, 11),
        pair(2, 12, merged=False),
        pair(3, 13, merged=None, pull_repo=ELSEWHERE),
        pair(4, 14, pull_repo="OCTO/gem"),
    ]
    entries = [*(issue(n) for n in (1, 2, 3, 4)), *(pull(n) for n in (11, 12, 14))]
    verdicts = judge_all(build(tmp_path, entries, pairs=pairs))
    assert dropped(verdicts["merged"]) == {(2, 12): "not-merged", (3, 13): "?pull-not-mined"}
    assert dropped(verdicts["same-repository"]) == {(3, 13): "elsewhere"}
    assert verdicts["same-repository"][3, 13]["evidence"] == "the fix is in Octo/Other"


def test_a_pull_request_that_another_reverted_fixes_nothing(tmp_path: Path) -> None:
    texts = {
        12: "Reverts Octo/Gem#11",
        14: "Fixes #2 again\n\nReverts Octo/Gem#15",
        16: "It leaks.\n\nReverts #13",
        17: "Reverts Octo/Gem#16",
        19: "Reverts Octo/Gem#18",
    }
    merged = {number: number != 19 for number in range(11, 20)}
    entries = [
        *(issue(n) for n in (1, 2, 3, 4)),
        *(pull(n, body=texts.get(n, "Fixes it"), merged=merged[n]) for n in merged),
    ]
    pairs = [pair(1, 11), pair(1, 20), pair(2, 15), pair(2, 14), pair(3, 13), pair(4, 18)]
    elsewhere = pull(20, body="Reverts other/gem#13")
    workspace = build(tmp_path, [*entries, elsewhere], pairs=pairs)
    verdicts = judge(workspace, "merged")
    assert dropped(verdicts) == {(1, 11): "reverted", (2, 15): "reverted"}
    assert verdicts[1, 11]["evidence"] == "reverted by #12"
    assert dropped(judge(workspace, "merged", reverted=True)) == {}
    assert (1, 20) not in dropped(judge(workspace, "one-to-one"))


@pytest.mark.parametrize(
    ("fields", "is_reverted"),
    [
        ({"body": "This reverts commit abc1234def, reversing changes\nmade to 0123456."}, True),
        ({"body": "> reverts https://github.com/Octo/Gem/pull/11"}, True),
        ({"title": 'Revert "Mend 11 (#11)"'}, True),
        ({"title": 'Revert "Merge pull request #11 from carol/mend"'}, True),
        ({"title": "Revert #11: it leaks"}, True),
        ({"title": 'Revert "Mend 10 (#10)", see #11'}, False),
        ({"body": "This reverts commit abc1234def", "base_ref": "1.x"}, False),
        ({"body": "This partially reverts #11"}, False),
        ({"body": "Reverts #11", "merged": False}, False),
    ],
)
def test_reverts_are_named_by_number_or_commit(
    tmp_path: Path, fields: dict[str, Any], is_reverted: bool
) -> None:
    mend = pull(11, merge_sha="abc1234def" + "0" * 30, base_ref="main")
    entries = [issue(1), mend, pull(12, **{"base_ref": "main", **fields})]
    again = [pull(n, body=f"Reverts #{n - 1}", base_ref="main") for n in (13, 14)]
    pairs = [pair(1, 11)]
    for number, more in enumerate(([], again[:1], again)):
        verdicts = judge(build(tmp_path / str(number), [*entries, *more], pairs=pairs), "merged")
        assert bool(dropped(verdicts)) == (is_reverted and number != 1)


def test_issue_closed(tmp_path: Path) -> None:
    entries = [
        issue(1),
        issue(2, state="open", closed_at=None),
        issue(3, state_reason="not_planned"),
        issue(4, state_reason="duplicate"),
        issue(5, state_reason="completed"),
        issue(6),
        *(pull(n, merged_at=NOON) for n in (11, 12, 13, 14, 15)),
        pull(16, merged_at=NOON + timedelta(minutes=90)),
    ]
    pairs = [pair(n, 10 + n) for n in range(1, 7)]
    closing = {"signal": "closed_by", "number": 14, "target_repo": REPO, "target_number": 5}
    workspace = build(tmp_path, entries, pairs=pairs, references=[closing])
    verdicts = judge(workspace, "issue-closed")
    assert dropped(verdicts) == {
        (2, 12): "still-open",
        (3, 13): "not-planned",
        (4, 14): "duplicate",
        (5, 15): "closed-by-another",
        (6, 16): "closed-before",
    }
    assert verdicts[5, 15]["evidence"] == "closed by #14"
    lax = {"state_reasons": False, "others": False, "hours_before": 24}
    assert dropped(judge(workspace, "issue-closed", **lax)) == {(2, 12): "still-open"}


def test_an_issue_closed_long_before_or_after_the_merge(tmp_path: Path) -> None:
    delays = {
        1: timedelta(minutes=-60),
        2: timedelta(minutes=-90),
        3: timedelta(days=30),
        4: timedelta(days=31),
        **dict.fromkeys((5, 6, 7, 8, 9, 10), timedelta(days=-3)),
    }
    entries = [
        *(issue(n, closed_at=NOON + delay) for n, delay in delays.items()),
        *(pull(10 + n, merged_at=NOON) for n in delays),
    ]
    ties = {5: ["closed_by_pull"], 6: ["closed_by_commit"], 7: ["connected"]}
    pairs = [pair(n, 10 + n, signals=ties.get(n, ["keyword"])) for n in delays]
    said = [
        comment(8, "Solved by #18", "dora", created_at=NOON + delays[8]),
        comment(9, "Is #19 for this?", "bob", created_at=NOON + delays[9]),
    ]
    common = {"signal": "mention", "repo": REPO, "target_repo": REPO}
    mentions = [
        {"number": row["number"], "target_number": 10 + row["number"], **common}
        | {"evidence": {"where": "comment", "source_id": str(row["comment_id"])}}
        for row in said
    ]
    workspace = build(tmp_path, entries, said, pairs=pairs, references=mentions)
    closings = [(n, NOON + delays[n]) for n in (8, 9, 10)] + [(10, NOON)]
    events = [{"number": n, "event": "closed", "at": at, "actor": "dora"} for n, at in closings]
    put_table(workspace, REPO, EVENTS, events)
    verdicts = judge(workspace, "issue-closed")
    weak = {(2, 12): "closed-before", (4, 14): "closed-after", (9, 19): "closed-before"}
    assert dropped(verdicts) == weak
    assert verdicts[2, 12]["value"] == 90
    evidence = "closed 31 days after the merge, and no act ties it to #14"
    assert verdicts[4, 14]["evidence"] == evidence
    assert not dropped(judge(workspace, "issue-closed", hours_before=72, days_after=40))


def test_single_file(tmp_path: Path) -> None:
    changed = {11: 1, 12: 2, 13: None, 14: 3, 15: 1, 16: 4, 17: 0}
    pulls = [pull(number, changed_files=files) for number, files in changed.items()]
    pairs = [*(pair(n - 10, n) for n in range(11, 18)), pair(8, 1, pull_repo=ELSEWHERE)]
    revisions = [revision(14), revision(15), revision(16, state="none")]
    changes = [change(14), change(15), change(15, "src/other.c")]
    entries = [*map(issue, range(1, 9)), *pulls]
    workspace = build(tmp_path, entries, pairs=pairs, revisions=revisions, changes=changes)
    verdicts = judge(workspace, "single-file")
    assert dropped(verdicts) == {
        (2, 12): "many-files",
        (3, 13): "?files-unknown",
        (5, 15): "many-files",
        (6, 16): "many-files",
        (7, 17): "no-files",
        (8, 1): "?pull-not-mined",
    }
    assert (verdicts[4, 14]["value"], verdicts[4, 14]["evidence"]) == (1, "as git tells")
    assert (verdicts[6, 16]["value"], verdicts[6, 16]["evidence"]) == (4, "as GitHub tells")
    assert set(dropped(judge(workspace, "single-file", maximum=4))) == {(3, 13), (7, 17), (8, 1)}


DOCUMENTATION = [
    *("DOC: explain flow", "DOCS say otherwise", "docs: explain flow", "doc(api): explain"),
    *("[doc] explain", "Improve the documentation", "Documentation of flow", "Fix README.md"),
    *("Update ReadMe", "Fix links in docs/flow.md", "Fix docstrings of flow"),
]
NO_DOCUMENTATION = [
    *("Docker build fails", "DOCKER image", "doctor crashes", "Wrong DOCTYPE"),
    *("DOC_ROOT is ignored", "Opening a doc fails", "document.getElementById is undefined"),
    *("Thread.ready is never set", "Predocs", "readable errors", ""),
]


def test_documentation(tmp_path: Path) -> None:
    titles = [*DOCUMENTATION, *NO_DOCUMENTATION]
    entries = [issue(n, title=title) for n, title in enumerate(titles, 1)]
    entries += [pull(n + 100, title=title) for n, title in enumerate(titles, 1)]
    entries += [pull(200, title="Mend"), issue(99, title=None), issue(98)]
    pairs = [pair(n, 200) for n in range(1, len(titles) + 1)]
    pairs += [pair(98, n + 100) for n in range(1, len(titles) + 1)]
    pairs += [pair(99, 5, pull_repo=ELSEWHERE)]
    workspace = build(tmp_path, entries, pairs=pairs)
    verdicts = judge(workspace, "documentation")
    right = range(1, len(DOCUMENTATION) + 1)
    assert set(dropped(verdicts)) == {*((n, 200) for n in right), *((98, n + 100) for n in right)}
    assert verdicts[1, 200]["evidence"] == "issue title: DOC: explain flow"
    assert verdicts[98, 108]["evidence"] == "pull title: Fix README.md"
    exact = ["DOC", "DOCS", "Documentation", "READM*"]
    paper = judge(workspace, "documentation", exact=exact, words=[], prefixes=[])
    assert {issue for issue, pull in dropped(paper) if pull == 200} == {1, 2, 7, 8}
    assert dropped(judge(workspace, "documentation", exact=[], words=[], prefixes=[])) == {}


TESTS = [
    *("test_x.py", "x_test.go", "src/XTest.java", "tests/a.c", "a/testing/b.py", "test/x.js"),
    *("src/__tests__/x.ts", "TestX.java", "FooTestCase.java", "src/tests_impl.h", "TEST.c"),
    *("a/testdata/x.go", "unittests/x.cc", "conftest.py", "pytest_plugin.py", "a-test-b.rs"),
    *("spec/flow_spec.rb", "spec/helper.rb", "x.spec.ts", "x-spec.js", "src/testrand.h"),
    *("a.Tests/x.cs", "HTTPTest.java", "runtests.sh", "selftest/x.c", "doctest.py"),
]
NO_TESTS = [
    *("latest.py", "contest/x.py", "attestation.c", "src/Contest.java", "protest.rb", "x.c"),
    *("testament/x.py", "testimonials.tsx", "greatest.go", "fastest/x.c", "detest.rs"),
    *("openapi/spec.go", "pod_spec.go", "specs/x.py", "inspector.ts", "intestine.py"),
    *("testify.go", "Latest.java", "contestants.c", "shortest_path.cpp"),
]


def test_paths_of_tests_are_told_by_words_and_in_the_paper_by_letters() -> None:
    assert list(filter(is_test_by_words, [*TESTS, *NO_TESTS])) == TESTS
    assert all(map(is_test_by_letters, ("latest.py", "a/CONTEST/x.py", "x_test.go")))
    assert not is_test_by_letters("src/box.c")


def test_suffix(tmp_path: Path) -> None:
    paths = [
        *(["src/box.c"], ["docs/box.md"], ["tests/box.c"], ["src/latest.py"]),
        *(["src/box.c", "README.md"], [], [".github/workflows/test.yml", "a/Makefile"]),
        *(["Box.JAVA"], ["\u202e/x\n.py"], ["src/query.sql"]),
    ]
    files = [file(number, path) for number, some in enumerate(paths, 11) for path in some]
    files += [file(21, "docs/seen.md"), file(22, "src/seen.c")]
    entries = [*map(issue, range(1, 14)), *map(pull, range(11, 23))]
    pairs = [*(pair(n - 10, n) for n in range(11, 23)), pair(13, 1, pull_repo=ELSEWHERE)]
    revisions = [revision(21), revision(22, state="none")]
    changes = [change(21, "src/box.rs")]
    workspace = build(
        tmp_path, entries, pairs=pairs, files=files, revisions=revisions, changes=changes
    )
    verdicts = judge(workspace, "suffix")
    reasons = {
        (2, 12): "no-code",
        (3, 13): "test",
        (5, 15): "no-code",
        (6, 16): "?files-unknown",
        (7, 17): "no-code",
        (10, 20): "no-code",
        (13, 1): "?pull-not-mined",
    }
    assert dropped(verdicts) == reasons
    assert (verdicts[5, 15]["value"], verdicts[5, 15]["evidence"]) == (1, "README.md")
    assert verdicts[6, 16]["evidence"] == "it may change tests alone; run goldpan clone"
    literal = dropped(judge(workspace, "suffix", tests="contains"))
    assert literal == {**reasons, (4, 14): "test"}
    more = dropped(judge(workspace, "suffix", tests="kept", more=[".sql"], fewer=[".c"]))
    assert (3, 13) in more and (10, 20) not in more


def test_revision_agrees(tmp_path: Path) -> None:
    revisions = [
        revision(11),
        revision(12, agrees=False, notes=["head_force_pushed"]),
        revision(13, state="none", agrees=None, problem="the head is lost"),
        revision(14, agrees=None, state="merge_parent"),
    ]
    workspace = paired(tmp_path, range(11, 16), revisions=revisions, changes=[])
    verdicts = judge(workspace, "revision-agrees")
    assert dropped(verdicts) == {(2, 12): "differs", (3, 13): "no-state", (5, 15): "?no-history"}
    assert verdicts[2, 12]["evidence"] == "read by base, head_force_pushed"
    assert verdicts[3, 13]["evidence"] == "the head is lost"
    assert set(dropped(judge(workspace, "revision-agrees", agrees=False))) == {(3, 13), (5, 15)}


def test_issue_kept(tmp_path: Path) -> None:
    entries = [issue(1), issue(2, author="ci-bot"), issue(3), *map(pull, (11, 12, 13))]
    pairs = [pair(1, 11), pair(2, 12), pair(3, 13), pair(77, 11)]
    replies = [comment(3, "Duplicate of #1")]
    workspace = build(tmp_path, entries, replies, pairs=pairs)
    verdicts = judge(workspace, "issue-kept", criteria=["bots", "redundancy", "answered"])
    assert dropped(verdicts) == {
        **dict.fromkeys([(1, 11), (2, 12), (3, 13)], "issue-dropped"),
        (77, 11): "?issue-not-mined",
    }
    verdicts = judge(workspace, "issue-kept", criteria=["bots", "redundancy"])
    assert set(dropped(verdicts)) == {(2, 12), (3, 13), (77, 11)}
    assert verdicts[3, 13]["evidence"] == "redundancy (marker)"
    assert set(dropped(judge(workspace, "issue-kept", criteria=[]))) == {(77, 11)}
    with pytest.raises(UsageError, match=r"'bot'.*bots"):
        judge(workspace, "issue-kept", criteria=["bot"])


def test_without_pairs_files_and_history(tmp_path: Path) -> None:
    entries = [issue(1), pull(11, changed_files=None)]
    bare = judge_all(build(tmp_path / "bare", entries))
    assert {row["subject"] for rows in bare.values() for row in rows.values()} == {"issue"}
    unknown = judge_all(build(tmp_path / "unknown", entries, pairs=[pair(1, 11)]))
    pairs = {name for name, criterion in criteria().items() if criterion.subject == "pair"}
    assert pairs <= set(unknown)
    undecided = {name for name in pairs if unknown[name][1, 11]["keep"] is None}
    history = {"single-file", "suffix", "substance", "tests-and-code", "revision-agrees"}
    assert undecided == history


def test_verdicts_do_not_depend_on_the_order_of_rows(tmp_path: Path) -> None:
    texts = {number: f"https://evil.org/{number} {LONG}" for number in range(1, 20)}
    entries = [issue(number, text, title="Same") for number, text in texts.items()]
    entries += map(pull, range(20, 40))
    comments = [comment(n, f"Duplicate of #{n + 1}", author=f"user{n % 7}") for n in texts]
    pairs = [pair(n % 19 + 1, 20 + n * 7 % 20) for n in range(40)]
    pairs = list({(entry["issue"], entry["pull"]): entry for entry in pairs}.values())
    files = [file(n, f"src/{'test' if n % 3 else 'box'}.c") for n in range(20, 40)]
    first = build(tmp_path / "one", entries, comments, pairs=pairs, files=files)
    place = tmp_path / "other"
    other = build(place, entries[::-1], comments[::-1], pairs=pairs[::-1], files=files[::-1])
    assert judge_all(other) == judge_all(first)


def test_substance(tmp_path: Path) -> None:
    workspace = WorkspaceLayout(tmp_path)
    clone = workspace.clone(REPO)
    clone.parent.mkdir(parents=True)
    repository = Repository.create(clone)

    def versions(before: bytes | None, after: bytes) -> Row:
        return {
            "blob_before": before and repository.object("blob", before),
            "blob_after": repository.object("blob", after),
        }

    code = versions(b"x = 1  # one\n", b"x = 2  # one\n")
    remark = versions(b"x = 1  # one\n", b"x = 1  # uno\n")
    prose = versions(b"one\n", b"two\n")
    lost = {"blob_before": "0a" * 20, "blob_after": code["blob_after"]}
    write_refs_record(clone)
    changes = [
        change(11, "a.py", **code),
        change(12, "a.py", **remark),
        change(13, "README.md", **prose),
        *(change(14, "a.py", **remark), change(14, "b.py", **code), change(14, "c.md", **prose)),
        *(change(15, "a.py", **remark), change(15, "c.md", **prose)),
        change(16, "a.py", **lost),
        change(17, "a.py", kind="binary", **code),
        *(change(18, f"{n:02}.py", **remark) for n in range(21)),
        *(change(19, f"{n:02}.py", **(remark if n else code)) for n in range(21)),
        change(20, "a.py", **versions(None, b"x = 1\n"), status="added"),
    ]
    numbers = range(11, 23)
    revisions = [revision(n) for n in numbers if n != 22]
    revisions[-1] = revision(21, state="none", problem="the head is lost")
    paired(tmp_path, numbers, revisions=revisions, changes=changes)
    verdicts = judge(workspace, "substance")
    assert {pull: reason for (_, pull), reason in dropped(verdicts).items()} == {
        12: "comments",
        13: "?unknown-language",
        15: "comments",
        16: "?file-missing",
        17: "?kind-binary",
        18: "?many-files",
        21: "?no-state",
        22: "?no-history",
    }
    assert verdicts[1, 11]["value"] == 2
    assert verdicts[1, 11]["evidence"].startswith("a.py")
    assert verdicts[11, 21]["evidence"] == "the head is lost"
    assert verdicts[12, 22]["evidence"] == "run goldpan clone"
    few = dropped(judge(workspace, "substance", most_files=30))
    assert few[8, 18] == "comments"
