"""Comparing two versions of a dataset."""

from __future__ import annotations

import csv
import json
from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import pyarrow.parquet as pq

from goldpan.builders.build import build
from goldpan.builders.request import BuildRequest
from goldpan.core.storage.workspace import WorkspaceLayout
from goldpan.core.terminal import Reporter
from goldpan.datasets.compare.diff import DiffResult, changelog, compare_versions
from goldpan.datasets.examples import QA
from goldpan.datasets.manifest import Written
from goldpan.datasets.splits import SplitPlan
from goldpan.filters.pipeline import run_filters
from goldpan.filters.profile import load_profile
from tests import filtering
from tests.examples import PROVENANCE, example, examples, write
from tests.filtering import LONG, REPO, comment, issue
from tests.program import goldpan

QUIET = Reporter(quiet=True)
LINKED = f"{LONG} See https://elsewhere.net/report for more."
HOSTILE = "qa:o/n#1 | <b>x</b>\n# head [a](http://e)"


def ids(diff: DiffResult, kind: str) -> list[str]:
    return [row.id for row in diff.examples[kind]]


def causes_of(diff: DiffResult) -> dict[str, tuple[str | None, str | None]]:
    return {cause.what: (cause.old, cause.new) for cause in diff.causes}


def test_rows_that_came_went_and_changed_are_told_by_id_and_column(tmp_path: Path) -> None:
    older = write(tmp_path / "old [1]*", QA, examples(QA, 6))
    rows = [*examples(QA, 5)[1:], example(QA, 9)]
    rows[0]["title"] = "Another"
    rows[1]["raw"] = ["run-0002.zst@1"]
    newer = write(tmp_path / "new", QA, rows)
    diff = compare_versions(older.directory, newer.directory)
    assert (diff.added, diff.gone, diff.changed, diff.moved, diff.same) == (1, 2, 2, 0, 2)
    assert ids(diff, "added") == ["qa:o/n#9"]
    assert ids(diff, "gone") == ["qa:o/n#1", "qa:o/n#6"]
    assert {row.id: row.columns for row in diff.examples["changed"]} == {
        "qa:o/n#2": ("title",),
        "qa:o/n#3": ("raw",),
    }
    assert diff.changed_in_task == 1
    assert diff.columns == {"raw": 1, "title": 1}
    assert not diff.causes
    assert f"content {diff.new.content}" in (newer.directory / "README.md").read_text()


def test_a_version_compared_with_itself_differs_in_nothing(tmp_path: Path) -> None:
    made = write(tmp_path, QA, examples(QA, 30), "time:2020-01-05,2020-01-20")
    diff = compare_versions(made.directory, made.directory)
    assert (diff.same, diff.causes, diff.reasons) == (30, (), ())
    assert not any(diff.examples.values())
    assert f"content {diff.old.content}" in (made.directory / "README.md").read_text()


def test_rows_in_another_split_are_moved(tmp_path: Path) -> None:
    older = write(tmp_path / "old", QA, examples(QA, 20), "time:2020-01-11")
    rows = examples(QA, 20)
    rows[8]["title"] = "Another"
    newer = write(tmp_path / "new", QA, rows, "time:2020-01-09")
    diff = compare_versions(older.directory, newer.directory)
    assert (diff.moved, diff.changed, diff.same) == (2, 1, 18)
    assert [(row.id, row.old_split, row.new_split) for row in diff.examples["moved"]] == [
        ("qa:o/n#8", "train", "test")
    ]
    assert diff.examples["changed"][0].old_split == "train"
    assert diff.examples["changed"][0].new_split == "test"


def test_the_provenance_tells_what_was_done_otherwise(tmp_path: Path) -> None:
    (source,) = PROVENANCE.sources
    later = replace(
        PROVENANCE,
        sources=(
            replace(source, mined_until=datetime(2024, 6, 2, tzinfo=UTC), rules="faun-eval"),
            replace(source, repo="p/q"),
        ),
        profile={"name": "m", "decide": ["bots", "language"], "settings": {"bots": {"least": 2}}},
        digests={"bots": "f" * 16},
    )
    before = replace(PROVENANCE, profile={**PROVENANCE.profile, "settings": {"bots": {}}})
    older = write(tmp_path / "old", QA, examples(QA, 2), provenance=before)
    rows = [*examples(QA, 2), example(QA, 3, "p/q"), example(QA, 1_600)]
    newer = write(tmp_path / "new", QA, rows, provenance=later)
    diff = compare_versions(older.directory, newer.directory)
    causes = causes_of(diff)
    assert causes["o/n: mined_until"] == ("2024-05-02T00:00:00+00:00", "2024-06-02T00:00:00+00:00")
    assert causes["o/n: rules"] == (None, "faun-eval")
    assert causes["profile.decide"] == (None, "language")
    assert causes["profile.settings.bots.least"] == (None, "2")
    assert {(reason.change, reason.reason): reason.rows for reason in diff.reasons} == {
        ("added", "its repository is a new source"): 1,
        ("added", "it was opened after the older version was mined"): 1,
    }


def make(
    workspace: WorkspaceLayout, decide: str, output: str, since: Path | None = None
) -> Written:
    path = workspace.root / f"{output}.toml"
    path.write_text(f'decide = {decide}\n[answer]\nchoice = "first"\n', encoding="utf-8")
    profile = load_profile(str(path))
    run_filters(workspace, [REPO], profile, QUIET)
    plan, directory = SplitPlan.parse("none"), workspace.dataset(output)
    request = BuildRequest("qa", [REPO], profile, plan, directory, since=since)
    return build(workspace, request, QUIET).written


def talks(numbers: Sequence[int]) -> list[dict[str, object]]:
    return [
        comment(number, "Tighten the bolts", "erin", author_association="member")
        for number in numbers
    ]


def test_a_dataset_that_is_rebuilt_tells_its_changes_in_the_card(tmp_path: Path) -> None:
    entries = [issue(1), issue(2, body=LINKED)]
    workspace = filtering.build(tmp_path, entries, talks([1, 2]))
    make(workspace, '["bots"]', "one")
    assert "## Changes" not in (workspace.dataset("one") / "README.md").read_text()
    older = workspace.dataset("one").rename(tmp_path / "older")
    newer = make(workspace, '["external-check"]', "one", since=older)
    card = (newer.directory / "README.md").read_text()
    section = card.split("\n## Changes\n\n")[1].split("\n\n## ")[0]
    assert "0 added, 1 removed, 0 changed" in section
    assert "| profile.decide | bots | external-check |" in section
    provenance = json.loads((newer.directory / "provenance.json").read_text())
    diff = compare_versions(older, newer.directory)
    assert provenance["settings"]["since"] == diff.old.content
    assert not any("since" in cause.what for cause in diff.causes)
    assert make(workspace, '["external-check"]', "one", since=older) == newer
    assert (newer.directory / "README.md").read_text() == card
    # It may be the one that is replaced.
    make(workspace, '["external-check"]', "one", since=newer.directory)
    assert "0 added, 0 removed" in (newer.directory / "README.md").read_text()


def test_the_changelog_escapes_what_came_from_github(tmp_path: Path) -> None:
    older = write(tmp_path / "old", QA, [example(QA, 1, id=HOSTILE), example(QA, 2)])
    newer = write(tmp_path / "new", QA, [example(QA, 2)])
    section = changelog(compare_versions(older.directory, newer.directory))
    assert "<b>" not in section
    assert "\n# head" not in section
    assert "&lt;b&gt;" in section


def test_the_command_prints_writes_and_speaks_json(tmp_path: Path) -> None:
    older = write(tmp_path / "old", QA, examples(QA, 3)).directory
    newer = write(tmp_path / "new", QA, examples(QA, 5)[1:]).directory
    rows, section = tmp_path / "rows.csv", tmp_path / "changes.md"
    done = goldpan("diff", older, newer, "--output", rows, "--changelog", section, "--limit", "1")
    assert done.code == 0, done.err
    assert "2 added, 1 removed, 0 changed, 0 moved to another split, 2 unchanged" in done.out
    assert done.out.count("  added qa:") == 1
    assert section.read_text().startswith("## Changes\n\nCompared with the version")
    with rows.open(newline="") as file:
        assert [(row["id"], row["change"]) for row in csv.DictReader(file)] == [
            ("qa:o/n#4", "added"),
            ("qa:o/n#5", "added"),
            ("qa:o/n#1", "gone"),
        ]
    parquet, lines = tmp_path / "rows.parquet", tmp_path / "rows.jsonl"
    output = json.loads(goldpan("diff", older, newer, "--json", "--output", parquet).out)
    assert (output["added"], output["gone"], output["family"]) == (2, 1, "qa")
    assert goldpan("diff", older, newer, "--output", lines).code == 0
    assert pq.read_table(parquet).to_pylist() == [
        json.loads(line) for line in lines.read_text().splitlines()
    ]
    refused = goldpan("diff", older, newer, "--output", tmp_path / "rows.txt")
    assert refused.code == 2
    assert "End it in .parquet, .jsonl, .csv" in refused.err
