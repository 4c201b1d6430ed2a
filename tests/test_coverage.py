"""`status` tells what is short, missing, unfinished or left out on purpose."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict
from datetime import datetime
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from goldpan.errors import WorkspaceError
from goldpan.miners.archive import Archive
from goldpan.miners.coverage import Coverage, Gap, measure_coverage
from goldpan.miners.journal import Journal
from goldpan.miners.tables.live import NOT_YET
from goldpan.miners.tables.normalize import normalize
from goldpan.parquet import write, writer
from goldpan.progress import Reporter
from goldpan.records import COMMENTS, ENTRIES, FILES, MISSING, REPOSITORIES, Table
from goldpan.show import mining as show
from goldpan.workspace import Workspace
from tests.mining import SLUICE, Row, mine_twin, rows
from tests.twin import Editor, Faults, Twin, synthetic_world

GEM = "octo/gem"
PLAN = {"via": "graphql", "repo": GEM, "host": "github.com", "since": None}


def save(place: Workspace, table: Table, content: Iterable[Row]) -> None:
    names = table.schema.names
    made = [{**dict.fromkeys(names), "repo": GEM, **row} for row in content]
    path = place.table(GEM, table.name)
    path.parent.mkdir(parents=True, exist_ok=True)
    with writer(path, table) as target:
        write(target, table, GEM, pa.Table.from_pylist(made, schema=table.schema))


def begin(place: Workspace, *, end: bool = True, **plan: Any) -> None:
    """Archive a run that fetched nothing."""
    with Archive(place.raw(GEM)) as archive:
        journal = Journal(archive)
        journal.begin({**PLAN, **plan})
        if end:
            journal.end({})


def build(
    root: Path,
    entries: Iterable[Row] = (),
    *,
    comments: Iterable[Row] = (),
    files: Iterable[Row] = (),
    missing: Iterable[Row] = (),
    announced: tuple[int | None, int | None] = (None, None),
    **plan: Any,
) -> Workspace:
    place = Workspace(root / "it's")
    issues, pulls = announced
    save(place, REPOSITORIES, [{"issues_announced": issues, "pulls_announced": pulls}])
    save(place, ENTRIES, entries)
    save(place, COMMENTS, comments)
    save(place, FILES, files)
    save(place, MISSING, missing)
    begin(place, **plan)
    return place


def counted(found: Coverage) -> dict[str, tuple[int | None, int]]:
    return {count.kind: (count.announced, count.stored) for count in found.counts}


def shown(found: Coverage, capsys: pytest.CaptureFixture[str]) -> str:
    show.status([found])
    return " ".join(capsys.readouterr().out.split())


def issue(number: int, comments: int = 0) -> Row:
    return {"number": number, "kind": "issue", "comment_count": comments}


def pull(number: int, files: int | None) -> Row:
    return {"number": number, "kind": "pull", "comment_count": 0, "changed_files": files}


def comment(number: int, identity: int, kind: str = "comment") -> Row:
    return {"number": number, "comment_id": identity, "kind": kind}


def test_short_comments_and_files(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    place = build(
        tmp_path,
        [issue(1, 2), issue(2, 3), issue(3), pull(4, 2), pull(5, 1), pull(6, None), pull(7, 0)],
        comments=[
            *(comment(1, 10), comment(1, 11), comment(2, 12), comment(3, 17)),
            *(comment(2, 13, "review"), comment(2, 14, "review"), comment(2, 15, "review_comment")),
        ],
        files=[{"number": 5, "path": "a"}],
        announced=(3, 4),
    )
    found = measure_coverage(place, GEM)
    assert found.gaps == (
        Gap(2, "comments", "GitHub announced 3, 1 came"),
        Gap(4, "files", "GitHub announced 2, 0 came"),
    )
    assert (found.finished, found.complete) == (True, False)
    assert counted(found) == {
        "issues": (3, 3),
        "pulls": (4, 4),
        "comments": (5, 4),
        "reviews": (None, 2),
        "review comments": (None, 1),
        "files": (3, 1),
    }
    text = shown(found, capsys)
    assert "2 missing:" in text
    assert "#2 comments: GitHub announced 3, 1 came" in text
    assert "Nothing is missing" not in text


def test_a_named_reason_outranks_the_count(tmp_path: Path) -> None:
    reason = "502 again and again"
    place = build(
        tmp_path, [issue(2, 3)], missing=[{"number": 2, "part": "comments", "reason": reason}]
    )
    assert measure_coverage(place, GEM).gaps == (Gap(2, "comments", reason),)


def test_a_backup_is_not_blamed_for_files(tmp_path: Path) -> None:
    place = build(tmp_path, [pull(4, 2)], via="backup")
    assert measure_coverage(place, GEM).complete
    begin(place)
    assert not measure_coverage(place, GEM).complete


def test_announced_entries_that_nobody_saw(tmp_path: Path) -> None:
    found = measure_coverage(build(tmp_path, [issue(1)], announced=(3, 1_001)), GEM)
    assert found.gaps == (
        Gap(None, "issues", "2 announced and not found"),
        Gap(None, "pulls", "1,001 announced and not found"),
    )


def test_announced_entries_beyond_those_named(tmp_path: Path) -> None:
    """One of two missing issues is known by number: the other one must not go unsaid."""
    named = {"number": 2, "part": "entry", "reason": NOT_YET}
    place = build(tmp_path, [issue(1)], missing=[named], announced=(3, 0))
    gaps = measure_coverage(place, GEM).gaps
    assert Gap(2, "entry", NOT_YET) in gaps
    assert [gap.part for gap in gaps if gap.number is None] == ["issues"]


def test_more_than_announced_is_no_gap(tmp_path: Path) -> None:
    place = build(tmp_path, [issue(1), issue(2)], comments=[comment(1, 5)], announced=(1, 0))
    assert measure_coverage(place, GEM).complete


def test_an_empty_repository_is_complete(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    found = measure_coverage(build(tmp_path, announced=(0, 0)), GEM)
    assert found.complete
    assert shown(found, capsys).endswith("Nothing is missing.")


def test_an_unfinished_run_is_told(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    place = build(tmp_path, [issue(1)], announced=(1, 0))
    begin(place, end=False)
    found = measure_coverage(place, GEM)
    assert (found.finished, found.complete, found.gaps) == (False, False, ())
    text = shown(found, capsys)
    assert "The last run did not end: the same goldpan mine command goes on." in text
    assert "Nothing is missing" not in text
    begin(place)
    assert measure_coverage(place, GEM).complete


def test_a_long_list_of_gaps_is_cut(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    missing = [{"number": n, "part": "entry", "reason": "\x1b[31m[red]"} for n in range(1, 31)]
    text = shown(measure_coverage(build(tmp_path, missing=missing), GEM), capsys)
    assert "30 missing:" in text
    assert "#20 entry: �[31m[red]" in text
    assert "#21 entry" not in text
    assert "and 10 more: see the table missing.parquet" in text


def test_a_run_limited_by_date_announces_no_entries(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    since = "2024-01-01T00:00:00Z"
    place = build(tmp_path, [issue(1, 1)], announced=(500, 500), since=since)
    found = measure_coverage(place, GEM)
    assert (counted(found)["issues"], found.since) == ((None, 1), since)
    assert found.gaps == (Gap(1, "comments", "GitHub announced 1, 0 came"),)
    assert f"entries updated since {since}" in shown(found, capsys)


def test_the_twin_mined_since_a_date(tmp_path: Path) -> None:
    world = synthetic_world()
    middle = sorted(entry.updated_at for entry in world.main.entries.values())[30]
    late = {n for n, entry in world.main.entries.items() if entry.updated_at >= middle}
    with Twin(world) as twin:
        mined = mine_twin(twin, tmp_path, since=datetime.fromisoformat(middle))
    found = measure_coverage(Workspace(tmp_path), SLUICE)
    assert found == mined.coverage
    assert (found.complete, found.since) == (True, middle)
    assert {row["number"] for row in rows(tmp_path, "entries")} == late
    assert 0 < len(late) < len(world.main.entries)


def test_the_twin_with_a_missing_entry_and_an_unfinished_run(tmp_path: Path) -> None:
    world = synthetic_world()
    place, node = Workspace(tmp_path), world.main.entries[9].node_id
    with Twin(world, Faults(poison_null=[node])) as twin:
        mine_twin(twin, tmp_path)
        found = measure_coverage(place, SLUICE)
        assert [(gap.number, gap.part) for gap in found.gaps] == [(9, "entry")]
        assert (found.finished, found.complete) == (True, False)
        assert counted(found)["issues"][0] == counted(found)["issues"][1] + 1
        Editor(world).comment(1, "One more thing")
        twin.faults = Faults(rate=1, kinds=("502",), only="Sweep", max_consecutive=99)
        assert mine_twin(twin, tmp_path, retries=1).failure is not None
        assert not measure_coverage(place, SLUICE).finished
        twin.faults = Faults()
        mine_twin(twin, tmp_path)
    assert measure_coverage(place, SLUICE).complete
    normalize(place, SLUICE, Reporter(quiet=True), workers=1)
    assert measure_coverage(place, SLUICE).complete


def test_it_says_what_it_lacks(tmp_path: Path) -> None:
    place = build(tmp_path, [issue(1)])
    assert asdict(measure_coverage(place, GEM))["repo"] == GEM
    with pytest.raises(WorkspaceError, match=r"no tables of octo/other\. Run goldpan mine"):
        measure_coverage(place, "octo/other")
    for path in place.raw(GEM).iterdir():
        path.unlink()
    with pytest.raises(WorkspaceError, match=r"no raw replies of octo/gem"):
        measure_coverage(place, GEM)
