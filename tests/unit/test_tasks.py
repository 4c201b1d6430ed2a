"""Tasks: what is wrong with a file is told, rows are read in one shape, hashes tell data apart."""

from __future__ import annotations

from collections import Counter
from dataclasses import asdict, fields, replace
from pathlib import Path

import pyarrow as pa
import pytest

from goldpan.core.errors import DatasetError, UsageError
from goldpan.core.storage.workspace import WorkspaceLayout
from goldpan.core.terminal import Reporter
from goldpan.datasets.examples import CODE_EDIT, FAULT_LOCALIZATION, QA
from goldpan.datasets.family import Column, Family
from goldpan.datasets.files import write_dataset
from goldpan.datasets.licenses import bibtex_problem
from goldpan.datasets.manifest import CardInputs
from goldpan.datasets.provenance import Provenance
from goldpan.datasets.splits import SplitPlan
from goldpan.datasets.tasks.checks import check_files
from goldpan.datasets.tasks.data import (
    TaskData,
    read_task_data,
    task_data,
    task_directory,
    with_validation,
)
from goldpan.datasets.tasks.importing import import_files, readers
from goldpan.datasets.tasks.registry import find_task, load_tasks, parse_task, task_of
from goldpan.datasets.tasks.sources import files_by_task, tasks_of_source
from goldpan.datasets.tasks.table_reader import SETTINGS
from goldpan.datasets.tasks.task import (
    CLASSIFICATION,
    Label,
    Task,
    TaskColumns,
    TaskPrompt,
    TaskSource,
    task_family,
)
from goldpan.text.preprocessing import STEPS
from tests.examples import example, write
from tests.places import ROOT
from tests.tasks import ISSUES, own_task

TABLE_1 = {
    "bug_issue": (38_219, 2, "quality"),
    "incivility": (1_546, 2, "management"),
    "requirement_type": (625, 2, "requirements"),
    "tone_bearing": (6_597, 2, "management"),
    "closed_question": (140_272, 5, "management"),
    "commit_intent": (2_533, 3, "maintenance"),
    "issue_type": (803_417, 3, "maintenance"),
    "question_quality": (60_000, 3, "management"),
    "sentiment": (13_144, 3, "management"),
    "comment_type_java": (9_339, 7, "development"),
    "comment_type_pharo": (2_290, 7, "development"),
    "comment_type_python": (1_587, 5, "development"),
    "review_aspect": (4_522, 11, "quality"),
    "smell_doc": (1_000, 5, "quality"),
    "story_points": (23_313, 0, "management"),
    "se_entities": (2_718, 20, "development"),
    "requirement_completion": (40, 0, "requirements"),
}
"""SELU's Table I and Appendix A: instances, targets, activity."""


def test_selu_is_whole() -> None:
    selu = {name: task for name, task in load_tasks().items() if "selu" in task.suites}
    published = {}
    for name, task in selu.items():
        kinds = {label.partition("-")[2] for label in task.label_names} - {""}
        targets = len(kinds) if task.type == "ner" else len(task.labels)
        published[name] = (task.announced["SELU, Table I"], targets, task.activity)
    assert published == TABLE_1


def test_counts_of_sources_are_those_of_selu_but_where_a_note_says_why() -> None:
    differing = {
        name
        for name, (instances, _, _) in TABLE_1.items()
        if load_tasks()[name].counts["total"] != instances
    }
    assert differing == {"comment_type_pharo", "comment_type_python", "se_entities"}
    for name in differing:
        assert "Table I" in load_tasks()[name].source.note or "SELU" in find_task(name).source.note


def test_the_other_suites_are_whole() -> None:
    suites = Counter(suite for task in load_tasks().values() for suite in task.suites)
    assert suites == {"selu": 17, "nlbse22": 1, "nlbse23": 20, "nlbse24": 1, "faun-eval": 3}
    comments = [task for task in load_tasks().values() if task.source.reader == "nlbse23_comments"]
    languages = Counter(task.settings["language"] for task in comments)
    assert languages == {"java": 7, "pharo": 7, "python": 5}
    # Table II's last lines.
    for language, train, test in (
        ("java", (2_263, 11_246), (582, 2_835)),
        ("pharo", (1_621, 8_229), (422, 2_083)),
        ("python", (2_280, 7_912), (584, 1_999)),
    ):
        tasks = [task for task in comments if task.settings["language"] == language]
        for split, expected in (("train", train), ("test", test)):
            sums = [
                sum(task.counts[f"{split}/{task.label_names[at]}"] for task in tasks)
                for at in (0, 1)
            ]
            assert tuple(sums) == expected, (language, split)
    for name in ("qa", "fault_localization", "code_edit"):
        assert find_task(name).source.access == "built"


def test_every_shipped_task_is_in_order() -> None:
    checked = check_files()
    assert not checked.problems
    assert checked.tasks == len(load_tasks()) == 42
    for task in load_tasks().values():
        assert len(task.prompt.examples) >= 4
        assert len(task.prompt.negative_examples) >= 4
        assert task.type not in CLASSIFICATION or task.labels


def test_sources_take_the_files_that_their_tasks_name() -> None:
    tasks = load_tasks()
    for task in tasks.values():
        if task.source.reader and task.source.files:
            source, files = task.source.dataset, [Path(name) for name in task.source.files]
            chosen = files_by_task(source, tasks_of_source(source, tasks), files)
            assert chosen[task.name] == files


def test_a_task_comes_back_from_plain_data() -> None:
    for task in load_tasks().values():
        assert task_of(asdict(task), "provenance.json") == task


def test_prompts_are_filled_once() -> None:
    task = find_task("bug_issue")
    filled = task.prompt.fill("{context} {text} {x}")
    assert filled.startswith(
        "In the context of software development repositories, classify the next issue as "
        "'bug' or 'not a bug'. Answer only with the selected class without quotation marks.\n"
    )
    assert filled.endswith("\n\nISSUE:\n{context} {text} {x}\n")


def test_an_own_task_is_one_file(tmp_path: Path) -> None:
    own_task(tmp_path)
    assert find_task("toy_issues", tmp_path).label_names == ("bug", "wish")
    assert len(load_tasks(tmp_path)) == len(load_tasks()) + 1
    assert not check_files(tmp_path).problems
    assert load_tasks(tmp_path / "none") == load_tasks()


def test_the_name_of_a_shipped_task_is_taken(tmp_path: Path) -> None:
    own_task(tmp_path, name="sentiment")
    with pytest.raises(UsageError, match=r"sentiment\.toml has the name of a task that ships"):
        load_tasks(tmp_path)
    assert "bears this name" in str(check_files(tmp_path).problems[0])


@pytest.mark.parametrize(
    ("old", "new", "problem"),
    [
        ("title =", "titel =", r"line 1: the key titel is unknown.*did you mean title"),
        ('license = "MIT"\n', "", r"source\.license is missing\. Add it"),
        ("total = 4", 'total = "many"', r"counts\.total: .*integer"),
        ('entity = "ISSUE"', 'entitty = "ISSUE"', r"prompt\.entitty is unknown.*mean entity"),
        ("[counts]", "name = 'x'\n[counts]", "name is given twice"),
        ('["It fell apart", "bug", "Something broke."],', "['a', 'b'],", r"prompt\.examples\[0\]"),
    ],
)
def test_a_file_of_another_form_is_told_by_key(
    tmp_path: Path, old: str, new: str, problem: str
) -> None:
    path = own_task(tmp_path, (old, new))
    with pytest.raises(UsageError, match=rf"(?s)toy_issues\.toml.*{problem}"):
        load_tasks(tmp_path)
    problems = check_files(tmp_path).problems
    assert [problem.task for problem in problems] == [path.stem]


@pytest.mark.parametrize(
    ("old", "new", "key", "problem"),
    [
        ('"label:wish" = 2', '"label:hope" = 2', "counts", "counts nothing that is known"),
        ('name = "wish"', 'name = "bug"', "labels", "two labels share the name 'bug'"),
        ('"white_space"', '"wite_space"', "steps", "no step 'wite_space'"),
        ("stratified:0.5,0.5", "stratified:0.5", "split", "not a way to split"),
        ('"Make it red", "wish"', '"Make it red", "hope"', "prompt.examples", "not one of"),
        ('"It fell apart", "wish"', '"It fell apart", "bug"', "prompt.negative_examples", "too"),
        ("year = {2024}", "year = {2024", "source.citation", "braces"),
        ("author", "writer", "source.citation", "has no author"),
        ('"MIT"', '"MTI"', "source.license", "not a license that is known"),
        ('reader = "table"', 'reader = "tabel"', "source.reader", "no reader"),
        ('{ "B" = "bug"', '{ "B" = "bugs"', "settings.labels", "no label 'bugs'"),
        ("labels = {", "lables = {", "settings", "no setting 'lables'"),
        ('["kind"]', '["kind", "sort"]', "columns.target", "do not fit"),
        ('entity = "ISSUE"', 'entity = "ISSUE"\ntemplate = "{txt}"', "prompt.template", "no part"),
    ],
)
def test_what_is_wrong_in_a_file_is_found(
    tmp_path: Path, old: str, new: str, key: str, problem: str
) -> None:
    own_task(tmp_path, (old, new))
    problems = check_files(tmp_path).problems
    (found,) = (entry for entry in problems if entry.key == key and problem in str(entry))
    assert found.task == "toy_issues"


def test_a_binary_task_has_two_labels() -> None:
    three = ISSUES.replace("multi-class", "binary") + '[[labels]]\nname = "a"\ndescription = "b"\n'
    parse_task("toy.toml", ISSUES.replace("multi-class", "binary"))
    assert len(parse_task("toy.toml", three).labels) == 3
    with pytest.raises(UsageError, match="not a name for a task"):
        parse_task("Toy-Task.toml", ISSUES)


def test_bibtex_is_read_roughly() -> None:
    entry = "@misc{a, title = {x {Y}}, author = {A}, year = 2020}"
    assert bibtex_problem(f"{entry}\n\n{entry}") == ""
    assert "empty" in bibtex_problem(" ")
    assert "begins no entry" in bibtex_problem("title = {x}")
    assert "has no year" in bibtex_problem("@misc{a, title = {year = 1}, author = {A}}")
    assert bibtex_problem("@misc{a," + "{" * 100_000)


def test_the_documentation_tells_every_key_task_step_and_reader() -> None:
    pages = (ROOT / "docs" / "reference" / name for name in ("task-files.md", "files.md"))
    text = "".join(page.read_text(encoding="utf-8") for page in pages)
    keys = [
        field.name
        for kind in (Task, TaskSource, TaskPrompt, TaskColumns, Label)
        for field in fields(kind)
    ]
    for name in (*keys, *STEPS, *readers(), *SETTINGS):
        assert name in ("name",) or f"`{name}`" in text, name


@pytest.fixture
def task(tmp_path: Path) -> Task:
    own_task(tmp_path / "tasks")
    return find_task("toy_issues", tmp_path / "tasks")


def imported(directory: Path, task: Task, *, split: str = "", seed: int = 42) -> TaskData:
    path = directory / "toy.csv"
    lines = [f"issue {number},{number % 7},{'BBBW'[number % 4]}\n" for number in range(400)]
    path.write_text("title,body,kind\n" + "".join(lines), encoding="utf-8")
    result = import_files(
        WorkspaceLayout(directory / "w"), task, [path], Reporter(quiet=True), split=split, seed=seed
    )
    return read_task_data(result.written.directory, task)


def labels(table: pa.Table) -> dict[str, int]:
    return dict(Counter(table.column("label").to_pylist()))


def test_hashes_tell_rows_and_splits_apart(tmp_path: Path, task: Task) -> None:
    first = imported(tmp_path, task)
    again = imported(tmp_path, task)
    other = imported(tmp_path, task, seed=1)
    assert (first.data_hash, first.split_hash) == (again.data_hash, again.split_hash)
    assert first.split == "stratified:0.5,0.5, seed 42"
    assert other.split == "stratified:0.5,0.5, seed 1"
    assert imported(tmp_path, task, split="none").split == "none"
    assert first.data_hash == other.data_hash
    assert first.split_hash != other.split_hash
    train = first.splits["train"]
    at = train.schema.get_field_index("text")
    changed = train.set_column(at, "text", pa.array(["x"] * len(train)))
    assert task_data(task, {**first.splits, "train": changed}).data_hash != first.data_hash


def test_validation_is_carved_from_train_with_the_same_shares(tmp_path: Path, task: Task) -> None:
    data = imported(tmp_path, task)
    assert labels(data.splits["train"]) == {"bug": 150, "wish": 50}
    carved = with_validation(data, 0.2, seed=1)
    assert list(carved.splits) == ["train", "validation", "test"]
    assert labels(carved.splits["validation"]) == {"bug": 30, "wish": 10}
    assert labels(carved.splits["train"]) == {"bug": 120, "wish": 40}
    assert carved.splits["test"] == data.splits["test"]
    assert carved.data_hash == data.data_hash
    assert carved.split_hash != data.split_hash
    assert with_validation(data, 0.2, seed=1) == carved
    assert with_validation(data, 0.2, seed=2).split_hash != carved.split_hash
    assert with_validation(carved, 0.5, seed=3) is carved


def test_validation_needs_a_share_and_a_train_split(tmp_path: Path, task: Task) -> None:
    data = imported(tmp_path, task)
    for share in (0, 1, -0.5):
        with pytest.raises(UsageError, match="not between 0 and 1"):
            with_validation(data, share, seed=1)
    with pytest.raises(UsageError, match=r"cannot give a share of 0\.0001"):
        with_validation(data, 0.0001, seed=1)
    with pytest.raises(UsageError, match="has no train split"):
        with_validation(imported(tmp_path, task, split="none"), 0.1, seed=1)


def test_another_dataset_is_refused(tmp_path: Path, task: Task) -> None:
    directory = write(tmp_path, QA, [example(QA, 1)]).directory
    with pytest.raises(DatasetError, match=r"holds the dataset qa, not toy_issues"):
        read_task_data(directory, task)
    with pytest.raises(UsageError, match="There is no dataset"):
        read_task_data(tmp_path / "none", task)
    empty = tmp_path / "empty"
    empty.mkdir()
    with pytest.raises(DatasetError, match=r"holds no provenance\.json"):
        read_task_data(empty, task)
    with pytest.raises(DatasetError, match="has no rows"):
        task_data(task, {})


@pytest.mark.parametrize(
    ("family", "name", "texts"),
    [
        (QA, "qa", ("title", "body")),
        (FAULT_LOCALIZATION, "fault_localization", ("title", "body", "tree")),
        (CODE_EDIT, "code_edit", ("title", "body", "pull_title", "pull_body", "file_before")),
    ],
)
def test_families_that_goldpan_builds_are_read_as_tasks(
    tmp_path: Path, family: Family, name: str, texts: tuple[str, ...]
) -> None:
    rows = [example(family, number) for number in range(1, 4)]
    directory = write(tmp_path, family, rows).directory
    task = find_task(name)
    data = read_task_data(directory, task)
    (table,) = data.splits.values()
    assert table.schema == task_family(task).schema
    examples = sorted(table.to_pylist(), key=lambda row: str(row["id"]))
    for row, expected in zip(examples, rows, strict=True):
        assert row["text"] == "\n".join(expected[column] or "" for column in texts)
        assert row["target"] == expected[family.target]
        assert row["repo"] == expected["repo"]


def test_columns_that_a_builder_adds_are_left_out(tmp_path: Path, task: Task) -> None:
    family = task_family(task)
    wider = replace(family, columns=(*family.columns, Column("title", pa.string(), "A title.")))
    row = dict.fromkeys(wider.schema.names) | {"id": "a", "text": "x", "label": "bug"}
    write_dataset(
        WorkspaceLayout(tmp_path),
        tmp_path / "toy",
        wider,
        wider.batches([row]),
        SplitPlan.parse("none"),
        Provenance(),
        CardInputs(),
    )
    (table,) = read_task_data(tmp_path / "toy", task).splits.values()
    assert table.schema == family.schema


def test_built_tasks_lie_under_their_family(tmp_path: Path) -> None:
    workspace = WorkspaceLayout(tmp_path)
    assert task_directory(workspace, find_task("code_edit")) == workspace.dataset("code-edit")
    assert task_directory(workspace, find_task("issue_type")) == workspace.dataset("issue_type")
    workspace.dataset("code_edit").mkdir(parents=True)
    assert task_directory(workspace, find_task("code_edit")) == workspace.dataset("code_edit")
