"""What people annotate stays as they see it, and what they agree on corrects labels."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

import goldpan
from goldpan.annotation.studio.answers import new_export, progress, pulled_at
from goldpan.annotation.studio.forms import find_form, read_tasks, task_form
from goldpan.annotation.studio.project import (
    ProjectFacts,
    begin_project,
    dataset_place,
    open_project,
)
from goldpan.core.errors import UsageError
from goldpan.core.result import json_data
from goldpan.core.storage.workspace import WorkspaceLayout
from goldpan.datasets.gold import CANNOT_TELL, KINDS
from goldpan.datasets.tasks.registry import find_task
from goldpan.papers.nlbse.comment_build import Annotations
from tests.console import run
from tests.deciding import two_people_say
from tests.demo_workspace import make_demo
from tests.issue_hours import made_up_hours, write_hours
from tests.papers.nlbse.test_code_comments_build import FILES, Case, decide
from tests.papers.nlbse.test_code_comments_build import rows as comment_rows

FORMS = {"fix-pair": "code-edit", "question-answer": "qa"}
FINDING = "not:solution-in-issue"


def sent(lab: goldpan.Workspace, name: str, form: str, dataset: Path) -> None:
    """Note a project whose rows are those of a dataset, as `goldpan annotate push` does."""
    asked = find_form(form)
    place = dataset_place(lab.layout, dataset)
    facts = ProjectFacts("http://127.0.0.1:1", "k", form, 2, number=1, datasets=(place,))
    begin_project(lab.layout, name, asked.configuration, facts)


@pytest.mark.parametrize("form", FORMS)
def test_a_build_that_leaves_rows_out_does_not_replace_what_people_annotate(
    tmp_path: Path, form: str
) -> None:
    lab, family = goldpan.Workspace(make_demo(tmp_path)), FORMS[form]
    built = lab.layout.dataset(family)
    tasks = list(read_tasks(built, find_form(form)))
    sent(lab, "round1", form, built)
    (kept, *_) = find_form(form).keeps & set(find_form(form).gold.values())
    answers = {task.key.subject_id: ((kept,), (kept,)) for task in tasks}
    answers[tasks[0].key.subject_id] = (("not",), ("not",))
    two_people_say(lab.layout, "round1", find_form(form), tasks, answers)
    before = {path: path.read_bytes() for path in built.rglob("*") if path.is_file()}
    same = built.parent / ".." / built.parent.name / family
    for required, output in ((form, None), (form, built), (form, same), (FINDING, None)):
        with pytest.raises(UsageError, match="the project round1 shows to annotators") as refused:
            lab.build(family, require=required, output=output)
        assert "--output" in refused.value.remedy
    assert {path: path.read_bytes() for path in built.rglob("*") if path.is_file()} == before
    lab.build(family, require=form, output=tmp_path / "checked")
    rows = pq.read_table(tmp_path / "checked" / "data").to_pylist()
    assert len(rows) == len(tasks) - 1
    lab.build(family)  # all rows: nothing is lost


@pytest.mark.parametrize("form", FORMS)
def test_an_answer_has_one_name_in_form_agreement_and_gold(tmp_path: Path, form: str) -> None:
    """Answers that a gold set tells apart are called in the form what it calls them."""
    asked = find_form(form)
    choices = set(asked.configuration.question(asked.decides).labels)
    labels = set(asked.gold.values()) - {CANNOT_TELL}
    (kind,) = [kind for kind in KINDS if set(kind.labels) == labels]
    assert set(kind.labels) <= choices
    assert all(asked.gold[name] == name for name in kind.labels)
    lab = goldpan.Workspace(make_demo(tmp_path))
    built = lab.layout.dataset(FORMS[form])
    sent(lab, "round1", form, built)
    tasks = list(read_tasks(built, asked))[:2]
    answers = dict.fromkeys((task.key.subject_id for task in tasks[:1]), (("not",), ("not",)))
    answers[tasks[1].key.subject_id] = (("not",), ("partly",))
    two_people_say(lab.layout, "round1", asked, tasks, answers)
    shown = str(json_data(lab.annotate.agreement(project="round1")))
    assert "'not'" in shown
    gold = lab.annotate.export(project="round1", gold=tmp_path / "gold.csv")
    assert gold.labels == {"not": 1}


def test_status_says_as_of_which_pull_it_speaks(tmp_path: Path) -> None:
    lab = goldpan.Workspace(make_demo(tmp_path))
    built = lab.layout.dataset("code-edit")
    sent(lab, "round1", "fix-pair", built)
    tasks = list(read_tasks(built, find_form("fix-pair")))
    two_people_say(lab.layout, "round1", find_form("fix-pair"), tasks, {})
    project = open_project(lab.layout, "round1")
    with new_export(project, [b"[]"]):
        pass
    now = progress(WorkspaceLayout(lab.path), "round1")
    assert now.pulled_at == pulled_at(project) is not None
    shown = str(now)
    assert f"As of the pull of {now.pulled_at:%Y-%m-%d %H:%M} UTC" in shown


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
        choices = form.configuration.question(form.decides).labels
        other = next(choice for choice in choices if choice != was)
        answers = {wrong: ((other,), (other,)), right: (own[right], own[right])}
        answers[disputed] = (own[disputed], (other,))
        two_people_say(workspace, name, form, tasks, answers)
        done = run("build", "issue-type", "--corrections", name, folder=tmp_path)
        assert done.code == 0, done.err
        after = rows(built)
        assert after.keys() == before.keys()
        changed = [row for row in before if before[row]["label"] != after[row]["label"]]
        assert changed == [wrong]
        assert after[wrong]["source_label"] == before[wrong]["label"]
        checked = [after[row]["checked"] for row in (wrong, right, disputed)]
        assert checked == ["changed", "kept", None]
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
