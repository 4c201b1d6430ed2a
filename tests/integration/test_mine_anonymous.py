"""Without a token mining takes REST, says so before it starts, and tells what it cannot see."""

from __future__ import annotations

from pathlib import Path

from tests.integration.test_mine_update import asked_about, new_cross_reference, people, whole
from tests.mining import (
    SLUICE,
    Notes,
    Row,
    assert_current,
    coverage_of,
    mine_twin,
    rows,
    table_bytes,
    undisturbed,
)
from tests.program import goldpan
from tests.twin import Limits, Twin, synthetic_world
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
