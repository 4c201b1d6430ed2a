"""Files of a recipe are fetched and checked; preprocessed rows take the place of sources."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from goldpan.core.errors import DatasetError
from goldpan.datasets.tasks.registry import find_task
from goldpan.reproduce.data import DataFolder, MissingFileError
from goldpan.reproduce.finding import find_recipe
from goldpan.reproduce.prepare import reading_task
from tests.local_server import Answer, Server
from tests.reproducing import ROWS, SCORES, cells, reproduce, write_data, write_recipe

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
        ('files=("toys",)', 'files=("toys",), preprocessed="cleaned"'),
        (
            "    files=(\n",
            '    files=(\n        SourceFile(key="cleaned", title="cleaned toys", lfs=True,'
            f' paths=("cased/toys.parquet",), sha256=("{digest}",)),\n',
        ),
    )


def reproduced(recipe: Path, folder: Path) -> tuple[int, Any]:
    chosen = ("--table", "2", "--task", "requirement_type")
    return reproduce(recipe, "--data", folder / "data", *chosen, "--workspace", folder / "w")


def cell(result: Any) -> Any:
    return cells(result["tables"][0])["requirement_type", "A"]


def test_the_same_rows_give_the_same_score(tmp_path: Path) -> None:
    recipe = written(tmp_path)
    code, result = reproduced(recipe, tmp_path)
    assert code == 0, "the sources are not needed"
    assert cell(result)["state"] == "run"
    assert [file["source"] for file in result["files"]] == ["cleaned"]
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


def test_columns_are_named_as_the_authors_name_them() -> None:
    read = {
        recipe.task: reading_task(find_task(recipe.task), recipe)
        for recipe in find_recipe("selu").tasks
        if recipe.preprocessed is not None
    }
    for task in read.values():
        if task.type in ("binary", "multi-class"):
            assert sorted(task.settings["labels"].values()) == sorted(task.label_names)
    review, python = read["review_aspect"], read["comment_type_python"]
    assert {"label_onlysentiment", "label_usability"} <= set(review.columns.target)
    assert set(python.columns.target) == {
        "label_usage",
        "label_parameters",
        "label_developmentNotes",
        "label_expand",
        "label_Summary",
    }


PATH = f"/nobody/toys/{'0123456789' * 4}/out/scores.csv"


@pytest.fixture
def files() -> Iterator[Server]:
    """Serve one file of a repository."""
    found = Answer(body=SCORES.encode())
    with Server(lambda asked: found if asked.path == PATH else Answer(404)) as server:
        yield server


def test_a_file_comes_from_its_commit(tmp_path: Path, files: Server) -> None:
    recipe = find_recipe(str(write_recipe(tmp_path)))
    fetched = DataFolder(tmp_path / "data", files.url).fetch(recipe.file("scores"))
    assert fetched.path == tmp_path / "data" / "kit" / "scores.csv"
    assert fetched.state == "as published"
    assert fetched.path.read_text(encoding="utf-8") == SCORES
    with pytest.raises(MissingFileError, match="A file is missing: toys"):
        DataFolder(tmp_path / "data", files.url).fetch(recipe.file("toys"))


def test_another_content_is_not_kept(tmp_path: Path, files: Server) -> None:
    files.behavior = lambda asked: Answer(body=b"model,task\n")
    recipe = find_recipe(str(write_recipe(tmp_path)))
    with pytest.raises(DatasetError, match="which the recipe does not know"):
        DataFolder(tmp_path / "data", files.url).fetch(recipe.file("scores"))
    assert not list((tmp_path / "data").rglob("*.*"))


def test_what_cannot_be_fetched_is_named(tmp_path: Path, files: Server) -> None:
    recipe = find_recipe(str(write_recipe(tmp_path, ("out/scores.csv", "gone.csv"))))
    folder = DataFolder(tmp_path / "data", files.url)
    with pytest.raises(MissingFileError, match=r"gone\.csv cannot be fetched \(.*404"):
        folder.fetch(recipe.file("scores"))
    assert not list((tmp_path / "data").rglob("*.*"))


def test_a_file_in_git_lfs_comes_from_its_server(tmp_path: Path, files: Server) -> None:
    recipe = find_recipe(
        str(write_recipe(tmp_path, ('path="out/scores.csv"', 'path="out/scores.csv", lfs=True')))
    )
    folder = DataFolder(tmp_path / "data", "http://127.0.0.1:1", lfs_server=files.url)
    assert folder.fetch(recipe.file("scores")).state == "as published"
