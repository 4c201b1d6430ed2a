"""Labels that people are asked about, and what they decided put in the place of the source's."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from goldpan.annotation.studio.configuration import check
from goldpan.annotation.studio.forms import StudioTask as Subject
from goldpan.annotation.studio.forms import choice_of, find_form, form_of, make_task, task_form
from goldpan.annotation.studio.project import Project, ProjectFacts, SubjectKey
from goldpan.annotation.studio.push import choose, read_selection, write_selection
from goldpan.core.errors import UsageError
from goldpan.datasets.corrections import (
    Corrections,
    LabelDecision,
    corrected_batches,
    corrected_family,
)
from goldpan.datasets.tasks.registry import find_task
from goldpan.datasets.tasks.task import task_family

SEVERAL, ONE = find_task("comment_type_java"), find_task("nlbse23_java_summary")
COUNTS = ("kept", "changed", "outside", "absent")
RANKED = [(f"row {at}", at / 100) for at in range(100)]
OF: dict[str, Any] = {"task": "toys", "data_hash": "ab", "folds": 5}


def project(root: Path, name: str = ONE.name) -> Project:
    form = task_form(find_task(name)).configuration
    (root / "toys").mkdir(exist_ok=True)
    return Project(root / "toys", ProjectFacts("http://x", "k", f"task-{name}", 2), form)


def chosen(value: object) -> list[dict[str, Any]]:
    return [{"from_name": "label", "type": "choices", "value": {"choices": value}}]


def test_a_form_asks_for_the_labels_of_a_task() -> None:
    form = task_form(SEVERAL)
    field = form.configuration.question("label")
    assert tuple(field.labels) == (*SEVERAL.label_names, "none")
    assert (field.multiple, field.required) == (True, True)
    _, problem = check(form.configuration, chosen(["none", next(iter(field.labels))]))
    assert problem == "contradiction"
    single = task_form(ONE).configuration.question("label")
    assert (tuple(single.labels), single.multiple) == (ONE.label_names, False)
    with pytest.raises(UsageError, match="no labels to choose from"):
        task_form(find_task("story_points"))


def test_what_a_task_says_is_shown_as_text() -> None:
    description = '"<Choice value="x"/>" & more'
    labels = tuple(replace(label, description=description) for label in ONE.labels)
    form = task_form(replace(ONE, definition=description, labels=labels))
    assert tuple(form.configuration.question("label").labels) == ONE.label_names
    assert form.configuration.panels == ("note", "text_panel")


def test_a_row_of_any_task_is_shown_without_its_label(tmp_path: Path) -> None:
    row = {"id": "t:1", "repo": None, "text": "<b>sums</b>", "label": "summary", "document": "Pan"}
    task = make_task(task_form(ONE), row)
    assert (task.key.subject_id, task.dataset_labels) == ("t:1", ("summary",))
    assert "&lt;b&gt;sums" in task.panels["text_panel"]
    assert "Pan" in task.panels["note"]
    assert "summary" not in str(task.data())
    stored = form_of(project(tmp_path))
    assert choice_of(stored, "not summary") == "not summary"
    assert choice_of(stored, "Summary") is None
    assert choice_of(find_form("issue-type"), "Enhancement") == "feature"


@pytest.mark.parametrize(
    ("form", "row", "text"),
    [
        ("fix-pair", {"pull": 2, "problem_statement": "", "patch": "<<< a"}, "&lt;&lt;&lt; a"),
        ("issue-type", {"title": None, "body": "It leaks"}, "It leaks"),
    ],
    ids=["no git diff", "no title"],
)
def test_rows_from_elsewhere_are_shown(form: str, row: dict[str, Any], text: str) -> None:
    task = make_task(find_form(form), {"repo": "octo/gem", "issue": 1, **row})
    assert text in "".join(task.panels.values())


def test_suspects_come_first_and_controls_are_drawn_among_the_rest() -> None:
    selection = choose(RANKED, 10, 5, seed=1, **OF)
    assert [row.id for row in selection.rows if not row.control] == [x for x, _ in RANKED[:10]]
    controls = {row.id for row in selection.rows if row.control}
    assert len(controls) == 5
    assert controls < {name for name, _ in RANKED[10:]}
    assert choose(RANKED, 10, 5, seed=1, **OF) == selection
    assert {row.id for row in choose(RANKED, 10, 5, seed=2, **OF).rows if row.control} != controls
    assert len(choose(RANKED, 1_000, 5, seed=1, **OF).rows) == 100
    with pytest.raises(UsageError, match="Give 1 or more"):
        choose(RANKED, 0, 5, seed=1, **OF)


def test_the_order_tells_nothing_about_ranks() -> None:
    selection = choose(RANKED, 50, 0, seed=1, **OF)
    tasks = [Subject(SubjectKey(row.id, "text", ""), {}, "") for row in selection.rows]
    order = [tasks.index(task) for task in selection.mixed(tasks)]
    assert sorted(order) == list(range(50))
    assert 15 < sum(order[:25]) / 25 < 34


def test_rows_that_were_chosen_earlier_stay_as_they_were(tmp_path: Path) -> None:
    workspace = project(tmp_path)
    first = choose(RANKED, 3, 40, seed=1, **OF)
    write_selection(workspace, first)
    write_selection(workspace, choose(RANKED, 20, 0, seed=1, **OF))
    both = read_selection(workspace)
    assert both is not None
    assert set(first.rows) < set(both.rows)
    assert len(both.rows) == len({row.id for row in both.rows}) > len(first.rows)
    with pytest.raises(UsageError, match="holds suspects of toys"):
        write_selection(workspace, choose(RANKED, 3, 0, seed=1, **{**OF, "task": "others"}))


def decided(**labels: tuple[str, ...] | None) -> Corrections:
    outcome = dict.fromkeys(COUNTS, 0)
    facts: dict[str, Any] = {"outcome": outcome, "controls": dict.fromkeys(COUNTS[:2], 0)}
    return Corrections(
        {name: LabelDecision("p", label, name == "b") for name, label in labels.items()},
        {"p": facts},
    )


def corrected(task: Any, own: Mapping[str, Any], corrections: Corrections) -> list[dict[str, Any]]:
    family = task_family(task)
    target = family.target
    rows = [
        {**dict.fromkeys(family.schema.names), "id": name, "text": name, target: label}
        for name, label in own.items()
    ]
    names = task.label_names
    batches = list(corrected_batches(family.batches(rows), family, names, corrections))
    columns = corrected_family(family, corrections).schema.names
    assert set(columns) <= set(batches[0].schema.names)
    return list(pa.Table.from_batches(batches).select(columns).to_pylist())


def test_people_change_keep_and_pass_labels_over() -> None:
    yes, no = ONE.label_names
    decisions = decided(a=(no,), b=(yes,), c=None, gone=(no,))
    rows = corrected(ONE, {"a": yes, "b": yes, "c": no, "d": no}, decisions)
    assert [(row["label"], row["source_label"], row["checked"]) for row in rows] == [
        (no, yes, "changed"),
        (yes, yes, "kept"),
        (no, no, None),
        (no, no, None),
    ]
    assert decisions.projects["p"]["outcome"] == dict.fromkeys(COUNTS, 1)
    assert decisions.projects["p"]["controls"] == {"kept": 1, "changed": 0}


def test_sets_of_labels_are_compared_without_their_order() -> None:
    first, second = SEVERAL.label_names[:2]
    decisions = decided(a=(second, first), b=())
    rows = corrected(SEVERAL, {"a": [first, second], "b": [first]}, decisions)
    checked = [(row["labels"], row["checked"]) for row in rows]
    assert checked == [([first, second], "kept"), ([], "changed")]
    assert [row["source_labels"] for row in rows] == [[first, second], [first]]


def test_decisions_about_other_rows_are_refused() -> None:
    with pytest.raises(UsageError, match="None of the 1 decisions in p is about a row of"):
        corrected(ONE, {"a": ONE.label_names[0]}, decided(other=(ONE.label_names[0],)))
