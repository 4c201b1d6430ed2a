"""Two annotators, a third person, and what becomes of their answers."""

from __future__ import annotations

from pathlib import Path

import pyarrow.parquet as pq
import pytest

from goldpan.annotation.studio.answers import progress
from goldpan.annotation.studio.client import Studio
from goldpan.annotation.studio.decisions import adjudicate, adjudication_name, write_decisions
from goldpan.annotation.studio.forms import find_form
from goldpan.annotation.studio.gold import field_agreements
from goldpan.annotation.studio.project import open_project
from goldpan.annotation.studio.pull import pull
from goldpan.annotation.studio.push import push
from goldpan.core.errors import UsageError
from goldpan.core.schemas.stages import VERDICTS
from goldpan.core.storage.workspace import WorkspaceLayout
from tests.deciding import decided
from tests.studio import QUIET, Annotators, annotated_rows, fix_pairs

FORM = find_form("fix-pair")


def annotated(root: Path, studio: Annotators, name: str) -> WorkspaceLayout:
    """Push four pairs: agreed, in conflict, agreed with a doubt, answered once."""
    workspace = WorkspaceLayout(root)
    push(workspace, studio.server, name, FORM, fix_pairs(4), QUIET)
    tasks = studio.task_numbers(workspace, name)
    studio.answer(1, tasks[1], "fixes")
    studio.answer(2, tasks[1], "fixes")
    studio.answer(1, tasks[2], "fixes", reason="Shakes <b>once</b> more")
    studio.answer(2, tasks[2], "not", doubt=True)
    studio.answer(1, tasks[3], "partly", doubt=True)
    studio.answer(2, tasks[3], "partly")
    studio.answer(1, tasks[4], "fixes")
    pull(workspace, studio.server, name, QUIET)
    return workspace


def test_a_third_person_decides_conflicts_alone(tmp_path: Path, studio: Annotators) -> None:
    workspace = annotated(tmp_path, studio, "conflicts")
    assert write_decisions(workspace, "conflicts") == {"agreed": 2, "conflict": 1, "unfinished": 1}
    before = decided(workspace, "conflicts")
    assert [(decision.how, decision.values) for decision in before] == [
        ("agreed", ("fixes",)),
        ("conflict", ()),
        ("agreed", ("partly",)),
        ("unfinished", ()),
    ]
    pushed = adjudicate(workspace, studio.server, "conflicts", QUIET)
    assert (pushed.added, pushed.project) == (1, "conflicts-adjudication")
    assert adjudicate(workspace, studio.server, "conflicts", QUIET).added == 0
    name = adjudication_name("conflicts")
    with Studio(studio.server) as connection:
        (task,) = connection.tasks(open_project(workspace, name).number)
    note = task.data["note"]
    assert "Fixes the issue" in note
    assert "Does not fix it" in note
    assert "Shakes &lt;b&gt;once&lt;/b&gt; more" in note
    assert "In doubt." in note
    for who in {row["annotator"] for row in annotated_rows(workspace, "conflicts")}:
        assert who not in note

    # Somebody whose own answer is in dispute cannot decide it.
    studio.answer(1, task.id, "fixes")
    own = pull(workspace, studio.server, name, QUIET)
    assert (own.progress.answers, own.progress.problems) == (0, {"own-case": 1})
    assert decided(workspace, "conflicts")[1].how == "conflict"
    studio.answer(3, task.id, "not")
    assert pull(workspace, studio.server, name, QUIET).progress.answers == 1
    _, third, *_ = decided(workspace, "conflicts")
    assert (third.how, third.values) == ("adjudicated", ("not",))
    with pytest.raises(UsageError, match="adjudicates conflicts"):
        decided(workspace, name)


def test_final_verdicts_say_who_and_when_without_names(tmp_path: Path, studio: Annotators) -> None:
    workspace = annotated(tmp_path, studio, "final")
    write_decisions(workspace, "final")
    project = open_project(workspace, "final")
    table = pq.read_table(project.path("verdicts.parquet"))
    assert table.schema.equals(VERDICTS.schema)
    rows = table.to_pylist()
    assert [(row["issue"], row["keep"], row["reason"]) for row in rows] == [
        (1, True, None),
        (2, None, "conflict"),
        (3, False, "partly"),
        (4, None, "unfinished"),
    ]
    for row in rows:
        assert (row["stage"], row["criterion"], row["decides"]) == ("people", "fix-pair", True)
        assert (row["subject"], row["pull_repo"]) == ("pair", "octo/gem")
        assert "@" not in row["evidence"]
    who = sorted({row["annotator"] for row in annotated_rows(workspace, "final")})
    assert rows[0]["evidence"].startswith(f"fixes, agreed by {', '.join(who)}, 20")
    decisions = pq.read_table(project.path("decisions.parquet")).to_pylist()
    assert [row["how"] for row in decisions] == ["agreed", "conflict", "agreed", "unfinished"]
    assert decisions[0]["annotators"] == who


def test_doubts_can_be_looked_at_too(tmp_path: Path, studio: Annotators) -> None:
    workspace = annotated(tmp_path, studio, "doubts")
    write_decisions(workspace, "doubts")
    assert adjudicate(workspace, studio.server, "doubts", QUIET, doubts=True).added == 2
    name = adjudication_name("doubts")
    for number in studio.task_numbers(workspace, name).values():
        studio.answer(3, number, "fixes")
    pull(workspace, studio.server, name, QUIET)
    hows = [decision.how for decision in decided(workspace, "doubts")]
    assert hows == ["agreed", "adjudicated", "adjudicated", "unfinished"]


def test_agreement_is_computed_of_what_counts(tmp_path: Path, studio: Annotators) -> None:
    workspace = annotated(tmp_path, studio, "agreed")
    studio.answer(3, studio.task_numbers(workspace, "agreed")[1], "no-problem")
    pull(workspace, studio.server, "agreed", QUIET)
    (agreement,) = field_agreements(workspace, "agreed")
    assert (agreement.field, agreement.items, agreement.single) == ("verdict", 3, 1)
    (both,) = agreement.pairs
    assert both.items == 3
    assert both.raw == pytest.approx(2 / 3)


def test_progress_tells_who_did_how_much(tmp_path: Path, studio: Annotators) -> None:
    workspace = annotated(tmp_path, studio, "paced")
    studio.answer(3, studio.task_numbers(workspace, "paced")[4], was_cancelled=True)
    pull(workspace, studio.server, "paced", QUIET)
    now = progress(workspace, "paced")
    assert (now.subjects, now.finished, now.begun) == (4, 3, 1)
    assert (now.wanted, now.answers, now.problems) == (8, 7, {"skipped": 1})
    assert sorted(
        (annotator.answers, annotator.skipped, annotator.doubts) for annotator in now.annotators
    ) == [(0, 1, 0), (3, 0, 1), (4, 0, 1)]
    assert now.passed_over == 1


def test_what_was_deleted_is_not_waited_for(tmp_path: Path, studio: Annotators) -> None:
    workspace = annotated(tmp_path, studio, "fewer")
    studio.call(0, "DELETE", f"/api/tasks/{studio.task_numbers(workspace, 'fewer')[4]}/")
    pull(workspace, studio.server, "fewer", QUIET)
    now = progress(workspace, "fewer")
    assert (now.subjects, now.finished, now.begun) == (3, 3, 0)
    assert (now.wanted, now.answers) == (6, 6)
