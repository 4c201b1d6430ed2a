"""Several runs on the screen: one line each, means and spreads, warnings once."""

from __future__ import annotations

from pathlib import Path

import pytest

from goldpan.core.storage.workspace import WorkspaceLayout
from tests.comparing import split_rows, two_labels, write_rows
from tests.finetuning import example_rows
from tests.invoking import invoke

pytest.importorskip("sklearn")


def test_each_run_has_one_line_and_each_warning_stands_once(tmp_path: Path) -> None:
    write_rows(WorkspaceLayout(tmp_path), two_labels())
    command = ["run", "--workspace", str(tmp_path), "--task", "requirement_type"]
    options = ["--model", "majority", "--seed", "0", "--seed", "1"]
    done = invoke("evaluate", *command, *options, "--protocol", "selu-paper")
    assert done.exit_code == 0, done.output
    lines = [line.split() for line in done.stdout.splitlines()]
    assert ["model", "seed", "macro_f1", "accuracy", "f1", "mcc"] in lines
    assert [line[:2] for line in lines if line[:1] == ["majority"]] == [
        ["majority", "0"],
        ["majority", "1"],
        ["majority", "2"],
    ]
    (spread,) = [line for line in lines if line[:2] == ["majority", "2"]]
    assert spread[-1] == "0.0000"
    text = " ".join(done.stdout.split())
    assert text.count("names no settings of majority") == 1
    assert "2 runs; " in text


def test_tasks_of_other_types_have_their_own_metrics(tmp_path: Path) -> None:
    workspace = WorkspaceLayout(tmp_path)
    write_rows(workspace, two_labels())
    task, table = example_rows("se_entities")
    pairs = list(zip(table["tokens"].to_pylist(), table["tags"].to_pylist(), strict=True))
    write_rows(workspace, split_rows(task, pairs, 24))
    command = ["run", "--workspace", str(tmp_path), "--model", "majority"]
    done = invoke("evaluate", *command, "--task", "se_entities", "--task", "requirement_type")
    assert done.exit_code == 0, done.output
    assert "seqeval_recall" in done.stdout
    assert "accuracy" in done.stdout
