"""Repositories whose issues are turned off: pull requests are mined, and nothing is missing."""

from __future__ import annotations

from pathlib import Path

import pytest

from goldpan.miners.github.announced import Path as Via
from tests.mining import BOTH, Notes, assert_current, coverage_of, mine_twin, rows, table_bytes
from tests.twin import Editor, Limits, Twin, World, synthetic_world


def world_without_issues() -> World:
    world = synthetic_world()
    Editor(world).turn_off_issues()
    return world


@pytest.mark.parametrize("via", BOTH)
def test_pull_requests_are_mined_and_nothing_is_missing(tmp_path: Path, via: Via) -> None:
    world = world_without_issues()
    pulls = [entry for entry in world.main.entries.values() if entry.pull]
    with Twin(world) as twin:
        assert coverage_of(mine_twin(twin, tmp_path, via)).complete
        before = table_bytes(tmp_path)
        assert coverage_of(mine_twin(twin, tmp_path, via)).complete
        assert_current(table_bytes(tmp_path), before)
    entries = rows(tmp_path, "entries")
    assert [row["number"] for row in entries] == sorted(entry.number for entry in pulls)
    by_number = {entry.number: entry for entry in pulls}
    for row in entries:
        entry = by_number[row["number"]]
        assert (row["kind"], row["title"]) == ("pull", entry.title)
        assert row["author"] == (entry.author.login if entry.author else None) or row["author_type"]
        assert row["base_ref"] is not None
        assert row["labels"] == sorted(label.name for label in entry.labels)


@pytest.mark.parametrize("via", BOTH)
def test_issues_that_are_turned_off_leave_the_tables(tmp_path: Path, via: Via) -> None:
    world = synthetic_world()
    notes = Notes()
    with Twin(world, limits=Limits(anonymous=10_000)) as twin:
        mine_twin(twin, tmp_path, via)
        Editor(world).turn_off_issues()
        assert coverage_of(mine_twin(twin, tmp_path, via, notes=notes)).complete
        assert {row["kind"] for row in rows(tmp_path, "entries")} == {"pull"}
        assert coverage_of(mine_twin(twin, tmp_path, "rest", tokens=())).complete
        assert {row["kind"] for row in rows(tmp_path, "entries")} == {"pull"}
    assert via == "graphql" or "Issues are turned off in this repository" in notes
