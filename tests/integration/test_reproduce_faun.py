"""FAUN-Eval's tables from the datasets and runs of a workspace."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from goldpan.cli import app
from goldpan.datasets.examples import CODE_EDIT, FAULT_LOCALIZATION, QA
from tests.examples import examples, write
from tests.openai_server import KEY, Body, OpenAIServer, Said
from tests.prompting import asked


def answer(body: Body) -> Said:
    return Said("src/a.c" if "begin issue title" in asked(body) else "nowhere")


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[OpenAIServer]:
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    with OpenAIServer(answer) as running:
        yield running


def evaluate(place: Path, server: OpenAIServer, *words: str) -> None:
    model = ("--model", "prompted", "--set", "model=gpt-4o", "--set", f"base_url={server.url}")
    arguments = ["evaluate", "run", *model, "--protocol", "faun-eval", *words]
    done = CliRunner().invoke(app, [*arguments, "--workspace", str(place)])
    assert done.exit_code == 0, done.output


def reproduced(*arguments: object) -> dict[str, Any]:
    done = CliRunner().invoke(app, ["reproduce", "faun-eval", *map(str, arguments), "--json"])
    assert done.exit_code == 0, done.output
    return {table["table"]: table for table in json.loads(done.stdout)["tables"]}


def cell(table: Any, row: str, column: str) -> Any:
    (wanted,) = (cell for cell in table["cells"] if (cell["row"], cell["column"]) == (row, column))
    return wanted


def test_runs_of_a_workspace_fill_their_cells(tmp_path: Path, server: OpenAIServer) -> None:
    place = tmp_path / "data" / "faun-eval-workspace"
    write(place, QA, examples(QA, 3), name="qa")
    write(place, FAULT_LOCALIZATION, examples(FAULT_LOCALIZATION, 4), name="fault-localization")
    write(place, CODE_EDIT, examples(CODE_EDIT, 2), name="code-edit")
    evaluate(place, server, "--task", "fault_localization")
    evaluate(place, server, "--task", "fault_localization", "--ablate", "title")
    tables = reproduced("--data", tmp_path / "data", "--workspace", tmp_path / "w")
    whole = cell(tables["4"], "FL: EM", "GPT-4o")
    assert (whole["here"], whole["state"], whole["note"]) == (1.0, "in part", "4 of 300 rows")
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


def test_without_a_workspace_the_plan_is_named(tmp_path: Path) -> None:
    (tmp_path / "data").mkdir()
    tables = reproduced("--data", tmp_path / "data", "--workspace", tmp_path / "w")
    assert tables["1"]["counts"]["untested"] == 6
    assert any("examples/faun-eval.toml" in note for note in tables["1"]["notes"])
