"""`status` tells what is short, missing, unfinished or left out on purpose: the ledger."""

from __future__ import annotations

from dataclasses import asdict
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest

from goldpan.core.errors import WorkspaceError
from goldpan.core.result import blocks_of
from goldpan.core.schemas import ENTRIES, LEDGER, REPOSITORIES, UNKNOWN
from goldpan.core.storage.archive import Archive
from goldpan.core.storage.workspace import WorkspaceLayout
from goldpan.core.terminal import Reporter, show
from goldpan.lineage.explain import explain
from goldpan.miners.coverage import Coverage, Gap, Unknown, measure_coverage
from goldpan.miners.github.announced import Path as Via
from goldpan.miners.journal import Journal
from goldpan.miners.tables.current_records import NOT_YET, joined
from goldpan.miners.tables.normalize import normalize
from tests.archives import keep, make_tables, records_of
from tests.mining import BOTH, SLUICE, Row, coverage_of, mine_twin, rows, rows_of, undisturbed
from tests.table_rows import put_table
from tests.twin import Editor, Fault, Faults, Twin, synthetic_world
from tests.twin.asking import titled
from tests.twin.world import File

GEM = "octo/gem"
PLAN = {"via": "graphql", "repo": GEM, "host": "github.com", "since": None}

both = pytest.mark.parametrize("via", BOTH)


def begin(workspace: WorkspaceLayout, *, end: bool = True, **plan: Any) -> None:
    """Archive a run that fetched nothing."""
    with Archive(workspace.raw(GEM)) as archive:
        journal = Journal(archive)
        journal.begin({**PLAN, **plan})
        if end:
            journal.end({})


def build(root: Path, *ledger: Row, unknown: tuple[Row, ...] = (), **plan: Any) -> WorkspaceLayout:
    workspace = WorkspaceLayout(root / "it's")
    put_table(workspace, GEM, ENTRIES, [])
    put_table(workspace, GEM, REPOSITORIES, [])
    put_table(workspace, GEM, LEDGER, ledger)
    put_table(workspace, GEM, UNKNOWN, unknown)
    begin(workspace, **plan)
    return workspace


def counted(coverage: Coverage) -> dict[str, tuple[int | None, int]]:
    return {count.kind: (count.announced, count.stored) for count in coverage.counts}


def shown(coverage: Coverage, capsys: pytest.CaptureFixture[str]) -> str:
    show(blocks_of(coverage))
    return " ".join(capsys.readouterr().out.split())


def row(
    number: int | None,
    part: str,
    announced: int | None,
    stored: int,
    state: str = "complete",
    reason: str | None = None,
) -> Row:
    counts = {"announced": announced, "stored": stored}
    return {"number": number, "part": part, **counts, "state": state, "reason": reason}


def test_status_reads_the_ledger(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    reason = "GitHub announced 3, 1 came"
    workspace = build(
        tmp_path,
        row(1, "comments", 2, 2),
        row(2, "comments", 3, 1, "short", reason),
        row(2, "links", None, 0, "unseen", "the way that it was mined does not show it"),
        row(2, "files", 5_000, 3_000, "withheld", "GitHub lists 3,000 of 5,000 at most"),
        row(None, "issues", 3, 3),
        row(None, "pulls", None, 1),
        row(None, "comments", None, 3, "failed", "page 3: 502"),
    )
    coverage = measure_coverage(workspace, GEM)
    assert coverage.gaps == (
        Gap(None, "comments", "failed", "page 3: 502"),
        Gap(2, "comments", "short", reason),
        Gap(2, "files", "withheld", "GitHub lists 3,000 of 5,000 at most"),
    )
    assert (coverage.finished, coverage.complete) == (True, False)
    assert counted(coverage) == {
        "issues": (3, 3),
        "pulls": (None, 1),
        "comments": (5, 3),
        "reviews": (None, 0),
        "review comments": (None, 0),
        "commits": (None, 0),
        "files": (5_000, 3_000),
    }
    text = shown(coverage, capsys)
    assert "3 missing: repository comments failed: page 3: 502" in text
    assert f"#2 comments short: {reason}" in text
    assert "Nothing is missing" not in text


def test_a_sum_is_announced_only_where_every_part_is(tmp_path: Path) -> None:
    workspace = build(tmp_path, row(1, "reviews", 2, 2), row(2, "reviews", None, 3))
    assert counted(measure_coverage(workspace, GEM))["reviews"] == (None, 5)


def test_unknown_events_are_shown(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    strange = {"name": "\x1b[2Jdreamt", "count": 12, "number": 7}
    coverage = measure_coverage(build(tmp_path, unknown=(strange,)), GEM)
    assert coverage.unknown == (Unknown("\x1b[2Jdreamt", 12, 7),)
    assert coverage.complete
    text = shown(coverage, capsys)
    assert "Unknown event ⟨U+001B⟩[2Jdreamt: 12 times, as in #7" in text
    assert text.endswith("Nothing is missing.")


def test_an_unfinished_run_is_told(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    workspace = build(tmp_path, row(1, "entry", 1, 1))
    begin(workspace, end=False)
    coverage = measure_coverage(workspace, GEM)
    assert (coverage.finished, coverage.complete, coverage.gaps) == (False, False, ())
    text = shown(coverage, capsys)
    assert "The last run did not finish: run goldpan" in text
    assert "Nothing is missing" not in text
    begin(workspace)
    assert measure_coverage(workspace, GEM).complete


def test_a_long_list_of_gaps_is_cut(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    hostile = "\x1b[31m[red]"
    ledger = [row(n, "entry", 1, 0, "pending", hostile) for n in range(1, 31)]
    text = shown(measure_coverage(build(tmp_path, *ledger), GEM), capsys)
    assert "30 missing:" in text
    assert "#20 entry pending: ⟨U+001B⟩[31m[red]" in text
    assert "#21 entry" not in text
    assert f"and 10 more: goldpan status --repo {GEM} --json lists them" in text


@both
def test_every_list_of_the_twin_is_in_the_ledger(via: Via) -> None:
    ledger = {
        (listed["number"], listed["part"]): listed for listed in rows_of(undisturbed(via), "ledger")
    }
    for number, entry in synthetic_world().main.entries.items():
        parts = {"entry", "edits", "comments", "labels", "timeline", "links"}
        parts |= {"files", "reviews", "review_comments", "commits"} if entry.pull else {"relations"}
        assert {part for whose, part in ledger if whose == number} == parts
        lengths = {"comments": len(entry.comments)}
        if entry.pull:
            lengths |= {"commits": len(entry.commits), "reviews": len(entry.reviews)}
            lengths["review_comments"] = len(list(entry.review_comments()))
        else:
            related = (entry.sub_issues, entry.blocked_by, entry.blocking)
            lengths["relations"] = sum(map(len, related))
        for part, length in lengths.items():
            listed = ledger[number, part]
            assert listed["announced"] == length or (via, listed["announced"]) == ("rest", None)
            assert listed["stored"] == length or (via, part) == ("rest", "reviews")
    unseen = {part for (_, part), listed in ledger.items() if listed["state"] != "complete"}
    assert unseen <= (set() if via == "graphql" else {"edits", "links"})
    assert {listed["state"] for listed in ledger.values()} <= {"complete", "unseen"}


def test_commits_that_never_came_are_short(tmp_path: Path) -> None:
    def drop(meta: dict[str, Any], data: Any) -> None:
        if meta["part"] == "entries":
            for node in data["data"]["nodes"]:
                items, commit = node["timelineItems"], "PullRequestCommit"
                items["nodes"] = [one for one in items["nodes"] if one["__typename"] != commit]

    workspace = keep(tmp_path, records_of("graphql"), drop)
    make_tables(workspace)
    reported = measure_coverage(workspace, SLUICE).gaps
    gaps = {gap.number: (gap.state, gap.reason) for gap in reported if gap.part == "commits"}
    pulls = {number for number, entry in synthetic_world().main.entries.items() if entry.pull}
    assert gaps.keys() == pulls
    assert gaps[min(pulls)] == ("short", "GitHub announced 2, 0 came")


@pytest.mark.parametrize(
    ("connection", "part"),
    [
        *((name, name) for name in ("reviews", "files", "labels", "comments")),
        *(("closingIssuesReferences", "links"), ("reviewThreads", "review_comments")),
    ],
)
def test_one_item_less_than_announced_is_short(connection: str, part: str, tmp_path: Path) -> None:
    lost: list[int] = []

    def drop(meta: dict[str, Any], data: Any) -> None:
        if meta["part"] == "entries" and not lost:
            for node in data["data"]["nodes"]:
                page = node.get(connection)
                if page and page["nodes"] and not page["pageInfo"]["hasNextPage"]:
                    page["nodes"].pop()
                    lost.append(node["number"])
                    return

    workspace = keep(tmp_path, records_of("graphql"), drop)
    make_tables(workspace)
    gaps = [(g.number, g.part, g.state) for g in measure_coverage(workspace, SLUICE).gaps]
    assert gaps == [(lost[0], part, "short")]
    parts = {listed["part"]: listed for listed in explain(workspace, f"{SLUICE}#{lost[0]}").ledger}
    assert parts[part]["state"] == "short"
    assert parts["entry"]["state"] == "complete"


@both
def test_files_beyond_what_github_lists_are_withheld(via: Via, tmp_path: Path) -> None:
    world = synthetic_world()
    files = [File(f"part/{i:04}.py", "added", 1, 0) for i in range(3_010)]
    number = Editor(world).pull("All at once", files=files)
    with Twin(world) as twin:
        mined = mine_twin(twin, tmp_path, via)
    (gap,) = coverage_of(mined).gaps
    assert (gap.number, gap.part, gap.state) == (number, "files", "withheld")
    assert "3,010" in gap.reason


def test_an_interrupted_first_crawl_is_known(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Killed before tables were made, a repository is still known by its raw replies."""
    records = records_of("graphql")
    first = next(i for i, (meta, _) in enumerate(records) if meta["part"] == "entries")
    workspace = keep(tmp_path, records[: first + 1])
    assert not workspace.tables(SLUICE).exists()
    coverage = measure_coverage(workspace, SLUICE)
    assert (coverage.finished, coverage.complete) == (False, False)
    assert coverage.gaps == (Gap(None, "tables", "pending", NOT_YET),)
    assert "The last run did not finish" in shown(coverage, capsys)


def test_the_twin_mined_since_a_date(tmp_path: Path) -> None:
    world = synthetic_world()
    middle = sorted(entry.updated_at for entry in world.main.entries.values())[30]
    late = {n for n, entry in world.main.entries.items() if entry.updated_at >= middle}
    with Twin(world) as twin:
        mined = mine_twin(twin, tmp_path, since=datetime.fromisoformat(middle))
    coverage = measure_coverage(WorkspaceLayout(tmp_path), SLUICE)
    assert coverage == mined.coverage
    assert (coverage.gaps, coverage.complete, coverage.since) == ((), True, middle)
    assert counted(coverage)["issues"][0] is None
    assert {row["number"] for row in rows(tmp_path, "entries")} == late
    assert 0 < len(late) < len(world.main.entries)


def test_the_twin_with_a_missing_entry_and_an_unfinished_run(tmp_path: Path) -> None:
    world = synthetic_world()
    workspace = WorkspaceLayout(tmp_path)
    with Twin(world, Faults(chosen=[Fault("SOMETHING_WENT_WRONG", number=9)])) as twin:
        mine_twin(twin, tmp_path)
        coverage = measure_coverage(workspace, SLUICE)
        (gap,) = coverage.gaps
        assert (gap.number, gap.part, gap.state) == (9, "entry", "failed")
        assert (coverage.finished, coverage.complete) == (True, False)
        assert counted(coverage)["issues"][0] == counted(coverage)["issues"][1] + 1
        twin.faults = Faults()
        mine_twin(twin, tmp_path)
    assert measure_coverage(workspace, SLUICE).complete
    normalize(workspace, SLUICE, Reporter(quiet=True), workers=1)
    assert measure_coverage(workspace, SLUICE).complete


def test_unknown_events_are_counted(tmp_path: Path) -> None:
    def dream(meta: dict[str, Any], data: Any) -> None:
        if meta["part"] == "timeline" and data:
            data.append({"event": "dreamt", "created_at": "2024-01-01T00:00:00Z"})

    workspace = keep(tmp_path, records_of("rest"), dream)
    make_tables(workspace)
    coverage = measure_coverage(workspace, SLUICE)
    (event,) = coverage.unknown
    assert event.name == "dreamt"
    assert event.count > 1
    assert titled(synthetic_world(), "Still open") > event.number >= 1


def test_many_losses_of_one_list_are_named_in_short() -> None:
    assert joined(["b", "a", "a"]) == "a; b"
    assert joined([str(n) for n in range(5)]) == "0; 1; 2; and 2 more"


def test_it_says_what_it_lacks(tmp_path: Path) -> None:
    workspace = build(tmp_path, row(1, "entry", 1, 1))
    assert asdict(measure_coverage(workspace, GEM))["repo"] == GEM
    with pytest.raises(WorkspaceError, match=r"no raw replies of octo/other\. Run goldpan mine"):
        measure_coverage(workspace, "octo/other")
    workspace.table(GEM, "ledger").unlink()
    with pytest.raises(WorkspaceError, match="goldpan normalize --repo octo/gem"):
        measure_coverage(workspace, GEM)
