"""Rows that the authors publish after preprocessing take the place of their sources."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from goldpan.datasets.registry import find_task
from goldpan.datasets.task import Task
from goldpan.reproduce.prepare import reading_task
from goldpan.reproduce.recipe import find_recipe
from tests.invoking import invoke
from tests.reproducing import ROWS, write_data, write_recipe

pytest.importorskip("sklearn")

POINTER = "version https://git-lfs.github.com/spec/v1\noid sha256:00\nsize 1\n"


def written(folder: Path, *, pointer: bool = False) -> Path:
    """Write a recipe whose task has preprocessed rows, and these rows; return the recipe."""
    rows = pa.table(
        {"id": list(range(40)), "text_clean": ROWS, "label": [number % 2 for number in range(40)]}
    )
    path = folder / "data" / "clone" / "cased" / "toys.parquet"
    path.parent.mkdir(parents=True)
    pq.write_table(rows, path)
    digest = hashlib.sha256(path.read_bytes()).hexdigest()
    if pointer:
        path.write_text(POINTER, encoding="utf-8")
    return write_recipe(
        folder,
        ('files = ["toys"]', 'files = ["toys"]\npreprocessed = "cleaned"'),
        (
            '[[tasks]]\ntask = "requirement_type"',
            '[[files]]\nkey = "cleaned"\ntitle = "cleaned toys"\npaths = ["cased/toys.parquet"]\n'
            f'sha256 = ["{digest}"]\nlfs = true\n\n[[tasks]]\ntask = "requirement_type"',
        ),
    )


def reproduced(recipe: Path, folder: Path) -> tuple[int, Any]:
    arguments = ["reproduce", str(recipe), "--data", str(folder / "data"), "--table", "2"]
    arguments += ["--task", "requirement_type", "--workspace", str(folder / "w"), "--json"]
    done = invoke(*arguments)
    return done.exit_code, json.loads(done.stdout)


def cell(result: Any) -> Any:
    (match,) = [
        entry
        for entry in result["tables"][0]["cells"]
        if (entry["row"], entry["column"]) == ("requirement_type", "A")
    ]
    return match


def test_the_same_rows_give_the_same_score(tmp_path: Path) -> None:
    recipe = written(tmp_path)
    code, result = reproduced(recipe, tmp_path)
    assert code == 0, "the sources are not needed"
    assert cell(result)["state"] == "run"
    assert [file["key"] for file in result["files"]] == ["cleaned"]
    write_data(tmp_path / "data" / "sources")
    (tmp_path / "data" / "clone" / "cased" / "toys.parquet").unlink()
    code, sources = reproduced(recipe, tmp_path)
    assert code == 0, "the preprocessed rows are not needed"
    assert cell(sources)["here"] == cell(result)["here"]


def test_without_either_both_are_named(tmp_path: Path) -> None:
    recipe = written(tmp_path)
    (tmp_path / "data" / "clone" / "cased" / "toys.parquet").unlink()
    code, result = reproduced(recipe, tmp_path)
    assert code == 3
    assert [entry["key"] for entry in result["missing"]] == ["cleaned", "toys"]
    assert "or get the sources instead" in result["missing"][0]["remedy"]


def test_a_pointer_of_git_lfs_is_no_data(tmp_path: Path) -> None:
    recipe = written(tmp_path, pointer=True)
    code, result = reproduced(recipe, tmp_path)
    assert code == 3
    assert "git lfs pull" in result["tables"][0]["problems"][0]
    write_data(tmp_path / "data" / "sources")
    code, result = reproduced(recipe, tmp_path)
    assert (code, cell(result)["state"]) == (0, "run"), "the sources take its place"


def multi_label(name: str) -> Task:
    recipe = find_recipe("selu").task(name)
    assert recipe is not None
    return reading_task(find_task(name), recipe)


def test_columns_are_named_as_the_authors_name_them() -> None:
    selu = find_recipe("selu")
    for recipe in selu.tasks:
        if recipe.preprocessed is None:
            continue
        task = reading_task(find_task(recipe.task), recipe)
        if task.type in ("binary", "multi-class"):
            assert sorted(task.settings["labels"].values()) == sorted(task.label_names)
    review = multi_label("review_aspect")
    assert {"label_onlysentiment", "label_usability"} <= set(review.columns.target)
    python = multi_label("comment_type_python")
    assert set(python.columns.target) == {
        "label_usage",
        "label_parameters",
        "label_developmentNotes",
        "label_expand",
        "label_Summary",
    }
