"""Building datasets out of filtered repositories."""

from __future__ import annotations

import json
import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from goldpan.builders.build import BuildResult, build
from goldpan.builders.request import BuildRequest
from goldpan.core.errors import DatasetError, UsageError
from goldpan.core.storage.workspace import WorkspaceLayout
from goldpan.core.terminal import Reporter
from goldpan.datasets.provenance import stored_rows
from goldpan.datasets.splits import SplitPlan
from goldpan.filters.pipeline import run_filters
from goldpan.filters.profile import load_profile
from goldpan.git.clone import read_heads
from goldpan.workspace.workspace import Workspace
from tests import filtering
from tests.demo_workspace import make_demo
from tests.filtering import LONG, REPO, comment, issue, pair, pull
from tests.mining import SLUICE
from tests.places import files_below

QUIET = Reporter(quiet=True)


def filter_by_own(workspace: WorkspaceLayout, decide: str) -> None:
    """Filter with a profile of one's own."""
    path = workspace.root / "own.toml"
    path.write_text(f'decide = {decide}\n[answer]\nchoice = "first"\n', encoding="utf-8")
    run_filters(workspace, [REPO], load_profile(str(path)), QUIET)


def build_filtered(
    workspace: WorkspaceLayout,
    family: str = "qa",
    split: str = "none",
    seed: int = 0,
    name: str = "",
    **options: Any,
) -> BuildResult:
    """Build what was filtered before."""
    profile = load_profile(str(workspace.root / "own.toml"))
    plan, directory = SplitPlan.parse(split, seed), workspace.dataset(name or family)
    request = BuildRequest(family, [REPO], profile, plan, directory, **options)
    return build(workspace, request, QUIET)


def make(workspace: WorkspaceLayout, family: str = "qa", decide: str = '["bots"]') -> BuildResult:
    filter_by_own(workspace, decide)
    return build_filtered(workspace, family)


def rows(built: BuildResult) -> list[dict[str, Any]]:
    return list(stored_rows(built.written.directory))


def talk(number: int, **fields: Any) -> list[dict[str, Any]]:
    """Return the comments of an issue: a stranger's, a bot's, a maintainer's."""
    return [
        comment(number, "I see this too", "dave", author_association="none"),
        comment(number, "Marked as stale", "stale[bot]", author_type="bot"),
        comment(number, "Tighten the bolts", "erin", author_association="member", **fields),
    ]


def test_questions_come_with_answer_and_dialogue(tmp_path: Path) -> None:
    workspace = filtering.build(tmp_path, [issue(1, author_association="none")], talk(1))
    (row,) = rows(make(workspace))
    assert row["id"] == f"qa:{REPO}#1"
    assert (row["answer"], row["answer_role"]) == ("Tighten the bolts", "member")
    assert [turn["content"] for turn in row["dialogue"]] == [
        f"Leak 1\n\n{LONG}",
        "I see this too",
        "Tighten the bolts",
    ]
    assert [turn["role"] for turn in row["dialogue"]] == ["none", "none", "member"]
    assert row["participants"] == 3
    assert row["dialogue"][2]["comment_id"] == row["answer_comment_id"]
    words = json.dumps(row, default=str).split('"')
    assert not {"alice", "dave", "erin"} & set(words), "no login is in a row"


def test_a_limit_draws_rows_by_the_seed(tmp_path: Path) -> None:
    numbers = range(1, 13)
    replies = [reply for number in numbers for reply in talk(number)]
    workspace = filtering.build(tmp_path, list(map(issue, numbers)), replies)
    ids = [row["id"] for row in rows(make(workspace))]

    def drawn(limit: int, seed: int = 0) -> BuildResult:
        return build_filtered(workspace, "qa", "random:0.5,0.5", seed, "drawn", limit=limit)

    five = drawn(5)
    chosen = {row["id"] for row in rows(five)}
    assert len(chosen) == 5 and chosen < set(ids)
    assert five.dropped["not-drawn"] == len(ids) - 5
    readme = (five.written.directory / "README.md").read_text(encoding="utf-8")
    assert "5 rows were drawn by the seed" in readme
    assert chosen < {row["id"] for row in rows(drawn(6))}, "one more displaces none"
    assert chosen != {row["id"] for row in rows(drawn(5, seed=1))}
    all_of_them = drawn(100)
    assert "not-drawn" not in all_of_them.dropped
    assert (all_of_them.limit, all_of_them.written.rows) == (100, len(ids))
    assert "only 12 rows available, fewer than --limit 100" in str(all_of_them)
    with pytest.raises(UsageError, match="The limit is 0 rows"):
        drawn(0)


def test_another_choice_of_answers_than_the_profiles(tmp_path: Path) -> None:
    advice = "You need to tighten the bolts, because the seal slips else: `sluice --bolts 4`."
    entries = [issue(1), issue(2)]
    comments = [*talk(1), *talk(2), comment(2, advice, "frank", author_association="member")]
    workspace = filtering.build(tmp_path, entries, comments)
    first = make(workspace)
    answers = {row["issue"]: row["answer"] for row in rows(first)}
    assert answers == dict.fromkeys((1, 2), "Tighten the bolts")
    best = build_filtered(workspace, answer="best")
    (row,) = rows(best)
    assert (row["issue"], row["answer"]) == (2, advice)
    assert row["answer_points"] >= 9 and "reasons" in row["answer_because"]
    assert dict(best.dropped) == {"no-answer": 1}
    (row,) = rows(build_filtered(workspace, answer="all"))
    assert row["id"] == f"qa:{REPO}#2:{row['answer_comment_id']}"


def test_what_is_private_is_made_unreadable_and_counted(tmp_path: Path) -> None:
    body = f"{LONG} Write to alice.miner@sluice-mining.org or see 93.184.216.34."
    entries = [issue(1, body, labels=["ask bob.p@sluice-mining.org"])]
    workspace = filtering.build(tmp_path, entries, [comment(1, "Ask carol.x@sluice-mining.org")])
    built = make(workspace)
    text = json.dumps(rows(built), default=str)
    assert "@sluice" not in text and "93.184" not in text
    assert built.redacted["email"] >= 3
    assert built.redacted["ip-address"] == 1
    stated = ", ".join(f"{kind} ({count})" for kind, count in sorted(built.redacted.items()))
    card = (built.written.directory / "README.md").read_text("utf-8")
    assert f"redacted: {stated}. " in card


def test_every_kept_subject_without_a_row_has_a_reason(tmp_path: Path) -> None:
    entries = [
        issue(1),
        issue(2),  # nobody replied
        issue(3, state="open", closed_at=None),
        issue(4, author="ci[bot]", author_type="bot"),  # dropped by the profile
    ]
    workspace = filtering.build(tmp_path, entries, [*talk(1), *talk(3), *talk(4)])
    built = make(workspace)
    assert [row["issue"] for row in rows(built)] == [1]
    assert (built.considered, built.kept) == (4, 3)
    assert dict(built.dropped) == {"answered": 2}
    card = (built.written.directory / "README.md").read_text("utf-8")
    assert "the issue is open, or nobody but the asker and bots replied" in card


@pytest.mark.parametrize(
    ("family", "criterion", "said"),
    [
        ("code-edit", "merged", "none of which gives a row: 1 no-history"),
        ("fault-localization", "merged", "none of which gives a row: 1 no-history"),
        ("code-edit", "substance", "substance leaves none: 1 no-history"),
    ],
)
def test_pairs_without_history_are_told(
    tmp_path: Path, family: str, criterion: str, said: str
) -> None:
    """Substance cannot be judged without one, and what is undecided is not kept."""
    workspace = filtering.build(tmp_path, [issue(1), pull(2)], talk(1), pairs=[pair(1, 2)])
    with pytest.raises(DatasetError, match=rf"{said} \(the history of the code was not cloned"):
        make(workspace, family, f'["{criterion}"]')


def test_near_duplicates_stay_on_one_side(tmp_path: Path) -> None:
    """The same long text under ten issues, and ten of their own, over many seeds."""
    own = [issue(n, f"{'gravel ' * 3}{n} pebble{n} stone{n} " * 12) for n in range(11, 21)]
    alike = [issue(n, f"{LONG} Seen {n} times.", title="Leak at the seam") for n in range(1, 11)]
    workspace = filtering.build(tmp_path, alike + own, [c for n in range(1, 21) for c in talk(n)])
    filter_by_own(workspace, "[]")
    sides = set()
    for seed in range(4):
        written = build_filtered(workspace, "qa", "random:0.5,0.5", seed).written
        names = [split.name for split in written.splits]
        stored = {name: list(stored_rows(written.directory, name)) for name in names}
        (side,) = [name for name in names if any(row["issue"] <= 10 for row in stored[name])]
        sides.add(side)
    assert sides == {"train", "test"}


COPY = "prospector/copy"


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a filtered workspace of two repositories, the second of which copies the first."""
    root = make_demo(tmp_path_factory.mktemp("processes") / "ws")
    layout = Workspace(root).layout
    layout.tables(COPY).mkdir()
    for path in layout.tables(SLUICE).glob("*.parquet"):
        rows = pq.read_table(path)
        for name in {"repo", "pull_repo"} & set(rows.column_names):
            old = rows[name].to_pylist()
            new = pa.array([COPY if value == SLUICE else value for value in old])
            rows = rows.set_column(rows.column_names.index(name), name, new)
        pq.write_table(rows, layout.tables(COPY) / path.name)
    shutil.copytree(layout.clone(SLUICE), layout.clone(COPY))
    (root / "own.toml").write_text('decide = ["bots"]\n', encoding="utf-8")  # copies are kept
    Workspace(root).filter(SLUICE, COPY, profile=root / "own.toml")
    return root


def test_families_of_fix_pairs_draw_the_same_pairs(root: Path, tmp_path: Path) -> None:
    lab = Workspace(root)

    def pairs(family: str, limit: int | None = None, seed: int = 0) -> list[str]:
        output = tmp_path / family
        options = {"profile": root / "own.toml", "output": output, "seed": seed}
        data = lab.build(family, SLUICE, COPY, limit=limit, **options)
        ids = data.sql("SELECT id FROM data ORDER BY id")["id"].to_pylist()
        return [str(name).partition(":")[2] for name in ids]

    faults, edits = pairs("fault-localization"), pairs("code-edit")
    shared = set(faults) & set(edits)
    assert len(shared) > 10
    drawn_faults = set(pairs("fault-localization", 8, seed=1))
    drawn_edits = set(pairs("code-edit", 8, seed=1))
    own = (drawn_faults | drawn_edits) - shared
    assert len(drawn_faults & drawn_edits) >= 8 - len(own)


def test_the_same_bytes_by_one_process_and_by_two(
    root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("goldpan.builders.repository_rows._WORTH_PROCESSES", 0)
    alone, both = Workspace(root, workers=1), Workspace(root, workers=2)
    for family, limit in (("qa", 2), ("code-edit", None)):
        results = []
        for name, lab in (("one", alone), ("two", both)):
            own = root / "own.toml"
            data = lab.build(family, COPY, SLUICE, profile=own, limit=limit, output=tmp_path / name)
            assert data.built is not None
            results.append(replace(data.built, seconds=0.0, written=None))
        files = files_below(tmp_path / "one")
        assert files == files_below(tmp_path / "two"), family
        assert results[0] == results[1]
        if limit is None:
            repos = data.sql("SELECT DISTINCT repo FROM data")["repo"].to_pylist()
            assert sorted(repos) == [COPY, SLUICE]
            heads = read_heads(both.layout.clone(SLUICE))
            assert heads.source in ("bundle", "folder")
            for source in json.loads(files["provenance.json"])["sources"]:
                assert source["history"] == heads.source
                assert source["inputs"]["git HEAD"] == heads.head
                assert source["inputs"]["git refs"] == heads.refs
        else:
            assert len(data) == limit
