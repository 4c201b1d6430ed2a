"""A model's patch counts where the tests of the fix pass, however it is written."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from goldpan import Sandbox, Workspace, load
from goldpan.core.errors import GoldpanError, UsageError
from goldpan.core.storage.parquet import write_table
from goldpan.core.storage.workspace import WorkspaceLayout
from goldpan.evaluation.metrics.patches import written
from goldpan.evaluation.record import PREDICTIONS, read_runs
from goldpan.evaluation.resolved import (
    PatchScore,
    ResolvedResult,
    read_patches,
    read_resolved,
    write_resolved,
)
from tests.demo_workspace import attempt, make_demo
from tests.evaluating import ran, replaced, requirements
from tests.places import ROOT
from tests.verifying import needs_isolation

RECIPE = ROOT / "src" / "goldpan" / "demo" / "recipe.toml"
BLOCKS = """\
src/sluice/header.py
```python
<<<<<<< SEARCH
    return [name.strip() for name in line.split(",")]
=======
    if line[:1] == "\\ufeff":
        line = line[1:]
    return [name.strip() for name in line.split(",")]
>>>>>>> REPLACE
```
"""
FORGED = """\
src/sluice/header.py
```python
<<<<<<< SEARCH
    return [name.strip() for name in line.split(",")]
=======
    return []


import sys

sys.modules["__main__"]._outcome = lambda function: ""
>>>>>>> REPLACE
```
"""
OF_ANOTHER_FILE = (
    "diff --git a/none.py b/none.py\n--- a/none.py\n+++ b/none.py\n@@ -1 +1 @@\n-x\n+y\n"
)


@pytest.fixture(scope="module")
def lab(tmp_path_factory: pytest.TempPathFactory) -> Workspace:
    """Return the demo's workspace with a dataset of proved fixes."""
    root = make_demo(tmp_path_factory.mktemp("resolved") / "lab")
    lab = Workspace(root, progress=False)
    options = {"profile": "verified", "require": "verified", "output": root / "proved"}
    lab.build("issue-resolution", "prospector/sluice", **options)
    return lab


def score(lab: Workspace, folder: Path, patches: dict[str, str | None]) -> ResolvedResult:
    """Score patches by the instances' identifiers."""
    file = folder / "patches.jsonl"
    rows = [{"instance_id": name, "model_patch": patch} for name, patch in patches.items()]
    file.write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    sandbox = Sandbox(recipe=[RECIPE], timeout=60, memory=1)
    return lab.evaluate.resolved(lab.path / "proved", predictions=file, sandbox=sandbox)


def proved(lab: Workspace) -> dict[int, dict[str, Any]]:
    """Return the proved fixes by their issues."""
    return {row["issue"]: row for row in load(lab.path / "proved").to_arrow().to_pylist()}


@needs_isolation
def test_each_merged_fix_resolves_its_issue_and_no_empty_patch_does(
    lab: Workspace, tmp_path: Path
) -> None:
    rows = list(proved(lab).values())
    gold = score(lab, tmp_path, {row["instance_id"]: row["patch"] for row in rows})
    assert gold.counts == {"resolved": len(rows)}
    assert lab.check().damaged == ()
    log = next(lab.path.glob("verification/*/*/*/answers/*/answer.report"))
    log.write_bytes(log.read_bytes() + b"\n")
    (damage,) = lab.check().damaged
    assert damage.file == str(log)
    assert "goldpan evaluate resolved" in damage.remedy
    score(lab, tmp_path, {row["instance_id"]: row["patch"] for row in rows})
    assert lab.check().damaged == ()
    assert gold.right.codebleu == pytest.approx(1.0)
    assert gold.right.exact == len(rows)
    empty = score(lab, tmp_path, {row["instance_id"]: "" for row in rows})
    assert empty.counts == {"no-answer": len(rows)}
    assert empty.resolved.value == 0


@needs_isolation
def test_a_correct_alternative_counts_and_a_near_copy_that_is_wrong_does_not(
    lab: Workspace, tmp_path: Path
) -> None:
    rows = proved(lab)
    lines = rows[5]["patch"].splitlines(keepends=True)
    last = max(number for number, line in enumerate(lines) if line.startswith("+"))
    lines[last] = "+    return iter(())\n"
    patches = {3: BLOCKS, 5: "".join(lines), 1: OF_ANOTHER_FILE}
    result = score(lab, tmp_path, {rows[at]["instance_id"]: patches[at] for at in patches})
    outcomes = {row.instance.issue: row.outcome for row in result.resolutions}
    assert outcomes[3] == "resolved"
    assert outcomes[5] == "tests-fail"
    assert outcomes[1] == "does-not-apply"
    assert result.right.exact == 0
    assert result.right.codebleu is not None and result.wrong.codebleu is not None
    assert result.right.codebleu < 1
    wrong = [patch.codebleu for patch in result.patches if patch.outcome != "resolved"]
    above = sum(score < result.right.codebleu for score in wrong)
    assert result.separation == above / len(wrong)


@needs_isolation
def test_a_patch_that_bends_the_tests_gains_nothing(lab: Workspace, tmp_path: Path) -> None:
    rows = proved(lab)
    bent = rows[3]["test_patch"].replace('["a", "b"]', '["\\ufeffa", "b"]')
    assert bent != rows[3]["test_patch"]
    result = score(lab, tmp_path, {rows[3]["instance_id"]: bent})
    scored = {row.instance.issue: row for row in result.resolutions}[3]
    assert scored.outcome == "tests-fail"
    assert list(scored.failed) == list(rows[3]["FAIL_TO_PASS"])


@needs_isolation
def test_a_patch_that_forges_the_report_of_its_tests_resolves_nothing(
    lab: Workspace, tmp_path: Path
) -> None:
    rows = proved(lab)
    result = score(lab, tmp_path, {rows[3]["instance_id"]: FORGED})
    scored = {row.instance.issue: row for row in result.resolutions}[3]
    assert scored.outcome == "forged-report"
    assert set(scored.failed) >= set(rows[3]["FAIL_TO_PASS"])
    assert result.resolved.value == 0


@needs_isolation
def test_rows_that_were_not_proved_cannot_tell_right_from_wrong(tmp_path: Path) -> None:
    lab = Workspace(make_demo(tmp_path / "lab"))
    shutil.rmtree(lab.path / "verification" / "prospector" / "sluice" / "3-4")
    file = tmp_path / "patches.jsonl"
    file.write_text('{"instance_id": "prospector__sluice-4", "model_patch": ""}\n')
    with pytest.raises(UsageError, match="is not verified"):
        sandbox = Sandbox(recipe=[RECIPE])
        lab.evaluate.resolved("issue-resolution", predictions=file, sandbox=sandbox)


@needs_isolation
def test_what_models_are_asked_of_proved_fixes_is_scored_by_their_tests(
    lab: Workspace, tmp_path: Path
) -> None:
    built = lab.build(
        "code-edit",
        "prospector/sluice",
        profile="verified",
        require="verified",
        output=lab.path / "asked",
    )
    rows = built.to_arrow().to_pylist()
    fixes = proved(lab)
    assert {row["issue"] for row in rows} == {at for at in fixes if fixes[at]["files"] == 1}
    for row in rows:
        assert row["path"] not in fixes[row["issue"]]["test_files"]
        assert row["diff"] == fixes[row["issue"]]["patch"]
        assert row["created_at"] == fixes[row["issue"]]["issue_created_at"]
    result = score(lab, tmp_path, {row["id"]: row["patch"] for row in rows})
    assert result.counts["resolved"] == len(rows)


def test_predictions_of_a_run_are_read_and_wrong_files_named(tmp_path: Path) -> None:
    run = tmp_path / "predictions.parquet"
    rows = [{"id": "code-edit:o/n#1+2", "repo": "o/n", "truth": "t", "answer": None}]
    pq.write_table(pa.Table.from_pylist(rows), run)
    assert read_patches(run) == {"code-edit:o/n#1+2": None}
    file = tmp_path / "patches.jsonl"
    file.write_text('{"instance_id": "a", "model_patch": "x"}\n{"id": "b", "answer": "y"}\n')
    assert read_patches(file) == {"a": "x", "b": "y"}
    for content, message in (
        ("{}\n", "1 names no instance"),
        ('{"instance_id": "a", "model_patch": "x"}\n' * 2, "2 has a second patch for a"),
        ('{"instance_id"', "cannot be read"),
        ("[1]\n", "is not an object"),
        # Elsewhere, as OpenHands has it, or under another name: no empty answer.
        ('{"instance_id": "a", "test_result": {"git_patch": "x"}}', "1 names no instance, or no p"),
        ('{"instance_id": "a", "prediction": "x"}', "1 names no instance, or no patch"),
    ):
        file.write_text(content)
        with pytest.raises(GoldpanError, match=message):
            read_patches(file)
    with pytest.raises(UsageError, match="There is no file"):
        read_patches(tmp_path / "none.jsonl")
    named = tmp_path / "preds.json"  # as SWE-agent writes them
    named.write_text('{"a": {"instance_id": "a", "model_patch": "x", "model_name_or_path": "m"}}')
    assert read_patches(named) == {"a": "x"}


def test_a_file_of_other_instances_is_refused(tmp_path: Path) -> None:
    root = make_demo(tmp_path / "lab")
    file = tmp_path / "patches.jsonl"
    file.write_text('{"instance_id": "django__django-1", "model_patch": "x"}\n')
    words = ("evaluate", "resolved", str(root / "datasets" / "issue-resolution"))
    done = attempt(*words, "--predictions", str(file), "--workspace", str(root))
    assert done.code == 1
    assert "None of 1 patches is for a row of the dataset" in done.err


def test_what_a_patch_writes_is_read_from_diffs_and_blocks() -> None:
    assert written(BLOCKS).startswith('    if line[:1] == "')
    assert written("--- a/x\n+++ b/x\n@@ -1 +1,2 @@\n-old\n+new\n+++ i;\n") == "new\n++ i;"


def test_a_run_stays_resolved_when_its_predictions_get_a_column(tmp_path: Path) -> None:
    ran(tmp_path, requirements(), "majority")
    (run,) = read_runs(WorkspaceLayout(tmp_path))
    path = run.directory / PREDICTIONS
    write_resolved(path, ResolvedResult(2, (PatchScore("a", "resolved", 0.5, exact=False),), ()))
    table = run.predictions()
    write_table(table.append_column("place", pa.nulls(len(table), pa.string())), path)
    stored = read_resolved(run.directory)
    assert stored is not None
    assert stored.resolved.value == 0.5
    write_table(replaced(table, answer=[None] * len(table)), path)
    assert read_resolved(run.directory) is None
