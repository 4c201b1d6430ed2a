"""Both paths bring home all that the twin's world holds, with the right values."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest

from goldpan.core.schemas.mined import COMMENTS
from goldpan.miners.github.announced import Path as Via
from goldpan.miners.tables.parse_timeline import EVENTS
from tests.mining import (
    BOTH,
    GRAPHQL_ONLY,
    ONE_PATH_ONLY,
    SLUICE,
    Row,
    assert_alike,
    assert_rows,
    coverage_of,
    mine_twin,
    rows,
    rows_of,
    undisturbed,
)
from tests.twin import Editor, Limits, Paging, Twin, World, synthetic_world, workload_world
from tests.twin.asking import titled
from tests.twin.world import Account, Comment, Entry, Event, Ref, Review, ReviewComment

both = pytest.mark.parametrize("via", BOTH)


@pytest.fixture(scope="module")
def world() -> World:
    return synthetic_world()


def read(text: str | None) -> str:
    """Return a text as tables hold it: never null, lone surrogates replaced."""
    return "".join("\ufffd" if "\ud800" <= c <= "\udfff" else c for c in text or "")


def login(account: Account) -> str:
    """Return the one login by which tables know an account, whichever path told of it."""
    return f"{account.login}[bot]" if account.kind == "Bot" else account.login


def person(account: Account | None) -> Row:
    return {
        "author": login(account) if account else None,
        "author_id": account.id if account else None,
        "author_type": account.kind.lower() if account else None,
    }


def is_row(review: Review) -> bool:
    return bool(review.body) or review.state != "COMMENTED"


def written(entry: Entry) -> list[Comment]:
    reviews = [review for review in entry.reviews if is_row(review)]
    return [*entry.comments, *reviews, *entry.review_comments()]


def entry_row(entry: Entry) -> Row:
    people = [entry.author, *(comment.author for comment in written(entry))]
    names = "repo number state state_reason created_at updated_at closed_at locked milestone"
    row = {name: getattr(entry, name) for name in (*names.split(), "issue_type")}
    row |= {
        "kind": "pull" if entry.pull else "issue",
        "title": read(entry.title),
        "body": read(entry.body),
        **person(entry.author),
        "author_association": entry.association.lower(),
        "last_edited_at": entry.edits[-1].at if entry.edits else None,
        "labels": sorted(label.name for label in entry.labels),
        "assignees": sorted(map(login, entry.assignees)),
        "parent_repo": entry.parent.repo if entry.parent else None,
        "parent_number": entry.parent.number if entry.parent else None,
        "sub_issues": None if entry.pull else len(entry.sub_issues),
        "blocked_by": None if entry.pull else len(entry.blocked_by),
        "blocking": None if entry.pull else len(entry.blocking),
        "pinned_comment_id": entry.pinned_comment,
        "duplicate_of_repo": entry.duplicate_of.repo if entry.duplicate_of else None,
        "duplicate_of_number": entry.duplicate_of.number if entry.duplicate_of else None,
        "participants": sorted({login(account) for account in people if account}),
        "timeline_items": len(entry.timeline),
        "comment_count": len(entry.comments),
    }
    pull = entry.pull
    names = "merged merged_at base_ref base_sha head_ref head_sha head_repo additions deletions"
    row |= {name: getattr(pull, name) if pull else None for name in names.split()}
    return row | {
        "draft": pull.draft if pull else None,
        "merge_sha": pull.merge_sha if pull and pull.merged else None,
        "changed_files": pull.changed_files if pull else None,
    }


def comment_row(entry: Entry, comment: Comment) -> Row:
    row: Row = {
        "repo": entry.repo,
        "number": entry.number,
        "comment_id": comment.id,
        "kind": "comment",
        **person(comment.author),
        "author_association": comment.association.lower(),
        "created_at": comment.created_at,
        "updated_at": comment.updated_at,
        "last_edited_at": comment.edits[-1].at if comment.edits else None,
        "body": read(comment.body),
        **dict.fromkeys(("path", "review_id", "reply_to", "review_state")),
        "minimized": comment.minimized is not None,
        "minimized_reason": comment.minimized,
    }
    match comment:
        case Review():
            state = {"kind": "review", "review_state": comment.state.lower()}
            row |= {**state, "created_at": comment.submitted_at}
        case ReviewComment():
            anchor = {"path": comment.path, "review_id": comment.review}
            row |= {"kind": "review_comment", **anchor, "reply_to": comment.reply_to}
    return row


def entries(world: World) -> list[Entry]:
    return [entry for _, entry in sorted(world.main.entries.items())]


def mined_rows(via: Via, table: str, number: int | None = None) -> list[Row]:
    rows = rows_of(undisturbed(via), table)
    return rows if number is None else [row for row in rows if row["number"] == number]


def test_both_paths_tell_the_same() -> None:
    assert_alike(undisturbed("graphql"), undisturbed("rest"))


@both
def test_the_repository(via: Via, world: World) -> None:
    main = world.main
    (row,) = mined_rows(via, "repositories")
    assert row == {
        "repo": SLUICE,
        "description": main.description,
        "default_branch": "main",
        "language": "Python",
        "license": "MIT",
        "license_source": "GitHub",
        "stars": main.stars,
        "forks": main.forks,
        "is_fork": False,
        "is_archived": False,
        "is_private": False,
        "created_at": main.created_at,
        "pushed_at": main.pushed_at,
        "former_names": [],
        "issues_announced": sum(not entry.pull for entry in entries(world)),
        "pulls_announced": sum(bool(entry.pull) for entry in entries(world)),
    }


@both
def test_every_entry(via: Via, world: World) -> None:
    expected = list(map(entry_row, entries(world)))
    if via == "rest":  # which tells of no entry what it is a duplicate of, or when it was edited
        unseen = {column for table, column in ONE_PATH_ONLY if table == "entries"}
        expected = [row | dict.fromkeys(unseen) for row in expected]
    assert_rows(mined_rows(via, "entries"), expected, "entries")
    assert {row["state"] for row in mined_rows(via, "ledger")} <= {"complete", "unseen"}
    assert mined_rows(via, "unknown") == []


@both
def test_every_comment(via: Via, world: World) -> None:
    expected = [comment_row(entry, said) for entry in entries(world) for said in written(entry)]
    if via == "rest":
        expected = [row | {"last_edited_at": None} for row in expected]
        unseen: Row = {"minimized": None, "minimized_reason": None}
        expected = [row if row["kind"] == "comment" else row | unseen for row in expected]
    expected.sort(key=lambda row: [row[name] for name in COMMENTS.order])
    assert_rows(mined_rows(via, "comments"), expected, "comments")


@both
def test_every_event(via: Via, world: World) -> None:
    def event_row(event: Event) -> Row:
        details: Any = event.details
        rename = details.get("rename") or {}
        actor = person(event.actor)
        return {
            "repo": SLUICE,
            "number": event.home.number,
            "event": event.kind,
            "at": event.created_at,
            **{name.replace("author", "actor"): value for name, value in actor.items()},
            "label": details["label"]["name"] if "label" in details else None,
            "milestone": details["milestone"]["title"] if "milestone" in details else None,
            "assignee": login(event.assignee) if event.assignee else None,
            "title_before": rename.get("from"),
            "title_after": rename.get("to"),
        }

    kinds = set(EVENTS.values())
    expected = [
        event_row(item)
        for entry in entries(world)
        for item in entry.timeline
        if isinstance(item, Event) and item.kind in kinds
    ]
    assert {event_row["event"] for event_row in expected} == kinds
    events = mined_rows(via, "events")
    assert sorted(map(repr, events)) == sorted(map(repr, expected))
    assert [(event_row["number"], event_row["at"]) for event_row in events] == sorted(
        (event_row["number"], event_row["at"]) for event_row in expected
    )


@both
def test_parts_and_blockers(via: Via, world: World) -> None:
    expected = {
        (signal, entry.number, other.number, on)
        for entry in entries(world)
        for signal, others in (("sub_issue", entry.sub_issues), ("blocked_by", entry.blocked_by))
        for other in others
        for on in (entry.number, other.number)
    }
    references = [
        (row["signal"], row["number"], row["target_number"], row["observed_on"])
        for row in mined_rows(via, "references")
        if row["signal"] in ("sub_issue", "blocked_by")
    ]
    assert len(references) == len(expected) == 8
    assert set(references) == expected


def link(signal: str, source: Ref | None, target: Ref | None, event: Event) -> tuple[Any, ...]:
    ends = [(ref.repo, ref.number) if ref else (None, None) for ref in (source, target)]
    return signal, *ends[0], *ends[1], event.home.number, event.created_at


def links_of_timelines(world: World) -> set[tuple[Any, ...]]:
    """Return all links that the events of the world's timelines tell."""
    links = set()
    for entry in entries(world):
        for event in (item for item in entry.timeline if isinstance(item, Event)):
            match event.kind:
                case "cross-referenced":
                    links.add(link("cross_referenced", event.source, event.home, event))
                    if event.will_close:
                        links.add(link("will_close", event.source, event.home, event))
                case "connected" | "disconnected":
                    ends = [ref for ref in (event.source, event.subject) if ref]
                    ends.sort(key=lambda ref: not world.main.entries[ref.number].pull)
                    links.add(link(event.kind, ends[0], ends[1], event))
                case "closed" if isinstance(event.closer, Ref):
                    links.add(link("closed_by", event.closer, event.home, event))
                case "marked_as_duplicate" | "unmarked_as_duplicate":
                    links.add(link(event.kind, event.duplicate, event.canonical, event))
    return links


def test_every_link_that_timelines_tell(world: World) -> None:
    names = ("signal", "repo", "number", "target_repo", "target_number", "observed_on", "at")
    expected = links_of_timelines(world)
    signals = {row[0] for row in expected}
    assert signals > {"cross_referenced", "will_close", "closed_by"}
    assert signals > {"connected", "unmarked_as_duplicate"}
    rows = [
        row
        for row in mined_rows("graphql", "references")
        if row["signal"] in signals and row["number"] is not None
    ]
    links = {tuple(row[name] for name in names) for row in rows}
    assert links == expected
    assert len(rows) == len(expected)
    crossed = {row for row in expected if row[0] == "cross_referenced"}
    rest = [row for row in mined_rows("rest", "references") if row["signal"] == "cross_referenced"]
    assert {tuple(row[name] for name in names) for row in rest} == crossed
    assert len(rest) == len(crossed)


@both
def test_commits_that_closed(via: Via, world: World) -> None:
    expected = {
        (entry.number, item.commit_sha)
        for entry in entries(world)
        for item in entry.timeline
        if isinstance(item, Event) and item.kind == "closed" and isinstance(item.closer, str)
    }
    rows = [row for row in mined_rows(via, "references") if row["commit_sha"]]
    assert {(row["target_number"], row["commit_sha"]) for row in rows} == expected
    assert {row["repo"] for row in rows} == {SLUICE}
    assert len(rows) == len(expected) == 2


def closed_by(entries: Iterable[Entry]) -> list[tuple[int, int]]:
    """Return each pull request with each issue that it says to close."""
    return [
        (entry.number, ref.number) for entry in entries if entry.pull for ref in entry.pull.closes
    ]


def test_closing_references_and_transfers(world: World) -> None:
    rows = mined_rows("graphql", "references")
    closing = [row for row in rows if row["signal"] == "closing_reference"]
    expected = {(*ends, where) for ends in closed_by(entries(world)) for where in ends}
    pan = world.repository("prospector/pan")
    assert pan is not None
    foreign = {(pull, issue, issue) for pull, issue in closed_by(pan.entries.values())}
    ends = {(row["number"], row["target_number"], row["observed_on"]) for row in closing}
    assert ends == expected | foreign
    assert len(closing) == len(expected) + len(foreign)
    (moved,) = [row for row in rows if row["signal"] == "transferred_from"]
    assert (moved["repo"], moved["number"]) == ("prospector/pan", None)
    assert moved["target_number"] == titled(world, "Pan shows no progress")


def test_rest_has_no_signal_that_it_cannot_see() -> None:
    assert not {row["signal"] for row in mined_rows("rest", "references")} & GRAPHQL_ONLY


@both
def test_every_file(via: Via, world: World) -> None:
    stored = Counter(row["number"] for row in mined_rows(via, "files"))
    pulls = [(entry.number, entry.pull) for entry in entries(world) if entry.pull]
    assert stored == {number: len(pull.files) for number, pull in pulls if pull.files}
    assert max(stored.values()) == 120


@both
def test_a_body_of_ten_megabytes(via: Via, tmp_path: Path) -> None:
    world = synthetic_world()
    body = "Fixes #3\n\nLook at this log:\n" + "x" * 10_000_000 + "\n\nSee #1."
    pull = Editor(world).pull("All my logs", body)
    with Twin(world) as twin:
        mined = mine_twin(twin, tmp_path, via)
    assert coverage_of(mined).complete
    (row,) = [row for row in rows(tmp_path, "entries") if row["number"] == pull]
    assert row["body"] == body
    links = {
        (row["signal"], row["target_number"])
        for row in rows(tmp_path, "references")
        if (row["repo"], row["number"]) == (SLUICE, pull)
    }
    assert links == {("mention", 1), ("mention", 3), ("keyword", 3)}


def test_rest_brings_home_more_pulls_than_it_lists(tmp_path: Path) -> None:
    """The list of pull requests takes no `since`, so behind its wall each is asked for alone."""
    limits = Limits(issues_wall=100, comments_wall=100)
    with Twin(workload_world(issues=10, pulls=230), limits=limits, paging=Paging({})) as twin:
        mined = mine_twin(twin, tmp_path, "rest")
    assert mined.failure is None
    assert coverage_of(mined).complete
    heads = [row["head_sha"] for row in rows(tmp_path, "entries", "workload/mill")]
    assert len(heads) - heads.count(None) == 230
