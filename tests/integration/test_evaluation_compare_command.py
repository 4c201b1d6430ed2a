"""goldpan evaluate compare and goldpan report --runs, as people type them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from goldpan.core.storage.workspace import WorkspaceLayout
from tests.comparing import add_run, independent, six_tasks, two_labels
from tests.invoking import Invoked, invoke

pytest.importorskip("scipy")


def run(*arguments: object) -> Invoked:
    return invoke("evaluate", *map(str, arguments))


def run_json(*arguments: object) -> dict[str, Any]:
    done = run(*arguments, "--json")
    assert done.exit_code == 0, done.output
    return dict(json.loads(done.stdout))


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("ws")
    six_tasks(WorkspaceLayout(root))
    return root


def test_people_are_told_who_differs(root: Path) -> None:
    done = run("compare", "--workspace", root)
    assert done.exit_code == 0
    assert "3 models on 6 tasks" in done.stdout
    assert "on new rows of these tasks, good is better than bad" in " ".join(done.stdout.split())
    lines = [line.split() for line in done.stdout.splitlines()]
    assert ["3", "bad"] in [line[:2] for line in lines]


def test_json_holds_the_whole_comparison(root: Path) -> None:
    result = run_json(
        "compare", "--workspace", root, "--approach", "frequentist", "--alpha", "0.01"
    )
    assert result["comparison"]["test"]["alpha"] == 0.01
    assert result["comparison"]["test"]["approach"] == "frequentist"
    standings = result["comparison"]["standings"]
    assert {standing["model"] for standing in standings} == {"good", "near", "bad"}
    assert all(Path(path).is_dir() for model in result["facts"]["models"] for path in model["runs"])
    assert result["not_compared"] is None
    arguments = ("compare", "--workspace", root, "--approach", "bayesian")
    wider = run_json(*arguments, "--rope", "5", "--seed", "3")
    assert {pair["decision"] for pair in wider["comparison"]["pairs"]} == {"equal"}
    assert wider["comparison"]["test"]["seed"] == 3
    assert wider["new_tasks"] is None


def test_methods_by_name_do_not_say_better(root: Path) -> None:
    for approach in ("bayesian", "frequentist", "nemenyi", "tukey"):
        done = run("compare", "--workspace", root, "--approach", approach)
        assert done.exit_code == 0
        assert "is better than" not in " ".join(done.stdout.split())
        assert "declares equal models different in" in " ".join(done.stdout.split()), approach


def test_runs_are_chosen_by_task_suite_model_and_protocol(root: Path) -> None:
    result = run_json("compare", "--workspace", root, "--task", "sentiment", "--model", "good")
    assert result["not_compared"] == "Only good was scored, and a comparison needs two models"
    assert [task["task"] for task in result["facts"]["tasks"]] == ["sentiment"]
    selu = run_json("compare", "--workspace", root, "--suite", "selu", "--protocol", "default")
    assert {"requirement_type", "sentiment"} <= {task["task"] for task in selu["facts"]["tasks"]}


def test_files_are_written_where_they_are_wanted(root: Path, tmp_path: Path) -> None:
    (tmp_path / "deep").mkdir()
    paths = {name: tmp_path / f"deep/r.{end}" for name, end in _FILES.items()}
    options = [text for name, path in paths.items() for text in (f"--{name}", path)]
    result = run_json("compare", "--workspace", root, *options)
    assert result["files"] == [str(path) for path in paths.values()]
    page, latex = (path.read_text(encoding="utf-8") for path in paths.values())
    assert "<h1>3 models on 6 tasks</h1>" in page
    assert r"\toprule" in latex


_FILES = {"output": "html", "latex": "tex"}


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        (("--output", "x.htm"), "does not end in .html"),
        (("--latex", "x.pdf"), "does not end in .tex"),
        (("--approach", "fisher"), 'Invalid value "fisher" for --approach'),
        (("--suite", "nobody"), "no suite 'nobody'"),
        (("--model", "goood"), "did you mean good?"),
        (("--task", "sentimnt"), "did you mean sentiment?"),
        (("--protocol", "none"), "for the protocol 'none'"),
        (("--task", "qa"), "for the task 'qa'"),
        (("--alpha", "2"), "alpha is 2"),
        (("--task", "sentiment", "--task", "no_such_task"), "no_such_task"),
    ],
)
def test_what_cannot_be_done_is_named(root: Path, arguments: tuple[str, ...], problem: str) -> None:
    done = run("compare", "--workspace", root, *arguments)
    assert done.exit_code in (1, 2)
    assert problem in done.stderr


def test_runs_of_others_on_other_tasks_are_no_hindrance(tmp_path: Path) -> None:
    workspace = WorkspaceLayout(tmp_path)
    for name in ("a", "b"):
        add_run(workspace, two_labels(), name, 0.8)
    add_run(workspace, two_labels("sentiment"), "c", 0.8)
    result = run_json("compare", "--workspace", tmp_path, "--model", "a", "--model", "b")
    assert {standing["model"] for standing in result["comparison"]["standings"]} == {"a", "b"}


def test_models_that_answer_alike_tie_in_all_that_is_said(tmp_path: Path) -> None:
    data = independent(two_labels())
    for name, share in (("alpha", 0.8), ("beta", 0.8), ("gamma", 0.4)):
        add_run(WorkspaceLayout(tmp_path), data, name, share)
    paths = {name: tmp_path / f"r.{end}" for name, end in _FILES.items()}
    options = [text for name, path in paths.items() for text in (f"--{name}", path)]
    tie = "alpha and beta tie for the highest macro_f1 on requirement_type, 0."
    shown = " ".join(run("compare", "--workspace", tmp_path, *options).stdout.split())
    page, latex = (path.read_text(encoding="utf-8") for path in paths.values())
    for text in (shown, page):
        assert tie in text.replace("\\_", "_"), text
        assert "has the highest" not in text
        assert "cannot be told apart from beta (their scores are equal)" in text
    rows = [line for line in latex.splitlines() if line.strip().startswith("1--2 &")]
    assert len(rows) == 2, "places are ties too"
    summary = run_json("compare", "--workspace", tmp_path)["summary"][0]
    assert summary.startswith(tie)


def test_report_takes_stored_runs(tmp_path: Path) -> None:
    root, page, alone = (tmp_path / name for name in ("ws", "asked.html", "alone.html"))
    for name, share in (("good", 0.9), ("bad", 0.5)):
        add_run(WorkspaceLayout(root), two_labels(), name, share)
    done = invoke("report", "--runs", "--workspace", root, "--output", page)
    assert (done.exit_code, done.stderr) == (0, "")
    assert f"Wrote {page}" in done.stdout
    # Nothing but runs is in the workspace, so there is nothing else to report on.
    written = invoke("report", "--workspace", root, "--output", alone, "--json")
    assert json.loads(written.stdout)["comparison"]
    assert page.read_bytes() == alone.read_bytes()
    wrong = invoke("report", "--runs", "--repo", "octo/gem", "--workspace", root)
    assert wrong.exit_code == 2
    assert "Leave out --repo and --dataset" in wrong.stderr


def test_an_empty_workspace_has_nothing_to_report(tmp_path: Path) -> None:
    assert "holds no repository" in invoke("report", "--workspace", tmp_path).stderr
    done = invoke("report", "--runs", "--workspace", tmp_path)
    assert "holds no finished run" in done.stderr


def test_one_model_still_makes_a_page(tmp_path: Path) -> None:
    add_run(WorkspaceLayout(tmp_path), two_labels(), "alone", 0.9)
    output = tmp_path / "one.html"
    done = run("compare", "--workspace", tmp_path, "--output", output)
    assert done.exit_code == 0
    assert "a comparison needs two" in done.stdout
    page = output.read_text(encoding="utf-8")
    assert "Only alone was scored" in page
    assert "The steps of ECSER" in page


def test_scores_from_elsewhere_are_compared_without_a_workspace(tmp_path: Path) -> None:
    path, output = tmp_path / "scores.csv", tmp_path / "scores.html"
    rows = [
        f"{model},t{at},{base + at / 50}"
        for model, base in (("a", 0.8), ("b", 0.6))
        for at in range(7)
    ]
    path.write_text("model,task,score\n" + "\n".join(rows), encoding="utf-8")
    done = run("compare", "--scores", path, "--output", output)
    assert done.exit_code == 0, done.output
    assert "On new tasks, a is better than b" in " ".join(done.stdout.split())
    page = output.read_text(encoding="utf-8")
    assert "Every pair, new tasks" in page
    assert "<script" not in page
    held = run_json("compare", "--scores", path, "--approach", "nemenyi")
    assert (held["origin"], held["comparison"]["test"]["name"]) == (
        "14 sets of scores from scores.csv",
        "one-sided wilcoxon",
    )
    for extra, problem in (
        (("--suite", "selu"), "has no suites"),
        (("--model", "c"), "for the model 'c'"),
        (("--task", "x"), "for the task 'x'"),
    ):
        refused = run("compare", "--scores", path, *extra)
        assert refused.exit_code == 2
        assert problem in refused.stderr
    assert run("compare", "--metric", "f1").exit_code == 2
