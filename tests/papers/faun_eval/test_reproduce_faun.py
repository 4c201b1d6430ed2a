"""FAUN-Eval's tables from the datasets and runs of a workspace."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from goldpan.datasets.examples import CODE_EDIT, FAULT_LOCALIZATION, QA
from goldpan.plan.file import load_plan
from tests.examples import PROVENANCE, examples, write
from tests.invoking import invoke
from tests.openai_server import KEY, Body, OpenAIServer, Said
from tests.prompting import question_of
from tests.publishing import EXAMPLES
from tests.reproducing import cells, reproduce_tables

GAPS = "filtered by the profile default; not reviewed"
"""What datasets of `write` lack beside the paper's."""
JUDGE = {
    "models": ["gpt-4o"],
    "prompt": "question-answer@2",
    "samples": 1,
    "temperature": 0.0,
    "agreement": 1.0,
    "subjects": 300,
    "kept": 300,
}
PEOPLE = {"annotators": 2, "subjects": 300}
FOUR = f"4 of 300 rows; {GAPS}"


def answer(body: Body) -> Said:
    return Said("src/a.c" if "begin issue title" in question_of(body) else "nowhere")


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[OpenAIServer]:
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    with OpenAIServer(answer) as running:
        yield running


def evaluate(root: Path, server: OpenAIServer, *words: str, name: str = "gpt-4o") -> None:
    model = ("--model", "prompted", "--set", f"model={name}", "--set", f"base_url={server.url}")
    protocol = () if "--protocol" in words else ("--protocol", "faun-eval")
    arguments = ["evaluate", "run", *model, *protocol, *words]
    done = invoke(*arguments, "--workspace", str(root))
    assert done.exit_code == 0, done.output


def reproduced(*arguments: object) -> dict[str, Any]:
    code, tables = reproduce_tables("faun-eval", *arguments)
    assert code == 0
    return tables


def cell(table: Any, row: str, column: str) -> Any:
    return cells(table)[row, column]


def test_runs_of_a_workspace_fill_their_cells(tmp_path: Path, server: OpenAIServer) -> None:
    root = tmp_path / "data" / "faun-eval-workspace"
    write(root, QA, examples(QA, 3), name="qa")
    write(root, FAULT_LOCALIZATION, examples(FAULT_LOCALIZATION, 4), name="fault-localization")
    write(root, CODE_EDIT, examples(CODE_EDIT, 2), name="code-edit")
    evaluate(root, server, "--task", "fault_localization")
    evaluate(root, server, "--task", "fault_localization", "--ablate", "title")
    tables = reproduced("--data", tmp_path / "data", "--workspace", tmp_path / "w")
    whole = cell(tables["4"], "FL: EM", "GPT-4o")
    assert (whole["here"], whole["state"], whole["note"]) == (1.0, "in part", FOUR)
    assert cell(tables["5"], "FL: EM, IT+IB", "GPT-4o")["here"] == 1.0
    assert cell(tables["5"], "FL: EM, IB", "GPT-4o")["here"] == 0.0
    assert cell(tables["5"], "FL: EM, IT", "GPT-4o")["state"] == "untested"
    assert cell(tables["5-changes"], "FL: EM, IB", "GPT-4o")["here"] == 100
    assert cell(tables["4"], "QA: BLEU", "GPT-4o")["state"] == "untested"
    third = cell(tables["F3"], "GPT-4o", "FL: medium against short")
    assert (third["here"], third["paper"], third["state"]) == ("equal", "lower", "in part")
    assert third["facts"]["thirds"] == {"short": 1.0, "medium": 1.0, "long": 1.0}
    sizes = tables["1"]
    assert cell(sizes, "FAUN-Eval-QA", "samples")["here"] == 3
    assert cell(sizes, "FAUN-Eval-fix", "samples")["here"] == 2
    assert cell(sizes, "FAUN-Eval-fix", "samples")["state"] == "in part"


def test_averages_changes_and_ties(tmp_path: Path, server: OpenAIServer) -> None:
    root = tmp_path / "w"
    write(root, FAULT_LOCALIZATION, examples(FAULT_LOCALIZATION, 4), name="fault-localization")
    write(root, QA, examples(QA, 3), name="qa")
    for name in ("gpt-4o", "deepseek-coder-v2"):
        evaluate(root, server, "--task", "fault_localization", name=name)
        evaluate(root, server, "--task", "fault_localization", "--ablate", "title", name=name)
    evaluate(root, server, "--task", "qa", "--seed", "0", "--seed", "1")
    tables = reproduced("--workspace", root)
    assert cell(tables["5"], "FL: EM, IB", "Average")["here"] == 0.0
    change = cell(tables["5-changes"], "FL: EM, IB", "Average")
    assert (change["here"], change["state"], change["note"]) == (100, "in part", FOUR)
    assert cell(tables["4"], "FL: EM", "Average")["state"] == "recomputed", "ten models lack"
    worst = cell(tables["F3"], "GPT-4o", "QA: worst")
    assert worst["facts"]["seeds"] == [0, 1]
    assert set(worst["facts"]["thirds"].values()) == {0.0}
    assert worst["here"] == "equal", "no third of the same score is the worst"


def test_rows_that_changed_after_a_run_are_told_and_others_count(
    tmp_path: Path, server: OpenAIServer
) -> None:
    root = tmp_path / "w"
    for family, name in ((QA, "qa"), (FAULT_LOCALIZATION, "fault-localization")):
        write(root, family, examples(family, 4), name=name)
        evaluate(root, server, "--task", name.replace("-", "_"))
    write(root, QA, examples(QA, 5), name="qa")
    code, tables = reproduce_tables("faun-eval", "--workspace", root)
    assert code == 3
    figure = tables["F3"]
    assert any("holds other rows than a run of qa" in problem for problem in figure["problems"])
    assert cell(figure, "GPT-4o", "FL: medium against short")["here"] == "equal"


BY_MODELS = {"question-answer": {"models": JUDGE}}
BY_PEOPLE = {"question-answer": {"models": JUDGE, "people": {"pilot": PEOPLE}}}


@pytest.mark.parametrize(
    ("count", "reviews", "gap"),
    [
        (300, {}, "not reviewed"),
        (300, BY_MODELS, "reviewed by models alone"),
        (300, BY_PEOPLE, ""),
        (301, BY_PEOPLE, "more than the paper's"),
    ],
)
def test_how_many_rows_there_are_and_who_reviewed_them_counts(
    tmp_path: Path, count: int, reviews: Any, gap: str
) -> None:
    root = tmp_path / "w"
    provenance = replace(PROVENANCE, profile={"name": "faun-eval"}, reviews=reviews)
    write(root, QA, examples(QA, count), name="faun-eval-qa", provenance=provenance)
    samples = cell(reproduced("--workspace", root)["1"], "FAUN-Eval-QA", "samples")
    assert samples["here"] == count
    assert (samples["state"], samples["note"]) == ("in part" if gap else "run", gap)


def test_without_a_workspace_a_plan_is_written(tmp_path: Path) -> None:
    (tmp_path / "data").mkdir()
    tables = reproduced("--data", tmp_path / "data", "--workspace", tmp_path / "w")
    assert tables["1"]["counts"]["untested"] == 6
    path = tmp_path / "w" / "reproduce" / "faun-eval" / "faun-eval.toml"
    assert any(f"goldpan run {path}" in note for note in tables["1"]["notes"])
    for table in ("4", "5", "5-changes", "F3"):
        assert any("--model prompted" in note for note in tables[table]["notes"]), table
    written, example = load_plan(path), load_plan(EXAMPLES / "faun-eval.toml")
    assert example.sections("publish")
    assert written.head.repositories == example.head.repositories
    for stage, sections in {**example.by_stage, "publish": {}}.items():
        found = [one.model_dump(exclude={"publish"}) for one in sections.values()]
        assert [one.model_dump(exclude={"publish"}) for one in written.sections(stage)] == found
    path.write_text("workspace = 'mine'", encoding="utf-8")
    write(path.parent / "faun-eval-workspace", QA, examples(QA, 3), name="qa")
    tables = reproduced("--workspace", tmp_path / "w")
    assert cell(tables["1"], "FAUN-Eval-QA", "samples")["here"] == 3, "what the plan makes is found"
    assert path.read_text(encoding="utf-8") == "workspace = 'mine'", "what is there stays"


def test_a_table_without_any_cell_is_one_line(tmp_path: Path) -> None:
    done = invoke("reproduce", "faun-eval", "--workspace", str(tmp_path))
    assert done.exit_code == 0, done.output
    assert "Table 1: the datasets: 6 cells, 6 untested." in done.stdout
    assert "FAUN-Eval-fix  paper" not in done.stdout, "no table of dashes"
    assert "QA: BLEU" in done.stdout, "a table with some cells is shown"
    assert "All tables: 268 cells, 111 recomputed, 157 untested." in " ".join(done.stdout.split())


def test_a_run_under_another_protocol_is_in_part(tmp_path: Path, server: OpenAIServer) -> None:
    root = tmp_path / "w"
    write(root, FAULT_LOCALIZATION, examples(FAULT_LOCALIZATION, 4), name="fault-localization")
    task = ("--task", "fault_localization")
    evaluate(root, server, *task, "--protocol", "default", "--ablate", "title")
    evaluate(root, server, *task, "--protocol", "default")
    note = f"4 of 300 rows; under the protocol default; {GAPS}"
    first = reproduced("--workspace", root)
    assert cell(first["4"], "FL: EM", "GPT-4o")["note"] == note
    assert cell(first["5"], "FL: EM, IB", "GPT-4o")["note"] == note
    evaluate(root, server, *task)
    second = reproduced("--workspace", root)
    assert cell(second["4"], "FL: EM", "GPT-4o")["note"] == FOUR, "the paper's counts"
    assert cell(second["5"], "FL: EM, IB", "GPT-4o")["note"] == note


@pytest.mark.parametrize(
    "options", [("--model", "gpt-4o"), ("--table", "4", "--model", "all"), ("--limit", "100")]
)
def test_models_are_not_run_where_no_table_runs_them(tmp_path: Path, options: Any) -> None:
    where = ("--workspace", str(tmp_path))
    done = invoke("reproduce", "faun-eval", *options, *where)
    assert done.exit_code == 2
    assert "runs models by itself" in done.stderr
    assert not (tmp_path / "reproduce").exists(), "no result is written over another"
