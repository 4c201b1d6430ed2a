"""`goldpan reproduce` on a paper of nobody and on shipped ones: verdicts, states and problems."""

from __future__ import annotations

import json
import lzma
import shutil
from pathlib import Path
from statistics import fmean
from typing import Any

import pytest

from goldpan.core.errors import DatasetError
from goldpan.reproduce.cells import from_print
from goldpan.reproduce.data import DataFolder, MissingFileError
from goldpan.reproduce.finding import find_recipe, recipe_names
from goldpan.reproduce.recipe import Figure, TableRecipe
from tests.invoking import invoke
from tests.places import ROOT
from tests.reproducing import SCORES, cells, reproduce, reproduce_tables, write_data, write_recipe

pytest.importorskip("sklearn")


@pytest.fixture
def toys(tmp_path: Path) -> tuple[object, ...]:
    """Return the words that reproduce the paper of nobody with its data."""
    where = ("--data", write_data(tmp_path / "data"), "--workspace", tmp_path / "w")
    return write_recipe(tmp_path), *where


@pytest.mark.parametrize("name", recipe_names())
def test_each_paper_says_without_data_why_a_cell_is_untested(tmp_path: Path, name: str) -> None:
    code, result = reproduce(name, "--workspace", tmp_path, "--no-run")
    assert code in (0, 3)
    for table in result["tables"]:
        reasons = [*table["notes"], *table["problems"]]
        silent = [
            (cell["row"], cell["column"])
            for cell in table["cells"]
            if cell["state"] == "untested" and not (cell["note"] or reasons)
        ]
        assert not silent, (table["table"], silent[:3])


def test_a_task_of_another_paper_that_is_not_there_is_told(tmp_path: Path) -> None:
    other = ("incivility", "task_of_another_paper")
    recipe = write_recipe(tmp_path, other, (', files=("others",)', ""))
    data = write_data(tmp_path / "data")
    where = ("--data", data, "--workspace", tmp_path / "w")
    _, result = reproduce(recipe, *where, "--table", "2")
    table = cells(result["tables"][0])
    absent = table["task_of_another_paper", "A"]
    assert absent["state"] == "untested"
    assert table["requirement_type", "A"]["state"] == "run"
    assert absent["note"].startswith("There is no task 'task_of_another_paper'")


def test_a_table_stands_beside_the_print(toys: tuple[object, ...]) -> None:
    code, result = reproduce(*toys, "--table", "1")
    assert code == 0
    table = cells(result["tables"][0])
    assert table["toys", "A"]["here"] == 0.8004
    assert (table["toys", "A"]["state"], table["toys", "A"]["verdict"]) == ("recomputed", "equal")
    assert table["points", "A"]["here"] == 0.75
    assert table["toys", "B"]["verdict"] == "different"
    assert table["toys", "B"]["distance"] == pytest.approx(-0.01)
    assert table["other", "A"]["state"] == "untested"
    assert ("points", "B") not in table, "the paper leaves it empty"
    near = write_recipe(Path(str(toys[0])).parent, ("toys,B,0.62,", "toys,B,0.62,0.02"))
    _, result = reproduce(near, *toys[1:], "--table", "1")
    assert result["tables"][0]["verdicts"] == {"equal": 2, "near": 1, "different": 0, "untested": 2}
    (file,) = result["files"]
    assert (file["state"], file["path"]) == ("as published", "scores.csv")


def test_a_score_of_zero_is_a_score(tmp_path: Path) -> None:
    rows = [
        {"model": "A", "task": task, "f1": f1, "error": None}
        for task, f1 in (("toys", 0.0), ("points", None), ("other", 0.1))
    ]
    data = tmp_path / "data" / "kit"
    data.mkdir(parents=True)
    (data / "scores.jsonl").write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")
    recipe = write_recipe(tmp_path, ("kit/scores.csv", "kit/scores.jsonl"))
    _, result = reproduce(recipe, "--data", data.parent, "--workspace", tmp_path, "--table", "1")
    assert cells(result["tables"][0])["toys", "A"]["here"] == 0
    assert not any("no score on toys" in note for note in result["tables"][0]["notes"])


def test_a_cell_without_a_distance_is_named_where_it_alone_differs(tmp_path: Path) -> None:
    recipe = write_recipe(tmp_path, ("toys,B,0.62", "toys,B,-"))
    where = ("--data", write_data(tmp_path / "data"), "--workspace", tmp_path)
    done = invoke("reproduce", recipe, *where, "--table", "1")
    text = " ".join(done.stdout.split())
    assert (
        "2 equal, 1 different, 2 untested; the furthest is toys, B: 0.61 here, - in print" in text
    )


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        (
            ('row["task"], row["model"], float', '"task", row["model"], float'),
            "no cell 'task', 'A'",
        ),
        (
            ('float(row["f1"]))', 'float(row["f1"]) / 0)'),
            "ZeroDivisionError: float division by zero",
        ),
    ],
)
def test_a_function_that_fails_is_a_problem_of_its_table(
    tmp_path: Path, change: tuple[str, str], problem: str
) -> None:
    recipe = write_recipe(tmp_path, change)
    data = write_data(tmp_path / "data")
    code, result = reproduce(recipe, "--data", data, "--workspace", tmp_path / "w")
    assert code == 3
    assert problem in result["tables"][0]["problems"][0]
    assert cells(result["tables"][1])["requirement_type", "A"]["state"] == "run"


def test_a_paper_of_ones_own_is_one_file_and_one_table(tmp_path: Path) -> None:
    folder = shutil.copytree(ROOT / "examples" / "own_paper", tmp_path / "own")
    recipe = folder / "toys.py"
    assert len(recipe.read_text(encoding="utf-8").splitlines()) <= 60
    where = ("--data", folder / "data", "--workspace", tmp_path / "w")
    code, result = reproduce(recipe, *where)
    assert code == 0
    verdicts = {key: cell["verdict"] for key, cell in cells(result["tables"][0]).items()}
    assert verdicts == {
        ("bugs", "SVM"): "equal",
        ("bugs", "LR"): "equal",
        ("tone", "SVM"): "near",
        ("tone", "LR"): "different",
        ("Mean", "SVM"): "equal",
        ("Mean", "LR"): "equal",
    }


def test_models_run_and_what_lacks_is_untested_with_a_reason(toys: tuple[object, ...]) -> None:
    code, result = reproduce(*toys, "--table", "2", "--no-run")
    assert {cell["state"] for cell in cells(result["tables"][0]).values()} == {"untested"}
    code, result = reproduce(*toys, "--table", "2")
    assert code == 3, "a file is missing"
    table = cells(result["tables"][0])
    ran = table["requirement_type", "A"]
    assert ran["state"] == "run"
    assert ran["here"] == pytest.approx(1 / 3), "a constant answer on 4 and 4 rows"
    assert ran["facts"]["rows"] == {"train": 32, "test": 8}
    assert table["incivility", "A"]["note"] == "A file is missing: other toys, others.csv"
    assert table["requirement_type", "Big"]["state"] == "untested"
    (missing,) = result["missing"]
    assert str(Path(str(toys[2])) / "others.csv") in missing["remedy"]
    assert "https://example.org/toys" in missing["remedy"]
    assert missing["remedy"].endswith("others.csv (Beside the toys)")
    code, part = reproduce(*toys, "--table", "2", "--limit", "20")
    table = cells(part["tables"][0])["requirement_type", "A"]
    assert (table["state"], table["note"]) == ("in part", "20 of 40 rows")


def test_rows_that_are_not_the_papers_are_not_used(tmp_path: Path) -> None:
    recipe, data = write_recipe(tmp_path), write_data(tmp_path / "data", rows=39)
    code, result = reproduce(recipe, "--data", data, "--workspace", tmp_path / "w", "--table", "2")
    assert code == 3
    (problem,) = result["tables"][0]["problems"]
    assert (
        "total 39 where the recipe has 40; label:functional 19 where the recipe has 20" in problem
    )
    assert cells(result["tables"][0])["requirement_type", "A"]["state"] == "untested"


def test_missing_files_of_one_source_are_one_line(tmp_path: Path) -> None:
    recipe = write_recipe(tmp_path, ('note="Beside the toys."', 'note=""'))
    arguments = ["reproduce", str(recipe), "--workspace", str(tmp_path / "w")]
    done = invoke(*arguments)
    assert done.exit_code == 3, done.output
    text = " ".join(done.stdout.split())
    folder = tmp_path / "w" / "reproduce" / "nobody" / "sources"
    assert (
        "2 files are missing: toys.csv, others.csv. Get them from https://example.org/toys" in text
    )
    assert f"put them below {folder}." in text
    assert text.count("A file is missing: scores, kit/scores.csv. Get it from") == 1
    assert "Problem: A file is missing: scores, kit/scores.csv. How to get it stands below." in text
    assert "--download fetches 1 of the 3 missing files" in text
    assert "All tables: 9 cells, 9 untested." in text


def test_the_file_tells_all_and_is_the_same_again(tmp_path: Path, toys: tuple[object, ...]) -> None:
    arguments = ("reproduce", *map(str, toys))
    done = invoke(*arguments)
    assert done.exit_code == 3, done.output
    assert "2 equal, 1 different, 2 untested; the furthest is toys, B" in done.stdout
    folder = tmp_path / "w" / "reproduce" / "nobody"
    output = json.loads((folder / "result.json").read_text(encoding="utf-8"))
    assert output["tables"][0]["counts"]["recomputed"] == 3
    assert output["files"][0]["state"] == "as published"
    before = (folder / "result.json").read_bytes()
    invoke(*arguments)
    assert before == (folder / "result.json").read_bytes()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--task", "incivilty"), "there is no task 'incivilty' (did you mean incivility?)"),
        (
            ("--task", "requirement_type", "--task", "toys"),
            "there is no task 'toys'. Choose requirement_type",
        ),
        (("--model", "a", "--model", "bigg"), "there is no model 'bigg' (did you mean big?)"),
        (("--model", "all", "--model", "b"), "there is no model 'b'"),
        (("--table", "1,3"), "The recipe nobody: there is no table '3'. Choose 1 or 2"),
        (("--model", "c"), "nobody: there is no model 'c'. Choose a or big"),
        (("--model", "big@main"), "'main' is not a commit"),
        (("--data", "absent"), "absent is not a folder"),
    ],
)
def test_a_name_that_the_paper_has_not_is_an_error(
    tmp_path: Path, arguments: tuple[str, ...], message: str
) -> None:
    recipe = write_recipe(tmp_path)
    done = invoke("reproduce", recipe, "--workspace", tmp_path / "w", *arguments)
    assert done.exit_code in (1, 2)
    assert message in done.stderr + done.output
    assert not (tmp_path / "w").exists()


def test_names_are_split_at_commas(toys: tuple[object, ...]) -> None:
    tasks = ("--task", "requirement_type", "--task", "incivility")
    _, result = reproduce(*toys, *tasks, "--table", "1,2")
    assert [table["table"] for table in result["tables"]] == ["1", "2"]
    assert result["effort"]["tasks"] == ["requirement_type", "incivility"]
    assert cells(result["tables"][1])["requirement_type", "A"]["state"] == "run"


def test_files_are_found_in_a_clone_compressed_or_not(tmp_path: Path) -> None:
    recipe, root = find_recipe(str(write_recipe(tmp_path))), tmp_path / "data"
    (root / "deep" / "kit").mkdir(parents=True)
    (root / "deep" / "kit" / "scores.csv.xz").write_bytes(lzma.compress(SCORES.encode()))
    (root / "kit").mkdir()
    (root / "kit" / "scores.csv").write_text(SCORES.replace("0.61", "0.62"), encoding="utf-8")
    (root / "scores.csv").write_text("elsewhere", encoding="utf-8")
    file = DataFolder(root).find(recipe.file("scores"))
    assert file.path.name == "scores.csv.xz", "the one whose digest is known"
    assert file.state == "as published"
    file.path.unlink()
    assert DataFolder(root).find(recipe.file("scores")).state == "differs"
    (root / "kit" / "scores.csv").write_text("model\nA\n", encoding="utf-8")
    with pytest.raises(DatasetError, match="has no column 'task'"):
        DataFolder(root).find(recipe.file("scores"))
    with pytest.raises(MissingFileError, match=r"A file is missing: toys, toys.csv"):
        DataFolder(root).find(recipe.file("toys"))


def test_recipes_are_listed() -> None:
    code, recipes = reproduce()
    assert code == 0
    assert any(recipe["name"] == "selu" for recipe in recipes)


def test_a_model_that_cannot_run_is_a_problem(toys: tuple[object, ...]) -> None:
    code, output = reproduce(*toys, "--model", "big", "--task", "requirement_type")
    assert code == 3, "so that a cluster shows a job as failed"
    (problem,) = output["tables"][0]["problems"]
    assert problem.startswith("Big did not run on requirement_type: nobody/big@0123456789")
    assert "Fetch it with --download" in problem
    assert cells(output["tables"][0])["requirement_type", "Big"]["state"] == "untested"


PRINTED = TableRecipe(
    key="1",
    title="scores",
    rows={"full": {"A": Figure(0.4, 1), "B": Figure(0.5, 1)}, "none": {"A": Figure("-")}},
)


def test_a_cell_follows_from_others_where_all_are_numbers() -> None:
    both = [("full", "A"), ("full", "B")]
    (mean,) = from_print("full", "Average", PRINTED, both, fmean)
    assert mean.value == pytest.approx(0.45)
    assert mean.state == "recomputed"
    assert not list(from_print("x", "y", PRINTED, [*both, ("none", "A")], fmean))
    assert not list(from_print("x", "y", PRINTED, [*both, ("none", "B")], fmean))
    assert not list(from_print("x", "y", PRINTED, both, lambda figures: None))
    assert not list(from_print("x", "y", PRINTED, [], fmean))


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
