"""Recipes are read with messages that name the place; cells compare with the print."""

from __future__ import annotations

from pathlib import Path

import pytest

from goldpan.core.errors import GoldpanError, UsageError
from goldpan.reproduce.cells import CellOutcome, fill_table
from goldpan.reproduce.finding import find_recipe, recipe_names
from goldpan.reproduce.recipe import Figure, TableRecipe
from tests.reproducing import write_recipe

TABLE = TableRecipe(
    key="1",
    title="t",
    rows={"a": {"x": Figure(0.5, 3, 0.002), "word": Figure("yes")}, "b": {"x": Figure(0.25, 3)}},
)


def test_every_shipped_recipe_is_whole() -> None:
    for name in recipe_names():
        recipe = find_recipe(name)
        assert recipe.name == name
        assert all(table.compute and table.rows for table in recipe.tables), name


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (('key="toys"', 'key="scores"'), "two files are called 'scores'"),
        (('files=("toys",)', 'files=("tos",)'), "task requirement_type names the file 'tos'"),
        (('kind="baseline"', 'kind="base"'), "kind: Input should be 'baseline'"),
        (('paths=("kit', 'paths=("../kit'), r"paths: '\.\./.*' is not a path below"),
        (('name="nobody"', 'name="No Body"'), "name: String should match"),
        (("PAPER = ", "TOYS = "), "has no recipe called PAPER. Define it as"),
        (('with_name("printed.csv")', 'with_name("no.csv")'), r"no\.csv cannot be read"),
        (("1,toys,A,0.80,", "9,toys,A,0.80,"), "line 2 names the table '9'"),
        (("1,toys,A,0.80,", "1,toys,,0.80,"), "line 2 has no column"),
        (("1,toys,A,0.80,", "1,toys,A,0.80,often"), "'often' is not a tolerance of '0.80'"),
        (("1,toys,B,0.62", "1,toys,A,0.62"), "line 3: 'toys', 'A' of table 1 stands twice"),
        (('key="1"', 'key="3"'), "line 2 names the table '1', which is not in tables"),
    ],
)
def test_what_is_wrong_is_named(tmp_path: Path, change: tuple[str, str], message: str) -> None:
    with pytest.raises(UsageError, match=message):
        find_recipe(str(write_recipe(tmp_path, change)))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (("PAPER = ", "PAPER ="[:-1] + "(("), r"nobody\.py failed at line \d+: SyntaxError"),
        (
            ("def scores(", "unknown\n\n\ndef scores("),
            r"failed at line \d+: NameError: name 'unknown'",
        ),
    ],
)
def test_a_file_that_fails_is_told_by_its_line(
    tmp_path: Path, change: tuple[str, str], message: str
) -> None:
    with pytest.raises(GoldpanError, match=message):
        find_recipe(str(write_recipe(tmp_path, change)))


def test_names_that_are_near_are_suggested(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"no recipe 'selo' \(did you mean selu\?\)"):
        find_recipe("selo")
    with pytest.raises(UsageError, match=r"There is no file .*absent\.py"):
        find_recipe(str(tmp_path / "absent.py"))
    recipe = find_recipe(str(write_recipe(tmp_path)))
    with pytest.raises(UsageError, match=r"there is no table '9'. Choose 1 or 2"):
        recipe.find_tables(["9"])
    assert [table.key for table in recipe.find_tables(["2", "2"])] == ["2"]


def test_cells_say_how_far_they_are_from_the_print() -> None:
    result = fill_table(TABLE, [CellOutcome("a", "x", 0.5004), CellOutcome("a", "word", "no")])
    figure, text, untested = result.cells
    assert figure.distance == pytest.approx(0.0004)
    assert figure.verdict == "equal"
    assert (text.distance, text.verdict) == (None, "different")
    assert (untested.row, untested.state, untested.verdict) == ("b", "untested", "untested")
    assert result.counts == {"run": 0, "in part": 0, "recomputed": 2, "untested": 1}
    assert result.verdicts == {"equal": 1, "near": 0, "different": 1, "untested": 1}
    for value, verdict in (
        (0.5005, "equal"),
        (0.50051, "near"),
        (0.502, "near"),
        (0.4979, "different"),
    ):
        assert fill_table(TABLE, [CellOutcome("a", "x", value)]).cells[0].verdict == verdict
    for value, verdict in ((0.2505, "equal"), (0.2506, "different")):
        assert fill_table(TABLE, [CellOutcome("b", "x", value)]).cells[2].verdict == verdict


def test_the_outcome_nearest_to_a_run_counts() -> None:
    outcomes = [
        CellOutcome("a", "x", 0.4, "recomputed"),
        CellOutcome("a", "x", 0.6, "in part"),
        CellOutcome("a", "x", None, "untested", "no data"),
    ]
    cell = fill_table(TABLE, outcomes).cells[0]
    assert (cell.here, cell.state) == (0.6, "in part")
    only = fill_table(TABLE, outcomes[2:]).cells[0]
    assert (only.here, only.state, only.note) == (None, "untested", "no data")
