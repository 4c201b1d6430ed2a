"""CrossCodeBench's tables from task files as their authors write them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.crosscode_tasks import write_public
from tests.invoking import invoke
from tests.openai_server import KEY, OpenAIServer, Said
from tests.reproducing import cells, reproduce_tables


def reproduced(*arguments: object) -> dict[str, dict[tuple[str, str], Any]]:
    _, tables = reproduce_tables("crosscodebench", *arguments)
    return {key: cells(table) for key, table in tables.items()}


def write_tasks(folder: Path) -> None:
    """Write two tasks that the split Cat-Intra-CD has on its two sides."""
    pairs = [("int a;", "Yes"), ("int b;", "No"), ("No", "No"), ("int c;", "Yes")]
    instances = [
        {"input": question, "output": answer, "split": "train", "idx": at}
        for at, (question, answer) in enumerate(pairs * 150)
    ]
    write_public(
        folder,
        "task_001_clones_classification",
        instances,
        Categories=["Detection -> Clone Detection"],
        Source=["clones"],
    )
    write_public(
        folder,
        "task_002_operators_classification",
        instances[:4],
        Categories=["Detection -> Defect Detection -> Wrong Binary Operator"],
        Source=["operators"],
        Instance_number=[{"total": 7}],
    )


def test_task_files_give_counts_and_shortcuts(tmp_path: Path) -> None:
    write_tasks(tmp_path / "data" / "tasks")
    tables = reproduced("--data", tmp_path / "data", "--workspace", tmp_path / "w")
    types = tables["3"]
    binary = types["Classification -> Binary", "tasks"]
    assert (binary["here"], binary["state"], binary["note"]) == (2, "in part", "2 of 216 tasks")
    assert types["Classification", "categories"]["here"] == 2
    assert tables["4"]["Cat-Intra-CD", "train"]["here"] == 1
    assert tables["4"]["Cat-Intra-CD", "evaluation"]["here"] == 1
    assert tables["4-evaluation"]["Cat-Intra-CD", "evaluation"]["here"] == 0.6
    copied = tables["5"]["Copy Ins-input", "Cat-Intra-CD EM"]
    assert copied["here"] == 25, "of the first 500 instances a fourth has its output as its input"
    assert tables["5"]["Copy Ex-output", "Cat-Inter-CD EM"]["here"] == 50
    assert tables["5"]["PLBART, 4-shot", "Cat-Intra-CD EM"]["state"] == "untested"
    assert tables["2"]["description length", "average"]["here"] == 2


def test_without_task_files_the_archive_is_named(tmp_path: Path) -> None:
    (tmp_path / "data").mkdir()
    arguments = ["reproduce", "crosscodebench", "--table", "4", "--data", str(tmp_path / "data")]
    done = invoke(*arguments, "--workspace", tmp_path / "w")
    assert done.exit_code == 0
    assert "zenodo.7321934" in done.stdout.replace("\n", "")


def test_runs_on_a_built_split_fill_their_cells(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    write_tasks(tmp_path / "tasks")
    options = ("--workspace", str(tmp_path / "w"))

    def goldpan(*words: object) -> None:
        done = invoke(*map(str, words), *options)
        assert done.exit_code == 0, done.output

    how = ("--method", "2/0-instruct", "--layout", "authors", "--evaluation-cap", "12")
    goldpan("build", "crosscode", "split", "Cat-Intra-CD", *how, "--source", tmp_path / "tasks")
    built = tmp_path / "w" / "crosscode" / "splits" / "cat-intra-cd-2-0-instruct-authors"
    goldpan("build", "crosscode", "import", built)
    with OpenAIServer(lambda body: Said("Yes")) as server:
        model = ("--model", "prompted", "--set", "model=allenai/tk-instruct-3b-def-pos")
        task = ("--task", "crosscode_cat_intra_cd_2_0_instruct_authors")
        protocol = ("--protocol", "crosscodebench", "--set", f"base_url={server.url}")
        goldpan("evaluate", "run", *task, *model, *protocol)
    tables = reproduced("--data", tmp_path, "--workspace", tmp_path / "other", "--table", "5")
    cell = tables["5"]["Tk-Instruct off the shelf, 2/0-instruct", "Cat-Intra-CD EM"]
    assert 0 < cell["here"] <= 100
    assert (cell["state"], cell["note"]) == ("in part", "1 of 3 seeds; 12 of up to 500 rows")
    other = tables["5"]["Tk-Instruct off the shelf, 2/2-instruct", "Cat-Intra-CD EM"]
    assert other["state"] == "recomputed", "no run, but the print has it twice"


CURVES = """\
from pathlib import Path
from goldpan.papers.crosscodebench.cells import figure
from goldpan.plugins.evaluation import ModelRecipe, PaperRecipe, TableRecipe

def curve(context, table):
    best = {str(cap): (cap, "asked") for cap in (1, 2, 4)}
    last = {cap: best[cap] for cap in ("2", "4")}
    curves = {"best of 1 to 4": best, "4 against 2": last}
    return figure(context, table, "Cat-Intra-CD", "1-shot", curves)

PAPER = PaperRecipe(
    name="curves",
    title="Curves",
    citation="N. Body: Curves, 2024.",
    models=(ModelRecipe(name="asked", title="Asked", kind="prompted"),),
    printed=Path(__file__).with_name("printed.csv"),
    tables=(TableRecipe(key="F2", title="by instances", compute=(curve,)),),
)
"""
PRINTED = """table,row,column,printed
F2,4 against 2,EM,higher
F2,4 against 2,ROUGE-L,higher
F2,best of 1 to 4,EM,4
F2,best of 1 to 4,ROUGE-L,4
"""


def test_curves_follow_from_runs_with_fewer_instances(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    write_tasks(tmp_path / "tasks")
    options = ("--workspace", str(tmp_path / "w"))
    answers = {"2": "No idea", "4": "Yes"}
    names: list[str] = []
    with OpenAIServer(lambda body: Said(answers[names[-1]])) as server:
        for cap in answers:
            names.append(cap)
            how = ("--method", "1-shot", "--train-cap", cap, "--evaluation-cap", "12")
            from_ = ("--source", str(tmp_path / "tasks"))
            built = tmp_path / "w" / "crosscode" / "splits" / f"cat-intra-cd-1-shot-{cap}"
            address = ("--set", f"base_url={server.url}")
            model = ("--model", "prompted", "--set", "model=asked", *address)
            for words in (
                ("build", "crosscode", "split", "Cat-Intra-CD", *how, *from_),
                ("build", "crosscode", "import", str(built)),
                ("evaluate", "run", "--task", f"crosscode_cat_intra_cd_1_shot_{cap}", *model),
            ):
                done = invoke(*words, *options)
                assert done.exit_code == 0, done.output
    recipe = tmp_path / "curves.py"
    recipe.write_text(CURVES, encoding="utf-8")
    (tmp_path / "printed.csv").write_text(PRINTED, encoding="utf-8")
    _, tables = reproduce_tables(recipe, "--data", tmp_path, "--workspace", tmp_path / "other")
    points = cells(tables["F2"])
    assert points["4 against 2", "EM"]["here"] == "higher"
    best = points["best of 1 to 4", "EM"]
    assert (best["here"], best["state"]) == ("4", "in part")
    assert best["note"].startswith("2 of 3 points; 2: 0.00, 4: ")
