"""What mining may not see is told: without a token, without access, with issues turned off."""

from __future__ import annotations

from pathlib import Path

import pytest

from goldpan.miners.github.announced import Path as Via
from goldpan.miners.mine import MineResult
from tests.fault_matrix import LONG, SMALL, matrix_world
from tests.integration.test_mine_update import asked_about, new_cross_reference, people, whole
from tests.mining import (
    BOTH,
    SLUICE,
    Notes,
    Row,
    assert_current,
    coverage_of,
    gaps_of,
    mine_twin,
    rows,
    table_bytes,
    undisturbed,
)
from tests.program import goldpan
from tests.twin import Editor, Fault, Faults, Limits, Twin, World, synthetic_world
from tests.twin.asking import titled


def test_anonymous_mining_says_so_before_it_starts(tmp_path: Path) -> None:
    class First(Notes):
        asked = -1

        def note(self, text: str) -> None:
            if text.startswith("No token"):
                self.asked = twin.count
            super().note(text)

    notes = First()
    with Twin(synthetic_world(), limits=Limits(anonymous=1_000)) as twin:
        mined = mine_twin(twin, tmp_path, "auto", tokens=(), notes=notes)  # type: ignore[arg-type]
        assert {request.token for request in twin.requests} == {""}
    assert mined.via == "rest"
    assert notes.asked == 1
    assert "GitHub allows 60 requests an hour" in notes
    tables, expected = table_bytes(tmp_path), undisturbed("rest")
    assert_current({**tables, "repositories": b""}, {**expected, "repositories": b""})


def test_rest_without_a_token_reads_again_what_changed_and_what_that_names(tmp_path: Path) -> None:
    world = synthetic_world()
    limits = Limits(anonymous=10_000)
    with Twin(world, limits=limits) as twin:
        mine_twin(twin, tmp_path, "rest", tokens=())
        twin.requests.clear()
        mine_twin(twin, tmp_path, "rest", tokens=())
        assert not asked_about(twin, "timeline")
        touched = titled(world, "Sort stably")
        people(world).comment(touched, "Still wrong for me, see GH-3.")
        deleted = titled(world, "Odd characters")
        people(world).delete_entry(deleted)
        twin.requests.clear()
        assert whole(mine_twin(twin, tmp_path, "rest", tokens=()))
        read = asked_about(twin, "timeline")
        assert {touched, 3} <= read <= {touched, 3, 13}  # its body names the issue that it fixes
        assert whole(mine_twin(twin, tmp_path / "fresh", "rest", tokens=()))
    assert_current(table_bytes(tmp_path), table_bytes(tmp_path / "fresh"))


def test_without_a_token_what_an_update_cannot_see_is_told(tmp_path: Path) -> None:
    """A reference from another repository touches nothing that REST lists; the sweep shows it."""
    world = synthetic_world()
    with Twin(world, limits=Limits(anonymous=10_000)) as twin:
        first = mine_twin(twin, tmp_path, "rest", tokens=())
        assert coverage_of(first).unseen == ()
        (number,) = new_cross_reference(people(world))
        notes = Notes()
        blind = mine_twin(twin, tmp_path, "rest", tokens=(), notes=notes)
        (message,) = coverage_of(blind).unseen
        assert message.startswith("references from other repositories since 20")
        assert any(message in line for line in notes.lines)
        end = f"Nothing is missing, except what is visible only with a token:\n  {message}"
        assert status_of(tmp_path).endswith(end)
        assert not [row for row in rows(tmp_path, "references") if refers(row, number)]
        seen = mine_twin(twin, tmp_path, "rest")
    assert coverage_of(seen).unseen == ()
    assert [row for row in rows(tmp_path, "references") if refers(row, number)]


def refers(row: Row, number: int) -> bool:
    return (row["repo"], row["number"]) == ("prospector/pan", 2) and row["target_number"] == number


def status_of(workspace: Path) -> str:
    done = goldpan("status", "--repo", SLUICE, "--workspace", str(workspace))
    assert done.code == 0
    return done.out.strip()


RIFFLE = "prospector/riffle"
NO_ACCESS = Faults(
    chosen=[Fault("FORBIDDEN by SAML", "Entries", number, "timelineItems") for number in (1, 6)]
)


def withheld(mined: MineResult) -> list[tuple[int | None, str, str]]:
    assert mined.failure is None
    return gaps_of(mined)


BOTH_WITHHELD = [(LONG, "timeline", "withheld"), (SMALL, "timeline", "withheld")]


def test_a_hidden_part_is_named_and_asked_for_on_each_run(tmp_path: Path) -> None:
    with Twin(matrix_world(), NO_ACCESS) as twin:
        first = mine_twin(twin, tmp_path)
        assert withheld(first) == BOTH_WITHHELD
        assert all("SAML" in gap.reason for gap in coverage_of(first).gaps)
        again = mine_twin(twin, tmp_path)
        assert withheld(again) == BOTH_WITHHELD
        assert again.requests == again.predicted.requests
        twin.faults = Faults()  # the token is authorized
        assert withheld(mine_twin(twin, tmp_path)) == []
        mine_twin(twin, tmp_path / "fresh")
    assert_current(table_bytes(tmp_path, RIFFLE), table_bytes(tmp_path / "fresh", RIFFLE))


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
