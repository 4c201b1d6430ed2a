"""Tasks of one template, and copies of one task."""

from __future__ import annotations

from pathlib import Path

import pytest

from goldpan.filters.duplicates.leaks import ComparedIssue, are_told_apart
from tests.filtering import LONG, REPO, build, dropped, issue, judge

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
        (
            ("Tracking issue for allocators", "Tracking issue for placement"),
            (TRACKING.format("allocators"), TRACKING.format("placement")),
        ),
        (("Update to version 1.2", "Update to version 1.3"), (RELEASE, RELEASE)),
        (("Update to version 1.1.2", "Update to version 1.2.1"), (RELEASE, RELEASE)),
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


def test_a_copy_of_a_sibling_is_dropped(tmp_path: Path) -> None:
    titles = ["Update to version 1.2", "Update to version 1.3", "Update to version 1.3"]
    entries = [
        issue(n, RELEASE + LONG + "Please! " * (n // 3), title=title)
        for n, title in enumerate(titles, 1)
    ]
    verdicts = judge(build(tmp_path, entries), "near-duplicates")
    assert dropped(verdicts) == {3: "near-duplicate"}
    assert verdicts[3]["evidence"] == f"duplicate of {REPO}#1"


def test_many_tasks_of_one_template(tmp_path: Path) -> None:
    entries = [issue(n, RELEASE, title=f"Update to version 1.{n}") for n in range(1, 101)]
    entries += [
        issue(400 + n, RELEASE + "Ping.", title=f"Update to version 1.{n}") for n in (1, 99)
    ]
    workspace = build(tmp_path, entries)
    assert dropped(judge(workspace, "near-duplicates")) == dict.fromkeys(
        (401, 499), "near-duplicate"
    )
