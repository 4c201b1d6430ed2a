"""SELU's recipe: what it names is there, prompts are the authors', published tables come out."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from pathlib import Path

import pytest

from goldpan.core.errors import DatasetError
from goldpan.core.storage.workspace import WorkspaceLayout
from goldpan.core.terminal import Reporter
from goldpan.datasets.tasks.registry import find_task, load_tasks
from goldpan.reproduce.cells import Effort, PaperContext
from goldpan.reproduce.data import DataFolder
from goldpan.reproduce.finding import find_recipe
from goldpan.reproduce.prepare import expected_counts, prepared, with_prompt
from goldpan.text.preprocessing import STEPS
from tests.places import DATA
from tests.reproducing import reproduce

pytest.importorskip("sklearn")
SELU = find_recipe("selu")
REASON = f"{DATA / 'selu'} is missing; set GOLDPAN_REAL_DATA to the real data's folder"
needs_scores = pytest.mark.skipif(not (DATA / "selu" / "scores.csv").exists(), reason=REASON)


def context(data: Path, workspace: Path) -> PaperContext:
    return PaperContext(SELU, DataFolder(data), WorkspaceLayout(workspace), Reporter(quiet=True))


def test_tasks_labels_and_steps_are_those_of_the_registry() -> None:
    tasks = load_tasks()
    assert len(SELU.tasks) == 16
    for recipe in SELU.tasks:
        task = tasks[recipe.task]
        counts = expected_counts(recipe, task)
        assert counts["total"] == task.counts["total"]
        labels = {name.partition(":")[2] for name in counts if name != "total"}
        assert labels <= set(task.label_names)
        assert set(recipe.answers) <= set(task.label_names)
        assert set(recipe.split.labels) in (set(), set(task.label_names))
        assert isinstance(recipe.steps, str) or set(recipe.steps) <= set(STEPS)


def test_22_open_models_are_a_list_to_run() -> None:
    kinds = Counter(model.kind for model in SELU.models)
    assert kinds == {"fine-tuned": 22, "prompted": 2, "baseline": 2}
    for model in SELU.models:
        if model.kind == "fine-tuned":
            assert model.hub
            assert model.parameters
    titles = {model.title for model in SELU.models}
    assert set(SELU.table("4").columns) == titles


def test_prompts_are_read_from_the_authors_file(tmp_path: Path) -> None:
    folder = tmp_path / "clone" / "prompt_templates"
    folder.mkdir(parents=True)
    (folder / "tone_bearing.txt").write_text("Tone of {text}?\n{context}", encoding="utf-8")
    recipe = SELU.task("tone_bearing")
    assert recipe is not None
    environment = context(tmp_path, tmp_path / "w")
    task = with_prompt(environment, find_task("tone_bearing"), recipe)
    assert task.prompt.fill("a {text}").startswith("Tone of a {text}?\n")
    assert [label.text for label in task.labels] == ["non-technical", "technical"]
    (folder / "tone_bearing.txt").write_text("Tone?", encoding="utf-8")
    with pytest.raises(DatasetError, match="has no place for the text"):
        with_prompt(context(tmp_path, tmp_path / "w"), find_task("tone_bearing"), recipe)
    assert with_prompt(context(tmp_path / "none", tmp_path), task, recipe) is task


def civility(folder: Path, texts: int) -> Path:
    """Write the four files of incivility with so many texts in all; return the folder."""
    folder.mkdir()
    names = ("lkml_civil", "lkml_uncivil", "gh_civil", "gh_uncivil")
    for number, name in enumerate(names):
        kind = name.partition("_")[2]
        lines = [f"{at},words {name}  {at},{kind}" for at in range(number, texts, len(names))]
        text = "\n".join([",quotation,quotation_code", *lines])
        (folder / f"{name}.csv").write_text(text + "\n", encoding="utf-8")
    return folder


def test_rows_are_split_and_prepared_as_the_recipe_says(tmp_path: Path) -> None:
    recipe = SELU.task("incivility")
    assert recipe is not None
    recipe = recipe.model_copy(update={"counts": {"total": 40, "label:civil": 20}})
    environment = context(civility(tmp_path / "data", 40), tmp_path / "w")
    ready = prepared(environment, recipe)
    assert {name: len(rows) for name, rows in ready.data.splits.items()} == {"train": 32, "test": 8}
    assert Counter(ready.data.splits["test"]["label"].to_pylist()) == {"civil": 4, "uncivil": 4}
    assert all("  " not in text for text in ready.data.splits["test"]["text"].to_pylist())
    again = prepared(environment, recipe)
    assert again.data.split_hash == ready.data.split_hash
    other = recipe.model_copy(update={"split": recipe.split.model_copy(update={"seed": 7})})
    assert prepared(environment, other).data.split_hash != ready.data.split_hash
    few = replace(environment, effort=Effort(limit=20))
    assert sum(map(len, prepared(few, recipe).data.splits.values())) == 20


def test_a_split_that_is_missing_is_told_and_one_of_other_rows_refused(tmp_path: Path) -> None:
    recipe = SELU.task("incivility")
    assert recipe is not None
    split = {"kind": "file", "file": "split-incivility", "column": "fold_1", "test": "2"}
    recipe = type(recipe).model_validate(
        {**recipe.model_dump(), "counts": {"total": 40}, "split": split}
    )
    data = civility(tmp_path / "data", 40)
    files = "lkml_civil.csv, lkml_uncivil.csv and 2 more are not as published"
    uncounted = "labels were not counted: the recipe has their total only"
    notes = prepared(context(data, tmp_path / "w"), recipe).notes
    assert notes == ("a split by Goldpan, as the authors' is missing", files, uncounted)
    (data / "splits").mkdir()
    folds = data / "splits" / "incivility.k-fold.5k.csv"
    folds.write_text("fold_1\n" + "2\n" * 3 + "1\n" * 37, encoding="utf-8")
    ready = prepared(context(data, tmp_path / "w"), recipe)
    assert ready.notes == (
        "lkml_civil.csv, lkml_uncivil.csv and 3 more are not as published",
        uncounted,
    )
    rows = ready.data.splits["test"]["source"].to_pylist()
    assert rows == ["lkml_civil.csv:1", "lkml_civil.csv:2", "lkml_civil.csv:3"]
    folds.write_text("fold_1\n2\n1\n", encoding="utf-8")
    with pytest.raises(DatasetError, match="splits 2 rows, and there are 40"):
        prepared(context(data, tmp_path / "w"), recipe)


@pytest.mark.real_data
@needs_scores
def test_tables_3_to_5_come_out_of_the_published_scores(tmp_path: Path) -> None:
    tables = [part for key in ("3", "4", "5") for part in ("--table", key)]
    _, result = reproduce("selu", *tables, "--no-run", "--data", DATA, "--workspace", tmp_path)
    third, fourth, fifth = result["tables"]
    assert third["counts"]["recomputed"] == len(third["cells"]) == 156
    assert third["verdicts"]["equal"] == 156
    assert [len(table["cells"]) for table in (fourth, fifth)] == [390, 20]
    differing = [
        cell for table in (fourth, fifth) for cell in table["cells"] if cell["verdict"] != "equal"
    ]
    assert ("bug_issue", "FastText") in [(cell["row"], cell["column"]) for cell in differing]
    assert len(differing) == 22
    assert {cell["verdict"] for cell in differing} == {"near"}
    assert max(abs(cell["distance"]) for cell in differing) < 0.0008
    assert any("stands twice on incivility" in note for note in fourth["notes"])
    assert result["missing"] == []
    assert {file["state"] for file in result["files"]} == {"as published"}


@pytest.mark.real_data
@needs_scores
def test_the_kits_prompts_and_models_are_as_published(tmp_path: Path) -> None:
    environment = context(DATA, tmp_path)
    for source in SELU.files:
        if source.key.startswith("prompt-") or source.key == "models":
            assert environment.file(source.key).state == "as published", source.key
