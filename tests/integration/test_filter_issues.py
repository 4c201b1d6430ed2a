"""Criteria for issues, each with what it keeps and what it drops."""

from __future__ import annotations

import time
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from goldpan.filters.profile import criteria
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
    pull,
)

ROBOT: Row = {"author": "ci-bot"}


def test_comment_scale(tmp_path: Path) -> None:
    entries = [
        issue(1, "x" * 199),
        issue(2, "x" * 200),
        issue(3, "x" * 100, title="y" * 100),
        issue(4, None),
        issue(5, "x" * 150),
        issue(6, "\U0001f600" * 200),
        issue(7, "x" * 150),
        issue(8, "x" * 600),
    ]
    comments = [comment(5, "y" * 50), comment(7, "y" * 50, **ROBOT)]
    workspace = build(tmp_path, entries, comments)
    short = dict.fromkeys((1, 3, 4, 7), "too-short")
    verdicts = judge(workspace, "comment-scale", maximum=599)
    assert dropped(verdicts) == {**short, 8: "too-long"}
    assert [verdicts[number]["value"] for number in (1, 4, 5, 6)] == [199, 0, 200, 200]
    assert set(dropped(judge(workspace, "comment-scale", title=True))) == {4, 7}
    assert set(dropped(judge(workspace, "comment-scale", bots=True))) == {1, 3, 4}


MARKED = timedelta(hours=1)


def mark(number: int, hours: int, *, undone: bool = False, **fields: Any) -> Row:
    signal = "unmarked_as_duplicate" if undone else "marked_as_duplicate"
    ends = {"number": number, "target_repo": REPO, "target_number": 90, "observed_on": number}
    return {"signal": signal, "at": NOON + hours * MARKED, **ends, **fields}


def test_redundancy_by_what_github_knows(tmp_path: Path) -> None:
    entries = [
        *map(issue, (1, 4, 5, 6, 7, 12)),
        issue(2, state_reason="duplicate"),
        issue(3, state_reason="completed"),
        issue(8, labels=["Duplicate"]),
        issue(9, labels=["type: Duplicate", "ui"]),
        issue(10, labels=["*duplicate"]),
        issue(11, labels=["possible-duplicate", "not a duplicate", "duplicates"]),
    ]
    references = [
        mark(4, 1),
        mark(5, 1),
        mark(5, 2, undone=True),
        *(mark(6, 1), mark(6, 2, undone=True), mark(6, 3)),
        *(mark(7, 1), mark(7, 2, undone=True), mark(7, 1, target_number=91)),
        mark(12, 1, repo="else/where"),
        mark(3, 1, signal="mention"),
    ]
    workspace = build(tmp_path, entries, references=references)
    marked = dict.fromkeys((4, 6, 7), "marked")
    labeled = dict.fromkeys((8, 9, 10), "label")
    verdicts = judge(workspace, "redundancy")
    assert dropped(verdicts) == {2: "state-reason", **marked, **labeled}
    assert verdicts[7]["evidence"] == "marked as a duplicate of Octo/Gem#91"
    assert dropped(judge(workspace, "redundancy", labels=[])) == {2: "state-reason", **marked}


def test_redundancy_by_words(tmp_path: Path) -> None:
    entries = [
        *map(issue, (1, 2, 3, 4, 7, 8, 10, 11)),
        issue(5, "This is a duplicate of #1, but that was closed. " + LONG),
        issue(6, title="[dup] Leak"),
        pull(12),
    ]
    comments = [
        comment(10, "Closing in favor of #9, which has more detail", comment_id=810),
        comment(11, "Closing in favor of #12, which mends it"),
        comment(1, "Duplicate of #9", comment_id=801),
        comment(2, "Sorry, dupe of #9", comment_id=802),
        comment(3, "Maybe a duplicate of #9?"),
        comment(4, "> Duplicate of #9\n\nNo, this is not a duplicate of #9."),
        comment(7, "Duplicate of #9", **ROBOT),
        comment(8, "#9 is a duplicate of #8"),
    ]
    workspace = build(tmp_path, entries, comments)
    reasons = {1: "marker", 2: "keyword", 5: "keyword", 6: "keyword", 10: "keyword"}
    verdicts = judge(workspace, "redundancy")
    assert dropped(verdicts) == reasons
    assert verdicts[2]["evidence"] == "802: Sorry, dupe of #9"
    assert dropped(judge(workspace, "redundancy", keywords=False)) == {1: "marker"}
    assert dropped(judge(workspace, "redundancy", guesses=True)) == {**reasons, 3: "keyword"}
    assert set(dropped(judge(workspace, "redundancy", body=False, bots=True))) == {1, 2, 7, 10}
    assert set(dropped(judge(workspace, "redundancy", literal=True))) == {*reasons, 3, 4, 8}


INTERNAL = [
    "no link at all",
    "https://github.com/o/r/issues/1#x",
    "http://www.github.com/o/r.",
    "www.github.com/o/r",
    "<https://gist.github.com/x>",
    "[docs](https://docs.github.com/en/x)",
    "https://raw.githubusercontent.com/o/r/main/x.c",
    "https://GitHub.com/o/r和更多",
    "**https://github.com**",
    "[link](docs/x.md) and [mail](mailto:a@b.org) and a@b.org",
    "http://localhost:8080/x and http://127.0.0.1/x and http://192.168.1.4/x",
    "C:// and a // b and http:// and x.y.z",
    "<!-- see https://evil.org/x -->",
    "https://ci@github.com/o/r.git",
]
EXTERNAL = [
    "https://example.com/x",
    "HTTP://Evil.ORG",
    "ftp://evil.org/x",
    "see www.evil.org",
    "[x](https://evil.org)",
    "[x]: https://evil.org 'title'",
    "[x]: //evil.org/x",
    "[x](//evil.org/x)",
    "<img src='//evil.org/x.png'>",
    '<a href="https://evil.org/x">x</a>',
    "<https://evil.org>",
    "https://github.com@evil.org/",
    "https://github.com.evil.org/o/r",
    "https://evilgithub.com/o/r",
    "https://evil.org/github.com/",
    "https://evil.org?x=github.com",
    "https://o.github.io/r",
    "https://git.io/abc",
    "//x and https://8.8.8.8/x",
    "https://münchen.de/x",
    "(https://evil.org)",
]
MEDIA = [
    "![x](https://user-images.githubusercontent.com/1/2.png)",
    "https://github.com/user-attachments/assets/0a0b",
    "https://github.com/o/r/assets/1/0a0b",
    "![x](https://github.com/o/r/blob/main/x.JPG?raw=true)",
    "<img src=https://camo.githubusercontent.com/0a>",
    "https://private-user-images.githubusercontent.com/1/2-3?jwt=x",
]
CODE = [
    "`https://evil.org`",
    "```\nhttps://evil.org\n```",
    "~~~\nhttps://evil.org",
    "<pre>https://evil.org</pre>",
]


def numbered(texts: list[str], first: int) -> list[Row]:
    return [issue(number, text) for number, text in enumerate(texts, first)]


def test_external_check(tmp_path: Path) -> None:
    entries = [
        *numbered(INTERNAL, 100),
        *numbered(EXTERNAL, 200),
        *numbered(MEDIA, 300),
        *numbered(CODE, 400),
        issue(1),
        issue(2),
        issue(3, title="https://evil.org/in-title"),
        issue(4, "https://ghe.ours.org/o/r https://b.org https://a.org https://b.org"),
    ]
    comments = [comment(1, "https://evil.org/c"), comment(2, "https://evil.org/r", **ROBOT)]
    workspace = build(tmp_path, entries, comments)
    outside = {*range(200, 200 + len(EXTERNAL)), 1, 3, 4}
    media, code = set(range(300, 300 + len(MEDIA))), set(range(400, 400 + len(CODE)))
    verdicts = judge(workspace, "external-check")
    assert dropped(verdicts) == dict.fromkeys({*outside, *code, 2}, "external-link")
    assert (verdicts[4]["value"], verdicts[4]["evidence"]) == (3, "https://a.org")
    strict = {"code": False, "media": "external", "bots": False}
    strict |= {"hosts": ["github.com", "githubusercontent.com", "ours.org"]}
    strict |= {"ignored_hosts": ["example.com", "a.org", "b.org"]}
    pictures = dict.fromkeys(media, "external-media")
    links = dict.fromkeys(outside - {200, 4}, "external-link")
    assert dropped(judge(workspace, "external-check", **strict)) == links | pictures
    needed = dropped(judge(workspace, "external-check", required=True, media="ignored"))
    lacking = {number for number, reason in needed.items() if reason == "no-internal-link"}
    assert lacking == {100, *range(109, 113), *media}


def test_event_count(tmp_path: Path) -> None:
    entries = [
        issue(1, timeline_items=10),
        issue(2, timeline_items=11),
        issue(3, timeline_items=None),
        issue(4, timeline_items=13, closed_at=None),
        issue(5, timeline_items=12),
    ]
    comments = [
        *(comment(4) for _ in range(10)),
        *(comment(5) for _ in range(8)),
        *(comment(5, **ROBOT) for _ in range(2)),
    ]
    workspace = build(tmp_path, entries, comments)
    assert dropped(judge(workspace, "event-count")) == {
        **dict.fromkeys((2, 4, 5), "many-events"),
        3: "?no-timeline",
    }
    assert set(dropped(judge(workspace, "event-count", bots=False))) == {2, 3, 4}
    verdicts = judge(workspace, "event-count", count="discussion")
    said = {number: row["value"] for number, row in verdicts.items()}
    assert said == {1: 2, 2: 2, 3: 2, 4: 11, 5: 12}
    assert set(dropped(verdicts)) == {4, 5}
    assert set(dropped(judge(workspace, "event-count", count="discussion", bots=False))) == {4}


def test_participants_and_answers(tmp_path: Path) -> None:
    ghost: Row = {"author": None, "author_type": None}
    entries = [
        *map(issue, (1, 2, 3, 6, 8)),
        issue(4, **ghost),
        issue(5, **ghost),
        issue(7, state="open", closed_at=None),
    ]
    comments = [
        comment(2, author="alice"),
        comment(3, **ROBOT),
        comment(4, author=None),
        comment(5, author="bob"),
        comment(6, author=None),
        comment(7),
        comment(8),
        comment(8, author="alice"),
    ]
    workspace = build(tmp_path, entries, comments)
    verdicts = judge_all(workspace)
    people = {number: row["value"] for number, row in verdicts["participants"].items()}
    assert people == {1: 1, 2: 1, 3: 1, 4: 1, 5: 2, 6: 2, 7: 2, 8: 2}
    assert dropped(verdicts["participants"]) == dict.fromkeys((1, 2, 3, 4), "few-participants")
    assert set(dropped(judge(workspace, "participants", deleted=False))) == {1, 2, 3, 4, 5, 6}
    silent = dict.fromkeys((1, 2, 3, 4), "no-reply")
    assert dropped(verdicts["answered"]) == {**silent, 7: "still-open"}
    assert dropped(judge(workspace, "answered", closed=False)) == silent


@pytest.mark.parametrize(
    ("license", "reason"),
    [
        ("MIT", None),
        ("apache-2.0", None),
        ("LGPL-2.1-or-later", None),
        ("GPL-3.0", "license-not-allowed"),
        ("AGPL-3.0-only", "license-not-allowed"),
        ("NOASSERTION", "no-known-license"),
        (None, "no-known-license"),
    ],
)
def test_license(tmp_path: Path, license: str | None, reason: str | None) -> None:
    verdicts = judge(build(tmp_path, [issue(1)], license=license), "license")
    assert dropped(verdicts) == ({1: reason} if reason else {})
    assert license is None or verdicts[1]["evidence"] == license


def test_near_duplicates(tmp_path: Path) -> None:
    words = " ".join(f"word{n}" for n in range(60))
    entries = [
        issue(1, words, title="Leak", created_at=NOON + MARKED),
        issue(2, words, title="Leak", created_at=NOON),
        issue(3, words + " once more", title="Leak", created_at=NOON + 2 * MARKED),
        issue(4),
    ]
    verdicts = judge(build(tmp_path, entries), "near-duplicates")
    assert dropped(verdicts) == {1: "exact-duplicate", 3: "near-duplicate"}
    assert verdicts[3]["evidence"] == "duplicate of Octo/Gem#2"
    assert 0.9 < verdicts[3]["value"] < 1
    assert verdicts[2]["keep"] and verdicts[2]["value"] is None


def test_empty_repository_and_one_without_anything_to_say(tmp_path: Path) -> None:
    assert judge_all(build(tmp_path / "empty")) == {}
    assert judge_all(build(tmp_path / "pulls", [pull(1)])) == {}
    blank = issue(1, None, title=None, author=None, author_type=None, labels=None, state=None)
    verdicts = judge_all(
        build(tmp_path / "blank", [blank], [comment(1, None, author=None)], license=None)
    )
    issues = {name for name, criterion in criteria().items() if criterion.subject == "issue"}
    assert set(verdicts) == issues


def test_hostile_texts_cost_little(tmp_path: Path) -> None:
    parts = ("](//", "<!--", "```\n", "https://", "www.", "https://a@", "`", "<pre", "dup of #2 ")
    more = ("\x00\x1b[31m", "\u202e", "'; DROP TABLE entries; --", "{{ x }}", "%s$minimum")
    entries = [issue(n, (part * 100_000)[:100_000]) for n, part in enumerate([*parts, *more], 1)]
    workspace = build(tmp_path, entries)
    begun = time.process_time()
    verdicts = judge_all(workspace, {"external-check": {"code": False, "media": "external"}})
    assert time.process_time() - begun < 30
    assert {len(verdicts) for verdicts in verdicts.values()} == {len(entries)}
    assert all(len(row["evidence"] or "") <= 200 for row in verdicts["redundancy"].values())
