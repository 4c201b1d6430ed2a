"""Label checking: rows of tasks before annotators, and what they say beside the dataset."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from goldpan.annotation.studio import panels as rows
from goldpan.annotation.studio.forms import find_form, make_task, read_tasks
from goldpan.annotation.studio.project import open_project, read_labels
from goldpan.annotation.studio.push import push, read_selection
from goldpan.core.errors import DatasetError, WorkspaceError
from goldpan.core.storage.workspace import WorkspaceLayout
from goldpan.papers.nlbse.comment_build import CODE_COMMENTS
from tests.places import files_below
from tests.studio import QUIET, Annotators, Goldpan, part
from tests.tasks import own_task

SENTENCES: tuple[tuple[str, list[str]], ...] = (
    ("Returns the pan, washed.", ["Summary"]),
    ("@author somebody", ["ownership", "Pointer"]),
    ("todo", []),
    ("Use Sieve instead", ["Deprecation"]),
)


def dataset(root: Path, rows: list[dict[str, Any]]) -> Path:
    """Write rows as `goldpan.datasets` lays them out."""
    (root / "data").mkdir(parents=True)
    pq.write_table(pa.Table.from_pylist(rows), root / "data" / "test-00000-of-00001.parquet")
    return root


def sentences(root: Path) -> Path:
    return dataset(
        root,
        [
            {"id": f"comments:{at}", "repo": None, "document": "Pan", "text": text, "labels": own}
            for at, (text, own) in enumerate(SENTENCES)
        ],
    )


def issue(number: int, label: str | None) -> dict[str, Any]:
    text = f"Leak {number}\n\nIt leaks."
    row = {"id": f"issue_type:{number}", "repo": "octo/gem", "text": text, "label": label}
    return {**row, "labels": ["good first issue"], "title": f"Leak {number}", "body": "It leaks."}


@pytest.mark.parametrize(
    ("label", "choices"),
    [
        ("bug", ("bug",)),
        ("Enhancement", ("feature",)),
        ("docs", ("documentation",)),
        ("mood", ()),
        (None, ()),
    ],
)
def test_labels_of_a_dataset_become_choices_of_the_form(
    label: str | None, choices: tuple[str, ...]
) -> None:
    task = make_task(find_form("issue-type"), issue(1, label))
    assert (task.key.subject, task.key.subject_id, task.dataset_labels) == (
        "text",
        "issue_type:1",
        choices,
    )
    # Neither the label nor GitHub's labels reach an annotator.
    shown = str(task.data())
    assert "good first issue" not in shown
    assert not label or label not in shown


def test_rows_of_other_languages_are_passed_over(tmp_path: Path) -> None:
    examples = [
        {"id": f"c:{language}", "repo": "octo/gem", "sentence": "I wash.", "language": language}
        for language in ("Java", "Smalltalk", "java")
    ]
    folder = dataset(tmp_path / "both", examples)
    subjects = {
        name: [
            task.key.subject_id for task in read_tasks(folder, find_form(f"code-comment-{name}"))
        ]
        for name in ("java", "pharo")
    }
    assert subjects == {"java": ["c:Java", "c:java"], "pharo": ["c:Smalltalk"]}
    with pytest.raises(DatasetError, match="holds no row in python"):
        list(read_tasks(folder, find_form("code-comment-python")))


def test_what_goldpan_builds_can_be_asked_about() -> None:
    built = set(CODE_COMMENTS.schema.names)
    reading = find_form("code-comment-java").reading(built)
    assert reading is rows.SENTENCE
    assert set(reading.optional) - built == {"label"}
    with pytest.raises(DatasetError, match="lacks what fix-pair shows"):
        find_form("fix-pair").reading(built)


def test_annotators_see_what_stands_around_a_sentence() -> None:
    row = {"id": "c:1", "repo": "octo/gem", "path": "Pan.java", "class": "Pan"}
    row |= {"sentence": "i wash", "comment": "I wash <b>gold</b>.", "code": "class Pan {}"}
    shown = make_task(find_form("code-comment-java"), row).panels
    assert "octo/gem: Pan.java: Pan" in shown["note"]
    assert "I wash &lt;b&gt;gold&lt;/b&gt;." in shown["code_panel"]
    assert "class Pan {}" in shown["code_panel"]
    bare = make_task(find_form("code-comment-java"), {"id": "c:1", "repo": None, "text": "i wash"})
    assert "only the sentence" in bare.panels["code_panel"]
    assert bare.key.repo == ""


@pytest.fixture
def lab(tmp_path: Path) -> WorkspaceLayout:
    return WorkspaceLayout(tmp_path / "place")


def test_people_are_compared_with_the_dataset(
    lab: WorkspaceLayout, goldpan: Goldpan, studio: Annotators
) -> None:
    project = ("--project", "labels")
    form = ("--form", "code-comment-java", "--dataset", sentences(lab.root.parent / "comments"))
    assert "4 subjects added" in goldpan("annotate", "push", *project, *form).out
    tasks = studio.tasks(lab, "labels")
    assert "ownership" not in str(tasks)
    for task, (_, own) in zip(sorted(tasks, key=lambda task: task["id"]), SENTENCES, strict=True):
        labels = [label.lower() for label in own] or ["expand"]
        for person in (1, 2):
            studio.send(person, task["id"], part("categories", "choices", labels, "sentence"))
    assert "agreed: 4" in goldpan("annotate", "pull", *project).out
    output = goldpan("annotate", "agreement", *project).out
    assert "the dataset's labels\n  raw agreement 0.750" in output
    assert "differ on comments:2 (dataset: none; people: expand)" in output


TOYS = 40
WRONG = (3, 10, 21)
"""The rows of `toys` that bear the other's label."""


def toys(folder: Path) -> Path:
    """Write issues whose kind shows in their words, but for some with a wrong label."""
    lines = ["title,body,kind"]
    for at in range(TOYS):
        kind = at % 2
        title = (f"Toy {at} falls apart", f"Please paint toy {at} red")[kind]
        lines.append(f"{title},at once,{'BW'[kind ^ (at in WRONG)]}")
    own_task(folder / "place" / "tasks", ("total = 4", f"total = {TOYS}"), ("= 2", "= 20"))
    path = folder / "toy.csv"
    path.write_text("\n".join(lines))
    return path


@pytest.mark.nightly
def test_people_correct_the_most_suspect_labels(
    lab: WorkspaceLayout, goldpan: Goldpan, studio: Annotators
) -> None:
    files, built = toys(lab.root.parent), lab.dataset("toy_issues")

    def rows() -> dict[str, dict[str, Any]]:
        shards = sorted((built / "data").glob("*.parquet"))
        examples = [{**row, "side": shard.name[:5]} for shard in shards for row in read(shard)]
        return {row["id"]: row for row in examples}

    goldpan("tasks", "import", "toy_issues", files, code=3)  # the counts are those of true labels
    before = rows()
    project = ("--project", "toys")
    push = ("annotate", "push", *project, "--task", "toy_issues", "--suspects")
    assert "6 subjects added" in goldpan(*push, "4", "--controls", "2").out
    assert "0 subjects added, 6 already there" in goldpan(*push, "4", "--controls", "2").out
    tasks = studio.tasks(lab, "toys")
    shown = str(tasks)
    assert not any(word in shown for word in ("margin", "suspect", "control", "'wish'", "'bug'"))
    chosen = read_selection(open_project(lab, "toys"))
    assert chosen is not None
    wrong = {
        name for name, row in before.items() if ("falls" in row["text"]) != (row["label"] == "bug")
    }
    assert len(wrong) == len(WRONG)
    assert wrong <= {row.id for row in chosen.rows if not row.control}
    order = [task["data"]["id"] for task in sorted(tasks, key=lambda task: task["id"])]
    assert order != sorted(order, key=[row.id for row in chosen.rows].index)

    disputed = min(wrong)
    for task in tasks:
        truth = "bug" if "falls" in before[task["data"]["id"]]["text"] else "wish"
        other = {"bug": "wish", "wish": "bug"}[truth]
        for person in (1, 2):
            label = other if person == 2 and task["data"]["id"] == disputed else truth
            studio.send(person, task["id"], part("label", "choices", [label], "text"))
    assert "conflict: 1" in goldpan("annotate", "pull", *project).out
    _, left = goldpan("annotate", "agreement", *project).out.split("the dataset's labels")
    assert left.count("differ on") == 2
    goldpan("annotate", "adjudicate", *project)
    (task,) = studio.tasks(lab, "toys-adjudication")
    truth = "bug" if "falls" in before[disputed]["text"] else "wish"
    studio.send(3, task["id"], part("label", "choices", [truth], "text"))
    assert "adjudicated: 1" in goldpan("annotate", "pull", *project).out

    again = ("tasks", "import", "toy_issues", files, "--corrections", "toys")
    goldpan(*again, code=3)
    after = rows()
    assert {name for name, row in after.items() if row["label"] != row["source_label"]} == wrong
    assert {row["checked"] for row in after.values()} == {"kept", "changed", None}
    assert all(before[name]["label"] == row["source_label"] for name, row in after.items())
    assert all(before[name]["side"] == row["side"] for name, row in after.items())
    corrections = json.loads((built / "provenance.json").read_bytes())["corrections"]["toys"]
    assert corrections["outcome"] == {"absent": 0, "changed": 3, "kept": 3, "outside": 0}
    assert corrections["controls"] == {"changed": 0, "kept": 2}
    assert corrections["annotators"] == 2
    assert corrections["ranking"]["suspects"] == 4
    assert corrections["agreement"]["raw"]["value"] == pytest.approx(5 / 6, abs=1e-5)
    card = (built / "README.md").read_text()
    assert "3 labels were changed and 3 kept" in card
    assert "5 were agreed on, 1 adjudicated and 0 left open" in card

    bytes_once = files_below(built)
    goldpan("annotate", "pull", *project)
    goldpan(*again, code=3)
    assert files_below(built) == bytes_once
    output = goldpan("import", "toy-issues", files, "--corrections", "toys", code=3).out
    assert "toy_issues" in output
    assert files_below(built) == bytes_once
    command = ("tasks", "import", "bug_issue", files, "--corrections", "toys")
    assert "has no choice" in goldpan(*command, code=2).err
    assert "Give --task with --suspects" in goldpan(*push[:4], "--suspects", "3", code=2).err


def read(path: Path) -> list[dict[str, Any]]:
    return list(pq.read_table(path).to_pylist())


def test_labels_that_are_pushed_again_are_kept_once(tmp_path: Path, studio: Annotators) -> None:
    workspace, form = WorkspaceLayout(tmp_path / "place"), find_form("code-comment-java")
    source = sentences(tmp_path / "comments")
    for _ in range(2):
        push(workspace, studio.server, "twice", form, read_tasks(source, form), QUIET)
    project = open_project(workspace, "twice")
    path = project.path("given.jsonl")
    assert len(path.read_bytes().splitlines()) == 1
    assert read_labels(project)["comments:1"] == ("ownership", "pointer")
    path.write_bytes(b"[1]\n")
    with pytest.raises(WorkspaceError, match="push the same dataset again"):
        read_labels(project)
