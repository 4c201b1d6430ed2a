"""Cells that follow from other printed figures, and the recipes of FAUN-Eval and CrossCodeBench."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from goldpan.core.errors import UsageError
from goldpan.core.storage.workspace import WorkspaceLayout
from goldpan.core.terminal import Reporter
from goldpan.reproduce.cells import CellOutcome, PaperContext, outcomes_of
from goldpan.reproduce.data import DataFolder
from goldpan.reproduce.figures import derived
from goldpan.reproduce.recipe import PaperRecipe
from tests.reproducing import cells, reproduce_tables

TABLES = [
    {
        "key": "1",
        "title": "scores",
        "columns": ["A", "B", "Average"],
        "decimals": 1,
        "rows": {"full": [0.4, 0.5, 0.4], "part": [0.2, 0.4, 0.5], "none": [0.0, "", ""]},
    },
    {
        "key": "changes",
        "title": "percent",
        "columns": ["A", "B"],
        "decimals": 0,
        "rows": {"part": [50.0, 10.0], "none": [1.0, 1.0]},
    },
]


def outcomes(
    tmp_path: Path, table: int, *rules: dict[str, Any]
) -> tuple[list[CellOutcome], list[str]]:
    recipe = PaperRecipe.model_validate(
        {"name": "toys", "schema": 1, "title": "t", "citation": "c", "tables": TABLES}
    )
    workspace = WorkspaceLayout(tmp_path / "w")
    context = PaperContext(recipe, DataFolder(tmp_path), workspace, Reporter(quiet=True))
    found = list(outcomes_of(derived, context, recipe.tables[table], {"rules": list(rules)}))
    return found, context.notes


def test_means_are_compared_within_the_rounding_of_the_print(tmp_path: Path) -> None:
    rule = {"how": "mean", "column": "Average", "columns": ["A", "B"]}
    (full, part), notes = outcomes(tmp_path, 0, rule)
    assert (full.row, full.state) == ("full", "recomputed")
    assert full.value == pytest.approx(0.45)
    assert "however" not in full.note
    assert part.value == pytest.approx(0.3)
    assert "which do not give the print, however they were rounded" in part.note
    assert notes == ["The print does not agree with itself: part, Average."]


def test_changes_are_in_percent_of_another_table(tmp_path: Path) -> None:
    rule = {"how": "change", "table": "1", "rows": ["full", ""]}
    (first, second, gone), notes = outcomes(tmp_path, 1, rule)
    assert first.column == "A"
    assert first.value == pytest.approx(50)
    assert second.value == pytest.approx(20)
    assert second.note.endswith("their rounding explains the distance")
    assert (gone.row, gone.column) == ("none", "A")
    assert gone.value == pytest.approx(100)
    assert notes == ["The print does not agree with itself: none, A."]


def test_ratios_differences_and_units(tmp_path: Path) -> None:
    half = {"how": "ratio", "row": "part", "column": "A", "table": "1", "columns": ["B", "A"]}
    less = {"how": "difference", "row": "part", "column": "B", "table": "1", "rows": ["full", ""]}
    (two, tenth), _ = outcomes(tmp_path, 1, half, less | {"scale": 100})
    assert two.value == pytest.approx(2)
    assert tenth.value == pytest.approx(10)
    with_zero = half | {"rows": ["none"], "columns": ["A", "A"]}
    assert outcomes(tmp_path, 1, with_zero)[0] == []


def test_f1_places_and_figures_with_fewer_digits(tmp_path: Path) -> None:
    rule: dict[str, Any] = {"how": "f1", "row": "part", "column": "Average", "columns": ["A", "B"]}
    (f1,), notes = outcomes(tmp_path, 0, rule)
    assert f1.value == pytest.approx(2 * 0.2 * 0.4 / 0.6)
    assert notes == ["The print does not agree with itself: part, Average."]
    assert outcomes(tmp_path, 0, rule | {"decimals": 0})[1] == [], "rounded to whole numbers"
    none = rule | {"row": "full", "rows": ["none"], "columns": ["A", "A"]}
    assert outcomes(tmp_path, 0, none)[0] == [], "of nothing"
    places, _ = outcomes(tmp_path, 0, {"how": "place", "column": "A", "columns": ["Average"]})
    assert [(cell.row, cell.value) for cell in places] == [("part", 1), ("full", 2)]


def test_effects_are_of_means_and_deviations(tmp_path: Path) -> None:
    rule: dict[str, Any] = {"how": "effect", "row": "part", "column": "A", "table": "1"}
    rule |= {"rows": ["full", "part"], "columns": ["B", "A"]}
    (effect,), _ = outcomes(tmp_path, 1, rule)
    assert effect.value == pytest.approx(0.1 / ((0.4**2 + 0.2**2) / 2) ** 0.5)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"how": "effect"}, "takes the effect of 1 figures, not of 4"),
        ({"how": "median"}, r"rules\[0\]\.how"),
        ({"table": "9"}, "there is no table '9'"),
        ({"columns": ["C"]}, "names 'full', 'C', which table 1 has not"),
        ({"how": "change"}, "takes the change of 1 figures, not of 2"),
    ],
)
def test_a_wrong_rule_is_named(tmp_path: Path, change: dict[str, Any], message: str) -> None:
    with pytest.raises(UsageError, match=message):
        outcomes(tmp_path, 0, {"how": "mean", "columns": ["A"]} | change)


def differing(table: Any) -> set[tuple[str, str]]:
    return {(cell["row"], cell["column"]) for cell in table["cells"] if cell["same"] is False}


def test_faun_eval_agrees_with_itself_but_for_one_change(tmp_path: Path) -> None:
    (tmp_path / "data").mkdir()
    where = ("--data", tmp_path / "data", "--workspace", tmp_path / "w")
    code, tables = reproduce_tables("faun-eval", *where)
    assert code == 0
    assert tables["4"]["counts"]["recomputed"] == 17
    assert differing(tables["5"]) == set()
    assert tables["5-changes"]["counts"]["recomputed"] == 62
    differs = "The print does not agree with itself: QA: ES, IB, DSC-236B."
    assert differs in tables["5-changes"]["notes"]


def test_crosscodebench_counts_follow_from_its_types(tmp_path: Path) -> None:
    file = tmp_path / "data" / "src" / "task" / "category_to_task_type.py"
    file.parent.mkdir(parents=True)
    file.write_text(
        '\nkinds = {"Clones": "Classification -> Binary", "Types": "Classification -> '
        'Multi-label",\n"Fill": "Fill in the blank"}\n\ndef f(name):\n    return kinds[name]\n',
        encoding="utf-8",
    )
    where = ("--data", tmp_path / "data", "--workspace", tmp_path / "w")
    code, tables = reproduce_tables("crosscodebench", *where)
    assert code == 3, "the code is not the authors'"
    assert "category_to_task_type.py is not as published" in tables["3"]["problems"][0]
    counted = cells(tables["3"])
    assert counted["Total", "instances"]["here"] == 54_007_015
    assert counted["Classification", "categories"]["here"] == 2
    assert counted["Fill in the Blank", "categories"]["here"] == 1
    assert counted["Total", "categories"]["here"] == 3
    assert differing(tables["4-evaluation"]) == {("Cat-Intra-CD", "evaluation")}
    assert differing(tables["5"]) == set()
    assert tables["5"]["counts"] == {"run": 0, "in part": 0, "recomputed": 60, "untested": 276}
    file.write_text("import os\nos.remove('x')\n", encoding="utf-8")
    code, tables = reproduce_tables("crosscodebench", "--table", "3", *where)
    assert code == 3
    assert "holds no dictionary" in tables["3"]["problems"][0]
