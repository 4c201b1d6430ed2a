"""What calls an issue a duplicate, tasks of one template, and copies of one task."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from goldpan.filters.clusters import ComparedIssue, are_told_apart
from goldpan.filters.issues.redundancy import find_claims
from tests.filtering import REPO, build, dropped, issue, judge


@pytest.mark.parametrize(
    "text",
    [
        "Duplicate of #2",
        "**Duplicate of #2**",
        "Duplicate of octo/gem#2",
        "Duplicate of other/repo#1",
        "Duplicate of https://github.com/octo/gem/issues/2",
        "Duplicate of: #2",
        "Duplicate of https://github.com/octo/gem/issues/2?notification_referrer_id=NT_a",
        "See https://example.com/is-it-not-possibly-done: duplicate of #2",
        "This is a duplicate of GH-2.",
        "dupe of #2",
        "Dup of #2",
        "duplicate of [this one](https://github.com/octo/gem/issues/2)",
        "Same as #2",
        "Already reported in #2",
        "Closing as a duplicate.",
        "Closing in favor of #2.",
        "Already answered in #2",
        "This was already reported here: #2",
        "Moved to #2",
        "Closing this as dupe, thanks",
        "It is not clear at first. This is a duplicate of #2.",
        "Closed #1 as a duplicate of #2",
        "> Not a duplicate of #7\n\nNo, this is a duplicate of #2",
    ],
)
def test_claims(text: str) -> None:
    assert [claim.guess for claim in find_claims(text, "Octo/Gem", 1)][:1] == [False]


@pytest.mark.parametrize(
    "text",
    [
        "Possibly a duplicate of #2",
        "Is this a duplicate of #2?",
        "duplicate of https://github.com/octo/gem/issues/2#issuecomment-3?",
        "This looks like a duplicate of #2",
        "I think this is a dup of #2",
    ],
)
def test_guesses(text: str) -> None:
    assert [claim.guess for claim in find_claims(text, "Octo/Gem", 1)] == [True]


@pytest.mark.parametrize(
    "text",
    [
        "This is not a duplicate of #2",
        "It isn't a duplicate of #2.",
        *("> Duplicate of #2", "`Duplicate of #2`", "```\nDuplicate of #2\n```"),
        *("    Duplicate of #2", "<!-- Duplicate of #2 -->", "#15 is a duplicate of #2"),
        "https://github.com/octo/gem/issues/15#issuecomment-3 is a duplicate of #2",
        *("Closing #15 as a duplicate of #2", "#15 (duplicate of #2)", "Closed #15 as a duplicate"),
        *("Duplicate of #1", "#15 is a duplicate of #1", "Duplicated by #2", "Duplicate of #"),
        *("Duplicate of the other one", "We should not duplicate code. See #2."),
        *("Duplicate key error in #2", "The same as before, see #2", "Not closing as a duplicate"),
        *("deduplicate #2", "The larger topic is tracked in #2", "Closing #15 in favor of #2"),
        "The reporter tried the same as I did in #2",
        "The parser was moved to #2",
        "",
    ],
)
def test_no_claims(text: str) -> None:
    assert list(find_claims(text, "Octo/Gem", 1)) == []


def test_claims_in_titles() -> None:
    assert [c.marker for c in find_claims("[Duplicate] Leak", REPO, 1, title=True)] == [False]
    assert len(list(find_claims("Leak (duplicate of #2)", REPO, 1, title=True))) == 1
    assert list(find_claims("Duplicate key", REPO, 1, title=True)) == []


@given(st.text(alphabet="dupe of#12 \n>`*[]()s.?", max_size=60))
def test_claims_name_another_issue(text: str) -> None:
    """So a text without the number of another issue claims nothing."""
    for claim in find_claims(text, REPO, 1):
        assert "#2" in text or "#1" in text
        assert claim.excerpt


TRACKING = """The feature gate for the issue is `#![feature({})]`.

### About tracking issues

Tracking issues are used to record the overall progress of implementation. They are also used as
hubs connecting to other relevant issues, e.g., bugs or open design questions. A tracking issue is
however *not* meant for large scale discussion, questions, or bug reports about a feature.

### Steps

- [ ] Implement the RFC
- [ ] Adjust documentation
- [ ] Stabilization PR
"""
RELEASE = """- [ ] Have you followed the guidelines for contributing?
- [ ] Have you checked that there are no other open pull requests for the same update?
- [ ] Have you built it locally with the flag for a build from source?
- [ ] Does your build pass the audit?
"""
FAILURE = """The job `{}` of the nightly workflow failed. See the log of the run for what went
wrong, and close this issue once the job is green again. The workflow itself opened it.
"""
CRASH = """The server crashes when a client sends an empty header after the handshake has ended,
because the parser reads past the end of the buffer and nobody checks the length first.
"""


@pytest.mark.parametrize(
    ("titles", "bodies"),
    [
        (
            ("Tracking Issue for const_bitops", "Tracking Issue for const_exposed_provenance"),
            (TRACKING.format("const_bitops"), TRACKING.format("const_exposed_provenance")),
        ),
        (("Update to version 1.2", "Update to version 1.3"), (RELEASE, RELEASE)),
        (("dependency-check 2.1.1", "dependency-check 6.0.3"), (RELEASE, RELEASE)),
        (("CI fails on windows", "CI fails on macos"), (FAILURE.format("test"),) * 2),
        (
            ("Flaky test ParserTest", "Flaky test LexerTest"),
            (FAILURE.format("ParserTest"), FAILURE.format("LexerTest")),
        ),
    ],
)
def test_tasks_of_one_template_stay(
    titles: tuple[str, str], bodies: tuple[str, str], tmp_path: Path
) -> None:
    first, second = map(ComparedIssue.of, titles, bodies)
    assert are_told_apart(first, second)
    assert are_told_apart(second, first)
    entries = [issue(n + 1, bodies[n], title=titles[n]) for n in range(2)]
    workspace = build(tmp_path, entries)
    assert dropped(judge(workspace, "near-duplicates")) == {}


@pytest.mark.parametrize(
    ("titles", "bodies"),
    [
        (("Server crashes", "Server crashes"), (CRASH, f"{CRASH}\nAny news?")),
        (("Server crashes", "Crash on an empty header"), (CRASH, CRASH)),
        (("Server crashes", "server crashes again (2)"), (CRASH, CRASH)),
        (("Tracking Issue for XXX", "Tracking Issue for XXX"), (TRACKING, TRACKING + "[x]")),
        ((".", "."), (TRACKING, TRACKING + " .")),
        (("The server crashes on Windows", "Crash 0xdeadbeef at start"), (CRASH, CRASH)),
    ],
)
def test_copies_of_one_task_do_not(titles: tuple[str, str], bodies: tuple[str, str]) -> None:
    first, second = map(ComparedIssue.of, titles, bodies)
    assert not are_told_apart(first, second)
    assert not are_told_apart(second, first)


def test_many_tasks_of_one_template(tmp_path: Path) -> None:
    entries = [issue(n, RELEASE, title=f"Update to version 1.{n}") for n in range(1, 101)]
    copies = [issue(400 + n, RELEASE + "Ping.", title=f"Update to version 1.{n}") for n in (1, 99)]
    verdicts = judge(build(tmp_path, entries + copies), "near-duplicates")
    assert dropped(verdicts) == dict.fromkeys((401, 499), "near-duplicate")
    assert verdicts[401]["evidence"] == f"duplicate of {REPO}#1"
