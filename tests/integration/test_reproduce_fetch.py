"""Files of a recipe are fetched from their commit, checked, and left out where that fails."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from goldpan.core.errors import DatasetError
from goldpan.reproduce.data import DataFolder, MissingFileError
from goldpan.reproduce.finding import find_recipe
from tests.local_server import Answer, Server
from tests.reproducing import SCORES, write_recipe

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
