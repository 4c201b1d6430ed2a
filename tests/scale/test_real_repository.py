"""A whole real repository over HTTP: both paths, faults and kills, every count as in the source."""

from __future__ import annotations

import json
import lzma
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from goldpan.core.settings.config import Settings
from goldpan.core.storage.workspace import WorkspaceLayout
from goldpan.miners.backup import mine_backup
from goldpan.miners.github.announced import Path as Via
from goldpan.miners.tables.normalize import normalize
from tests.mining import (
    BOTH,
    Notes,
    Tables,
    assert_alike,
    assert_rows,
    assert_same,
    coverage_of,
    mine_twin,
    rows_of,
    table_bytes,
)
from tests.places import SECP256K1, needs_data
from tests.twin import Twin, World, load_backup
from tests.twin.world import Event

REPO = "bitcoin-core/secp256k1"
SOURCE = SECP256K1 / "entries.jsonl.xz"

pytestmark = needs_data(SOURCE)
both = pytest.mark.parametrize("via", BOTH)


@pytest.fixture(scope="module")
def source() -> Iterator[list[dict[str, Any]]]:
    with lzma.open(SOURCE) as lines:
        yield [json.loads(line) for line in lines]


@pytest.fixture(scope="module")
def world() -> World:
    return load_backup(SOURCE, REPO)


@pytest.fixture(scope="module")
def clean(world: World, tmp_path_factory: pytest.TempPathFactory) -> dict[Via, Path]:
    """Return the workspaces of two undisturbed runs."""
    places: dict[Via, Path] = {}
    for via in BOTH:
        places[via] = tmp_path_factory.mktemp(via)
        with Twin(world) as twin:
            mined = mine_twin(twin, places[via], via)
            assert mined.failure is None
            assert coverage_of(mined).complete, coverage_of(mined).gaps[:5]
            if via == "graphql":
                assert twin.count <= 200
                assert twin.points <= 200
    return places


def tables(clean: dict[Via, Path], via: Via) -> Tables:
    return table_bytes(clean[via], REPO)


@both
def test_every_count_is_the_source_s(
    via: Via, clean: dict[Via, Path], source: list[dict[str, Any]]
) -> None:
    kinds = Counter(entry["type"] for entry in source)
    events = Counter(event["event"] for entry in source for event in entry["events"])
    lines = sum(len(entry.get("comments", ())) for entry in source)
    reviews = sum(
        event["state"].lower() != "commented" or bool(event.get("body"))
        for entry in source
        for event in entry["events"]
        if event["event"] == "reviewed"
    )
    commits = {
        (number_of(entry), event["sha"])
        for entry in source
        for event in entry["events"]
        if event["event"] == "committed"
    }
    changed = sum(entry["pull"]["changed_files"] for entry in source if entry["type"] == "pull")
    mined = tables(clean, via)
    entries = Counter(row["kind"] for row in rows_of(mined, "entries"))
    comments = Counter(row["kind"] for row in rows_of(mined, "comments"))
    assert entries == kinds == {"issue": 517, "pull": 1_308}
    assert comments == {"comment": events["commented"], "review_comment": lines, "review": reviews}
    assert (comments["comment"], lines) == (9_372, 6_018)
    assert len(rows_of(mined, "commits")) == len(commits) == 3_288
    assert {(row["number"], row["sha"]) for row in rows_of(mined, "commits")} == commits
    assert len(rows_of(mined, "files")) == changed
    assert {row["state"] for row in rows_of(mined, "ledger")} <= {"complete", "unseen"}


@both
def test_texts_and_people_are_the_source_s(
    via: Via, clean: dict[Via, Path], source: list[dict[str, Any]]
) -> None:
    entries = {row["number"]: row for row in rows_of(tables(clean, via), "entries")}
    for entry in source:
        body = entry.get("pull") or entry["issue"]
        row = entries[body["number"]]
        assert (row["title"], row["body"]) == (body["title"], body.get("body") or "")
        assert row["author"] == login_of(body)
        assert row["labels"] == sorted(label["name"] for label in body["labels"])
        assert (row["created_at"], row["closed_at"]) == (body["created_at"], body.get("closed_at"))
    comments = {
        (row["kind"], row["comment_id"]): row for row in rows_of(tables(clean, via), "comments")
    }
    for entry in source:
        written = [("review_comment", comment) for comment in entry.get("comments", ())]
        written += [("comment", e) for e in entry["events"] if e["event"] == "commented"]
        for kind, comment in written:
            row = comments[kind, comment["id"]]
            assert (row["number"], row["body"]) == (number_of(entry), comment.get("body") or "")
            assert (row["author"], row["created_at"]) == (login_of(comment), comment["created_at"])


def test_both_paths_tell_the_same(clean: dict[Via, Path]) -> None:
    graphql, rest = tables(clean, "graphql"), tables(clean, "rest")
    for side in (graphql, rest):
        del side["unknown"]  # GraphQL gives only the events that it is asked for
    assert_alike(graphql, rest, without="closed_by")
    # REST names the merge commit where GraphQL names the pull request.
    closers = [
        {(row["target_number"], row["commit_sha"]) for row in closed if row["commit_sha"]}
        for closed in (closed_by(graphql), closed_by(rest))
    ]
    assert closers[0] < closers[1]
    assert len(closed_by(graphql)) >= len(closed_by(rest)) == len(closers[1]) > 50


def test_every_cross_reference_of_the_world(clean: dict[Via, Path], world: World) -> None:
    expected = {
        (item.source.repo, item.source.number, entry.number)
        for entry in world.main.entries.values()
        for item in entry.timeline
        if isinstance(item, Event) and item.kind == "cross-referenced" and item.source
    }
    for via in BOTH:
        crossed = [
            row
            for row in rows_of(tables(clean, via), "references")
            if row["signal"] == "cross_referenced"
        ]
        references = {(row["repo"], row["number"], row["target_number"]) for row in crossed}
        assert references == expected
        assert len(crossed) == len(expected) > 1_500


def test_the_backup_on_disk_gives_the_same(
    clean: dict[Via, Path], source: list[dict[str, Any]], tmp_path: Path
) -> None:
    coverage = mine_backup(Settings(workspace=tmp_path, workers=1), SOURCE, REPO, Notes())
    short = {
        number_of(entry)
        for entry in source
        if entry["type"] == "pull" and entry["pull"]["review_comments"] > len(entry["comments"])
    }
    assert short  # GitHub counts comments that the backup lacks
    assert {(gap.number, gap.part, gap.state) for gap in coverage.gaps} == {
        (number, "review_comments", "short") for number in short
    }
    imported, rest = table_bytes(tmp_path, REPO), tables(clean, "rest")
    for name in ("comments", "commits"):
        assert_rows(rows_of(imported, name), rows_of(rest, name), name)
    entries = [rows_of(source_tables, "entries") for source_tables in (imported, rest)]
    for row in (*entries[0], *entries[1]):
        # The backup lacks cross references, which the twin rebuilt, and is older than sub-issues.
        for name in ("timeline_items", "sub_issues", "blocked_by", "blocking"):
            del row[name]
    assert_rows(entries[0], entries[1], "entries")
    assert closed_by(imported) == closed_by(rest)
    normalize(WorkspaceLayout(tmp_path), REPO, Notes(), workers=2)
    assert_same(table_bytes(tmp_path, REPO), imported)


def closed_by(mined: Tables) -> list[dict[str, Any]]:
    return [row for row in rows_of(mined, "references") if row["signal"] == "closed_by"]


def number_of(entry: dict[str, Any]) -> int:
    return int((entry.get("pull") or entry["issue"])["number"])


COPILOTS = {175728472: "copilot-pull-request-reviewer[bot]", 198982749: "copilot-swe-agent[bot]"}


def login_of(record: dict[str, Any]) -> str | None:
    user = record.get("user")
    if not user or user["login"] == "ghost":
        return None
    bot = user["type"] == "Bot" and not user["login"].endswith("[bot]")
    login = f"{user['login']}[bot]" if bot else str(user["login"])
    return COPILOTS.get(user["id"], login)
