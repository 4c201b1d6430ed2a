"""Cells that follow from other printed figures: FAUN-Eval's and CrossCodeBench's."""

from __future__ import annotations

from pathlib import Path
from statistics import fmean
from typing import Any

import pytest

from goldpan.reproduce.cells import from_print
from goldpan.reproduce.recipe import Figure, TableRecipe
from tests.reproducing import cells, reproduce_tables

SCORES = TableRecipe(
    key="1",
    title="scores",
    rows={"full": {"A": Figure(0.4, 1), "B": Figure(0.5, 1)}, "none": {"A": Figure("-")}},
)


def test_a_cell_follows_from_others_where_all_are_numbers() -> None:
    both = [("full", "A"), ("full", "B")]
    (mean,) = from_print("full", "Average", SCORES, both, fmean)
    assert mean.value == pytest.approx(0.45)
    assert mean.state == "recomputed"
    assert not list(from_print("x", "y", SCORES, [*both, ("none", "A")], fmean))
    assert not list(from_print("x", "y", SCORES, [*both, ("none", "B")], fmean))
    assert not list(from_print("x", "y", SCORES, both, lambda figures: None))
    assert not list(from_print("x", "y", SCORES, [], fmean))


def differing(table: Any) -> set[tuple[str, str]]:
    return {
        (cell["row"], cell["column"]) for cell in table["cells"] if cell["verdict"] == "different"
    }


def test_faun_eval_agrees_with_itself_but_for_one_change(tmp_path: Path) -> None:
    (tmp_path / "data").mkdir()
    where = ("--data", tmp_path / "data", "--workspace", tmp_path / "w")
    code, tables = reproduce_tables("faun-eval", *where)
    assert code == 0
    assert tables["4"]["counts"]["recomputed"] == 17
    assert differing(tables["5"]) == set()
    assert tables["5-changes"]["counts"]["recomputed"] == 62
    assert differing(tables["5-changes"]) == {("QA: ES, IB", "DSC-236B")}


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
