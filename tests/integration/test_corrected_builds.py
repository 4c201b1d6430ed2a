"""`build issue-type` and `build code-comments` with labels that people corrected."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq

from goldpan.annotation.studio.forms import find_form, read_tasks, task_form
from goldpan.core.storage.workspace import WorkspaceLayout
from goldpan.datasets.tasks.registry import find_task
from goldpan.papers.nlbse.comment_build import Annotations
from tests.console import run
from tests.deciding import two_people_say
from tests.issue_hours import made_up_hours, write_hours
from tests.papers.nlbse.test_code_comments_build import FILES, Case, decide
from tests.papers.nlbse.test_code_comments_build import rows as comment_rows


def rows(dataset: Path) -> dict[str, dict[str, Any]]:
    return {row["id"]: row for row in pq.read_table(dataset / "data").to_pylist()}


def test_issue_types_are_corrected_by_what_people_agreed_on(tmp_path: Path) -> None:
    workspace = WorkspaceLayout(tmp_path / "goldpan-workspace")
    write_hours(workspace.root, made_up_hours(3, 40))
    built = workspace.dataset("issue_type")
    assert run("build", "issue-type", folder=tmp_path).code == 0
    before = rows(built)
    forms = {"shipped": find_form("issue-type"), "made": task_form(find_task("issue_type"))}
    pushed = {name: list(read_tasks(built, form)) for name, form in forms.items()}
    for name, form in forms.items():
        tasks = pushed[name]
        wrong, right, disputed = sorted(before)[:3]
        own = {task.key.subject_id: task.dataset_labels for task in tasks}
        assert {wrong, right, disputed} <= own.keys(), "subjects are rows"
        (was,) = own[wrong]
        other = next(
            choice for choice in form.configuration.question(form.decides).labels if choice != was
        )
        answers = {
            wrong: ((other,), (other,)),
            right: (own[right], own[right]),
            disputed: (own[disputed], (other,)),
        }
        two_people_say(workspace, name, form, tasks, answers)
        done = run("build", "issue-type", "--corrections", name, folder=tmp_path)
        assert done.code == 0, done.err
        after = rows(built)
        assert after.keys() == before.keys()
        changed = {
            example_id
            for example_id in before
            if before[example_id]["label"] != after[example_id]["label"]
        }
        assert changed == {wrong}
        assert after[wrong]["source_label"] == before[wrong]["label"]
        assert {example_id: after[example_id]["checked"] for example_id in sorted(before)[:3]} == {
            wrong: "changed",
            right: "kept",
            disputed: None,
        }
        corrections = json.loads((built / "provenance.json").read_bytes())["corrections"][name]
        assert corrections["outcome"] == {"absent": 0, "changed": 1, "kept": 1, "outside": 0}
        assert "1 labels were changed and 1 kept" in (built / "README.md").read_text("utf-8")


def test_comments_are_corrected_by_what_people_agreed_on(tmp_path: Path) -> None:
    case = Case(tmp_path, FILES)
    first, second = [row["id"] for row in comment_rows(case.build()) if row["language"] == "Java"]
    decisions = {first: ("agreed", ["summary", "ownership"]), second: ("agreed", ["none"])}
    decide(case.workspace, "code-comment-java", decisions)
    task = find_task("comment_type_java")
    required = ("code-comment-java",)
    built = case.build(annotations=Annotations(required=required), task=task)
    form = task_form(task)
    tasks = list(read_tasks(built.written.directory, form))
    names = {row["text"]: row["id"] for row in comment_rows(built)}
    answers = {
        names["holds water."]: (("summary",), ("summary",)),
        names["leaks."]: (("none",), ("none",)),
    }
    two_people_say(case.workspace, "checked", form, tasks, answers)
    strict = Annotations(required=required, corrections=("checked",))
    after = {row["text"]: row for row in comment_rows(case.build(annotations=strict, task=task))}
    assert after["holds water."]["labels"] == ["summary"]
    assert after["holds water."]["source_labels"] == ["summary", "ownership"]
    assert (after["leaks."]["labels"], after["leaks."]["source_labels"]) == ([], [])
    assert {text: row["checked"] for text, row in after.items()} == {
        "holds water.": "changed",
        "leaks.": "kept",
    }
