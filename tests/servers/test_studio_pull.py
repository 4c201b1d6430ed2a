"""Pulling answers from a real Label Studio server, which checks hardly anything itself."""

from __future__ import annotations

import json
import os
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import zstandard

from goldpan.annotation.studio.answers import progress
from goldpan.annotation.studio.client import Studio, StudioError
from goldpan.annotation.studio.forms import find_form
from goldpan.annotation.studio.project import open_project
from goldpan.annotation.studio.pull import PullResult, collect, pull
from goldpan.annotation.studio.push import push
from goldpan.core.errors import UsageError, WorkspaceError
from goldpan.core.result import blocks_of
from goldpan.core.storage.workspace import WorkspaceLayout
from tests.program import start
from tests.studio import PEOPLE, QUIET, Annotators, annotated_rows, fix_pairs, part

FORM = find_form("fix-pair")


def begin(root: Path, studio: Annotators, name: str, count: int = 3) -> WorkspaceLayout:
    workspace = WorkspaceLayout(root)
    push(workspace, studio.server, name, FORM, fix_pairs(count), QUIET)
    return workspace


def fetched(workspace: WorkspaceLayout, studio: Annotators, name: str, **more: Any) -> PullResult:
    return pull(workspace, studio.server, name, QUIET, **more)


def verdicts(workspace: WorkspaceLayout, name: str) -> dict[int, list[tuple[str, str | None]]]:
    """Return each answer's verdict and problem, by issue."""
    answers: dict[int, list[tuple[str, str | None]]] = {}
    for row in annotated_rows(workspace, name):
        if row["field"] == "verdict":
            answer = ("/".join(row["values"]), row["problem"])
            answers.setdefault(row["issue"], []).append(answer)
    return answers


def test_answers_come_home_with_all_that_was_said(tmp_path: Path, studio: Annotators) -> None:
    workspace = begin(tmp_path, studio, "plain")
    tasks = studio.task_numbers(workspace, "plain")
    studio.answer(1, tasks[1], "partly", doubt=True, reason="Two leaks, one mended")
    studio.answer(2, tasks[1])
    pulled = fetched(workspace, studio, "plain")
    state = pulled.progress
    assert (state.answers, state.subjects, state.finished) == (2, 3, 1)
    rows = {(row["annotator"], row["field"]): row for row in annotated_rows(workspace, "plain")}
    assert len(rows) == 6
    ann = next(who for who, _ in rows if rows[who, "verdict"]["values"] == ["partly"])
    assert rows[ann, "doubt"]["values"] == ["doubt"]
    assert rows[ann, "reason"]["values"] == ["Two leaks, one mended"]
    verdict = rows[ann, "verdict"]
    assert (verdict["repo"], verdict["issue"], verdict["pull"]) == ("octo/gem", 1, 1001)
    assert (verdict["subject"], verdict["subject_id"]) == ("pair", "pair:octo/gem#1+1001")
    assert (verdict["seconds"], verdict["counts"]) == (21.0, True)


def test_nobody_is_named(tmp_path: Path, studio: Annotators) -> None:
    workspace = begin(tmp_path, studio, "names")
    studio.answer(1, studio.task_numbers(workspace, "names")[1])
    fetched(workspace, studio, "names")
    table = open_project(workspace, "names").path("annotations.parquet")
    people = open_project(workspace, "names").path("people.json")
    for path in (table, people):
        assert not any(address.encode() in path.read_bytes() for address in PEOPLE)
    for private in (people, tmp_path / "annotations" / "salt"):
        assert private.stat().st_mode & 0o077 == 0


def test_what_the_server_takes_and_should_not(tmp_path: Path, studio: Annotators) -> None:
    workspace = begin(tmp_path, studio, "wrong", 9)
    tasks = studio.task_numbers(workspace, "wrong")
    verdict = part("verdict", "choices", ["fixes"])
    for issue, result in (
        (2, [verdict, part("mood", "choices", ["good"])]),
        (3, [part("verdict", "choices", ["fixes", "partly"])]),
        (4, [part("reason", "text", ["no verdict"])]),
        (5, [{"from_name": "verdict", "value": {"choices": {"a": 1}}}]),
        (6, [{"value": 3}]),
        (7, []),
    ):
        studio.send(1, tasks[issue], *result)
    studio.answer(1, tasks[1], "perhaps")
    studio.answer(1, tasks[8], was_cancelled=True)
    studio.call(1, "POST", f"/api/tasks/{tasks[9]}/annotations/", {"lead_time": 1.0})  # no result
    pulled = fetched(workspace, studio, "wrong")
    assert (pulled.progress.answers, pulled.progress.finished) == (0, 0)
    assert {issue: answers[0][1] for issue, answers in verdicts(workspace, "wrong").items()} == {
        1: "unknown-choice",
        2: "unknown-name",
        3: "several-choices",
        4: "missing-answer",
        5: "malformed",
        6: "malformed",
        7: "missing-answer",
        8: "skipped",
        9: "malformed",
    }


def test_an_answer_at_which_the_server_fails_stops_no_other(
    tmp_path: Path, studio: Annotators
) -> None:
    """Label Studio stores half a surrogate pair, and cannot export it."""
    workspace = begin(tmp_path, studio, "halves", 5)
    tasks = studio.task_numbers(workspace, "halves")
    with pytest.raises(AssertionError, match="500"):
        studio.answer(1, tasks[3], reason="half \ud83d a pair")
    studio.answer(1, tasks[1], reason="nul \u0000")
    studio.answer(1, tasks[5])
    pulled = collect(workspace, studio.server, "halves", QUIET)
    assert (pulled.pulls[0].progress.answers, pulled.pulls[0].lost) == (2, (tasks[3],))
    assert pulled.exit_code == 3
    assert verdicts(workspace, "halves") == {1: [("fixes", None)], 5: [("fixes", None)]}
    told = f"cannot export 1 task, so answers are missing: check {tasks[3]} there"
    assert any(told in str(block) for block in blocks_of(pulled))


def test_third_and_repeated_answers_do_not_count(tmp_path: Path, studio: Annotators) -> None:
    workspace = begin(tmp_path, studio, "third", 2)
    tasks = studio.task_numbers(workspace, "third")
    studio.answer(1, tasks[1], "partly")
    studio.answer(2, tasks[1], "fixes")
    studio.answer(3, tasks[1], "not")
    studio.answer(1, tasks[1], "fixes")
    studio.answer(1, tasks[2], "fixes")
    pulled = fetched(workspace, studio, "third")
    assert pulled.progress.problems == {"superseded": 1, "surplus": 1}
    assert verdicts(workspace, "third") == {
        1: [("partly", "superseded"), ("fixes", None), ("not", "surplus"), ("fixes", None)],
        2: [("fixes", None)],
    }


def test_a_pull_keeps_what_the_server_sent_and_the_newest_counts(
    tmp_path: Path, studio: Annotators
) -> None:
    workspace = begin(tmp_path, studio, "steps", 5)
    tasks = studio.task_numbers(workspace, "steps")
    first = studio.answer(1, tasks[1])
    assert fetched(workspace, studio, "steps").progress.subjects == 5
    raw = open_project(workspace, "steps").path("raw")
    open_project(workspace, "steps").path("annotations.parquet").write_bytes(b"torn")
    assert fetched(workspace, studio, "steps").progress.answers == 1
    (kept,) = raw.iterdir()  # nothing new, nothing more
    with zstandard.open(kept) as file:
        assert json.loads(file.read()) == studio.tasks(workspace, "steps")
    studio.answer(2, tasks[4])
    body = {"result": [part("verdict", "choices", ["partly"])]}
    studio.call(1, "PATCH", f"/api/annotations/{first}/", body)
    push(workspace, studio.server, "steps", FORM, fix_pairs(6), QUIET)
    assert fetched(workspace, studio, "steps").progress.subjects == 6
    assert len(list(raw.iterdir())) == 2
    assert verdicts(workspace, "steps") == {1: [("partly", None)], 4: [("fixes", None)]}


def test_deleted_answers_and_tasks_count_no_more(tmp_path: Path, studio: Annotators) -> None:
    workspace = begin(tmp_path, studio, "gone", 4)
    tasks = studio.task_numbers(workspace, "gone")
    numbers = {issue: studio.answer(1, tasks[issue], "partly") for issue in tasks}
    assert fetched(workspace, studio, "gone").progress.answers == 4
    studio.call(1, "DELETE", f"/api/annotations/{numbers[1]}/")
    project = open_project(workspace, "gone").number
    path = f"/api/dm/actions?id=delete_tasks_annotations&project={project}"
    chosen = {"all": False, "included": [tasks[2]]}
    studio.call(0, "POST", path, {"selectedItems": chosen, "project": project})
    studio.call(0, "DELETE", f"/api/tasks/{tasks[3]}/")
    studio.answer(2, tasks[1])
    pulled = fetched(workspace, studio, "gone")
    assert (pulled.progress.answers, pulled.progress.problems) == (2, {})
    assert verdicts(workspace, "gone") == {1: [("fixes", None)], 4: [("partly", None)]}
    assert len(list(open_project(workspace, "gone").path("raw").iterdir())) == 2
    # What is missing there is pushed again.
    assert push(workspace, studio.server, "gone", FORM, fix_pairs(4), QUIET).added == 1


def test_tasks_of_others_and_copies_are_told(tmp_path: Path, studio: Annotators) -> None:
    workspace = begin(tmp_path, studio, "mixed", 2)
    project = open_project(workspace, "mixed").number
    copy = {"data": fix_pairs(1)[0].data()}
    with Studio(studio.server) as connection:
        panels = dict.fromkeys(("note", "issue_panel", "change_panel"), "x")
        connection.import_tasks(project, [{"data": panels}])
        connection.import_tasks(project, [copy])
        *_, twin = (task.id for task in connection.tasks(project))
    studio.answer(1, studio.task_numbers(workspace, "mixed")[1], "fixes")
    studio.answer(1, twin, "partly")
    studio.answer(2, twin, "partly")
    pulled = fetched(workspace, studio, "mixed")
    assert (pulled.foreign, pulled.progress.subjects) == (1, 2)
    assert verdicts(workspace, "mixed") == {
        1: [("fixes", "superseded"), ("partly", None), ("partly", None)]
    }


def test_a_renamed_annotator_stays_the_same(tmp_path: Path, studio: Annotators) -> None:
    workspace = begin(tmp_path, studio, "renamed", 1)
    studio.answer(3, studio.task_numbers(workspace, "renamed")[1])
    fetched(workspace, studio, "renamed")
    before = [row["annotator"] for row in annotated_rows(workspace, "renamed")]
    number = studio.call(3, "GET", "/api/current-user/whoami")["id"]
    studio.call(3, "PATCH", f"/api/users/{number}/", {"first_name": "Cleopatra"})
    fetched(workspace, studio, "renamed")
    assert [row["annotator"] for row in annotated_rows(workspace, "renamed")] == before


def test_a_configuration_that_changed_there_is_told(tmp_path: Path, studio: Annotators) -> None:
    workspace = begin(tmp_path, studio, "changed", 1)
    project = open_project(workspace, "changed")
    more = '<Choice value="Not code" alias="not-code"/>'
    xml = project.configuration.xml.replace("</Choices>", f"{more}</Choices>", 1)
    studio.call(0, "PATCH", f"/api/projects/{project.number}/", {"label_config": xml})
    studio.answer(1, studio.task_numbers(workspace, "changed")[1], "not-code")
    pulled = fetched(workspace, studio, "changed")
    assert (pulled.configuration_changed, pulled.progress.problems) == (True, {"unknown-choice": 1})
    accepted = fetched(workspace, studio, "changed", accept_configuration=True)
    assert (accepted.configuration_changed, accepted.progress.answers) == (False, 1)
    without = xml.replace('<TextArea name="reason"', '<TextArea name="why"')
    studio.call(0, "PATCH", f"/api/projects/{project.number}/", {"label_config": without})
    with pytest.raises(UsageError, match="is missing the fields reason"):
        fetched(workspace, studio, "changed", accept_configuration=True)


def test_a_pull_that_is_cut_off_leaves_what_was_pulled_before(
    tmp_path: Path, studio: Annotators, monkeypatch: pytest.MonkeyPatch
) -> None:
    workspace = begin(tmp_path, studio, "cut", 7)
    tasks = studio.task_numbers(workspace, "cut")
    studio.answer(1, tasks[1])
    export = Studio.export

    def failing(self: Studio, project: int, lost: list[int]) -> Iterator[bytes]:
        yield b"".join(export(self, project, lost))[:-9]
        raise StudioError("The line is cut", "Try again")

    with monkeypatch.context() as patch:
        patch.setattr(Studio, "export", failing)
        with pytest.raises(StudioError, match="The line is cut"):
            fetched(workspace, studio, "cut")
    with pytest.raises(WorkspaceError, match="Nothing was pulled"):
        progress(workspace, "cut")
    assert (fetched(workspace, studio, "cut").progress.answers, len(tasks)) == (1, 7)
    (kept,) = open_project(workspace, "cut").path("raw").iterdir()
    monkeypatch.setattr(Studio, "export", lambda *_: iter([b"<html>"]))
    with pytest.raises(StudioError, match="something other than an export"):
        fetched(workspace, studio, "cut")
    assert list(kept.parent.iterdir()) == [kept]


KILLED = """
import os, sys
from pathlib import Path
from goldpan.annotation.studio.client import Server
from goldpan.annotation.studio.forms import find_form
from goldpan.annotation.studio.push import push
from goldpan.core.storage.workspace import WorkspaceLayout
from tests.studio import QUIET, fix_pairs, annotated_rows
server = Server(sys.argv[2], os.environ["STUDIO_TOKEN"])
layout = WorkspaceLayout(Path(sys.argv[1]))
push(layout, server, "kills", find_form("fix-pair"), fix_pairs(1500), QUIET)
"""


@pytest.mark.nightly
def test_kills_leave_no_gaps(tmp_path: Path, studio: Annotators) -> None:
    workspace = WorkspaceLayout(tmp_path)

    def there() -> int:
        try:
            return len(studio.tasks(workspace, "kills"))
        except WorkspaceError:
            return 0

    for size in (1, 400, 900):
        environment = {**os.environ, "STUDIO_TOKEN": studio.server.token}
        with start(tmp_path, studio.server.url, environment=environment, program=KILLED) as running:
            running.until(lambda: there() > size)  # noqa: B023
            running.kill()
    push(workspace, studio.server, "kills", FORM, fix_pairs(1500), QUIET)
    with Studio(studio.server) as connection:
        counts = Counter(
            task.data["id"] for task in connection.tasks(open_project(workspace, "kills").number)
        )
    assert len(counts) == 1500
