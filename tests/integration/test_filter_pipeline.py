"""Running all criteria, keeping their verdicts, and counting them."""

from __future__ import annotations

import csv
import json
import shutil
from collections import Counter
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from goldpan.core.errors import WorkspaceError
from goldpan.core.schemas.mined import LEDGER
from goldpan.core.schemas.stages import VERDICTS
from goldpan.core.storage.workspace import WorkspaceLayout
from goldpan.core.terminal import Reporter
from goldpan.core.values import Execution
from goldpan.datasets.table_files import write_rows
from goldpan.filters.funnel import Funnel, count_funnel, read_funnels, rejects
from goldpan.filters.pipeline import FilterResult, run_filters
from goldpan.filters.profile import criteria, load_profile
from goldpan.filters.stored import current_verdicts
from goldpan.lineage.explain import explain
from tests.filtering import REPO, build, comment, issue, pair, pull

DECIDE = ("comment-scale", "participants", "merged")


def own_profile(workspace: WorkspaceLayout, text: str, name: str = "own") -> str:
    path = workspace.root / f"{name}.toml"
    path.write_text(text, encoding="utf-8")
    return str(path)


def small(root: Path) -> WorkspaceLayout:
    """Four issues: fine, short, lonely, short and lonely; two pairs, one not merged."""
    entries = [
        issue(1),
        issue(2, body="Short", title="=cmd|' /C calc'!A0"),
        issue(3),
        issue(4, body="Short"),
        pull(5),
        pull(6, merged=False),
    ]
    pairs = [pair(1, 5), pair(3, 6, merged=False)]
    return build(root, entries, [comment(1), comment(2)], pairs=pairs)


def run(workspace: WorkspaceLayout, profile: str) -> FilterResult:
    return run_filters(workspace, [REPO], load_profile(profile), Reporter(quiet=True))[0]


@pytest.fixture
def workspace(tmp_path: Path) -> WorkspaceLayout:
    return small(tmp_path)


@pytest.fixture
def profile(workspace: WorkspaceLayout) -> str:
    return own_profile(workspace, f"decide = {json.dumps(DECIDE)}")


@pytest.mark.nightly
def test_repositories_judged_at_once_have_the_same_verdicts(
    workspace: WorkspaceLayout, profile: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    other = "Octo/Twin"
    shutil.copytree(workspace.tables(REPO), workspace.tables(other))
    for path in workspace.tables(other).glob("*.parquet"):
        rows = pq.read_table(path)
        column = rows.schema.get_field_index("repo")
        pq.write_table(rows.set_column(column, "repo", pa.array([other] * len(rows))), path)
    own = load_profile(profile)
    one_by_one = run_filters(
        workspace, [REPO, other], own, Reporter(quiet=True), Execution(workers=2)
    )
    expected = {repo: workspace.verdicts(repo, "own").read_bytes() for repo in (REPO, other)}
    shutil.rmtree(workspace.root / "verdicts")
    monkeypatch.setattr("goldpan.filters.pipeline._WORTH_PROCESSES", 0)
    at_once = run_filters(workspace, [REPO, other], own, Reporter(quiet=True), Execution(workers=2))
    assert {
        repo: workspace.verdicts(repo, "own").read_bytes() for repo in (REPO, other)
    } == expected
    assert [(result.repo, result.issues, result.pairs) for result in at_once] == [
        (result.repo, result.issues, result.pairs) for result in one_by_one
    ]


def test_every_criterion_judges_every_subject(workspace: WorkspaceLayout, profile: str) -> None:
    run(workspace, profile)
    verdicts = pq.read_table(workspace.verdicts(REPO, "own"))
    assert verdicts.schema.equals(VERDICTS.schema)
    judged = Counter(verdicts["criterion"].to_pylist())
    assert judged == {
        name: 4 if criterion.subject == "issue" else 2
        for name, criterion in criteria().items()
        if criterion.subject != "discussion"
    }
    for row in verdicts.to_pylist():
        assert (row["reason"] is None) == (row["keep"] is True), row
        assert row["decides"] == (row["criterion"] in DECIDE)


def test_the_funnel_counts_alone_only_and_left(workspace: WorkspaceLayout, profile: str) -> None:
    result = run(workspace, profile)
    issues = result.issues
    assert (issues.rows, issues.kept) == (4, 1)
    assert [(s.criterion, s.out, s.only, s.left) for s in issues.steps if s.decides] == [
        ("comment-scale", 2, 1, 2),
        ("participants", 2, 1, 1),
    ]
    assert issues.steps[0].reasons == {"too-short": 2}
    assert all(step.left is None and step.only == 0 for step in issues.steps if not step.decides)
    assert (result.pairs.rows, result.pairs.kept) == (2, 1)
    funnels = read_funnels(workspace, [REPO], load_profile(profile))
    assert (funnels.issues, funnels.pairs) == (result.issues, result.pairs)


@given(
    st.lists(st.tuples(*[st.sampled_from([True, False, None])] * 3), min_size=1, max_size=12),
    st.permutations(["a", "b", "c"]),
)
def test_a_funnel_counts_what_passes(
    answers: list[tuple[bool | None, ...]], order: list[str]
) -> None:
    """Against a count by hand: what is left after a step passes it and all before it."""
    rows = [
        {"repo": "o/n", "subject": "issue", "issue": number, "criterion": name, "decides": True}
        | {"keep": keep, "reason": None if keep else "r"}
        for number, keeps in enumerate(answers)
        for name, keep in zip("abc", keeps, strict=True)
    ]
    table = pa.Table.from_pylist(rows, schema=VERDICTS.schema)
    funnel: Funnel = count_funnel(table, ["issue"], order)
    passing = [dict(zip("abc", keeps, strict=True)) for keeps in answers]
    for position, (name, step) in enumerate(zip(order, funnel.steps, strict=True)):
        others = {*order} - {name}
        assert step.criterion == name
        assert step.left == sum(all(map(row.get, order[: position + 1])) for row in passing)
        assert step.only == sum(not row[name] and all(map(row.get, others)) for row in passing)
        assert step.out == sum(row[name] is False for row in passing)
        assert step.undecided == sum(row[name] is None for row in passing)
    assert funnel.kept == funnel.steps[-1].left


def test_a_changed_threshold_costs_its_criterion_alone(
    workspace: WorkspaceLayout, profile: str
) -> None:
    assert not run(workspace, profile).reused
    again = run(workspace, profile)
    always = {name for name, criterion in criteria().items() if not criterion.reusable}
    assert set(again.judged) == always
    own_profile(workspace, f"decide = {json.dumps(DECIDE)}\n[comment-scale]\nminimum = 5")
    changed = run(workspace, profile)
    assert set(changed.judged) == always | {"comment-scale"}
    assert changed.issues.kept == 2


def test_kept_verdicts_are_those_of_a_fresh_run(tmp_path: Path) -> None:
    first, second = small(tmp_path / "one"), WorkspaceLayout(tmp_path / "other")
    shutil.copytree(first.root, second.root)
    run(first, own_profile(first, "decide = []"))
    for workspace in (first, second):
        text = f"decide = {json.dumps(DECIDE)}\n[participants]\nminimum = 1"
        run(workspace, own_profile(workspace, text))
    assert first.verdicts(REPO, "own").read_bytes() == second.verdicts(REPO, "own").read_bytes()


def test_changed_tables_are_judged_anew(workspace: WorkspaceLayout, profile: str) -> None:
    run(workspace, profile)
    build(
        workspace.root, [issue(1), issue(2), pull(5)], [comment(1), comment(2)], pairs=[pair(1, 5)]
    )
    with pytest.raises(WorkspaceError, match="tables of Octo/Gem changed since"):
        current_verdicts(workspace, REPO, load_profile(profile))
    assert run(workspace, profile).issues.kept == 2
    current_verdicts(workspace, REPO, load_profile(profile))
    own_profile(workspace, f"decide = {json.dumps(DECIDE)}\n[comment-scale]\nminimum = 5")
    with pytest.raises(WorkspaceError, match="criterion comment-scale changed since"):
        current_verdicts(workspace, REPO, load_profile(profile))


def test_a_profile_that_decides_otherwise_is_told(workspace: WorkspaceLayout, profile: str) -> None:
    run(workspace, profile)
    for decide in (["comment-scale"], [*DECIDE, "bots"]):
        own_profile(workspace, f"decide = {json.dumps(decide)}")
        for ask in (
            lambda: read_funnels(workspace, [REPO], load_profile(profile)),
            lambda: current_verdicts(workspace, REPO, load_profile(profile)),
        ):
            with pytest.raises(WorkspaceError, match="profile own changed since Octo/Gem"):
                ask()


def test_an_empty_repository_has_an_empty_funnel(tmp_path: Path) -> None:
    workspace = build(tmp_path)
    result = run(workspace, "default")
    assert (result.issues.rows, result.issues.kept, result.pairs.rows) == (0, 0, 0)


def test_what_was_not_filtered_is_said(workspace: WorkspaceLayout) -> None:
    with pytest.raises(WorkspaceError, match=r"goldpan filter --repo Octo/Gem --profile faun-eval"):
        read_funnels(workspace, [REPO], load_profile("faun-eval"))
    workspace.verdicts(REPO, "faun-eval").parent.mkdir(parents=True)
    workspace.verdicts(REPO, "faun-eval").write_bytes(b"PAR1 no")
    with pytest.raises(WorkspaceError, match="cannot be read"):
        read_funnels(workspace, [REPO], load_profile("faun-eval"))


def test_why_tells_the_verdicts_of_criteria_and_of_people(
    workspace: WorkspaceLayout, profile: str
) -> None:
    pq.write_table(LEDGER.schema.empty_table(), workspace.table(REPO, "ledger"))
    run(workspace, profile)
    common = {"subject": "issue", "issue": 2, "stage": "people", "criterion": "question-answer"}
    rows = [
        {**common, "repo": REPO, "keep": False, "reason": "unrelated", "profile": "round1"},
        {**common, "repo": "else/where", "keep": True, "profile": "round1"},
    ]
    path = workspace.root / "annotations" / "round1" / "verdicts.parquet"
    path.parent.mkdir(parents=True)
    pq.write_table(pa.Table.from_pylist(rows, schema=VERDICTS.schema), path)
    verdicts = explain(workspace, f"{REPO}#2").verdicts
    against = [row["criterion"] for row in verdicts if row["decides"] and not row["keep"]]
    assert against == ["comment-scale"]
    said = [(row["criterion"], row["reason"]) for row in verdicts if row["profile"] == "round1"]
    assert said == [("question-answer", "unrelated")]
    subjects = {row["subject"] for row in explain(workspace, f"{REPO}#5").verdicts}
    assert subjects == {"pair"}


def test_rejects_come_with_every_reason(workspace: WorkspaceLayout, profile: str) -> None:
    run(workspace, profile)
    dropped = rejects(workspace, [REPO], load_profile(profile))
    rows = dropped.to_pylist()
    assert [row["issue"] for row in rows] == [2, 3, 4, 3]
    assert rows[2]["criteria"] == ["comment-scale", "participants"]
    target = workspace.root / "rejects.csv"
    write_rows(dropped.to_reader(), target)
    with target.open(encoding="utf-8", newline="") as file:
        first, _, both, _ = csv.DictReader(file)
    assert first["title"] == "'=cmd|' /C calc'!A0", "no spreadsheet computes it"
    assert both["criteria"] == "comment-scale; participants"
