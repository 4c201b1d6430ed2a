"""Splits of tasks, what is drawn of them, and what must not be on both sides."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
import yaml  # type: ignore[import-untyped]
from hypothesis import given
from hypothesis import strategies as st

from goldpan.core.errors import DatasetError, UsageError
from goldpan.core.storage.workspace import WorkspaceLayout
from goldpan.core.terminal import Reporter
from goldpan.datasets.hub.check import check_dataset
from goldpan.datasets.provenance import read_provenance
from goldpan.datasets.tasks.wording import find_method
from goldpan.papers.crosscodebench.build import CrossCodeResult, build_split, find_tasks
from goldpan.papers.crosscodebench.instances import Instance
from goldpan.papers.crosscodebench.kinds import find_kind
from goldpan.papers.crosscodebench.meta import Meta
from goldpan.papers.crosscodebench.prompts import CrossSettings
from goldpan.papers.crosscodebench.splits import (
    assign_tasks,
    draw_instances,
    find_split,
    shipped_splits,
)
from goldpan.papers.crosscodebench.task_files import TaskDataset, export_tasks
from tests.crosscode_tasks import make_task, sample_rows, write_public, write_rows
from tests.places import files_below

QUIET = Reporter(quiet=True)
WORDS = "alpha beta gamma delta epsilon zeta eta theta iota kappa lambda mu nu xi omicron pi rho"


def meta(number: int, kind: str, category: str, source: str = "") -> Meta:
    parsed = find_kind(kind.split(" -> "))
    assert parsed is not None
    stem = f"task_{number:03}_{source or number}_x"
    return Meta(stem, parsed, "Do it", "Do it so.", source or f"data-{number}", (category,))


def paper_tasks() -> list[Meta]:
    """Return 216 tasks in the numbers of Table III, with the categories that Table IV names."""
    plan = [
        ("Classification -> Binary", "Detection -> Clone Detection", 1),
        ("Classification -> Binary", "Detection -> Defect Detection", 16),
        ("Classification -> Multi-label", "Detection -> Bug Type", 4),
        ("Fill in the Blank", "Fill in the blank -> Method Name", 10),
        ("Translation", "Translation", 94),
        ("Generation -> Rewrite", "Code Modification -> Bug Fixing", 9),
        ("Generation -> Rewrite", "Code Modification -> Mutation Injection", 1),
        ("Generation -> Text-to-Code", "Code Generation", 41),
        ("Generation -> Code-to-Text", "Generation -> Commit Message", 2),
        ("Summarization", "Summarization", 34),
        ("Type Prediction", "Named Entity Recognition -> Type Prediction", 2),
        ("Question Answering", "Question Answering", 2),
    ]
    kinds = [(kind, category) for kind, category, count in plan for _ in range(count)]
    return [meta(number, *kind) for number, kind in enumerate(kinds, 1)]


def test_the_ten_splits_have_the_papers_counts() -> None:
    metas = paper_tasks()
    assert len(metas) == 216
    assert len(shipped_splits()) == 10
    for name, split in shipped_splits().items():
        assigned = assign_tasks(name, split, metas)
        assert (len(assigned.train), len(assigned.evaluation)) == split.paper, name
        assert assigned.left_out == ()
        assert not {task.stem for task in assigned.train} & {
            task.stem for task in assigned.evaluation
        }


def test_a_shared_source_keeps_a_task_out_of_training() -> None:
    metas = [
        meta(1, "Translation", "Translation", "Code_Trans"),
        meta(2, "Summarization", "Summarization", "code-trans"),
        meta(3, "Summarization", "Summarization", "other"),
    ]
    assigned = assign_tasks("Type-Trans", shipped_splits()["Type-Trans"], metas)
    assert [task.number for task in assigned.train] == [3]
    (left_out,) = assigned.left_out
    assert (left_out.task, left_out.shared_with) == (metas[1].stem, metas[0].stem)


def test_an_empty_side_is_named() -> None:
    metas = [meta(1, "Generation -> Rewrite", "Code Editing"), meta(2, "Translation", "x")]
    assigned = assign_tasks("Cat-Intra-BF", shipped_splits()["Cat-Intra-BF"], metas)
    assert ([task.number for task in assigned.train], assigned.empty) == ([1], "evaluation")
    assigned = assign_tasks("Cat-Intra-CD", shipped_splits()["Cat-Intra-CD"], metas)
    assert assigned.empty == "training and evaluation"


def test_splits_are_asked_for_in_any_case() -> None:
    assert find_split("type-qa") == "Type-QA"
    with pytest.raises(UsageError, match="did you mean Type-QA"):
        find_split("type-qs")


def instances(count: int) -> list[Instance]:
    return [Instance(f"input {at}", "out", "train", str(at)) for at in range(count)]


@given(st.integers(0, 60), st.integers(0, 40), st.integers(1, 20), st.integers(0, 3))
def test_what_is_drawn_stays_as_data_grow(small: int, more: int, cap: int, seed: int) -> None:
    few, many = instances(small), instances(small + more)
    before, _ = draw_instances(few, "t", cap, seed, frozenset())
    after, _ = draw_instances(many, "t", cap, seed, frozenset())
    assert len(after) == min(cap, small + more)
    assert {index for index in after if index < small} <= before
    assert draw_instances(few, "t", cap, seed, frozenset())[0] == before


def test_draws_differ_by_seed_and_leave_out_what_is_shown() -> None:
    many = instances(1000)
    draws = [draw_instances(many, "t", 100, seed, frozenset())[0] for seed in range(5)]
    assert len(set(draws)) == 5
    everywhere = sum(sum(places) for places in draws) / 500
    assert 400 < everywhere < 600
    places, counts = draw_instances(many, "t", 1000, 0, frozenset({"input 3", "input 7"}))
    assert (len(places), counts["shown"]) == (998, 2)
    assert not places & {3, 7}


def public(directory: Path, number: int, kind: list[str], texts: list[str], **more: Any) -> None:
    """Write a task whose inputs are these texts."""
    rows = [
        {"input": text, "output": f"answer {at}", "split": "train", "idx": at}
        for at, text in enumerate(texts)
    ]
    stem = f"task_{number:03}_set{number}_{kind[0].lower()}"
    write_public(directory, stem, rows, Type=kind, **{"Source": [f"set{number}"], **more})


def sentences(start: int, count: int) -> list[str]:
    """Return texts none of which is like another."""
    return [" ".join(f"{word}{start + at}" for word in WORDS.split()) for at in range(count)]


def built(tmp_path: Path, output: str = "split", **changes: Any) -> CrossCodeResult:
    tasks = find_tasks([tmp_path / "files"])
    splits = shipped_splits()
    assigned = assign_tasks("Type-Trans", splits["Type-Trans"], [task.meta for task in tasks])
    settings_of = CrossSettings(find_method("2-shot"), **changes)
    workspace = WorkspaceLayout(tmp_path / "w")
    return build_split(workspace, tasks, assigned, settings_of, tmp_path / output, QUIET)


def column(directory: Path, side: str, name: str) -> list[Any]:
    paths = sorted((directory / "data").glob(f"{side}-*.parquet"))
    return [value for path in paths for value in pq.read_table(path)[name].to_pylist()]


def test_leaking_training_instances_are_dropped_and_counted(tmp_path: Path) -> None:
    files = tmp_path / "files"
    tested = sentences(0, 20)
    near = tested[3] + " tau"
    public(files, 1, ["Translation"], tested)
    public(files, 2, ["Summarization"], [*sentences(100, 10), tested[5], near])
    result = built(tmp_path)
    assert result.leaking == {"exact": 1, "near": 1}
    assert [count.leaking for count in result.train] == [2]
    assert column(result.directory, "train", "input") == sentences(100, 10)
    assert sorted(column(result.directory, "test", "input")) == sorted(tested)
    provenance = read_provenance(result.directory)
    assert provenance["counts"]["leaking_exact"] == 1
    assert provenance["train"][0]["drawn"] == 12
    assert provenance["settings"]["seed"] == 0
    assert set(provenance["inputs"]) == {path.name for path in files.iterdir()}


def test_only_what_is_evaluated_counts_as_leaking(tmp_path: Path) -> None:
    texts = sentences(0, 30)
    public(tmp_path / "files", 1, ["Translation"], texts)
    public(tmp_path / "files", 2, ["Summarization"], texts)
    result = built(tmp_path, evaluation_cap=5, train_cap=25)
    assert len(column(result.directory, "test", "input")) == 5
    train = set(column(result.directory, "train", "input"))
    assert not train & set(column(result.directory, "test", "input"))
    assert len(train) == 25 - result.leaking["exact"]
    assert result.leaking["near"] == 0


def test_what_examples_show_is_not_asked(tmp_path: Path) -> None:
    texts = sentences(0, 10)
    example = {"input": texts[4], "output": "answer 4", "reason": ""}
    shown: dict[str, Any] = {"Positive Examples": [example]}
    public(tmp_path / "files", 1, ["Translation"], texts, **shown)
    public(tmp_path / "files", 2, ["Summarization"], sentences(50, 3))
    result = built(tmp_path)
    assert (result.evaluation[0].shown, result.evaluation[0].drawn) == (1, 9)
    assert texts[4] not in column(result.directory, "test", "input")


def test_the_same_input_gives_the_same_bytes(tmp_path: Path) -> None:
    public(tmp_path / "files", 1, ["Translation"], sentences(0, 10))
    public(tmp_path / "files", 2, ["Summarization"], sentences(50, 30))
    first = files_below(built(tmp_path, train_cap=10).directory)
    assert files_below(built(tmp_path, train_cap=10).directory) == first
    assert files_below(built(tmp_path, "other", train_cap=10).directory) == first
    assert files_below(built(tmp_path, train_cap=10, seed=1).directory) != first
    assert not list((tmp_path / "w" / "tmp").iterdir())


def test_nothing_is_written_over_what_is_not_ours(tmp_path: Path) -> None:
    public(tmp_path / "files", 1, ["Translation"], sentences(0, 3))
    public(tmp_path / "files", 2, ["Summarization"], sentences(50, 3))
    (tmp_path / "split").mkdir()
    (tmp_path / "split" / "mine.txt").write_text("mine")
    with pytest.raises(DatasetError, match="is not replaced"):
        built(tmp_path)
    with pytest.raises(DatasetError, match="has no task for evaluation"):
        (tmp_path / "files" / "task_001_set1_translation.meta.json").unlink()
        built(tmp_path, "new")
    assert not (tmp_path / "new").exists()
    assert (tmp_path / "split" / "mine.txt").read_text() == "mine"


def test_a_task_in_two_directories_is_refused(tmp_path: Path) -> None:
    for name in ("a", "b"):
        public(tmp_path / name, 1, ["Translation"], sentences(0, 3))
    with pytest.raises(DatasetError, match="describes the task task_001_set1_translation"):
        find_tasks([tmp_path / "a", tmp_path / "b"])


def test_the_card_says_where_prompts_are_from(tmp_path: Path) -> None:
    """Licenses are those of the rows; what only examples show is listed, and so is its license."""
    workspace, files = WorkspaceLayout(tmp_path / "w"), tmp_path / "files"
    tasks = [make_task("asking", "text-generation", category="question_answering")]
    tasks.append(make_task("kinds", "multi-class"))
    places = ("o/shown", "o/other")
    datasets = []
    for task in tasks:
        rows = [
            {**row, "repo": places[number >= 8], "license": ("GPL-3.0", "MIT")[number >= 8]}
            for number, row in enumerate(sample_rows(task, 40))
        ]
        splits = {"train": rows[:8], "test": rows[8:]}  # examples are of the training split
        datasets.append(TaskDataset(task, write_rows(workspace, task, splits)))
    export_tasks(workspace, datasets, files, QUIET)
    read = find_tasks([files])
    assigned = assign_tasks("Type-QA", shipped_splits()["Type-QA"], [task.meta for task in read])
    settings = CrossSettings(find_method("2-shot"), evaluation_cap=5)
    made = build_split(workspace, read, assigned, settings, tmp_path / "made", QUIET)
    card = (made.directory / "README.md").read_text(encoding="utf-8")
    assert "| o/shown | GPL-3.0 |" in card
    assert "| asking | test | Question Answering | asking | MIT | 40 | 5 | 5 |" in card
    assert "of 2 tasks. Follows CrossCodeBench" in card
    (head,) = yaml.safe_load_all(card.split("\n---\n")[0])
    assert head["license"] == ["gpl-3.0", "mit"]
    assert check_dataset(made.directory) == []
    (problem, *_) = check_dataset(made.directory, allowed_licenses=["MIT"])
    assert "of o/shown, whose license is GPL-3.0 and not in the allow-list" in problem.cause


def test_what_examples_alone_show_counts_for_licenses_and_privacy(tmp_path: Path) -> None:
    texts = sentences(0, 10)
    hidden = {"repo": "o/secret", "license": "GPL-3.0"}
    rows = [
        {"input": text, "output": "ok", "split": "train", "idx": number, "facts": hidden}
        if number == 4
        else {"input": text, "output": "ok", "split": "train", "idx": number}
        for number, text in enumerate(texts)
    ]
    example = {"input": texts[4], "output": "ok", "reason": "jane.doe@example-company.com said so"}
    write_public(
        tmp_path / "files",
        "task_001_set1_translation",
        rows,
        Type=["Translation"],
        BibTex=["@misc{a, title={```\n# B}, author={C}, year={2020}}"],
        **{"Source": ["set1"], "Positive Examples": [example]},
    )
    public(tmp_path / "files", 2, ["Summarization"], sentences(50, 3))
    directory = built(tmp_path).directory
    card = (directory / "README.md").read_text(encoding="utf-8")
    assert "| o/secret | GPL-3.0 | 0 |" in card
    assert "title={'''" in card
    problems = [(problem.file, problem.cause) for problem in check_dataset(directory)]
    assert ("tasks/task_001_set1_translation.meta.json", "it holds email") in problems
    assert ("data", "9 examples are of set1, whose license is not known") in problems
    causes = [problem.cause for problem in check_dataset(directory, allowed_licenses=["unknown"])]
    assert any("texts that others quote are of o/secret" in cause for cause in causes)


def test_a_fact_that_is_no_time_is_named(tmp_path: Path) -> None:
    files = tmp_path / "files"
    public(files, 1, ["Translation"], sentences(0, 3))
    public(files, 2, ["Summarization"], sentences(50, 3))
    (path,) = files.glob("task_002*.data.json")
    path.write_text(
        path.read_text().replace('"idx": 1', '"idx": 1, "facts": {"created_at": "now"}')
    )
    with pytest.raises(DatasetError, match=r"Instances\[1\].facts.created_at: 'now' is not a time"):
        built(tmp_path)
