"""Recipes are read with messages that name the key; cells compare with the print."""

from __future__ import annotations

from pathlib import Path

import pytest

from goldpan.core.errors import UsageError
from goldpan.reproduce.cells import COMPUTATIONS, CellOutcome, count_states, fill_table
from goldpan.reproduce.recipe import TableRecipe, find_recipe, find_tables, recipe_names
from tests.reproducing import write_recipe

TABLE = TableRecipe(
    key="1", title="t", columns=("x", "word"), rows={"a": (0.5, "yes"), "b": (0.25, None)}
)


def test_every_shipped_recipe_is_whole() -> None:
    for name in recipe_names():
        recipe = find_recipe(name)
        methods = {compute.method for table in recipe.tables for compute in table.compute}
        assert methods <= set(COMPUTATIONS.names()), name


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (("schema = 1", "schema = 2"), "schema: Input should be 1"),
        (('key = "toys"', 'key = "scores"'), "two files are called 'scores'"),
        (('files = ["toys"]', 'files = ["tos"]'), "task requirement_type names the file 'tos'"),
        (("toys = [0.80, 0.62]", "toys = [0.80]"), r"tables\[0\]: row 'toys' has 1 values for 2"),
        (
            ("gpus = 2", "gpu = 2"),
            r"line \d+: the key models\[1\]\.gpu is unknown\. Did you mean gpus",
        ),
        (('kind = "baseline"', 'kind = "base"'), r"models\[0\]\.kind: Input should be 'baseline'"),
        (("[[tables]]", "[[tables"), "is not valid TOML"),
        (('paths = ["', 'paths = ["../'), r"files\[0\]\.paths: '\.\./.*' is not a path below"),
        (('paths = ["', 'paths = ["/'), r"files\[0\]\.paths: '/.*' is not a path below a folder"),
        (('commit = "0', 'commit = "x'), r"files\[0\]\.commit: String should match"),
    ],
)
def test_what_is_wrong_is_named(tmp_path: Path, change: tuple[str, str], message: str) -> None:
    with pytest.raises(UsageError, match=message):
        find_recipe(str(write_recipe(tmp_path, change)))


def test_names_that_are_near_are_suggested(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"no recipe 'selo' \(did you mean selu\?\)"):
        find_recipe("selo")
    with pytest.raises(UsageError, match=r"absent\.toml cannot be read"):
        find_recipe(str(tmp_path / "absent.toml"))
    recipe = find_recipe(str(write_recipe(tmp_path)))
    with pytest.raises(UsageError, match=r"there is no table '9'. Choose 1 or 2"):
        find_tables(recipe, ["9"])
    assert [table.key for table in find_tables(recipe, ["2", "2"])] == ["2"]
    with pytest.raises(UsageError, match="is not a name for a recipe"):
        find_recipe(str(write_recipe(tmp_path).rename(tmp_path / "No Body.toml")))


def test_cells_say_how_far_they_are_from_the_print() -> None:
    result = fill_table(
        TABLE, [CellOutcome("a", "x", 0.5004, "run"), CellOutcome("a", "word", "no", "run")]
    )
    figure, text, untested = result.cells
    assert figure.distance == pytest.approx(0.0004)
    assert figure.same is True
    assert (text.distance, text.same) == (None, False)
    assert (untested.row, untested.state, untested.same) == ("b", "untested", None)
    assert count_states([result]) == {"run": 2, "in part": 0, "recomputed": 0, "untested": 1}
    assert result.differing() == (text,)
    for value, same in ((0.5005, True), (0.50051, False)):
        assert fill_table(TABLE, [CellOutcome("a", "x", value, "run")]).cells[0].same is same


def test_the_outcome_nearest_to_a_run_counts() -> None:
    outcomes = [
        CellOutcome("a", "x", 0.4, "recomputed"),
        CellOutcome("a", "x", 0.6, "in part"),
        CellOutcome("a", "x", None, "untested", "no data"),
    ]
    cell = fill_table(TABLE, outcomes).cells[0]
    assert (cell.here, cell.state) == (0.6, "in part")
    assert [other.value for other in cell.others] == [0.4]
    only = fill_table(TABLE, outcomes[2:]).cells[0]
    assert (only.here, only.state, only.note) == (None, "untested", "no data")


def test_an_outcome_of_no_cell_is_a_mistake() -> None:
    with pytest.raises(ValueError, match="has no cell 'z', 'x'"):
        fill_table(TABLE, [CellOutcome("z", "x", 1.0, "run")])
